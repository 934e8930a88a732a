//! WebSocket connections: the subscription server of Zilliqa (interface specification, section 5), and JSON-RPC.
//!
//! ```text
//! client ──messages──▶ Session ──▶ Topics (what it follows)
//!    ▲                    │  └───▶ Service (JSON-RPC)
//!    └──notifications──── │ ◀──── Newspaper (what happened in a block) ◀── Snapshot
//!                         └ ◀──── the number of the head, from the driver
//! ```
//!
//! A session keeps the number of the next block of which its client is to be told, and reads what happened from the
//! chain. So a client that reads slowly gets everything, later. It costs its place, the addresses it follows, and the
//! piece of a text that is on its way; large texts take memory that all connections share.

mod metered;
mod news;
mod session;
mod topics;
mod wire;

pub(crate) use self::session::Lobby;
