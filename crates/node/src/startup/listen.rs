//! The addresses of a node, and what follows from them.

use std::{net::SocketAddr, sync::Arc};

use super::StartError;
use crate::{
    block_mode::BlockMode,
    config::{Config, Developer},
    http::{HttpLimits, Server, Serves},
    listen::{DEFAULT_WEBSOCKET_PORT, WebSocketPort},
    metrics::Metrics,
};

/// Maximum of connections at the address for operators.
const OPERATORS: usize = 16;

/// Binds the separate port for subscribers. Both ports serve the same protocols. If no option names the port, and another
/// program uses it, the node has no such port.
pub(super) async fn bind_websocket(server: &mut Server, config: &Config) -> Result<Option<SocketAddr>, StartError> {
    let (addr, required) = match config.websocket {
        Some(WebSocketPort::Off) => return Ok(None),
        Some(WebSocketPort::At(addr)) => (addr, true),
        // A node whose port the system chooses takes no fixed port.
        None if config.listen.port() == 0 => return Ok(None),
        None => (SocketAddr::new(config.listen.ip(), DEFAULT_WEBSOCKET_PORT), false),
    };
    match server.bind(addr).await {
        Ok(addr) => Ok(Some(addr)),
        Err(source) if required => Err(StartError::Listen { addr, source }),
        Err(error) => {
            tracing::warn!(%addr, %error, "no port of their own for subscribers; choose another with --websocket");
            Ok(None)
        }
    }
}

/// Binds the address for operators. It has connection slots of its own, so that many clients cannot use them up.
pub(super) async fn bind_operators(
    config: &Config,
    metrics: &Arc<Metrics>,
) -> Result<Option<(Server, SocketAddr)>, StartError> {
    let Some(addr) = config.operator_listen else { return Ok(None) };
    let limits = HttpLimits { connections: OPERATORS, each_second: None, ..config.http };
    let mut server = Server::new(limits, Serves::Pages, config.access.clone(), Arc::clone(metrics));
    let addr = server.bind(addr).await.map_err(|source| StartError::Listen { addr, source })?;
    tracing::info!("pages for operators at {addr}");
    Ok(Some((server, addr)))
}

/// Decides whether the node answers methods for developers.
pub(super) fn decide_on_developer(config: &Config, addr: SocketAddr, websocket: Option<SocketAddr>) -> bool {
    let listening: Vec<_> = std::iter::once(addr).chain(websocket).collect();
    let developer = config.developer.is_on(&listening);
    match (config.developer, developer, config.block_mode) {
        (_, false, BlockMode::Manual) => {
            tracing::warn!("nobody can ask for blocks: methods for developers are off, see --developer");
        }
        (_, false, BlockMode::ManualImmediate) => {
            tracing::warn!("no client can move the block number: methods for developers are off, see --developer");
        }
        (Developer::Auto, false, _) => {
            tracing::info!("methods for developers are off, for others can reach this node; see --developer");
        }
        (_, false, _) => tracing::info!("methods for developers are off"),
        (_, true, _) => tracing::info!(
            "methods for developers are ON: programs on this machine can change balances, time and blocks; behind a \
             proxy, or where others have accounts, start the node with --developer off"
        ),
    }
    developer
}
