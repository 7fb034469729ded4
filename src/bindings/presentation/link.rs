//! One end of an attachment. Outputs are fetched one by one with `next()`; the texts of the last output, a message or a
//! secret, are fetched beside it, so that they cross as they are.

use std::time::Instant;

use napi_derive::napi;
use zeroize::Zeroizing;

use super::crossing::{Coded, SecretIn, TextOut};
use super::validate::parse_kind;
use crate::presentation::attach::{Link, LinkLimits, Output, Reason};
use crate::presentation::error::{Code, Error};
use crate::presentation::host::Millis;
use crate::presentation::json::write_string;

/// One end of an attachment.
#[napi]
pub struct PresentationLink {
    link: Link,
    started: Instant,
    /// The message of the last `send` output, or the secret of the last `result` output.
    text: Option<TextOut>,
}

/// The Host's end; `limits` is JSON.
#[napi(catch_unwind, ts_return_type = "PresentationLink")]
pub fn create_presentation_host_link(limits: String) -> Coded<PresentationLink> {
    Coded(
        LinkLimits::parse(&limits)
            .map(|limits| PresentationLink::new(Link::host(Millis(0), limits))),
    )
}

/// The provider's end; `limits` and `supports` are JSON.
#[napi(catch_unwind, ts_return_type = "PresentationLink")]
pub fn create_presentation_provider_link(
    limits: String,
    participant: String,
    supports: String,
) -> Coded<PresentationLink> {
    let link = LinkLimits::parse(&limits)
        .and_then(|limits| Link::provider(Millis(0), limits, &participant, &supports));
    Coded(link.map(PresentationLink::new))
}

#[napi]
impl PresentationLink {
    /// The next output as JSON, its name first, or null. `send` leaves its message, `result` its secret for `takeText()`.
    #[napi(catch_unwind, ts_return_type = "string | null")]
    pub fn next(&mut self) -> Option<TextOut> {
        self.text = None;
        let output = self.link.poll_output()?;
        Some(TextOut(self.render(output)))
    }

    /// The text that belongs to the last output.
    #[napi(catch_unwind, ts_return_type = "string | null")]
    pub fn take_text(&mut self) -> Option<TextOut> {
        self.text.take()
    }

    /// Milliseconds until `timeout()` is due, or -1.
    #[napi(catch_unwind)]
    pub fn due(&self) -> i64 {
        let now = self.now().0;
        self.link.poll_timeout().map_or(-1, |at| {
            i64::try_from(at.0.saturating_sub(now)).unwrap_or(i64::MAX)
        })
    }

    /// Pings a silent peer or gives it up.
    #[napi(catch_unwind)]
    pub fn timeout(&mut self) {
        self.link.handle_timeout(self.now());
    }

    /// A message came; without a text it was none.
    #[napi(catch_unwind)]
    pub fn message(
        &mut self,
        #[napi(ts_arg_type = "string | undefined | null")] text: Option<TextIn>,
    ) {
        let now = self.now();
        self.link
            .handle_message(now, text.as_ref().map(|text| text.0.expose()));
    }

    /// The channel is gone.
    #[napi(catch_unwind)]
    pub fn lost(&mut self) {
        self.link.handle_lost();
    }

    /// Says goodbye with `code`; an unknown one counts as `channel-closed`.
    #[napi(catch_unwind)]
    pub fn close(&mut self, code: String) {
        self.link
            .close(Code::parse(&code).unwrap_or(Code::ChannelClosed));
    }

    /// Host's end: accepts the provider.
    #[napi(catch_unwind)]
    pub fn welcome(&mut self) {
        self.link.welcome();
    }

    /// Host's end: sends a request and gives its number.
    #[napi(catch_unwind, ts_return_type = "number")]
    pub fn request(&mut self, kind: String, input: String) -> Coded<i64> {
        let sent = parse_kind(&kind).and_then(|kind| self.link.request(kind, &input));
        Coded(sent.map(|id| i64::try_from(id).unwrap_or(i64::MAX)))
    }

    /// Host's end: answers whether a request may be shown; with a code it may not.
    #[napi(catch_unwind)]
    pub fn answer_present(&mut self, id: i64, refusal: Option<String>) {
        let refusal = refusal.map(|code| Code::parse(&code).unwrap_or(Code::AuthorityConflict));
        self.link.answer_present(number(id), refusal);
    }

