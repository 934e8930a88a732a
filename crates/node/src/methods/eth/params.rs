//! Parameters in the forms of Ethereum: addresses and hashes with the prefix `0x`, quantities, and block tags.

use silica_protocol::{Address, BlockHash, BlockNumber, TxHash, rpc::error::RpcErrorCode};

use crate::{
    log_filter::{StoreFull, SubscriptionsFull},
    rpc::{
        CallError,
        params::{FromParam, Text},
    },
};

/// Maximum length of the part of a parameter that an error quotes, in characters.
const SHOWN: usize = 80;

/// Maximum number of older blocks that one search for a block hash reads. Reading them takes some tenths of a second.
pub(in crate::methods) const MOST_LOOKED_AT: u64 = 100_000;

/// Maximum number of blocks of a request for logs.
pub(super) const MOST_BLOCKS: u64 = 100_000;

/// Maximum number of logs of a request for logs.
pub(super) const MOST_LOGS: usize = 10_000;

/// An invalid parameter: the expected form, and the beginning of the actual text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misspelt {
    expected: &'static str,
    got: String,
}

impl Misspelt {
    fn new(expected: &'static str, got: &str) -> Self {
        Self { expected, got: got.chars().take(SHOWN).collect() }
    }

    /// Returns the error for the parameter at a position, from 0.
    pub(super) fn of(self, position: usize) -> EthFault {
        EthFault::Argument { position, fault: self }
    }
}

