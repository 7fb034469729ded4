#![allow(clippy::unwrap_used)]
use super::*;
use crate::redirect::token::Token;
use proptest::prelude::*;

fn rejection(uri: &str) -> UriRejection {
    ExactUri::parse(uri).unwrap_err()
}

#[test]
fn keeps_the_string_and_matches_what_a_browser_sends() {
    let exact = ExactUri::parse("http://LocalHost:8123/a/./b/../C%2fd?app=1").unwrap();
    assert_eq!(
        exact.target.uri(),
        "http://LocalHost:8123/a/./b/../C%2fd?app=1"
    );
    assert!(exact.target.has_path("/a/C%2fd"));
    assert!(!exact.target.has_path("/a/C%2Fd"));
    assert!(!exact.target.has_path("/a/c%2fd"));
    assert!(exact.target.has_authority("localhost:8123"));
    assert_eq!((exact.host, exact.port), (LoopbackHost::Localhost, 8123));
}

#[test]
fn an_empty_path_is_the_root() {
    for uri in [
        "http://127.0.0.1:9",
        "http://127.0.0.1:9/",
        "http://127.0.0.1:9?x=1",
    ] {
        let target = ExactUri::parse(uri).unwrap().target;
        assert!(target.has_path("/"), "{uri}");
        assert_eq!(target.uri(), uri);
    }
}

