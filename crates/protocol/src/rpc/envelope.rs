//! Requests, responses and batches: the JSON-RPC members around the parameters and the result of a method.
//!
//! The rules are the rules of the JSON-RPC library of the C++ node (Reference: interface#request, interface#batch).
//! Some of these rules differ from JSON-RPC 2.0:
//!
//! | Body | Response |
//! |---|---|
//! | not JSON, or nested more than [`MAX_DEPTH`] levels deep | one error -32700, `id` null |
//! | a scalar, an empty array, an array above the batch limit | one error -32600, `id` null |
//! | an object that breaks a rule below | error -32600, with its `id` if that is a string, integral number or null |
//! | an array | one response for each element, in order; -32600 with `id` null for an element that is not an object |
//!
//! - `jsonrpc` is the string `2.0`; `method` is a string; `params` is an array, an object, null or absent; `id` is a
//!   string, an integral number (`1.0` is integral) or null. Other members are ignored.
//! - A request without `id` is not a notification. If its method exists, the response is error -32604 with `id` null. A
//!   dispatcher therefore checks in this order: the method exists (-32601), the request has an `id`
//!   ([`Request::require_id`], -32604), the parameters fit (-32602).
//! - If an object has two members with the same name, the last one counts. Comments count as white space. The parser
//!   ignores text after the first JSON value, as the C++ node does.
//!
//! A request borrows from its body. Its parameters stay text until a method reads them. Its `id` stays text as well, so
//! that the response repeats it without a conversion.

use alloc::{borrow::Cow, string::ToString, vec::Vec};
use core::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{error::RpcError, number::integral, plain};

/// Maximum number of levels of arrays and objects in a body. The parameters of an accepted request have one level less.
/// This depth is below the recursion limit of `serde_json`, so a method can always read the parameters.
pub const MAX_DEPTH: usize = 128;

/// A request body after parsing.
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// One request, or an invalid body. The response is one object.
    Single(Entry<'a>),
    /// A batch with at least one element. The response is an array.
    Batch(Vec<Entry<'a>>),
}

/// One element of a body: a request, or the error of an element that is not a request.
pub type Entry<'a> = Result<Request<'a>, Rejection<'a>>;

/// A request that follows the rules of the envelope.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The `id` of the request; `None` if the member is absent.
    pub id: Option<Id<'a>>,
    /// Name of the method, in the letter case of the request.
    pub method: Cow<'a, str>,
    /// The JSON text of the parameters, an array or an object; `None` if the member is absent or null.
    pub params: Option<Cow<'a, str>>,
}

/// The error response to an invalid body or element.
#[derive(Clone, Debug)]
pub struct Rejection<'a> {
    /// The `id` of the error response.
    pub id: Id<'a>,
    /// The error of the error response.
    pub error: RpcError,
}

impl<'a> Body<'a> {
    /// Reads a request body. A batch above `batch_limit` elements is invalid. Invalid bodies and requests become a
    /// [`Rejection`].
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_protocol::rpc::envelope::{Body, write_result};
    /// let body = br#"{"id":"1","jsonrpc":"2.0","method":"GetNetworkId","params":[""]}"#;
    /// let Body::Single(Ok(request)) = Body::parse(body, 100) else { panic!("this is a request") };
    /// assert_eq!(request.method, "GetNetworkId");
    ///
    /// let mut answer = Vec::new();
    /// write_result(&mut answer, request.require_id()?, "222")?;
    /// assert_eq!(answer, br#"{"id":"1","jsonrpc":"2.0","result":"222"}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(body: &'a [u8], batch_limit: usize) -> Self {
        Self::read(body, batch_limit)
            .or_else(|| Some(Body::read(&blank_comments(body)?, batch_limit)?.into_owned()))
            .unwrap_or(Self::Single(Err(Rejection::PARSE_ERROR)))
    }

    /// Reads strict JSON without comments, and ignores the text after the first value. Returns `None` if the body is
    /// not strict JSON, or has too many levels.
    fn read(body: &'a [u8], batch_limit: usize) -> Option<Self> {
        if let Ok(text) = core::str::from_utf8(body) {
            return plain::read_body(text, batch_limit).or_else(|| Self::read_text(text, batch_limit));
        }
        // This parser reads bytes, and ignores invalid UTF-8 in values that it skips.
        if is_deeper(body, MAX_DEPTH) {
            return None;
        }
        let visitor = BodyVisitor { batch_limit, levels: Levels::Counted };
        serde_json::Deserializer::from_slice(body).deserialize_any(visitor).ok()
    }

    /// Reads a body that is valid UTF-8 with the general parser. The parser then does not check the UTF-8 of each
    /// string. Returns `None` as [`read`](Self::read) does.
    pub(super) fn read_text(text: &'a str, batch_limit: usize) -> Option<Self> {
        let visitor = BodyVisitor { batch_limit, levels: Levels::AtMost(MAX_DEPTH.saturating_sub(1)) };
        serde_json::Deserializer::from_str(text).deserialize_any(visitor).ok()
    }

    fn into_owned(self) -> Body<'static> {
        let own = |entry: Entry<'_>| match entry {
            Ok(request) => Ok(request.into_owned()),
            Err(Rejection { id, error }) => Err(Rejection { id: id.into_owned(), error }),
        };
        match self {
            Self::Single(entry) => Body::Single(own(entry)),
            Self::Batch(entries) => Body::Batch(entries.into_iter().map(own).collect()),
        }
    }
}

