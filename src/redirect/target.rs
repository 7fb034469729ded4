//! Which URI a receiver answers, and whether a request is for it.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use subtle::ConstantTimeEq;
use url::Url;

use super::query::{self, Pairs};
use super::token::Token;

/// Longest exact URI, in bytes.
pub const MAX_URI_BYTES: usize = 2048;

/// Why an exact redirect URI is refused. The consumer sees only `redirect-uri-rejected`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UriRejection {
    /// Longer than [`MAX_URI_BYTES`].
    #[error("the redirect URI is too long")]
    TooLong,
    /// A character that RFC 3986 does not allow there, or a `%` without two hexadecimal digits. Browsers would
    /// rewrite or refuse such a URI, so that it could not be kept verbatim.
    #[error("the redirect URI has a character that a URI cannot have")]
    Character,
    /// Not `http://`.
    #[error("the redirect URI is not an http URI")]
    Scheme,
    /// A user name or password before the host.
    #[error("the redirect URI has user information")]
    UserInformation,
    /// A fragment: no browser sends it.
    #[error("the redirect URI has a fragment")]
    Fragment,
    /// No port, port 0, or a port that browsers would spell differently.
    #[error("the redirect URI has no explicit port")]
    Port,
    /// Not `localhost`, `127.0.0.0/8` in its usual spelling, or `[::1]`.
    #[error("the redirect URI is not on the loopback interface")]
    NotLoopback,
}

/// The URI that a receiver announced, taken apart for matching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    uri: String,
    authority: Authority,
    path: String,
    /// Pairs that the exact URI itself has in its query.
    registered: Pairs,
}

/// Host and port as a browser sends them in `Host`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    host: String,
    port: u16,
}

impl Authority {
    /// `Host` is compared without regard to case; port 80 may be left out, as browsers do.
    fn is(&self, sent: &str) -> bool {
        let (host, port) = match sent.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (sent, None),
        };
        let same_port = match port {
            Some(text) => text.parse() == Ok(self.port) && !text.starts_with(['+', '0']),
            None => self.port == 80,
        };
        same_port && host.eq_ignore_ascii_case(&self.host)
    }
}

impl Target {
    /// A one-time target on a listener of ours: `http://<address>/<token>`.
    #[must_use]
    pub fn one_time(address: SocketAddr, token: &Token) -> Self {
        let host = match address {
            SocketAddr::V4(v4) => v4.ip().to_string(),
            SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
        };
        let path = format!("/{}", token.as_str());
        Self {
            uri: format!("http://{host}:{}{path}", address.port()),
            authority: Authority {
                host,
                port: address.port(),
            },
            path,
            registered: Vec::new(),
        }
    }

    /// The URI to announce. For an exact URI the caller's own string.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Whether `path`, as it came over the wire, is this target's. Takes the same time wherever they differ.
    #[must_use]
    pub fn has_path(&self, path: &str) -> bool {
        self.path.as_bytes().ct_eq(path.as_bytes()).into()
    }

    /// Whether a `Host` value names this target. A page of another site that resolves its own name to the loopback
    /// address (DNS rebinding) does not.
    #[must_use]
    pub fn has_authority(&self, host: &str) -> bool {
        self.authority.is(host)
    }

    /// Whether the query begins with the pairs that the exact URI has (RFC 6749, 3.1.2: they are retained and others
    /// added). Decoded pairs are compared, because an authorization server that adds its own may re-encode them.
    #[must_use]
    pub fn retains_query(&self, pairs: &Pairs) -> bool {
        pairs.starts_with(&self.registered)
    }

    /// Whether one request could be for both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.authority == other.authority
            && self.path == other.path
            && (self.registered.starts_with(&other.registered)
                || other.registered.starts_with(&self.registered))
    }
}

/// An exact redirect URI that may be bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactUri {
    /// What to match and announce.
    pub target: Target,
    /// Where to listen: one address, or both loopback addresses for `localhost`.
    pub host: LoopbackHost,
    /// The explicit port.
    pub port: u16,
}

