//! False proposals.

use std::sync::Arc;

use super::*;
use crate::entry::{ItemSignatures, Seal};

impl World {
    /// Sends a false entry, or two different bodies, in place of `entry`. Returns `false` if the proposer sends
    /// nothing.
    pub(super) fn forge(&mut self, height: Height, round: u32, time: u64, entry: &Entry) -> bool {
        let forged = match height.kind() {
            EntryKind::Body if self.draw(3) == 0 => return self.two_bodies(height, round, time, entry),
            EntryKind::Body => self.false_body(height, entry),
            EntryKind::Seal => self.false_seal(entry),
        };
        let Some(bytes) = forged else { return false };
        assert_ne!(bytes, *entry.bytes);
        self.see(if height.kind() == EntryKind::Body { "a false body" } else { "a false seal" });
        let mut reasons = BTreeSet::new();
        for index in 0..self.nodes.len() {
            for rule in [Rule::FirstProposal { round, now: self.nodes[index].clock(time) }, Rule::Accepted] {
                match self.nodes[index].judge(height, &bytes, rule) {
                    Some(Verdict::Invalid { reason, .. }) => drop(reasons.insert(format!("{reason:?}"))),
                    // The member has crashed, is behind, has a full disk, or has a clock far from the timestamp.
                    None | Some(Verdict::Withheld(_) | Verdict::Later(_)) => {}
                    Some(Verdict::Valid(_)) => panic!("seed {}: member {index} accepts a false entry", self.seed),
                }
            }
        }
        assert!(reasons.len() <= 1, "seed {}: {reasons:?}", self.seed);
        true
    }

    /// Sends a body to one half of the members, and another valid body to the other half.
    fn two_bodies(&mut self, height: Height, round: u32, time: u64, entry: &Entry) -> bool {
        self.see("two bodies of one proposer");
        let other = self.changed(height, entry, |body| body.timestamp = body.timestamp.next().unwrap());
        let members = self.nodes.len();
        for (bytes, half) in [(&*entry.bytes, 0), (&other[..], 1)] {
            let mut votes = Vec::new();
            for index in (0..members).filter(|index| index % 2 == half) {
                let rule = Rule::FirstProposal { round, now: self.nodes[index].clock(time) };
                match self.nodes[index].judge(height, bytes, rule) {
                    Some(Verdict::Valid(_)) => votes.push(index),
                    None | Some(Verdict::Withheld(_) | Verdict::Later(_)) => {}
                    Some(verdict @ Verdict::Invalid { .. }) => panic!("seed {}: {verdict:?}", self.seed),
                }
            }
            assert!(votes.len() < self.network.quorum());
        }
        true
    }

    /// Returns the bytes of a changed body.
    fn changed(&self, height: Height, entry: &Entry, change: impl FnOnce(&mut Body)) -> Vec<u8> {
        let limits = self.network.parameters().body_limits();
        let mut body = Body::decode(height, &entry.bytes, &limits).unwrap();
        change(&mut body);
        body.encode()
    }

    fn false_body(&mut self, height: Height, entry: &Entry) -> Option<Vec<u8>> {
        if self.draw(8) == 0 {
            return Some([&entry.bytes[..], &[0]].concat());
        }
        let limits = self.network.parameters().body_limits();
        let body = Body::decode(height, &entry.bytes, &limits).unwrap();
        let changes = testing::false_bodies();
        let (name, change) = &changes[self.pick(changes.len())];
        // Some changes need a DS block or transactions.
        let is_possible = (body.ds_header.is_some() || !(name.starts_with("ds.") || name.contains("DS block")))
            && (body.transactions.len() >= 4 || !name.contains("transaction"));
        is_possible.then(|| self.changed(height, entry, change)).filter(|bytes| **bytes != *entry.bytes)
    }

    fn false_seal(&mut self, entry: &Entry) -> Option<Vec<u8>> {
        let members = self.nodes.len();
        let seal = Seal::decode(&entry.bytes, members).unwrap();
        let mut forged = seal.clone();
        match self.draw(6) {
            0 => forged.signers = vec![true; members + 1],
            1 => forged.signers.rotate_left(1),
            2 => drop(forged.items.pop()),
            3 => forged.items.swap(0, 1),
            4 => forged.items[0] = ItemSignatures { cs1: seal.items[0].cs2, cs2: seal.items[0].cs1 },
            _ => {
                // The seal of the block before.
                let height = self.decided.keys().rev().find(|height| height.kind() == EntryKind::Seal)?;
                return Some(Arc::clone(&self.bytes[height]).to_vec());
            }
        }
        Some(forged.encode()).filter(|bytes| **bytes != *entry.bytes)
    }
}
