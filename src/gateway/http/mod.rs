//! Everything about a request that can be said before its body is read (spec: gateway, HTTP 与 run 语义; G3, G4).
//!
//! Order: route, method, credentials, identity, then the route's own: of a run, media type and announced size.

use crate::gateway::config::Config;
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::files::{FileGrant, UploadHead};
use crate::gateway::head::Head;
use crate::gateway::ids::{Principal, is_identity};
use crate::gateway::refusal::too_large;
use auth::Secret;
use route::{DeliverableHead, Path, Route};

pub(crate) mod auth;
pub(crate) mod route;

/// Who asks, and for what. A run's body may be read, up to `maxRequestBytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Who asks.
    pub principal: Principal,
    /// For what.
    pub route: Route,
}

/// A request that its head refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadRefusal {
    /// The answer.
    pub error: GatewayError,
    /// Value of the `allow` header that goes with `METHOD_NOT_ALLOWED`.
    pub allow: Option<&'static str>,
}

impl From<GatewayError> for HeadRefusal {
    fn from(error: GatewayError) -> Self {
        Self { error, allow: None }
    }
}

/// Checks the head of a request.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_head(
    config: &Config,
    secret: &Secret,
    head: &Head<'_>,
) -> Result<Verdict, HeadRefusal> {
    let path = Path::parse(head.rest)?;
    let method = path.method();
    if head.method != method {
        let error = GatewayError::new(Code::MethodNotAllowed, format!("this route takes {method}"));
        return Err(HeadRefusal {
            error,
            allow: Some(method),
        });
    }
    let principal = authenticate(config, secret, head)?;
    let route = match path {
        Path::Run => {
            check_run(config, head)?;
            Route::Run
        }
        Path::Upload { thread } => {
            let thread_id = route::thread_id(config, thread)?;
            Route::Upload(UploadHead::check(config, thread_id, head)?)
        }
        Path::File { thread, file } => {
            let thread_id = route::thread_id(config, thread)?;
            Route::File(FileGrant::check(
                config, &principal, thread_id, file, head.query,
            )?)
        }
        Path::Deliverable {
            thread,
            event_seq,
            index,
        } => Route::Deliverable(DeliverableHead {
            thread_id: route::thread_id(config, thread)?,
            event_seq: route::number(event_seq)?,
            index: route::number(index)?,
        }),
        Path::Reconnect { thread, run } => Route::Reconnect(route::run_name(config, thread, run)?),
    };
    Ok(Verdict { principal, route })
}

fn authenticate(
    config: &Config,
    secret: &Secret,
    head: &Head<'_>,
) -> Result<Principal, GatewayError> {
    let [authorization] = head.authorization else {
        return Err(unauthorized());
    };
    if !secret.accepts(authorization) {
        return Err(unauthorized());
    }
    Ok(Principal {
        tenant: identity(config, &config.tenant_header, head.tenant)?,
        user: identity(config, &config.user_header, head.user)?,
    })
}

fn check_run(config: &Config, head: &Head<'_>) -> Result<(), GatewayError> {
    if !is_json(head.content_type.unwrap_or_default()) {
        return Err(GatewayError::new(
            Code::UnsupportedMediaType,
            "the body must be application/json",
        ));
    }
    if let Some(length) = head.content_length
        && length
            .parse()
            .is_ok_and(|length: u64| length > config.request.bytes as u64)
    {
        return Err(too_large(config));
    }
    Ok(())
}

fn unauthorized() -> GatewayError {
    GatewayError::new(Code::Unauthorized, "a valid bearer secret is required")
}

fn identity(config: &Config, header: &str, values: &[String]) -> Result<String, GatewayError> {
    match values {
        [value] if is_identity(value, config.request.identity_bytes) => Ok(value.clone()),
        _ => Err(GatewayError::new(
            Code::InvalidIdentity,
            format!("header {header} must carry exactly one valid identity"),
        )),
    }
}

