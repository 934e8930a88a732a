//! WebSocket connections: the subscription server of Zilliqa (Reference: subscriptions#connection), and JSON-RPC.
//!
//! ```text
//! client ──messages──▶ Session ──▶ Topics (what it follows)
//!    ▲                    │  └───▶ Service (JSON-RPC)
//!    └──notifications──── │ ◀──── BlockEventCache (what happened in a block) ◀── Snapshot
//!                         └ ◀──── the number of the head, from the driver
//! ```
//!
//! A session stores the number of the next block of which it notifies its client, and reads the events of that block from
//! a shared cache. There is no queue for a session: a client that reads slowly gets everything, later. A session takes a
//! connection slot, the addresses that it follows, and the piece of a text that is being sent. Large texts take memory of
//! the budget that all connections share.

mod block_events;
mod metered;
mod session;
mod topics;
mod wire;

pub(crate) use self::session::SubscriptionHub;
