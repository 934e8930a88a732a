//! Types without parts.

use std::fmt;

/// A type without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Primitive {
    /// A block number of any length.
    BNum,
    /// A byte string of any length.
    ByStr,
    /// A byte string of this length.
    ByStrX(u32),
    /// The type of an argument of `event`.
    Event,
    /// The type of an argument of `throw`. It has no written form.
    Exception,
    /// A signed integer.
    Int(Width),
    /// The type of the elements of a list for `send`.
    Message,
    /// The type of a request to replicate a contract: a message literal with the label `_replicate_contract`. It has no
    /// written form.
    ReplicateContract,
    /// A text.
    String,
    /// An unsigned integer.
    Uint(Width),
}

/// The width of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
    /// 128 bits.
    W128,
    /// 256 bits.
    W256,
}

impl Width {
    /// All widths, ascending.
    pub const ALL: [Self; 4] = [Self::W32, Self::W64, Self::W128, Self::W256];

    /// Returns the number of bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::W32 => 32,
            Self::W64 => 64,
            Self::W128 => 128,
            Self::W256 => 256,
        }
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u32 {
        self.bits() / 8
    }
}

impl Primitive {
    /// Returns the type of a name in a source, or `None` if the name is not a primitive type.
    ///
    /// The digits after `ByStr` are the length, and may have leading zeros.
    pub fn from_name(name: &str) -> Option<Self> {
        let integer = |digits: &str| Width::ALL.into_iter().find(|width| digits == width.bits().to_string());
        match name {
            "BNum" => Some(Self::BNum),
            "ByStr" => Some(Self::ByStr),
            "Event" => Some(Self::Event),
            "Message" => Some(Self::Message),
            "String" => Some(Self::String),
            _ => {
                if let Some(digits) = name.strip_prefix("ByStr") {
                    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok().map(Self::ByStrX))?
                } else if let Some(digits) = name.strip_prefix("Int") {
                    integer(digits).map(Self::Int)
                } else {
                    name.strip_prefix("Uint").and_then(integer).map(Self::Uint)
                }
            }
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BNum => f.write_str("BNum"),
            Self::ByStr => f.write_str("ByStr"),
            Self::ByStrX(width) => write!(f, "ByStr{width}"),
            Self::Event => f.write_str("Event"),
            Self::Exception => f.write_str("Exception"),
            Self::Int(width) => write!(f, "Int{}", width.bits()),
            Self::Message => f.write_str("Message"),
            Self::ReplicateContract => f.write_str("ReplicateContr"),
            Self::String => f.write_str("String"),
            Self::Uint(width) => write!(f, "Uint{}", width.bits()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back() {
        for name in ["BNum", "ByStr", "ByStr0", "ByStr20", "Event", "Int32", "Int256", "Message", "String", "Uint128"] {
            assert_eq!(Primitive::from_name(name).expect(name).to_string(), name);
        }
        assert_eq!(Primitive::from_name("ByStr007"), Some(Primitive::ByStrX(7)));
    }

    #[test]
    fn other_names_are_not_primitive() {
        for name in ["Exception", "ReplicateContr", "Int", "Int33", "Int032", "Uint", "ByStrx", "ByStr 2", "bool", ""] {
            assert_eq!(Primitive::from_name(name), None, "{name}");
        }
    }
}
