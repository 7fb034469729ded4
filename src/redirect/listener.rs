//! One loopback listening socket, shared by the receivers at its address.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::judge::{Initiator, Refusal, RequestView, judge};
use super::limits::Limits;
use super::outcome::Outcome;
use super::page::{self, Language};
use super::slot::{Delivery, Slot};
use super::target::Target;

/// Longest time from connecting to a complete request head. A browser needs milliseconds.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for the client to take its response, of which the consumer's result waits.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Connections that have not sent their request yet. When one more comes, the oldest has to go, so that strangers
/// who only hold connections open never keep the browser out.
const MAX_WAITING: usize = 256;
/// Largest request head. Room for the longest target that the parser takes (64 KiB, refused by us with a proper
/// status) and for the cookies that development servers leave on `localhost`.
const MAX_HEAD_BYTES: usize = 96 * 1024;
/// Most header lines. Chromium sends about fifteen.
const MAX_HEADERS: usize = 64;
/// Pause after a failed accept, which is nearly always "too many open files".
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A receiver as its listeners know it.
#[derive(Debug)]
pub(super) struct Route {
    pub target: Target,
    pub limits: Limits,
    pub slot: Arc<Slot>,
}

/// A bound socket and the task that accepts on it.
#[derive(Debug)]
pub(super) struct Listener {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    routes: Mutex<Vec<Arc<Route>>>,
    waiting: Mutex<Waiting>,
}

