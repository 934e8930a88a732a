//! Start and stop of a node.

mod background;
mod error;
mod listen;
#[cfg(feature = "network")]
mod member;
mod open;
mod pool;
mod request;
mod running_chain;

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use silica_chain::{AccountEntry, AccountsFile, Chain, PUBLISHED_ACCOUNTS};
use silica_protocol::Version;
use tokio::{
    sync::watch,
    task::{JoinHandle, spawn_blocking},
};
use zeroize::Zeroizing;

pub use self::{
    error::{StartError, StopError},
    request::RequestError,
};
use self::{
    listen::{Servers, decide_on_developer, decide_on_studio},
    open::{Open, Opened, open_with_progress},
    pool::import_pool,
    running_chain::RunningChain,
};
use crate::{
    banner::{Banner, FundedAccount},
    block_mode::BlockMode,
    config::{Config, When, profile},
    endpoint::Endpoint,
    home::Home,
    http::HttpLimits,
    methods,
    metrics::Metrics,
    ready_file::ReadyFile,
    rpc::Offer,
    settings::PublicSettings,
};

/// A Zilliqa node, which [`Node::start`] starts.
#[derive(Debug)]
pub struct Node;

impl Node {
    /// Starts a node. Returns when the node accepts requests.
    ///
    /// # Errors
    ///
    /// [`StartError`] has a text for operators.
    pub async fn start(config: Config) -> Result<RunningNode, StartError> {
        let open = opener(&config)?;
        check_needs_network(&config)?;
        let opened = open_with_progress(config.clone(), open).await?;
        // The committee of a network makes the blocks. No client of one member can change the chain.
        let config = match &config.network {
            Some(_) => Config { block_mode: BlockMode::Committee, developer: When::Off, ..config },
            None => config,
        };
        let metrics = Arc::new(Metrics::new(methods::table().entries().iter().map(|entry| entry.name)));
        let mut servers = Servers::bind(&config, &metrics).await?;
        // Prepare the ready file after the directory and the ports belong to this node. Before that, the file can
        // belong to another running node.
        let ready_file = config.ready_file.clone().map(ReadyFile::prepare).transpose()?;
        let listening = servers.listening();
        let developer = decide_on_developer(&config, &listening);
        let studio = decide_on_studio(&config, &listening)?;
        if studio {
            servers.serve_studio();
        }
        let banner = banner(&config, &opened, &servers, developer, studio);
        import_pool(opened.data_dir.as_ref(), &opened.chain)?;
        let chain = RunningChain::start(opened, &config, developer).await?;
        let handle = &chain.handle;
        handle.set_settings(public_settings(&config, developer, studio));
        if let Some(id) = config.pause_id {
            handle.pause().allow(id);
        }
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(background::report(handle.chain().clone(), stopped.clone()));
        let addr = servers.addr;
        let listed = config.methods.map(|list| list.select());
        let offer = Offer { table: methods::table(), developer, is_member: config.network.is_some(), listed };
        let path = chain.data_dir.as_ref().map(|data_dir| data_dir.path().to_owned());
        let endpoint = Endpoint::new(handle.clone(), offer, config.rpc, metrics, Home::new(&banner), path);
        let endpoint = Arc::new(endpoint);
        let http = servers.serve(Arc::clone(&endpoint), stopped);
        let parts = Some(Parts { http, endpoint, chain });
        Ok(RunningNode { addr, banner, http_limits: config.http, stop, ready_file, parts })
    }
}

/// Returns the function that opens the chain: that of a member of a network, or that of a single node.
#[cfg(feature = "network")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature `network`, it fails for a network file")]
fn opener(config: &Config) -> Result<Open, StartError> {
    Ok(if config.network.is_some() { member::open } else { open::open })
}

/// Returns the function that opens the chain of a single node. Fails if the configuration has a network file.
#[cfg(not(feature = "network"))]
fn opener(config: &Config) -> Result<Open, StartError> {
    match &config.network {
        Some(path) => Err(StartError::NoEngine { path: path.clone() }),
        None => Ok(open::open),
    }
}

/// Returns the facts about a node whose chain is open and whose addresses are bound.
fn banner(config: &Config, opened: &Opened, servers: &Servers, developer: bool, studio: bool) -> Banner {
    Banner {
        addr: servers.addr,
        websocket: servers.websocket,
        operator: servers.operator(),
        version: Version::of_chain(opened.chain.config().chain_id),
        block_mode: config.block_mode,
        developer,
        studio,
        data_dir: config.data_dir.clone(),
        latest: opened.chain.snapshot().latest_tx_block().header.number,
        node_key: opened.key.public_key(),
        accounts: funded(&opened.chain, &opened.accounts, config.show_keys),
    }
}

/// Returns the settings that the node shows to clients.
fn public_settings(config: &Config, developer: bool, studio: bool) -> PublicSettings {
    PublicSettings {
        developer,
        studio,
        profile: config.profile.name(),
        request_bytes: config.http.body_bytes,
        result_bytes: config.rpc.answer_bytes,
        batch_result_bytes: config.rpc.batch_answer_bytes,
        batch_calls: config.rpc.batch,
        units_per_second: config.http.each_second.map(NonZeroU32::get),
    }
}

/// Rejects options of a member of a network in a configuration without a network file.
fn check_needs_network(config: &Config) -> Result<(), StartError> {
    let given = ["validator", "acknowledge"].into_iter().find(|option| match *option {
        "validator" => config.validator,
        option => config.origins.has(option),
    });
    match given {
        Some(option) if config.network.is_none() => {
            Err(StartError::NeedsNetwork { option, by: config.origins.of(option) })
        }
        _ => Ok(()),
    }
}

