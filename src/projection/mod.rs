//! From what a Host reports to what AG-UI clients see.
//!
//! [`Transcript`] reads durable records and keeps the history, encoded. [`LiveStep`] reads the deltas of the model
//! attempt under way. A message has the same id in both, so the stream and every later snapshot agree (G9, G13).

mod cards;
mod live;
mod transcript;
mod wire;

pub use cards::Cards;
pub use live::{Emit, LiveStep};
pub use transcript::{
    AssistantView, BrowserSide, CallView, Change, FrontendResult, SettledView, StartedView,
    Transcript, frontend_result_meta,
};
pub(crate) use transcript::{encode_result, encode_user};
pub(crate) use wire::DELTA_TAIL;
