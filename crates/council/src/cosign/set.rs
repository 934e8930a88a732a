//! The signers of an attempt, and the computations that leader and members share.

use silica_crypto::{
    cosign,
    multisig::{Challenge, CommitPoint, aggregate_keys},
};
use silica_protocol::{CoSignatures, PublicKey, Signature};

use super::{
    error::Rejected,
    message::{CoSignRound, ItemHashes},
};
use crate::{
    entry::{EntryId, Height},
    network::NetworkId,
};

/// What the committee co-signs: the items of a decided body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoSignTask {
    /// Id of the network.
    pub network: NetworkId,
    /// Height of the seal.
    pub height: Height,
    /// Id of the decided body.
    pub body: EntryId,
    /// The serialised headers, as in [`Body::items`](crate::Body::items).
    pub items: Vec<Vec<u8>>,
    /// Keys of the committee.
    pub committee: Vec<PublicKey>,
}

impl CoSignTask {
    /// Returns the number of signers.
    pub fn quorum(&self) -> usize {
        cosign::quorum(self.committee.len())
    }

    /// Rejects a list that does not have one element for each item.
    pub(super) fn check_items(&self, field: &'static str, got: usize) -> Result<(), Rejected> {
        let expected = self.items.len();
        if expected == got { Ok(()) } else { Err(Rejected::Length { field, expected, got }) }
    }
}

/// The signers of an attempt.
#[derive(Clone, Debug)]
pub(super) struct SignerSet {
    /// The signers, in the order of the committee.
    pub(super) bits: Vec<bool>,
    /// Position, key and hashes of each signer, ascending by position.
    signers: Vec<(usize, PublicKey, Vec<ItemHashes>)>,
    /// Sum of the keys.
    pub(super) key: PublicKey,
}

impl SignerSet {
    /// Creates the set of the members in `bits`. `hashes` has the hashes of each signer.
    pub(super) fn new(
        task: &CoSignTask,
        leader: usize,
        bits: Vec<bool>,
        hashes: Vec<Vec<ItemHashes>>,
    ) -> Result<Self, Rejected> {
        if bits.len() != task.committee.len() {
            return Err(Rejected::Length { field: "signers", expected: task.committee.len(), got: bits.len() });
        }
        let members = task.committee.iter().enumerate().zip(&bits).filter(|(_, signer)| **signer);
        let members: Vec<_> = members.map(|((position, key), _)| (position, *key)).collect();
        let got = members.len();
        if got != task.quorum() || bits.get(leader) != Some(&true) {
            return Err(Rejected::Signers { expected: task.quorum(), got });
        }
        if hashes.len() != got {
            return Err(Rejected::Length { field: "hashes", expected: got, got: hashes.len() });
        }
        for hashes in &hashes {
            task.check_items("hashes", hashes.len())?;
        }
        let keys: Vec<_> = members.iter().map(|(_, key)| *key).collect();
        let signers = members.into_iter().zip(hashes).map(|((position, key), hashes)| (position, key, hashes));
        Ok(Self { bits, signers: signers.collect(), key: aggregate_keys(&keys)? })
    }

    pub(super) fn len(&self) -> usize {
        self.signers.len()
    }

    /// Returns the positions of the signers.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        self.signers.iter().map(|(position, ..)| *position)
    }

    /// Returns the key of a signer; `None` for another member.
    pub(super) fn key_of(&self, member: usize) -> Option<&PublicKey> {
        self.signers.iter().find(|(position, ..)| *position == member).map(|(_, key, _)| key)
    }

    /// Checks that the points of a signer match its hashes, and are points of the curve.
    pub(super) fn check_points(
        &self,
        round: CoSignRound,
        member: usize,
        points: &[CommitPoint],
    ) -> Result<(), Rejected> {
        let signer = self.signers.iter().find(|(position, ..)| *position == member);
        let (.., hashes) = signer.ok_or(Rejected::NotSigner { got: member })?;
        if points.len() != hashes.len() {
            return Err(Rejected::Length { field: "points", expected: hashes.len(), got: points.len() });
        }
        for (item, (point, ItemHashes([first, second]))) in points.iter().zip(hashes).enumerate() {
            let hash = match round {
                CoSignRound::First => first,
                CoSignRound::Second => second,
            };
            // The check of a point takes long. It is done only for a point whose hash the member has sent before.
            if point.hash() != *hash || point.check().is_err() {
                return Err(Rejected::Point { member, item });
            }
        }
        Ok(())
    }

    /// Checks the points of all signers, in the order of the committee.
    pub(super) fn check_all_points(&self, round: CoSignRound, points: &[Vec<CommitPoint>]) -> Result<(), Rejected> {
        if points.len() != self.len() {
            return Err(Rejected::Length { field: "points", expected: self.len(), got: points.len() });
        }
        self.positions().zip(points).try_for_each(|(member, points)| self.check_points(round, member, points))
    }

    /// Computes the challenge of each item from the checked points of all signers. In the second round, `first` has the
    /// signatures of the first round.
    pub(super) fn challenges(
        &self,
        task: &CoSignTask,
        first: Option<&[Signature]>,
        points: &[Vec<CommitPoint>],
    ) -> Result<Vec<Challenge>, Rejected> {
        let challenge = |(item, header): (usize, &Vec<u8>)| {
            let points: Vec<_> = points.iter().filter_map(|points| points.get(item).copied()).collect();
            let point = CommitPoint::aggregate(&points)?;
            let second = first.map(|first| self.second_message(header, first.get(item)));
            let message = second.as_ref().unwrap_or(header);
            Ok(Challenge::new(&point, &self.key, message)?)
        };
        task.items.iter().enumerate().map(challenge).collect()
    }

    /// Returns the message of the second round of an item. It is empty if there is no first signature, and an empty
    /// message has no challenge.
    fn second_message(&self, header: &[u8], first: Option<&Signature>) -> Vec<u8> {
        let message = |first: &Signature| {
            let first = CoSignatures { cs1: *first, b1: self.bits.clone(), ..CoSignatures::unsigned(0) };
            first.message_for_second_round(header)
        };
        first.and_then(message).unwrap_or_default()
    }
}
