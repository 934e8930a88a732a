//! Reads request bodies of the most common form. The general parser takes several times as long.
//!
//! A plain body is a request, or an array of requests. Each request has no other members than `id`, `jsonrpc`, `method`
//! and `params`, and none of them twice. All texts are without escapes, all numbers are integers, and values are nested
//! at most 8 levels deep. For a plain body, this module returns the same value as the general parser. For any other
//! body, it returns `None`.

use alloc::{borrow::Cow, vec::Vec};

use super::envelope::{Body, Id, Request};

/// Maximum number of levels of values in the parameters. A scalar in an array or object is a level too.
const LEVELS: u32 = 8;

/// Length of a usual request in bytes. A batch has about one request for this number of bytes.
const USUAL_REQUEST: usize = 64;

/// Reads a plain body with at most `batch_limit` requests. Ignores the text after the first JSON value. Returns `None`
/// for any other body.
pub(super) fn read_body(text: &str, batch_limit: usize) -> Option<Body<'_>> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.skip_space();
    if scanner.peek() == Some(b'{') {
        return Some(Body::Single(Ok(scanner.request()?)));
    }
    let mut requests = Vec::with_capacity(batch_limit.min(text.len() / USUAL_REQUEST));
    scanner.list(b'[', b']', |scanner| {
        let has_room = requests.len() < batch_limit;
        requests.push(Ok(scanner.request()?));
        has_room.then_some(())
    })?;
    (!requests.is_empty()).then_some(Body::Batch(requests))
}

/// A position in a text. Each function reads one value at the position, and moves the position after the value. The
/// function returns `None` if the text is not plain.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.skip(1);
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.skip(1))
    }

    /// Reads elements that are separated by commas, between the bytes `open` and `close`.
    fn list(&mut self, open: u8, close: u8, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(open)?;
        self.skip_space();
        if self.take(close).is_some() {
            return Some(());
        }
        loop {
            self.skip_space();
            element(self)?;
            self.skip_space();
            if self.take(close).is_some() {
                return Some(());
            }
            self.take(b',')?;
        }
    }

    fn request(&mut self) -> Option<Request<'a>> {
        let (mut id, mut jsonrpc, mut method, mut params) = (None, None, None, None);
        self.list(b'{', b'}', |scanner| {
            let name = scanner.name()?;
            let begin = scanner.at;
            let is_first = match name.as_bytes() {
                b"id" => {
                    match scanner.peek()? {
                        b'"' => drop(scanner.string()?),
                        _ => scanner.integer()?,
                    }
                    id.replace(Id::from_json(scanner.text.get(begin..scanner.at)?)?).is_none()
                }
                b"jsonrpc" => jsonrpc.replace(scanner.string()?).is_none(),
                b"method" => method.replace(scanner.string()?).is_none(),
                b"params" => {
                    if !matches!(scanner.peek()?, b'[' | b'{') {
                        return None;
                    }
                    scanner.value(LEVELS)?;
                    params.replace(scanner.text.get(begin..scanner.at)?).is_none()
                }
                _ => false,
            };
            is_first.then_some(())
        })?;
        if jsonrpc? != "2.0" {
            return None;
        }
        Some(Request { id, method: Cow::Borrowed(method?), params: params.map(Cow::Borrowed) })
    }

    /// Reads the name of a member, and the colon after the name.
    fn name(&mut self) -> Option<&'a str> {
        let name = self.string()?;
        self.skip_space();
        self.take(b':')?;
        self.skip_space();
        Some(name)
    }

    fn value(&mut self, levels: u32) -> Option<()> {
        let inner = levels.checked_sub(1)?;
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.integer(),
            b'[' => self.list(b'[', b']', |scanner| scanner.value(inner)),
            b'{' => self.list(b'{', b'}', |scanner| {
                scanner.name()?;
                scanner.value(inner)
            }),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => None,
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text.get(self.at..)?.starts_with(word).then(|| self.skip(word.len()))
    }

    /// Reads a string without escapes. Returns its content.
    fn string(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let begin = self.at;
        let rest = self.text.as_bytes().get(begin..)?;
        self.skip(plain_length(rest)?);
        let content = self.text.get(begin..self.at)?;
        self.take(b'"')?;
        Some(content)
    }

    /// Reads a number without fraction and exponent.
    fn integer(&mut self) -> Option<()> {
        if self.peek() == Some(b'-') {
            self.skip(1);
        }
        let first = self.peek().filter(u8::is_ascii_digit)?;
        self.skip(1);
        while first != b'0' && self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.skip(1);
        }
        (!matches!(self.peek(), Some(b'0'..=b'9' | b'.' | b'e' | b'E'))).then_some(())
    }
}

