//! The gateway as a class: converts arguments, adds the clock, and says what there is to do next.
//!
//! Every method that tells the machine something returns [`Todo`] bits. The per-delta calls are in `hot`.

mod files;
mod hot;
mod shared;
mod types;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use napi::bindgen_prelude::*;
use napi_derive::napi;

use shared::{Shared, State, Todo};
use types::{HeadVerdict, HttpError, RequestHead, RequestVerdict};

use crate::agui::surrogate::replace_lone_surrogates;
use crate::gateway::{
    AgentStatus, AskDecision, BodyChange, CallDecision, CallHead, Code, Config, EventId, Gateway,
    GatewayError, Head, Principal, ReaderId, Request, ResponseHead, Rest, Route, Secret, ThreadId,
    Token, ToolSync, Verdict, check_head,
};

/// From this many bytes on, a copy into a `Buffer` costs less than a string that the socket must encode again.
const LARGE_CHUNK: usize = 8 * 1024;

/// The gateway's core. A driver tells it what happened, and carries out what it asks.
///
/// Methods that tell it something return bits of what to do next: 1 = take `effects()`, 2 = take `nextReader()` until
/// it gives -1, 4 = call `driveNext()` in a later turn of the event loop, 8 = set a timer to `nextTimeout()`.
#[napi]
pub struct NativeGateway {
    shared: Arc<Shared>,
}