impl Request<'_> {
    /// Returns the `id` of the request.
    ///
    /// # Errors
    ///
    /// [`RpcError::PROCEDURE_IS_METHOD`] if the request has no `id`. The error response has [`Id::NULL`].
    pub fn require_id(&self) -> Result<&Id<'_>, RpcError> {
        self.id.as_ref().ok_or(RpcError::PROCEDURE_IS_METHOD)
    }

    /// Returns a copy of the request that does not borrow from the body.
    pub fn into_owned(self) -> Request<'static> {
        Request {
            id: self.id.map(Id::into_owned),
            method: Cow::Owned(self.method.into_owned()),
            params: self.params.map(|params| Cow::Owned(params.into_owned())),
        }
    }
}

/// The `id` of a request: the JSON text of a string, an integral number or null.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// The `id` of the response to a body or request without a valid `id`.
    pub const NULL: Self = Self(Cow::Borrowed("null"));

    /// Returns the JSON text of the id, as in the request.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// Returns a copy of the id that does not borrow from the body.
    pub fn into_owned(self) -> Id<'static> {
        Id(Cow::Owned(self.0.into_owned()))
    }

    pub(super) fn from_json(json: &'a str) -> Option<Self> {
        let fits = match json.as_bytes().first() {
            Some(b'"') => true,
            Some(b'n') => true,
            Some(b'-' | b'0'..=b'9') => integral(json).is_some(),
            _ => false,
        };
        fits.then_some(Self(Cow::Borrowed(json)))
    }
}

impl From<u64> for Id<'_> {
    fn from(number: u64) -> Self {
        Self(Cow::Owned(number.to_string()))
    }
}

/// Writes a successful response with the members `id`, `jsonrpc` and `result`.
///
/// # Errors
///
/// The error of `serde_json` if `result` has no JSON form. `out` is then unchanged.
pub fn write_result<T: Serialize + ?Sized>(out: &mut Vec<u8>, id: &Id<'_>, result: &T) -> serde_json::Result<()> {
    let start = out.len();
    let end = write_result_in_parts(out, id, &[]);
    let written = serde_json::to_writer(&mut *out, result);
    match written {
        Ok(()) => out.extend_from_slice(end),
        Err(_) => out.truncate(start),
    }
    written
}

/// Writes the start of a successful response, up to and including `beginning`, the first part of the result. After the
/// rest of the result, the caller writes the returned bytes.
pub fn write_result_in_parts(out: &mut Vec<u8>, id: &Id<'_>, beginning: &[u8]) -> &'static [u8] {
    out.extend_from_slice(RESULT_BEGINS);
    out.extend_from_slice(id.as_json().as_bytes());
    out.extend_from_slice(RESULT_FOLLOWS);
    out.extend_from_slice(beginning);
    RESULT_ENDS
}

// The members of a response are in alphabetical order, as the C++ node writes them.
const RESULT_BEGINS: &[u8] = b"{\"id\":";
const RESULT_FOLLOWS: &[u8] = b",\"jsonrpc\":\"2.0\",\"result\":";
const RESULT_ENDS: &[u8] = b"}";

/// Writes an error response with the members `error`, `id` and `jsonrpc`.
#[expect(clippy::missing_panics_doc, reason = "writing an error to a vector cannot fail")]
pub fn write_error(out: &mut Vec<u8>, id: &Id<'_>, error: &RpcError) {
    out.extend_from_slice(b"{\"error\":");
    serde_json::to_writer(&mut *out, error).expect("vectors accept every write, and an error has no maps");
    out.extend_from_slice(b",\"id\":");
    out.extend_from_slice(id.as_json().as_bytes());
    out.extend_from_slice(b",\"jsonrpc\":\"2.0\"}");
}

/// Writes a request of a client.
///
/// # Errors
///
/// The error of `serde_json` if `params` has no JSON form. `out` is then unchanged.
pub fn write_request<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    id: &Id<'_>,
    method: &str,
    params: &T,
) -> serde_json::Result<()> {
    #[derive(Serialize)]
    struct Object<'a, T: ?Sized> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a T,
    }

    let start = out.len();
    out.extend_from_slice(b"{\"id\":");
    out.extend_from_slice(id.as_json().as_bytes());
    // The other members are serialised as a second object. A comma replaces its opening brace.
    let brace = out.len();
    let written = serde_json::to_writer(&mut *out, &Object { jsonrpc: "2.0", method, params });
    match (&written, out.get_mut(brace)) {
        (Ok(()), Some(byte)) => *byte = b',',
        _ => out.truncate(start),
    }
    written
}

