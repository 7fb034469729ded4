//! A request's body, read and held against every limit that needs no thread (spec: gateway, 配置; G4, G11).

pub(crate) mod a2ui;
pub(crate) mod content;
pub(crate) mod extras;
mod lossless;
pub(crate) mod props;

use std::collections::HashSet;

use crate::agui::{Content, Json, Message, Resume, RunAgentInput, ToolMessage};
use crate::gateway::config::{Config, ToolSchemas};
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::event_id::EventId;
use crate::gateway::ids::{INTERRUPT_ID_BYTES, is_identity};
use crate::gateway::refusal;
use crate::tools::{Catalogue, Limits, RawTool, Strictness};
use a2ui::Action;
use content::text_of;
use extras::Extras;
use lossless::is_lossless;
use props::Props;

/// A valid request, borrowing from its body.
#[derive(Debug)]
pub struct Request<'a> {
    pub(crate) input: RunAgentInput<'a>,
    /// What a person did on an A2UI surface.
    pub(crate) action: Option<Action>,
    /// The browser Tool that the A2UI middleware renders.
    pub(crate) render_tool: Option<String>,
    /// The preset that the client wants.
    pub(crate) preset: Option<String>,
    /// What the client asks for beyond AG-UI (X3).
    pub(crate) extras: Extras,
    /// The last frame that the client has of a run that it repeats (X1).
    pub(crate) after: Option<EventId>,
    pub(crate) tools: Catalogue,
}

impl<'a> Request<'a> {
    /// Reads a body. `previous` gives the browser Tools that the thread of that id has registered: those that a
    /// client repeats letter for letter are not read again (X6).
    ///
    /// # Errors
    /// The first rule that it breaks: JSON, schema, ids, then the limits in the order of the configuration table.
    pub fn read(
        config: &Config,
        body: &'a [u8],
        previous: impl FnOnce(&str) -> Catalogue,
    ) -> Result<Self, GatewayError> {
        if body.len() > config.request.bytes {
            return Err(refusal::too_large(config));
        }
        let input = RunAgentInput::parse(body)
            .map_err(|error| GatewayError::new(Code::InvalidAguiInput, error.to_string()))?;
        let check = Check {
            config,
            body_bytes: body.len(),
            input: &input,
        };
        check.identities()?;
        check.messages()?;
        check.context()?;
        let tools = check.tools(&previous(&input.thread_id))?;
        check.forwarded_props()?;
        check.state()?;
        check.resume()?;
        let props = Props::read(input.forwarded_props);
        let extras = Extras::read(props.dsh)?;
        Ok(Self {
            preset: props.preset()?,
            action: Action::read(&props, &input.messages)?,
            render_tool: a2ui::render_tool(&props),
            input,
            extras,
            after: None,
            tools,
        })
    }

    /// The same request from a client that has a part of the answer: all up to that frame.
    #[must_use]
    pub fn after(self, frame: Option<EventId>) -> Self {
        Self {
            after: frame,
            ..self
        }
    }

    /// The refusal of a body that is larger than allowed.
    #[must_use]
    pub fn too_large(config: &Config) -> GatewayError {
        refusal::too_large(config)
    }

    /// The entries of `resume[]`.
    pub(crate) fn resume(&self) -> &[Resume<'a>] {
        self.input.resume.as_deref().unwrap_or_default()
    }

    /// The client's `state`; `null` is a value of its own (spec: gateway, Shared state).
    pub(crate) fn state(&self) -> Option<Json<'a>> {
        self.input.state.json()
    }
}

struct Check<'r, 'a> {
    config: &'r Config,
    /// No part of the body is longer than the body: a cheap bound that spares measuring.
    body_bytes: usize,
    input: &'r RunAgentInput<'a>,
}

impl Check<'_, '_> {
    fn identities(&self) -> Result<(), GatewayError> {
        let max = self.config.request.identity_bytes;
        let run = [
            ("threadId", Some(&*self.input.thread_id)),
            ("runId", Some(&*self.input.run_id)),
            ("parentRunId", self.input.parent_run_id.as_deref()),
        ];
        for (field, id) in run {
            if id.is_some_and(|id| !is_identity(id, max)) {
                return Err(GatewayError::new(
                    Code::InvalidIdentity,
                    format!(
                        "{field} must match [A-Za-z0-9][A-Za-z0-9._:-]* in at most {max} bytes"
                    ),
                ));
            }
        }
        for message in &self.input.messages {
            let own = match message {
                Message::User(user) => [Some(&*user.id), None],
                Message::Tool(tool) => [Some(&*tool.id), Some(&*tool.tool_call_id)],
                _ => continue,
            };
            if own
                .into_iter()
                .flatten()
                .any(|id| id.is_empty() || id.len() > max)
            {
                return Err(GatewayError::new(
                    Code::InvalidIdentity,
                    format!("message ids and call ids must hold 1 to {max} bytes"),
                ));
            }
        }
        Ok(())
    }