#[napi]
impl NativeGateway {
    /// @param config - the configuration as JSON, with the document's field names.
    /// @throws An `Error` with `code` `INVALID_CONFIG` that names the first bad field.
    #[napi(constructor, catch_unwind)]
    pub fn new(config: String) -> Result<Self, &'static str> {
        let config = zeroize::Zeroizing::new(config);
        let (config, secret) = Config::parse(&config)
            .map_err(|error| Error::new("INVALID_CONFIG", error.to_string()))?;
        Ok(Self {
            shared: Arc::new(Shared {
                secret: Secret::new(&secret),
                state: Mutex::new(State {
                    gateway: Gateway::new(config.clone()),
                    armed: None,
                    error: None,
                    over: false,
                    scratch: String::new(),
                }),
                config,
            }),
        })
    }

    /// The calls that happen once per delta, as plain functions.
    #[napi(
        catch_unwind,
        ts_return_type = "{ text(thread: number, delta: string): number, reasoning(thread: number, delta: string): number, toolCall(thread: number, callId: string, name: string | undefined, delta: string): number }"
    )]
    pub fn hot_path<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        hot::functions(env, &self.shared)
    }

    /// Checks the head of a request, before its body is read.
    #[napi(catch_unwind)]
    pub fn check_head(&self, head: RequestHead) -> HeadVerdict {
        let verdict = check_head(
            &self.shared.config,
            &self.shared.secret,
            &Head {
                method: &head.method,
                rest: &head.rest,
                authorization: &head.authorization,
                tenant: &head.tenant,
                user: &head.user,
                content_type: head.content_type.as_deref(),
                content_length: head.content_length.as_deref(),
                query: head.query.as_deref().unwrap_or_default(),
                file_name: head.file_name.as_deref().unwrap_or_default(),
            },
        );
        match verdict {
            Ok(Verdict { principal, route }) => {
                let mut verdict = HeadVerdict {
                    tenant: Some(principal.tenant),
                    user: Some(principal.user),
                    ..HeadVerdict::default()
                };
                let name = match route {
                    Route::Run => "run",
                    Route::Upload(upload) => {
                        verdict.upload = Some(upload.into());
                        "upload"
                    }
                    Route::File(file) => {
                        verdict.file = Some(file.into());
                        "file"
                    }
                    Route::Deliverable(deliverable) => {
                        verdict.deliverable = Some(deliverable.into());
                        "deliverable"
                    }
                    Route::Reconnect(run) => {
                        verdict.reconnect = Some(run.into());
                        "reconnect"
                    }
                };
                verdict.route = Some(name.into());
                verdict
            }
            Err(refusal) => HeadVerdict {
                error: Some((&refusal.error).into()),
                allow: refusal.allow.map(Into::into),
                ..HeadVerdict::default()
            },
        }
    }

    /// Largest body, in bytes.
    #[napi(getter, catch_unwind)]
    pub fn max_request_bytes(&self) -> u32 {
        u32::try_from(self.shared.config.request.bytes).unwrap_or(u32::MAX)
    }

    /// The answer to a body that is larger.
    #[napi(catch_unwind)]
    pub fn too_large(&self) -> HttpError {
        (&Request::too_large(&self.shared.config)).into()
    }

    /// A request has arrived whole. `tenant` and `user` are those of `checkHead`; `lastEventId` is the header of a
    /// client that repeats a request of which it has a part of the answer.
    #[napi(catch_unwind)]
    pub fn request(
        &self,
        tenant: String,
        user: String,
        body: &[u8],
        last_event_id: Option<String>,
    ) -> RequestVerdict {
        let principal = Principal { tenant, user };
        let now = Instant::now();
        let shared = &self.shared;
        // A client that once cut an emoji in two resends it with every history: refusing would lock its thread.
        let body = &*replace_lone_surrogates(body);
        let read = Request::read(&shared.config, body, |thread_id| {
            shared
                .lock()
                .gateway
                .registered_tools(&principal, thread_id)
        });
        let read = read.and_then(|request| {
            let after = EventId::read(last_event_id.as_deref())?;
            Ok(request.after(after))
        });
        let mut state = shared.lock();
        let handled = read.and_then(|request| {
            state
                .gateway
                .handle_request(now, principal.clone(), body, &request)
        });
        state.verdict(handled)
    }

    /// A client goes on reading a run of its thread, from behind the frame that `lastEventId` names or from the start.
    /// `tenant`, `user`, `threadId` and `runId` are those of `checkHead`.
    #[napi(catch_unwind)]
    pub fn reconnect(
        &self,
        tenant: String,
        user: String,
        thread_id: String,
        run_id: String,
        last_event_id: Option<String>,
    ) -> RequestVerdict {
        let principal = Principal { tenant, user };
        let mut state = self.shared.lock();
        let handled = EventId::read(last_event_id.as_deref()).and_then(|after| {
            let now = Instant::now();
            state
                .gateway
                .handle_reconnect(now, principal, &thread_id, &run_id, after)
        });
        state.verdict(handled)
    }

    /// The client of a response left before its end.
    #[napi(catch_unwind)]
    pub fn disconnect(&self, reader: u32) -> u32 {
        self.shared
            .with(|gateway, now| gateway.handle_disconnect(now, ReaderId(reader)))
    }

    /// The socket of a response has drained.
    #[napi(catch_unwind)]
    pub fn drained(&self, reader: u32) -> u32 {
        self.shared
            .with(|gateway, _| gateway.handle_drained(ReaderId(reader)))
    }

    /// The next response with something to write, as `reader * 8 + bits`, or -1. Bits: 1 = write the head of a stream
    /// first, 4 = the answer is `readerError()` and nothing else.
    #[napi(catch_unwind)]
    pub fn next_reader(&self) -> f64 {
        let mut state = self.shared.lock();
        let Some(ready) = state.gateway.poll_reader() else {
            return -1.0;
        };
        let head = match ready.head {
            None => 0,
            Some(ResponseHead::Stream) => 1,
            Some(ResponseHead::Error(error)) => {
                state.error = Some(error);
                4
            }
        };
        f64::from(ready.reader.0) * 8.0 + f64::from(head)
    }

    /// The error answer of the reader that `nextReader` named last.
    #[napi(catch_unwind)]
    pub fn reader_error(&self) -> Option<HttpError> {
        self.shared.lock().error.take().as_ref().map(Into::into)
    }

    /// What a response has not written yet: text, or a `Buffer` where that is cheaper for the socket.
    #[napi(catch_unwind, ts_return_type = "string | Buffer")]
    pub fn read<'env>(
        &self,
        env: &'env Env,
        reader: u32,
    ) -> napi::Result<Either<String, BufferSlice<'env>>> {
        let mut state = self.shared.lock();
        let State {
            gateway,
            scratch,
            over,
            ..
        } = &mut *state;
        scratch.clear();
        *over = gateway.read(Instant::now(), ReaderId(reader), scratch) == Rest::Over;
        if scratch.len() < LARGE_CHUNK {
            Ok(Either::A(scratch.clone()))
        } else {
            BufferSlice::copy_from(env, scratch.as_bytes()).map(Either::B)
        }
    }

    /// Whether what `read` gave last was the last of its response.
    #[napi(catch_unwind)]
    pub fn was_last(&self) -> bool {
        self.shared.lock().over
    }

    /// Everything to ask of the Host, in order, as a JSON array.
    #[napi(catch_unwind)]
    pub fn effects(&self) -> String {
        let mut state = self.shared.lock();
        let effects: Vec<_> = std::iter::from_fn(|| state.gateway.poll_effect()).collect();
        serde_json::to_string(&effects).unwrap_or_default()
    }

    /// Sets one agent to work.
    #[napi(catch_unwind)]
    pub fn drive_next(&self) -> u32 {
        self.shared.with(|gateway, now| {
            gateway.poll_drive(now);
        })
    }

    /// Milliseconds until `timeout` wants to be called, or -1. The driver sets its timer to it.
    #[napi(catch_unwind)]
    pub fn next_timeout(&self) -> f64 {
        let mut state = self.shared.lock();
        state.armed = state.gateway.poll_timeout();
        match state.armed {
            None => -1.0,
            Some(at) => at.saturating_duration_since(Instant::now()).as_secs_f64() * 1000.0,
        }
    }

    /// The driver's timer fired.
    #[napi(catch_unwind)]
    pub fn timeout(&self) -> u32 {
        self.shared.lock().armed = None;
        self.shared.with(|gateway, now| gateway.handle_timeout(now))
    }

    /// The agent of a thread is there, with its log so far, the Tools that it has by itself, and its preset.
    #[napi(catch_unwind)]
    pub fn opened(
        &self,
        thread: u32,
        history: String,
        inherited: Vec<String>,
        preset: Option<String>,
    ) -> u32 {
        self.shared.with(|gateway, now| {
            gateway.handle_opened(now, ThreadId(thread), &history, inherited, preset);
        })
    }

    /// The agent of a thread cannot be had. `code` is `HOST_SERVICE_MISSING` where the Host lacks what the thread
    /// needs; every other one becomes `AGENT_EXECUTION_ERROR`.
    #[napi(catch_unwind)]
    pub fn open_failed(&self, thread: u32, code: String) -> u32 {
        // Words of the Host's own stay here: they may name paths and sessions.
        let error = if code == Code::HostServiceMissing.as_str() {
            GatewayError::new(
                Code::HostServiceMissing,
                "the Host lacks a service that this thread needs",
            )
        } else {
            GatewayError::new(Code::AgentExecutionError, "the agent could not be opened")
        };
        self.shared
            .with(|gateway, now| gateway.handle_open_failed(now, ThreadId(thread), &error))
    }

    /// The agent of a thread is disposed.
    #[napi(catch_unwind)]
    pub fn closed(&self, thread: u32) -> u32 {
        self.shared
            .with(|gateway, now| gateway.handle_closed(now, ThreadId(thread)))
    }

    /// Somebody else disposed the agent of a thread.
    #[napi(catch_unwind)]
    pub fn gone(&self, thread: u32) -> u32 {
        self.shared
            .with(|gateway, now| gateway.handle_gone(now, ThreadId(thread)))
    }

    /// The log of a thread has a new record.
    #[napi(catch_unwind)]
    pub fn record(&self, thread: u32, json: String) -> u32 {
        self.shared
            .with(|gateway, now| gateway.handle_record(now, ThreadId(thread), &json))
    }

    /// A model attempt begins. One more bit of the answer: 16 = the run that shows the attempt wants its reasoning.
    #[napi(catch_unwind)]
    pub fn attempt_start(&self, thread: u32, turn: u32, step: u32) -> u32 {
        let thread = ThreadId(thread);
        let mut wants_reasoning = false;
        let todo = self.shared.with(|gateway, now| {
            gateway.handle_attempt_start(now, thread, turn.into(), step.into());
            wants_reasoning = gateway.wants_reasoning(thread);
        });
        if wants_reasoning {
            todo | Todo::REASONING
        } else {
            todo
        }
    }

    /// The block that was open is complete.
    #[napi(catch_unwind)]
    pub fn block_end(&self, thread: u32) -> u32 {
        self.shared
            .with(|gateway, now| gateway.handle_block_end(now, ThreadId(thread)))
    }

    /// The attempt under way came to nothing.
    #[napi(catch_unwind)]
    pub fn attempt_abandoned(&self, thread: u32) -> u32 {
        self.shared
            .with(|gateway, now| gateway.handle_attempt_abandoned(now, ThreadId(thread)))
    }

    /// A Tool's body starts or ends.
    #[napi(catch_unwind)]
    pub fn body(&self, thread: u32, call_id: String, running: bool) -> u32 {
        let change = if running {
            BodyChange::Started
        } else {
            BodyChange::Ended
        };
        self.shared
            .with(|gateway, now| gateway.handle_body(now, ThreadId(thread), &call_id, change))
    }

    /// The Tools that the agent has by itself are these now.
    #[napi(catch_unwind)]
    pub fn inherited(&self, thread: u32, names: Vec<String>) -> u32 {
        self.shared
            .with(|gateway, now| gateway.handle_inherited(now, ThreadId(thread), names))
    }

    /// The agent's status changed.
    #[napi(catch_unwind)]
    pub fn status(
        &self,
        thread: u32,
        #[napi(ts_arg_type = "'idle' | 'running'")] status: String,
    ) -> u32 {
        let status = if status == "running" {
            AgentStatus::Running
        } else {
            AgentStatus::Idle
        };
        self.shared
            .with(|gateway, now| gateway.handle_status(now, ThreadId(thread), status))
    }

    /// A body of a Tool that the gateway registered begins. Returns how it settles at once, as the JSON of an
    /// outcome, or `null` when it waits for a `settle` effect with this token.
    #[napi(catch_unwind)]
    pub fn call(
        &self,
        thread: u32,
        token: u32,
        call_id: String,
        name: String,
        arguments: String,
    ) -> Option<String> {
        let call = CallHead {
            call_id: &call_id,
            name: &name,
            arguments: &arguments,
        };
        let mut state = self.shared.lock();
        match state
            .gateway
            .handle_call(Instant::now(), ThreadId(thread), Token(token), &call)
        {
            CallDecision::Park => None,
            CallDecision::Settle(outcome) => serde_json::to_string(&outcome).ok(),
        }
    }

    /// The Host aborted a body that waits; the driver settles it.
    #[napi(catch_unwind)]
    pub fn call_aborted(&self, thread: u32, token: u32) -> u32 {
        self.shared.with(|gateway, now| {
            gateway.handle_call_aborted(now, ThreadId(thread), Token(token));
        })
    }

    /// The agent of a thread asks a person; `request` is the port's `PersonRequest` as JSON. Returns how that ends at
    /// once, as the JSON of a `PersonOutcome`, or `null` when it waits for an `answer` effect with this token.
    #[napi(catch_unwind)]
    pub fn ask(&self, thread: u32, token: u32, request: String) -> Option<String> {
        let mut state = self.shared.lock();
        match state
            .gateway
            .handle_ask(Instant::now(), ThreadId(thread), Token(token), &request)
        {
            AskDecision::Wait => None,
            AskDecision::Settle(outcome) => serde_json::to_string(&outcome).ok(),
        }
    }

    /// The Host took a request to a person back; the driver settles it.
    #[napi(catch_unwind)]
    pub fn ask_aborted(&self, thread: u32, token: u32) -> u32 {
        self.shared.with(|gateway, now| {
            gateway.handle_ask_aborted(now, ThreadId(thread), Token(token));
        })
    }

    /// A `syncTools` effect is carried out, or the Host refused a Tool of it.
    #[napi(catch_unwind)]
    pub fn tools_synced(&self, thread: u32, refused: bool) -> u32 {
        let outcome = if refused {
            ToolSync::Refused
        } else {
            ToolSync::Done
        };
        self.shared.with(|gateway, now| {
            gateway.handle_tools_synced(now, ThreadId(thread), outcome);
        })
    }

    /// A `flush` effect is carried out, or the Host cannot. `records` is what the effect named.
    #[napi(catch_unwind)]
    pub fn flushed(&self, thread: u32, records: i64) -> u32 {
        let records = u64::try_from(records).unwrap_or(0);
        self.shared
            .with(|gateway, now| gateway.handle_flushed(now, ThreadId(thread), records))
    }

    /// What there is to do now, see the class.
    #[napi(catch_unwind)]
    pub fn todo(&self) -> u32 {
        self.shared.lock().todo()
    }

    /// Ends everything. Later requests are refused.
    #[napi(catch_unwind)]
    pub fn shutdown(&self) -> u32 {
        self.shared.with(|gateway, now| gateway.shutdown(now))
    }

    /// Threads that are live, opening or closing.
    #[napi(getter, catch_unwind)]
    pub fn thread_count(&self) -> u32 {
        u32::try_from(self.shared.lock().gateway.thread_count()).unwrap_or(u32::MAX)
    }
}
