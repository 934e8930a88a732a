//! WebSocket connections: the subscription server of Zilliqa (Reference: subscriptions#connection), and JSON-RPC.
//!
//! ```text
//! client ──messages──▶ Session ──▶ Topics (what the client follows)
//!    ▲                    │  └───▶ Service (JSON-RPC) ──▶ EthSubscriptions (what it follows with eth_subscribe)
//!    └──notifications──── │ ◀──── BlockEventCache (the events of a block) ◀── Snapshot
//!                         └ ◀──── a signal after each new head, from the driver
//! ```
//!
//! A session stores the number of the next block of each topic, and reads the events of this block from a shared cache.
//! It has no queue of notifications: a slow client gets all notifications, later. A replay begins with the number of an
//! earlier block. A session holds a connection slot, permits for the addresses that its client follows, and the chunk
//! that it is sending. Large texts reserve memory of the budget that all connections share.

mod block_events;
mod eth;
mod metered;
mod session;
mod topics;
mod wire;

pub(crate) use self::session::SubscriptionHub;
