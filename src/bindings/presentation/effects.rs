//! Effects as JSON arrays, their name first.

use std::fmt::Write as _;

use crate::presentation::host::Effect;
use crate::presentation::json::write_string;
use crate::presentation::request::Terminal;

/// Appends one effect.
pub(super) fn write_effect(effect: &Effect, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = match effect {
        Effect::Offer {
            request,
            provider,
            epoch,
        } => write!(out, "[\"offer\",{},{},{}]", request.0, provider.0, epoch.0),
        Effect::Withdraw {
            request,
            epoch,
            reason,
        } => {
            write!(
                out,
                "[\"withdraw\",{},{},\"{}\"]",
                request.0,
                epoch.0,
                reason.as_str()
            )
        }
        Effect::Settle { request, terminal } => {
            let _ = write!(out, "[\"settle\",{},", request.0);
            match terminal {
                Terminal::Submitted => out.push_str("\"submitted\",null"),
                Terminal::Cancelled => out.push_str("\"cancelled\",null"),
                Terminal::Expired => out.push_str("\"expired\",null"),
                Terminal::Unavailable(None) => out.push_str("\"unavailable\",null"),
                Terminal::Unavailable(Some(reason)) => {
                    out.push_str("\"unavailable\",");
                    write_string(reason, out);
                }
                Terminal::Failed(code) => {
                    out.push_str("\"failed\",");
                    write_string(code.as_str(), out);
                }
            }
            out.push(']');
            Ok(())
        }
        Effect::Progress { request } => write!(out, "[\"progress\",{}]", request.0),
        Effect::Released { request, provider } => {
            write!(out, "[\"released\",{},{}]", request.0, provider.0)
        }
        Effect::Unbound { invocation, code } => {
            write!(out, "[\"unbound\",{},\"{code}\"]", invocation.0)
        }
    };
}
