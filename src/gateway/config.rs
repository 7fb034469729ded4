//! Configuration (spec: gateway, 配置; G2): every field with its default, checked once.

use std::collections::HashMap;
use std::time::Duration;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::url_key::UrlKey;
use crate::agui::Json;

/// Longest JSON of an event without ids, code or message: the envelope of opening and terminal events.
const MANDATORY_ENVELOPE_BYTES: u64 = 256;
/// Ids in the mandatory opening and terminal events: thread, run and parent run, then thread and run again.
const MANDATORY_IDS: u64 = 5;
/// `RUN_STARTED` and the terminal event.
const MANDATORY_EVENTS: u64 = 2;
/// Timers of Node and of most hosts hold a signed 32-bit count of milliseconds.
const MAX_TIMEOUT_MS: u64 = 2_147_483_647;

/// A configuration as the user wrote it. Absent fields take the document's defaults.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawConfig {
    path: String,
    shared_secret: String,
    tenant_header: String,
    user_header: String,
    max_request_bytes: u64,
    max_file_bytes: u64,
    max_identity_bytes: u64,
    max_messages: u64,
    max_message_bytes: u64,
    max_files_per_message: u64,
    max_contexts: u64,
    max_context_bytes: u64,
    max_tools: u64,
    max_tool_bytes: u64,
    max_tool_schema_depth: u64,
    max_forwarded_props_bytes: u64,
    max_state_bytes: u64,
    max_threads: u64,
    thread_idle_ms: u64,
    frontend_tool_timeout_ms: u64,
    human_interaction_timeout_ms: u64,
    max_pending_interrupts: u64,
    max_run_events: u64,
    max_run_event_bytes: u64,
    max_runs_per_thread: u64,
    reconnect_grace_ms: u64,
    flush_interval_ms: u64,
    keep_alive_ms: u64,
    tool_schemas: ToolSchemas,
    selectable_agent_presets: HashMap<String, Vec<String>>,
}

/// What happens to a browser Tool's schema that is larger than what DSH enforces (X8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSchemas {
    /// Only DSH's own subset is accepted.
    Strict,
    /// Annotations that carry no constraint are dropped first.
    Normalize,
}

impl Default for RawConfig {
    fn default() -> Self {
        Self {
            path: "/ag-ui".into(),
            shared_secret: String::new(),
            tenant_header: "x-dsh-tenant-id".into(),
            user_header: "x-dsh-user-id".into(),
            max_request_bytes: 262_144,
            max_file_bytes: 104_857_600,
            max_identity_bytes: 256,
            max_messages: 256,
            max_message_bytes: 524_288,
            max_files_per_message: 8,
            max_contexts: 32,
            max_context_bytes: 131_072,
            max_tools: 32,
            max_tool_bytes: 131_072,
            max_tool_schema_depth: 16,
            max_forwarded_props_bytes: 65_536,
            max_state_bytes: 65_536,
            max_threads: 100,
            thread_idle_ms: 1_800_000,
            frontend_tool_timeout_ms: 300_000,
            human_interaction_timeout_ms: 300_000,
            max_pending_interrupts: 16,
            max_run_events: 4096,
            max_run_event_bytes: 2_097_152,
            max_runs_per_thread: 32,
            reconnect_grace_ms: 0,
            flush_interval_ms: 8,
            keep_alive_ms: 15_000,
            tool_schemas: ToolSchemas::Normalize,
            selectable_agent_presets: HashMap::new(),
        }
    }
}