/// A running node, which [`stop`](Self::stop) stops in order.
///
/// The drop of a running node also stops it. The drop blocks its thread until the block in production is made, the
/// pending transactions are stored, and the data directory is free. It does not wait for requests in progress. The port
/// becomes free when the runtime next runs the server.
#[derive(Debug)]
pub struct RunningNode {
    addr: SocketAddr,
    banner: Banner,
    http_limits: HttpLimits,
    stop: watch::Sender<bool>,
    ready_file: Option<ReadyFile>,
    /// `None` after the stop.
    parts: Option<Parts>,
}

/// The parts of a node that run or own files.
#[derive(Debug)]
struct Parts {
    http: JoinHandle<()>,
    endpoint: Arc<Endpoint>,
    chain: RunningChain,
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else { return };
        self.stop.send_replace(true);
        if let Err(error) = parts.chain.close() {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "failed to stop in order; the next start recovers the chain as after a crash"
            );
        }
    }
}

impl RunningNode {
    /// Returns the address of the JSON-RPC server.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the URL of the JSON-RPC server.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns the URL for subscribers: the separate WebSocket server, or the JSON-RPC server if there is no separate
    /// server.
    pub fn websocket_url(&self) -> String {
        format!("ws://{}", self.banner.websocket.unwrap_or(self.addr))
    }

    /// Returns the accounts of the genesis block whose secret keys the node has. [`FundedAccount::key`] returns `None`
    /// for a key that the node must not show.
    pub fn accounts(&self) -> &[FundedAccount] {
        &self.banner.accounts
    }

    /// Returns the chain, for queries without JSON-RPC. After the stop of the node, reads of a chain on disk fail.
    #[expect(clippy::missing_panics_doc, reason = "only the stop takes the parts, and the stop takes the node")]
    pub fn chain(&self) -> &Chain {
        self.parts.as_ref().expect("the node runs").chain.handle.chain()
    }

    /// Calls a JSON-RPC method in this process, without a socket. The call has no rate limit, and may use methods for
    /// developers if the node serves them.
    ///
    /// # Errors
    ///
    /// [`RequestError`]: the parameters have no JSON form, the method returns an error, the result does not have the
    /// form of `T`, or there is no response.
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_node::Node;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let node = Node::builder().start().await?;
    /// let id: String = node.request("GetNetworkId", [""]).await?;
    /// assert_eq!(id, "222");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn request<T: DeserializeOwned>(&self, method: &str, params: impl Serialize) -> Result<T, RequestError> {
        match &self.parts {
            Some(parts) => request::request(&parts.endpoint, self.http_limits, method, &params).await,
            None => Err(RequestError::NoResponse),
        }
    }

    #[cfg(test)]
    pub(crate) fn handle(&self) -> &crate::driver::NodeHandle {
        &self.parts.as_ref().expect("the node runs").chain.handle
    }

    /// Returns the facts about the node, for users and programs.
    pub fn banner(&self) -> &Banner {
        &self.banner
    }

    /// Takes the ready file, which is not yet written. Returns `None` if no option names a ready file, or after the
    /// first call.
    pub fn take_ready_file(&mut self) -> Option<ReadyFile> {
        self.ready_file.take()
    }

    /// Completes the requests in progress, stops the driver, and closes the chain. If the caller drops the future, the
    /// stop continues.
    ///
    /// # Errors
    ///
    /// [`StopError`]. The stored chain is complete even after an error.
    pub async fn stop(mut self) -> Result<(), StopError> {
        let Some(mut parts) = self.parts.take() else { return Ok(()) };
        self.stop.send_replace(true);
        // A separate task: a caller can drop this future, for example after a timeout, and the stop continues.
        let stopped = tokio::spawn(async move {
            if (&mut parts.http).await.is_err() {
                tracing::error!("the server panicked; the stop continues");
            }
            spawn_blocking(|| parts.chain.close()).await.map_err(|_| StopError::Panicked)?
        });
        stopped.await.map_err(|_| StopError::Panicked)?
    }
}

/// Returns the accounts of the accounts file that have a secret key, with their balances at the head. Accounts with a
/// number are first, in ascending order of the numbers. Without `show_keys`, the result has the secret keys of
/// published accounts only, because terminals and logs show the banner.
fn funded(chain: &Chain, accounts: &str, show_keys: bool) -> Vec<FundedAccount> {
    let Ok(file) = AccountsFile::parse(accounts) else { return Vec::new() };
    let snapshot = chain.snapshot();
    let account = |entry: &AccountEntry| {
        let (secret_key, address) = (entry.secret_key()?, entry.owner()?.ok()?);
        let balance = snapshot.account(&address).ok()??.balance;
        let is_published = profile::is_published(&address);
        let secret_key = (show_keys || is_published).then(|| Zeroizing::new(secret_key.to_owned()));
        let position = PUBLISHED_ACCOUNTS.iter().position(|published| published.address() == address);
        let number = position.map(|position| position.saturating_add(1));
        Some(FundedAccount { number, address, secret_key, is_published, balance })
    };
    let mut accounts: Vec<_> = file.entries().iter().filter_map(account).collect();
    accounts.sort_by_key(|account| account.number.unwrap_or(usize::MAX));
    accounts
}
