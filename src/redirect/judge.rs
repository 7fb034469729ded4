//! Whether one request may settle a receiver.

use super::limits::Limits;
use super::query::{self, Query};
use super::target::Target;

/// What matters of a request. Headers that are not here are never looked at.
#[derive(Debug, Clone, Copy)]
pub struct RequestView<'a> {
    /// The method as sent.
    pub method: &'a str,
    /// The path as sent.
    pub path: &'a str,
    /// The query as sent, without `?`; empty when there is none.
    pub query: &'a str,
    /// The authority that the request names, when it names exactly one.
    pub host: Option<&'a str>,
    /// What made the browser send it.
    pub initiator: Initiator,
}

/// What made the client send the request, as far as it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initiator {
    /// A navigation of a window, or a client that says nothing.
    Navigation,
    /// A script, an image, a frame or a prefetch. Some page tries the port behind the user's back, or the browser
    /// guesses ahead; neither is the redirect that the receiver waits for.
    Other,
}

impl Initiator {
    /// Reads `Sec-Fetch-Mode`, `Sec-Fetch-Dest` and `Sec-Purpose`, which pages cannot forge. Browsers send the first
    /// two together; a lone mode is that of a program (Node's `fetch`), not of a page.
    #[must_use]
    pub fn from_headers(mode: Option<&[u8]>, dest: Option<&[u8]>, purpose: Option<&[u8]>) -> Self {
        let window = match (mode, dest) {
            (_, None) => true,
            (mode, Some(dest)) => {
                dest == b"document" && mode.is_none_or(|mode| mode == b"navigate")
            }
        };
        if window && purpose.is_none() {
            Self::Navigation
        } else {
            Self::Other
        }
    }
}

/// Why a request does not settle a receiver. The receiver stays as it was. Ordered by how much of the target the
/// request got right, so that of several receivers' refusals the greatest is the one to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// No receiver has this path and query, or not any more.
    NotFound,
    /// The `Host` is missing, doubled, or not the announced one.
    Misdirected,
    /// Not a GET.
    Method,
    /// Not a navigation.
    NotNavigation,
    /// The query is longer than the limit.
    QueryTooLong,
    /// The query has more parameters than the limit.
    TooManyParameters,
}

impl Refusal {
    /// HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::Misdirected => 421,
            Self::Method => 405,
            Self::NotNavigation => 403,
            Self::QueryTooLong => 414,
            Self::TooManyParameters => 400,
        }
    }
}

/// Judges a request against one receiver.
///
/// # Errors
/// The first thing that is wrong, path before authority before method before size.
pub fn judge(
    request: &RequestView<'_>,
    target: &Target,
    limits: &Limits,
) -> Result<Query, Refusal> {
    if !target.has_path(request.path) {
        return Err(Refusal::NotFound);
    }
    if !request.host.is_some_and(|host| target.has_authority(host)) {
        return Err(Refusal::Misdirected);
    }
    if request.method != "GET" {
        return Err(Refusal::Method);
    }
    if request.initiator == Initiator::Other {
        return Err(Refusal::NotNavigation);
    }
    if request.query.len() > limits.max_query_bytes {
        return Err(Refusal::QueryTooLong);
    }
    let pairs = query::decode(request.query, limits.max_parameters)
        .map_err(|_| Refusal::TooManyParameters)?;
    if !target.retains_query(&pairs) {
        return Err(Refusal::NotFound);
    }
    Ok(Query::from_pairs(pairs))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::redirect::target::ExactUri;

    const GOOD: RequestView<'_> = RequestView {
        method: "GET",
        path: "/cb",
        query: "code=1",
        host: Some("127.0.0.1:9000"),
        initiator: Initiator::Navigation,
    };

    fn verdict(request: RequestView<'_>) -> Result<Query, Refusal> {
        let target = ExactUri::parse("http://127.0.0.1:9000/cb").unwrap().target;
        let limits = Limits {
            max_query_bytes: 12,
            max_parameters: 3,
            ..Limits::default()
        };
        judge(&request, &target, &limits)
    }

    #[test]
    fn accepts_one_navigation() {
        assert_eq!(verdict(GOOD).unwrap().values("code"), ["1"]);
    }

    #[test]
    fn refuses_with_the_reason_that_fits() {
        let table = [
            (
                RequestView {
                    path: "/cb/",
                    ..GOOD
                },
                Refusal::NotFound,
            ),
            (
                RequestView {
                    path: "//cb",
                    ..GOOD
                },
                Refusal::NotFound,
            ),
            (RequestView { host: None, ..GOOD }, Refusal::Misdirected),
            (
                RequestView {
                    host: Some("evil.example:9000"),
                    ..GOOD
                },
                Refusal::Misdirected,
            ),
            (
                RequestView {
                    method: "HEAD",
                    ..GOOD
                },
                Refusal::Method,
            ),
            (
                RequestView {
                    method: "get",
                    ..GOOD
                },
                Refusal::Method,
            ),
            (
                RequestView {
                    initiator: Initiator::Other,
                    ..GOOD
                },
                Refusal::NotNavigation,
            ),
            (
                RequestView {
                    query: "code=12345678",
                    ..GOOD
                },
                Refusal::QueryTooLong,
            ),
            (
                RequestView {
                    query: "a&b&c&d",
                    ..GOOD
                },
                Refusal::TooManyParameters,
            ),
        ];
        for (request, refusal) in table {
            assert_eq!(verdict(request), Err(refusal), "{request:?}");
        }
        assert!(
            verdict(RequestView {
                query: "code=1234567",
                ..GOOD
            })
            .is_ok()
        );
    }

    #[test]
    fn only_navigations_count() {
        use Initiator::{Navigation, Other};
        let navigate = Some(b"navigate".as_slice());
        let document = Some(b"document".as_slice());
        assert_eq!(Initiator::from_headers(None, None, None), Navigation);
        assert_eq!(
            Initiator::from_headers(navigate, document, None),
            Navigation
        );
        assert_eq!(
            Initiator::from_headers(Some(b"cors"), None, None),
            Navigation
        );
        assert_eq!(
            Initiator::from_headers(Some(b"no-cors"), Some(b"image"), None),
            Other
        );
        assert_eq!(
            Initiator::from_headers(Some(b"cors"), Some(b"empty"), None),
            Other
        );
        assert_eq!(
            Initiator::from_headers(navigate, Some(b"iframe"), None),
            Other
        );
        assert_eq!(
            Initiator::from_headers(navigate, document, Some(b"prefetch")),
            Other
        );
    }
}
