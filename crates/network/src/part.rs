//! The messages of this crate. The engine passes them to the other members, and does not read their content.

use std::{collections::BTreeMap, fmt::Display, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use silica_council::{EntryId, EntryKind, Height, NetworkId, proposer};
use silica_crypto::{KeyPair, verify};
use silica_protocol::{PublicKey, Signature};

use crate::types::{EngineSignature, MemberIndex};

/// Bytes of an entry in one message.
const CHUNK: usize = 128 * 1024;

/// Largest number of incomplete entries from one proposer at a height.
const INCOMPLETE: usize = 2;

/// Largest seal, in bytes. A seal of a body with one shard and 64 members has less than 1 KiB.
const MAX_SEAL: usize = 512 * 1024;

/// A message to other members.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Part {
    /// A part of an entry.
    Entry(EntryPart),
    /// A co-signature message, for one member or for all of them.
    CoSign { to: Option<MemberIndex>, message: Vec<u8> },
    /// A batch of transactions that the sender has admitted.
    Transactions(Vec<u8>),
    /// The sender has added the transactions of the batch with this hash to its pool, except those at the positions in
    /// `except`.
    Confirmed { batch: [u8; 32], except: Vec<u16> },
}

/// A part of an entry that the proposer of a round proposes.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct EntryPart {
    pub(crate) header: EntryHeader,
    /// Signature of the proposer over the header.
    pub(crate) signature: EngineSignature,
    /// Position of the part, from 0.
    pub(crate) position: u16,
    pub(crate) bytes: Vec<u8>,
}

/// The data about an entry that its proposer signs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) struct EntryHeader {
    pub(crate) height: u64,
    pub(crate) round: u32,
    /// The earlier round in which a quorum sent prevotes for the entry; `None` for a first proposal.
    pub(crate) valid_round: Option<u32>,
    pub(crate) id: [u8; 32],
    /// Length of the entry in bytes.
    pub(crate) len: u32,
}

/// Reason why a part is dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PartError {
    /// A field of the part has an invalid value.
    #[error("part of an entry: {field}: expected {expected}, got {got}")]
    Field { field: &'static str, expected: String, got: String },
    /// Another member than the proposer of the round sent the part.
    #[error(
        "part of an entry at height {height}, round {round}: expected it from member {proposer}, the proposer, got it \
         from member {publisher}"
    )]
    Publisher { height: u64, round: u32, proposer: usize, publisher: usize },
    /// The signature is not that of the proposer of the round.
    #[error(
        "part of an entry at height {height}, round {round}: expected the signature of member {proposer}, got another"
    )]
    Signature { height: u64, round: u32, proposer: usize },
    /// The bytes do not have the id of the header.
    #[error("entry at height {height}: expected the bytes of {expected}, got those of {got}")]
    Id { height: u64, expected: EntryId, got: EntryId },
}

impl EntryHeader {
    fn signed_bytes(&self, network: &NetworkId) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend(b"silica entry header v1");
        bytes.extend(network.as_bytes());
        // Borsh writes fixed widths, so the header has one form.
        bytes.extend(borsh::to_vec(self).expect("memory has room for a header"));
        bytes
    }

    /// Signs the header.
    pub(crate) fn sign(&self, network: &NetworkId, key: &KeyPair) -> EngineSignature {
        key.sign(&self.signed_bytes(network)).expect("the message has bytes").into()
    }

    fn parts(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX).div_ceil(CHUNK).max(1)
    }
}

/// Divides an entry into messages.
pub(crate) fn divide(header: &EntryHeader, signature: &EngineSignature, bytes: &[u8]) -> Vec<Part> {
    let mut chunks: Vec<&[u8]> = bytes.chunks(CHUNK).collect();
    if chunks.is_empty() {
        chunks.push(&[]);
    }
    let part = |(position, bytes): (u16, &[u8])| {
        Part::Entry(EntryPart { header: header.clone(), signature: signature.clone(), position, bytes: bytes.into() })
    };
    (0..).zip(chunks).map(part).collect()
}

/// A complete entry of another member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complete {
    /// The proposer of the round, which sent all parts.
    pub(crate) proposer: usize,
    pub(crate) header: EntryHeader,
    pub(crate) bytes: Arc<[u8]>,
}

/// Collects the parts of entries.
#[derive(Debug)]
pub(crate) struct Assembler {
    network: NetworkId,
    committee: Vec<PublicKey>,
    max_body: usize,
    /// The incomplete entries.
    entries: BTreeMap<EntryHeader, Incomplete>,
}

#[derive(Debug)]
struct Incomplete {
    signature: EngineSignature,
    parts: BTreeMap<u16, Vec<u8>>,
}

impl Assembler {
    pub(crate) fn new(network: NetworkId, committee: Vec<PublicKey>, max_body: usize) -> Self {
        Self { network, committee, max_body, entries: BTreeMap::new() }
    }

    /// Drops the entries of heights below this one.
    pub(crate) fn forget_below(&mut self, height: u64) {
        self.entries.retain(|header, _| header.height >= height);
    }

