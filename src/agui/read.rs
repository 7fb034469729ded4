//! The borrowing reader under the request types.
//!
//! One pass over the body. An object is read by a [`ReadObject`] that keeps, for each member it knows, the
//! text of the value (a [`Slot`]) and interprets it when the object is complete: that makes the order of
//! members irrelevant (`role` may come last) and gives the last of duplicate members the last word, as
//! `JSON.parse` does. A value of the wrong type is [`Bad`], never an error of the deserializer, so that a
//! later duplicate can still replace it.
//!
//! What is accepted is exactly what a tree of `serde_json::Value` would hold: nesting of at most
//! [`MAX_DEPTH`] containers, finite numbers. `schema::request` relies on that when it explains a refusal.
//! Text that is kept encoded is walked once for the same reason.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use memchr::memchr;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Json;

/// Deepest nesting of arrays and objects, the root included; the limit of `serde_json`.
pub(super) const MAX_DEPTH: usize = 127;

/// Member name that `serde_json` gives a meaning of its own when it builds a tree: it would parse the value
/// as JSON once more.
const RESERVED_NAME: &str = "$serde_json::private::RawValue";

/// A value that the schema does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bad;

/// Text of a member's value; the default is an absent member.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slot<'a>(Option<&'a str>);

impl<'a> Slot<'a> {
    /// The text of one whole value.
    pub(super) const fn of(text: &'a str) -> Self {
        Self(Some(text))
    }

    fn text(self) -> Option<&'a str> {
        self.0.filter(|text| *text != "null")
    }

    /// Any value, `null` included.
    pub(super) fn any(self) -> Option<Json<'a>> {
        self.0.map(Json::encoded)
    }

    /// Any value; `null` reads as absent.
    pub(super) fn non_null(self) -> Option<Json<'a>> {
        self.text().map(Json::encoded)
    }

    /// An object; `null` reads as absent.
    pub(super) fn object(self) -> Result<Option<Json<'a>>, Bad> {
        match self.text() {
            None => Ok(None),
            Some(text) if text.starts_with('{') => Ok(Some(Json::encoded(text))),
            Some(_) => Err(Bad),
        }
    }

    pub(super) fn string(self) -> Result<Cow<'a, str>, Bad> {
        decode_string(self.0.ok_or(Bad)?)
    }

    /// A string; `null` reads as absent.
    pub(super) fn string_if(self) -> Result<Option<Cow<'a, str>>, Bad> {
        self.text().map(decode_string).transpose()
    }

    /// Elements of an array; `None` when the value is not an array. `depth` counts the containers around the
    /// array.
    pub(super) fn array<T: ReadObject<'a>>(
        self,
        depth: usize,
    ) -> Option<Result<Vec<T::Output>, Bad>> {
        let text = self.0.filter(|text| text.starts_with('['))?;
        let list =
            ListSeed::<T>::at(depth).deserialize(&mut serde_json::Deserializer::from_str(text));
        Some(list.unwrap_or(List::Bad).required())
    }

    /// Members of an object. `depth` counts the containers around it.
    pub(super) fn members<T: ReadObject<'a>>(self, depth: usize) -> Result<T::Output, Bad> {
        let text = self.0.ok_or(Bad)?;
        ObjectSeed::<T>::at(depth)
            .deserialize(&mut serde_json::Deserializer::from_str(text))
            .unwrap_or(Err(Bad))
    }
}

/// Content of an encoded string; borrowed unless it has escapes. The text has been read once, so its escapes
/// are complete.
fn decode_string(text: &str) -> Result<Cow<'_, str>, Bad> {
    let content = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .ok_or(Bad)?;
    match memchr(b'\\', content.as_bytes()) {
        None => Ok(Cow::Borrowed(content)),
        Some(first) => unescape(content, first).map(Cow::Owned),
    }
}

/// Decodes a string whose first escape is at `first`, with one allocation.
fn unescape(content: &str, first: usize) -> Result<String, Bad> {
    let mut decoded = String::with_capacity(content.len());
    let mut rest = content;
    let mut escape = Some(first);
    while let Some(at) = escape {
        decoded.push_str(&rest[..at]);
        let letter = *rest.as_bytes().get(at + 1).ok_or(Bad)?;
        let mut length = 2;
        decoded.push(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let units = [code_unit(rest, at), code_unit(rest, at + 6)];
                let units = units.iter().map_while(|unit| *unit);
                let decoded = char::decode_utf16(units)
                    .next()
                    .ok_or(Bad)?
                    .map_err(|_| Bad)?;
                length = 6 * decoded.len_utf16();
                decoded
            }
            _ => return Err(Bad),
        });
        rest = &rest[at + length..];
        escape = memchr(b'\\', rest.as_bytes());
    }
    decoded.push_str(rest);
    Ok(decoded)
}

/// Code unit of the `\u` escape that starts at `at`, if one does.
fn code_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

/// How one kind of object is read.
pub(super) trait ReadObject<'de>: Default {
    type Output;

    /// Takes the value of a member, or skips one that the schema does not know.
    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error>;

    /// Interprets what was taken.
    fn finish(self) -> Result<Self::Output, Bad>;
}

/// The value of the member that is being read.
pub(super) struct Member<'m, A> {
    map: &'m mut A,
    depth: usize,
}

