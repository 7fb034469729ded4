//! The browser Tools that one client declares at one time.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::ToolError;
use super::json;
use super::name::ToolName;
use super::node::MAX_DEPTH;
use super::schema::{Schema, SchemaError, Strictness};

/// One Tool as a request has it, borrowed from the request.
#[derive(Debug, Clone, Copy)]
pub struct RawTool<'a> {
    /// Any text; checked here.
    pub name: &'a str,
    /// Any text; checked here.
    pub description: &'a str,
    /// The JSON Schema of the arguments, the encoded text of one value as it was written. Absent and `null` mean that
    /// any object will do.
    pub parameters: Option<&'a str>,
}

/// Bounds of one set. (spec: gateway, configuration: `maxTools`, `maxToolBytes`, `maxToolSchemaDepth`)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most Tools.
    pub max_tools: usize,
    /// Most UTF-8 bytes of the JSON of all Tools.
    pub max_bytes: usize,
    /// Deepest nesting of arrays and objects in one `parameters` as it was sent: `{}` has depth 1.
    pub max_schema_depth: usize,
    /// What becomes of schemas outside the enforced subset.
    pub strictness: Strictness,
}

impl Default for Limits {
    /// The defaults of the gateway's configuration.
    fn default() -> Self {
        Self {
            max_tools: 32,
            max_bytes: 131_072,
            max_schema_depth: 16,
            strictness: Strictness::Normalize,
        }
    }
}

/// One validated Tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    name: ToolName,
    description: String,
    schema: Schema,
    /// `parameters` as it was sent, where that is not the text of `schema`; recognises the Tool when it is sent again.
    sent: Sent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Sent {
    Nothing,
    AsSchema,
    Otherwise(Box<str>),
}

impl Tool {
    /// What the model calls.
    #[must_use]
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// What the model reads.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The schema of the arguments; [`Schema::json`] is what the Host registers, [`Schema::check`] what a call passes.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether a Host that has registered `self` need not register `other`.
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.description == other.description
            && self.schema.json() == other.schema.json()
    }

    /// Whether its name stands for a description.
    fn is_named_only(&self) -> bool {
        self.description == self.name.as_str()
    }

    /// Whether the request's Tool is this one, letter for letter, so that nothing has to be read again.
    fn was_sent_as(&self, raw: &RawTool<'_>) -> bool {
        self.name.as_str() == raw.name
            && (self.description == raw.description
                || raw.description.is_empty() && self.is_named_only())
            && match (&self.sent, parameters_text(raw)) {
                (Sent::Nothing, sent) => sent.is_none(),
                (Sent::AsSchema, sent) => sent == Some(self.schema.json()),
                (Sent::Otherwise(text), sent) => sent == Some(text),
            }
    }
}

/// `parameters` as text; `null` reads as absent.
fn parameters_text<'a>(raw: &RawTool<'a>) -> Option<&'a str> {
    raw.parameters.filter(|text| *text != "null")
}

/// The browser Tools of one client at one time: validated, in the order of the request, names unique. Cloning is
/// cheap.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    tools: Vec<Arc<Tool>>,
}

/// What a Host must do to get from one [`Catalogue`] to another: first take Tools back, then register.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Names that are gone, or whose Tool has changed.
    pub unregister: Vec<ToolName>,
    /// Tools that are new, or have changed.
    pub register: Vec<Arc<Tool>>,
}

impl Changes {
    /// Whether the Host has nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.unregister.is_empty() && self.register.is_empty()
    }
}

