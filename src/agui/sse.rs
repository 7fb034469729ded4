//! Server-sent events as the official client reads them: LF line ends, one `data:` line a frame, comment
//! frames for silence.
//!
//! The client splits frames at `\n\n` and joins several `data:` lines, so the JSON of an event must be one
//! line. Text copied from a request (state, metadata) may be spread over lines by its author; the writers
//! here take those line ends out.

use std::fmt::{Display, Write as _};

use memchr::memchr2;

use super::Event;
use super::event::Tags;

/// A frame that the client ignores, sent after about 15 s of silence so that nothing between the two ends
/// closes the connection.
pub const KEEP_ALIVE: &str = ": keep-alive\n\n";

/// Value of `content-type` for a stream of frames.
pub const CONTENT_TYPE: &str = "text/event-stream";

/// Appends the frame of an event: `id: <id>\ndata: <json>\n\n`. The id must not contain line ends.
pub fn write_event(out: &mut String, id: impl Display, event: &Event<'_>) {
    write_event_tagged(out, id, event, &Tags::default());
}

/// As [`write_event`], with optional common members.
pub fn write_event_tagged(out: &mut String, id: impl Display, event: &Event<'_>, tags: &Tags<'_>) {
    open_frame(out, id);
    let start = out.len();
    event.write_json_tagged(tags, out);
    if memchr2(b'\n', b'\r', &out.as_bytes()[start..]).is_some() {
        let json = out.split_off(start);
        push_line(out, &json);
    }
    out.push_str("\n\n");
}

/// Appends the frame of an encoded event. The id must not contain line ends.
pub fn write_frame(out: &mut String, id: impl Display, json: &str) {
    open_frame(out, id);
    push_line(out, json);
    out.push_str("\n\n");
}

/// Appends a comment frame. Line ends in the text become spaces.
pub fn write_comment(out: &mut String, text: &str) {
    out.push_str(": ");
    out.extend(
        text.chars()
            .map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }),
    );
    out.push_str("\n\n");
}

fn open_frame(out: &mut String, id: impl Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "id: {id}\ndata: ");
}

/// Appends JSON without its line ends. Inside strings they are always escaped, so those found are white space
/// between tokens.
fn push_line(out: &mut String, json: &str) {
    let mut rest = json;
    while let Some(at) = memchr2(b'\n', b'\r', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

pub use super::json::escape_json_into;
