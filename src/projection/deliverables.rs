//! Declared deliverables as activities: `ACTIVITY_SNAPSHOT` of type `dsh-deliverables` (spec: gateway, 已声明的交付文件; G15).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::transcript::id_prefix;
use crate::agui::{ActivityMode, Event, Json};
use crate::session::Presented;

/// The deliverables of a session, kept encoded and replayed at the start of each run.
#[derive(Debug)]
pub struct Deliverables {
    /// Prefix of the activities' ids.
    prefix: String,
    /// URL of the thread, without origin and without a trailing slash.
    thread_url: String,
    /// Declared paths, by the position of their declaration in the log.
    paths: BTreeMap<u64, Vec<String>>,
    events: Vec<Arc<str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Content<'a> {
    turn: u64,
    call_id: &'a str,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    url: String,
}

impl Deliverables {
    /// No deliverables yet, of the session named `session_id` behind `thread_url`.
    #[must_use]
    pub fn new(session_id: &str, thread_url: String) -> Self {
        Self {
            prefix: id_prefix(session_id),
            thread_url,
            paths: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Notes a declaration, and returns its event.
    pub fn present(&mut self, presented: Presented) -> Arc<str> {
        let seq = presented.seq;
        let files = presented
            .files
            .iter()
            .enumerate()
            .map(|(index, file)| File {
                path: &file.path,
                description: file.description.as_deref(),
                url: format!("{}/deliverables/{seq}/files/{index}", self.thread_url),
            });
        let content = Content {
            turn: presented.turn,
            call_id: &presented.call_id,
            files: files.collect(),
        };
        let content = serde_json::to_string(&content).unwrap_or_default();
        let event: Arc<str> = Event::ActivitySnapshot {
            message_id: &format!("{}-deliverables-{seq}", self.prefix),
            activity_type: "dsh-deliverables",
            content: Json::encoded(&content),
            mode: ActivityMode::Replace,
        }
        .to_json()
        .into();
        let paths = presented.files.into_iter().map(|file| file.path);
        self.paths.insert(seq, paths.collect());
        self.events.push(Arc::clone(&event));
        event
    }

    /// The path that the declaration at `event_seq` names at `index`.
    #[must_use]
    pub fn path(&self, event_seq: u64, index: u64) -> Option<&str> {
        let index = usize::try_from(index).ok()?;
        self.paths.get(&event_seq)?.get(index).map(String::as_str)
    }

    /// The events of all declarations, oldest first.
    #[must_use]
    pub fn events(&self) -> &[Arc<str>] {
        &self.events
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::session::{SessionEvent, parse_record};

    #[test]
    fn a_declaration_is_an_activity_with_a_url_a_file() {
        let record = r#"{"type":"deliverables/presented","seq":40,"data":{"turn":2,"callId":"c2",
            "files":[{"path":"out.txt","description":"the \"out\""},{"path":"/abs/.env"}]}}"#;
        let SessionEvent::Presented(presented) = parse_record(record).unwrap().event else {
            panic!("not a declaration");
        };
        let mut deliverables =
            Deliverables::new("agui-0123456789abcdef", "/ag-ui/threads/t".into());
        let event = deliverables.present(presented);
        assert_eq!(
            &*event,
            r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"0123456789ab-deliverables-40","activityType":"dsh-deliverables","content":{"turn":2,"callId":"c2","files":[{"path":"out.txt","description":"the \"out\"","url":"/ag-ui/threads/t/deliverables/40/files/0"},{"path":"/abs/.env","url":"/ag-ui/threads/t/deliverables/40/files/1"}]}}"#
        );
        assert_eq!(deliverables.events(), [event]);
        assert_eq!(deliverables.path(40, 1), Some("/abs/.env"));
        for (seq, index) in [(40, 2), (41, 0), (40, u64::MAX)] {
            assert_eq!(deliverables.path(seq, index), None);
        }
    }
}
