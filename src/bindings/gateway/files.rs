//! Uploads and downloads of the gateway class.

use std::time::Instant;

use napi::bindgen_prelude::*;
use napi_derive::napi;
use serde_json::value::RawValue;

use super::NativeGateway;
use super::types::{DeliverableRequest, HttpError, UploadRequest};
use crate::gateway::{
    Errand, ErrandEnd, ErrandId, FileKind, FileStore, Principal, StoredFile, Stores, ThreadId,
    UploadHead, refusal,
};

/// What the Host can hold at this moment.
#[napi(object)]
pub struct HostStores {
    /// Largest image in bytes, where it has an image store.
    pub max_image_bytes: Option<f64>,
    /// Whether it holds files of any type.
    #[napi(ts_type = "'present' | 'missing'")]
    pub files: String,
}

/// A file that the Host has stored.
#[napi(object)]
pub struct HostFile {
    /// Where.
    #[napi(ts_type = "'image' | 'file'")]
    pub kind: String,
    /// The Host's own reference, JSON.
    pub reference: String,
    /// Names the upload until it is sent.
    pub receipt: Option<String>,
    /// SHA-256 of the bytes, in hex.
    pub sha256: String,
}

/// What becomes of a request that needs a thread's agent and is no run.
#[napi(object)]
#[derive(Default)]
pub struct ErrandVerdict {
    /// The answer, where it is refused at once.
    pub error: Option<HttpError>,
    /// Where the Host shall keep an upload. An image needs no agent, and there is no errand then.
    #[napi(ts_type = "'image' | 'file'")]
    pub kind: Option<String>,
    /// The errand; an `upload`, `readDeliverable` or `refuseErrand` effect names it.
    pub errand: Option<u32>,
    /// What to do next, see `NativeGateway`.
    pub todo: u32,
}

#[napi]
impl NativeGateway {
    /// A client wants to upload a file. `tenant` and `user` are those of `checkHead`.
    #[napi(catch_unwind)]
    pub fn upload(
        &self,
        tenant: String,
        user: String,
        upload: UploadRequest,
        stores: HostStores,
    ) -> ErrandVerdict {
        let upload = UploadHead::from(upload);
        let stores = Stores {
            max_image_bytes: stores.max_image_bytes.map(|bytes| bytes as u64),
            files: if stores.files == "present" {
                FileStore::Present
            } else {
                FileStore::Missing
            },
        };
        match upload.kind(stores) {
            Ok(kind @ FileKind::Image) => ErrandVerdict {
                kind: Some(kind.as_str().into()),
                ..ErrandVerdict::default()
            },
            Ok(kind @ FileKind::File) => ErrandVerdict {
                kind: Some(kind.as_str().into()),
                ..self.errand(tenant, user, upload.thread_id, Errand::Upload)
            },
            Err(error) => ErrandVerdict {
                error: Some((&error).into()),
                ..ErrandVerdict::default()
            },
        }
    }

    /// The answer to an upload that the Host has stored: an AG-UI content part, as JSON.
    ///
    /// @throws When the reference is no JSON.
    #[napi(catch_unwind)]
    pub fn uploaded(
        &self,
        tenant: String,
        user: String,
        upload: UploadRequest,
        file: HostFile,
    ) -> Result<String> {
        let stored = StoredFile {
            kind: if file.kind == FileKind::Image.as_str() {
                FileKind::Image
            } else {
                FileKind::File
            },
            reference: RawValue::from_string(file.reference)
                .map_err(|_| Error::from_reason("the Host's reference is no JSON"))?,
            receipt: file.receipt,
            sha256: file.sha256,
        };
        let principal = Principal { tenant, user };
        Ok(UploadHead::from(upload).answer(&self.shared.config, principal, stored))
    }

    /// A client wants a declared file. `tenant` and `user` are those of `checkHead`.
    #[napi(catch_unwind)]
    pub fn deliverable(
        &self,
        tenant: String,
        user: String,
        deliverable: DeliverableRequest,
    ) -> ErrandVerdict {
        let errand = Errand::Deliverable {
            event_seq: deliverable.event_seq as u64,
            index: deliverable.index as u64,
        };
        self.errand(tenant, user, deliverable.thread_id, errand)
    }

    /// An errand is over, or its client left. `kept`: its agent keeps something that is lost with it.
    #[napi(catch_unwind)]
    pub fn errand_over(
        &self,
        errand: u32,
        #[napi(ts_arg_type = "'kept' | 'over'")] end: String,
    ) -> u32 {
        let end = if end == "kept" {
            ErrandEnd::Kept
        } else {
            ErrandEnd::Over
        };
        self.shared
            .with(|gateway, now| gateway.handle_errand_over(now, ErrandId(errand), end))
    }

    /// Nothing is stored of a thread that was to be opened as it was stored.
    #[napi(catch_unwind)]
    pub fn unknown(&self, thread: u32) -> u32 {
        self.shared
            .with(|gateway, now| gateway.handle_unknown(now, ThreadId(thread)))
    }

    /// A `prepare` effect is carried out, or, where there is a `code`, is not. `inherited` and `preset` are the agent's from
    /// now on.
    #[napi(catch_unwind)]
    pub fn prepared(
        &self,
        thread: u32,
        inherited: Vec<String>,
        preset: Option<String>,
        code: Option<String>,
    ) -> u32 {
        let outcome = code.map_or(Ok(()), |code| Err(refusal(&code)));
        self.shared.with(|gateway, now| {
            gateway.handle_prepared(now, ThreadId(thread), preset, inherited, outcome);
        })
    }

    /// The agent has not taken the messages of a `deliver` effect, and none of them: a file is not staged any more.
    #[napi(catch_unwind)]
    pub fn undelivered(&self, thread: u32, code: String) -> u32 {
        self.shared.with(|gateway, now| {
            gateway.handle_undelivered(now, ThreadId(thread), &refusal(&code));
        })
    }

    /// The answer where a file cannot be had or taken: a code of the gateway's by its name, or any other.
    #[napi(catch_unwind)]
    pub fn file_refusal(&self, code: String) -> HttpError {
        (&refusal(&code)).into()
    }

    fn errand(
        &self,
        tenant: String,
        user: String,
        thread_id: String,
        errand: Errand,
    ) -> ErrandVerdict {
        let principal = Principal { tenant, user };
        let mut state = self.shared.lock();
        let handled = state
            .gateway
            .handle_errand(Instant::now(), principal, thread_id, errand);
        let todo = state.todo();
        ErrandVerdict {
            errand: handled.as_ref().ok().map(|errand| errand.0),
            error: handled.as_ref().err().map(Into::into),
            kind: None,
            todo,
        }
    }
}