/// Whether the media type is `application/json`, with any parameters.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    struct Case {
        authorization: Vec<String>,
        tenant: Vec<String>,
        user: Vec<String>,
        head: Head<'static>,
    }

    fn good() -> Case {
        Case {
            authorization: vec!["Bearer 0123456789abcdef".into()],
            tenant: vec!["t".into()],
            user: vec!["u".into()],
            head: Head {
                method: "POST",
                content_type: Some("application/json"),
                ..Head::default()
            },
        }
    }

    fn check(case: &Case) -> Result<Verdict, Code> {
        let (config, secret) = Config::parse(r#"{"sharedSecret":"0123456789abcdef"}"#).unwrap();
        let head = Head {
            authorization: &case.authorization,
            tenant: &case.tenant,
            user: &case.user,
            ..case.head.clone()
        };
        check_head(&config, &Secret::new(&secret), &head).map_err(|refusal| refusal.error.code)
    }

    fn code(change: impl FnOnce(&mut Case)) -> Code {
        let mut case = good();
        change(&mut case);
        check(&case).unwrap_err()
    }

    #[test]
    fn a_good_head_names_its_principal() {
        let principal = Principal {
            tenant: "t".into(),
            user: "u".into(),
        };
        let route = Route::Run;
        assert_eq!(check(&good()), Ok(Verdict { principal, route }));
        let mut case = good();
        case.head.content_type = Some("Application/JSON ; charset=utf-8");
        assert!(check(&case).is_ok());
    }

    #[test]
    fn each_rule_has_its_code() {
        assert_eq!(
            code(|case| case.head.method = "GET"),
            Code::MethodNotAllowed
        );
        assert_eq!(code(|case| case.head.rest = "/x"), Code::NotFound);
        assert_eq!(code(|case| case.authorization.clear()), Code::Unauthorized);
        assert_eq!(
            code(|case| case.authorization.push("Bearer 0123456789abcdef".into())),
            Code::Unauthorized
        );
        assert_eq!(
            code(|case| case.tenant = vec!["a b".into()]),
            Code::InvalidIdentity
        );
        assert_eq!(
            code(|case| case.tenant.push("t".into())),
            Code::InvalidIdentity
        );
        assert_eq!(code(|case| case.user.clear()), Code::InvalidIdentity);
        assert_eq!(
            code(|case| case.user = vec!["u".repeat(257)]),
            Code::InvalidIdentity
        );
        for media in [None, Some("text/plain"), Some("application/jsonx")] {
            assert_eq!(
                code(|case| case.head.content_type = media),
                Code::UnsupportedMediaType
            );
        }
        assert_eq!(
            code(|case| case.head.content_length = Some("262145")),
            Code::RequestTooLarge
        );
    }

    #[test]
    fn a_run_that_goes_on_is_asked_for_with_get_and_nothing_else() {
        let mut case = good();
        case.head.rest = "/threads/t%3A1/runs/r1";
        assert_eq!(check(&case), Err(Code::MethodNotAllowed));
        case.head.method = "GET";
        case.head.content_type = None;
        let route = Route::Reconnect(route::RunName {
            thread_id: "t:1".into(),
            run_id: "r1".into(),
        });
        assert_eq!(check(&case).map(|verdict| verdict.route), Ok(route));
        case.head.rest = "/threads/t/runs/%20";
        assert_eq!(check(&case), Err(Code::InvalidIdentity));
        case.user.clear();
        case.authorization.clear();
        assert_eq!(check(&case), Err(Code::Unauthorized));
    }

    #[test]
    fn rules_are_checked_in_order() {
        let mut case = good();
        case.head.content_length = Some("999999999");
        case.head.content_type = None;
        case.user.clear();
        case.authorization.clear();
        case.head.method = "PUT";
        let mut codes = Vec::new();
        codes.push(check(&case).unwrap_err());
        case.head.method = "POST";
        codes.push(check(&case).unwrap_err());
        case.authorization = good().authorization;
        codes.push(check(&case).unwrap_err());
        case.user = good().user;
        codes.push(check(&case).unwrap_err());
        case.head.content_type = Some("application/json");
        codes.push(check(&case).unwrap_err());
        assert_eq!(
            codes,
            [
                Code::MethodNotAllowed,
                Code::Unauthorized,
                Code::InvalidIdentity,
                Code::UnsupportedMediaType,
                Code::RequestTooLarge
            ]
        );
    }
}