    /// Host's end: the request is no longer the provider's.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: i64, reason: String) {
        self.link.cancel(
            number(id),
            Reason::parse(&reason).unwrap_or(Reason::Cancelled),
        );
    }

    /// Host's end: what the provider last said of the request was refused.
    #[napi(catch_unwind)]
    pub fn refuse(&mut self, id: i64, code: String) {
        self.link.refuse(
            number(id),
            Code::parse(&code).unwrap_or(Code::AlreadySettled),
        );
    }

    /// Provider's end: asks whether it may show the request.
    #[napi(catch_unwind, ts_return_type = "void")]
    pub fn present(&mut self, id: i64) -> Coded<()> {
        Coded(self.link.present(number(id)))
    }

    /// Provider's end: announces progress, as JSON.
    #[napi(catch_unwind, ts_return_type = "void")]
    pub fn progress(&mut self, id: i64, value: String) -> Coded<()> {
        Coded(self.link.progress(number(id), &value))
    }

    /// Provider's end: answers the request, as JSON, with a secret beside it.
    #[napi(catch_unwind, ts_return_type = "void")]
    pub fn answer(
        &mut self,
        id: i64,
        result: String,
        #[napi(ts_arg_type = "string | undefined | null")] secret: Option<SecretIn>,
    ) -> Coded<()> {
        Coded(
            self.link
                .answer(number(id), &result, secret.map(|secret| secret.0)),
        )
    }

    /// Provider's end: gives the request back.
    #[napi(catch_unwind, ts_return_type = "void")]
    pub fn release(&mut self, id: i64) -> Coded<()> {
        Coded(self.link.release(number(id)))
    }

    /// Provider's end: its implementation failed.
    #[napi(catch_unwind, ts_return_type = "void")]
    pub fn fail(&mut self, id: i64, code: String) -> Coded<()> {
        let failed: Result<(), Error> = self.link.fail(
            number(id),
            Code::parse(&code).unwrap_or(Code::ImplementationFailed),
        );
        Coded(failed)
    }
}

/// A message on its way in; it may hold a secret.
type TextIn = SecretIn;

impl PresentationLink {
    fn new(link: Link) -> PresentationLink {
        PresentationLink {
            link,
            started: Instant::now(),
            text: None,
        }
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn render(&mut self, output: Output) -> Zeroizing<String> {
        let text = match output {
            Output::Send(message) => {
                self.text = Some(TextOut(message));
                "[\"send\"]".to_owned()
            }
            Output::Hello {
                participant,
                supports,
            } => {
                let mut text = String::from("[\"hello\",");
                write_string(&participant, &mut text);
                text + "," + &supports + "]"
            }
            Output::Welcome => "[\"welcome\"]".to_owned(),
            Output::Request { id, kind, input } => {
                format!("[\"request\",{id},\"{}\",{input}]", kind.as_str())
            }
            Output::Present { id } => format!("[\"present\",{id}]"),
            Output::Presented { id, refusal: None } => format!("[\"presented\",{id},null]"),
            Output::Presented {
                id,
                refusal: Some(code),
            } => format!("[\"presented\",{id},\"{code}\"]"),
            Output::Released { id } => format!("[\"released\",{id}]"),
            Output::Progress { id, value } => format!("[\"progress\",{id},{value}]"),
            Output::Result { id, result, secret } => {
                self.text = secret.map(TextOut::from);
                format!("[\"result\",{id},{result}]")
            }
            Output::Failed { id, code } => format!("[\"failed\",{id},\"{code}\"]"),
            Output::Cancelled { id, reason } => {
                format!("[\"cancelled\",{id},\"{}\"]", reason.as_str())
            }
            Output::Refused { id, code } => format!("[\"refused\",{id},\"{code}\"]"),
            Output::Closed { code } => format!("[\"closed\",\"{code}\"]"),
        };
        Zeroizing::new(text)
    }
}

/// Requests are counted from 1; whatever else JavaScript sends names none.
fn number(id: i64) -> u64 {
    u64::try_from(id).unwrap_or(0)
}