impl<'de, A: MapAccess<'de>> Member<'_, A> {
    /// Keeps the text of the value.
    pub(super) fn slot(self) -> Result<Slot<'de>, A::Error> {
        let text = self.map.next_value::<&'de RawValue>()?.get();
        if !text.starts_with(['"', 't', 'f', 'n']) {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            Walk { depth: self.depth }
                .deserialize(&mut deserializer)
                .map_err(A::Error::custom)?;
        }
        Ok(Slot(Some(text)))
    }

    /// Reads an object.
    pub(super) fn object<T: ReadObject<'de>>(self) -> Result<Result<T::Output, Bad>, A::Error> {
        self.map.next_value_seed(ObjectSeed::<T>::at(self.depth))
    }

    /// Reads an array of objects.
    pub(super) fn list<T: ReadObject<'de>>(self) -> Result<List<T::Output>, A::Error> {
        self.map.next_value_seed(ListSeed::<T>::at(self.depth))
    }

    pub(super) fn skip(self) -> Result<(), A::Error> {
        self.map.next_value_seed(Walk { depth: self.depth })
    }
}

/// Value of a member that should be an array of objects.
#[derive(Debug, Default)]
pub(super) enum List<T> {
    #[default]
    Absent,
    Null,
    Bad,
    Items(Vec<T>),
}

impl<T> List<T> {
    pub(super) fn required(self) -> Result<Vec<T>, Bad> {
        match self {
            Self::Items(items) => Ok(items),
            Self::Absent | Self::Null | Self::Bad => Err(Bad),
        }
    }

    /// `null` reads as absent.
    pub(super) fn optional(self) -> Result<Option<Vec<T>>, Bad> {
        match self {
            Self::Items(items) => Ok(Some(items)),
            Self::Absent | Self::Null => Ok(None),
            Self::Bad => Err(Bad),
        }
    }
}

/// Reads a whole document. The outer error is one of syntax, depth or number range.
pub(super) fn read_document<'de, T: ReadObject<'de>>(
    text: &'de str,
) -> serde_json::Result<Result<T::Output, Bad>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let output = ObjectSeed::<T>::at(0).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(output)
}

/// Checks a whole document without keeping anything of it.
pub(super) fn walk_document(text: &str) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    Walk { depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// Visits every token of a value. `depth` counts the containers around it.
#[derive(Clone, Copy)]
struct Walk {
    depth: usize,
}

impl Walk {
    fn enter<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            Err(E::custom("recursion limit exceeded"))
        } else {
            Ok(Self {
                depth: self.depth + 1,
            })
        }
    }

    fn elements<'de, A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let inner = self.enter()?;
        while seq.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn members<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inner = self.enter()?;
        while map.next_key_seed(NameSeed)?.is_some() {
            map.next_value_seed(inner)?;
        }
        Ok(())
    }
}

/// The visits of scalars, all with the same answer.
macro_rules! scalars {
    ($answer:expr, $null:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($answer)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($answer)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($answer)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($answer)
        }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($answer)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($null)
        }
    };
}

impl<'de> DeserializeSeed<'de> for Walk {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk {
    type Value = ();

    scalars!((), ());

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        self.elements(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.members(map)
    }
}

/// Reads the name of a member, borrowed unless it has escapes.
struct NameSeed;

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
        if name == RESERVED_NAME {
            Err(E::custom("reserved member name"))
        } else {
            Ok(Cow::Borrowed(name))
        }
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        if name == RESERVED_NAME {
            Err(E::custom("reserved member name"))
        } else {
            Ok(Cow::Owned(name.to_owned()))
        }
    }
}

struct ObjectSeed<T> {
    depth: usize,
    object: PhantomData<T>,
}

impl<T> ObjectSeed<T> {
    fn at(depth: usize) -> Self {
        Self {
            depth,
            object: PhantomData,
        }
    }
}

impl<'de, T: ReadObject<'de>> DeserializeSeed<'de> for ObjectSeed<T> {
    type Value = Result<T::Output, Bad>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: ReadObject<'de>> Visitor<'de> for ObjectSeed<T> {
    type Value = Result<T::Output, Bad>;

    scalars!(Err(Bad), Err(Bad));

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Walk { depth: self.depth }.elements(seq)?;
        Ok(Err(Bad))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let depth = Walk { depth: self.depth }.enter()?.depth;
        let mut object = T::default();
        while let Some(name) = map.next_key_seed(NameSeed)? {
            object.member(
                &name,
                Member {
                    map: &mut map,
                    depth,
                },
            )?;
        }
        Ok(object.finish())
    }
}

struct ListSeed<T> {
    depth: usize,
    items: PhantomData<T>,
}

impl<T> ListSeed<T> {
    fn at(depth: usize) -> Self {
        Self {
            depth,
            items: PhantomData,
        }
    }
}

impl<'de, T: ReadObject<'de>> DeserializeSeed<'de> for ListSeed<T> {
    type Value = List<T::Output>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: ReadObject<'de>> Visitor<'de> for ListSeed<T> {
    type Value = List<T::Output>;

    scalars!(List::Bad, List::Null);

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let depth = Walk { depth: self.depth }.enter()?.depth;
        let mut items = Ok(Vec::new());
        while let Some(item) = seq.next_element_seed(ObjectSeed::<T>::at(depth))? {
            match (&mut items, item) {
                (Ok(items), Ok(item)) => items.push(item),
                (items, _) => *items = Err(Bad),
            }
        }
        Ok(items.map_or(List::Bad, List::Items))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Walk { depth: self.depth }.members(map)?;
        Ok(List::Bad)
    }
}
