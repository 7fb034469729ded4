//! URLs of uploaded files, signed for the thread that they were uploaded to (spec: gateway, 配置; G16).
//!
//! A URL ends in `/threads/<thread>/files/<file>?file=<token>&sig=<mac>`. The token holds everything that a download
//! or a message needs, so that no index of files is kept and a URL works after a restart. Proxies may put any prefix
//! before that path and any parameter beside those two.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::Sha256;

use crate::gateway::effect::FileKind;
use crate::gateway::head::decode;
use crate::gateway::ids::ThreadKey;
use crate::gateway::url_key::UrlKey;

/// Of what a signature covers; another form gets another number.
const FORMAT: &[u8] = b"file-url-1";

/// What a URL says of its file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Token {
    #[serde(rename = "k")]
    pub(crate) kind: FileKind,
    /// The Host's own reference, JSON.
    #[serde(rename = "r")]
    pub(crate) reference: Box<RawValue>,
    /// Names the upload while it waits to be sent, where the Host keeps that.
    #[serde(rename = "u", skip_serializing_if = "Option::is_none")]
    pub(crate) receipt: Option<String>,
    #[serde(rename = "n")]
    pub(crate) name: String,
    #[serde(rename = "t")]
    pub(crate) media_type: String,
    /// Bytes.
    #[serde(rename = "s")]
    pub(crate) size: u64,
}

/// The parts of a URL that count. Nothing of it is to be believed before [`SignedUrl::open`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignedUrl {
    thread_id: String,
    file_id: String,
    token: Vec<u8>,
    mac: Vec<u8>,
}

/// What a signature covers.
fn mac(key: &UrlKey, owner: &ThreadKey, file_id: &str, token: &[u8]) -> Hmac<Sha256> {
    let ThreadKey {
        principal,
        thread_id,
    } = owner;
    key.mac(&[
        FORMAT,
        principal.tenant.as_bytes(),
        principal.user.as_bytes(),
        thread_id.as_bytes(),
        file_id.as_bytes(),
        token,
    ])
}

impl SignedUrl {
    /// The path and query of a file behind the route base.
    pub(crate) fn sign(key: &UrlKey, owner: &ThreadKey, file_id: &str, token: &Token) -> String {
        let token = serde_json::to_vec(token).unwrap_or_default();
        let mac = mac(key, owner, file_id, &token).finalize().into_bytes();
        format!(
            "/threads/{}/files/{file_id}?file={}&sig={}",
            owner.thread_id,
            URL_SAFE_NO_PAD.encode(token),
            URL_SAFE_NO_PAD.encode(mac)
        )
    }