impl Catalogue {
    /// Validates the Tools of a request, all of them before anything is changed.
    ///
    /// `bytes` is the size of their JSON in the request, in UTF-8 bytes. `previous` is the set that the same client
    /// declared before: a Tool that it repeats letter for letter is taken over without being read again, so that a
    /// client which resends its Tools with every run pays for a comparison (X6).
    ///
    /// # Errors
    /// The first refusal: limits, then Tool by Tool name, repetition, description, depth, schema.
    pub fn from_request<'a>(
        tools: impl ExactSizeIterator<Item = RawTool<'a>>,
        bytes: usize,
        limits: &Limits,
        previous: &Self,
    ) -> Result<Self, ToolError> {
        if tools.len() > limits.max_tools {
            return Err(ToolError::TooMany {
                count: tools.len(),
                limit: limits.max_tools,
            });
        }
        if bytes > limits.max_bytes {
            return Err(ToolError::TooLarge {
                bytes,
                limit: limits.max_bytes,
            });
        }
        let mut catalogue = Self {
            tools: Vec::with_capacity(tools.len()),
        };
        for raw in tools {
            let known = previous.get(raw.name).filter(|tool| tool.was_sent_as(&raw));
            let tool = match known {
                Some(tool) => Arc::clone(tool),
                None => Arc::new(read_tool(&raw, limits)?),
            };
            if catalogue.get(raw.name).is_some() {
                return Err(ToolError::Duplicate {
                    name: tool.name.clone(),
                });
            }
            catalogue.tools.push(tool);
        }
        Ok(catalogue)
    }

    /// Validates Tools that come as JSON text of their own: an array of `{name, description, parameters?}`, whose
    /// length is what `max_bytes` bounds. Otherwise as [`from_request`](Self::from_request).
    ///
    /// # Errors
    /// [`ToolError::TooLarge`] before anything is read, [`ToolError::Malformed`], and those of `from_request`.
    pub fn from_json(text: &str, limits: &Limits, previous: &Self) -> Result<Self, ToolError> {
        if text.len() > limits.max_bytes {
            return Err(ToolError::TooLarge {
                bytes: text.len(),
                limit: limits.max_bytes,
            });
        }
        let declared: Vec<Declared<'_>> =
            serde_json::from_str(text).map_err(|error| ToolError::Malformed {
                reason: error.to_string(),
            })?;
        let tools = declared.iter().map(|tool| RawTool {
            name: &tool.name,
            description: &tool.description,
            parameters: tool.parameters.map(RawValue::get),
        });
        Self::from_request(tools, text.len(), limits, previous)
    }

    /// This set without one Tool.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let mut rest = self.clone();
        rest.tools.retain(|tool| tool.name.as_str() != name);
        rest
    }

    /// The set, in which the Tools of `previous` whose names are kept stay as they are there.
    #[must_use]
    pub fn keeping(&self, previous: &Self, is_kept: impl Fn(&str) -> bool) -> Self {
        let of_kept_name = |tool: &&Arc<Tool>| is_kept(tool.name.as_str());
        let kept: Vec<_> = previous
            .tools
            .iter()
            .filter(of_kept_name)
            .cloned()
            .collect();
        let mut all = self.clone();
        all.tools
            .retain(|tool| kept.iter().all(|kept| kept.name != tool.name));
        all.tools.extend(kept);
        all
    }

    /// The Tools, in the order of the request.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Tool> {
        self.tools.iter().map(AsRef::as_ref)
    }

    /// The Tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|tool| tool.name.as_str() == name)
    }

    /// Whether no Tool is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How many Tools are declared.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Refuses names that the Agent already has from elsewhere (inherited, global or of another lease). Sorting
    /// `taken` is the caller's, so that one list serves many checks.
    ///
    /// # Errors
    /// [`ToolError::Collision`] with the first name, in the order of the request.
    pub fn check_collisions<S: AsRef<str>>(&self, taken: &[S]) -> Result<(), ToolError> {
        debug_assert!(taken.is_sorted_by(|a, b| a.as_ref() <= b.as_ref()));
        let collides = |tool: &&Arc<Tool>| {
            taken
                .binary_search_by(|name| name.as_ref().cmp(tool.name.as_str()))
                .is_ok()
        };
        match self.tools.iter().find(collides) {
            Some(tool) => Err(ToolError::Collision {
                name: tool.name.clone(),
            }),
            None => Ok(()),
        }
    }

    /// What changes for a Host that has `self` registered and shall have `next`.
    #[must_use]
    pub fn changes_to(&self, next: &Self) -> Changes {
        let stays = |catalogue: &Self, tool: &Tool| {
            catalogue
                .get(tool.name.as_str())
                .is_some_and(|other| other.is_same(tool))
        };
        Changes {
            unregister: self
                .iter()
                .filter(|tool| !stays(next, tool))
                .map(|tool| tool.name.clone())
                .collect(),
            register: next
                .tools
                .iter()
                .filter(|tool| !stays(self, tool))
                .cloned()
                .collect(),
        }
    }
}

#[derive(Deserialize)]
struct Declared<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    description: Cow<'a, str>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
}

fn read_tool(raw: &RawTool<'_>, limits: &Limits) -> Result<Tool, ToolError> {
    let name = ToolName::parse(raw.name)?;
    let description = match (raw.description, limits.strictness) {
        // Some clients send an empty one for every Tool without a description (X7).
        ("", Strictness::Normalize) => name.as_str(),
        (blank, _) if blank.trim().is_empty() => {
            return Err(ToolError::BlankDescription { name });
        }
        (description, _) => description,
    }
    .to_owned();
    let Some(text) = parameters_text(raw) else {
        return Ok(Tool {
            name,
            description,
            schema: Schema::empty(),
            sent: Sent::Nothing,
        });
    };
    let too_deep = |limit| ToolError::SchemaTooDeep {
        name: name.clone(),
        limit,
    };
    if json::depth(text) > limits.max_schema_depth {
        return Err(too_deep(limits.max_schema_depth));
    }
    let schema = match Schema::parse(text, limits.strictness) {
        Ok(schema) => schema,
        Err(SchemaError::TooDeep) => return Err(too_deep(MAX_DEPTH)),
        Err(SchemaError::Unsupported(violations)) => {
            return Err(ToolError::InvalidSchema { name, violations });
        }
    };
    let sent = if schema.json() == text {
        Sent::AsSchema
    } else {
        Sent::Otherwise(text.into())
    };
    Ok(Tool {
        name,
        description,
        schema,
        sent,
    })
}

#[cfg(test)]
mod tests;
