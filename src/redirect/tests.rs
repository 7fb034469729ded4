//! Receivers over real loopback sockets. Where time matters the clock is simulated.
#![allow(clippy::unwrap_used)]

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use super::registry::MAX_RECEIVERS;
use super::{Limits, Outcome, Receiver, Registry, Request, Unavailable};

const MINUTE: Duration = Duration::from_secs(60);

fn request(uri: Option<String>) -> Request {
    Request {
        exact_redirect_uri: uri,
        limits: Limits::default(),
        wait: MINUTE,
        expires_at_ms: 60_000.0,
    }
}

/// An announced receiver.
struct Open {
    receiver: Receiver,
    uri: String,
}

impl Open {
    async fn at(registry: &Arc<Registry>, uri: Option<String>) -> Self {
        Self::with(registry, request(uri)).await
    }

    async fn with(registry: &Arc<Registry>, request: Request) -> Self {
        let mut receiver = registry.open(request);
        let ready = (&mut receiver.ready).await.unwrap();
        assert_eq!(ready.expires_at_ms, 60_000.0);
        Self {
            receiver,
            uri: ready.redirect_uri,
        }
    }

    /// `host:port` and the rest of the URI.
    fn parts(&self) -> (&str, String) {
        let rest = self.uri.strip_prefix("http://").unwrap();
        let (authority, path) = rest.split_once('/').unwrap();
        (authority, format!("/{path}"))
    }

    fn address(&self) -> SocketAddr {
        self.parts()
            .0
            .replace("localhost", "127.0.0.1")
            .parse()
            .unwrap()
    }

    fn port(&self) -> u16 {
        self.address().port()
    }

    async fn outcome(self) -> Outcome {
        // `canceller` stays alive until the outcome is here.
        let Receiver {
            outcome, canceller, ..
        } = self.receiver;
        let outcome = outcome.await.unwrap();
        drop(canceller);
        outcome
    }

