//! What the browser sees: fixed texts, nothing of the request in them (spec: presentation, `ExternalRedirect`:
//! the completion page is the provider's own).

use std::sync::LazyLock;

use bytes::Bytes;

/// Style of the completion page. [`COMPLETION_CSP`] names its digest; a test keeps the two together.
const STYLE: &str = ":root{color-scheme:light dark}\
body{margin:0;min-height:100vh;display:grid;place-items:center;\
font:1rem/1.5 system-ui,-apple-system,\"Segoe UI\",\"PingFang SC\",\"Microsoft YaHei\",\"Noto Sans CJK SC\",sans-serif;\
background:#f6f7f9;color:#1d2129}\
main{max-width:26rem;margin:1rem;padding:2rem;border-radius:.75rem;text-align:center;\
background:#fff;box-shadow:0 1px 4px #0002}\
h1{font-size:1.25rem;margin:0 0 .5rem}p{margin:0;color:#4e5969}\
@media (prefers-color-scheme:dark){body{background:#17181a;color:#e8eaed}\
main{background:#232527;box-shadow:none}p{color:#a8adb4}}";

/// Content-Security-Policy of the completion page: its own style and nothing else, not even in a frame.
pub const COMPLETION_CSP: &str = "default-src 'none'; \
style-src 'sha256-h2ct2g4fsJS8fo2213lNr26kx2uL4/QoF7M3XItBYH0='; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Content-Security-Policy of every refusal.
pub const REFUSAL_CSP: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every response.
pub const COMMON_HEADERS: [(&str, &str); 5] = [
    ("cache-control", "no-store"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Languages of the completion page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Also for everyone who asks for neither.
    English,
    /// Simplified.
    Chinese,
}

impl Language {
    /// The better liked of the two in an `Accept-Language` value; English on a tie or without one.
    #[must_use]
    pub fn preferred(accept_language: &str) -> Self {
        let mut chinese = 0_u16;
        let mut english = 0_u16;
        for range in accept_language.split(',') {
            let (tag, quality) = match range.split_once(';') {
                Some((tag, parameter)) => (tag, quality(parameter)),
                None => (range, 1000),
            };
            let primary = tag.trim().split('-').next().unwrap_or_default();
            if primary.eq_ignore_ascii_case("zh") {
                chinese = chinese.max(quality);
            } else if primary.eq_ignore_ascii_case("en") {
                english = english.max(quality);
            }
        }
        if chinese > english {
            Self::Chinese
        } else {
            Self::English
        }
    }

    /// BCP 47 tag.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }
}

/// `q=0.8` in thousandths. What is not a weight counts as 0.
fn quality(parameter: &str) -> u16 {
    let value = parameter.trim().strip_prefix("q=").unwrap_or_default();
    match value.parse::<f32>() {
        Ok(weight) if (0.0..=1.0).contains(&weight) => (weight * 1000.0) as u16,
        _ => 0,
    }
}

/// The page of the one request that was accepted.
#[must_use]
pub fn completion(language: Language) -> Bytes {
    static ENGLISH: LazyLock<Bytes> = LazyLock::new(|| {
        render(
            Language::English,
            "Received",
            "You can close this page and go back to the application.",
        )
    });
    static CHINESE: LazyLock<Bytes> = LazyLock::new(|| {
        render(
            Language::Chinese,
            "已收到",
            "您可以关闭此页面，返回应用程序继续。",
        )
    });
    match language {
        Language::English => ENGLISH.clone(),
        Language::Chinese => CHINESE.clone(),
    }
}

fn render(language: Language, title: &str, text: &str) -> Bytes {
    let tag = language.tag();
    Bytes::from(format!(
        "<!doctype html><html lang=\"{tag}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><main><h1>{title}</h1><p>{text}</p></main></body></html>\n"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use sha2::{Digest, Sha256};

    /// Base64 with padding, for the one digest below.
    fn base64(bytes: &[u8]) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        bytes
            .chunks(3)
            .flat_map(|chunk| {
                let mut group = [0_u8; 3];
                group[..chunk.len()].copy_from_slice(chunk);
                let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
                (0..4).map(move |place| {
                    if place <= chunk.len() {
                        char::from(ALPHABET[(bits >> (18 - 6 * place)) as usize & 63])
                    } else {
                        '='
                    }
                })
            })
            .collect()
    }

    #[test]
    fn the_policy_names_the_style_that_the_page_has() {
        let digest = base64(&Sha256::digest(STYLE.as_bytes()));
        assert!(
            COMPLETION_CSP.contains(&format!("style-src 'sha256-{digest}'")),
            "style-src must be 'sha256-{digest}'"
        );
        let page = completion(Language::English);
        let text = std::str::from_utf8(&page).unwrap();
        assert!(text.contains(&format!("<style>{STYLE}</style>")));
    }

    #[test]
    fn the_page_has_nothing_that_runs_or_loads() {
        for language in [Language::English, Language::Chinese] {
            let page = completion(language);
            let text = std::str::from_utf8(&page).unwrap();
            for word in [
                "script", "href", "src=", "http", "url(", "@import", "onload",
            ] {
                assert!(!text.contains(word), "{word}");
            }
            assert!(text.contains(&format!("lang=\"{}\"", language.tag())));
        }
    }

    #[test]
    fn language_follows_the_weights() {
        for chinese in [
            "zh-CN,zh;q=0.9,en;q=0.8",
            "ZH",
            "en;q=0.5, zh-Hant;q=0.6",
            "fr, zh;q=0.1",
        ] {
            assert_eq!(Language::preferred(chinese), Language::Chinese, "{chinese}");
        }
        for english in [
            "",
            "en-US,en;q=0.9,zh;q=0.8",
            "fr",
            "*",
            "zh;q=0",
            "zh;q=2",
            "zh;q=x",
            "zhx",
            "en,zh",
        ] {
            assert_eq!(Language::preferred(english), Language::English, "{english}");
        }
    }
}
