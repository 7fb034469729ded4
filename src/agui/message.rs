//! Messages of the history, told apart by `role`.

use std::borrow::Cow;

use serde::de::MapAccess;

use super::Content;
use super::json::{Json, ObjectWriter, write_array};
use super::read::{Bad, List, Member, ReadObject, Slot};

/// A message of a request.
///
/// Equality and hash follow the normalised form ([`Message::write_json`]), except that encoded members
/// (metadata, activity content) compare as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Message<'a> {
    /// Instructions of the application.
    Developer(TextMessage<'a>),
    /// Instructions of the application, older name.
    System(TextMessage<'a>),
    /// What the Agent said and called.
    Assistant(AssistantMessage<'a>),
    /// What the person said.
    User(UserMessage<'a>),
    /// Result of a Tool call.
    Tool(ToolMessage<'a>),
    /// A card of the client's history. Clients do not send it back, but may.
    Activity(ActivityMessage<'a>),
    /// What the Agent thought.
    Reasoning(ReasoningMessage<'a>),
}

/// The `role` of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Role {
    Developer,
    System,
    Assistant,
    User,
    Tool,
    Activity,
    Reasoning,
}

impl Role {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::System => "system",
            Self::Assistant => "assistant",
            Self::User => "user",
            Self::Tool => "tool",
            Self::Activity => "activity",
            Self::Reasoning => "reasoning",
        }
    }

    /// The role with this name on the wire.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "developer" => Some(Self::Developer),
            "system" => Some(Self::System),
            "assistant" => Some(Self::Assistant),
            "user" => Some(Self::User),
            "tool" => Some(Self::Tool),
            "activity" => Some(Self::Activity),
            "reasoning" => Some(Self::Reasoning),
            _ => None,
        }
    }
}

/// A developer or system message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextMessage<'a> {
    /// Id, may be empty; not checked to be unique.
    pub id: Cow<'a, str>,
    /// The text, may be empty.
    pub content: Cow<'a, str>,
    /// Name of the speaker.
    pub name: Option<Cow<'a, str>>,
    /// Opaque value of the provider.
    pub encrypted_value: Option<Cow<'a, str>>,
    /// The subagent that it belongs to.
    pub subagent_run_id: Option<Cow<'a, str>>,
    /// An object.
    pub metadata: Option<Json<'a>>,
}

/// An assistant message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AssistantMessage<'a> {
    /// Id, may be empty; not checked to be unique.
    pub id: Cow<'a, str>,
    /// The text; absent when the message only carries calls.
    pub content: Option<Cow<'a, str>>,
    /// Name of the speaker.
    pub name: Option<Cow<'a, str>>,
    /// The calls; absent and empty are different on the wire.
    pub tool_calls: Option<Vec<ToolCall<'a>>>,
    /// Opaque value of the provider.
    pub encrypted_value: Option<Cow<'a, str>>,
    /// The subagent that it belongs to.
    pub subagent_run_id: Option<Cow<'a, str>>,
    /// An object.
    pub metadata: Option<Json<'a>>,
}

/// A user message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserMessage<'a> {
    /// Id, may be empty; not checked to be unique.
    pub id: Cow<'a, str>,
    /// Text or parts.
    pub content: Content<'a>,
    /// Name of the speaker.
    pub name: Option<Cow<'a, str>>,
    /// Opaque value of the provider.
    pub encrypted_value: Option<Cow<'a, str>>,
    /// The subagent that it belongs to.
    pub subagent_run_id: Option<Cow<'a, str>>,
    /// An object.
    pub metadata: Option<Json<'a>>,
}

/// A Tool result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolMessage<'a> {
    /// Id, may be empty; not checked to be unique.
    pub id: Cow<'a, str>,
    /// The call that it answers; not checked to exist.
    pub tool_call_id: Cow<'a, str>,
    /// Text; since 1.0 also parts.
    pub content: Content<'a>,
    /// Text of a failure.
    pub error: Option<Cow<'a, str>>,
    /// Opaque value of the provider.
    pub encrypted_value: Option<Cow<'a, str>>,
    /// The subagent that it belongs to.
    pub subagent_run_id: Option<Cow<'a, str>>,
    /// An object.
    pub metadata: Option<Json<'a>>,
}

/// An activity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ActivityMessage<'a> {
    /// Id, may be empty; not checked to be unique.
    pub id: Cow<'a, str>,
    /// Kind of activity.
    pub activity_type: Cow<'a, str>,
    /// An object.
    pub content: Json<'a>,
    /// The subagent that it belongs to.
    pub subagent_run_id: Option<Cow<'a, str>>,
    /// An object.
    pub metadata: Option<Json<'a>>,
}

