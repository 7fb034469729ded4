//! The calls that happen once per delta, as hand-written N-API callbacks: a tenth of the cost of a `#[napi]` method.
//!
//! Each callback carries its own `catch_unwind`; the machine it talks to is kept alive by the function object.

use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use napi::bindgen_prelude::*;
use napi::{JsValue, sys};

use super::shared::Shared;
use crate::gateway::ThreadId;

/// `{ text, reasoning, toolCall }`, bound to one gateway.
pub(super) fn functions<'env>(env: &'env Env, shared: &Arc<Shared>) -> napi::Result<Object<'env>> {
    let object = Object::new(env)?;
    for (name, callback) in [
        ("text", text as Callback),
        ("reasoning", reasoning as Callback),
        ("toolCall", tool_call as Callback),
    ] {
        set_function(env, &object, name, callback, Arc::clone(shared))?;
    }
    Ok(object)
}

type Callback = unsafe extern "C" fn(sys::napi_env, sys::napi_callback_info) -> sys::napi_value;

fn set_function(
    env: &Env,
    object: &Object<'_>,
    name: &str,
    callback: Callback,
    shared: Arc<Shared>,
) -> napi::Result<()> {
    let raw = env.raw();
    let data = Arc::into_raw(shared).cast_mut().cast::<c_void>();
    let mut function = ptr::null_mut();
    // SAFETY: `raw` is the environment of the running call; `name` is given with its length. `data` is an `Arc` that
    // lives until the finalizer gives it back, or until the failure branches below do.
    unsafe {
        let len = isize::try_from(name.len()).unwrap_or(0);
        let status = sys::napi_create_function(
            raw,
            name.as_ptr().cast(),
            len,
            Some(callback),
            data,
            &mut function,
        );
        if status != sys::Status::napi_ok {
            drop(Arc::from_raw(data.cast::<Shared>()));
            return Err(Error::new(Status::from(status), "cannot create a function"));
        }
        let status = sys::napi_add_finalizer(
            raw,
            function,
            data,
            Some(release),
            ptr::null_mut(),
            ptr::null_mut(),
        );
        if status != sys::Status::napi_ok {
            drop(Arc::from_raw(data.cast::<Shared>()));
            return Err(Error::new(Status::from(status), "cannot add a finalizer"));
        }
        let key = std::ffi::CString::new(name)?;
        let status = sys::napi_set_named_property(raw, object.raw(), key.as_ptr(), function);
        if status != sys::Status::napi_ok {
            return Err(Error::new(Status::from(status), "cannot set a function"));
        }
    }
    Ok(())
}

/// Gives back the `Arc` that a function object kept.
unsafe extern "C" fn release(_: sys::napi_env, data: *mut c_void, _: *mut c_void) {
    // SAFETY: `data` came from `Arc::into_raw` in `set_function`, and the finalizer runs once.
    drop(unsafe { Arc::from_raw(data.cast::<Shared>()) });
}

/// `text(thread, delta)`: text of the attempt under way.
unsafe extern "C" fn text(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: called by Node-API with a live environment and callback info.
    unsafe {
        call::<2>(env, info, |shared, arguments| {
            let thread = ThreadId(arguments.number(0)?);
            arguments.string(1, |delta| {
                shared.with(|gateway, now| gateway.handle_text(now, thread, delta))
            })
        })
    }
}

/// `reasoning(thread, delta)`: reasoning of the attempt under way.
unsafe extern "C" fn reasoning(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    // SAFETY: called by Node-API with a live environment and callback info.
    unsafe {
        call::<2>(env, info, |shared, arguments| {
            let thread = ThreadId(arguments.number(0)?);
            arguments.string(1, |delta| {
                shared.with(|gateway, now| gateway.handle_reasoning(now, thread, delta))
            })
        })
    }
}

/// `toolCall(thread, callId, name | undefined, delta)`: arguments of a call of the attempt under way.
unsafe extern "C" fn tool_call(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> sys::napi_value {
    // SAFETY: called by Node-API with a live environment and callback info.
    unsafe {
        call::<4>(env, info, |shared, arguments| {
            let thread = ThreadId(arguments.number(0)?);
            let call_id = arguments.owned(1)?;
            let name = arguments.owned(2);
            arguments.string(3, |delta| {
                shared.with(|gateway, now| {
                    gateway.handle_tool_call(now, thread, &call_id, name.as_deref(), delta);
                })
            })
        })
    }
}

struct Arguments<const N: usize> {
    env: sys::napi_env,
    values: [sys::napi_value; N],
}

impl<const N: usize> Arguments<N> {
    fn number(&self, at: usize) -> Option<u32> {
        let mut number = 0;
        // SAFETY: `values` holds N values of the running call.
        let status = unsafe { sys::napi_get_value_uint32(self.env, self.values[at], &mut number) };
        (status == sys::Status::napi_ok).then_some(number)
    }

    fn owned(&self, at: usize) -> Option<String> {
        self.string(at, ToOwned::to_owned)
    }

    /// Lends the string to `run`, through a buffer that is used again for every call.
    fn string<R>(&self, at: usize, run: impl FnOnce(&str) -> R) -> Option<R> {
        thread_local! { static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; 1024]); }
        SCRATCH.with(|scratch| {
            let mut buffer = scratch.try_borrow_mut().ok()?;
            loop {
                let mut length = 0;
                // SAFETY: the buffer has the size that is told; Node-API ends what it writes with a NUL inside it.
                let status = unsafe {
                    sys::napi_get_value_string_utf8(
                        self.env,
                        self.values[at],
                        buffer.as_mut_ptr().cast(),
                        buffer.len(),
                        &mut length,
                    )
                };
                if status != sys::Status::napi_ok {
                    return None;
                }
                // A character needs up to four bytes: a buffer that is not nearly full holds the whole string.
                if length + 4 < buffer.len() {
                    let text = std::str::from_utf8(&buffer[..length]).ok()?;
                    return Some(run(text));
                }
                let larger = buffer.len() * 2;
                buffer.resize(larger, 0);
            }
        })
    }
}

/// Runs a callback with N arguments, and returns its bits, or 0 where the arguments are wrong. A panic is thrown as
/// an `Error`.
///
/// # Safety
/// `env` and `info` must be those of a call that Node-API makes to a function of [`set_function`].
unsafe fn call<const N: usize>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    run: impl FnOnce(&Shared, &Arguments<N>) -> Option<u32>,
) -> sys::napi_value {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut values = [ptr::null_mut(); N];
        let mut count = N;
        let mut data = ptr::null_mut();
        // SAFETY: the out pointers are valid for the call, and `count` tells the size of `values`. Missing arguments
        // are filled with `undefined` by Node-API.
        unsafe {
            sys::napi_get_cb_info(
                env,
                info,
                &mut count,
                values.as_mut_ptr(),
                ptr::null_mut(),
                &mut data,
            );
        }
        // SAFETY: the function object keeps the `Arc` alive while it can be called.
        let shared = unsafe { data.cast::<Shared>().as_ref()? };
        run(shared, &Arguments { env, values })
    }));
    let Ok(bits) = outcome else {
        // SAFETY: `env` is live during the call; both strings end with NUL.
        unsafe {
            sys::napi_throw_error(
                env,
                c"GenericFailure".as_ptr(),
                c"the native core panicked".as_ptr(),
            )
        };
        return ptr::null_mut();
    };
    let bits = bits.unwrap_or(0);
    let mut value = ptr::null_mut();
    // SAFETY: `env` is live during the call.
    unsafe { sys::napi_create_uint32(env, bits, &mut value) };
    value
}
