//! Parses JSON texts into documents.

use super::document::{Builder, Document};

/// Position and reason of an error in a JSON text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct JsonError {
    /// Line number, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// Reason of the error.
    pub problem: Problem,
}

/// The reason of an error in a JSON text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text does not continue as expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// Description of the expected part.
        expected: &'static str,
        /// The part that the text has instead.
        found: String,
    },
    /// A backslash comes before a character that it does not escape.
    #[error("this escape sequence does not exist")]
    Escape,
    /// A surrogate without its other half.
    #[error("expected both surrogates of a pair, got one")]
    Surrogate,
    /// The text has 4 GiB or more.
    #[error("the text is too long")]
    TooLong,
    /// The text is not valid UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
}

/// Parses a JSON text.
///
/// Like the reference, this function treats comments (`//` to the end of the line, `/* … */`) as white space, and
/// permits raw control characters in strings.
///
/// # Errors
///
/// If the text is not JSON. The error has position and reason.
pub fn parse(text: &[u8]) -> Result<Document, JsonError> {
    let reader = Reader { text, at: 0, builder: Builder::new() };
    if u32::try_from(text.len()).is_err() {
        return Err(reader.error(Problem::TooLong));
    }
    match std::str::from_utf8(text) {
        Ok(_) => reader.document(),
        Err(error) => Err(reader.error_at(error.valid_up_to(), Problem::NotUtf8)),
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    builder: Builder,
}

impl Reader<'_> {
    fn document(mut self) -> Result<Document, JsonError> {
        loop {
            self.skip_space()?;
            let closed = self.value()?;
            if !closed {
                continue;
            }
            loop {
                self.skip_space()?;
                if self.builder.depth() == 0 {
                    return match self.peek() {
                        None => Ok(self.builder.finish()),
                        Some(_) => Err(self.expected("the end of the text")),
                    };
                }
                let object = self.builder.in_object();
                match (self.peek(), object) {
                    (Some(b','), true) => {
                        self.at += 1;
                        self.skip_space()?;
                        self.expect_key()?;
                        break;
                    }
                    (Some(b','), false) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => self.close(),
                    (_, true) => return Err(self.expected("',' or '}'")),
                    (_, false) => return Err(self.expected("',' or ']'")),
                }
            }
        }
    }

    fn close(&mut self) {
        self.at += 1;
        self.builder.end();
    }

    /// Reads a value, or the beginning of a container. Returns whether the value is complete.
    fn value(&mut self) -> Result<bool, JsonError> {
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                self.builder.begin_object();
                self.skip_space()?;
                if self.peek() == Some(b'}') {
                    self.close();
                    return Ok(true);
                }
                self.expect_key()?;
                Ok(false)
            }
            Some(b'[') => {
                self.at += 1;
                self.builder.begin_array();
                self.skip_space()?;
                let empty = self.peek() == Some(b']');
                if empty {
                    self.close();
                }
                Ok(empty)
            }
            Some(b'"') => {
                let text = self.string()?;
                self.builder.string(text);
                Ok(true)
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Ok(true)
            }
            _ => {
                self.word()?;
                Ok(true)
            }
        }
    }

    fn word(&mut self) -> Result<(), JsonError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        match rest.get(..length) {
            Some(b"true") => self.builder.boolean(true),
            Some(b"false") => self.builder.boolean(false),
            Some(b"null") => self.builder.null(),
            _ => return Err(self.expected("a value")),
        };
        self.at += length;
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        let mut whole = true;
        self.maybe(b"-");
        if !self.maybe(b"0") {
            self.expect_digits()?;
        }
        if self.maybe(b".") {
            whole = false;
            self.expect_digits()?;
        }
        if self.maybe(b"eE") {
            whole = false;
            self.maybe(b"+-");
            self.expect_digits()?;
        }
        let digits = self.text.get(start..self.at).and_then(|bytes| std::str::from_utf8(bytes).ok());
        self.builder.number(digits.unwrap_or_default(), whole);
        Ok(())
    }

    fn maybe(&mut self, any_of: &[u8]) -> bool {
        let found = self.peek().is_some_and(|byte| any_of.contains(&byte));
        self.at += usize::from(found);
        found
    }

    fn expect_digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    fn expect_key(&mut self) -> Result<(), JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("the name of a member, in quotes"));
        }
        let name = self.string()?;
        self.builder.key(&name);
        self.skip_space()?;
        if self.peek() != Some(b':') {
            return Err(self.expected("':'"));
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a string from its opening to its closing quote.
    fn string(&mut self) -> Result<String, JsonError> {
        let opening = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            // The whole text is UTF-8, and this part ends at an ASCII byte.
            let part = self.text.get(start..self.at).and_then(|bytes| std::str::from_utf8(bytes).ok());
            text.push_str(part.unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(_) => text.push(self.escaped()?),
                None => {
                    let problem =
                        Problem::Expected { expected: "a closing quote", found: "the end of the text".into() };
                    return Err(self.error_at(opening, problem));
                }
            }
        }
    }

    fn escaped(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        self.at += 1;
        let byte = self.peek();
        self.at += 1;
        match byte {
            Some(found @ (b'"' | b'\\' | b'/')) => Ok(found.into()),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(b'n') => Ok('\n'),
            Some(b'r') => Ok('\r'),
            Some(b't') => Ok('\t'),
            Some(b'u') => self.code_point(start),
            _ => Err(self.error_at(start, Problem::Escape)),
        }
    }

    fn code_point(&mut self, start: usize) -> Result<char, JsonError> {
        let first = self.hex4(start)?;
        let code = if (0xd800..0xdc00).contains(&first) {
            if self.text.get(self.at..self.at + 2) != Some(b"\\u") {
                return Err(self.error_at(start, Problem::Surrogate));
            }
            self.at += 2;
            let second = self.hex4(start)?;
            match second.checked_sub(0xdc00) {
                Some(low) if low < 0x400 => 0x1_0000 + ((first - 0xd800) << 10) + low,
                _ => return Err(self.error_at(start, Problem::Surrogate)),
            }
        } else {
            first
        };
        char::from_u32(code).ok_or_else(|| self.error_at(start, Problem::Surrogate))
    }

    fn hex4(&mut self, start: usize) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() != 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(self.error_at(start, Problem::Escape));
        }
        self.at += 4;
        let value = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or(0);
        Ok(digits.iter().fold(0, |sum, byte| sum * 16 + value(byte)))
    }

    fn skip_space(&mut self) -> Result<(), JsonError> {
        loop {
            match (self.peek(), self.text.get(self.at + 1)) {
                (Some(b' ' | b'\t' | b'\r' | b'\n'), _) => self.at += 1,
                (Some(b'/'), Some(b'/')) => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                (Some(b'/'), Some(b'*')) => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        let rest = self.text.get(start + 2..).unwrap_or_default();
        if let Some(length) = rest.windows(2).position(|two| two == b"*/") {
            self.at = start + 2 + length + 2;
            Ok(())
        } else {
            let problem = Problem::Expected { expected: "'*/'", found: "the end of the text".into() };
            Err(self.error_at(start, problem))
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn expected(&self, expected: &'static str) -> JsonError {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let next = rest.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
        let found = next.map_or_else(|| "the end of the text".to_owned(), |char| format!("{char:?}"));
        self.error(Problem::Expected { expected, found })
    }

    fn error(&self, problem: Problem) -> JsonError {
        self.error_at(self.at, problem)
    }

    fn error_at(&self, at: usize, problem: Problem) -> JsonError {
        let before = self.text.get(..at).unwrap_or_default();
        let breaks = before.split(|byte| *byte == b'\n').count() - 1;
        let column = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len);
        let from_one = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
        JsonError { line: from_one(breaks), column: from_one(column), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let document = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(document.root().compact().to_string(), expected, "{text}");
    }

    fn check_error(text: &str, expected: &str) {
        assert_eq!(
            parse(text.as_bytes()).map_err(|error| error.to_string()).err().as_deref(),
            Some(expected),
            "{text}"
        );
    }

    #[test]
    fn values_read_back() {
        check(" [ ] ", "[]");
        check("{}", "{}");
        check(
            r#"{"a": [1, -2.5e+3, true, false, null], "b": {"c": "d"}}"#,
            r#"{"a":[1,-2.5e+3,true,false,null],"b":{"c":"d"}}"#,
        );
        check("\"raw\nbreak\"", "\"raw\\nbreak\"");
        check(r#""\"\\\/\b\f\n\r\tA\u00e9\ud83d\ude00""#, "\"\\\"\\\\/\\b\\f\\n\\r\\tAé😀\"");
        check("// first\n[1 /* one */, /**/ 2] // last", "[1,2]");
    }

    #[test]
    fn errors_of_json_have_the_position() {
        check_error("", "line 1, column 1: expected a value, found the end of the text");
        check_error("[1,]", "line 1, column 4: expected a value, found ']'");
        check_error("[1\n 2]", "line 2, column 2: expected ',' or ']', found '2'");
        check_error("{\"a\" 1}", "line 1, column 6: expected ':', found '1'");
        check_error("{\"a\": 1]", "line 1, column 8: expected ',' or '}', found ']'");
        check_error("{a: 1}", "line 1, column 2: expected the name of a member, in quotes, found 'a'");
        check_error("\"abc", "line 1, column 1: expected a closing quote, found the end of the text");
        check_error(r#""\x""#, "line 1, column 2: this escape sequence does not exist");
        check_error(r#""\ud800""#, "line 1, column 2: expected both surrogates of a pair, got one");
        check_error(r#""\udc00""#, "line 1, column 2: expected both surrogates of a pair, got one");
        check_error(r#""\u12""#, "line 1, column 2: this escape sequence does not exist");
        check_error("[] []", "line 1, column 4: expected the end of the text, found '['");
        check_error("nul", "line 1, column 1: expected a value, found 'n'");
        check_error("01", "line 1, column 2: expected the end of the text, found '1'");
        check_error("-", "line 1, column 2: expected a digit, found the end of the text");
        check_error("[1 /* ", "line 1, column 4: expected '*/', found the end of the text");
        assert_eq!(parse(b"[\"\xff\"]").map_err(|error| error.problem).err(), Some(Problem::NotUtf8));
    }

    #[test]
    fn depth_is_no_problem() {
        let depth = 1_000_000;
        let text = "[".repeat(depth) + &"]".repeat(depth);
        check(&text, &text);
        assert!(parse("[".repeat(depth).as_bytes()).is_err());
        let objects = "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
        check(&objects, &objects);
    }
}