/// Returns the position of the first quote, backslash or control character, or `None` without such a byte. Reads eight
/// bytes at once, because strings have most of the bytes of a request.
fn plain_length(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let (words, rest) = bytes.as_chunks();
    let mut at = 0_usize;
    for word in words {
        let word = u64::from_le_bytes(*word);
        // The lowest set bit of each term is exact. Higher bits can be wrong, because a subtraction borrows from the
        // next byte.
        let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
        let control = word.wrapping_sub(u64::from_le_bytes([0x20; 8])) & !word & HIGH;
        let found = zero(word ^ u64::from_le_bytes([b'"'; 8])) | zero(word ^ u64::from_le_bytes([b'\\'; 8])) | control;
        if found != 0 {
            return at.checked_add(usize::try_from(found.trailing_zeros() / 8).ok()?);
        }
        at = at.saturating_add(8);
    }
    let position = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))?;
    at.checked_add(position)
}

#[cfg(test)]
mod tests {
    use alloc::{
        borrow::ToOwned as _,
        format,
        string::{String, ToString as _},
        vec,
    };

    use proptest::prelude::*;

    use super::*;

    /// Maximum number of requests in a batch of a test.
    const LIMIT: usize = 3;

    /// A change of one token.
    #[derive(Clone, Debug)]
    enum Change {
        Remove,
        Repeat,
        Replace(&'static str),
    }

    fn change() -> impl Strategy<Value = (prop::sample::Index, Change)> {
        let tokens = vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            " ",
            "\"",
            "\\",
            "1",
            "-",
            "00",
            "-0",
            "1.0",
            "1e2",
            "18446744073709551616",
            "null",
            "true",
            "tru",
            "\"\"",
            "\"id\"",
            "\"jsonrpc\"",
            "\"2.0\"",
            "\"1.0\"",
            "\"method\"",
            "\"params\"",
            "\"\\u0041\"",
            "\"other\"",
            "\0",
            "\u{feff}",
            "é",
        ];
        let replace = prop::sample::select(tokens).prop_map(Change::Replace);
        (any::<prop::sample::Index>(), prop_oneof![1 => Just(Change::Remove), 1 => Just(Change::Repeat), 3 => replace])
    }

    /// Returns the tokens of a value without escapes, fractions and exponents.
    fn value() -> impl Strategy<Value = Vec<String>> {
        let text = "[ -!#-\\[\\]-~é]{0,9}".prop_map(|text| vec![format!("\"{text}\"")]);
        let leaf = prop_oneof![
            text,
            any::<i64>().prop_map(|number| vec![number.to_string()]),
            prop::sample::select(vec!["true", "false", "null", "[]", "{}"]).prop_map(|word| vec![word.to_owned()]),
        ];
        leaf.prop_recursive(4, 12, 3, |inner| {
            let list = prop::collection::vec(inner.clone(), 1..3).prop_map(|list| separated("[", &list, "]"));
            let named = inner.prop_map(|value| [vec!["\"a\"".to_owned(), ":".to_owned()], value].concat());
            prop_oneof![list, prop::collection::vec(named, 1..3).prop_map(|list| separated("{", &list, "}"))]
        })
    }

    /// Returns the tokens of a plain body.
    fn body() -> impl Strategy<Value = Vec<String>> {
        let id =
            prop_oneof![any::<i32>().prop_map(|id| id.to_string()), "[a-z]{0,3}".prop_map(|id| format!("\"{id}\""))];
        let params = prop::collection::vec(value(), 0..3).prop_map(|list| separated("[", &list, "]"));
        let request =
            (prop::option::of(id), "[A-Za-z_]{0,5}", prop::option::of(params)).prop_map(|(id, method, params)| {
                let member =
                    |name: &str, value: Vec<String>| [vec![format!("\"{name}\""), ":".to_owned()], value].concat();
                let id = id.map(|id| member("id", vec![id]));
                let jsonrpc = member("jsonrpc", vec!["\"2.0\"".to_owned()]);
                let method = member("method", vec![format!("\"{method}\"")]);
                let params = params.map(|params| member("params", params));
                let members: Vec<_> = id.into_iter().chain([jsonrpc, method]).chain(params).collect();
                separated("{", &members, "}")
            });
        let request = request.boxed();
        let batch = prop::collection::vec(request.clone(), 1..=LIMIT).prop_map(|list| separated("[", &list, "]"));
        prop_oneof![request, batch]
    }

