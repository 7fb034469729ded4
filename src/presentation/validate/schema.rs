//! What is kept of a request after validation: enough to judge its answer, nothing of its text.

use crate::presentation::limits::Measure;
use crate::presentation::protocol::Operation;

/// A validated request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub operation: Operation,
    /// What its answer must look like.
    pub answer: AnswerSchema,
    /// What counts against the limits.
    pub measure: Measure,
    /// The notification's deduplication key.
    pub deduplication_key: Option<Box<str>>,
}

/// What a submitted value must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerSchema {
    /// `{accepted: true}`.
    Receipt,
    /// Answers by field id.
    Question(Box<[Field]>),
    /// `approved` or `denied`.
    Approval,
    /// A secret of this length.
    Secret(Lengths),
    /// A query, announced at the exact URI if there is one.
    Redirect {
        /// `exactRedirectUri`, verbatim.
        exact: Option<Box<str>>,
    },
}

/// Bounds of a text in UTF-16 code units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// `minLength`.
    pub least: Option<u64>,
    /// `maxLength`.
    pub most: Option<u64>,
}

/// One field of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its id.
    pub id: Box<str>,
    /// Whether it must be answered.
    pub need: Need,
    /// What its answer is.
    pub answer: FieldAnswer,
}

/// Whether a field must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// An answer must be there.
    Required,
    /// The field may be absent.
    Optional,
}

/// The answer of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldAnswer {
    /// A string.
    Text(Lengths),
    /// A boolean.
    Confirm,
    /// One option id.
    One(Box<[Box<str>]>),
    /// Distinct option ids.
    Many(Box<[Box<str>]>),
}
