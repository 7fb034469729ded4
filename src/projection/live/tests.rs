use super::*;
use crate::projection::CallView;

/// Writes events as short lines: what happened, not how it is spelled.
#[derive(Default)]
struct Lines(Vec<String>);

impl Emit for Lines {
    fn event(&mut self, json: String) {
        self.0.push(json);
    }
    fn delta(&mut self, stream: u32, head: &dyn Fn() -> String, delta: &str) {
        self.0.push(format!("{stream}:{}{delta}\"}}", head()));
    }
}

impl Lines {
    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.0)
            .into_iter()
            .map(|line| {
                line.replace("\"type\":", "")
                    .replace("TEXT_MESSAGE_", "T_")
                    .replace("TOOL_CALL_", "C_")
                    .replace("REASONING_MESSAGE_", "M_")
                    .replace("REASONING_", "R_")
                    .replace(['"', '{', '}'], "")
            })
            .collect()
    }
}

fn view(text: &str, calls: &[(&str, &str, &str)]) -> AssistantView {
    AssistantView {
        id: "m".into(),
        text: text.into(),
        calls: calls
            .iter()
            .map(|(id, name, arguments)| CallView {
                call_id: (*id).into(),
                wire_id: (*id).into(),
                name: (*name).into(),
                arguments: (*arguments).into(),
            })
            .collect(),
    }
}

fn begun() -> (LiveStep, Lines) {
    let mut step = LiveStep::default();
    step.begin("m".into());
    (step, Lines::default())
}

#[test]
fn streamed_text_is_not_sent_again() {
    let (mut step, mut out) = begun();
    step.text("a", &mut out);
    step.text("b", &mut out);
    step.block_end(&mut out);
    step.commit(&view("ab", &[]), &mut out);
    assert_eq!(
        out.take(),
        [
            "T_START,messageId:m,role:assistant",
            "0:T_CONTENT,messageId:m,delta:a",
            "0:T_CONTENT,messageId:m,delta:b",
            "T_END,messageId:m"
        ]
    );
}