    fn separated(open: &str, list: &[Vec<String>], close: &str) -> Vec<String> {
        let comma = [",".to_owned()];
        [vec![open.to_owned()], list.join(&comma[..]), vec![close.to_owned()]].concat()
    }

    /// Checks that both parsers return the same value for a plain body. Returns whether the body is plain.
    fn check(text: &str) -> bool {
        let Some(plain) = read_body(text, LIMIT) else { return false };
        assert_eq!(format!("{:?}", Some(plain)), format!("{:?}", Body::read_text(text, LIMIT)), "{text}");
        true
    }

    #[test]
    fn usual_requests_are_plain() {
        let call = r#"{"id":"1","jsonrpc":"2.0","method":"GetBalance","params":["zil1"]}"#;
        let other = r#"{ "jsonrpc" : "2.0", "method" : "m", "id" : -10, "params" : [ {"a":[true,null,-0]}, 5, "é" ] }"#;
        let bodies = [
            call,
            other,
            r#"{"jsonrpc":"2.0","method":"m"}"#,
            r#"{"id":1,"jsonrpc":"2.0","method":"","params":{}} rest"#,
            &format!("[{call}, {other} ,{call}]"),
        ];
        for body in bodies {
            assert!(check(body), "{body}");
        }
    }

    #[test]
    fn other_bodies_are_left_to_the_general_parser() {
        let with = |member: &str| format!(r#"{{{member},"id":1,"jsonrpc":"2.0","method":"m"}}"#);
        let deep = format!(r#""params":{}{}"#, "[".repeat(9), "]".repeat(9));
        let members = [
            r#""id":2"#,
            r#""other":2"#,
            r#""params":null"#,
            r#""params":[1.0]"#,
            r#""params":[1e5]"#,
            r#""params":[01]"#,
            r#""params":[-]"#,
            r#""params":["\u0041"]"#,
            "\"params\":[\"a\tb\"]",
            r#""params":[1,]"#,
            r#""params":[tru]"#,
            r#""params":{"a" 1}"#,
            r#""params":["a"#,
            r#""params":[1 2]"#,
            r#""params":["a" "b"]"#,
            r#""params":{"a":1,}"#,
            r#""params":{"a":1 "b":2}"#,
            r#""params":[00]"#,
            r#""params":[-01]"#,
            r#""jsonrpc":"2.0""#,
            r#""method":"m""#,
            &deep,
        ];
        for member in members {
            assert!(!check(&with(member)), "{member}");
        }
        for id in ["null", "1.0", "-", "01", "18446744073709551616", "true", "[1]", "{}"] {
            let body = format!(r#"{{"id":{id},"jsonrpc":"2.0","method":"m"}}"#);
            assert!(!check(&body), "{body}");
        }
        let whole = with(r#""params":[]"#);
        for body in [
            "",
            "[]",
            "{}",
            "1",
            r#"{"id":1,"jsonrpc":"1.0","method":"m"}"#,
            &format!("[{whole},1]"),
            &format!("[{whole},]"),
            &format!("[{whole} {whole}]"),
            &format!("[[{whole}]]"),
            &with(r#""params":[],"params":[]"#),
            r#"{"id":1,"jsonrpc":"2.0","method":1}"#,
            r#"{"id":1 "jsonrpc":"2.0","method":"m"}"#,
            r#"{"id":1,"jsonrpc":"2.0"}"#,
        ] {
            assert!(!check(body), "{body}");
        }
        assert!(!check(&format!("[{whole},{whole},{whole},{whole}]")), "the batch has more requests than the limit");
    }

    proptest! {
        #[test]
        fn string_ends_at_the_first_special_byte(
            bytes in prop::collection::vec(prop_oneof![8 => any::<u8>(), 1 => prop::sample::select(vec![0x1f, b'"', b'\\'])], 0..40),
        ) {
            let expected = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            prop_assert_eq!(plain_length(&bytes), expected);
        }

        /// A change of a token can make a body that is not plain. If it is plain, both parsers return the same value.
        #[test]
        fn both_parsers_agree(mut tokens in body(), changes in prop::collection::vec(change(), 0..3)) {
            prop_assert!(check(&tokens.concat()), "{}", tokens.concat());
            for (at, with) in changes {
                let at = at.index(tokens.len());
                match with {
                    Change::Remove => drop(tokens.remove(at)),
                    Change::Repeat => tokens.insert(at, tokens[at].clone()),
                    Change::Replace(token) => tokens[at] = token.to_owned(),
                }
                if tokens.is_empty() {
                    break;
                }
            }
            check(&tokens.concat());
        }
    }
}