/// Reasoning of the Agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReasoningMessage<'a> {
    /// Id, may be empty; not checked to be unique.
    pub id: Cow<'a, str>,
    /// The text, may be empty.
    pub content: Cow<'a, str>,
    /// Opaque value of the provider.
    pub encrypted_value: Option<Cow<'a, str>>,
    /// The subagent that it belongs to.
    pub subagent_run_id: Option<Cow<'a, str>>,
    /// An object.
    pub metadata: Option<Json<'a>>,
}

/// A call in an assistant message. Its `type` is always `function`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolCall<'a> {
    /// Id of the call.
    pub id: Cow<'a, str>,
    /// Name of the Tool (`function.name`).
    pub name: Cow<'a, str>,
    /// Text of the arguments (`function.arguments`), not checked to be JSON.
    pub arguments: Cow<'a, str>,
    /// Opaque value of the provider.
    pub encrypted_value: Option<Cow<'a, str>>,
    /// An object.
    pub metadata: Option<Json<'a>>,
}

/// Reads the same field of every variant.
macro_rules! common {
    ($message:expr, $field:ident) => {
        match $message {
            Message::Developer(message) | Message::System(message) => &message.$field,
            Message::Assistant(message) => &message.$field,
            Message::User(message) => &message.$field,
            Message::Tool(message) => &message.$field,
            Message::Activity(message) => &message.$field,
            Message::Reasoning(message) => &message.$field,
        }
    };
}

impl<'a> Message<'a> {
    /// The role.
    #[must_use]
    pub const fn role(&self) -> Role {
        match self {
            Self::Developer(_) => Role::Developer,
            Self::System(_) => Role::System,
            Self::Assistant(_) => Role::Assistant,
            Self::User(_) => Role::User,
            Self::Tool(_) => Role::Tool,
            Self::Activity(_) => Role::Activity,
            Self::Reasoning(_) => Role::Reasoning,
        }
    }

    /// The id, may be empty; not checked to be unique.
    #[must_use]
    pub fn id(&self) -> &str {
        common!(self, id)
    }

    /// The metadata, an object.
    #[must_use]
    pub fn metadata(&self) -> Option<Json<'a>> {
        *common!(self, metadata)
    }

    /// The subagent that it belongs to.
    #[must_use]
    pub fn subagent_run_id(&self) -> Option<&str> {
        common!(self, subagent_run_id).as_deref()
    }

    /// Appends the normalised JSON of the message: known members only, in a fixed order, no `null` for absent
    /// ones.
    pub fn write_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.string("id", self.id());
        object.string("role", self.role().as_str());
        let encrypted_value = match self {
            Self::Developer(message) | Self::System(message) => {
                object.string("content", &message.content);
                object.string_if("name", message.name.as_deref());
                message.encrypted_value.as_deref()
            }
            Self::Assistant(message) => {
                object.string_if("content", message.content.as_deref());
                object.string_if("name", message.name.as_deref());
                if let Some(calls) = &message.tool_calls {
                    write_array(calls, object.key("toolCalls"), ToolCall::write_json);
                }
                message.encrypted_value.as_deref()
            }
            Self::User(message) => {
                message.content.write_json(object.key("content"));
                object.string_if("name", message.name.as_deref());
                message.encrypted_value.as_deref()
            }
            Self::Tool(message) => {
                message.content.write_json(object.key("content"));
                object.string("toolCallId", &message.tool_call_id);
                object.string_if("error", message.error.as_deref());
                message.encrypted_value.as_deref()
            }
            Self::Activity(message) => {
                object.string("activityType", &message.activity_type);
                object.json("content", message.content);
                None
            }
            Self::Reasoning(message) => {
                object.string("content", &message.content);
                message.encrypted_value.as_deref()
            }
        };
        object.string_if("encryptedValue", encrypted_value);
        object.string_if("subagentRunId", self.subagent_run_id());
        object.json_if("metadata", self.metadata());
        object.close();
    }
}

impl ToolCall<'_> {
    /// Appends the JSON of the call.
    pub fn write_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.string("id", &self.id);
        object.string("type", "function");
        let mut function = ObjectWriter::open(object.key("function"));
        function.string("name", &self.name);
        function.string("arguments", &self.arguments);
        function.close();
        object.string_if("encryptedValue", self.encrypted_value.as_deref());
        object.json_if("metadata", self.metadata);
        object.close();
    }
}

#[derive(Default)]
pub(super) struct MessageMembers<'a> {
    id: Slot<'a>,
    role: Slot<'a>,
    content: Slot<'a>,
    name: Slot<'a>,
    tool_calls: List<ToolCall<'a>>,
    tool_call_id: Slot<'a>,
    error: Slot<'a>,
    activity_type: Slot<'a>,
    encrypted_value: Slot<'a>,
    subagent_run_id: Slot<'a>,
    metadata: Slot<'a>,
}