    /// Adds a part that the member `publisher` sent. Returns the entry if this part completes it, and `None` if parts
    /// are missing. `next` is the next height of this member.
    ///
    /// The signature of a header does not cover the bytes. So another member could send a valid header with false
    /// bytes. Therefore the function accepts parts only from the proposer.
    ///
    /// # Errors
    ///
    /// [`PartError`] if the height is below `next` or above `next` + 2, a field is invalid, or the part is not from the
    /// proposer.
    pub(crate) fn add(&mut self, part: EntryPart, publisher: usize, next: u64) -> Result<Option<Complete>, PartError> {
        let EntryPart { header, signature, position, bytes } = part;
        let proposer = self.check(&header, next)?;
        if publisher != proposer {
            let (height, round) = (header.height, header.round);
            return Err(PartError::Publisher { height, round, proposer, publisher });
        }
        let (parts, got) = (header.parts(), usize::from(position));
        if got >= parts {
            return Err(field("position", format!("below {parts}"), got));
        }
        let len = usize::try_from(header.len).unwrap_or(usize::MAX);
        let expected = len.saturating_sub(got.saturating_mul(CHUNK)).min(CHUNK);
        if bytes.len() != expected {
            return Err(field("bytes", expected.to_string(), bytes.len()));
        }
        if !self.entries.contains_key(&header) {
            self.verify(&header, &signature, proposer)?;
            self.make_room(proposer, header.height);
            self.entries.insert(header.clone(), Incomplete { signature: signature.clone(), parts: BTreeMap::new() });
        }
        let Some(incomplete) = self.entries.get_mut(&header) else { return Ok(None) };
        if incomplete.signature != signature {
            return Err(PartError::Signature { height: header.height, round: header.round, proposer });
        }
        incomplete.parts.insert(position, bytes);
        if incomplete.parts.len() < parts {
            return Ok(None);
        }
        let bytes: Vec<u8> = incomplete.parts.values().flatten().copied().collect();
        self.entries.remove(&header);
        Ok(Some(Complete { proposer, header, bytes: bytes.into() }))
    }

    /// Drops the entry of the lowest round if a proposer has too many incomplete entries at a height. A correct
    /// proposer has sent a later entry by then.
    fn make_room(&mut self, member: usize, height: u64) {
        let of = |it: &EntryHeader| Height::new(it.height).map(|at| proposer(self.committee.len(), at, it.round));
        let mut same = self.entries.keys().filter(|it| it.height == height && of(it) == Some(member));
        let oldest = same.next().cloned();
        if same.count() >= INCOMPLETE.saturating_sub(1)
            && let Some(oldest) = oldest
        {
            self.entries.remove(&oldest);
        }
    }

    /// Checks the values of a header, and returns the position of its proposer.
    fn check(&self, header: &EntryHeader, next: u64) -> Result<usize, PartError> {
        let last = next.saturating_add(2);
        let height = Height::new(header.height).filter(|height| (next..=last).contains(&height.get()));
        let height = height.ok_or_else(|| field("height", format!("{next} to {last}"), header.height))?;
        let most = if height.kind() == EntryKind::Body { self.max_body } else { MAX_SEAL };
        if usize::try_from(header.len).map_or(true, |len| len > most) {
            return Err(field("len", format!("at most {most}"), header.len));
        }
        if header.valid_round.is_some_and(|valid| valid >= header.round) {
            let got = header.valid_round.unwrap_or_default();
            return Err(field("valid_round", format!("below {}", header.round), got));
        }
        Ok(proposer(self.committee.len(), height, header.round))
    }

    fn verify(&self, header: &EntryHeader, signature: &EngineSignature, proposer: usize) -> Result<(), PartError> {
        let signed = header.signed_bytes(&self.network);
        let key = self.committee.get(proposer);
        match key.map(|key| verify(&signed, &Signature::from(signature), key)) {
            Some(Ok(())) => Ok(()),
            _ => Err(PartError::Signature { height: header.height, round: header.round, proposer }),
        }
    }
}

impl Complete {
    /// Checks that the bytes of a body have the id of the header. The id of a seal depends on the decided body, so the
    /// verdict on the seal compares the id.
    pub(crate) fn check_id(&self, network: &NetworkId) -> Result<(), PartError> {
        let Some(height) = Height::new(self.header.height).filter(|height| height.kind() == EntryKind::Body) else {
            return Ok(());
        };
        let (expected, got) = (EntryId::new(self.header.id), EntryId::of_body(network, height, &self.bytes));
        if expected == got { Ok(()) } else { Err(PartError::Id { height: self.header.height, expected, got }) }
    }
}

