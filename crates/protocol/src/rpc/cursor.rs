//! The cursors of lists. A client sends the `next` of a page as the `cursor` of the following page.
//!
//! A cursor names a place: a transaction, an event, a transfer, a block, an address or a key. Lists whose cursors have
//! the same type have the same places, for example the transactions of an address and the transactions of a block. If
//! the texts of two types differ, the node rejects a cursor of one type in a list with the other type:
//!
//! | Type | Text |
//! |---|---|
//! | [`PlaceCursor`] | `113:0` |
//! | [`EventCursor`] | `113:0`, or `113:0:1` within a transaction |
//! | [`TransferCursor`] | `113-0-1`, `113-start-0` or `113-end-0` |
//! | [`BlockCursor`], [`NumberCursor`] | `113` |
//! | [`AddressCursor`] | 40 hexadecimal digits |
//! | [`KeyCursor`] | hexadecimal digits of a key in UTF-8 |
//!
//! # Examples
//!
//! ```
//! use silica_protocol::{BlockNumber, rpc::cursor::{CursorError, PlaceCursor}};
//! let cursor: PlaceCursor = "113:0".parse()?;
//! assert_eq!(cursor, PlaceCursor { block: BlockNumber::new(113), position: 0 });
//! assert_eq!(cursor.to_string(), "113:0");
//! assert_eq!("113-0-1".parse::<PlaceCursor>(), Err(CursorError));
//! # Ok::<(), CursorError>(())
//! ```

use alloc::string::String;
use core::{fmt, str::FromStr};

use crate::{address::Address, number::BlockNumber};

/// The text is not a cursor of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the value of next in the previous page")]
pub struct CursorError;

/// The cursor of a list of transactions: the last transaction before the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceCursor {
    /// Number of the block.
    pub block: BlockNumber,
    /// Position of the transaction in the block.
    pub position: u32,
}

/// The cursor of a list of events: the last transaction before the page. If the previous page ended within this
/// transaction, the cursor also has the index of the last event of that page in the receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCursor {
    /// Place of the transaction.
    pub place: PlaceCursor,
    /// Index of the event, or `None` after all events of the transaction.
    pub index: Option<u32>,
}

/// The cursor of a list of transfers: the first place of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferCursor {
    /// Number of the block.
    pub block: BlockNumber,
    /// The part of the block.
    pub part: TransferPart,
    /// Position among the transfers of the part.
    pub index: u32,
}

/// The part of a block in the cursor of a list of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferPart {
    /// The changes before the transactions.
    Start,
    /// The transaction at a position.
    Transaction(u32),
    /// The changes after the transactions.
    End,
}

/// The cursor of a list of blocks: the first block of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCursor(pub BlockNumber);

/// The cursor of a list in the order of numbers: the number of the last element before the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberCursor(pub u64);

/// The cursor of a list in the order of addresses: the last address before the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressCursor(pub Address);

/// The cursor of a list in the order of stored keys: the last key before the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCursor(pub String);

impl fmt::Display for PlaceCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, position } = self;
        write!(f, "{block}:{position}")
    }
}

impl FromStr for PlaceCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (block, position) = text.split_once(':').ok_or(CursorError)?;
        Ok(Self { block: number(block)?, position: short(position)? })
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, index } = self;
        place.fmt(f)?;
        index.map_or(Ok(()), |index| write!(f, ":{index}"))
    }
}

impl FromStr for EventCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (place, index) = match text.rsplit_once(':') {
            Some((place, index)) if place.contains(':') => (place, Some(short(index)?)),
            _ => (text, None),
        };
        Ok(Self { place: place.parse()?, index })
    }
}

impl fmt::Display for TransferCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, part, index } = self;
        match part {
            TransferPart::Start => write!(f, "{block}-start-{index}"),
            TransferPart::Transaction(position) => write!(f, "{block}-{position}-{index}"),
            TransferPart::End => write!(f, "{block}-end-{index}"),
        }
    }
}

impl FromStr for TransferCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (block, rest) = text.split_once('-').ok_or(CursorError)?;
        let (part, index) = rest.split_once('-').ok_or(CursorError)?;
        let part = match part {
            "start" => TransferPart::Start,
            "end" => TransferPart::End,
            position => TransferPart::Transaction(short(position)?),
        };
        Ok(Self { block: number(block)?, part, index: short(index)? })
    }
}

