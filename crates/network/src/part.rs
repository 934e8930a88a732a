//! The messages of this crate, which the engine passes to the other members without reading them.

use std::{collections::BTreeMap, fmt::Display, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use silica_council::{EntryId, EntryKind, Height, NetworkId, proposer};
use silica_crypto::{KeyPair, verify};
use silica_protocol::{PublicKey, Signature};

use crate::types::{EngineSignature, MemberIndex};

/// Bytes of an entry in one message.
const CHUNK: usize = 128 * 1024;

/// Largest number of incomplete entries of one proposer at a height.
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
    /// The sender has added all transactions of a batch, which has this hash, to its pool.
    Confirmed([u8; 32]),
    /// The sender lacks the entry with this id.
    Want([u8; 32]),
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

/// What a proposer states about an entry.
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
    pub(crate) header: EntryHeader,
    pub(crate) signature: EngineSignature,
    pub(crate) bytes: Arc<[u8]>,
}

/// Collects the parts of entries.
#[derive(Debug)]
pub(crate) struct Assembler {
    network: NetworkId,
    committee: Vec<PublicKey>,
    max_body: usize,
    /// The incomplete entries, each with the parts that have arrived.
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

    /// Adds a part. Returns the entry if this part completes it. `next` is the next height of this member: parts of
    /// heights below it and of more than one block after it are dropped.
    pub(crate) fn add(&mut self, part: EntryPart, next: u64) -> Result<Option<Complete>, PartError> {
        let EntryPart { header, signature, position, bytes } = part;
        let proposer = self.check(&header, next)?;
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
            self.make_room(header.height, proposer);
            let incomplete = Incomplete { signature: signature.clone(), parts: BTreeMap::new() };
            self.entries.insert(header.clone(), incomplete);
        }
        let Some(incomplete) = self.entries.get_mut(&header) else { return Ok(None) };
        if incomplete.signature != signature {
            let (height, round) = (header.height, header.round);
            return Err(PartError::Signature { height, round, proposer });
        }
        incomplete.parts.insert(position, bytes);
        if incomplete.parts.len() < parts {
            return Ok(None);
        }
        let bytes: Vec<u8> = incomplete.parts.values().flatten().copied().collect();
        self.entries.remove(&header);
        Ok(Some(Complete { header, signature, bytes: bytes.into() }))
    }

    /// Drops the entry of the lowest round if a proposer has too many incomplete entries at a height. An honest proposer
    /// has proposed a later entry by then.
    fn make_room(&mut self, height: u64, proposer: usize) {
        let is_same = |it: &&EntryHeader| it.height == height && self.proposer_of(it) == Some(proposer);
        let mut same = self.entries.keys().filter(is_same);
        let oldest = same.next().cloned();
        if same.count() >= INCOMPLETE.saturating_sub(1)
            && let Some(oldest) = oldest
        {
            self.entries.remove(&oldest);
        }
    }

    /// Returns the position of the proposer of an entry.
    pub(crate) fn proposer_of(&self, header: &EntryHeader) -> Option<usize> {
        Some(proposer(self.committee.len(), Height::new(header.height)?, header.round))
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
    /// Checks that the bytes have the id of the header. The id of a seal depends on the decided body, so its judge
    /// compares it.
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