/// A response that a client reads. The parser rejects missing, unknown and repeated members.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// The `id` of the request.
    pub id: Id<'a>,
    /// The JSON text of the result, or the error.
    pub outcome: Result<&'a RawValue, RpcError>,
}

impl<'a> Response<'a> {
    /// Reads the text of one response.
    ///
    /// # Errors
    ///
    /// The error of `serde_json` if the text is not exactly one response.
    pub fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Response<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Object<'a> {
            #[serde(default)]
            error: Option<RpcError>,
            #[serde(borrow)]
            id: &'a RawValue,
            jsonrpc: Cow<'a, str>,
            #[serde(borrow, default, deserialize_with = "present")]
            result: Option<&'a RawValue>,
        }

        // A null result is present. `Option` alone would read null as absent.
        fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
            <&RawValue>::deserialize(deserializer).map(Some)
        }

        let Object { error, id, jsonrpc, result } = Object::deserialize(deserializer)?;
        if jsonrpc != "2.0" {
            return Err(de::Error::custom(format_args!("expected jsonrpc 2.0, got {jsonrpc:?}")));
        }
        let id = Id::from_json(id.get())
            .ok_or_else(|| de::Error::custom("expected a string, an integral number or null as id"))?;
        match (result, error) {
            (Some(result), None) => Ok(Self { id, outcome: Ok(result) }),
            (None, Some(error)) => Ok(Self { id, outcome: Err(error) }),
            _ => Err(de::Error::custom("expected either result or error")),
        }
    }
}

/// The limit for the levels of arrays and objects in a JSON value.
#[derive(Clone, Copy, Debug)]
enum Levels {
    /// At most this number of levels.
    AtMost(usize),
    /// No limit, because the depth of the whole body was checked before.
    Counted,
}

impl Levels {
    /// Returns the limit for the values inside an array or object.
    const fn inner(self) -> Self {
        match self {
            Self::AtMost(levels) => Self::AtMost(levels.saturating_sub(1)),
            Self::Counted => Self::Counted,
        }
    }

    /// Returns the value, or an error if it nests too deep.
    fn check<E: de::Error>(self, json: &RawValue) -> Result<&RawValue, E> {
        match self {
            Self::AtMost(levels) if is_deeper(json.get().as_bytes(), levels) => Err(E::custom("nested too deep")),
            Self::AtMost(_) | Self::Counted => Ok(json),
        }
    }
}

/// Skips a value, and checks its depth.
impl<'de> DeserializeSeed<'de> for Levels {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self {
            Self::AtMost(_) => self.check(<&RawValue>::deserialize(deserializer)?).map(drop),
            Self::Counted => IgnoredAny::deserialize(deserializer).map(drop),
        }
    }
}

/// Reads a body of any JSON type in one pass.
struct BodyVisitor {
    /// Largest number of elements of an array. It is 0 for the elements of a batch, because batches do not nest.
    batch_limit: usize,
    /// Limit for the values in the array or object.
    levels: Levels,
}

impl<'de> DeserializeSeed<'de> for BodyVisitor {
    type Value = Body<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Body<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request or an array of requests")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        read_request(members, self.levels).map(Body::Single)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while entries.len() < self.batch_limit {
            match elements.next_element_seed(Self { batch_limit: 0, levels: self.levels.inner() })? {
                Some(Body::Single(entry)) => entries.push(entry),
                Some(Body::Batch(_)) => entries.push(Err(Rejection::INVALID_REQUEST)),
                None => break,
            }
        }
        let mut invalid = entries.is_empty();
        while elements.next_element_seed(self.levels)?.is_some() {
            invalid = true;
        }
        Ok(if invalid { Body::Single(Err(Rejection::INVALID_REQUEST)) } else { Body::Batch(entries) })
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Body::Single(Err(Rejection::INVALID_REQUEST)))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> {
        self.visit_unit()
    }
}

impl Rejection<'_> {
    const INVALID_REQUEST: Self = Self { id: Id::NULL, error: RpcError::INVALID_REQUEST };
    const PARSE_ERROR: Self = Self { id: Id::NULL, error: RpcError::PARSE_ERROR };
}

