//! Listen addresses of a node.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    str::FromStr,
};

/// Default port of the subscription server, as in the reference (`WEBSOCKET_PORT`).
pub(crate) const DEFAULT_WEBSOCKET_PORT: u16 = 4401;

/// The separate port for subscribers (`--websocket`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSocketPort {
    /// The node has no separate port.
    Off,
    /// An address. With port 0, the system chooses the port.
    At(SocketAddr),
}

impl FromStr for WebSocketPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            address => socket_address(address).map(Self::At).map_err(|error| format!("{error}; or off")),
        }
    }
}

/// Parses a numeric IP address and a port. Rejects host names, because a name can have several addresses, and can
/// change them.
pub(crate) fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected a numeric address and a port, such as 127.0.0.1:5555 or [::1]:5555".to_owned())
}

/// Default address and port of the JSON-RPC server, as in the isolated server.
pub(crate) const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5555);