    fn messages(&self) -> Result<(), GatewayError> {
        let limits = &self.config.request;
        let exceeded = |what: String| Err(GatewayError::new(Code::MessageLimitExceeded, what));
        if self.input.messages.len() > limits.messages {
            return exceeded(format!("more than {} messages", limits.messages));
        }
        let bytes = || array_bytes(&self.input.messages, Message::write_json);
        if self.body_bytes > limits.message_bytes && bytes() > limits.message_bytes {
            return exceeded(format!("messages exceed {} bytes", limits.message_bytes));
        }
        for message in &self.input.messages {
            match message {
                Message::User(user) => content::check(&user.content, limits)?,
                Message::Tool(tool) => tool_content(tool)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn context(&self) -> Result<(), GatewayError> {
        let limits = &self.config.request;
        let exceeded = |what: String| Err(GatewayError::new(Code::ContextLimitExceeded, what));
        if self.input.context.len() > limits.contexts {
            return exceeded(format!("more than {} context entries", limits.contexts));
        }
        let bytes = || array_bytes(&self.input.context, |entry, out| entry.write_json(out));
        if self.body_bytes > limits.context_bytes && bytes() > limits.context_bytes {
            return exceeded(format!("context exceeds {} bytes", limits.context_bytes));
        }
        if self
            .input
            .context
            .iter()
            .any(|entry| entry.description.trim().is_empty())
        {
            return Err(GatewayError::new(
                Code::InvalidContext,
                "every context entry needs a description",
            ));
        }
        Ok(())
    }

    fn tools(&self, previous: &Catalogue) -> Result<Catalogue, GatewayError> {
        let limits = &self.config.request;
        let bytes = if self.body_bytes > limits.tool_bytes {
            array_bytes(&self.input.tools, |tool, out| tool.write_json(out))
        } else {
            0
        };
        let raw = self.input.tools.iter().map(|tool| RawTool {
            name: &tool.name,
            description: &tool.description,
            parameters: tool.parameters.map(Json::as_str),
        });
        let limits = Limits {
            max_tools: limits.tools,
            max_bytes: limits.tool_bytes,
            max_schema_depth: limits.tool_schema_depth,
            strictness: match self.config.tool_schemas {
                ToolSchemas::Strict => Strictness::Strict,
                ToolSchemas::Normalize => Strictness::Normalize,
            },
        };
        Catalogue::from_request(raw, bytes, &limits, previous).map_err(Into::into)
    }

    fn forwarded_props(&self) -> Result<(), GatewayError> {
        let limit = self.config.request.forwarded_props_bytes;
        if self
            .input
            .forwarded_props
            .is_some_and(|props| json_bytes(props.as_str()) > limit)
        {
            return Err(GatewayError::new(
                Code::ForwardedPropsLimitExceeded,
                format!("forwardedProps exceeds {limit} bytes"),
            ));
        }
        Ok(())
    }

    fn state(&self) -> Result<(), GatewayError> {
        let limit = self.config.request.state_bytes;
        let state = self.input.state.json();
        if state.is_some_and(|state| json_bytes(state.as_str()) > limit) {
            return Err(GatewayError::new(
                Code::StateLimitExceeded,
                format!("state exceeds {limit} bytes"),
            ));
        }
        Ok(())
    }

    fn resume(&self) -> Result<(), GatewayError> {
        let max = self.config.request.identity_bytes.max(INTERRUPT_ID_BYTES);
        let entries = self.input.resume.as_deref().unwrap_or_default();
        let most = self.config.max_pending_interrupts;
        if entries.len() > most {
            return Err(GatewayError::new(
                Code::InterruptLimitExceeded,
                format!("more than {most} answers to interrupts"),
            ));
        }
        let mut answered = HashSet::with_capacity(entries.len());
        for entry in entries {
            let id = &entry.interrupt_id;
            if id.is_empty() || id.len() > max {
                return Err(GatewayError::new(
                    Code::InvalidInterruptResponse,
                    format!("interruptId must hold 1 to {max} bytes"),
                ));
            }
            if !answered.insert(&**id) {
                return Err(GatewayError::new(
                    Code::DuplicateInterruptResponse,
                    "an interrupt is answered twice",
                ));
            }
        }
        Ok(())
    }
}

fn tool_content(message: &ToolMessage<'_>) -> Result<(), GatewayError> {
    if let Content::Parts(parts) = &message.content
        && parts.iter().any(|part| text_of(part).is_none())
    {
        return Err(GatewayError::new(
            Code::UnsupportedMessageContent,
            "a Tool result holds text parts only",
        ));
    }
    // The official schema says that metadata is an object; what the log cannot keep exactly is refused here.
    let lossless = message
        .metadata
        .is_none_or(|metadata| metadata.to_value().is_ok_and(|value| is_lossless(&value)));
    if lossless {
        Ok(())
    } else {
        Err(GatewayError::new(
            Code::InvalidToolResultMetadata,
            "Tool result metadata cannot be kept as it is",
        ))
    }
}

/// UTF-8 bytes of the compact JSON of some JSON text.
fn json_bytes(json: &str) -> usize {
    let mut in_string = false;
    let mut escaped = false;
    json.bytes()
        .filter(|byte| {
            if in_string {
                in_string = escaped || *byte != b'"';
                escaped = !escaped && *byte == b'\\';
                true
            } else {
                in_string = *byte == b'"';
                !byte.is_ascii_whitespace()
            }
        })
        .count()
}

/// UTF-8 bytes of the compact JSON of an array.
fn array_bytes<T>(items: &[T], write: impl Fn(&T, &mut String)) -> usize {
    let mut out = String::new();
    let mut bytes = "[]".len() + items.len().saturating_sub(1);
    for item in items {
        out.clear();
        write(item, &mut out);
        bytes += json_bytes(&out);
    }
    bytes
}

impl From<crate::tools::ToolError> for GatewayError {
    fn from(error: crate::tools::ToolError) -> Self {
        let code = Code::named(error.code()).unwrap_or(Code::InvalidFrontendTool);
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests;