/// Reads all members of an object, then checks them. Of members with the same name, the last one counts.
fn read_request<'de, A: MapAccess<'de>>(mut members: A, levels: Levels) -> Result<Entry<'de>, A::Error> {
    #[derive(Deserialize)]
    #[serde(field_identifier, rename_all = "lowercase")]
    enum Member {
        Id,
        Jsonrpc,
        Method,
        Params,
        #[serde(other)]
        Other,
    }

    let [mut id, mut jsonrpc, mut method, mut params] = [None::<&'de RawValue>; 4];
    while let Some(member) = members.next_key::<Member>()? {
        let value = match member {
            Member::Id => &mut id,
            Member::Jsonrpc => &mut jsonrpc,
            Member::Method => &mut method,
            Member::Params => &mut params,
            Member::Other => {
                members.next_value_seed(levels)?;
                continue;
            }
        };
        *value = Some(levels.check(members.next_value()?)?);
    }

    let text = |json: Option<&'de RawValue>| match json.map(read_string) {
        Some(text) => text.map_err(de::Error::custom),
        None => Ok(None),
    };
    let (version, method) = (text(jsonrpc)?, text(method)?);
    if id.is_some() {
        // The response repeats the text of the id, so this line only checks the escapes in the id.
        text(id)?;
    }
    let known_id = id.and_then(|json| Id::from_json(json.get()));
    let params = match params.map(RawValue::get) {
        None | Some("null") => Some(None),
        Some(json) if json.starts_with(['[', '{']) => Some(Some(Cow::Borrowed(json))),
        Some(_) => None,
    };
    Ok(match (version.as_deref(), method, params) {
        (Some("2.0"), Some(method), Some(params)) if id.is_some() == known_id.is_some() => {
            Ok(Request { id: known_id, method, params })
        }
        _ => Err(Rejection { id: known_id.unwrap_or(Id::NULL), ..Rejection::INVALID_REQUEST }),
    })
}

/// Returns the content of a JSON string, or `None` if `json` has another type.
///
/// # Errors
///
/// An error if an escape in the string is not a valid character.
pub(super) fn read_string(json: &RawValue) -> serde_json::Result<Option<Cow<'_, str>>> {
    let Some(opened) = json.get().strip_prefix('"') else { return Ok(None) };
    match opened.strip_suffix('"') {
        Some(plain) if !plain.contains('\\') => Ok(Some(Cow::Borrowed(plain))),
        _ => serde_json::from_str(json.get()).map(|text| Some(Cow::Owned(text))),
    }
}

