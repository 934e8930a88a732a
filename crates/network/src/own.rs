//! The precommits of this process, and the search for precommits of other processes with the key of this member.
//!
//! A member votes at a height only after the decision of the height before. So no earlier process of the member has
//! voted after the first height at which this process votes. The exception is a member whose first start with new files
//! is near the first block: the rule for new files does not protect it. If the certificate of a later height has
//! another precommit of this member, there are three possible causes:
//!
//! - A second process votes with the key of the member.
//! - The data directory is an old copy.
//! - The member has lost its files near the first block.

use std::collections::BTreeSet;

use arc_malachitebft_app::types::core::{CommitCertificate, NilOrVal, Round, VoteType};

use crate::{
    context::Ctx,
    types::{EngineHeight, EngineVote, MemberIndex, ValueId},
};

/// The precommits for entries that this process has signed at the current height.
#[derive(Debug, Default)]
pub(crate) struct OwnVotes {
    /// The first height at which this process votes.
    first: Option<EngineHeight>,
    signed: BTreeSet<(EngineHeight, Round, ValueId)>,
}

impl OwnVotes {
    /// Notes that this process votes from this height on, if it did not vote before.
    pub(crate) fn begin(&mut self, height: EngineHeight) {
        self.first.get_or_insert(height);
    }

    /// Notes a vote before it is sent.
    pub(crate) fn add(&mut self, vote: &EngineVote) {
        if let (VoteType::Precommit, NilOrVal::Val(id)) = (vote.kind, vote.value) {
            self.signed.insert((vote.height, vote.round, id));
        }
    }

    /// Returns whether a certificate has a precommit of `member` that another process has sent. Removes the precommits
    /// at lower heights.
    pub(crate) fn has_other_vote(&mut self, certificate: &CommitCertificate<Ctx>, member: MemberIndex) -> bool {
        let &CommitCertificate { height, round, value_id, .. } = certificate;
        self.signed.retain(|(at, ..)| *at >= height);
        // At the first height, an earlier process can have voted.
        self.first.is_some_and(|first| first < height)
            && has_vote(certificate, member)
            && !self.signed.contains(&(height, round, value_id))
    }
}

/// Returns whether a certificate has a vote of a member.
pub(crate) fn has_vote(certificate: &CommitCertificate<Ctx>, member: MemberIndex) -> bool {
    certificate.commit_signatures.iter().any(|vote| vote.address == member)
}

#[cfg(test)]
mod tests {
    use arc_malachitebft_app::types::core::CommitSignature;

    use super::*;
    use crate::types::EngineSignature;

    fn vote(kind: VoteType, height: u64, round: u32, id: Option<u8>) -> EngineVote {
        let value = id.map_or(NilOrVal::Nil, |id| NilOrVal::Val(ValueId([id; 32])));
        EngineVote { kind, height: EngineHeight(height), round: Round::new(round), value, member: MemberIndex(3) }
    }

    fn certificate(height: u64, round: u32, id: u8, members: &[u16]) -> CommitCertificate<Ctx> {
        let vote = |member: &u16| CommitSignature::new(MemberIndex(*member), EngineSignature([4; 64]));
        CommitCertificate {
            height: EngineHeight(height),
            round: Round::new(round),
            value_id: ValueId([id; 32]),
            commit_signatures: members.iter().map(vote).collect(),
        }
    }

    #[test]
    fn vote_of_another_process_is_found_after_the_first_height() {
        let mut own = OwnVotes::default();
        let other = certificate(5, 0, 1, &[0, 1, 3]);
        let finds = |own: &mut OwnVotes, certificate| own.has_other_vote(&certificate, MemberIndex(3));
        assert!(!finds(&mut own, other.clone()), "this process does not vote");
        own.begin(EngineHeight(5));
        assert!(!finds(&mut own, other), "an earlier process can have voted at this height");
        // The first height stays.
        own.begin(EngineHeight(6));
        assert!(finds(&mut own, certificate(6, 0, 1, &[0, 1, 3])));
        assert!(!finds(&mut own, certificate(6, 0, 1, &[0, 1, 2])), "this member has not voted");
        for vote in [
            vote(VoteType::Precommit, 6, 0, None),
            vote(VoteType::Prevote, 6, 0, Some(1)),
            vote(VoteType::Precommit, 6, 1, Some(1)),
            vote(VoteType::Precommit, 6, 0, Some(2)),
            vote(VoteType::Precommit, 7, 0, Some(1)),
        ] {
            own.add(&vote);
            assert!(finds(&mut own, certificate(6, 0, 1, &[0, 1, 3])), "{vote:?}");
        }
        own.add(&vote(VoteType::Precommit, 6, 0, Some(1)));
        // A decision that was not processed is processed again.
        for _ in 0..2 {
            assert!(!finds(&mut own, certificate(6, 0, 1, &[0, 1, 3])));
        }
        assert!(!finds(&mut own, certificate(7, 0, 1, &[0, 1, 3])));
        assert_eq!(own.signed.len(), 1, "the votes of lower heights are forgotten");
    }
}