#[test]
fn what_was_not_streamed_arrives_whole() {
    let (mut step, mut out) = begun();
    step.text("a", &mut out);
    step.commit(&view("abc", &[("c", "n", r#"{"x":1}"#)]), &mut out);
    assert_eq!(
        out.take(),
        [
            "T_START,messageId:m,role:assistant",
            "0:T_CONTENT,messageId:m,delta:a",
            "0:T_CONTENT,messageId:m,delta:bc",
            "T_END,messageId:m",
            "C_START,toolCallId:c,toolCallName:n,parentMessageId:m",
            "1:C_ARGS,toolCallId:c,delta:x:1",
            "C_END,toolCallId:c"
        ]
    );
}

#[test]
fn arguments_stream_as_the_model_produces_them() {
    let (mut step, mut out) = begun();
    step.text("t", &mut out);
    step.call("c", Some("n"), "", &|| "c~2.1".into(), &mut out);
    step.call("c", None, "{}", &|| unreachable!(), &mut out);
    step.block_end(&mut out);
    let mut message = view("t", &[("c", "n", "{}")]);
    message.calls[0].wire_id = "c~2.1".into();
    step.commit(&message, &mut out);
    assert_eq!(
        out.take(),
        [
            "T_START,messageId:m,role:assistant",
            "0:T_CONTENT,messageId:m,delta:t",
            "T_END,messageId:m",
            "C_START,toolCallId:c~2.1,toolCallName:n,parentMessageId:m",
            "1:C_ARGS,toolCallId:c~2.1,delta:",
            "C_END,toolCallId:c~2.1"
        ]
    );
}

#[test]
fn interleaved_calls_end_each_with_all_of_their_arguments() {
    let (mut step, mut out) = begun();
    step.call("a", Some("n"), "[1", &|| "a".into(), &mut out);
    step.call("b", Some("n"), "[2]", &|| "b".into(), &mut out);
    step.block_end(&mut out);
    step.call("a", None, "]", &|| unreachable!(), &mut out);
    step.block_end(&mut out);
    step.commit(&view("", &[("a", "n", "[1]"), ("b", "n", "[2]")]), &mut out);
    assert_eq!(
        out.take(),
        [
            "C_START,toolCallId:a,toolCallName:n,parentMessageId:m",
            "0:C_ARGS,toolCallId:a,delta:[1",
            "C_START,toolCallId:b,toolCallName:n,parentMessageId:m",
            "1:C_ARGS,toolCallId:b,delta:[2]",
            "C_END,toolCallId:b",
            "0:C_ARGS,toolCallId:a,delta:]",
            "C_END,toolCallId:a"
        ]
    );
}

#[test]
fn reasoning_is_closed_before_text_and_calls() {
    let (mut step, mut out) = begun();
    step.reasoning("why", &mut out);
    step.reasoning("?", &mut out);
    step.text("so", &mut out);
    step.reasoning("but", &mut out);
    step.call("c", Some("n"), "{}", &|| "c".into(), &mut out);
    step.block_end(&mut out);
    step.commit(&view("so", &[("c", "n", "{}")]), &mut out);
    assert_eq!(
        out.take(),
        [
            "R_START,messageId:m-reasoning-1",
            "M_START,messageId:m-reasoning-1,role:reasoning",
            "0:M_CONTENT,messageId:m-reasoning-1,delta:why",
            "0:M_CONTENT,messageId:m-reasoning-1,delta:?",
            "M_END,messageId:m-reasoning-1",
            "R_END,messageId:m-reasoning-1",
            "T_START,messageId:m,role:assistant",
            "1:T_CONTENT,messageId:m,delta:so",
            "R_START,messageId:m-reasoning-2",
            "M_START,messageId:m-reasoning-2,role:reasoning",
            "2:M_CONTENT,messageId:m-reasoning-2,delta:but",
            "M_END,messageId:m-reasoning-2",
            "R_END,messageId:m-reasoning-2",
            "T_END,messageId:m",
            "C_START,toolCallId:c,toolCallName:n,parentMessageId:m",
            "3:C_ARGS,toolCallId:c,delta:",
            "C_END,toolCallId:c"
        ]
    );
}

#[test]
fn reasoning_interleaves_with_open_text_and_calls() {
    let (mut step, mut out) = begun();
    step.text("a", &mut out);
    step.reasoning("1", &mut out);
    step.block_end(&mut out);
    step.text("b", &mut out);
    step.call("c", Some("n"), "[", &|| "c".into(), &mut out);
    step.reasoning("2", &mut out);
    step.call("c", None, "]", &|| unreachable!(), &mut out);
    step.commit(&view("ab", &[("c", "n", "[]")]), &mut out);
    assert_eq!(
        out.take(),
        [
            "T_START,messageId:m,role:assistant",
            "0:T_CONTENT,messageId:m,delta:a",
            "R_START,messageId:m-reasoning-1",
            "M_START,messageId:m-reasoning-1,role:reasoning",
            "1:M_CONTENT,messageId:m-reasoning-1,delta:1",
            "M_END,messageId:m-reasoning-1",
            "R_END,messageId:m-reasoning-1",
            "0:T_CONTENT,messageId:m,delta:b",
            "T_END,messageId:m",
            "C_START,toolCallId:c,toolCallName:n,parentMessageId:m",
            "2:C_ARGS,toolCallId:c,delta:[",
            "R_START,messageId:m-reasoning-2",
            "M_START,messageId:m-reasoning-2,role:reasoning",
            "3:M_CONTENT,messageId:m-reasoning-2,delta:2",
            "M_END,messageId:m-reasoning-2",
            "R_END,messageId:m-reasoning-2",
            "2:C_ARGS,toolCallId:c,delta:]",
            "C_END,toolCallId:c"
        ]
    );
}

#[test]
fn reasoning_of_an_abandoned_attempt_keeps_its_id_to_itself() {
    let (mut step, mut out) = begun();
    step.reasoning("half", &mut out);
    step.abandon(&mut out);
    // No snapshot holds reasoning, so none can take it back.
    assert!(!step.begin("m".into()));
    step.reasoning("whole", &mut out);
    step.commit(&view("", &[]), &mut out);
    step.begin("m2".into());
    step.reasoning("next", &mut out);
    step.close(&mut out);
    assert_eq!(
        out.take(),
        [
            "R_START,messageId:m-reasoning-1",
            "M_START,messageId:m-reasoning-1,role:reasoning",
            "0:M_CONTENT,messageId:m-reasoning-1,delta:half",
            "M_END,messageId:m-reasoning-1",
            "R_END,messageId:m-reasoning-1",
            "R_START,messageId:m-reasoning-2",
            "M_START,messageId:m-reasoning-2,role:reasoning",
            "1:M_CONTENT,messageId:m-reasoning-2,delta:whole",
            "M_END,messageId:m-reasoning-2",
            "R_END,messageId:m-reasoning-2",
            "R_START,messageId:m2-reasoning-1",
            "M_START,messageId:m2-reasoning-1,role:reasoning",
            "2:M_CONTENT,messageId:m2-reasoning-1,delta:next",
            "M_END,messageId:m2-reasoning-1",
            "R_END,messageId:m2-reasoning-1"
        ]
    );
}

#[test]
fn state_calls_stay_hidden() {
    let (mut step, mut out) = begun();
    step.call("s", Some(STATE_TOOL), "{}", &|| "s".into(), &mut out);
    step.commit(&view("", &[("s", STATE_TOOL, "{}")]), &mut out);
    step.abandon(&mut out);
    assert!(out.take().is_empty());
    assert!(!step.begin("m".into()));
}

#[test]
fn an_abandoned_attempt_closes_and_the_next_begins_afresh() {
    let (mut step, mut out) = begun();
    step.text("half", &mut out);
    step.abandon(&mut out);
    assert!(step.begin("m".into()));
    step.text("whole", &mut out);
    step.commit(&view("whole", &[]), &mut out);
    assert_eq!(
        out.take(),
        [
            "T_START,messageId:m,role:assistant",
            "0:T_CONTENT,messageId:m,delta:half",
            "T_END,messageId:m",
            "T_START,messageId:m,role:assistant",
            "1:T_CONTENT,messageId:m,delta:whole",
            "T_END,messageId:m"
        ]
    );
}

#[test]
fn a_message_of_another_step_is_sent_whole() {
    let (mut step, mut out) = begun();
    step.text("x", &mut out);
    step.block_end(&mut out);
    let mut message = view("yz", &[]);
    message.id = "m2".into();
    out.take();
    step.commit(&message, &mut out);
    assert_eq!(
        out.take(),
        [
            "T_START,messageId:m2,role:assistant",
            "1:T_CONTENT,messageId:m2,delta:yz",
            "T_END,messageId:m2"
        ]
    );
}
