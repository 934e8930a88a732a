//! Entries of the index, and the keys of queries.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use silica_protocol::{Address, BlockHash, BlockNumber, Receipt, Transaction, TransactionKind, sha256};

/// Bytes of an entry on disk.
pub(super) const ENTRY: usize = KEY + 1;
/// Bytes of the key of an entry on disk.
pub(super) const KEY: usize = 16;

/// Bits of the position in [`Key::place`].
const POSITION_BITS: u32 = 24;

/// The kinds of entries that an index has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexKinds {
    /// The transactions of each address.
    pub addresses: bool,
    /// The transactions with events: all, by contract, and by the name of the event.
    pub events: bool,
    /// The Tx blocks, by their hashes.
    pub blocks: bool,
}

impl IndexKinds {
    /// All kinds.
    pub const ALL: Self = Self { addresses: true, events: true, blocks: true };

    /// Returns whether no kind is set.
    pub const fn is_empty(self) -> bool {
        !self.addresses && !self.events && !self.blocks
    }

    pub(super) const fn bits(self) -> u8 {
        (self.addresses as u8) | (self.events as u8) << 1 | (self.blocks as u8) << 2
    }

    pub(super) const fn of_bits(bits: u8) -> Self {
        Self { addresses: bits & 1 != 0, events: bits & 2 != 0, blocks: bits & 4 != 0 }
    }
}

/// Reason why a text names no kinds of entries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a list of addresses, events and blocks, separated by commas, or off, got {got:?}")]
pub struct IndexKindsError {
    /// The part of the text that names no kind.
    got: String,
}

/// Reads kinds as [`Display`](fmt::Display) writes them: names that are separated by commas, or `off`.
impl FromStr for IndexKinds {
    type Err = IndexKindsError;

    fn from_str(text: &str) -> Result<Self, IndexKindsError> {
        let mut kinds = Self::default();
        for name in text.split(',').filter(|_| text != OFF) {
            match name {
                "addresses" => kinds.addresses = true,
                "events" => kinds.events = true,
                "blocks" => kinds.blocks = true,
                _ => return Err(IndexKindsError { got: name.to_owned() }),
            }
        }
        Ok(kinds)
    }
}

impl fmt::Display for IndexKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { addresses, events, blocks } = *self;
        let named = [("addresses", addresses), ("events", events), ("blocks", blocks)];
        let names: Vec<_> = named.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
        if names.is_empty() { f.write_str(OFF) } else { f.write_str(&names.join(",")) }
    }
}

/// The text of no kinds.
const OFF: &str = "off";

/// The kind of an entry: one bit each. Entries with equal keys are one entry with several kinds.
pub(super) mod kind {
    /// The address has a role in the transaction.
    pub(in super::super) const ROLE: u8 = 1;
    /// The contract emitted an event.
    pub(in super::super) const EVENT_OF: u8 = 2;
    /// An event has the name.
    pub(in super::super) const EVENT_NAMED: u8 = 4;
    /// The transaction has an event.
    pub(in super::super) const EVENT: u8 = 8;
    /// The block has the hash.
    pub(in super::super) const BLOCK: u8 = 16;
}

