//! Keys of map entries in contract storage.

use alloc::{format, string::String};
use core::fmt;

use crate::{address::Address, number::BlockNumber};

/// A key of a map of a contract: JSON text of a string, with its quotes. The storage has all map keys in this form,
/// because Scilla writes integers, block numbers and byte strings as JSON strings too.
///
/// # Examples
///
/// ```
/// use silica_protocol::{Address, BlockNumber, MapKey};
/// assert_eq!(MapKey::string("a \"b\"").as_str(), r#""a \"b\"""#);
/// assert_eq!(MapKey::uint(7).as_str(), "\"7\"");
/// assert_eq!(MapKey::bystr([0xab, 0xcd]).as_str(), "\"0xabcd\"");
/// assert_eq!(MapKey::bnum(BlockNumber::new(9)), MapKey::from_json("\"9\"")?);
/// assert!(MapKey::from_json("9").is_err());
/// # Ok::<(), silica_protocol::MapKeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapKey(String);

/// The text is not the JSON text of a string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("map key: expected a JSON string with its quotes, got {got}")]
#[non_exhaustive]
pub struct MapKeyError {
    /// The first 64 characters of the text.
    pub got: String,
}

impl MapKey {
    /// Returns the key of an address, of a contract or of any `ByStr20`.
    pub fn address(address: Address) -> Self {
        Self(format!("\"0x{address}\""))
    }

    /// Returns the key of a byte string: `ByStr` or `ByStr` with a length.
    pub fn bystr(bytes: impl AsRef<[u8]>) -> Self {
        Self(format!("\"0x{}\"", crate::hex::encode(bytes)))
    }

    /// Returns the key of a `String`.
    pub fn string(text: &str) -> Self {
        let mut quoted = String::with_capacity(text.len().saturating_add(2));
        quoted.push('"');
        for character in text.chars() {
            match character {
                '\u{8}' => quoted.push_str("\\b"),
                '\t' => quoted.push_str("\\t"),
                '\n' => quoted.push_str("\\n"),
                '\u{c}' => quoted.push_str("\\f"),
                '\r' => quoted.push_str("\\r"),
                '"' | '\\' => quoted.extend(['\\', character]),
                '\0'..' ' => {
                    let escape = format!("\\u{:04x}", u32::from(character));
                    quoted.push_str(&escape);
                }
                _ => quoted.push(character),
            }
        }
        quoted.push('"');
        Self(quoted)
    }

    /// Returns the key of an unsigned integer. A `Uint256` above 128 bits needs [`from_json`](Self::from_json).
    pub fn uint(number: u128) -> Self {
        Self(format!("\"{number}\""))
    }

    /// Returns the key of a signed integer. An `Int256` outside 128 bits needs [`from_json`](Self::from_json).
    pub fn int(number: i128) -> Self {
        Self(format!("\"{number}\""))
    }

    /// Returns the key of a block number.
    pub fn bnum(number: BlockNumber) -> Self {
        Self(format!("\"{number}\""))
    }

    /// Reads the JSON text of a string, with its quotes. The key has the escapes of the storage, even if the text has
    /// others.
    ///
    /// # Errors
    ///
    /// [`MapKeyError`] if the text is not a JSON string, for example because it has no quotes.
    pub fn from_json(json: impl Into<String>) -> Result<Self, MapKeyError> {
        let json = json.into();
        let content = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let is_plain = |text: &str| text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
        match content {
            Some(text) if is_plain(text) => Ok(Self(json)),
            Some(text) => unescape(text).map(|text| Self::string(&text)).ok_or_else(|| Self::refused(&json)),
            None => Err(Self::refused(&json)),
        }
    }

    fn refused(json: &str) -> MapKeyError {
        MapKeyError { got: json.chars().take(64).collect() }
    }

    /// Returns the JSON text, with its quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the text of the content of a JSON string, or `None` if it has an invalid escape or character.
fn unescape(content: &str) -> Option<String> {
    let mut text = String::with_capacity(content.len());
    let mut rest = content.chars();
    while let Some(character) = rest.next() {
        text.push(match character {
            '"' | '\0'..' ' => return None,
            '\\' => match rest.next()? {
                plain @ ('"' | '\\' | '/') => plain,
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => match code_unit(&mut rest)? {
                    high @ 0xd800..0xdc00 => {
                        // The second half of a surrogate pair follows.
                        (rest.next()? == '\\' && rest.next()? == 'u').then_some(())?;
                        let low = code_unit(&mut rest)?;
                        char::decode_utf16([high, low]).next()?.ok()?
                    }
                    unit => char::from_u32(u32::from(unit))?,
                },
                _ => return None,
            },
            other => other,
        });
    }
    Some(text)
}

/// Reads four hexadecimal digits. Returns `None` if a digit is missing or invalid.
fn code_unit(rest: &mut core::str::Chars<'_>) -> Option<u16> {
    (0..4).try_fold(0, |unit, _| Some(unit << 4 | u16::try_from(rest.next()?.to_digit(16)?).ok()?))
}

impl fmt::Display for MapKey {
    /// Writes the JSON text, with its quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn key_without_quotes_is_an_error() {
        let address = format!("0x{}", Address::new([7; 20]));
        let expected = MapKeyError { got: address.clone() };
        assert_eq!(MapKey::from_json(&*address), Err(expected));
        assert_eq!(MapKey::from_json(format!("\"{address}\"")), Ok(MapKey::address(Address::new([7; 20]))));
        for text in ["", "\"", "7", "a", "\"a", "a\"", "\"a\"b\"", "\"\n\"", "null", "[\"a\"]", "\"\\\"", " \"a\""] {
            assert!(MapKey::from_json(text).is_err(), "{text}");
        }
    }

    #[test]
    fn kinds_of_keys_have_their_text() {
        assert_eq!(MapKey::int(-5).as_str(), "\"-5\"");
        assert_eq!(MapKey::uint(u128::MAX).as_str(), format!("\"{}\"", u128::MAX));
        assert_eq!(MapKey::bystr([]).as_str(), "\"0x\"");
        assert_eq!(MapKey::address(Address::ZERO), MapKey::bystr(Address::ZERO));
    }

    #[test]
    fn escapes_become_those_of_the_storage() {
        assert_eq!(MapKey::from_json(r#""\u0061\/\u00e9\ud83d\ude00""#), Ok(MapKey::string("a/é😀")));
        for invalid in [r#""\ud83d""#, r#""\ud83d\u0061""#, r#""\u12""#, r#""\x""#, r#""\u+123""#] {
            assert!(MapKey::from_json(invalid).is_err(), "{invalid}");
        }
    }

    proptest! {
        #[test]
        fn text_is_json(text: String) {
            let key = MapKey::string(&text);
            prop_assert_eq!(key.as_str(), serde_json::to_string(&text).unwrap());
            prop_assert_eq!(MapKey::from_json(key.as_str()), Ok(key));
        }

        #[test]
        fn arbitrary_json_is_read_as_a_string_or_refused(text in r#""?[a\\"/ubn0d8-9é\n]{0,12}"?"#) {
            let expected: Option<String> = serde_json::from_str(&text).ok();
            let read = MapKey::from_json(&*text).ok();
            let expected = expected.filter(|_| text.starts_with('"') && text.ends_with('"'));
            prop_assert_eq!(read, expected.map(|text| MapKey::string(&text)));
        }
    }
}
