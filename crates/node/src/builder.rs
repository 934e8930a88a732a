//! The builder of a node.

use std::{net::SocketAddr, path::PathBuf};

use silica_protocol::{Address, ChainId, Qa};

use crate::{
    block_mode::BlockMode,
    config::{Config, When},
    startup::{Node, RunningNode, StartError},
};

impl Node {
    /// Returns a builder of a node with a chain in memory, at a port that the system chooses.
    pub fn builder() -> NodeBuilder {
        NodeBuilder { config: Config::ephemeral() }
    }
}

/// Builds and starts a node. [`Config`] has further options, which [`NodeBuilder::configure`] sets.
///
/// # Examples
///
/// ```
/// use silica_node::{BlockMode, Node, protocol::{Address, Qa}};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rich = Address::new([7; 20]);
/// let node = Node::builder().block_mode(BlockMode::Manual).genesis_account(rich, Qa::new(5)).start().await?;
/// let balance: serde_json::Value = node.request("GetBalance", [rich.to_string()]).await?;
/// assert_eq!(balance["balance"], "5");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct NodeBuilder {
    config: Config,
}

impl NodeBuilder {
    /// Keeps the chain in a directory, which is created if it does not exist. The default is a chain in memory.
    pub fn data_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.data_dir = Some(path.into());
        self
    }

    /// Sets the address and port of the JSON-RPC server. With port 0, the system chooses the port. The default is
    /// `127.0.0.1:0`.
    pub fn listen(mut self, addr: SocketAddr) -> Self {
        self.config.listen = addr;
        self
    }

    /// Sets the chain id. The default is the chain id of the data directory, and 222 for a new chain.
    pub fn chain_id(mut self, id: impl Into<ChainId>) -> Self {
        self.config.chain_id = Some(id.into());
        self
    }

    /// Sets the block mode. The default is the instant mode.
    pub fn block_mode(mut self, mode: BlockMode) -> Self {
        self.config.block_mode = mode;
        self
    }

    /// Adds an account to the genesis block of a new chain. The chain also has the accounts of its
    /// [profile](Config::profile), which are the published accounts by default. For an existing data directory, see
    /// [`Config::genesis_accounts`].
    pub fn genesis_account(mut self, address: Address, balance: Qa) -> Self {
        self.config.genesis_accounts.push((address, balance));
        self
    }

    /// Sets whether the node serves methods for developers. The default is yes if all servers listen on loopback
    /// addresses.
    pub fn developer_methods(mut self, served: bool) -> Self {
        self.config.developer = if served { When::On } else { When::Off };
        self
    }

    /// Sets further options.
    pub fn configure(mut self, set: impl FnOnce(&mut Config)) -> Self {
        set(&mut self.config);
        self
    }

    /// Starts the node. Returns when the node accepts requests.
    ///
    /// # Errors
    ///
    /// [`StartError`] has a text for operators.
    pub async fn start(self) -> Result<RunningNode, StartError> {
        Node::start(self.config).await
    }
}
