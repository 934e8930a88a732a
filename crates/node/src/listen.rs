//! Addresses at which a node listens.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    str::FromStr,
};

/// Port of the subscription server, as the reference has it (`WEBSOCKET_PORT`).
pub(crate) const DEFAULT_WEBSOCKET_PORT: u16 = 4401;

/// The separate port for subscribers (`--websocket`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSocketPort {
    /// There is none.
    Off,
    /// An address; for port 0 the system chooses one.
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

/// Reads a numeric address and a port. A name could have several addresses, or another one tomorrow.
pub(crate) fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected a numeric address and a port, as 127.0.0.1:5555 or [::1]:5555".to_owned())
}

/// Address and port of the JSON-RPC server, as the isolated server has them.
pub(crate) const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5555);