    /// The whole response to `GET <path><suffix>`.
    async fn get(&self, suffix: &str) -> String {
        let (authority, path) = self.parts();
        let text = format!("GET {path}{suffix} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        exchange(self.address(), &text).await
    }

    async fn status(&self, request: &str) -> u16 {
        status(&exchange(self.address(), request).await)
    }
}

async fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

fn status(response: &str) -> u16 {
    response.split(' ').nth(1).unwrap().parse().unwrap()
}

fn submitted(outcome: &Outcome, name: &str) -> Vec<String> {
    match outcome {
        Outcome::Submitted(query) => query.values(name).to_vec(),
        other => panic!("not submitted: {other:?}"),
    }
}

async fn is_free(address: SocketAddr) -> bool {
    match TcpStream::connect(address).await {
        Ok(_) => false,
        Err(error) => error.kind() == io::ErrorKind::ConnectionRefused,
    }
}

/// A port that was free a moment ago.
async fn free_port() -> u16 {
    let probe = TcpListener::bind("127.0.0.1:0").await.unwrap();
    probe.local_addr().unwrap().port()
}

async fn has_ipv6() -> bool {
    TcpListener::bind("[::1]:0").await.is_ok()
}

#[tokio::test]
async fn one_get_settles_and_the_port_is_free() {
    let registry = Arc::<Registry>::default();
    let open = Open::at(&registry, None).await;
    let address = open.address();
    let response = open.get("?code=a+b&code=%00").await;
    assert_eq!(status(&response), 200);
    let outcome = open.outcome().await;
    assert_eq!(submitted(&outcome, "code"), ["a b", "\0"]);
    assert!(is_free(address).await);
}

#[tokio::test]
async fn the_page_says_nothing_of_the_request() {
    let registry = Arc::<Registry>::default();
    let open = Open::at(&registry, None).await;
    let response = open.get("?code=needle%3Cscript%3E").await;
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    for line in [
        "content-type: text/html; charset=utf-8",
        "cache-control: no-store",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
        "connection: close",
        "content-language: en",
    ] {
        assert!(head.contains(line), "{line}");
    }
    assert!(head.contains("content-security-policy: default-src 'none'; style-src 'sha256-"));
    assert!(!response.contains("needle"));
    assert!(body.contains("You can close this page"));
}

#[tokio::test]
async fn refusals_leave_the_receiver_as_it_was() {
    let registry = Arc::<Registry>::default();
    let limits = Limits {
        max_query_bytes: 100,
        max_parameters: 4,
        ..Limits::default()
    };
    let open = Open::with(
        &registry,
        Request {
            limits,
            ..request(None)
        },
    )
    .await;
    let (authority, path) = open.parts();
    let host = format!("Host: {authority}");
    let long = "a".repeat(101);
    let table = [
        (format!("HEAD {path} HTTP/1.1\r\n{host}\r\n\r\n"), 405),
        (
            format!("POST {path} HTTP/1.1\r\n{host}\r\ncontent-length: 2\r\n\r\nhi"),
            405,
        ),
        (format!("OPTIONS {path} HTTP/1.1\r\n{host}\r\n\r\n"), 405),
        (format!("GET /other HTTP/1.1\r\n{host}\r\n\r\n"), 404),
        (format!("GET {path}/ HTTP/1.1\r\n{host}\r\n\r\n"), 404),
        (
            format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
            421,
        ),
        (format!("GET {path} HTTP/1.1\r\n\r\n"), 421),
        (format!("GET {path} HTTP/1.0\r\n\r\n"), 421),
        (
            format!("GET {path} HTTP/1.1\r\n{host}\r\n{host}\r\n\r\n"),
            421,
        ),
        (
            format!("GET http://evil.example{path} HTTP/1.1\r\n{host}\r\n\r\n"),
            421,
        ),
        (
            format!(
                "GET {path} HTTP/1.1\r\n{host}\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n\r\n"
            ),
            403,
        ),
        (format!("GET {path}?{long} HTTP/1.1\r\n{host}\r\n\r\n"), 414),
        (
            format!("GET {path}?a&b&c&d&e HTTP/1.1\r\n{host}\r\n\r\n"),
            400,
        ),
        ("nonsense\r\n\r\n".to_owned(), 400),
    ];
    for (text, expected) in &table {
        assert_eq!(open.status(text).await, *expected, "{text}");
    }
    assert_eq!(status(&open.get("?ok=1").await), 200);
    assert_eq!(submitted(&open.outcome().await, "ok"), ["1"]);
}

#[tokio::test]
async fn receivers_share_a_listener_and_stay_apart() {
    let registry = Arc::<Registry>::default();
    let one = Open::at(&registry, None).await;
    let two = Open::at(&registry, None).await;
    let address = one.address();
    assert_eq!(address, two.address());
    assert_ne!(one.uri, two.uri);
    assert_eq!(status(&two.get("?from=two").await), 200);
    assert_eq!(status(&two.get("?from=again").await), 404);
    assert_eq!(submitted(&two.outcome().await, "from"), ["two"]);
    assert_eq!(status(&one.get("?from=one").await), 200);
    assert_eq!(submitted(&one.outcome().await, "from"), ["one"]);
    assert!(is_free(address).await);
}

#[tokio::test]
async fn an_exact_uri_is_bound_verbatim_on_every_family() {
    let registry = Arc::<Registry>::default();
    let port = free_port().await;
    let uri = format!("http://localhost:{port}/Call/./back?tenant=a%20b");
    let open = Open::at(&registry, Some(uri.clone())).await;
    assert_eq!(open.uri, uri);
    let line =
        format!("GET /Call/back?tenant=a+b&code=1 HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    let by_address = line.replace("localhost", "127.0.0.1");
    assert_eq!(status(&exchange(open.address(), &by_address).await), 421);
    let address = if has_ipv6().await {
        SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, port))
    } else {
        open.address()
    };
    assert_eq!(status(&exchange(address, &line).await), 200);
    let four = open.address();
    let outcome = open.outcome().await;
    assert_eq!(submitted(&outcome, "tenant"), ["a b"]);
    assert_eq!(submitted(&outcome, "code"), ["1"]);
    assert!(is_free(four).await && is_free(address).await);
}

