//! Messages `Ready` that arrive at a member before it begins their round.

use std::collections::BTreeMap;

use silica_protocol::PublicKey;

use super::{
    error::Rejected,
    message::{CoSignMessage, Content},
};
use crate::{entry::Height, network::NetworkId};

/// The latest `Ready` of each member. Members decide a body at different times, and the leader can be the last of them.
#[derive(Clone, Debug, Default)]
pub struct EarlyReadys(BTreeMap<usize, CoSignMessage>);

impl EarlyReadys {
    /// Keeps a message `Ready`, in place of an earlier message of the same member.
    ///
    /// # Errors
    ///
    /// [`Rejected`] if the message is not a `Ready`, the member has sent a `Ready` of a later session, the committee has
    /// no such member, or the signature is false.
    pub fn keep(
        &mut self,
        message: CoSignMessage,
        network: &NetworkId,
        committee: &[PublicKey],
    ) -> Result<(), Rejected> {
        // The verification of a signature takes the most time, so it comes last.
        let kept = self.0.get(&message.from);
        if kept == Some(&message) {
            return Ok(());
        }
        let is_older = kept.is_some_and(|kept| kept.session > message.session);
        if is_older || !matches!(message.content, Content::Ready { .. }) {
            return Err(Rejected::NotDue);
        }
        verify(&message, network, committee)?;
        self.0.insert(message.from, message);
        Ok(())
    }

    /// Takes the messages of a round. Messages of earlier rounds are dropped.
    pub fn take(&mut self, height: Height, round: u32) -> Vec<CoSignMessage> {
        self.0.retain(|_, message| (message.session.height, message.session.round) >= (height, round));
        let due = |message: &CoSignMessage| (message.session.height, message.session.round) == (height, round);
        let (taken, kept) = std::mem::take(&mut self.0).into_iter().partition(|(_, message)| due(message));
        self.0 = kept;
        let taken: BTreeMap<_, _> = taken;
        taken.into_values().collect()
    }
}

/// Verifies the signature of a message with the key of its sender.
pub(super) fn verify(message: &CoSignMessage, network: &NetworkId, committee: &[PublicKey]) -> Result<(), Rejected> {
    let sender = Rejected::Sender { members: committee.len(), got: message.from };
    let key = committee.get(message.from).ok_or(sender)?;
    message.verify(network, key).map_err(|source| Rejected::Signature { from: message.from, source })
}
