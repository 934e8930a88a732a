//! Entries of the index, and the keys of queries.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use silica_protocol::{Address, BlockHash, BlockNumber, Receipt, Transaction, TransactionKind, sha256};

/// Bytes of the subject of an entry: a tag and a whole address.
pub(super) const SUBJECT: usize = 21;
/// Bytes of the key of an entry as part of a database key.
pub(super) const KEY: usize = SUBJECT + 8;

/// Bits of the position in [`Key::place`].
const POSITION_BITS: u32 = 24;

/// The kinds of entries that an index has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each kind is on or off, independent of the others")]
pub struct IndexKinds {
    /// The transactions of each address.
    pub addresses: bool,
    /// The transactions with events: all, by contract, and by the name of the event.
    pub events: bool,
    /// The Tx blocks, by their hashes.
    pub blocks: bool,
    /// The changes of the balance of each address.
    pub balances: bool,
}

impl IndexKinds {
    /// All kinds.
    pub const ALL: Self = Self { addresses: true, events: true, blocks: true, balances: true };

    /// Returns whether no kind is set.
    pub const fn is_empty(self) -> bool {
        self.bits() == 0
    }

    pub(super) const fn bits(self) -> u8 {
        (self.addresses as u8) | (self.events as u8) << 1 | (self.blocks as u8) << 2 | (self.balances as u8) << 3
    }

    pub(super) const fn of_bits(bits: u8) -> Self {
        Self { addresses: bits & 1 != 0, events: bits & 2 != 0, blocks: bits & 4 != 0, balances: bits & 8 != 0 }
    }
}

/// Reason why a text names no kinds of entries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a list of addresses, events, blocks and balances, separated by commas, or off, got {got:?}")]
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
                "balances" => kinds.balances = true,
                _ => return Err(IndexKindsError { got: name.to_owned() }),
            }
        }
        Ok(kinds)
    }
}

impl fmt::Display for IndexKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { addresses, events, blocks, balances } = *self;
        let named = [("addresses", addresses), ("events", events), ("blocks", blocks), ("balances", balances)];
        let names: Vec<_> = named.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
        if names.is_empty() { f.write_str(OFF) } else { f.write_str(&names.join(",")) }
    }
}

/// The text for a value without kinds.
const OFF: &str = "off";

/// The kinds of an entry, with one bit for each kind. Entries with equal keys are one entry with several kinds.
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
    /// A developer edited the account before the transactions of the block.
    pub(in super::super) const EDITED: u8 = 32;
    /// The entry has a change of the balance of the address.
    pub(in super::super) const CHANGE: u8 = 64;
}

/// A query to the history index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKey<'a> {
    /// The transactions in which an address is the sender, the recipient, the contract of a deployment, or the sender
    /// or the recipient of a message.
    Address(&'a Address),
    /// The transactions of [`IndexKey::Address`], and position 0 of the blocks with an edit of the account. Position 0
    /// can stand for the transaction, for the edit, or for both.
    AddressOrEdit(&'a Address),
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
            Self::Address(_) | Self::AddressOrEdit(_) => kinds.addresses,
            Self::Events | Self::EventsOf(_) | Self::EventsNamed(_) => kinds.events,
            Self::Block(_) => kinds.blocks,
        }
    }

    pub(super) const fn kind(self) -> u8 {
        match self {
            Self::Address(_) => kind::ROLE,
            Self::AddressOrEdit(_) => kind::ROLE | kind::EDITED,
            Self::Events => kind::EVENT,
            Self::EventsOf(_) => kind::EVENT_OF,
            Self::EventsNamed(_) => kind::EVENT_NAMED,
            Self::Block(_) => kind::BLOCK,
        }
    }

    pub(super) fn subject(self) -> Subject {
        match self {
            Self::Address(address) | Self::AddressOrEdit(address) => Subject::of(Tag::Address, address.as_bytes()),
            Self::EventsOf(address) => Subject::of(Tag::EventsOf, address.as_bytes()),
            Self::Events => Subject::of(Tag::Events, &[]),
            Self::EventsNamed(name) => {
                Subject::of(Tag::EventsNamed, sha256(&[name.as_bytes()]).get(..BEGINNING).unwrap_or_default())
            }
            Self::Block(hash) => Subject::of(Tag::Block, hash.as_bytes().get(..BEGINNING).unwrap_or_default()),
        }
    }
}

/// Bytes of a hash that a subject has.
const BEGINNING: usize = 8;

/// The first byte of a subject: the meaning of its other bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    /// An address that has a role in a transaction, or whose account was edited.
    Address = 0,
    /// An address that emitted an event.
    EventsOf = 1,
    /// An address whose balance changed although it has no role.
    Settled = 2,
    Events = 3,
    EventsNamed = 4,
    Block = 5,
}