#[tokio::test]
async fn an_address_in_use_stays_with_its_owner() {
    let registry = Arc::<Registry>::default();
    let foreign = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = foreign.local_addr().unwrap().port();
    for uri in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
    ] {
        let mut receiver = registry.open(request(Some(uri)));
        assert!((&mut receiver.ready).await.is_err());
        assert_eq!(
            receiver.outcome.await.unwrap(),
            Outcome::Unavailable(Unavailable::AddressInUse)
        );
    }
    // Neither attempt left a listener on the other family.
    if has_ipv6().await {
        assert!(is_free(SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, port))).await);
    }
}

#[tokio::test]
async fn our_own_receivers_share_an_exact_port_unless_they_overlap() {
    let registry = Arc::<Registry>::default();
    let port = free_port().await;
    let first = Open::at(&registry, Some(format!("http://127.0.0.1:{port}/cb"))).await;
    let same = registry.open(request(Some(format!("http://127.0.0.1:{port}/cb"))));
    assert_eq!(
        same.outcome.await.unwrap(),
        Outcome::Unavailable(Unavailable::AddressInUse)
    );
    let other = Open::at(&registry, Some(format!("http://127.0.0.1:{port}/cb2"))).await;
    let address = first.address();
    assert_eq!(status(&other.get("?n=2").await), 200);
    assert_eq!(submitted(&other.outcome().await, "n"), ["2"]);
    assert_eq!(status(&first.get("?n=1").await), 200);
    assert_eq!(submitted(&first.outcome().await, "n"), ["1"]);
    assert!(is_free(address).await);
    // The same address can be bound again at once.
    let again = Open::at(&registry, Some(format!("http://127.0.0.1:{port}/cb"))).await;
    again.receiver.canceller.cancel();
    assert_eq!(again.outcome().await, Outcome::Cancelled);
}

#[tokio::test]
async fn a_rejected_uri_opens_nothing() {
    let registry = Arc::<Registry>::default();
    for uri in [
        "http://127.0.0.1/",
        "http://192.0.2.1:8080/",
        "file:///etc/passwd",
        "",
    ] {
        let receiver = registry.open(request(Some(uri.to_owned())));
        assert_eq!(
            receiver.outcome.await.unwrap(),
            Outcome::Unavailable(Unavailable::UriRejected),
            "{uri:?}"
        );
    }
}

#[tokio::test]
async fn cancelling_revokes_at_once() {
    let registry = Arc::<Registry>::default();
    let keeps_listening = Open::at(&registry, None).await;
    let open = Open::at(&registry, None).await;
    open.receiver.canceller.cancel();
    assert_eq!(status(&open.get("?late=1").await), 404);
    assert_eq!(open.outcome().await, Outcome::Cancelled);
    let address = keeps_listening.address();
    let Receiver {
        outcome, canceller, ..
    } = keeps_listening.receiver;
    drop(canceller);
    assert_eq!(outcome.await, Ok(Outcome::Cancelled));
    assert!(is_free(address).await);
}

