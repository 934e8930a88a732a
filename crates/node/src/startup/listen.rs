//! The servers of a node with their addresses, and the decisions that depend on these addresses: whether the node
//! serves methods for developers, and whether it serves the studio.

use std::{net::SocketAddr, sync::Arc};

use tokio::{sync::watch, task::JoinHandle};

use super::StartError;
use crate::{
    block_mode::BlockMode,
    config::{Config, When},
    endpoint::Endpoint,
    http::{HttpLimits, Server, Serves},
    listen::{DEFAULT_WEBSOCKET_PORT, WebSocketPort},
    metrics::Metrics,
};

/// Maximum number of connections at the address for operators.
const OPERATORS: usize = 16;

/// The servers of a node, with their bound addresses.
pub(super) struct Servers {
    /// The server of JSON-RPC.
    server: Server,
    /// Address of the JSON-RPC server.
    pub(super) addr: SocketAddr,
    /// Address of the separate port for subscribers.
    pub(super) websocket: Option<SocketAddr>,
    /// The server of the pages for operators, with its address. `None` if they are on the ports of JSON-RPC.
    operators: Option<(Server, SocketAddr)>,
}

impl Servers {
    /// Binds the addresses of the pages for operators, of JSON-RPC, and of the separate port for subscribers.
    pub(super) async fn bind(config: &Config, metrics: &Arc<Metrics>) -> Result<Self, StartError> {
        let operators = bind_operators(config, metrics).await?;
        let serves = if operators.is_some() { Serves::Public } else { Serves::All };
        let mut server = Server::new(config.http, serves, config.access.clone(), Arc::clone(metrics));
        let listen = |source| StartError::Listen { addr: config.listen, source };
        let addr = server.bind(config.listen).await.map_err(listen)?;
        let websocket = bind_websocket(&mut server, config).await?;
        Ok(Self { server, addr, websocket, operators })
    }

    /// Returns the addresses at which the node accepts JSON-RPC.
    pub(super) fn listening(&self) -> Vec<SocketAddr> {
        std::iter::once(self.addr).chain(self.websocket).collect()
    }

    /// Returns the separate address of the pages for operators.
    pub(super) fn operator(&self) -> Option<SocketAddr> {
        self.operators.as_ref().map(|(_, addr)| *addr)
    }

    /// Adds the studio to the content of the JSON-RPC server.
    pub(super) fn serve_studio(&mut self) {
        self.server.serve_studio();
    }

    /// Serves in a task until `stopped` becomes true.
    pub(super) fn serve(self, endpoint: Arc<Endpoint>, stopped: watch::Receiver<bool>) -> JoinHandle<()> {
        tokio::spawn(async move {
            let pages = async {
                if let Some((operators, _)) = self.operators {
                    operators.serve(Arc::clone(&endpoint), stopped.clone()).await;
                }
            };
            tokio::join!(self.server.serve(Arc::clone(&endpoint), stopped.clone()), pages);
        })
    }
}

/// Binds the separate port for subscribers, which serves the same protocols as the first port. Returns the address, or
/// `None` if the node has no separate port. If the default port cannot be bound, the result is also `None`, without an
/// error.
async fn bind_websocket(server: &mut Server, config: &Config) -> Result<Option<SocketAddr>, StartError> {
    let (addr, required) = match config.websocket {
        Some(WebSocketPort::Off) => return Ok(None),
        Some(WebSocketPort::At(addr)) => (addr, true),
        // Tests and tools let the system choose the port, and run several nodes at once. A fixed second port would
        // collide.
        None if config.listen.port() == 0 => return Ok(None),
        None => (SocketAddr::new(config.listen.ip(), DEFAULT_WEBSOCKET_PORT), false),
    };
    match server.bind(addr).await {
        Ok(addr) => Ok(Some(addr)),
        Err(source) if required => Err(StartError::Listen { addr, source }),
        Err(error) => {
            tracing::warn!(
                %addr,
                %error,
                "failed to bind the port for subscribers; the main port serves subscriptions; --websocket sets another port"
            );
            Ok(None)
        }
    }
}

/// Binds the address for operators. Returns `None` if no option names this address. The address has separate connection
/// slots, so that clients of JSON-RPC cannot use all of them.
async fn bind_operators(config: &Config, metrics: &Arc<Metrics>) -> Result<Option<(Server, SocketAddr)>, StartError> {
    let Some(addr) = config.operator_listen else { return Ok(None) };
    let limits = HttpLimits { connections: OPERATORS, each_second: None, ..config.http };
    let mut server = Server::new(limits, Serves::Pages, config.access.clone(), Arc::clone(metrics));
    let addr = server.bind(addr).await.map_err(|source| StartError::Listen { addr, source })?;
    tracing::info!(%addr, "serving pages for operators");
    Ok(Some((server, addr)))
}

/// Returns whether the node serves methods for developers, and logs the decision.
pub(super) fn decide_on_developer(config: &Config, listening: &[SocketAddr]) -> bool {
    let developer = config.developer.is_on(listening);
    match (config.developer, developer, config.block_mode) {
        (_, false, BlockMode::Manual) => {
            tracing::warn!("no client can request a block: methods for developers are off, see --developer");
        }
        (_, false, BlockMode::ManualImmediate) => {
            tracing::warn!(
                "no client can increase the logical block number: methods for developers are off, see --developer"
            );
        }
        (When::Auto, false, _) => {
            tracing::info!(
                "methods for developers are off, because other machines can reach this node; see --developer"
            );
        }
        (_, false, _) => tracing::info!("methods for developers are off"),
        (_, true, _) => tracing::info!(
            "methods for developers are ON: programs that reach the port can change balances, time and blocks; behind a \
             proxy, or on a machine with other users, start the node with --developer off"
        ),
    }
    developer
}

/// Returns whether the node serves the studio at these addresses.
///
/// # Errors
///
/// The configuration requires the studio, and the program does not have its files.
pub(super) fn decide_on_studio(config: &Config, listening: &[SocketAddr]) -> Result<bool, StartError> {
    let is_missing = silica_studio::ASSETS.is_empty();
    match (config.studio, config.studio.is_on(listening)) {
        (When::On, _) if is_missing => Err(StartError::NoStudio),
        (When::Auto, false) if !is_missing => {
            tracing::info!("the studio is off, because other machines can reach this node; see --studio");
            Ok(false)
        }
        (_, is_wanted) => Ok(is_wanted && !is_missing),
    }
}
