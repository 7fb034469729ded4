//! Content blocks, and their text (spec: gateway, 兼容性 and 已知限制).

use serde::Deserialize;

/// A content block of any kind. Unknown members are left alone: generations differ in them.
#[derive(Deserialize)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<String>,
    pub(super) content: Option<Vec<Block>>,
    #[serde(rename = "isError")]
    pub(super) is_error: Option<bool>,
}

/// The texts of a person's message, block by block. One that says nothing is told by what it carries.
#[must_use]
pub(super) fn texts_of(blocks: Vec<Block>) -> Vec<String> {
    let (mut texts, mut carried) = (Vec::new(), Vec::new());
    for block in blocks {
        match block.kind.as_str() {
            "text" => texts.extend(block.text.filter(|text| !text.is_empty())),
            "image" => carried.push("[image]".into()),
            "file" => carried.push("[file]".into()),
            _ => {}
        }
    }
    if texts.is_empty() { carried } else { texts }
}

/// The text blocks of a message, concatenated. Reasoning and calls are not text.
#[must_use]
pub(super) fn text_of(blocks: &[Block]) -> String {
    blocks
        .iter()
        .filter(|block| block.kind == "text")
        .filter_map(|block| block.text.as_deref())
        .collect()
}

/// A Tool result as one string: text and reasoning as they are, attachments as placeholders, one block a line.
#[must_use]
pub(super) fn flatten_result(blocks: &[Block]) -> String {
    let lines: Vec<String> = blocks
        .iter()
        .map(|block| match block.kind.as_str() {
            "image" => "[image result]".into(),
            "file" => "[file result]".into(),
            "tool-call" => format!(
                "[nested tool call: {}]",
                block.name.as_deref().unwrap_or("unknown")
            ),
            "tool-result" => flatten_result(block.content.as_deref().unwrap_or_default()),
            _ => block.text.clone().unwrap_or_default(),
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn blocks(json: &str) -> Vec<Block> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn every_kind_of_result_block_has_a_text() {
        let content = blocks(
            r#"[{"type":"text","text":"a"},{"type":"reasoning","text":"b"},{"type":"image","attachment":{}},
                {"type":"file","attachment":{}},{"type":"tool-call","id":"x","name":"run","arguments":"{}"},
                {"type":"tool-result","toolCallId":"x","content":[{"type":"text","text":"c"}]}]"#,
        );
        assert_eq!(
            flatten_result(&content),
            "a\nb\n[image result]\n[file result]\n[nested tool call: run]\nc"
        );
    }

    #[test]
    fn a_person_s_message_always_says_something() {
        let texts = |json: &str| texts_of(blocks(json));
        let attached = r#"[{"type":"image","attachment":{}},{"type":"file","attachment":{}}]"#;
        assert_eq!(texts(attached), ["[image]", "[file]"]);
        let said = r#"[{"type":"text","text":""},{"type":"image","attachment":{}},{"type":"text","text":"a"}]"#;
        assert_eq!(texts(said), ["a"]);
        assert!(texts("[]").is_empty());
    }

    #[test]
    fn text_leaves_reasoning_out() {
        let content = blocks(
            r#"[{"type":"reasoning","text":"r"},{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
        );
        assert_eq!(text_of(&content), "ab");
    }
}
