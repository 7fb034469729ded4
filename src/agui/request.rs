//! The body of a run request, `RunAgentInput`: read in one pass, borrowing its text from the body.
//!
//! More lenient than the 0.0.59 schema where that is unambiguous (`ag-ui.md` §2.1): `tools`, `context`,
//! `state` and `forwardedProps` may be missing, `null` for any optional member reads as absent, and the
//! shapes of 1.0 are accepted. Members that 0.0.59 does not know are never a ground for a refusal. Unknown
//! members are dropped at every level; of duplicate members the last counts.

use std::borrow::Cow;

use serde::de::MapAccess;

use super::issue::InputError;
use super::json::{Json, ObjectWriter, write_array};
use super::message::MessageMembers;
use super::read::{self, Bad, List, Member, ReadObject, Slot};
use super::{Message, schema, surrogate};

/// A run request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunAgentInput<'a> {
    /// The conversation, may be empty.
    pub thread_id: Cow<'a, str>,
    /// The run, may be empty, may repeat the id of an earlier run.
    pub run_id: Cow<'a, str>,
    /// The run that this one continues.
    pub parent_run_id: Option<Cow<'a, str>>,
    /// `<major>.<minor>`, sent by clients since 1.0 only.
    pub protocol_version: Option<Cow<'a, str>>,
    /// The client's shared state.
    pub state: State<'a>,
    /// The whole history of the client, in its order.
    pub messages: Vec<Message<'a>>,
    /// Frontend Tools; none when the member is missing.
    pub tools: Vec<Tool<'a>>,
    /// Facts about the client's situation; none when the member is missing.
    pub context: Vec<Context<'a>>,
    /// Any value, `null` included.
    pub forwarded_props: Option<Json<'a>>,
    /// Answers to interrupts; absent and empty are different on the wire.
    pub resume: Option<Vec<Resume<'a>>>,
}

/// The client's shared state. The official schema reads `null` as absent; the gateway's baseline rules (row
/// G12) tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State<'a> {
    /// No member.
    Absent,
    /// The value `null`.
    Null,
    /// Any other value; an object in practice.
    Value(Json<'a>),
}

impl<'a> State<'a> {
    /// The value, if one was sent; `null` is a value here.
    #[must_use]
    pub fn json(self) -> Option<Json<'a>> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Json::NULL),
            Self::Value(value) => Some(value),
        }
    }
}

/// A frontend Tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tool<'a> {
    /// Name, any string.
    pub name: Cow<'a, str>,
    /// Description, may be empty.
    pub description: Cow<'a, str>,
    /// Should be a JSON Schema; any value, `null` included.
    pub parameters: Option<Json<'a>>,
    /// An object.
    pub metadata: Option<Json<'a>>,
}

/// One fact about the client's situation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Context<'a> {
    /// What the value is.
    pub description: Cow<'a, str>,
    /// Text; structured values arrive JSON-encoded.
    pub value: Cow<'a, str>,
}

/// The answer to one interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Resume<'a> {
    /// The interrupt; not checked to exist or to be named once.
    pub interrupt_id: Cow<'a, str>,
    /// Answered or given up.
    pub status: ResumeStatus,
    /// The answer, any value, `null` included. Absent is legal for both states.
    pub payload: Option<Json<'a>>,
    /// An object.
    pub metadata: Option<Json<'a>>,
}

/// What became of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResumeStatus {
    /// Answered.
    Resolved,
    /// Given up.
    Cancelled,
}

impl ResumeStatus {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resolved => "resolved",
            Self::Cancelled => "cancelled",
        }
    }
}

impl<'a> RunAgentInput<'a> {
    /// Reads a request body.
    ///
    /// Call [`surrogate::replace_lone_surrogates`] on the bytes first; a lone surrogate is refused here.
    ///
    /// # Errors All issues of the body, with their paths; one issue without a path when it is not UTF-8, not
    /// JSON, nested deeper than 127 containers, or holds a number that is not finite. Finding them costs a
    /// second, slower pass.
    pub fn parse(body: &'a [u8]) -> Result<Self, InputError> {
        let text =
            std::str::from_utf8(body).map_err(|_| InputError::document("Body is not UTF-8"))?;
        if surrogate::has_lone_surrogates(body) {
            return Err(InputError::document("Lone surrogate in a string escape"));
        }
        match read::read_document::<InputMembers<'a>>(text) {
            Ok(Ok(input)) => Ok(input),
            Ok(Err(Bad)) | Err(_) => Err(schema::explain_input(text)),
        }
    }

    /// Appends the normalised JSON: known members only, in a fixed order, no `null` for absent ones. A `null`
    /// state is left out.
    pub fn write_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.string("threadId", &self.thread_id);
        object.string("runId", &self.run_id);
        object.string_if("parentRunId", self.parent_run_id.as_deref());
        object.string_if("protocolVersion", self.protocol_version.as_deref());
        if let State::Value(state) = self.state {
            object.json("state", state);
        }
        write_array(&self.messages, object.key("messages"), Message::write_json);
        write_array(&self.tools, object.key("tools"), Tool::write_json);
        write_array(&self.context, object.key("context"), Context::write_json);
        object.json_if("forwardedProps", self.forwarded_props);
        if let Some(resume) = &self.resume {
            write_array(resume, object.key("resume"), Resume::write_json);
        }
        object.close();
    }

    /// The normalised JSON, see [`RunAgentInput::write_json`].
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }
}