/// A checked configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Route base, absolute, without a trailing slash.
    pub path: String,
    /// Signs the URLs of uploaded files (G16).
    pub url_key: UrlKey,
    /// Name of the header that carries the tenant, lower case.
    pub tenant_header: String,
    /// Name of the header that carries the user, lower case.
    pub user_header: String,
    /// Limits on one request.
    pub request: RequestLimits,
    /// Limits on the record that a run retains.
    pub run: RunLimits,
    /// Live threads at once.
    pub max_threads: usize,
    /// Idle time after which a thread's agent is released.
    pub thread_idle: Duration,
    /// Longest wait for a browser Tool's result.
    pub frontend_tool_timeout: Duration,
    /// Longest wait for a person's answer to one request (G18).
    pub human_interaction_timeout: Duration,
    /// Requests to people that may wait in a thread at once (G18).
    pub max_pending_interrupts: usize,
    /// Bytes of one uploaded or delivered file (G15, G16).
    pub max_file_bytes: u64,
    /// Retained runs of a thread, and, separately, requests that may wait for it.
    pub max_runs_per_thread: usize,
    /// How long a run that nobody reads any more goes on; zero cancels it at once (X1).
    pub reconnect_grace: Duration,
    /// Presets that a tenant may choose from, by tenant (G17).
    pub selectable_agent_presets: HashMap<String, Vec<String>>,
    /// Least time between two writes of deltas of one stream; zero writes each by itself (X12).
    pub flush_interval: Duration,
    /// Silence after which a comment frame is sent (X9).
    pub keep_alive: Duration,
    /// Treatment of schemas outside DSH's subset (X8).
    pub tool_schemas: ToolSchemas,
}

/// Limits on one request, in counts and in UTF-8 bytes of JSON.
#[derive(Debug, Clone)]
pub struct RequestLimits {
    /// Body bytes.
    pub bytes: usize,
    /// Bytes of one id.
    pub identity_bytes: usize,
    /// Messages.
    pub messages: usize,
    /// Bytes of all messages.
    pub message_bytes: usize,
    /// Parts of one user message that are not text.
    pub files_per_message: usize,
    /// Context entries.
    pub contexts: usize,
    /// Bytes of all context entries.
    pub context_bytes: usize,
    /// Browser Tools.
    pub tools: usize,
    /// Bytes of all browser Tools.
    pub tool_bytes: usize,
    /// Depth of one Tool's schema.
    pub tool_schema_depth: usize,
    /// Bytes of `forwardedProps`.
    pub forwarded_props_bytes: usize,
    /// Bytes of `state`, and of the state after any update.
    pub state_bytes: usize,
}

/// Limits on the record that a run retains, terminal event included.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    /// Events.
    pub events: usize,
    /// Bytes of their JSON.
    pub bytes: usize,
}

/// A field that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid config: {field} {problem}")]
pub struct ConfigError {
    /// The field, as the user writes it.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

fn refuse(field: &str, problem: impl Into<String>) -> ConfigError {
    ConfigError {
        field: field.into(),
        problem: problem.into(),
    }
}

impl Config {
    /// Reads and checks a configuration, and hands back the secret beside it.
    ///
    /// # Errors
    /// The first field that cannot be used, by name.
    pub fn parse(json: &str) -> Result<(Self, zeroize::Zeroizing<String>), ConfigError> {
        let mut raw: RawConfig = Json::encoded(json)
            .to_members()
            .map_err(|_| misshapen(json))?;
        let secret = zeroize::Zeroizing::new(std::mem::take(&mut raw.shared_secret));
        check_path(&raw.path)?;
        check_header("tenantHeader", &raw.tenant_header)?;
        check_header("userHeader", &raw.user_header)?;
        if raw.tenant_header == raw.user_header {
            return Err(refuse("userHeader", "must differ from tenantHeader"));
        }
        if secret.len() < 16 {
            return Err(refuse("sharedSecret", "must hold at least 16 UTF-8 bytes"));
        }
        for (field, value) in raw.positive_fields() {
            if value == 0 {
                return Err(refuse(field, "must be a positive integer"));
            }
            if field.ends_with("Ms") && value > MAX_TIMEOUT_MS {
                return Err(refuse(field, format!("must be at most {MAX_TIMEOUT_MS}")));
            }
        }
        for (field, value) in [
            ("flushIntervalMs", raw.flush_interval_ms),
            ("reconnectGraceMs", raw.reconnect_grace_ms),
        ] {
            if value > MAX_TIMEOUT_MS {
                return Err(refuse(field, format!("must be at most {MAX_TIMEOUT_MS}")));
            }
        }
        if raw.max_run_events < MANDATORY_EVENTS {
            return Err(refuse(
                "maxRunEvents",
                format!("must hold the opening and terminal events ({MANDATORY_EVENTS})"),
            ));
        }
        let mandatory =
            MANDATORY_EVENTS * MANDATORY_ENVELOPE_BYTES + MANDATORY_IDS * raw.max_identity_bytes;
        if raw.max_run_event_bytes < mandatory {
            return Err(refuse(
                "maxRunEventBytes",
                format!("must hold the opening and terminal events ({mandatory} bytes)"),
            ));
        }
        let url_key = UrlKey::derive(&secret);
        Ok((raw.resolve(url_key), secret))
    }
}

/// The first field whose value is of another type than documented, or the whole. The parser's own words may quote the
/// secret.
fn misshapen(json: &str) -> ConfigError {
    let members: IndexMap<String, &RawValue> = Json::encoded(json).to_members().unwrap_or_default();
    let is_misshapen = |(name, value): &(String, &RawValue)| {
        let name = serde_json::Value::from(name.as_str());
        let alone = zeroize::Zeroizing::new(format!("{{{name}:{value}}}"));
        serde_json::from_str::<RawConfig>(&alone).is_err()
    };
    let field = members.into_iter().find(is_misshapen);
    refuse(
        field.as_ref().map_or("$", |(name, _)| name),
        "does not have the documented type",
    )
}

fn check_path(path: &str) -> Result<(), ConfigError> {
    if !path.starts_with('/') {
        return Err(refuse("path", "must be an absolute path"));
    }
    if path == "/" || path.ends_with('/') {
        return Err(refuse("path", "must name a route and not end with a slash"));
    }
    let plain = path
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte));
    if !plain || path.contains("//") || path.split('/').any(|part| part == "." || part == "..") {
        return Err(refuse("path", "must consist of plain path segments"));
    }
    Ok(())
}

