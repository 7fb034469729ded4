//! The query of the accepted request, decoded as browsers encode it.
//!
//! The decoding is the URL standard's `application/x-www-form-urlencoded` parser, the one behind `URLSearchParams`:
//! pairs are separated by `&`, empty pairs are skipped, the first `=` separates name and value, `+` is a space, a
//! bad percent escape stays as it is, and bytes that are not UTF-8 become U+FFFD. `%00` is the character U+0000;
//! what a value means, and whether such a character is welcome, is for the consumer's own protocol to decide.

use std::collections::HashMap;
use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use url::form_urlencoded;

/// Decoded pairs in the order of the query.
pub type Pairs = Vec<(String, String)>;

/// More pairs than the receiver's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the query has too many parameters")]
pub struct TooManyParameters;

/// Decodes a raw query, without its `?`.
///
/// # Errors
/// [`TooManyParameters`], before anything is decoded.
pub fn decode(raw: &str, max_parameters: usize) -> Result<Pairs, TooManyParameters> {
    let count = raw.split('&').filter(|pair| !pair.is_empty()).count();
    if count > max_parameters {
        return Err(TooManyParameters);
    }
    Ok(form_urlencoded::parse(raw.as_bytes())
        .into_owned()
        .collect())
}

/// All values of each name: names in the order of their first appearance, values in the order of the query.
///
/// Serialises as the `query` record of `ExternalRedirectValue`. `Debug` shows the number of names only, since the
/// values are credentials more often than not.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Query(Vec<(String, Vec<String>)>);

impl Query {
    /// Groups decoded pairs by name.
    #[must_use]
    pub fn from_pairs(pairs: Pairs) -> Self {
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
        for (name, value) in pairs {
            match places.get(&name) {
                Some(&place) => grouped[place].1.push(value),
                None => {
                    places.insert(name.clone(), grouped.len());
                    grouped.push((name, vec![value]));
                }
            }
        }
        Self(grouped)
    }

    /// All values of `name` in order; empty when the query has no such name.
    #[must_use]
    pub fn values(&self, name: &str) -> &[String] {
        self.0
            .iter()
            .find(|(other, _)| other == name)
            .map_or(&[], |(_, values)| values)
    }
}

impl Serialize for Query {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, values) in &self.0 {
            map.serialize_entry(name, values)?;
        }
        map.end()
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({} names)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn json(raw: &str) -> String {
        serde_json::to_string(&Query::from_pairs(decode(raw, 100).unwrap())).unwrap()
    }

    #[test]
    fn keeps_every_value_of_a_name_in_order() {
        assert_eq!(json("a=1&b=2&a=3&a=1"), r#"{"a":["1","3","1"],"b":["2"]}"#);
    }

    #[test]
    fn keeps_empty_names_and_values_and_skips_empty_pairs() {
        assert_eq!(json("=x&=&a&b=&&"), r#"{"":["x",""],"a":[""],"b":[""]}"#);
        assert_eq!(json(""), "{}");
    }

    #[test]
    fn decodes_as_browsers_encode() {
        assert_eq!(
            json("q=a+b%20c%2B&%61=%e4%bd%a0"),
            r#"{"q":["a b c+"],"a":["你"]}"#
        );
        assert_eq!(json("a=b=c"), r#"{"a":["b=c"]}"#);
        assert_eq!(json("a;b=1"), r#"{"a;b":["1"]}"#);
    }

    #[test]
    fn bad_escapes_stay_and_bad_utf8_is_replaced() {
        assert_eq!(json("a=%zz%4&%=1"), r#"{"a":["%zz%4"],"%":["1"]}"#);
        assert_eq!(json("a=%ff%c3"), "{\"a\":[\"\u{fffd}\u{fffd}\"]}");
        assert_eq!(json("a=x%00y"), r#"{"a":["x\u0000y"]}"#);
    }

    #[test]
    fn counts_parameters_before_decoding() {
        assert_eq!(decode("a&b&c", 2), Err(TooManyParameters));
        assert_eq!(decode("a&&b&", 2).unwrap().len(), 2);
    }

    #[test]
    fn debug_shows_no_value() {
        let query = Query::from_pairs(decode("code=hunter2", 9).unwrap());
        assert_eq!(format!("{query:?}"), "Query(1 names)");
        assert_eq!(query.values("code"), ["hunter2"]);
        assert!(query.values("state").is_empty());
    }
}