/// Connections without a request yet, oldest first. Sending tells one that its request was answered, dropping that
/// it has to go.
#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    connections: BTreeMap<u64, oneshot::Sender<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Listener {
    /// Binds and starts to accept. When this returns, the system completes connections to the address.
    ///
    /// # Errors
    /// What the system says about the address.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        if foreign_listener_may_hide() && address.port() != 0 {
            refuse_occupied(address).await?;
        }
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        let shared = Arc::<Shared>::default();
        let accepting = tokio::spawn(accept(socket, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// The address with its real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether a receiver here could be meant by the same request.
    pub fn has_overlap(&self, target: &Target) -> bool {
        lock(&self.shared.routes)
            .iter()
            .any(|route| route.target.overlaps(target))
    }

    pub fn add(&self, route: Arc<Route>) {
        lock(&self.shared.routes).push(route);
    }

    /// Takes a receiver away. True when it was the last one.
    pub fn remove(&self, route: &Arc<Route>) -> bool {
        let mut routes = lock(&self.shared.routes);
        routes.retain(|other| !Arc::ptr_eq(other, route));
        routes.is_empty()
    }

    /// Closes the socket and drops every connection that has not been answered. The port is free when this returns;
    /// responses under way are still written.
    pub async fn close(self) {
        self.accepting.abort();
        // The abort takes effect, and the socket is dropped, before the join returns. Its error only says "aborted".
        let _ = self.accepting.await;
        lock(&self.shared.waiting).connections.clear();
    }
}

/// Where `SO_REUSEADDR`, which is set so that an exact port can be bound again soon, would also let us bind beside
/// another program's wildcard listener and take its connections.
const fn foreign_listener_may_hide() -> bool {
    cfg!(all(unix, not(target_os = "linux")))
}

async fn refuse_occupied(address: SocketAddr) -> io::Result<()> {
    match TcpStream::connect(address).await {
        Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
        Err(_) => Ok(()),
    }
}

async fn accept(socket: TcpListener, shared: Arc<Shared>) {
    loop {
        match socket.accept().await {
            Ok((stream, _)) => {
                // Without it a response may wait for the peer's delayed acknowledgement; failing is harmless.
                let _ = stream.set_nodelay(true);
                let connection = Connection::enter(&shared);
                tokio::spawn(serve(stream, connection.0, connection.1));
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// The part of a connection that its request handler sees.
struct Connection {
    id: u64,
    shared: Arc<Shared>,
    /// What this connection's request committed, delivered when the connection ends.
    delivery: Mutex<Option<Delivery>>,
}

impl Connection {
    /// Joins the waiting ones, at the expense of the oldest when they are too many.
    fn enter(shared: &Arc<Shared>) -> (Arc<Self>, oneshot::Receiver<()>) {
        let (answered, state) = oneshot::channel();
        let mut waiting = lock(&shared.waiting);
        if waiting.connections.len() >= MAX_WAITING {
            waiting.connections.pop_first();
        }
        let id = waiting.next;
        waiting.next += 1;
        waiting.connections.insert(id, answered);
        let connection = Self {
            id,
            shared: Arc::clone(shared),
            delivery: Mutex::default(),
        };
        (Arc::new(connection), state)
    }

    fn leave(&self) -> Option<oneshot::Sender<()>> {
        lock(&self.shared.waiting).connections.remove(&self.id)
    }

    fn answer(&self, request: &Request<Incoming>) -> Response {
        let Some(answered) = self.leave() else {
            // Evicted in this very moment: the connection is about to be dropped.
            return refusal(Refusal::NotFound);
        };
        let response = match self.settle(&view(request)) {
            Ok(delivery) => {
                *lock(&self.delivery) = Some(delivery);
                completion(request.headers())
            }
            Err(why) => refusal(why),
        };
        let _ = answered.send(());
        response
    }

    /// Commits the request to the one receiver that it is for.
    fn settle(&self, request: &RequestView<'_>) -> Result<Delivery, Refusal> {
        let routes = lock(&self.shared.routes).clone();
        let mut worst = Refusal::NotFound;
        for route in &routes {
            match judge(request, &route.target, &route.limits) {
                Ok(query) => {
                    return route
                        .slot
                        .commit(Outcome::Submitted(query))
                        .map_err(|_| Refusal::NotFound);
                }
                Err(why) => worst = worst.max(why),
            }
        }
        Err(worst)
    }
}

/// Serves one request, then closes. Dropping `connection` at the end delivers what the request committed.
async fn serve(stream: TcpStream, connection: Arc<Connection>, mut state: oneshot::Receiver<()>) {
    let handler = hyper::service::service_fn(|request: Request<Incoming>| {
        let response = connection.answer(&request);
        async move { Ok::<_, Infallible>(response) }
    });
    let http = http1::Builder::new()
        .keep_alive(false)
        .half_close(true)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        // The deadline below covers the head and the response alike.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), handler);
    let mut http = pin!(http);
    let mut deadline = pin!(sleep_until(Instant::now() + HEAD_TIMEOUT));
    let mut answered = false;
    loop {
        tokio::select! {
            biased;
            // A broken connection ends like a finished one: what it committed stays committed.
            _ = http.as_mut() => break,
            end = &mut state, if !answered => match end {
                Ok(()) => {
                    answered = true;
                    deadline.as_mut().reset(Instant::now() + RESPONSE_TIMEOUT);
                }
                Err(_) => break,
            },
            () = deadline.as_mut() => break,
        }
    }
    connection.leave();
}

fn view(request: &Request<Incoming>) -> RequestView<'_> {
    let uri = request.uri();
    let headers = request.headers();
    let bytes = |name: &str| headers.get(name).map(|value| value.as_bytes());
    RequestView {
        method: request.method().as_str(),
        path: uri.path(),
        query: uri.query().unwrap_or_default(),
        // RFC 9112, 3.2.2: a target in absolute form takes the place of the Host header.
        host: match uri.authority() {
            Some(authority) => Some(authority.as_str()),
            None => only_host(headers),
        },
        initiator: Initiator::from_headers(
            bytes("sec-fetch-mode"),
            bytes("sec-fetch-dest"),
            bytes("sec-purpose"),
        ),
    }
}

fn only_host(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::HOST).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

fn completion(headers: &HeaderMap) -> Response {
    let wish = headers
        .get(header::ACCEPT_LANGUAGE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let language = Language::preferred(wish);
    let mut response = fixed(
        StatusCode::OK,
        page::COMPLETION_CSP,
        "text/html; charset=utf-8",
        Body::from(page::completion(language)),
    );
    let headers = response.headers_mut();
    let tag = header::HeaderValue::from_static(language.tag());
    headers.insert(header::CONTENT_LANGUAGE, tag);
    let vary = header::HeaderValue::from_static("accept-language");
    headers.insert(header::VARY, vary);
    response
}

fn refusal(why: Refusal) -> Response {
    let status = StatusCode::from_u16(why.status()).unwrap_or(StatusCode::NOT_FOUND);
    let text = status.canonical_reason().unwrap_or_default();
    let mut response = fixed(
        status,
        page::REFUSAL_CSP,
        "text/plain; charset=utf-8",
        Body::from(text),
    );
    if why == Refusal::Method {
        let allow = header::HeaderValue::from_static("GET");
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

fn fixed(
    status: StatusCode,
    policy: &'static str,
    media_type: &'static str,
    body: Body,
) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &'static str| {
        headers.insert(name, header::HeaderValue::from_static(value));
    };
    set("content-type", media_type);
    set("content-security-policy", policy);
    for (name, value) in page::COMMON_HEADERS {
        set(name, value);
    }
    response
}
