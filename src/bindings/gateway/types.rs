//! What crosses about one HTTP request.

use napi_derive::napi;

use crate::gateway::{DeliverableHead, FileGrant, GatewayError, RunName, UploadHead};

/// An HTTP answer that is decided without a stream.
#[napi(object)]
pub struct HttpError {
    /// HTTP status.
    pub status: u32,
    /// `{"code","message"}` as JSON.
    pub body: String,
}

impl From<&GatewayError> for HttpError {
    fn from(error: &GatewayError) -> Self {
        Self {
            status: error.code.status().into(),
            body: error.body(),
        }
    }
}

/// The head of an HTTP request; header values as the client sent them, one by one.
#[napi(object)]
pub struct RequestHead {
    /// Method, upper case.
    pub method: String,
    /// Raw path behind the route base.
    pub rest: String,
    /// Values of `authorization`.
    pub authorization: Vec<String>,
    /// Values of the tenant header.
    pub tenant: Vec<String>,
    /// Values of the user header.
    pub user: Vec<String>,
    /// Value of `content-type`.
    pub content_type: Option<String>,
    /// Value of `content-length`.
    pub content_length: Option<String>,
    /// Raw query, without its question mark.
    pub query: Option<String>,
    /// Values of `x-file-name`.
    pub file_name: Option<Vec<String>>,
}

/// What the head of a request allows: either `error`, or `route` for `tenant` and `user`.
#[napi(object)]
#[derive(Default)]
pub struct HeadVerdict {
    /// The answer, where the request is refused.
    pub error: Option<HttpError>,
    /// The `allow` header of that answer, where it needs one.
    pub allow: Option<String>,
    /// The resource: `run` takes a body for `request`; the others have the member of their name.
    #[napi(ts_type = "'run' | 'upload' | 'file' | 'deliverable' | 'reconnect'")]
    pub route: Option<String>,
    /// The tenant that the trusted header names.
    pub tenant: Option<String>,
    /// The user that the trusted header names.
    pub user: Option<String>,
    /// The file that is announced.
    pub upload: Option<UploadRequest>,
    /// The file that is asked for.
    pub file: Option<FileRequest>,
    /// The declared file that is asked for.
    pub deliverable: Option<DeliverableRequest>,
    /// The run that is gone on with.
    pub reconnect: Option<RunToContinue>,
}

/// What becomes of a request: either `error`, or the handle of its response.
#[napi(object)]
pub struct RequestVerdict {
    /// The answer, where the request is refused at once.
    pub error: Option<HttpError>,
    /// The response to write when `nextReader` names it.
    pub reader: Option<u32>,
    /// What to do next, see the class.
    pub todo: u32,
}

/// A run that a client goes on reading.
#[napi(object)]
pub struct RunToContinue {
    /// Its thread.
    pub thread_id: String,
    /// The run.
    pub run_id: String,
}

impl From<RunName> for RunToContinue {
    fn from(name: RunName) -> Self {
        Self {
            thread_id: name.thread_id,
            run_id: name.run_id,
        }
    }
}

/// A file that a client announces.
#[napi(object)]
pub struct UploadRequest {
    /// The thread.
    pub thread_id: String,
    /// Name for people.
    pub name: String,
    /// Media type without parameters.
    pub media_type: String,
    /// Exact size in bytes.
    pub length: f64,
}

impl From<UploadHead> for UploadRequest {
    fn from(head: UploadHead) -> Self {
        Self {
            thread_id: head.thread_id,
            name: head.name,
            media_type: head.media_type,
            length: head.length as f64,
        }
    }
}

impl From<UploadRequest> for UploadHead {
    fn from(request: UploadRequest) -> Self {
        Self {
            thread_id: request.thread_id,
            name: request.name,
            media_type: request.media_type,
            length: request.length as u64,
        }
    }
}

/// An uploaded file that its owner asks for.
#[napi(object)]
pub struct FileRequest {
    /// Where the Host keeps it.
    #[napi(ts_type = "'image' | 'file'")]
    pub kind: String,
    /// The Host's own reference, JSON.
    pub reference: String,
    /// Size in bytes.
    pub size: f64,
    /// Media type.
    pub media_type: String,
    /// Value of `content-disposition`.
    pub disposition: String,
}

impl From<FileGrant> for FileRequest {
    fn from(grant: FileGrant) -> Self {
        Self {
            kind: grant.kind.as_str().into(),
            reference: grant.reference,
            size: grant.size as f64,
            media_type: grant.media_type,
            disposition: grant.disposition,
        }
    }
}

/// Names a declared file of a thread.
#[napi(object)]
pub struct DeliverableRequest {
    /// The thread.
    pub thread_id: String,
    /// Position of the declaration in the session log.
    pub event_seq: f64,
    /// Which of its files.
    pub index: f64,
}

impl From<DeliverableHead> for DeliverableRequest {
    fn from(head: DeliverableHead) -> Self {
        Self {
            thread_id: head.thread_id,
            event_seq: head.event_seq as f64,
            index: head.index as f64,
        }
    }
}
