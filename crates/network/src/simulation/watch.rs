//! What the members have sent and decided, for the checks of the invariants.

use std::collections::BTreeMap;

use arc_malachitebft_app::types::core::{Round, VoteType};
use silica_chain::state::BlockRecord;
use silica_council::{CoSignRound, Height, SessionId};
use silica_crypto::multisig::CommitPoint;
use silica_protocol::{BlockNumber, PublicKey, Qa};

use crate::{
    simulation::network,
    types::{EngineVote, ValueId},
};

/// What the members have sent and decided.
pub(super) struct Watch {
    /// The votes and proposals that the engine of each member has sent, without the false ones of a faulty member.
    /// After a loss of its chain, a member has no votes for the first block in these maps. After a loss of its log, a
    /// faulty member has no votes in them.
    pub(super) votes: BTreeMap<(usize, VoteType, u64, Round), EngineVote>,
    pub(super) proposals: BTreeMap<(usize, u64, Round), ValueId>,
    /// The points that each correct member has shown in a session, and its response to each point.
    pub(super) shown: BTreeMap<(usize, SessionId, CoSignRound), Vec<CommitPoint>>,
    pub(super) answered: BTreeMap<[u8; 33], [u8; 32]>,
    pub(super) supply: Qa,
    pub(super) payers: BTreeMap<PublicKey, usize>,
    /// The latest nonce of each payer in the chain.
    pub(super) nonces: BTreeMap<usize, u64>,
    pub(super) records: BTreeMap<BlockNumber, BlockRecord>,
    pub(super) bytes: BTreeMap<Height, Vec<u8>>,
    /// The height up to which each member is checked.
    pub(super) checked: Vec<Height>,
}

impl Watch {
    pub(super) fn new(members: usize) -> Self {
        let supply = network::genesis().accounts().values().map(|account| account.balance.get()).sum();
        Self {
            votes: BTreeMap::new(),
            proposals: BTreeMap::new(),
            shown: BTreeMap::new(),
            answered: BTreeMap::new(),
            supply: Qa::new(supply),
            payers: network::payers(),
            nonces: BTreeMap::new(),
            records: BTreeMap::new(),
            bytes: BTreeMap::new(),
            checked: vec![Height::new(1).unwrap(); members],
        }
    }

    /// Notes that a member has lost its chain. It votes for the first block until it has this block from the others.
    pub(super) fn forget(&mut self, member: usize) {
        let first = Height::of_seal(BlockNumber::new(1)).unwrap().get();
        self.votes.retain(|(of, _, height, _), _| *of != member || *height > first);
        self.proposals.retain(|(of, height, _), _| *of != member || *height > first);
        self.checked[member] = Height::new(1).unwrap();
    }

    /// Notes that a faulty member has lost its votes, so that it can contradict them.
    pub(super) fn forget_votes(&mut self, member: usize) {
        self.votes.retain(|(of, ..), _| *of != member);
        self.proposals.retain(|(of, ..), _| *of != member);
    }
}
