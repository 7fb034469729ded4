//! Which resource of the gateway a path names (spec: gateway, HTTP 与 run 语义).

use super::error::{Code, GatewayError};

/// A resource behind the route base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The run endpoint.
    Run,
}

impl Route {
    /// Reads the raw path behind the route base, without its query.
    ///
    /// # Errors
    /// `NOT_FOUND` for a path that names nothing.
    pub(super) fn parse(rest: &str) -> Result<Self, GatewayError> {
        match rest {
            "" | "/" => Ok(Self::Run),
            _ => Err(GatewayError::new(Code::NotFound, "no such route")),
        }
    }

    /// The method that it takes.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Run => "POST",
        }
    }
}