/// The loopback hosts that an exact URI may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopbackHost {
    /// An address of `127.0.0.0/8`.
    V4(Ipv4Addr),
    /// `[::1]`.
    V6,
    /// The name, which browsers resolve to either family without asking DNS.
    Localhost,
}

impl LoopbackHost {
    /// The addresses to listen on. For the name, those of the families that this machine has.
    #[must_use]
    pub fn addresses(self, port: u16) -> Vec<SocketAddr> {
        let v4 = |ip: Ipv4Addr| SocketAddr::from((ip, port));
        let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
        match self {
            Self::V4(ip) => vec![v4(ip)],
            Self::V6 => vec![v6],
            Self::Localhost => vec![v4(Ipv4Addr::LOCALHOST), v6],
        }
    }
}

impl ExactUri {
    /// Reads an absolute loopback HTTP URI with an explicit port. The string is kept; the path to match is the one a
    /// browser sends for it (dot segments resolved, `/` when empty).
    ///
    /// # Errors
    /// Whatever would make the URI impossible to keep verbatim, or take it off the loopback interface.
    pub fn parse(uri: &str) -> Result<Self, UriRejection> {
        if uri.len() > MAX_URI_BYTES {
            return Err(UriRejection::TooLong);
        }
        check_characters(uri)?;
        let rest = match uri.get(..7) {
            Some(scheme) if scheme.eq_ignore_ascii_case("http://") => &uri[7..],
            _ => return Err(UriRejection::Scheme),
        };
        if rest.contains('#') {
            return Err(UriRejection::Fragment);
        }
        let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UriRejection::UserInformation);
        }
        if tail.contains(['[', ']']) {
            return Err(UriRejection::Character);
        }
        let (host, port) = split_authority(authority)?;
        let loopback = loopback_host(host)?;
        let parsed = Url::parse(uri).map_err(|_| UriRejection::Character)?;
        let registered = query::decode(parsed.query().unwrap_or_default(), MAX_URI_BYTES)
            .map_err(|_| UriRejection::TooLong)?;
        Ok(Self {
            target: Target {
                uri: uri.to_owned(),
                authority: Authority {
                    host: host.to_owned(),
                    port,
                },
                path: parsed.path().to_owned(),
                registered,
            },
            host: loopback,
            port,
        })
    }
}

/// RFC 3986 characters only. Brackets are checked again where only the host may have them.
fn check_characters(uri: &str) -> Result<(), UriRejection> {
    let bytes = uri.as_bytes();
    let legal = |(place, byte): (usize, &u8)| match byte {
        b'%' => bytes
            .get(place + 1..place + 3)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
        b => b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(b),
    };
    if bytes.iter().enumerate().all(legal) {
        Ok(())
    } else {
        Err(UriRejection::Character)
    }
}

fn split_authority(authority: &str) -> Result<(&str, u16), UriRejection> {
    let (host, port) = authority.rsplit_once(':').ok_or(UriRejection::Port)?;
    if host.starts_with('[') != host.ends_with(']') {
        // `[::1]` without a port was cut inside its brackets.
        return Err(UriRejection::Port);
    }
    let canonical = !port.starts_with(['0', '+']);
    match port.parse() {
        Ok(number) if canonical => Ok((host, number)),
        _ => Err(UriRejection::Port),
    }
}

/// Only the spellings that a browser leaves alone: it would turn `127.1` into `127.0.0.1`.
fn loopback_host(host: &str) -> Result<LoopbackHost, UriRejection> {
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(LoopbackHost::Localhost);
    }
    if host == "[::1]" {
        return Ok(LoopbackHost::V6);
    }
    match host.parse::<Ipv4Addr>() {
        Ok(ip) if ip.is_loopback() => Ok(LoopbackHost::V4(ip)),
        _ => Err(UriRejection::NotLoopback),
    }
}

#[cfg(test)]
mod tests;
