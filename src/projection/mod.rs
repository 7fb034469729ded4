//! From what a Host reports to what AG-UI clients see.
//!
//! [`Transcript`] reads durable records and keeps the history, encoded. [`LiveStep`] reads the deltas of the model
//! attempt under way. A message has the same id in both, so the stream and every later snapshot agree (G9, G13).

mod cards;
mod change;
mod frontend_result;
mod live;
mod message;
mod reasoning;
mod transcript;
mod wire;

pub use cards::Cards;
pub use change::{AssistantView, CallView, Change, SettledView, StartedView};
pub use frontend_result::{BrowserSide, FrontendResult, frontend_result_meta};
pub use live::{Emit, LiveStep};
pub(crate) use message::{encode_result, encode_user};
pub use transcript::Transcript;
pub(crate) use wire::DELTA_TAIL;