impl<'de> ReadObject<'de> for MessageMembers<'de> {
    type Output = Message<'de>;

    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error> {
        let slot = match name {
            "id" => &mut self.id,
            "role" => &mut self.role,
            "content" => &mut self.content,
            "name" => &mut self.name,
            "toolCalls" => {
                self.tool_calls = value.list::<ToolCallMembers<'de>>()?;
                return Ok(());
            }
            "toolCallId" => &mut self.tool_call_id,
            "error" => &mut self.error,
            "activityType" => &mut self.activity_type,
            "encryptedValue" => &mut self.encrypted_value,
            "subagentRunId" => &mut self.subagent_run_id,
            "metadata" => &mut self.metadata,
            _ => return value.skip(),
        };
        *slot = value.slot()?;
        Ok(())
    }

    fn finish(self) -> Result<Message<'de>, Bad> {
        let role = Role::from_name(&self.role.string()?).ok_or(Bad)?;
        let id = self.id.string()?;
        let subagent_run_id = self.subagent_run_id.string_if()?;
        let metadata = self.metadata.object()?;
        // Not a member of activities, where any value of it is ignored.
        let encrypted = self.encrypted_value;
        Ok(match role {
            Role::Developer | Role::System => {
                let content = self.content.string()?;
                let name = self.name.string_if()?;
                let message = TextMessage {
                    id,
                    content,
                    name,
                    encrypted_value: encrypted.string_if()?,
                    subagent_run_id,
                    metadata,
                };
                if role == Role::System {
                    Message::System(message)
                } else {
                    Message::Developer(message)
                }
            }
            Role::Assistant => Message::Assistant(AssistantMessage {
                id,
                content: self.content.string_if()?,
                name: self.name.string_if()?,
                tool_calls: self.tool_calls.optional()?,
                encrypted_value: encrypted.string_if()?,
                subagent_run_id,
                metadata,
            }),
            Role::User => Message::User(UserMessage {
                id,
                content: Content::read(self.content)?,
                name: self.name.string_if()?,
                encrypted_value: encrypted.string_if()?,
                subagent_run_id,
                metadata,
            }),
            Role::Tool => Message::Tool(ToolMessage {
                id,
                tool_call_id: self.tool_call_id.string()?,
                content: Content::read(self.content)?,
                error: self.error.string_if()?,
                encrypted_value: encrypted.string_if()?,
                subagent_run_id,
                metadata,
            }),
            Role::Activity => Message::Activity(ActivityMessage {
                id,
                activity_type: self.activity_type.string()?,
                content: self.content.object()?.ok_or(Bad)?,
                subagent_run_id,
                metadata,
            }),
            Role::Reasoning => Message::Reasoning(ReasoningMessage {
                id,
                content: self.content.string()?,
                encrypted_value: encrypted.string_if()?,
                subagent_run_id,
                metadata,
            }),
        })
    }
}

#[derive(Default)]
struct ToolCallMembers<'a> {
    id: Slot<'a>,
    kind: Slot<'a>,
    function: Option<Result<Function<'a>, Bad>>,
    encrypted_value: Slot<'a>,
    metadata: Slot<'a>,
}

impl<'de> ReadObject<'de> for ToolCallMembers<'de> {
    type Output = ToolCall<'de>;

    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error> {
        let slot = match name {
            "id" => &mut self.id,
            "type" => &mut self.kind,
            "function" => {
                self.function = Some(value.object::<FunctionMembers<'de>>()?);
                return Ok(());
            }
            "encryptedValue" => &mut self.encrypted_value,
            "metadata" => &mut self.metadata,
            _ => return value.skip(),
        };
        *slot = value.slot()?;
        Ok(())
    }

    fn finish(self) -> Result<ToolCall<'de>, Bad> {
        if self.kind.string()? != "function" {
            return Err(Bad);
        }
        let Function { name, arguments } = self.function.ok_or(Bad)??;
        Ok(ToolCall {
            id: self.id.string()?,
            name,
            arguments,
            encrypted_value: self.encrypted_value.string_if()?,
            metadata: self.metadata.object()?,
        })
    }
}

struct Function<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

#[derive(Default)]
struct FunctionMembers<'a> {
    name: Slot<'a>,
    arguments: Slot<'a>,
}

impl<'de> ReadObject<'de> for FunctionMembers<'de> {
    type Output = Function<'de>;

    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error> {
        let slot = match name {
            "name" => &mut self.name,
            "arguments" => &mut self.arguments,
            _ => return value.skip(),
        };
        *slot = value.slot()?;
        Ok(())
    }

    fn finish(self) -> Result<Self::Output, Bad> {
        Ok(Function {
            name: self.name.string()?,
            arguments: self.arguments.string()?,
        })
    }
}
