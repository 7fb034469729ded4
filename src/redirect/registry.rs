//! Opens receivers and keeps the listeners that they share.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore, oneshot};
use tokio::time::{Instant, sleep_until};

use super::limits::Limits;
use super::listener::{Listener, Route};
use super::outcome::{Outcome, Ready, Unavailable};
use super::slot::Slot;
use super::target::{ExactUri, LoopbackHost, Target};
use super::token::Token;

/// Receivers that one registry keeps open at a time.
pub const MAX_RECEIVERS: usize = 256;

/// What a receiver is opened with.
#[derive(Debug, Clone)]
pub struct Request {
    /// The URI to bind verbatim; without it a one-time URI on a port of the system's choice.
    pub exact_redirect_uri: Option<String>,
    /// Bounds.
    pub limits: Limits,
    /// Time until the receiver expires. Zero: it has expired already.
    pub wait: Duration,
    /// The same on the wall clock, to announce.
    pub expires_at_ms: f64,
}

/// A receiver being opened, open, or at its end. Dropping it cancels.
#[derive(Debug)]
pub struct Receiver {
    /// Arrives when the receiver accepts; closed without a value when it never does.
    pub ready: oneshot::Receiver<Ready>,
    /// The one terminal result, after the path is revoked and, for the last receiver at an address, its port is free.
    pub outcome: oneshot::Receiver<Outcome>,
    /// Ends the receiver.
    pub canceller: Canceller,
}

/// The right to cancel one receiver. Dropping it cancels, too.
#[derive(Debug)]
pub struct Canceller(Arc<Slot>);

impl Canceller {
    /// Ends the receiver unless it is settled. No request is accepted after this returns.
    pub fn cancel(&self) {
        // Already settled: the first outcome stands.
        let _ = self.0.settle(Outcome::Cancelled);
    }
}

impl Drop for Canceller {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// All receivers of a process.
#[derive(Debug)]
pub struct Registry {
    listeners: Mutex<Vec<Shared>>,
    capacity: Arc<Semaphore>,
}

/// A listener in use by at least one receiver.
#[derive(Debug)]
struct Shared {
    listener: Listener,
    port: PortChoice,
}

/// Who chose a listener's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PortChoice {
    /// The system. Receivers without an exact URI share such a listener.
    System,
    /// An exact URI.
    Exact,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            listeners: Mutex::default(),
            capacity: Arc::new(Semaphore::new(MAX_RECEIVERS)),
        }
    }
}

impl Registry {
    /// Opens a receiver. Returns at once; what becomes of it arrives through the [`Receiver`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn open(self: &Arc<Self>, request: Request) -> Receiver {
        let (slot, settled) = Slot::open();
        let slot = Arc::new(slot);
        let (announce, ready) = oneshot::channel();
        let (finish, outcome) = oneshot::channel();
        let registry = Arc::clone(self);
        let canceller = Canceller(Arc::clone(&slot));
        tokio::spawn(async move {
            let outcome = registry.drive(request, slot, settled, announce).await;
            let _ = finish.send(outcome);
        });
        Receiver {
            ready,
            outcome,
            canceller,
        }
    }

    async fn drive(
        &self,
        request: Request,
        slot: Arc<Slot>,
        mut settled: oneshot::Receiver<Outcome>,
        announce: oneshot::Sender<Ready>,
    ) -> Outcome {
        let deadline = Instant::now() + request.wait;
        // `settle` loses to whatever came first; the outcome that counts is the one that arrives.
        let Ok(_permit) = self.capacity.try_acquire() else {
            let _ = slot.settle(Outcome::Unavailable(Unavailable::TooManyReceivers));
            return arrived(settled.await);
        };
        if request.wait.is_zero() {
            let _ = slot.settle(Outcome::Expired);
            return arrived(settled.await);
        }
        let route = match self.admit(&request, &slot).await {
            Ok(route) => route,
            Err(why) => {
                let _ = slot.settle(Outcome::Unavailable(why));
                return arrived(settled.await);
            }
        };
        // Nobody has to listen for it.
        let _ = announce.send(Ready {
            redirect_uri: route.target.uri().to_owned(),
            expires_at_ms: request.expires_at_ms,
        });
        let outcome = tokio::select! {
            biased;
            outcome = &mut settled => outcome,
            () = sleep_until(deadline) => {
                let _ = slot.settle(Outcome::Expired);
                settled.await
            }
        };
        self.release(&route).await;
        arrived(outcome)
    }

    /// Finds or binds the listeners of a request and puts its route on each.
    async fn admit(&self, request: &Request, slot: &Arc<Slot>) -> Result<Arc<Route>, Unavailable> {
        let mut listeners = self.listeners.lock().await;
        let route = |target| {
            Arc::new(Route {
                target,
                limits: request.limits,
                slot: Arc::clone(slot),
            })
        };
        let Some(uri) = &request.exact_redirect_uri else {
            let token = Token::random().map_err(|_| Unavailable::ListenerFailed)?;
            let shared = any_port(&mut listeners).await?;
            let route = route(Target::one_time(shared.listener.address(), &token));
            shared.listener.add(Arc::clone(&route));
            return Ok(route);
        };
        let exact = ExactUri::parse(uri).map_err(|_| Unavailable::UriRejected)?;
        let addresses = bind_exact(&mut listeners, &exact).await?;
        let route = route(exact.target);
        for shared in listeners.iter() {
            if addresses.contains(&shared.listener.address()) {
                shared.listener.add(Arc::clone(&route));
            }
        }
        Ok(route)
    }

    /// Takes a route off its listeners and closes those that have none left.
    async fn release(&self, route: &Arc<Route>) {
        let mut listeners = self.listeners.lock().await;
        let mut place = 0;
        while place < listeners.len() {
            if listeners[place].listener.remove(route) {
                listeners.swap_remove(place).listener.close().await;
            } else {
                place += 1;
            }
        }
    }
}