fn field(field: &'static str, expected: String, got: impl Display) -> PartError {
    PartError::Field { field, expected, got: got.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: NetworkId = NetworkId::new([7; 32]);

    fn key(member: u8) -> KeyPair {
        KeyPair::from_hex(&format!("{:02x}", member + 1).repeat(32)).unwrap()
    }

    fn assembler() -> Assembler {
        Assembler::new(NETWORK, (0..4).map(|member| key(member).public_key()).collect(), 4 * CHUNK)
    }

    /// Returns the first of two parts of an entry.
    fn half(height: u64, round: u32, id: u8) -> EntryPart {
        let header =
            EntryHeader { height, round, valid_round: None, id: [id; 32], len: u32::try_from(2 * CHUNK).unwrap() };
        let member = proposer(4, Height::new(height).unwrap(), round);
        let signature = header.sign(&NETWORK, &key(u8::try_from(member).unwrap()));
        EntryPart { header, signature, position: 0, bytes: vec![1; CHUNK] }
    }

    fn second(first: &EntryPart) -> EntryPart {
        EntryPart { position: 1, ..first.clone() }
    }

    #[test]
    fn proposer_has_two_incomplete_entries_at_a_height() {
        let mut assembler = assembler();
        // At height 1, member 1 proposes in rounds 0, 4 and so on, and member 2 in round 1.
        let rounds: Vec<_> = (0..50).map(|turn| half(1, 4 * turn, 1)).collect();
        let other = half(1, 1, 1);
        assert_eq!(assembler.add(other.clone(), 2, 1), Ok(None));
        for part in &rounds {
            assert_eq!(assembler.add(part.clone(), 1, 1), Ok(None));
        }
        assert_eq!(assembler.entries.len(), 3);
        assert!(assembler.add(second(&other), 2, 1).unwrap().is_some());
        assert!(assembler.add(second(&rounds[49]), 1, 1).unwrap().is_some());
        assert!(assembler.add(second(&rounds[48]), 1, 1).unwrap().is_some());
        // The entry of an earlier round was dropped, so this part begins the entry again.
        assert_eq!(assembler.add(second(&rounds[0]), 1, 1), Ok(None));
    }

    #[test]
    fn parts_from_another_member_than_the_proposer_are_rejected() {
        let mut assembler = assembler();
        let first = half(1, 0, 1);
        assert_eq!(assembler.add(first.clone(), 1, 1), Ok(None));
        for part in [EntryPart { bytes: vec![9; CHUNK], ..first.clone() }, second(&first)] {
            let error = assembler.add(part, 3, 1).unwrap_err().to_string();
            let expected =
                "part of an entry at height 1, round 0: expected it from member 1, the proposer, got it from member 3";
            assert_eq!(error, expected);
        }
        let complete = assembler.add(second(&first), 1, 1).unwrap().unwrap();
        assert_eq!((complete.proposer, complete.bytes.iter().all(|byte| *byte == 1)), (1, true));
    }

    #[test]
    fn parts_of_two_entries_are_not_mixed() {
        let mut assembler = assembler();
        let (first, other) = (half(1, 0, 1), half(1, 0, 2));
        assert_eq!(assembler.add(first.clone(), 1, 1), Ok(None));
        assert_eq!(assembler.add(first.clone(), 1, 1), Ok(None));
        assert_eq!(assembler.add(second(&other), 1, 1), Ok(None));
        let complete = assembler.add(second(&first), 1, 1).unwrap().unwrap();
        assert_eq!((complete.header, complete.bytes.len()), (first.header, 2 * CHUNK));
    }

    #[test]
    fn false_parts_name_the_field() {
        type Change = fn(&mut EntryPart);

        let good = half(3, 1, 1);
        let with = |change: Change| {
            let mut part = good.clone();
            change(&mut part);
            assembler().add(part, 3, 3).unwrap_err().to_string()
        };
        let cases: [(Change, &str); 8] = [
            (|it| it.position = 2, "position: expected below 2, got 2"),
            (|it| it.bytes = vec![], "bytes: expected 131072, got 0"),
            (|it| it.header.height = 2, "height: expected 3 to 5, got 2"),
            (|it| it.header.height = 6, "height: expected 3 to 5, got 6"),
            (|it| it.header.height = 0, "height: expected 3 to 5, got 0"),
            (|it| it.header.len = u32::MAX, "len: expected at most 524288, got 4294967295"),
            (|it| it.header.valid_round = Some(1), "valid_round: expected below 1, got 1"),
            (|it| it.header.id = [2; 32], "expected the signature of member 3, got another"),
        ];
        for (change, expected) in cases {
            let error = with(change);
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest::proptest! {
        /// The parts of an entry in any order give its bytes.
        #[test]
        fn parts_in_any_order_give_the_entry(len in 0..4 * CHUNK, seed: u64) {
            let bytes: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let header = EntryHeader { height: 1, round: 0, valid_round: None, id: [1; 32], len: u32::try_from(len).unwrap() };
            let signature = header.sign(&NETWORK, &key(1));
            let mut parts = divide(&header, &signature, &bytes);
            let count = parts.len();
            parts.rotate_left(usize::try_from(seed % 4).unwrap() % count);
            if seed % 8 > 3 {
                parts.reverse();
            }
            let mut assembler = assembler();
            for (at, part) in parts.into_iter().enumerate() {
                let Part::Entry(part) = part else { unreachable!() };
                let complete = assembler.add(part, 1, 1).unwrap();
                proptest::prop_assert_eq!(complete.is_some(), at + 1 == count);
                if let Some(complete) = complete {
                    proptest::prop_assert_eq!(&*complete.bytes, &*bytes);
                }
            }
            proptest::prop_assert!(assembler.entries.is_empty());
        }
    }
}
