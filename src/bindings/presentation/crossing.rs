//! What crosses besides plain text: errors with their code and path, and secrets whose buffers are overwritten.

use napi::bindgen_prelude::{
    Env, Error, FromNapiValue, Result, Status, ToNapiValue, TypeName, ValidateNapiValue, ValueType,
};
use napi::{JsValue, sys};
use zeroize::Zeroizing;

use crate::presentation::error;
use crate::presentation::secret::Secret;

/// A value, or an error that is thrown with `code` and `path`.
pub struct Coded<T>(pub std::result::Result<T, error::Error>);

impl<T: TypeName> TypeName for Coded<T> {
    fn type_name() -> &'static str {
        T::type_name()
    }
    fn value_type() -> ValueType {
        T::value_type()
    }
}

impl<T: ToNapiValue> ToNapiValue for Coded<T> {
    unsafe fn to_napi_value(raw: sys::napi_env, value: Self) -> Result<sys::napi_value> {
        match value.0 {
            // SAFETY: `raw` is the environment that the caller of this function vouches for.
            Ok(value) => unsafe { T::to_napi_value(raw, value) },
            Err(error) => {
                let env = Env::from_raw(raw);
                let mut thrown =
                    env.create_error(Error::new(Status::GenericFailure, error.message))?;
                thrown.set("code", error.code.as_str())?;
                thrown.set("path", error.path)?;
                Err(Error::from(thrown.to_unknown()))
            }
        }
    }
}

/// A secret on its way in: the one buffer that Node-API filled is taken over.
pub struct SecretIn(pub Secret);

impl TypeName for SecretIn {
    fn type_name() -> &'static str {
        "String"
    }
    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for SecretIn {}

impl FromNapiValue for SecretIn {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        // SAFETY: both are what the caller of this function vouches for.
        unsafe { String::from_napi_value(env, value) }.map(|text| SecretIn(Secret::new(text)))
    }
}

/// Text on its way out whose buffer is overwritten afterwards.
pub struct TextOut(pub Zeroizing<String>);

impl TypeName for TextOut {
    fn type_name() -> &'static str {
        "String"
    }
    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for TextOut {
    unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> Result<sys::napi_value> {
        // SAFETY: `env` is what the caller of this function vouches for.
        unsafe { <&str>::to_napi_value(env, value.0.as_str()) }
    }
}

impl From<Secret> for TextOut {
    fn from(secret: Secret) -> TextOut {
        TextOut(secret.into_text())
    }
}
