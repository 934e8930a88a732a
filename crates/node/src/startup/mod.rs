//! Start and stop of a node.

mod error;
mod listen;
mod open;
mod pool;

use std::{net::SocketAddr, sync::Arc};

use silica_chain::{AccountEntry, AccountsFile, Chain, PUBLISHED_ACCOUNTS, consensus::Solo};
use silica_protocol::Version;
use tokio::{
    sync::watch,
    task::{JoinHandle, spawn_blocking},
};
use zeroize::Zeroizing;

pub use self::error::{StartError, StopError};
use self::{
    listen::{bind_operators, bind_websocket, decide_on_developer},
    open::{Opened, open_with_progress},
    pool::{export_pool, import_pool},
};
use crate::{
    banner::{Banner, FundedAccount},
    clock::Clock,
    config::{Config, profile},
    data_dir::DataDir,
    driver::{self, NodeHandle, RunningDriver},
    endpoint::Endpoint,
    home::Home,
    http::{Server, Serves},
    methods,
    metrics::Metrics,
    ready_file::ReadyFile,
    rpc::Offer,
};

/// A Zilliqa node, which [`Node::start`] starts.
#[derive(Debug)]
pub struct Node;

impl Node {
    /// Starts a node. Returns when the node answers requests.
    ///
    /// # Errors
    ///
    /// [`StartError`] has a text for operators.
    pub async fn start(config: Config) -> Result<RunningNode, StartError> {
        let opened = open_with_progress(config.clone()).await?;
        let Opened { data_dir, accounts, key, chain, producer } = opened;
        let listen = |source| StartError::Listen { addr: config.listen, source };
        let metrics = Arc::new(Metrics::new(methods::table().entries().iter().map(|entry| entry.name)));
        let (operators, operator) = bind_operators(&config, &metrics).await?.unzip();
        let serves = if operators.is_some() { Serves::Public } else { Serves::All };
        let mut server = Server::new(config.http, serves, config.access.clone(), Arc::clone(&metrics));
        let addr = server.bind(config.listen).await.map_err(listen)?;
        let websocket = bind_websocket(&mut server, &config).await?;
        // Prepare the ready file after the directory and the ports belong to this node. Before that, the file can
        // belong to another running node.
        let ready_file = config.ready_file.clone().map(ReadyFile::prepare).transpose()?;
        let developer = decide_on_developer(&config, addr, websocket);
        let banner = Banner {
            addr,
            websocket,
            operator,
            version: Version::of_chain(chain.config().chain_id),
            block_mode: config.block_mode,
            developer,
            data_dir: config.data_dir.clone(),
            latest: chain.snapshot().latest_tx_block().header.number,
            node_key: key.public(),
            accounts: funded(&chain, &accounts, config.show_keys),
        };
        import_pool(data_dir.as_ref(), &chain, producer.has_failed())?;
        let data_dir = data_dir.map(Arc::new);
        // A method for developers may have set the clock forward. In this case, the clock must not start before the
        // time of the latest block. A node without these methods uses the system clock.
        let latest = chain.snapshot().latest_tx_block().timestamp;
        let clock = if developer { Clock::not_before(latest) } else { Clock::default() };
        let started = driver::start(chain, producer, Solo::new(key), config.block_mode, clock, data_dir.clone());
        let (handle, driver) = started.map_err(StartError::System)?;
        if let Some(id) = config.pause_id {
            handle.pause().allow(id);
        }
        let (stop, stopped) = watch::channel(false);
        let listed = config.methods.map(|list| list.select());
        let offer = Offer { table: methods::table(), developer, listed };
        let home = Home::new(&banner);
        let path = data_dir.as_ref().map(|data_dir| data_dir.path().to_owned());
        let endpoint = Endpoint::new(handle.clone(), offer, config.rpc, metrics, home, path);
        let endpoint = Arc::new(endpoint);
        let http = tokio::spawn(async move {
            let pages = async {
                if let Some(operators) = operators {
                    operators.serve(Arc::clone(&endpoint), stopped.clone()).await;
                }
            };
            tokio::join!(server.serve(Arc::clone(&endpoint), stopped.clone()), pages);
        });
        Ok(RunningNode { addr, banner, stop, http, driver, handle, data_dir, ready_file })
    }
}

/// A running node, which [`stop`](Self::stop) stops in order.
#[derive(Debug)]
pub struct RunningNode {
    addr: SocketAddr,
    banner: Banner,
    stop: watch::Sender<bool>,
    http: JoinHandle<()>,
    driver: RunningDriver,
    handle: NodeHandle,
    data_dir: Option<Arc<DataDir>>,
    ready_file: Option<ReadyFile>,
}

impl RunningNode {
    /// Returns the address of the JSON-RPC server.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    #[cfg(test)]
    pub(crate) const fn handle(&self) -> &NodeHandle {
        &self.handle
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

    /// Completes the requests in progress, stops the driver, and closes the chain.
    ///
    /// # Errors
    ///
    /// [`StopError`]. The stored chain is complete even after an error.
    pub async fn stop(self) -> Result<(), StopError> {
        let Self { stop, http, driver, handle, data_dir, .. } = self;
        stop.send_replace(true);
        if http.await.is_err() {
            tracing::error!("the server panicked; the stop continues");
        }
        let closed = spawn_blocking(move || {
            let producer = driver.stop().map_err(|_| StopError::Panicked)?;
            let kept = data_dir.map_or(Ok(()), |data_dir| export_pool(&data_dir, &handle));
            if let Err(error) = &kept {
                // Log the error here. If the store then fails to close, the function returns only the error of the
                // store.
                tracing::error!(error = error as &dyn std::error::Error, "some pending transactions are lost");
            }
            // Close the chain even if the node failed to store the pending transactions.
            producer.into_store().close().map_err(StopError::Store)?;
            kept
        });
        closed.await.map_err(|_| StopError::Panicked)?
    }
}

/// Returns the accounts of the accounts file that have a secret key, with their balances at the head. Published
/// accounts are first, in ascending order of their numbers. Without `show_keys`, the result has the secret keys of
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