#[tokio::test]
async fn cancelling_before_it_opened_ends_it() {
    let registry = Arc::<Registry>::default();
    let receiver = registry.open(request(None));
    receiver.canceller.cancel();
    assert_eq!(receiver.outcome.await.unwrap(), Outcome::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hit_and_a_cancellation_agree_on_one_winner() {
    let registry = Arc::<Registry>::default();
    let mut seen = [0, 0];
    for _ in 0..200 {
        let open = Open::at(&registry, None).await;
        let (authority, path) = open.parts();
        let text = format!("GET {path}?code=1 HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        let mut stream = TcpStream::connect(open.address()).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
        open.receiver.canceller.cancel();
        let mut response = String::new();
        // A connection that was not answered when the listener closed is dropped.
        let read = stream.read_to_string(&mut response).await;
        match open.outcome().await {
            Outcome::Submitted(_) => {
                read.unwrap();
                assert_eq!(status(&response), 200);
                seen[0] += 1;
            }
            Outcome::Cancelled => {
                assert!(response.is_empty() || status(&response) == 404);
                seen[1] += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen[0] + seen[1], 200);
}

#[tokio::test]
async fn the_page_is_written_before_the_result_arrives() {
    let registry = Arc::<Registry>::default();
    let open = Open::at(&registry, None).await;
    let (authority, path) = open.parts();
    let text = format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    let mut stream = TcpStream::connect(open.address()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    assert_eq!(
        open.outcome().await,
        Outcome::Submitted(super::Query::default())
    );
    let mut start = [0; 15];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 OK");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_expires_the_receiver_and_frees_the_port() {
    let registry = Arc::<Registry>::default();
    let start = Instant::now();
    let open = Open::at(&registry, None).await;
    let address = open.address();
    assert_eq!(open.outcome().await, Outcome::Expired);
    assert_eq!(start.elapsed().as_secs(), 60);
    assert!(is_free(address).await);
}

#[tokio::test]
async fn a_deadline_in_the_past_opens_nothing() {
    let registry = Arc::<Registry>::default();
    let mut receiver = registry.open(Request {
        wait: Duration::ZERO,
        ..request(None)
    });
    assert!((&mut receiver.ready).await.is_err());
    assert_eq!(receiver.outcome.await.unwrap(), Outcome::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_ends_is_dropped() {
    let registry = Arc::<Registry>::default();
    let open = Open::at(&registry, None).await;
    let start = Instant::now();
    let mut slow = TcpStream::connect(open.address()).await.unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").await.unwrap();
    let mut rest = Vec::new();
    // The simulated clock moves because nothing else is to be done.
    let end = slow.read_to_end(&mut rest).await;
    assert!(rest.is_empty() && end.is_ok_and(|read| read == 0));
    assert_eq!(start.elapsed().as_secs(), 5);
    assert_eq!(open.outcome().await, Outcome::Expired);
}

#[tokio::test]
async fn silent_connections_never_keep_the_browser_out() {
    let registry = Arc::<Registry>::default();
    let open = Open::at(&registry, None).await;
    let mut strangers = Vec::new();
    for _ in 0..400 {
        strangers.push(TcpStream::connect(open.address()).await.unwrap());
    }
    assert_eq!(status(&open.get("?real=1").await), 200);
    // The oldest had to go.
    let mut nothing = Vec::new();
    assert_eq!(strangers[0].read_to_end(&mut nothing).await.unwrap(), 0);
    assert_eq!(submitted(&open.outcome().await, "real"), ["1"]);
}

#[tokio::test]
async fn closing_drops_connections_that_wait() {
    let registry = Arc::<Registry>::default();
    let open = Open::at(&registry, None).await;
    let mut idle = TcpStream::connect(open.address()).await.unwrap();
    // Answered after `idle` was accepted: connections are accepted in order.
    assert_eq!(open.status("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await, 404);
    open.receiver.canceller.cancel();
    let address = open.address();
    assert_eq!(open.outcome().await, Outcome::Cancelled);
    let mut nothing = Vec::new();
    assert_eq!(idle.read_to_end(&mut nothing).await.unwrap(), 0);
    assert!(is_free(address).await);
}

#[tokio::test]
async fn the_registry_has_room_for_so_many() {
    let registry = Arc::<Registry>::default();
    let mut open = Vec::new();
    for _ in 0..MAX_RECEIVERS {
        open.push(Open::at(&registry, None).await);
    }
    let one_more = registry.open(request(None));
    assert_eq!(
        one_more.outcome.await.unwrap(),
        Outcome::Unavailable(Unavailable::TooManyReceivers)
    );
    let first = open.swap_remove(0);
    assert_eq!(first.port(), open[0].port());
    first.receiver.canceller.cancel();
    assert_eq!(first.outcome().await, Outcome::Cancelled);
    assert_eq!(status(&Open::at(&registry, None).await.get("").await), 200);
}