/// The subject of an entry: a tag, and an address, the first eight bytes of a hash, or nothing. The other bytes are 0.
///
/// Addresses are whole, because the sum of the changes of a balance must not have changes of another address. For a
/// hash, a reader of the record compares the whole hash. Each kind of list that clients request has a tag of its own.
/// Otherwise, a query for the events of a contract could read millions of other transactions of the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject(pub(super) [u8; SUBJECT]);

impl Subject {
    fn of(tag: Tag, name: &[u8]) -> Self {
        let mut subject = [0; SUBJECT];
        for (to, from) in subject.iter_mut().zip([tag as u8].iter().chain(name)) {
            *to = *from;
        }
        Self(subject)
    }

    /// Returns the subjects whose entries have the changes of the balance of an address.
    pub(super) fn of_balance(address: &Address) -> [Self; 2] {
        [Tag::Address, Tag::Settled].map(|tag| Self::of(tag, address.as_bytes()))
    }
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
    /// Returns the position as a number of 64 bits: 40 bits of the block and 24 bits of the position. A number that
    /// does not fit becomes the highest number.
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

/// The key of an entry: its subject, and a position in the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) subject: Subject,
    pub(super) place: u64,
}

impl Key {
    pub(super) fn to_bytes(self) -> [u8; KEY] {
        let mut bytes = [0; KEY];
        for (to, from) in bytes.iter_mut().zip(self.subject.0.iter().chain(&self.place.to_be_bytes())) {
            *to = *from;
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; KEY]) -> Self {
        let parts = bytes.split_first_chunk().zip(bytes.split_last_chunk());
        parts.map_or(Self::default(), |((subject, _), (_, place))| Self {
            subject: Subject(*subject),
            place: u64::from_be_bytes(*place),
        })
    }

    pub(super) const fn block(self) -> u64 {
        self.place >> POSITION_BITS
    }
}

/// The contents of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Value {
    /// The kinds of the entry.
    pub(super) kinds: u8,
    /// The change of the balance of the address in Qa, modulo 2^128. 0 without [`kind::CHANGE`].
    pub(super) change: u128,
}

/// Entries in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct IndexEntries(pub(super) BTreeMap<Key, Value>);

impl IndexEntries {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn add_kind(&mut self, subject: Subject, place: IndexPosition, kind: u8) {
        self.0.entry(Key { subject, place: place.place() }).or_default().kinds |= kind;
    }

    /// Adds a change of a balance, after the roles and edits of the same place.
    pub(crate) fn add_change(&mut self, address: &Address, place: IndexPosition, change: u128) {
        if change == 0 {
            return;
        }
        let place = place.place();
        let [of_role, settled] = Subject::of_balance(address).map(|subject| Key { subject, place });
        // A change without a role has a subject of its own, so that the list of the transactions of an address does not
        // contain it. For example, the null account has such a change for each transaction.
        let key = if self.0.contains_key(&of_role) { of_role } else { settled };
        let value = self.0.entry(key).or_default();
        value.kinds |= kind::CHANGE;
        value.change = value.change.wrapping_add(change);
    }

    /// Returns the sum of the changes of the balance of an address, modulo 2^128.
    pub(crate) fn sum_of(&self, address: &Address) -> u128 {
        let all = |subject| Key { subject, place: 0 }..=Key { subject, place: u64::MAX };
        let entries = Subject::of_balance(address).into_iter().flat_map(|subject| self.0.range(all(subject)));
        entries.fold(0, |sum, (_, value)| sum.wrapping_add(value.change))
    }

    /// Adds the entries of the transactions of a block, without the changes of balances. Returns `None` if the block
    /// has more transactions than an entry can have as position, or its number needs more than 40 bits.
    pub(crate) fn add_transactions(
        &mut self,
        kinds: IndexKinds,
        block: BlockNumber,
        transactions: &[(Transaction, Receipt)],
    ) -> Option<()> {
        let fits = transactions.len() < 1 << POSITION_BITS && block.get() >> (u64::BITS - POSITION_BITS) == 0;
        for (position, (transaction, receipt)) in (0_u32..).zip(transactions).take_while(|_| fits) {
            let mut add =
                |key: IndexKey<'_>| self.add_kind(key.subject(), IndexPosition { block, position }, key.kind());
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

    /// Adds the entry of an edited account.
    pub(crate) fn add_edit(&mut self, address: &Address, block: BlockNumber) {
        self.add_kind(IndexKey::AddressOrEdit(address).subject(), IndexPosition { block, position: 0 }, kind::EDITED);
    }

    /// Adds the entry of a block.
    pub(crate) fn add_block(&mut self, block: BlockNumber, hash: &BlockHash) {
        self.add_kind(IndexKey::Block(hash).subject(), IndexPosition { block, position: 0 }, kind::BLOCK);
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
        for bits in 0..16 {
            let kinds = IndexKinds::of_bits(bits);
            assert_eq!((kinds.bits(), kinds.to_string().parse()), (bits, Ok(kinds)));
        }
        assert_eq!("balances,blocks,events,addresses".parse(), Ok(IndexKinds::ALL));
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