    /// Reads a URL of any prefix, absolute or relative; `None` where it is none of ours.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let url = url.split_once('#').map_or(url, |(url, _)| url);
        let (path, query) = url.split_once('?')?;
        let mut segments = path.rsplit('/');
        let (file, files, thread, threads) = (
            segments.next()?,
            segments.next()?,
            segments.next()?,
            segments.next()?,
        );
        if (files, threads) != ("files", "threads") {
            return None;
        }
        Self::of(decode(thread)?, file, query)
    }

    /// The same from a path that was taken apart before.
    pub(crate) fn of(thread_id: String, file: &str, query: &str) -> Option<Self> {
        let parameter = |name: &str| {
            let mut values = query
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .filter(|(key, _)| *key == name)
                .map(|(_, value)| value);
            let value = decode(values.next()?)?;
            // Two values could be read in two ways.
            if values.next().is_some() {
                return None;
            }
            URL_SAFE_NO_PAD.decode(value).ok()
        };
        Some(Self {
            thread_id,
            file_id: decode(file)?,
            token: parameter("file")?,
            mac: parameter("sig")?,
        })
    }

    /// What is signed, if it is signed for this thread. The comparison takes the same time whatever differs.
    pub(crate) fn open(&self, key: &UrlKey, owner: &ThreadKey) -> Option<Token> {
        if self.thread_id != owner.thread_id {
            return None;
        }
        mac(key, owner, &self.file_id, &self.token)
            .verify_slice(&self.mac)
            .ok()?;
        serde_json::from_slice(&self.token).ok()
    }

    /// The signature: the same for the same file under any prefix.
    pub(crate) fn signature(&self) -> &[u8] {
        &self.mac
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gateway::ids::Principal;

    fn owner(tenant: &str, user: &str, thread: &str) -> ThreadKey {
        ThreadKey {
            principal: Principal {
                tenant: tenant.into(),
                user: user.into(),
            },
            thread_id: thread.into(),
        }
    }

    fn token(receipt: Option<&str>) -> Token {
        Token {
            kind: FileKind::File,
            reference: RawValue::from_string(r#"{"attachmentId":"sha256:ab","bytes":3}"#.into())
                .unwrap(),
            receipt: receipt.map(Into::into),
            name: "Bericht ü.pdf".into(),
            media_type: "application/pdf".into(),
            size: 3,
        }
    }

    #[test]
    fn a_url_opens_for_its_owner_under_any_prefix() {
        let key = UrlKey::derive("0123456789abcdef");
        let owner = owner("t", "u", "a:b");
        let url = SignedUrl::sign(&key, &owner, "f1", &token(Some("r-1")));
        assert!(url.starts_with("/threads/a:b/files/f1?file="));
        for prefix in ["", "/ag-ui", "https://app.example/api/agent", "/deep/er"] {
            let opened = SignedUrl::parse(&format!("{prefix}{url}&utm=1#top"))
                .unwrap()
                .open(&key, &owner)
                .unwrap();
            assert_eq!(opened.kind, FileKind::File);
            assert_eq!(opened.reference.get(), token(None).reference.get());
            assert_eq!(opened.receipt.as_deref(), Some("r-1"));
            assert_eq!(opened.name, "Bericht ü.pdf");
            assert_eq!(
                (opened.media_type.as_str(), opened.size),
                ("application/pdf", 3)
            );
        }
        let escaped = url.replace("a:b", "a%3Ab");
        assert!(
            SignedUrl::parse(&escaped)
                .unwrap()
                .open(&key, &owner)
                .is_some()
        );
    }

    #[test]
    fn whatever_differs_opens_nothing() {
        let key = UrlKey::derive("0123456789abcdef");
        let mine = owner("t", "u", "a");
        let url = SignedUrl::sign(&key, &mine, "f1", &token(None));
        let opens = |url: &str, key: &UrlKey, owner: &ThreadKey| {
            SignedUrl::parse(url).is_some_and(|url| url.open(key, owner).is_some())
        };
        assert!(opens(&url, &key, &mine));
        assert!(!opens(&url, &UrlKey::derive("0123456789abcdeg"), &mine));
        for other in [
            owner("t", "v", "a"),
            owner("v", "u", "a"),
            owner("t", "u", "b"),
            owner("tu", "", "a"),
        ] {
            assert!(!opens(&url, &key, &other));
            let moved = url.replace("/threads/a/", &format!("/threads/{}/", other.thread_id));
            assert!(!opens(&moved, &key, &other));
        }
        assert!(!opens(&url.replace("/f1?", "/f2?"), &key, &mine));
        let longer = SignedUrl::sign(&key, &mine, "f1", &token(Some("r")));
        let (_, signature) = longer.rsplit_once("&sig=").unwrap();
        let (start, _) = url.rsplit_once("&sig=").unwrap();
        assert!(!opens(&format!("{start}&sig={signature}"), &key, &mine));
        assert!(!opens(&url[..url.len() - 4], &key, &mine));
    }

    #[test]
    fn foreign_urls_are_none_of_ours() {
        let url = SignedUrl::sign(
            &UrlKey::derive("0123456789abcdef"),
            &owner("t", "u", "a"),
            "f",
            &token(None),
        );
        let (path, query) = url.split_once('?').unwrap();
        for foreign in [
            "",
            "https://example.com/cat.png",
            path,
            query,
            &format!("/threads/a/file/f?{query}"),
            &format!("/a/files/f?{query}"),
            &format!("{path}?file=AAAA"),
            &format!("{url}&sig=AAAA"),
            &format!("{path}?file=*&sig=AAAA"),
            "data:image/png;base64,AAAA",
        ] {
            assert_eq!(SignedUrl::parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn debug_tells_nothing() {
        assert_eq!(
            format!("{:?}", UrlKey::derive("0123456789abcdef")),
            "UrlKey(..)"
        );
    }
}
