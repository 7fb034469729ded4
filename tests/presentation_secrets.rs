//! No freed block of the heap holds a secret that passed through the core (spec: presentation, Secret input; P9).
//!
//! The allocator of this test binary looks into every block that is given back. A block with the secret in it is a copy
//! that nobody overwrote.
#![allow(unsafe_code, clippy::unwrap_used)]

use dsh_ag_ui::presentation::attach::{Link, LinkLimits, Output};
use dsh_ag_ui::presentation::error::Code;
use dsh_ag_ui::presentation::host::{
    Host, HostConfig, Millis, Opening, Presenting, parse_requirements, parse_supports,
};
use dsh_ag_ui::presentation::limits::InteractionLimits;
use dsh_ag_ui::presentation::protocol::{Kind, Operations};
use dsh_ag_ui::presentation::request::Epoch;
use dsh_ag_ui::presentation::secret::Secret;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The secret, and its hexadecimal form on the attachment. Neither stands in this binary's heap by itself.
const SECRET: &[u8] = b"correct-horse-battery-staple";
const HEX: &[u8] = b"636f72726563742d686f7273652d626174746572792d737461706c65";

static LEAKS: AtomicUsize = AtomicUsize::new(0);

struct Watching;

impl Watching {
    /// SAFETY: `block` is valid for `size` bytes.
    unsafe fn look(block: *mut u8, size: usize) {
        for mark in [SECRET, HEX] {
            let Some(last) = size.checked_sub(mark.len()) else {
                continue;
            };
            for start in 0..=last {
                let same = (0..mark.len()).all(|index| {
                    // SAFETY: `start + index` is below `size`.
                    unsafe { block.add(start + index).read_volatile() == mark[index] }
                });
                if same {
                    LEAKS.fetch_add(1, Ordering::SeqCst);
                    return;
                }
            }
        }
    }
}

// SAFETY: forwards to the system's allocator; blocks are only read, before they are given back. A block that grows is
// given back and made anew, so that no copy is left behind unseen.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Zeroed, so that nothing uninitialised is ever looked at.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe {
            Self::look(block, layout.size());
            System.dealloc(block, layout);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

fn leaks() -> usize {
    LEAKS.swap(0, Ordering::SeqCst)
}

fn secret() -> Secret {
    Secret::new(String::from_utf8(SECRET.to_vec()).unwrap())
}

const SUPPORTS: &str = r#"[{"apiVersion":"presentation.dsh/v1alpha1","kind":"UserInteraction","spec":{"operations":["secret-input"]}}]"#;
const SUBMITTED: &str = r#"{"status":"submitted","value":{}}"#;
const NOW: Millis = Millis(0);

#[test]
fn nothing_that_is_freed_holds_the_secret() {
    // The watch works: an ordinary buffer is found out.
    drop(String::from_utf8(SECRET.to_vec()).unwrap());
    assert_eq!(leaks(), 1);
    drop(secret());
    assert_eq!(leaks(), 0, "a secret's own buffer is overwritten");

    let mut host = Host::new(HostConfig::default());
    host.handle_provider_attached(
        "tui",
        parse_supports(SUPPORTS).unwrap(),
        InteractionLimits::default(),
        Presenting::OnOffer,
    )
    .unwrap();
    let consumer = host
        .handle_consumer_admitted("plugin", parse_requirements(SUPPORTS).unwrap())
        .unwrap();
    let opening = Opening {
        consumer,
        id: "inv",
        deadline: None,
        permitted: Operations::all(),
        provider: None,
    };
    let invocation = host.handle_invocation_opened(NOW, opening).unwrap().key;
    let ask = |host: &mut Host, id: u32, extra: &str| {
        let text = format!(
            r#"{{"requestId":"r{id}","invocationId":"inv","origin":"plugin","kind":"secret-input","label":"Token"{extra}}}"#
        );
        host.handle_request(NOW, invocation, Kind::UserInteraction, &text)
            .unwrap()
            .key
    };

    // Handed over.
    let key = ask(&mut host, 1, "");
    host.handle_submit(NOW, key, Epoch(1), SUBMITTED, Some(secret()))
        .unwrap();
    let taken = host.take_secret(key).unwrap();
    assert!(taken.expose().as_bytes() == SECRET);
    drop(taken);
    // Refused, late, or never fetched.
    let key = ask(&mut host, 2, r#","maxLength":3"#);
    let refused = host
        .handle_submit(NOW, key, Epoch(1), SUBMITTED, Some(secret()))
        .unwrap_err();
    assert_eq!(
        (refused.code, refused.path.as_str()),
        (Code::InvalidAnswer, "SecretInput value.secret")
    );
    assert_eq!(
        host.handle_submit(NOW, key, Epoch(1), SUBMITTED, Some(secret()))
            .unwrap_err()
            .code,
        Code::AlreadySettled
    );
    let key = ask(&mut host, 3, "");
    host.handle_submit(NOW, key, Epoch(1), SUBMITTED, Some(secret()))
        .unwrap();
    drop(host);
    assert_eq!(leaks(), 0, "the Host leaves nothing");

    // Over an attachment: encoded, sent, parsed, handed over; and a message that is malformed behind its secret.
    let mut near = Link::host(NOW, LinkLimits::default());
    let mut far = Link::provider(NOW, LinkLimits::default(), "tui", SUPPORTS).unwrap();
    carry(&mut far, &mut near);
    near.welcome();
    carry(&mut near, &mut far);
    let id = near
        .request(Kind::UserInteraction, r#"{"kind":"secret-input"}"#)
        .unwrap();
    carry(&mut near, &mut far);
    far.answer(id, SUBMITTED, Some(secret())).unwrap();
    carry(&mut far, &mut near);
    let handed = std::iter::from_fn(|| near.poll_output()).any(
        |output| matches!(output, Output::Result { secret: Some(secret), .. } if secret.expose().as_bytes() == SECRET),
    );
    assert!(handed);
    let limits = LinkLimits {
        max_message_bytes: 150,
        ..LinkLimits::default()
    };
    let mut narrow = Link::provider(NOW, limits, "tui", "[]").unwrap();
    narrow.handle_message(NOW, Some(r#"{"t":"welcome","v":1}"#));
    narrow.handle_message(
        NOW,
        Some(r#"{"t":"request","id":1,"kind":"UserInteraction","input":{}}"#),
    );
    let padding = format!(
        r#"{{"status":"submitted","value":{{}},"x":"{}"}}"#,
        "x".repeat(100)
    );
    assert_eq!(
        narrow.answer(1, &padding, Some(secret())).unwrap_err().code,
        Code::MessageTooLarge
    );
    drop((near, far, narrow));
    assert_eq!(leaks(), 0, "the links leave nothing");
}

/// Carries what `from` sends to `to`.
fn carry(from: &mut Link, to: &mut Link) {
    while let Some(output) = from.poll_output() {
        if let Output::Send(text) = output {
            to.handle_message(NOW, Some(&text));
        }
    }
}