/// The slot delivers before it is dropped; its end can only be missing when the runtime goes down.
fn arrived(outcome: Result<Outcome, oneshot::error::RecvError>) -> Outcome {
    outcome.unwrap_or(Outcome::Cancelled)
}

/// The listener for one-time URIs: the one that is there, or a new one.
async fn any_port(listeners: &mut Vec<Shared>) -> Result<&Shared, Unavailable> {
    let found = listeners
        .iter()
        .position(|shared| shared.port == PortChoice::System);
    let place = match found {
        Some(place) => place,
        None => {
            let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
            let listener = match Listener::bind(v4).await {
                Ok(listener) => listener,
                Err(_) => Listener::bind(v6)
                    .await
                    .map_err(|_| Unavailable::ListenerFailed)?,
            };
            listeners.push(Shared {
                listener,
                port: PortChoice::System,
            });
            listeners.len() - 1
        }
    };
    Ok(&listeners[place])
}

/// Makes sure that every address of an exact URI has a listener of ours, and returns the addresses. Nothing is
/// changed when one of them is taken.
async fn bind_exact(
    listeners: &mut Vec<Shared>,
    exact: &ExactUri,
) -> Result<Vec<SocketAddr>, Unavailable> {
    let mut held = Vec::new();
    let mut bound = Vec::new();
    let mut failure = None;
    for address in exact.host.addresses(exact.port) {
        let ours = listeners
            .iter()
            .find(|shared| shared.listener.address() == address);
        let result = match ours {
            Some(shared) if shared.listener.has_overlap(&exact.target) => {
                Err(Unavailable::AddressInUse)
            }
            Some(_) => Ok(()),
            None => match Listener::bind(address).await {
                Ok(listener) => {
                    bound.push(listener);
                    Ok(())
                }
                // A machine without one of the families serves `localhost` on the other.
                Err(error) if exact.host == LoopbackHost::Localhost && is_absent(&error) => {
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    Err(Unavailable::AddressInUse)
                }
                Err(_) => Err(Unavailable::UriRejected),
            },
        };
        match result {
            Ok(()) => held.push(address),
            Err(why) => {
                failure = Some(why);
                break;
            }
        }
    }
    if failure.is_none() && held.is_empty() {
        failure = Some(Unavailable::UriRejected);
    }
    if let Some(why) = failure {
        for listener in bound {
            listener.close().await;
        }
        return Err(why);
    }
    listeners.extend(bound.into_iter().map(|listener| Shared {
        listener,
        port: PortChoice::Exact,
    }));
    Ok(held)
}

/// Whether a bind failed because the machine lacks the address or its whole family.
fn is_absent(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied
    )
}