/// Returns whether the first JSON value of `text` nests more than `levels` levels.
fn is_deeper(text: &[u8], levels: usize) -> bool {
    // Most values have fewer bytes or brackets than `levels`. A count is faster than a parser.
    if text.len() <= levels || text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() <= levels {
        return false;
    }
    let (mut open, mut rest) = (0usize, text);
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'"' => rest = split_string(tail).1,
            b'[' | b'{' if open >= levels => return true,
            b'[' | b'{' => open = open.saturating_add(1),
            b']' | b'}' if open <= 1 => return false,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Returns `body` with a blank in place of each comment. Returns `None` if `body` has no comment, or a comment without
/// an end.
fn blank_comments(body: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(body.len());
    let (mut found, mut rest) = (false, body);
    loop {
        match rest {
            [] => return found.then_some(text),
            [b'"', tail @ ..] => {
                let (string, after) = split_string(tail);
                text.push(b'"');
                text.extend_from_slice(string);
                rest = after;
            }
            [b'/', b'*', tail @ ..] => {
                let length = tail.windows(2).position(|pair| pair == b"*/")?;
                (_, rest) = tail.split_at(length.saturating_add(2));
                text.push(b' ');
                found = true;
            }
            [b'/', b'/', tail @ ..] => {
                let length = tail.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(tail.len());
                (_, rest) = tail.split_at(length);
                text.push(b' ');
                found = true;
            }
            [byte, tail @ ..] => {
                text.push(*byte);
                rest = tail;
            }
        }
    }
}

/// Splits `text`, which follows an opening quote, after the closing quote of the JSON string.
fn split_string(text: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = text;
    loop {
        match rest {
            [] => return (text, rest),
            [b'\\', _, tail @ ..] => rest = tail,
            [b'"', tail @ ..] => return text.split_at(text.len().saturating_sub(tail.len())),
            [_, tail @ ..] => rest = tail,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const INVALID: &str = "INVALID_JSON_REQUEST: The JSON sent is not a valid JSON-RPC Request object";

    /// Answers an entry like a node with three methods: one has no parameters, and two take one string.
    fn answer_one(out: &mut Vec<u8>, entry: Entry<'_>) {
        let call = |request: &Request<'_>| {
            let value = match &*request.method {
                "GetNetworkId" => "1",
                "GetNumTxBlocks" => "589790",
                "GetBalance" | "GetTxBlock" => "text",
                _ => return Err(RpcError::METHOD_NOT_FOUND),
            };
            request.require_id()?;
            let params = request.params.as_deref().unwrap_or("null");
            if value == "text" && serde_json::from_str::<[&str; 1]>(params).is_err() {
                return Err(RpcError::INVALID_PARAMS);
            }
            Ok(value)
        };
        match entry {
            Ok(request) => match call(&request) {
                Ok(value) => write_result(out, request.require_id().unwrap(), value).unwrap(),
                Err(error) => write_error(out, request.id.as_ref().unwrap_or(&Id::NULL), &error),
            },
            Err(Rejection { id, error }) => write_error(out, &id, &error),
        }
    }

    fn answer(body: &[u8]) -> String {
        let mut out = Vec::new();
        match Body::parse(body, 1000) {
            Body::Single(entry) => answer_one(&mut out, entry),
            Body::Batch(entries) => {
                for (position, entry) in entries.into_iter().enumerate() {
                    out.push(if position == 0 { b'[' } else { b',' });
                    answer_one(&mut out, entry);
                }
                out.push(b']');
            }
        }
        String::from_utf8(out).unwrap()
    }

    fn check(body: &str, expected: &str) {
        assert_eq!(answer(body.as_bytes()), expected, "{body:.200}");
    }

    /// Checks that the response to `body` is an error with this code and this `id`.
    fn check_error(body: &str, code: i32, id: &str) {
        let answer = answer(body.as_bytes());
        let response = Response::parse(&answer).unwrap();
        assert_eq!(response.id.as_json(), id, "{body:.200}");
        assert_eq!(response.outcome.unwrap_err().code.get(), code, "{body:.200}");
    }

    fn check_result(body: &str, id: &str) {
        check(body, &format!(r#"{{"id":{id},"jsonrpc":"2.0","result":"1"}}"#));
    }

    #[test]
    fn version_must_be_the_text_2_0() {
        for version in [r#""2""#, r#""1.0""#, r#""2.00""#, "2.0", "2", "null", r#"["2.0"]"#] {
            let body = format!(r#"{{"id":7,"jsonrpc":{version},"method":"GetNetworkId"}}"#);
            check_error(&body, -32600, "7");
        }
        check_error(r#"{"id":7,"method":"GetNetworkId"}"#, -32600, "7");
        check_result(r#"{"id":7,"jsonrpc":"\u0032.0","method":"GetNetworkId"}"#, "7");
    }

    #[test]
    fn method_must_be_text_and_is_case_sensitive() {
        for method in ["1", "null", "true", r#"["GetNetworkId"]"#, r#"{"a":1}"#] {
            check_error(&format!(r#"{{"id":7,"jsonrpc":"2.0","method":{method}}}"#), -32600, "7");
        }
        check_error(r#"{"id":7,"jsonrpc":"2.0"}"#, -32600, "7");
        check_error(r#"{"id":7,"jsonrpc":"2.0","method":"getnetworkid"}"#, -32601, "7");
        check_error(r#"{"id":7,"jsonrpc":"2.0","method":""}"#, -32601, "7");
        check_result(r#"{"id":7,"jsonrpc":"2.0","method":"Get\u004eetworkId"}"#, "7");
    }

    #[test]
    fn ids_are_echoed_with_their_type() {
        let ids = [
            r#""1""#,
            r#""""#,
            r#""a \"quoted\" \u00e9 é""#,
            "0",
            "1",
            "-5",
            "1.0",
            "1e2",
            "18446744073709551615",
            "null",
        ];
        for id in ids {
            check_result(&format!(r#"{{"id": {id} ,"jsonrpc":"2.0","method":"GetNetworkId"}}"#), id);
            check_error(&format!(r#"{{"id": {id} ,"jsonrpc":"2.0","method":"NoSuchMethod"}}"#), -32601, id);
            check_error(&format!(r#"{{"id": {id} ,"jsonrpc":"2.0"}}"#), -32600, id);
        }
    }

    #[test]
    fn other_ids_are_answered_with_null() {
        for id in ["true", "false", "1.5", "1e-1", "18446744073709551616", "[1]", r#"{"a":1}"#, "[]"] {
            check_error(&format!(r#"{{"id":{id},"jsonrpc":"2.0","method":"GetNetworkId"}}"#), -32600, "null");
        }
    }

    #[test]
    fn missing_id_is_an_error_after_method_and_before_params() {
        check_error(r#"{"jsonrpc":"2.0","method":"GetNetworkId"}"#, -32604, "null");
        check_error(r#"{"jsonrpc":"2.0","method":"GetBalance","params":[1]}"#, -32604, "null");
        check_error(r#"{"jsonrpc":"2.0","method":"NoSuchMethod"}"#, -32601, "null");
        check_error(r#"{"jsonrpc":"1.0","method":"GetNetworkId"}"#, -32600, "null");
    }

    #[test]
    fn params_are_structured_null_or_absent() {
        for params in ["[]", r#"[""]"#, "[5]", "{}", r#"{"a":[1]}"#, "null"] {
            check_result(&format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params": {params} }}"#), "1");
        }
        check_result(r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId"}"#, "1");
        for params in ["1", "1.5", "true", r#""text""#, r#""""#] {
            let body = format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params":{params}}}"#);
            check_error(&body, -32600, "1");
        }
    }

    #[test]
    fn params_keep_their_text() {
        let body = br#"{"id":1,"jsonrpc":"2.0","method":"m","params": [ 1.0, {"b":1,"a":2} ] }"#;
        let Body::Single(Ok(request)) = Body::parse(body, 1) else { panic!() };
        assert_eq!(&*request.params.unwrap(), r#"[ 1.0, {"b":1,"a":2} ]"#);
    }

    #[test]
    fn other_members_are_ignored() {
        check_result(r#"{"x":{"y":[1]},"id":1,"jsonrpc":"2.0","z":null,"method":"GetNetworkId","ID":true}"#, "1");
    }

    #[test]
    fn last_of_equal_members_counts() {
        check_result(
            r#"{"id":true,"jsonrpc":1,"method":2,"params":3,"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params":[]}"#,
            "1",
        );
        check_result(r#"{"id":1,"jsonrpc":"2.0","method":"Other","\u006dethod":"GetNetworkId"}"#, "1");
        check_error(r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","method":null}"#, -32600, "1");
    }

    #[test]
    fn text_after_the_first_value_is_not_looked_at() {
        check_result(r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId"} {"id":2}"#, "1");
        check_result("{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"GetNetworkId\"}\0]}garbage", "1");
    }

    #[test]
    fn comments_are_white_space() {
        check_result("/* a [ \" { */{\"id\":1,// b \" }\n\"jsonrpc\":\"2.0\"/**/,\"method\":\"GetNetworkId\"}//", "1");
        check_result(r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params":["/*","//"]}"#, "1");
        let id = r#""/* no comment */ // \" /*""#;
        check_result(&format!(r#"{{"id":{id},/* a comment */"jsonrpc":"2.0","method":"GetNetworkId"}}"#), id);
        check_error(r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId" /* open }"#, -32700, "null");
    }

    #[test]
    fn invalid_json_is_a_parse_error() {
        let bodies = [
            "",
            " ",
            "{",
            "}",
            r#"{"method": "#,
            r#"{"id":1,}"#,
            "[1,",
            "[1,]",
            "[",
            "]",
            "nul",
            "'a'",
            r#""open"#,
            "+1",
            "{id:1}",
            r#"{"id":1 "jsonrpc":"2.0"}"#,
            r#"{"id":"\x"}"#,
            "\u{feff}{}",
        ];
        for body in bodies {
            check_error(body, -32700, "null");
        }
    }

    #[test]
    fn bad_text_in_members_is_a_parse_error() {
        let lone_surrogate = r#"{"id":"\ud800","jsonrpc":"2.0","method":"GetNetworkId"}"#;
        check_error(lone_surrogate, -32700, "null");
        check_error(r#"{"id":1,"jsonrpc":"2.0","method":"\udc00"}"#, -32700, "null");
        let mut invalid_utf8 = br#"{"id":"?","jsonrpc":"2.0","method":"GetNetworkId"}"#.to_vec();
        invalid_utf8[7] = 0xff;
        assert!(answer(&invalid_utf8).contains("-32700"));
    }

    #[test]
    fn scalars_and_empty_batches_are_invalid() {
        for body in ["1", "-1", "1.5", "null", "true", r#""text""#, "[]", " [ ] "] {
            check_error(body, -32600, "null");
        }
    }

    #[test]
    fn every_element_of_a_batch_is_answered_in_order() {
        check(
            r#"[{"id":1,"jsonrpc":"2.0","method":"GetNetworkId"},1,[],[{}],null,"x",{},{"jsonrpc":"2.0","method":"GetNetworkId"},
               {"id":"b","jsonrpc":"2.0","method":"GetNumTxBlocks"}]"#,
            &format!(
                r#"[{{"id":1,"jsonrpc":"2.0","result":"1"}},{}{{"error":{{"code":-32604,"message":"{}"}},"id":null,"jsonrpc":"2.0"}},{{"id":"b","jsonrpc":"2.0","result":"589790"}}]"#,
                format!(r#"{{"error":{{"code":-32600,"message":"{INVALID}"}},"id":null,"jsonrpc":"2.0"}},"#).repeat(6),
                RpcError::PROCEDURE_IS_METHOD.message,
            ),
        );
    }

    #[test]
    fn batch_of_one_is_answered_with_an_array() {
        check(r#"[{"id":1,"jsonrpc":"2.0","method":"GetNetworkId"}]"#, r#"[{"id":1,"jsonrpc":"2.0","result":"1"}]"#);
    }

    #[test]
    fn broken_batch_is_one_parse_error() {
        check_error(r#"[{"id":1,"jsonrpc":"2.0","method":"GetNetworkId"},{]"#, -32700, "null");
    }

    #[test]
    fn batch_above_the_limit_is_one_invalid_request() {
        let batch = |length: usize| format!("[{}]", vec!["1"; length].join(","));
        assert!(matches!(Body::parse(batch(3).as_bytes(), 3), Body::Batch(entries) if entries.len() == 3));
        assert!(matches!(Body::parse(batch(4).as_bytes(), 3), Body::Single(Err(_))));
        check_error(&batch(1001), -32600, "null");
    }

    fn nested(open: &str, depth: usize, close: &str) -> String {
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    }

    #[test]
    fn deep_json_is_a_parse_error_wherever_it_is() {
        for depth in [MAX_DEPTH + 1, 100_000] {
            check_error(&nested("[", depth, "]"), -32700, "null");
            check_error(&nested(r#"{"a":"#, depth, "}"), -32700, "null");
            check_error(&"[".repeat(depth), -32700, "null");
            for member in ["params", "id", "other"] {
                let value = nested("[", depth - 1, "]");
                let body = format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","{member}":{value}}}"#);
                check_error(&body, -32700, "null");
            }
        }
    }

    #[test]
    fn depth_is_counted_from_the_body_down() {
        let request = |member: &str, value: &str| {
            format!(r#"{{"{member}":{value},"id":1,"jsonrpc":"2.0","method":"GetNetworkId"}}"#)
        };
        for member in ["params", "id", "other"] {
            let body = |depth| request(member, &nested("[", depth, "]"));
            check_result(&body(MAX_DEPTH - 1), "1");
            check_error(&body(MAX_DEPTH), -32700, "null");
            // An element of a batch has one level more, whether or not the element is a request.
            let batch = |depth| format!("[{},{}]", body(depth), nested("[", depth + 1, "]"));
            assert!(answer(batch(MAX_DEPTH - 2).as_bytes()).starts_with(r#"[{"id":1,"#));
            check_error(&batch(MAX_DEPTH - 1), -32700, "null");
        }
        let beyond_the_limit = |depth| format!("[{}{}]", "1,".repeat(1000), nested("[", depth, "]"));
        check_error(&beyond_the_limit(MAX_DEPTH - 1), -32600, "null");
        check_error(&beyond_the_limit(MAX_DEPTH), -32700, "null");
    }

    #[test]
    fn invalid_utf8_matters_only_in_members_that_are_read() {
        let check = |body: &str, expected: &str| {
            let body: Vec<u8> = body.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
            assert!(answer(&body).contains(expected));
        };
        let parse_error = r#""code":-32700"#;
        let result = r#""result":"1""#;
        check(r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","x":"?"}"#, result);
        check(r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId"}?"#, result);
        check(r#"[{"id":1,"jsonrpc":"2.0","method":"GetNetworkId"},["?"]]"#, result);
        check(r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params":["?"]}"#, parse_error);
        check(r#"{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","?":1}"#, parse_error);
        check(r#"[{"id":1,"jsonrpc":"2.0","method":"GetNetworkId"},"?"]"#, parse_error);
        for depth in [MAX_DEPTH - 1, MAX_DEPTH] {
            let other = nested("[", depth, "]");
            let body = format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","x":"?","other":{other}}}"#);
            check(&body, if depth < MAX_DEPTH { result } else { parse_error });
        }
    }

    #[test]
    fn accepted_depth_can_be_read_by_methods() {
        let params = nested("[", MAX_DEPTH - 1, "]");
        let body = format!(r#"{{"id":1,"jsonrpc":"2.0","method":"m","params":{params}}}"#);
        let Body::Single(Ok(request)) = Body::parse(body.as_bytes(), 1) else { panic!() };
        serde_json::from_str::<Value>(&request.params.unwrap()).unwrap();
    }

    #[test]
    fn brackets_in_text_are_no_depth() {
        let text = r#"[{\"[{"#.repeat(1000);
        check_result(&format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params":["{text}"]}}"#), "1");
        let wide = vec!["[]"; 1000].join(",");
        check_result(&format!(r#"{{"id":1,"jsonrpc":"2.0","method":"GetNetworkId","params":[{wide}]}}"#), "1");
    }

    #[test]
    fn nothing_is_written_of_a_result_without_json_form() {
        let mut out = b"before".to_vec();
        let unserialisable = std::collections::BTreeMap::from([((1, 2), 3)]);
        write_result(&mut out, &Id::NULL, &unserialisable).unwrap_err();
        write_request(&mut out, &Id::NULL, "m", &unserialisable).unwrap_err();
        assert_eq!(out, b"before");
    }

    #[test]
    fn requests_of_clients_are_read_back() {
        let mut out = Vec::new();
        write_request(&mut out, &Id::from(5), "GetBalance", &["a\"b"]).unwrap();
        let Body::Single(Ok(request)) = Body::parse(&out, 1) else { panic!() };
        let request = request.into_owned();
        assert_eq!(request.require_id().unwrap().as_json(), "5");
        assert_eq!(request.method, "GetBalance");
        assert_eq!(&*request.params.unwrap(), r#"["a\"b"]"#);
    }

    #[test]
    fn answers_are_read_strictly() {
        let response = Response::parse(r#"{"id":"1","jsonrpc":"2.0","result":null}"#).unwrap();
        assert_eq!((response.id.as_json(), response.outcome.unwrap().get()), (r#""1""#, "null"));
        for text in [
            r#"{"id":1,"jsonrpc":"2.0"}"#,
            r#"{"id":1,"jsonrpc":"2.0","result":1,"error":{"code":1,"message":""}}"#,
            r#"{"id":1,"jsonrpc":"2.0","result":1,"extra":1}"#,
            r#"{"id":1,"jsonrpc":"2.0","result":1,"result":1}"#,
            r#"{"id":1.5,"jsonrpc":"2.0","result":1}"#,
            r#"{"id":1,"jsonrpc":"1.0","result":1}"#,
            r#"{"id":1,"result":1}"#,
            r#"{"jsonrpc":"2.0","result":1}"#,
            r#"{"id":1,"jsonrpc":"2.0","result":1} x"#,
        ] {
            Response::parse(text).unwrap_err();
        }
    }

    #[test]
    fn documented_protocol_errors_are_reproduced() {
        const EXAMPLES: &str =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rpc-examples/_protocol-errors.json"));
        let examples: Value = serde_json::from_str(EXAMPLES).unwrap();
        let examples = examples["examples"].as_array().unwrap();
        assert_eq!(examples.len(), 8);
        for example in examples {
            let request = &example["request"];
            let body = request.as_str().map_or_else(|| request.to_string(), str::to_owned);
            let answer: Value = serde_json::from_str(&answer(body.as_bytes())).unwrap();
            assert_eq!(answer, example["response"], "{}", example["notes"]);
        }
    }

    /// Returns JSON values that resemble requests: each member can have any type.
    fn requests() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            Just(json!("2.0")),
            Just(json!("GetNetworkId")),
            ".*".prop_map(Value::from),
        ];
        let name = prop_oneof![Just("id"), Just("jsonrpc"), Just("method"), Just("params"), Just("else")];
        scalar.prop_recursive(3, 16, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name.clone(), inner), 0..5)
                    .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
            ]
        })
    }

    /// Checks that the response to any body is valid JSON-RPC.
    fn check_any(body: &[u8]) {
        let answer = answer(body);
        let answers: Value = serde_json::from_str(&answer).unwrap();
        for one in answers.as_array().unwrap_or(&vec![answers.clone()]) {
            Response::parse(&one.to_string()).unwrap();
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_answered(body in prop::collection::vec(any::<u8>(), 0..200)) {
            check_any(&body);
        }

        #[test]
        fn arbitrary_tokens_are_answered(
            tokens in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\\", "/", "/*", "*/", "//", "\n", " ", "1", "1.0", "1e5", "null", "true",
                "\"id\"", "\"jsonrpc\"", "\"method\"", "\"params\"", "\"2.0\"", "\\u12", "\\ud800", "é",
            ]), 0..60),
        ) {
            check_any(tokens.concat().as_bytes());
        }

        #[test]
        fn arbitrary_requests_are_answered(request in requests(), cut in any::<prop::sample::Index>()) {
            let body = request.to_string();
            check_any(body.as_bytes());
            check_any(&body.as_bytes()[..cut.index(body.len())]);
        }

        #[test]
        fn ids_of_any_text_and_number_come_back(text in ".*", number in any::<i64>()) {
            for id in [json!(text), json!(number)] {
                let body = json!({"id": id, "jsonrpc": "2.0", "method": "GetNetworkId"}).to_string();
                let answer: Value = serde_json::from_str(&answer(body.as_bytes())).unwrap();
                prop_assert_eq!(answer, json!({"id": id, "jsonrpc": "2.0", "result": "1"}));
            }
        }
    }
}
