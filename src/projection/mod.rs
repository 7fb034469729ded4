//! From what a Host reports to what AG-UI clients see.
//!
//! [`Transcript`] reads durable records and keeps the history, encoded. [`LiveStep`] reads the deltas of the model
//! attempt under way. A message has the same id in both, so the stream and every later snapshot agree (G9, G13).

mod cards;
mod change;
mod deliverables;
mod emit;
mod frontend_result;
mod live;
mod message;
mod reasoning;
mod transcript;
mod wire;

pub use cards::Cards;
pub use change::{AssistantView, CallView, Change, SettledView, StartedView};
pub use deliverables::Deliverables;
pub use emit::Emit;
pub use frontend_result::{
    BrowserSide, FRONTEND_RESULT_KEY, FrontendResult, Original, ResultFields, frontend_result_meta,
};
pub use live::LiveStep;
pub(crate) use message::{encode_result, encode_user, encode_user_parts};
pub use transcript::{ACTION_FORM, Transcript};
pub(crate) use wire::DELTA_TAIL;