/// Reason why a method of Ethereum returns an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EthFault {
    /// A parameter does not have the form that its type requires.
    #[error("invalid argument {position}: expected {}, got {:?}", fault.expected, fault.got)]
    Argument {
        /// Position of the parameter, from 0.
        position: usize,
        /// The expected and the actual text.
        fault: Misspelt,
    },
    /// A member of a parameter is invalid.
    #[error("invalid argument {position}: {fault}")]
    Member {
        /// Position of the parameter, from 0.
        position: usize,
        /// The member, the expected and the actual value.
        fault: String,
    },
    /// A request for logs has too many blocks.
    #[error("expected at most {MOST_BLOCKS} blocks, got {got}; request a smaller range of blocks")]
    TooManyBlocks {
        /// Number of blocks.
        got: u64,
    },
    /// A request for logs has too many logs.
    #[error("expected at most {MOST_LOGS} logs, got more up to block {block}; request a smaller range of blocks")]
    TooManyLogs {
        /// The block where the search ended.
        block: BlockNumber,
    },
    /// A request for logs reads too many transactions.
    #[error(
        "expected blocks with fewer transactions, the search ended in block {block} after about 25 MB of the record; \
         request a smaller range of blocks"
    )]
    TooMuchWork {
        /// The block where the search ended.
        block: BlockNumber,
    },
    /// No block has the hash.
    #[error("no block has the hash {hash:#}")]
    UnknownBlock {
        /// The hash.
        hash: BlockHash,
    },
    /// No filter has the id, or the filter is of another kind.
    #[error("filter not found")]
    NoSuchFilter,
    /// No further filter fits.
    #[error(transparent)]
    NoFilter(#[from] StoreFull),
    /// No further subscription fits.
    #[error(transparent)]
    NoSubscription(#[from] SubscriptionsFull),
    /// The block does not exist yet.
    #[error("block {block} not found")]
    NoSuchBlock {
        /// Number of the block.
        block: BlockNumber,
    },
    /// No block that the node has read has this hash. The next call reads older blocks.
    #[error("no block with number {oldest} or higher has this hash; the next call searches older blocks")]
    Unseen {
        /// The oldest block that the node has read.
        oldest: BlockNumber,
    },
    /// No block in the range of the search has this hash. The search does not read older blocks.
    #[error("no block with number {oldest} or higher has this hash; the node does not search older blocks")]
    TooOld {
        /// The oldest block that the node has read.
        oldest: BlockNumber,
    },
    /// The node does not keep the state after the block.
    #[error("expected block {earliest} or later, the blocks whose states the node keeps, got block {block}")]
    StateGone {
        /// Number of the block.
        block: BlockNumber,
        /// The earliest block whose state the node keeps.
        earliest: BlockNumber,
    },
}

/// Chooses the codes that clients of Ethereum expect.
impl From<EthFault> for CallError {
    fn from(fault: EthFault) -> Self {
        let code = match fault {
            EthFault::Argument { .. } | EthFault::Member { .. } => RpcErrorCode::INVALID_PARAMS,
            EthFault::NoFilter(_)
            | EthFault::NoSubscription(_)
            | EthFault::TooManyBlocks { .. }
            | EthFault::TooManyLogs { .. }
            | EthFault::TooMuchWork { .. } => RpcErrorCode::LIMIT_EXCEEDED,
            EthFault::NoSuchBlock { .. }
            | EthFault::NoSuchFilter
            | EthFault::UnknownBlock { .. }
            | EthFault::StateGone { .. }
            | EthFault::TooOld { .. }
            | EthFault::Unseen { .. } => RpcErrorCode::SERVER_ERROR,
        };
        Self::with_text_of(code, &fault)
    }
}

/// Defines a parameter type whose text is hexadecimal digits after `0x`.
macro_rules! prefixed {
    ($(#[$meta:meta])* $name:ident($inner:ty), $schema:literal, $description:literal, $example:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(pub(crate) $inner);

        impl FromParam for $name {
            type Fault = Misspelt;
            const NAME: &'static str = $schema;
            const DESCRIPTION: &'static str = $description;
            const EXAMPLE: &'static str = $example;

            fn from_param(text: &str) -> Result<Self, Misspelt> {
                let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with("0x"));
                let read = digits.and_then(|digits| digits.parse().ok());
                read.map(Self).ok_or_else(|| Misspelt::new($description, text))
            }
        }
    };
}

prefixed! {
    /// The address of an account.
    EthAddress(Address), "EthAddress", "0x and 40 hexadecimal digits", "0x4baf5fada8e5db92c3d3242618c5b47133ae003c"
}
prefixed! {
    /// The hash of a block.
    EthBlockHash(BlockHash), "EthBlockHash", "0x and 64 hexadecimal digits",
    "0x5e8e9ff8a1d5b6ac2a1ef9f6e1b6f7d5f0bd3ad5cf45cb1b0d1f5b8c5ef4a0d2"
}
prefixed! {
    /// The hash of a transaction.
    EthTxHash(TxHash), "EthTransactionHash", "0x and 64 hexadecimal digits",
    "0xcd8727674bc05e0ede405597a218164e1c13c7103b9d0ba43586785f3d8cede5"
}

/// Any number of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HexBytes(pub(crate) Vec<u8>);

impl FromParam for HexBytes {
    type Fault = Misspelt;
    const NAME: &'static str = "EthBytes";
    const DESCRIPTION: &'static str = "0x and two hexadecimal digits for each byte";
    const EXAMPLE: &'static str = "0x68656c6c6f";

    fn from_param(text: &str) -> Result<Self, Misspelt> {
        let bytes = text.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
        bytes.map(Self).ok_or_else(|| Misspelt::new(Self::DESCRIPTION, text))
    }
}

/// The id of a filter or of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EthId(pub(crate) u64);

impl FromParam for EthId {
    type Fault = Misspelt;
    const NAME: &'static str = "EthId";
    const DESCRIPTION: &'static str = "0x and a number in hexadecimal digits without leading zeros";
    const EXAMPLE: &'static str = "0x9ce59a13059e417f";

    fn from_param(text: &str) -> Result<Self, Misspelt> {
        quantity(text).map(Self).ok_or_else(|| Misspelt::new(Self::DESCRIPTION, text))
    }
}

/// The kind of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubscriptionKind {
    /// The events in new blocks.
    Logs,
    /// The headers of new blocks.
    NewHeads,
}

impl FromParam for SubscriptionKind {
    type Fault = Misspelt;
    const NAME: &'static str = "EthSubscriptionKind";
    const DESCRIPTION: &'static str = "logs or newHeads";
    const EXAMPLE: &'static str = "logs";

    fn from_param(text: &str) -> Result<Self, Misspelt> {
        match text {
            "logs" => Ok(Self::Logs),
            "newHeads" => Ok(Self::NewHeads),
            _ => Err(Misspelt::new(Self::DESCRIPTION, text)),
        }
    }
}

