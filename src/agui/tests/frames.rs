//! Frames, and the escaping on the delta path.

use proptest::prelude::*;

use crate::agui::sse::{KEEP_ALIVE, escape_json_into, write_comment, write_event, write_frame};
use crate::agui::{Event, Json};

#[test]
fn a_frame_is_an_id_and_one_line_of_data() {
    let mut out = String::new();
    write_event(
        &mut out,
        7,
        &Event::TextMessageContent {
            message_id: "m",
            delta: "a\nb",
        },
    );
    write_frame(&mut out, "r:8", r#"{"type":"RAW","event":1}"#);
    assert_eq!(
        out,
        "id: 7\ndata: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"a\\nb\"}\n\n\
         id: r:8\ndata: {\"type\":\"RAW\",\"event\":1}\n\n"
    );
}

#[test]
fn line_ends_between_tokens_do_not_break_the_frame() {
    let mut out = String::new();
    write_event(
        &mut out,
        1,
        &Event::StateSnapshot {
            snapshot: Json::encoded("{\r\n  \"a\": [\n1]\n}"),
        },
    );
    write_frame(&mut out, 2, "{\n\n\"type\":\r1}");
    assert_eq!(
        out,
        "id: 1\ndata: {\"type\":\"STATE_SNAPSHOT\",\"snapshot\":{  \"a\": [1]}}\n\nid: 2\ndata: {\"type\":1}\n\n"
    );
}

#[test]
fn comments_are_frames_without_fields() {
    let mut out = String::new();
    write_comment(&mut out, "a\nb\rc");
    assert_eq!(out, ": a b c\n\n");
    assert_eq!(KEEP_ALIVE, ": keep-alive\n\n");
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    escape_json_into(text, &mut out);
    out
}

#[test]
fn every_single_byte_at_every_offset_is_escaped_as_serde_does() {
    for byte in 0_u8..=127 {
        for before in 0..17 {
            for after in [0, 1, 9] {
                let text = format!(
                    "{}{}{}",
                    "x".repeat(before),
                    char::from(byte),
                    "é".repeat(after)
                );
                assert_eq!(
                    format!("\"{}\"", escaped(&text)),
                    serde_json::to_string(&text).unwrap()
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn escaping_is_that_of_serde(text in prop_oneof![any::<String>(), "[\\x00-\\x7f]{0,64}", "[\"\\\\ a\\n\u{20}!#\\x1f]{0,64}"]) {
        prop_assert_eq!(format!("\"{}\"", escaped(&text)), serde_json::to_string(&text).unwrap());
    }
}
