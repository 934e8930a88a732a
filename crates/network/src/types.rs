//! The data of the engine: heights, members, votes and proposals of this network.

use std::fmt;

use arc_malachitebft_app::types::core::{NilOrVal, Round, VoteType};
use borsh::{BorshDeserialize, BorshSerialize};
use silica_council::{EntryId, Height};
use silica_protocol::{PublicKey, Signature, hex};

/// Position of a member in the committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub(crate) struct MemberIndex(pub(crate) u16);

/// A height of the engine. Height 0 is the state before the first decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub(crate) struct EngineHeight(pub(crate) u64);

/// The id of an entry. It is the value on which the members vote.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub(crate) struct ValueId(pub(crate) [u8; 32]);

/// A vote of a member.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct EngineVote {
    pub(crate) kind: VoteType,
    pub(crate) height: EngineHeight,
    pub(crate) round: Round,
    pub(crate) value: NilOrVal<ValueId>,
    pub(crate) member: MemberIndex,
}

/// A proposal of a member.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct EngineProposal {
    pub(crate) height: EngineHeight,
    pub(crate) round: Round,
    pub(crate) value: ValueId,
    pub(crate) valid_round: Round,
    pub(crate) member: MemberIndex,
}

/// A member of the committee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EngineMember {
    pub(crate) index: MemberIndex,
    pub(crate) key: PublicKey,
}

/// The members of the committee, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Members(pub(crate) Vec<EngineMember>);

impl Members {
    /// Returns the members with these keys. A network file has at most 64 members.
    pub(crate) fn new(keys: &[PublicKey]) -> Self {
        Self((0..).zip(keys).map(|(index, key)| EngineMember { index: MemberIndex(index), key: *key }).collect())
    }
}

impl EngineHeight {
    /// Returns the height of the council; `None` for height 0.
    pub(crate) const fn council(self) -> Option<Height> {
        Height::new(self.0)
    }
}

impl From<Height> for EngineHeight {
    fn from(height: Height) -> Self {
        Self(height.get())
    }
}

impl From<ValueId> for EntryId {
    fn from(id: ValueId) -> Self {
        Self::new(id.0)
    }
}

impl From<EntryId> for ValueId {
    fn from(id: EntryId) -> Self {
        Self(*id.as_bytes())
    }
}

impl fmt::Display for MemberIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for EngineHeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ValueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ValueId({self})")
    }
}

/// A signature of a vote or proposal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub(crate) struct EngineSignature(pub(crate) [u8; Signature::LEN]);

impl From<Signature> for EngineSignature {
    fn from(signature: Signature) -> Self {
        Self(*signature.as_bytes())
    }
}

impl From<&EngineSignature> for Signature {
    fn from(signature: &EngineSignature) -> Self {
        Self::new(signature.0)
    }
}