fn check_header(field: &str, name: &str) -> Result<(), ConfigError> {
    let plain = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if plain {
        Ok(())
    } else {
        Err(refuse(
            field,
            "must be a lower-case header name of letters, digits and hyphens",
        ))
    }
}

impl RawConfig {
    fn positive_fields(&self) -> [(&'static str, u64); 22] {
        [
            ("maxRequestBytes", self.max_request_bytes),
            ("maxFileBytes", self.max_file_bytes),
            ("maxIdentityBytes", self.max_identity_bytes),
            ("maxMessages", self.max_messages),
            ("maxMessageBytes", self.max_message_bytes),
            ("maxFilesPerMessage", self.max_files_per_message),
            ("maxContexts", self.max_contexts),
            ("maxContextBytes", self.max_context_bytes),
            ("maxTools", self.max_tools),
            ("maxToolBytes", self.max_tool_bytes),
            ("maxToolSchemaDepth", self.max_tool_schema_depth),
            ("maxForwardedPropsBytes", self.max_forwarded_props_bytes),
            ("maxStateBytes", self.max_state_bytes),
            ("maxThreads", self.max_threads),
            ("threadIdleMs", self.thread_idle_ms),
            ("frontendToolTimeoutMs", self.frontend_tool_timeout_ms),
            (
                "humanInteractionTimeoutMs",
                self.human_interaction_timeout_ms,
            ),
            ("maxPendingInterrupts", self.max_pending_interrupts),
            ("maxRunEvents", self.max_run_events),
            ("maxRunEventBytes", self.max_run_event_bytes),
            ("maxRunsPerThread", self.max_runs_per_thread),
            ("keepAliveMs", self.keep_alive_ms),
        ]
    }

    fn resolve(self, url_key: UrlKey) -> Config {
        let size = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Config {
            path: self.path,
            url_key,
            tenant_header: self.tenant_header,
            user_header: self.user_header,
            request: RequestLimits {
                bytes: size(self.max_request_bytes),
                identity_bytes: size(self.max_identity_bytes),
                messages: size(self.max_messages),
                message_bytes: size(self.max_message_bytes),
                files_per_message: size(self.max_files_per_message),
                contexts: size(self.max_contexts),
                context_bytes: size(self.max_context_bytes),
                tools: size(self.max_tools),
                tool_bytes: size(self.max_tool_bytes),
                tool_schema_depth: size(self.max_tool_schema_depth),
                forwarded_props_bytes: size(self.max_forwarded_props_bytes),
                state_bytes: size(self.max_state_bytes),
            },
            run: RunLimits {
                events: size(self.max_run_events),
                bytes: size(self.max_run_event_bytes),
            },
            max_threads: size(self.max_threads),
            thread_idle: Duration::from_millis(self.thread_idle_ms),
            frontend_tool_timeout: Duration::from_millis(self.frontend_tool_timeout_ms),
            human_interaction_timeout: Duration::from_millis(self.human_interaction_timeout_ms),
            max_pending_interrupts: size(self.max_pending_interrupts),
            max_file_bytes: self.max_file_bytes,
            reconnect_grace: Duration::from_millis(self.reconnect_grace_ms),
            selectable_agent_presets: self.selectable_agent_presets,
            max_runs_per_thread: size(self.max_runs_per_thread),
            flush_interval: Duration::from_millis(self.flush_interval_ms),
            keep_alive: Duration::from_millis(self.keep_alive_ms),
            tool_schemas: self.tool_schemas,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn refused(json: &str) -> String {
        Config::parse(json).unwrap_err().field
    }

    #[test]
    fn the_document_s_defaults() {
        let (config, secret) = Config::parse(r#"{"sharedSecret":"0123456789abcdef"}"#).unwrap();
        assert_eq!(config.path, "/ag-ui");
        assert_eq!(config.request.bytes, 262_144);
        assert_eq!(config.run.events, 4096);
        assert_eq!(config.run.bytes, 2_097_152);
        assert_eq!(config.thread_idle, Duration::from_secs(1800));
        assert_eq!(config.flush_interval, Duration::from_millis(8));
        assert_eq!(secret.as_str(), "0123456789abcdef");
    }

    #[test]
    fn a_bad_value_names_its_field() {
        let with = |field: &str, value: &str| {
            refused(&format!(
                r#"{{"sharedSecret":"0123456789abcdef","{field}":{value}}}"#
            ))
        };
        assert_eq!(with("path", r#""ag-ui""#), "path");
        assert_eq!(with("path", r#""/""#), "path");
        assert_eq!(with("path", r#""/x/""#), "path");
        assert_eq!(with("path", r#""/a//b""#), "path");
        assert_eq!(with("path", r#""/a/../b""#), "path");
        assert_eq!(with("tenantHeader", r#""X-Tenant""#), "tenantHeader");
        assert_eq!(with("userHeader", r#""x_user""#), "userHeader");
        assert_eq!(with("userHeader", r#""x-dsh-tenant-id""#), "userHeader");
        assert_eq!(with("maxRunEvents", "1"), "maxRunEvents");
        assert_eq!(with("maxRunEventBytes", "1000"), "maxRunEventBytes");
        assert_eq!(with("threadIdleMs", "2147483648"), "threadIdleMs");
        for (field, _) in RawConfig::default().positive_fields() {
            assert_eq!(with(field, "0"), field);
        }
        assert_eq!(refused(r#"{"sharedSecret":"short"}"#), "sharedSecret");
        for (field, value) in [
            ("path", "5"),
            ("maxThreads", "\"5\""),
            ("maxThreads", "1.5"),
            ("maxThreads", "-1"),
            ("toolSchemas", "\"lax\""),
            ("selectableAgentPresets", "[]"),
            ("selectableAgentPresets", r#"{"t":"alpha"}"#),
        ] {
            assert_eq!(with(field, value), field, "{value}");
        }
        assert_eq!(refused(r#"{"sharedSecret":1,"path":"/x"}"#), "sharedSecret");
        for whole in ["", "{", "1", r#"["/x","0123456789abcdef"]"#] {
            assert_eq!(refused(whole), "$", "{whole}");
        }
        // The bound is of UTF-8 bytes, not of characters.
        assert!(Config::parse(r#"{"sharedSecret":"éééééééé"}"#).is_ok());
    }
}
