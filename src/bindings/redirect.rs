//! The redirect receiver as JavaScript sees it: one call to open, two events, one to cancel.

use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use napi::bindgen_prelude::{Function, spawn, within_runtime_if_available};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;
use serde::Serialize;

use crate::redirect::limits::RequestedLimits;
use crate::redirect::registry::Canceller;
use crate::redirect::{Expiry, Outcome, Registry, Request};

/// One registry a process: receivers of all isolates share listeners.
static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(Arc::default);

/// Error code of a limit that is not a positive integer within its ceiling.
const INVALID_LIMIT: &str = "redirect-limit-invalid";

/// What a redirect receiver is opened with.
#[napi(object)]
pub struct RedirectReceiverOptions {
    /// Loopback HTTP URI with an explicit port, to be bound verbatim.
    pub exact_redirect_uri: Option<String>,
    /// When the receiver has to be settled, in milliseconds since the Unix epoch.
    pub deadline_ms: Option<f64>,
    /// Longest query in bytes. Default 16384.
    pub max_query_bytes: Option<f64>,
    /// Most parameters. Default 256.
    pub max_parameters: Option<f64>,
    /// Longest time to wait in milliseconds, also with a later deadline or none. Default 600000.
    pub max_wait_ms: Option<f64>,
}

/// An open receiver. Collecting it as garbage, or the end of its worker, cancels it.
#[napi]
pub struct NativeRedirectReceiver {
    canceller: Canceller,
}

#[napi]
impl NativeRedirectReceiver {
    /// Revokes the receiver's path. No effect when it is settled.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.canceller.cancel();
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Event {
    #[serde(rename_all = "camelCase")]
    Ready {
        redirect_uri: String,
        expires_at_ms: f64,
    },
    Ended {
        result: Outcome,
    },
}

/// Opens a receiver. `onEvent` gets JSON texts: at most one `{"type":"ready","redirectUri","expiresAtMs"}`, then
/// exactly one `{"type":"ended","result"}` with a `PresentationResult`. Pending receivers do not keep the process
/// alive. Throws `redirect-limit-invalid`.
#[napi(
    catch_unwind,
    ts_args_type = "options: RedirectReceiverOptions, onEvent: (event: string) => void"
)]
pub fn open_native_redirect_receiver(
    options: RedirectReceiverOptions,
    on_event: Function<String, ()>,
) -> napi::Result<NativeRedirectReceiver, String> {
    let limits = RequestedLimits {
        max_query_bytes: options.max_query_bytes,
        max_parameters: options.max_parameters,
        max_wait_ms: options.max_wait_ms,
    }
    .resolve()
    .map_err(|error| napi::Error::new(INVALID_LIMIT.to_owned(), error.to_string()))?;
    let events = on_event
        .build_threadsafe_function::<String>()
        .weak::<true>()
        .build()
        .map_err(|error| napi::Error::new("GenericFailure".to_owned(), error.reason.clone()))?;
    let expiry = Expiry::new(now_ms(), options.deadline_ms, limits.max_wait);
    let request = Request {
        exact_redirect_uri: options.exact_redirect_uri,
        limits,
        wait: expiry.wait,
        expires_at_ms: expiry.at_ms,
    };
    let receiver = within_runtime_if_available(|| REGISTRY.open(request));
    spawn(async move {
        let emit = |event: &Event| {
            // Serialising strings and numbers cannot fail; a closing isolate takes no calls, and needs none.
            let text = serde_json::to_string(event).unwrap_or_default();
            let _ = events.call(text, ThreadsafeFunctionCallMode::NonBlocking);
        };
        if let Ok(ready) = receiver.ready.await {
            emit(&Event::Ready {
                redirect_uri: ready.redirect_uri,
                expires_at_ms: ready.expires_at_ms,
            });
        }
        let result = receiver.outcome.await.unwrap_or(Outcome::Cancelled);
        emit(&Event::Ended { result });
    });
    Ok(NativeRedirectReceiver {
        canceller: receiver.canceller,
    })
}

fn now_ms() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| (since.as_secs_f64() * 1000.0).floor())
}
