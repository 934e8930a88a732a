//! The notifications of Ethereum: one message for each log, and for each header of a block.

use serde::Serialize;
use silica_protocol::BlockNumber;

use super::block_events::{BlockEvents, PlacedEvent};
use crate::{
    http::SMALL_RESPONSE,
    log_filter::{EthSubscriptions, Subscribed, following},
    methods::eth::{Log, LogPlace, header, most_bytes},
};

/// A place among the notifications of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The lowest id of a subscription that still gets notifications.
    subscription: u64,
    /// Number of the first event that this subscription can still get.
    event: usize,
}

/// The next notification for `eth_subscribe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// The block of the notification.
    pub(super) block: BlockNumber,
    /// The place among the notifications of the block.
    pub(super) place: Place,
}

impl Next {
    /// Returns the first notification of a block.
    pub(super) fn of(block: BlockNumber) -> Self {
        Self { block, place: Place::default() }
    }

    /// Applies a revert of the chain to a block. If the chain keeps the block of the notification, the client has the
    /// earlier notifications of this block, and must not get them again.
    pub(super) fn revert(&mut self, lowest: BlockNumber) {
        if lowest < self.block {
            *self = Self::of(following(lowest));
        }
    }
}

/// The next notifications of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Batch {
    /// Small messages; none if the client has all notifications of the block.
    Texts(Vec<Vec<u8>>),
    /// One message with at most this number of bytes, which [`large`] writes.
    Large(usize),
    /// The events of the block are too many to send.
    TooMany,
}

/// A notification of a subscription.
#[derive(Debug, Serialize)]
struct Message<'a, R> {
    jsonrpc: &'static str,
    method: &'static str,
    params: Params<'a, R>,
}

#[derive(Debug, Serialize)]
struct Params<'a, R> {
    result: &'a R,
    subscription: String,
}

/// Upper bound of the size of a message without its result, in bytes.
const AROUND: usize = 256;

/// Writes the next notifications of a block, and moves `at` to the place after these notifications. Small messages of
/// one batch have about [`SMALL_RESPONSE`] bytes together. A large message does not change `at`.
pub(super) fn batch(subscriptions: &EthSubscriptions, news: &BlockEvents, at: &mut Place) -> Batch {
    let (mut texts, mut bytes) = (Vec::new(), 0_usize);
    let block = news.tx_block.header.number;
    while let Some((id, subscribed)) = subscriptions.next(at.subscription, block) {
        if id != at.subscription {
            *at = Place { subscription: id, event: 0 };
        }
        match &*subscribed {
            Subscribed::Heads => texts.push(text(id, &header(&news.tx_block))),
            Subscribed::Logs(filter) => {
                let Some(events) = news.events_from(at.event) else { return Batch::TooMany };
                for (number, placed) in events {
                    if !filter.matches(&placed.contract, &placed.event.name) {
                        continue;
                    }
                    let most = most_bytes(placed.bytes).saturating_add(AROUND);
                    if most > SMALL_RESPONSE || bytes.saturating_add(most) > SMALL_RESPONSE {
                        // The next batch begins with this event.
                        at.event = usize::try_from(number).unwrap_or(usize::MAX);
                        return if texts.is_empty() { Batch::Large(most) } else { Batch::Texts(texts) };
                    }
                    let text = text(id, &log(news, number, &placed));
                    bytes = bytes.saturating_add(text.len());
                    texts.push(text);
                }
            }
        }
        let Some(next) = id.checked_add(1) else { break };
        *at = Place { subscription: next, event: 0 };
    }
    Batch::Texts(texts)
}

/// Writes the large message at a place. Returns the message, and the place after it. Returns `None` if the place has no
/// event.
pub(super) fn large(news: &BlockEvents, at: Place, most: usize) -> Option<(Vec<u8>, Place)> {
    let (number, placed) = news.events_from(at.event)?.next()?;
    // Reserve the whole vector: a growing vector would take more memory than the lease has.
    let mut text = Vec::with_capacity(most);
    write(&mut text, at.subscription, &log(news, number, &placed));
    Some((text, Place { event: at.event.saturating_add(1), ..at }))
}

fn log(news: &BlockEvents, number: u32, placed: &PlacedEvent<'_>) -> Log {
    let block = (news.tx_block.header.number, news.hash);
    let place = LogPlace { block, transaction: placed.transaction, number };
    Log::of_news(&place, placed.contract, &placed.event.name, &placed.event.params)
}

fn text(id: u64, result: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::new();
    write(&mut text, id, result);
    text
}

fn write(text: &mut Vec<u8>, id: u64, result: &impl Serialize) {
    let params = Params { result, subscription: format!("{id:#x}") };
    let message = Message { jsonrpc: "2.0", method: "eth_subscription", params };
    if let Err(error) = serde_json::to_writer(text, &message) {
        // These types always have a JSON form.
        tracing::error!(%error, "failed to write a notification; the client gets an incomplete text");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revert_repeats_no_notification_of_a_block_that_stays() {
        let block = BlockNumber::new;
        let half = Next { block: block(7), place: Place { subscription: 3, event: 40 } };
        for (lowest, expected) in [(9, half), (7, half), (6, Next::of(block(7))), (2, Next::of(block(3)))] {
            let mut next = half;
            next.revert(block(lowest));
            assert_eq!(next, expected, "{lowest}");
        }
    }
}
