//! Messages `Ready` that arrive before the leader begins the round.

use std::collections::BTreeMap;

use silica_protocol::PublicKey;

use super::{
    error::Rejected,
    message::{CoSignMessage, Content},
};
use crate::{entry::Height, network::NetworkId};

/// The latest `Ready` of each member. Members decide a body at different times, so a leader can be the last one.
#[derive(Clone, Debug, Default)]
pub struct EarlyReadys(BTreeMap<usize, CoSignMessage>);

impl EarlyReadys {
    /// Keeps a message if it is a `Ready`, and drops every other message. A later session of the member replaces an
    /// earlier one.
    ///
    /// # Errors
    ///
    /// [`Rejected`] if the committee has no such member, or the signature is false.
    pub fn keep(
        &mut self,
        message: CoSignMessage,
        network: &NetworkId,
        committee: &[PublicKey],
    ) -> Result<(), Rejected> {
        verify(&message, network, committee)?;
        let is_newer = self.0.get(&message.from).is_none_or(|kept| kept.session <= message.session);
        if is_newer && matches!(message.content, Content::Ready { .. }) {
            self.0.insert(message.from, message);
        }
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
