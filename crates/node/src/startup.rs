//! Starting and stopping a node.

use std::{
    io,
    net::SocketAddr,
    num::NonZeroU64,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use silica_chain::{
    AccountEntry, AccountsFile, Chain, ChainConfig, Genesis, GenesisError, OpenError, PUBLISHED_ACCOUNTS,
    PUBLISHED_BALANCE, PoolImport, Producer,
    consensus::{Solo, run_seal},
};
use silica_crypto::{KeyPair, SecretKeyError};
use silica_protocol::{BlockNumber, Version};
use silica_scilla::rules::Rules;
use silica_state::{ArchiveError, OpenOutcome, Store, StoreOptions};
use tokio::{
    sync::watch,
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};
use zeroize::Zeroizing;

use crate::{
    banner::{Banner, FundedAccount},
    block_mode::BlockMode,
    clock::{self, Clock},
    config::{
        Config, Developer, Durability,
        profile::{self, Profile},
    },
    data_dir::{self, DataDir, DataDirError, LONGEST_ACCOUNTS, LONGEST_POOL, Manifest, Parameters, remedy},
    driver::{self, NodeHandle, RunningDriver},
    dump,
    endpoint::Endpoint,
    files,
    home::Home,
    http::{HttpLimits, Server, Serves},
    listen::{DEFAULT_WEBSOCKET_PORT, WebSocketPort},
    methods,
    metrics::Metrics,
    progress::Progress,
    ready_file::{ReadyFile, ReadyFileError},
    rpc::Offer,
};

/// Time that opening a chain may take before the log says that it goes on.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connections at the address for operators.
const OPERATORS: usize = 16;

/// Reason why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The file of accounts cannot be read.
    #[error("cannot read accounts file {}", path.display())]
    AccountsFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file of accounts does not hold accounts.
    #[error("accounts file {}", path.display())]
    Accounts {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: GenesisError,
    },
    /// The words give no key, which happens to one seed in 2¹²⁷.
    #[error("the words of the mnemonic give no key")]
    Words(#[from] SecretKeyError),
    /// The store cannot be opened.
    #[error("cannot open the chain{}{}", at(path.as_ref()), remedy(source))]
    Store {
        /// Where it is kept; `None` in memory.
        path: Option<PathBuf>,
        /// What is wrong with it.
        source: silica_state::OpenError,
    },
    /// The chain in the store cannot be continued.
    #[error("cannot continue the chain{}", at(path.as_ref()))]
    Chain {
        /// Where it is kept; `None` in memory.
        path: Option<PathBuf>,
        /// Why not.
        source: Box<OpenError>,
    },
    /// The server cannot listen.
    #[error("cannot listen on {addr}{}", listen_hint(source))]
    Listen {
        /// Where.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system gives no thread, or no randomness.
    #[error("the system refuses what a node needs")]
    System(#[source] io::Error),
    /// The ready file cannot be written where it is wanted.
    #[error(transparent)]
    ReadyFile(#[from] ReadyFileError),
    /// Opening the chain panicked.
    #[error("opening the chain panicked; the log says where")]
    Panicked,
}

/// Binds the port of the subscription server, whose protocol the first port speaks too. Where nobody has asked for it,
/// another program may have it.
async fn bind_websocket(server: &mut Server, config: &Config) -> Result<Option<SocketAddr>, StartError> {
    let (addr, required) = match config.websocket {
        Some(WebSocketPort::Off) => return Ok(None),
        Some(WebSocketPort::At(addr)) => (addr, true),
        // Whoever lets the system choose a port wants none that is fixed.
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

/// Binds the address at which operators alone find pages. Its places are its own, so that a crowd of clients does not hide
/// them.
async fn bind_operators(config: &Config, metrics: &Arc<Metrics>) -> Result<Option<(Server, SocketAddr)>, StartError> {
    let Some(addr) = config.operator_listen else { return Ok(None) };
    let limits = HttpLimits { connections: OPERATORS, each_second: None, ..config.http };
    let mut server = Server::new(limits, Serves::Pages, config.access.clone(), Arc::clone(metrics));
    let addr = server.bind(addr).await.map_err(|source| StartError::Listen { addr, source })?;
    tracing::info!("pages for operators at {addr}");
    Ok(Some((server, addr)))
}

/// Decides whether methods for developers are answered.
fn decide_on_developer(config: &Config, addr: SocketAddr, websocket: Option<SocketAddr>) -> bool {
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

fn at(path: Option<&PathBuf>) -> String {
    path.map(|path| format!(" in {}", path.display())).unwrap_or_default()
}

fn listen_hint(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::AddrInUse {
        ": the port is in use; stop the other program, or choose another with --listen"
    } else {
        ""
    }
}

/// A Zilliqa node.
#[derive(Debug)]
pub struct Node;

impl Node {
    /// Starts a node, and returns once it answers.
    ///
    /// # Errors
    ///
    /// [`StartError`], in words for whoever started it.
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
        // Not before the directory and the ports are this node's: the file may be that of another node which has them.
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
        // A developer may have put the clock forward; on other nodes the time of blocks waits for that of the system.
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

/// A node that answers.
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
    /// Where the JSON-RPC server listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    #[cfg(test)]
    pub(crate) const fn handle(&self) -> &NodeHandle {
        &self.handle
    }

    /// What to tell whoever started the node.
    pub fn banner(&self) -> &Banner {
        &self.banner
    }

    /// Takes the place of the ready file, which was not written yet; `None` if none is wanted.
    pub fn take_ready_file(&mut self) -> Option<ReadyFile> {
        self.ready_file.take()
    }

    /// Finishes the requests that were begun, makes no further block, and closes the chain.
    ///
    /// # Errors
    ///
    /// [`StopError`]: the chain is whole nevertheless.
    pub async fn stop(self) -> Result<(), StopError> {
        let Self { stop, http, driver, handle, data_dir, .. } = self;
        stop.send_replace(true);
        if http.await.is_err() {
            tracing::error!("the server panicked");
        }
        let closed = spawn_blocking(move || {
            let producer = driver.stop().map_err(|_| StopError::Panicked)?;
            let kept = data_dir.map_or(Ok(()), |data_dir| export_pool(&data_dir, &handle));
            if let Err(error) = &kept {
                // Told here, since what ends the node may be the next one.
                tracing::error!(error = error as &dyn std::error::Error, "the node stops without all that waits");
            }
            // The chain is closed in good order even if the waiting transactions cannot be kept.
            producer.into_store().close().map_err(StopError::Store)?;
            kept
        });
        closed.await.map_err(|_| StopError::Panicked)?
    }
}

/// Reason why a node did not stop in good order.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// A thread panicked; the log says where.
    #[error("a thread of the node panicked")]
    Panicked,
    /// Not all waiting transactions can be kept.
    #[error("{lost} waiting transactions are lost, {kept} are kept")]
    Pool {
        /// Those that will wait again, the oldest.
        kept: usize,
        /// Those that will not.
        lost: usize,
        /// Why not.
        source: Box<DataDirError>,
    },
    /// The store could not be closed in good order.
    #[error("cannot close the chain")]
    Store(#[source] silica_state::CloseError),
}

/// What opening yields.
struct Opened {
    data_dir: Option<DataDir>,
    accounts: Zeroizing<String>,
    key: KeyPair,
    chain: Chain,
    producer: Producer,
}

/// Opens the chain on a thread that may block, and says so in the log when it takes long.
async fn open_with_progress(config: Config) -> Result<Opened, StartError> {
    let begun = Instant::now();
    let mut opening = spawn_blocking(move || open(&config));
    loop {
        if let Ok(opened) = timeout(PATIENCE, &mut opening).await {
            return opened.map_err(|_| StartError::Panicked)?;
        }
        tracing::info!("opening the chain, for {} s so far", begun.elapsed().as_secs());
    }
}

fn open(config: &Config) -> Result<Opened, StartError> {
    let Some(path) = &config.data_dir else {
        let accounts = read_accounts(config)?;
        let key = data_dir::draw_key().map_err(StartError::System)?;
        let manifest = Manifest::new(parameters(config), &accounts, &key);
        let store = Store::ephemeral(store_options(config));
        let (chain, producer) = open_chain(store, config, &manifest, &accounts, &key)?;
        return Ok(Opened { data_dir: None, accounts, key, chain, producer });
    };
    let data_dir = DataDir::create(path)?;
    if let Err(error) = dump::remove_drafts(&data_dir) {
        let directory = data_dir.dumps();
        tracing::warn!(%error, directory = %directory.display(), "files that were not finished are left, with the node's key");
    }
    let (mut manifest, accounts, key) = match data_dir.manifest()? {
        Some(manifest) => {
            check_same_chain(&data_dir, &manifest, config)?;
            let accounts = data_dir.accounts(&manifest)?;
            check_same_accounts(&data_dir, &accounts, config)?;
            check_same_rules(&data_dir, &manifest, config)?;
            let key = data_dir.key(&manifest)?;
            (manifest, accounts, key)
        }
        None => begin_chain(&data_dir, config)?,
    };
    let mut progress = Progress::new("indexing blocks again");
    let store =
        Store::open_with_progress(&data_dir.store(), store_options(config), &mut |done, all| progress.tell(done, all))
            .map_err(|source| StartError::Store { path: Some(path.clone()), source })?;
    data_dir.check_not_lost(&manifest, &store)?;
    let (chain, producer) = open_chain(store, config, &manifest, &accounts, &key)?;
    check_genesis(&data_dir, &mut manifest, &chain)?;
    Ok(Opened { data_dir: Some(data_dir), accounts, key, chain, producer })
}

/// Puts in place what makes a directory that of a chain. The manifest comes last: from then on the directory holds a
/// chain, even if this start is interrupted.
fn begin_chain(data_dir: &DataDir, config: &Config) -> Result<(Manifest, Zeroizing<String>, KeyPair), StartError> {
    let accounts = read_accounts(config)?;
    parse_accounts(&accounts, config)?;
    let key = data_dir.new_key()?;
    data_dir.write_accounts(&accounts)?;
    let manifest = Manifest::new(parameters(config), &accounts, &key);
    data_dir.write_manifest(&manifest)?;
    Ok((manifest, accounts, key))
}

fn open_chain(
    store: Store,
    config: &Config,
    manifest: &Manifest,
    accounts: &str,
    key: &KeyPair,
) -> Result<(Chain, Producer), StartError> {
    store.seal_with(run_seal(key));
    if let OpenOutcome::Ready { rebuilt: Some(reason), .. } = store.outcome() {
        tracing::warn!("the derived state was damaged and has been rebuilt: {reason}");
    }
    let genesis = parse_accounts(accounts, config)?;
    for warning in genesis.warnings() {
        tracing::warn!("{warning}");
    }
    let failed = |source| StartError::Chain { path: config.data_dir.clone(), source: Box::new(source) };
    let chain_config = chain_config(config, manifest);
    if let OpenOutcome::NeedsReplay { from, head, reason } = store.outcome() {
        tracing::warn!("the derived state is lost: {reason}; blocks {from} to {head} are executed again");
        let mut progress = Progress::new("executing blocks again");
        let mut tell = |number: BlockNumber, last: BlockNumber| progress.tell(number.get(), last.get());
        silica_chain::rebuild(&store, chain_config.clone(), &genesis, key.public(), &mut tell)
            .map_err(|source| failed(source.into()))?;
    }
    silica_chain::open(store, chain_config, &genesis, key.public(), clock::now()).map_err(failed)
}

/// The parameters of a new chain.
fn parameters(config: &Config) -> Parameters {
    let default = ChainConfig::isolated();
    Parameters {
        chain_id: config.chain_id.unwrap_or(default.chain_id).get(),
        shards: config.shards.unwrap_or(default.shards),
        blocks_per_ds_epoch: config.blocks_per_ds_epoch.unwrap_or(default.blocks_per_ds_epoch),
        scilla_rules: config.scilla_rules.map_or(default.rules.scilla, Rules::newest),
    }
}

/// The parameters of the chain, with the policy of the configuration.
fn chain_config(config: &Config, manifest: &Manifest) -> ChainConfig {
    let mut chain = manifest.chain_config();
    let policy = &mut chain.policy;
    policy.nonces = config.profile.nonces();
    policy.proof_window = NonZeroU64::new(config.proof_window).unwrap_or(policy.proof_window);
    policy.pool.transactions = usize::try_from(config.max_pending).unwrap_or(usize::MAX);
    policy.pool.gapped_per_sender = usize::try_from(config.max_gapped).unwrap_or(usize::MAX);
    chain
}

fn store_options(config: &Config) -> StoreOptions {
    StoreOptions {
        cache_bytes: config.cache_bytes,
        history: config.proof_window,
        durability: match config.durability {
            Durability::Flush => silica_state::Durability::Flush,
            Durability::Relaxed => silica_state::Durability::Relaxed,
        },
        ..StoreOptions::default()
    }
}

/// Refuses to continue a chain with other parameters than it was made with.
fn check_same_chain(data_dir: &DataDir, manifest: &Manifest, config: &Config) -> Result<(), DataDirError> {
    let differs = |name, option, found: u64, wanted: Option<u64>| match wanted {
        Some(wanted) if wanted != found => Err(data_dir.other_chain(name, &found, &config.origins.of(option), &wanted)),
        Some(_) | None => Ok(()),
    };
    differs("id", "chain-id", manifest.chain_id.into(), config.chain_id.map(|id| id.get().into()))?;
    differs("shards", "shards", manifest.shards.into(), config.shards.map(Into::into))?;
    let wanted = config.blocks_per_ds_epoch;
    differs("blocks per DS epoch", "blocks-per-ds-epoch", manifest.blocks_per_ds_epoch, wanted)
}

/// Refuses to continue a chain by other Scilla rules than those of its blocks. The accounts are compared first: where a
/// profile asks for other rules and other accounts, they say more about which chain it is.
fn check_same_rules(data_dir: &DataDir, manifest: &Manifest, config: &Config) -> Result<(), DataDirError> {
    let found = manifest.scilla_rules().edition();
    match config.scilla_rules {
        Some(wanted) if wanted != found => {
            Err(data_dir.other_chain("Scilla rules", &found, &config.origins.of("scilla-rules"), &wanted))
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses to continue a chain with other accounts than it began with. A profile that is asked for has to be that of the
/// chain only if the chain has the accounts of another one: a file may have given them.
fn check_same_accounts(data_dir: &DataDir, kept: &str, config: &Config) -> Result<(), StartError> {
    let (option, wanted_name) = match (&config.accounts_file, &config.mnemonic) {
        (Some(file), _) => ("accounts-file", format!("those of {}", file.display())),
        (None, Some((_, count))) => ("mnemonic", format!("{count} of its words")),
        (None, None) if config.origins.has("profile") => ("profile", format!("those of {}", config.profile.name())),
        (None, None) => return Ok(()),
    };
    let wanted = parse_accounts(&read_accounts(config)?, config)?;
    let found = parse_accounts(kept, config)?;
    if wanted.accounts() == found.accounts() {
        return Ok(());
    }
    let mut owner = None;
    for profile in Profile::ALL {
        if parse_accounts(&profile.accounts(), config)?.accounts() == found.accounts() {
            owner = owner.or(Some(format!("of profile {}", profile.name())));
        }
    }
    match owner {
        None if option == "profile" => Ok(()),
        owner => {
            let found = owner.unwrap_or_else(|| "of its own".to_owned());
            Err(data_dir.other_chain("genesis accounts", &found, &config.origins.of(option), &wanted_name).into())
        }
    }
}

/// Compares the genesis block with the one that the manifest names, or names it there.
fn check_genesis(data_dir: &DataDir, manifest: &mut Manifest, chain: &Chain) -> Result<(), StartError> {
    let block = chain.snapshot().tx_block(BlockNumber::new(0));
    let failed = |source: ArchiveError| StartError::Chain {
        path: Some(data_dir.path().to_owned()),
        source: Box::new(OpenError::from(source)),
    };
    let found = block.map_err(failed)?.map(|block| block.header.hash().to_string()).unwrap_or_default();
    match &manifest.genesis {
        Some(genesis) if *genesis == found => Ok(()),
        Some(genesis) => Err(data_dir.other_chain("genesis block", &found, "the manifest", genesis).into()),
        None => {
            manifest.genesis = Some(found);
            Ok(data_dir.write_manifest(manifest)?)
        }
    }
}

fn read_accounts(config: &Config) -> Result<Zeroizing<String>, StartError> {
    match (&config.accounts_file, &config.mnemonic) {
        (Some(path), _) => {
            let unreadable = |source| StartError::AccountsFile { path: path.clone(), source };
            let bytes = files::read_named(path, LONGEST_ACCOUNTS).map_err(unreadable)?;
            let text = std::str::from_utf8(&bytes).map_err(|error| unreadable(io::Error::other(error)))?;
            Ok(Zeroizing::new(text.to_owned()))
        }
        (None, Some((words, count))) => Ok(profile::funded(&words.keys(*count)?, PUBLISHED_BALANCE)),
        (None, None) => Ok(config.profile.accounts()),
    }
}

fn parse_accounts(text: &str, config: &Config) -> Result<Genesis, StartError> {
    let path = || config.accounts_file.clone().unwrap_or_else(|| "accounts.json".into());
    Genesis::from_accounts_json(text).map_err(|source| StartError::Accounts { path: path(), source })
}

/// Returns the accounts of the genesis whose secret keys the file holds, with their balances now, in the order in which the
/// banner lists them. Unless `show_keys`, only published keys are among them: the banner ends up in terminals and logs.
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

/// Lets the transactions wait again that were waiting when the node stopped.
/// Puts the transactions that were waiting into the pool. Their file stays if `is_disk_full`: a stop could not write it again.
fn import_pool(data_dir: Option<&DataDir>, chain: &Chain, is_disk_full: bool) -> Result<(), StartError> {
    let Some(data_dir) = data_dir else { return Ok(()) };
    let Some(bytes) = data_dir.load_pool()? else { return Ok(()) };
    if !is_disk_full {
        data_dir.remove_pool()?;
    }
    match chain.import_pool(&bytes, clock::now()) {
        Ok(PoolImport { admitted, refused, damaged: 0 }) => {
            tracing::info!(admitted, refused, "waiting transactions");
        }
        Ok(PoolImport { admitted, refused, damaged }) => {
            tracing::warn!(admitted, refused, damaged, "waiting transactions; the file of the pool is damaged");
        }
        Err(error) => tracing::warn!(%error, "the transactions that were waiting are lost"),
    }
    Ok(())
}

/// Keeps what waits, or as many of the oldest as there is room for.
fn export_pool(data_dir: &DataDir, handle: &NodeHandle) -> Result<(), StopError> {
    let waiting = handle.chain().waiting();
    let (mut most, mut kept, mut failure) = (waiting, 0, None);
    while most > 0 {
        let (bytes, count) = handle.chain().export_oldest(most, LONGEST_POOL);
        match data_dir.write_pool(&bytes) {
            Ok(()) => {
                kept = count;
                break;
            }
            Err(source) => failure = failure.or(Some(source)),
        }
        most = most.saturating_sub(most.div_ceil(4));
    }
    let lost = waiting.saturating_sub(kept);
    if let Some(source) = failure {
        return Err(StopError::Pool { kept, lost, source: Box::new(source) });
    }
    if lost > 0 {
        tracing::warn!(
            kept,
            lost,
            longest = LONGEST_POOL,
            "the file of the pool has no room for all waiting transactions"
        );
    }
    Ok(())
}
