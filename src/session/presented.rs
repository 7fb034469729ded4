//! Files that a turn declared as what it delivers: `deliverables/presented` (spec: gateway, 已声明的交付文件).

use serde::Deserialize;
use serde::de::Error;

use super::error::RecordError;

/// One declaration. It stands, whatever becomes of the call around it.
#[derive(Debug)]
pub struct Presented {
    /// Position of the declaration in the session log; names it together with the session.
    pub seq: u64,
    /// The turn that delivers.
    pub turn: u64,
    /// The provider's id of the call that declared.
    pub call_id: String,
    /// The files, at least one.
    pub files: Vec<PresentedFile>,
}

/// A declared file.
#[derive(Debug, Deserialize)]
pub struct PresentedFile {
    /// Path in the session's file system, absolute or relative to its working directory.
    pub path: String,
    /// What it is, for people.
    pub description: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PresentedData {
    turn: u64,
    call_id: String,
    files: Vec<PresentedFile>,
}

impl Presented {
    /// Reads the data of the event at `seq`.
    pub(super) fn read(seq: u64, data: &str) -> Result<Self, RecordError> {
        let PresentedData {
            turn,
            call_id,
            files,
        } = serde_json::from_str(data)?;
        let whole = !files.is_empty() && files.iter().all(|file| !file.path.trim().is_empty());
        if !whole {
            let error: serde_json::Error = Error::custom("a declaration names its files");
            return Err(error.into());
        }
        Ok(Self {
            seq,
            turn,
            call_id,
            files,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_declaration_keeps_its_files_in_order() {
        let read = Presented::read(
            40,
            r#"{"turn":2,"callId":"c2","files":[{"path":"out.txt","description":"the out"},{"path":"/abs"}]}"#,
        )
        .unwrap();
        assert_eq!((read.seq, read.turn, read.call_id.as_str()), (40, 2, "c2"));
        let files: Vec<_> = read
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.description.as_deref()))
            .collect();
        assert_eq!(files, [("out.txt", Some("the out")), ("/abs", None)]);
    }

    #[test]
    fn what_declares_nothing_is_no_declaration() {
        for data in [
            "null",
            "{}",
            r#"{"turn":1,"callId":"c","files":[]}"#,
            r#"{"turn":1,"callId":"c","files":[null]}"#,
            r#"{"turn":1,"callId":"c","files":[{"path":" "}]}"#,
            r#"{"turn":1,"callId":"c","files":[{"path":"x","description":1}]}"#,
            r#"{"turn":1,"files":[{"path":"x"}]}"#,
            r#"{"callId":"c","files":[{"path":"x"}]}"#,
        ] {
            assert!(Presented::read(0, data).is_err(), "{data}");
        }
    }
}