impl fmt::Display for BlockCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for BlockCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        number(text).map(Self)
    }
}

impl fmt::Display for NumberCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for NumberCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        number(text).map(|number| Self(number.get()))
    }
}

impl fmt::Display for AddressCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for AddressCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        text.parse().map(Self).map_err(|_| CursorError)
    }
}

impl fmt::Display for KeyCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::hex::encode(&self.0))
    }
}

impl FromStr for KeyCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let key = crate::hex::decode(text).ok().and_then(|key| String::from_utf8(key).ok());
        key.map(Self).ok_or(CursorError)
    }
}

/// Number of digits of the highest block number.
const MOST_DIGITS: usize = 20;

/// Reads a block number of at most 20 decimal digits, which can begin with zeros. A longer text of digits can be an
/// address, so the function rejects it.
fn number(text: &str) -> Result<BlockNumber, CursorError> {
    if text.len() > MOST_DIGITS {
        return Err(CursorError);
    }
    text.parse().map_err(|_| CursorError)
}

/// Reads a number of decimal digits only. `parse` of a `u32` would also accept a plus sign.
fn short(text: &str) -> Result<u32, CursorError> {
    number(text).and_then(|number| number.get().try_into().map_err(|_| CursorError))
}

#[cfg(test)]
mod tests {
    use core::fmt::Debug;

    use super::*;

    const PLACE: PlaceCursor = PlaceCursor { block: BlockNumber::new(7), position: 3 };

    #[track_caller]
    fn check<T: FromStr<Err = CursorError> + fmt::Display + Debug + PartialEq>(text: &str, cursor: &T) {
        assert_eq!((cursor.to_string().as_str(), text.parse().as_ref()), (text, Ok(cursor)));
    }

    #[track_caller]
    fn refuses<T: FromStr<Err = CursorError> + Debug + PartialEq>(texts: &[&str]) {
        for text in texts {
            assert_eq!(text.parse::<T>(), Err(CursorError), "{text}");
        }
    }

    #[test]
    fn cursors_are_read_as_they_are_written() {
        check("7:3", &PLACE);
        for (text, index) in [("7:3", None), ("7:3:0", Some(0)), ("7:3:4294967295", Some(u32::MAX))] {
            check(text, &EventCursor { place: PLACE, index });
        }
        for (text, part, index) in [
            ("7-start-0", TransferPart::Start, 0),
            ("7-0-4294967295", TransferPart::Transaction(0), u32::MAX),
            ("7-4294967295-1", TransferPart::Transaction(u32::MAX), 1),
            ("7-end-2", TransferPart::End, 2),
        ] {
            check(text, &TransferCursor { block: BlockNumber::new(7), part, index });
        }
        check("18446744073709551615", &BlockCursor(BlockNumber::new(u64::MAX)));
        check("18446744073709551615", &NumberCursor(u64::MAX));
        check("ffffffffffffffffffffffffffffffffffffffff", &AddressCursor(Address::new([0xff; 20])));
        check("62616c616e6365731622", &KeyCursor("balances\u{16}\"".into()));
        check("", &KeyCursor(String::new()));
    }

    #[test]
    fn other_texts_are_no_cursors() {
        refuses::<PlaceCursor>(&["", "7", "7:", ":3", "7:+3", "+7:3", "7:3:0", "7:4294967296", "7-3", "7: 3"]);
        refuses::<EventCursor>(&["", "7", "7:", ":3", "7:3:", "7::3", ":7:3", "7:3:+1", "7:+3:1", "7:3:1:1"]);
        refuses::<EventCursor>(&["7:3:4294967296", "7-3-1", "::", ":"]);
        refuses::<TransferCursor>(&["", "1", "1-2", "1-2-3-4", "1--2", "-1-2", "1-+2-3", "1-2-+3", "1-2-4294967296"]);
        refuses::<TransferCursor>(&["1-End-0", "1:2:3", "1-start-", "-start-1", "--"]);
        refuses::<BlockCursor>(&["", "-1", "+1", "1:0", "18446744073709551616", "000000000000000000007"]);
        refuses::<NumberCursor>(&["", "-1", "+1", "1:0", "18446744073709551616"]);
        refuses::<AddressCursor>(&["", "7", "ff", "fffffffffffffffffffffffffffffffffffffffg"]);
        refuses::<KeyCursor>(&["7", "7:3", "ff", "6g"]);
    }
}