/// A query to the history index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKey<'a> {
    /// The transactions in which an address is the sender, the recipient, the contract of a deployment, or the sender or
    /// the recipient of a message.
    Address(&'a Address),
    /// The transactions with an event.
    Events,
    /// The transactions with an event of a contract.
    EventsOf(&'a Address),
    /// The transactions with an event of this name.
    EventsNamed(&'a str),
    /// The Tx block with a hash.
    Block(&'a BlockHash),
}

impl IndexKey<'_> {
    /// Returns whether an index with these kinds has the entries of the query.
    pub(super) const fn is_in(self, kinds: IndexKinds) -> bool {
        match self {
            Self::Address(_) => kinds.addresses,
            Self::Events | Self::EventsOf(_) | Self::EventsNamed(_) => kinds.events,
            Self::Block(_) => kinds.blocks,
        }
    }

    pub(super) const fn kind(self) -> u8 {
        match self {
            Self::Address(_) => kind::ROLE,
            Self::Events => kind::EVENT,
            Self::EventsOf(_) => kind::EVENT_OF,
            Self::EventsNamed(_) => kind::EVENT_NAMED,
            Self::Block(_) => kind::BLOCK,
        }
    }

    pub(super) fn prefix(self) -> u64 {
        match self {
            Self::Address(address) => first(address.as_bytes()),
            // Not the prefix of the address: its other transactions can be millions, and the query would read them all.
            Self::EventsOf(address) => !first(address.as_bytes()),
            // Not 0, because the null address receives payments.
            Self::Events => u64::MAX,
            Self::EventsNamed(name) => first(&sha256(&[name.as_bytes()])),
            Self::Block(hash) => first(hash.as_bytes()),
        }
    }
}

fn first(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// A position in the record: a block, and the position of a transaction in it. The position of a block itself is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexPosition {
    /// Number of the block.
    pub block: BlockNumber,
    /// Position among the transactions of the block.
    pub position: u32,
}

impl IndexPosition {
    /// Returns the position as a number of 64 bits: 40 bits of the block and 24 bits of the position. A number that does
    /// not fit becomes the highest number.
    pub(super) fn place(self) -> u64 {
        let block = self.block.get().min((1 << (u64::BITS - POSITION_BITS)) - 1);
        let position = u64::from(self.position).min((1 << POSITION_BITS) - 1);
        block << POSITION_BITS | position
    }

    pub(super) fn of_place(place: u64) -> Self {
        let position = u32::try_from(place & ((1 << POSITION_BITS) - 1)).unwrap_or(u32::MAX);
        Self { block: BlockNumber::new(place >> POSITION_BITS), position }
    }
}

/// The key of an entry: the first eight bytes of an address or hash, and a position in the record. A reader of the record
/// compares the whole address or hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) prefix: u64,
    pub(super) place: u64,
}

impl Key {
    pub(super) fn to_bytes(self) -> [u8; KEY] {
        (u128::from(self.prefix) << 64 | u128::from(self.place)).to_be_bytes()
    }

    pub(super) fn from_bytes(bytes: [u8; KEY]) -> Self {
        let [prefix, place] = [0, 8].map(|at| bytes.get(at..).map_or(0, first));
        Self { prefix, place }
    }

    pub(super) const fn block(self) -> u64 {
        self.place >> POSITION_BITS
    }
}

/// Adds the entries of the transactions of a block. Returns `None` if the block has more transactions than an entry can
/// have as position, or its number needs more than 40 bits.
pub(super) fn add_transactions(
    kinds: IndexKinds,
    block: BlockNumber,
    transactions: &[(Transaction, Receipt)],
    entries: &mut BTreeMap<Key, u8>,
) -> Option<()> {
    let fits = transactions.len() < 1 << POSITION_BITS && block.get() >> (u64::BITS - POSITION_BITS) == 0;
    for (position, (transaction, receipt)) in (0_u32..).zip(transactions).take_while(|_| fits) {
        let place = IndexPosition { block, position }.place();
        let mut add = |key: IndexKey<'_>| {
            let kinds = entries.entry(Key { prefix: key.prefix(), place }).or_default();
            *kinds |= key.kind();
        };
        if kinds.addresses {
            for address in &addresses(transaction, receipt) {
                add(IndexKey::Address(address));
            }
        }
        if kinds.events && !receipt.event_logs.is_empty() {
            add(IndexKey::Events);
            for event in &receipt.event_logs {
                add(IndexKey::EventsOf(&event.address));
                add(IndexKey::EventsNamed(&event.name));
            }
        }
    }
    fits.then_some(())
}

/// Adds the entry of a block.
pub(super) fn add_block(kinds: IndexKinds, block: BlockNumber, hash: &BlockHash, entries: &mut BTreeMap<Key, u8>) {
    if kinds.blocks {
        let key = Key { prefix: IndexKey::Block(hash).prefix(), place: IndexPosition { block, position: 0 }.place() };
        *entries.entry(key).or_default() |= kind::BLOCK;
    }
}

/// Returns the addresses that have a role in a transaction.
fn addresses(transaction: &Transaction, receipt: &Receipt) -> BTreeSet<Address> {
    let is_deployment = transaction.kind() == Some(TransactionKind::Deployment);
    let recipient = if is_deployment { transaction.contract_address() } else { Some(transaction.to) };
    let messages = receipt.transitions.iter().flat_map(|it| [it.address, it.message.recipient]);
    [transaction.sender()].into_iter().chain(recipient).chain(messages).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for bits in 0..8 {
            let kinds = IndexKinds::of_bits(bits);
            assert_eq!((kinds.bits(), kinds.to_string().parse()), (bits, Ok(kinds)));
        }
        assert_eq!("blocks,events,addresses".parse(), Ok(IndexKinds::ALL));
        for (text, got) in [("", ""), ("address", "address"), ("events,", ""), ("off,events", "off")] {
            assert_eq!(text.parse::<IndexKinds>(), Err(IndexKindsError { got: got.to_owned() }), "{text}");
        }
    }

    #[test]
    fn places_keep_their_order() {
        let place = |block, position| IndexPosition { block: BlockNumber::new(block), position }.place();
        assert!(place(0, 0) < place(0, 1) && place(0, u32::MAX) < place(1, 0) && place(u64::MAX, 7) > place(9, 9));
        let at = IndexPosition { block: BlockNumber::new(123_456), position: 789 };
        assert_eq!(IndexPosition::of_place(at.place()), at);
    }
}