/// A block, by its number or by a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockTag {
    /// The genesis block.
    Earliest,
    /// The latest block. Each block is final. Therefore the tags `safe` and `finalized` also mean the latest block.
    Latest,
    /// The latest block together with the pending transactions.
    Pending,
    /// The block with this number.
    Number(BlockNumber),
}

impl BlockTag {
    /// Returns the number of the block. `head` is the number of the latest block.
    pub(super) fn number(self, head: BlockNumber) -> BlockNumber {
        match self {
            Self::Earliest => BlockNumber::new(0),
            Self::Latest | Self::Pending => head,
            Self::Number(number) => number,
        }
    }
}

impl FromParam for BlockTag {
    type Fault = Misspelt;
    const NAME: &'static str = "EthBlockTag";
    const DESCRIPTION: &'static str = "0x and a number in hexadecimal digits without leading zeros, latest, earliest, \
                                       pending, safe or finalized";
    const EXAMPLE: &'static str = "latest";

    fn from_param(text: &str) -> Result<Self, Misspelt> {
        match text {
            "earliest" => return Ok(Self::Earliest),
            "latest" | "safe" | "finalized" => return Ok(Self::Latest),
            "pending" => return Ok(Self::Pending),
            _ => {}
        }
        quantity(text)
            .map(|number| Self::Number(BlockNumber::new(number)))
            .ok_or_else(|| Misspelt::new(Self::DESCRIPTION, text))
    }
}

impl Default for Text<BlockTag> {
    fn default() -> Self {
        Self::of(BlockTag::Latest)
    }
}

/// Parses a quantity of Ethereum: `0x` and hexadecimal digits without leading zeros. Returns `None` for another form,
/// and for a number above 64 bits.
fn quantity(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let canonical = digits == "0" || !digits.starts_with(['0', '+']);
    if canonical { u64::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_named_by_quantity_or_tag() {
        let check = |text: &str, expected| assert_eq!(BlockTag::from_param(text).ok(), expected, "{text}");
        check("latest", Some(BlockTag::Latest));
        check("pending", Some(BlockTag::Pending));
        check("safe", Some(BlockTag::Latest));
        check("finalized", Some(BlockTag::Latest));
        check("earliest", Some(BlockTag::Earliest));
        check("0x0", Some(BlockTag::Number(BlockNumber::new(0))));
        check("0x1b4", Some(BlockTag::Number(BlockNumber::new(436))));
        check("0x1B4", Some(BlockTag::Number(BlockNumber::new(436))));
        check("0xffffffffffffffff", Some(BlockTag::Number(BlockNumber::new(u64::MAX))));
        for text in
            ["", "0x", "0x00", "0x01", "1", "Latest", "0x10000000000000000", "0xg", "-0x1", "0x-1", "0x+1", " 0x1"]
        {
            check(text, None);
        }
    }

    #[test]
    fn bytes_have_a_prefix_and_their_length() {
        let address = format!("0x{}", "aB".repeat(20));
        assert_eq!(EthAddress::from_param(&address), Ok(EthAddress(Address::new([0xab; 20]))));
        for text in
            [&address[2..], &address[..40], &format!("0x{address}"), "zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7"]
        {
            assert!(EthAddress::from_param(text).is_err(), "{text}");
        }
        assert_eq!(HexBytes::from_param("0x"), Ok(HexBytes(Vec::new())));
        assert_eq!(HexBytes::from_param("0x00fF"), Ok(HexBytes(vec![0, 255])));
        for text in ["", "00", "0x0", "0x0g"] {
            assert!(HexBytes::from_param(text).is_err(), "{text}");
        }
    }

    #[test]
    fn error_quotes_a_bounded_part_of_the_parameter() {
        let fault = EthAddress::from_param(&"x".repeat(10_000)).unwrap_err().of(1);
        let text = fault.to_string();
        assert!(text.starts_with("invalid argument 1: expected 0x and 40 hexadecimal digits, got \"xxx"), "{text}");
        assert!(text.len() < 200, "{text}");
    }
}