impl Tool<'_> {
    /// Appends the normalised JSON of the Tool.
    pub fn write_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.string("name", &self.name);
        object.string("description", &self.description);
        object.json_if("parameters", self.parameters);
        object.json_if("metadata", self.metadata);
        object.close();
    }
}

impl Context<'_> {
    /// Appends the normalised JSON of the fact.
    pub fn write_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.string("description", &self.description);
        object.string("value", &self.value);
        object.close();
    }
}

impl Resume<'_> {
    /// Appends the normalised JSON of the answer.
    pub fn write_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.string("interruptId", &self.interrupt_id);
        object.string("status", self.status.as_str());
        object.json_if("payload", self.payload);
        object.json_if("metadata", self.metadata);
        object.close();
    }
}

#[derive(Default)]
struct InputMembers<'a> {
    thread_id: Slot<'a>,
    run_id: Slot<'a>,
    parent_run_id: Slot<'a>,
    protocol_version: Slot<'a>,
    state: Slot<'a>,
    messages: List<Message<'a>>,
    tools: List<Tool<'a>>,
    context: List<Context<'a>>,
    forwarded_props: Slot<'a>,
    resume: List<Resume<'a>>,
}

impl<'de> ReadObject<'de> for InputMembers<'de> {
    type Output = RunAgentInput<'de>;

    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error> {
        match name {
            "threadId" => self.thread_id = value.slot()?,
            "runId" => self.run_id = value.slot()?,
            "parentRunId" => self.parent_run_id = value.slot()?,
            "protocolVersion" => self.protocol_version = value.slot()?,
            "state" => self.state = value.slot()?,
            "messages" => self.messages = value.list::<MessageMembers<'de>>()?,
            "tools" => self.tools = value.list::<ToolMembers<'de>>()?,
            "context" => self.context = value.list::<ContextMembers<'de>>()?,
            "forwardedProps" => self.forwarded_props = value.slot()?,
            "resume" => self.resume = value.list::<ResumeMembers<'de>>()?,
            _ => value.skip()?,
        }
        Ok(())
    }

    fn finish(self) -> Result<RunAgentInput<'de>, Bad> {
        Ok(RunAgentInput {
            thread_id: self.thread_id.string()?,
            run_id: self.run_id.string()?,
            parent_run_id: self.parent_run_id.string_if()?,
            protocol_version: self.protocol_version.string_if().ok().flatten(),
            state: match self.state.any() {
                None => State::Absent,
                Some(state) if state.is_null() => State::Null,
                Some(state) => State::Value(state),
            },
            messages: self.messages.required()?,
            tools: self.tools.optional()?.unwrap_or_default(),
            context: self.context.optional()?.unwrap_or_default(),
            forwarded_props: self.forwarded_props.any(),
            resume: self.resume.optional()?,
        })
    }
}

#[derive(Default)]
struct ToolMembers<'a> {
    name: Slot<'a>,
    description: Slot<'a>,
    parameters: Slot<'a>,
    metadata: Slot<'a>,
}

impl<'de> ReadObject<'de> for ToolMembers<'de> {
    type Output = Tool<'de>;

    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error> {
        match name {
            "name" => self.name = value.slot()?,
            "description" => self.description = value.slot()?,
            "parameters" => self.parameters = value.slot()?,
            "metadata" => self.metadata = value.slot()?,
            _ => value.skip()?,
        }
        Ok(())
    }

    fn finish(self) -> Result<Tool<'de>, Bad> {
        Ok(Tool {
            name: self.name.string()?,
            description: self.description.string()?,
            parameters: self.parameters.any(),
            metadata: self.metadata.object()?,
        })
    }
}

#[derive(Default)]
struct ContextMembers<'a> {
    description: Slot<'a>,
    value: Slot<'a>,
}

impl<'de> ReadObject<'de> for ContextMembers<'de> {
    type Output = Context<'de>;

    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error> {
        match name {
            "description" => self.description = value.slot()?,
            "value" => self.value = value.slot()?,
            _ => value.skip()?,
        }
        Ok(())
    }

    fn finish(self) -> Result<Context<'de>, Bad> {
        Ok(Context {
            description: self.description.string()?,
            value: self.value.string()?,
        })
    }
}

#[derive(Default)]
struct ResumeMembers<'a> {
    interrupt_id: Slot<'a>,
    status: Slot<'a>,
    payload: Slot<'a>,
    metadata: Slot<'a>,
}

impl<'de> ReadObject<'de> for ResumeMembers<'de> {
    type Output = Resume<'de>;

    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error> {
        match name {
            "interruptId" => self.interrupt_id = value.slot()?,
            "status" => self.status = value.slot()?,
            "payload" => self.payload = value.slot()?,
            "metadata" => self.metadata = value.slot()?,
            _ => value.skip()?,
        }
        Ok(())
    }

    fn finish(self) -> Result<Resume<'de>, Bad> {
        Ok(Resume {
            interrupt_id: self.interrupt_id.string()?,
            status: match &*self.status.string()? {
                "resolved" => ResumeStatus::Resolved,
                "cancelled" => ResumeStatus::Cancelled,
                _ => return Err(Bad),
            },
            payload: self.payload.any(),
            metadata: self.metadata.object()?,
        })
    }
}
