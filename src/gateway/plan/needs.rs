//! What the Host has to do before a run is admitted (G16, G17).

use super::content::NewContent;
use super::messages::NewMessages;
use crate::gateway::effect::SentFile;

/// What the Host has to do first.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// The preset to select.
    pub(crate) preset: Option<String>,
    /// Files that must still be there.
    pub(crate) files: Vec<SentFile>,
}

impl Needs {
    pub(crate) fn new(preset: Option<String>, messages: &NewMessages) -> Self {
        let files = messages
            .users
            .iter()
            .filter_map(|user| match &user.content {
                NewContent::Parts(parts) => Some(parts.files.iter().cloned()),
                NewContent::Texts(_) => None,
            });
        Self {
            preset,
            files: files.flatten().collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.preset.is_none() && self.files.is_empty()
    }
}