#[test]
fn knows_where_to_listen() {
    let addresses = |uri: &str| {
        let exact = ExactUri::parse(uri).unwrap();
        exact
            .host
            .addresses(exact.port)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(addresses("http://127.0.0.1:80/"), ["127.0.0.1:80"]);
    assert_eq!(addresses("http://127.9.8.7:80/"), ["127.9.8.7:80"]);
    assert_eq!(addresses("HTTP://[::1]:80/"), ["[::1]:80"]);
    assert_eq!(
        addresses("http://localhost:80/"),
        ["127.0.0.1:80", "[::1]:80"]
    );
}

#[test]
fn rejects_what_cannot_be_kept_verbatim() {
    let table = [
        ("https://127.0.0.1:1/", UriRejection::Scheme),
        ("http:/127.0.0.1:1/", UriRejection::Scheme),
        ("127.0.0.1:1/", UriRejection::Scheme),
        ("", UriRejection::Scheme),
        (" http://127.0.0.1:1/", UriRejection::Character),
        ("http://127.0.0.1:1/a b", UriRejection::Character),
        ("http://127.0.0.1:1/\\x", UriRejection::Character),
        ("http://127.0.0.1:1/%zz", UriRejection::Character),
        ("http://127.0.0.1:1/%4", UriRejection::Character),
        ("http://127.0.0.1:1/é", UriRejection::Character),
        ("http://127.0.0.1:1/[a]", UriRejection::Character),
        ("http://127.0.0.1:1/\n", UriRejection::Character),
        ("http://127.0.0.1:1/#a", UriRejection::Fragment),
        ("http://u@127.0.0.1:1/", UriRejection::UserInformation),
        ("http://127.0.0.1/", UriRejection::Port),
        ("http://[::1]/", UriRejection::Port),
        ("http://127.0.0.1:/", UriRejection::Port),
        ("http://127.0.0.1:0/", UriRejection::Port),
        ("http://127.0.0.1:080/", UriRejection::Port),
        ("http://127.0.0.1:+80/", UriRejection::Port),
        ("http://127.0.0.1:65536/", UriRejection::Port),
        ("http://127.1:80/", UriRejection::NotLoopback),
        ("http://0.0.0.0:80/", UriRejection::NotLoopback),
        ("http://10.0.0.1:80/", UriRejection::NotLoopback),
        ("http://[::]:80/", UriRejection::NotLoopback),
        ("http://[0:0:0:0:0:0:0:1]:80/", UriRejection::NotLoopback),
        ("http://[::ffff:127.0.0.1]:80/", UriRejection::NotLoopback),
        ("http://localhost.:80/", UriRejection::NotLoopback),
        (
            "http://localhost.example.org:80/",
            UriRejection::NotLoopback,
        ),
        (
            "http://127.0.0.1.example.org:80/",
            UriRejection::NotLoopback,
        ),
        ("http://:80/", UriRejection::NotLoopback),
        ("http://127.0.0.1:2:80/", UriRejection::NotLoopback),
    ];
    for (uri, why) in table {
        assert_eq!(rejection(uri), why, "{uri:?}");
    }
    let long = format!("http://127.0.0.1:1/{}", "a".repeat(MAX_URI_BYTES));
    assert_eq!(rejection(&long), UriRejection::TooLong);
}

#[test]
fn host_is_compared_as_browsers_send_it() {
    let at = |uri: &str| ExactUri::parse(uri).unwrap().target;
    let plain = at("http://localhost:80/");
    assert!(plain.has_authority("localhost") && plain.has_authority("LOCALHOST:80"));
    assert!(!plain.has_authority("localhost:080") && !plain.has_authority("localhost:"));
    let six = at("http://[::1]:8080/");
    assert!(six.has_authority("[::1]:8080"));
    assert!(!six.has_authority("[::1]") && !six.has_authority("localhost:8080"));
    assert!(at("http://[::1]:80/").has_authority("[::1]"));
    let four = at("http://127.0.0.1:8080/");
    assert!(!four.has_authority("127.0.0.1") && !four.has_authority("evil.example:8080"));
}

#[test]
fn a_registered_query_is_retained() {
    let target = ExactUri::parse("http://127.0.0.1:1/?app=a%20b&flag")
        .unwrap()
        .target;
    let retains = |raw: &str| target.retains_query(&query::decode(raw, 99).unwrap());
    assert!(retains("app=a%20b&flag&code=1"));
    assert!(retains("app=a+b&flag=&code=1"));
    assert!(!retains("code=1&app=a+b&flag"));
    assert!(!retains("app=other&flag&code=1"));
    assert!(!retains(""));
}

#[test]
fn targets_overlap_when_one_request_could_be_for_both() {
    let at = |uri: &str| ExactUri::parse(uri).unwrap().target;
    let plain = at("http://127.0.0.1:1/cb");
    assert!(plain.overlaps(&at("http://127.0.0.1:1/cb?app=1")));
    assert!(!at("http://127.0.0.1:1/cb?app=2").overlaps(&at("http://127.0.0.1:1/cb?app=1")));
    assert!(!plain.overlaps(&at("http://127.0.0.1:1/cb2")));
    assert!(!plain.overlaps(&at("http://localhost:1/cb")));
}

#[test]
fn one_time_paths_are_long_and_differ() {
    let address = "127.0.0.1:4000".parse().unwrap();
    let one = Target::one_time(address, &Token::random().unwrap());
    let two = Target::one_time(address, &Token::random().unwrap());
    assert_eq!(one.uri().len(), "http://127.0.0.1:4000/".len() + 64);
    assert_ne!(one.uri(), two.uri());
    assert!(!one.overlaps(&two));
    let six = Target::one_time("[::1]:4000".parse().unwrap(), &Token::random().unwrap());
    assert!(six.uri().starts_with("http://[::1]:4000/"));
    assert!(six.has_authority("[::1]:4000"));
}

/// Strings that look enough like loopback URIs to get past the first checks, and often past all of them.
fn almost_uri() -> impl Strategy<Value = String> {
    let host = prop_oneof![
        Just("localhost".to_owned()),
        Just("[::1]".to_owned()),
        "127\\.[0-9]{1,3}\\.0\\.[0-9]{1,2}",
        "[a-z0-9.:@\\[\\]%-]{0,12}",
    ];
    let tail = "[/?][a-zA-Z0-9/?&=.%+;:@!~#-]{0,24}";
    ("(http|HTTP|https)", host, "(:[0-9]{0,6})?", tail)
        .prop_map(|(scheme, host, port, tail)| format!("{scheme}://{host}{port}{tail}"))
}

proptest! {
    /// Whatever is accepted, a browser goes to the loopback interface for it, and what it sends is accepted.
    #[test]
    fn a_browser_finds_what_is_accepted(uri in almost_uri()) {
        let Ok(exact) = ExactUri::parse(&uri) else { return Ok(()) };
        let url = Url::parse(&uri).unwrap();
        match url.host().unwrap() {
            url::Host::Ipv4(ip) => prop_assert!(ip.is_loopback()),
            url::Host::Ipv6(ip) => prop_assert!(ip.is_loopback()),
            url::Host::Domain(name) => prop_assert_eq!(name, "localhost"),
        }
        prop_assert_eq!(url.port_or_known_default(), Some(exact.port));
        prop_assert_eq!(exact.target.uri(), &uri);
        prop_assert!(exact.target.has_path(url.path()));
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        let host = format!("{}{port}", url.host_str().unwrap());
        prop_assert!(exact.target.has_authority(&host));
        let sent = query::decode(url.query().unwrap_or_default(), 99).unwrap();
        prop_assert!(exact.target.retains_query(&sent));
    }

    /// No string makes the parser panic.
    #[test]
    fn any_string_is_judged(uri in "\\PC{0,40}") {
        let _ = ExactUri::parse(&format!("http://{uri}"));
        let _ = ExactUri::parse(&uri);
    }
}
