//! Filters of Ethereum for events, and the filters and subscriptions that clients keep on the node.
//!
//! An event of Scilla has one topic in the form of the successor: Keccak-256 of the text `NAME(string)`
//! (docs/explorers.md).

mod criteria;
mod session;
mod store;

pub(crate) use self::{
    criteria::{LogFilter, LogRange, MOST_VALUES, Progress, Topic, following, topic_of},
    session::{EthSubscriptions, Subscribed, SubscriptionsFull},
    store::{FilterStore, Followed, Kept, StoreFull},
};
