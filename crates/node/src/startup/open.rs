//! Opening of the chain of a node.

use std::{
    io,
    num::NonZeroU64,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use silica_chain::{
    Chain, ChainConfig, Committees, Genesis, OpenError, PUBLISHED_BALANCE, Producer, consensus::range_signer,
};
use silica_crypto::KeyPair;
use silica_protocol::{BlockNumber, Timestamp};
use silica_scilla::rules::Rules;
use silica_state::{ArchiveError, OpenOutcome, Store, StoreOptions};
use tokio::{task::spawn_blocking, time::timeout};
use zeroize::{Zeroize, Zeroizing};

use super::StartError;
use crate::{
    clock,
    config::{Config, Durability, Profile, profile},
    data_dir::{self, DataDir, DataDirError, LONGEST_ACCOUNTS, Manifest, Parameters},
    dump, files,
    progress::Progress,
};

/// Time between two log lines during the opening of a chain.
const PATIENCE: Duration = Duration::from_secs(1);

/// An opened chain.
pub(super) struct Opened {
    /// The accounts file of the genesis block.
    pub(super) accounts: Zeroizing<String>,
    /// The key of the node.
    pub(super) key: KeyPair,
    pub(super) chain: Chain,
    pub(super) producer: Producer,
    /// The parts that a member of a network has in addition to its chain; `None` for a single node.
    #[cfg(feature = "network")]
    pub(super) member: Option<MemberParts>,
    /// The data directory; `None` for a chain in memory. The last field, so that a drop closes the chain before it
    /// unlocks the directory.
    pub(super) data_dir: Option<DataDir>,
}

impl Opened {
    /// Returns the chain of a single node.
    fn alone(
        data_dir: Option<DataDir>,
        accounts: Zeroizing<String>,
        key: KeyPair,
        (chain, producer): (Chain, Producer),
    ) -> Self {
        Self {
            accounts,
            key,
            chain,
            producer,
            #[cfg(feature = "network")]
            member: None,
            data_dir,
        }
    }
}

/// The parts that a member of a network has in addition to its chain.
#[cfg(feature = "network")]
pub(super) struct MemberParts {
    pub(super) network: silica_council::NetworkFile,
    pub(super) peer_key: Zeroizing<[u8; 32]>,
}

/// A function that opens a chain, or creates it.
pub(super) type Open = fn(&Config) -> Result<Opened, StartError>;

/// Opens the chain on a blocking thread. Logs a line every second until the chain is open.
pub(super) async fn open_with_progress(config: Config, open: Open) -> Result<Opened, StartError> {
    let begun = Instant::now();
    let mut opening = spawn_blocking(move || open(&config));
    loop {
        if let Ok(opened) = timeout(PATIENCE, &mut opening).await {
            return opened.map_err(|_| StartError::Panicked)?;
        }
        tracing::info!(seconds = begun.elapsed().as_secs(), "still opening the chain");
    }
}

/// Opens the chain of the configuration, or creates it.
pub(super) fn open(config: &Config) -> Result<Opened, StartError> {
    let Some(path) = &config.data_dir else {
        let accounts = read_accounts(config)?;
        let key = data_dir::draw_key().map_err(StartError::System)?;
        let manifest = Manifest::new(parameters(config), &accounts, &key);
        let opened = open_alone(Store::ephemeral(store_options(config)), config, &manifest, &accounts, &key)?;
        return Ok(Opened::alone(None, accounts, key, opened));
    };
    let data_dir = DataDir::create(path)?;
    data_dir.check_single_node()?;
    if let Err(error) = dump::remove_drafts(&data_dir) {
        let directory = data_dir.dumps();
        tracing::warn!(
            %error,
            directory = %directory.display(),
            "failed to remove unfinished dumps, which contain the node's key; the next start retries"
        );
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
    let store = open_store(config, &data_dir, &manifest)?;
    // With relaxed durability, a crash can lose the genesis block that this start makes.
    let is_genesis_stored = config.durability == Durability::Flush || *store.outcome() != OpenOutcome::Empty;
    let opened = open_alone(store, config, &manifest, &accounts, &key)?;
    check_genesis(&data_dir, &mut manifest, &opened.0, is_genesis_stored)?;
    Ok(Opened::alone(Some(data_dir), accounts, key, opened))
}

/// Writes the files of a new chain. The manifest is written last. After that, the directory has a chain, even if this
/// start is interrupted.
fn begin_chain(data_dir: &DataDir, config: &Config) -> Result<(Manifest, Zeroizing<String>, KeyPair), StartError> {
    let accounts = read_accounts(config)?;
    parse_accounts(&accounts, config)?;
    let key = data_dir.new_key()?;
    data_dir.write_accounts(&accounts)?;
    let manifest = Manifest::new(parameters(config), &accounts, &key);
    data_dir.write_manifest(&manifest)?;
    Ok((manifest, accounts, key))
}

/// Opens the store of a data directory. Rejects a store that has lost its blocks.
pub(super) fn open_store(config: &Config, data_dir: &DataDir, manifest: &Manifest) -> Result<Store, StartError> {
    let mut progress = Progress::new("converting or indexing the chain");
    let store =
        Store::open_with_progress(&data_dir.store(), store_options(config), &mut |done, all| progress.log(done, all))
            .map_err(|source| StartError::Store { path: Some(data_dir.path().to_owned()), source })?;
    data_dir.check_not_lost(manifest, &store)?;
    Ok(store)
}

/// Opens the chain of a single node.
fn open_alone(
    store: Store,
    config: &Config,
    manifest: &Manifest,
    accounts: &str,
    key: &KeyPair,
) -> Result<(Chain, Producer), StartError> {
    store.set_signer(range_signer(key));
    let genesis = parse_accounts(accounts, config)?;
    open_chain(store, config, chain_config(config, manifest), &genesis, key.public_key(), clock::now())
}

/// Opens the chain in a store. Executes the blocks again if their state is lost. A new chain begins at `time`.
pub(super) fn open_chain(
    store: Store,
    config: &Config,
    chain_config: ChainConfig,
    genesis: &Genesis,
    committees: impl Into<Committees>,
    time: Timestamp,
) -> Result<(Chain, Producer), StartError> {
    let committees = committees.into();
    if let OpenOutcome::Ready { rebuilt: Some(reason), .. } = store.outcome() {
        tracing::warn!(%reason, "the derived state was damaged; rebuilt it from the record of blocks");
    }
    for warning in genesis.warnings() {
        tracing::warn!("{warning}");
    }
    let failed = |source| StartError::Chain { path: config.data_dir.clone(), source: Box::new(source) };
    if let OpenOutcome::NeedsReplay { from, head, reason } = store.outcome() {
        tracing::warn!(%reason, %from, to = %head, "the state of the newest block is lost; executing blocks again");
        let mut progress = Progress::new("executing blocks again");
        let mut log = |number: BlockNumber, last: BlockNumber| progress.log(number.get(), last.get());
        silica_chain::rebuild(&store, chain_config.clone(), genesis, committees.clone(), &mut log)
            .map_err(|source| failed(source.into()))?;
    }
    silica_chain::open(store, chain_config, genesis, committees, time).map_err(failed)
}

/// Returns the parameters of a new chain.
fn parameters(config: &Config) -> Parameters {
    let default = ChainConfig::isolated();
    Parameters {
        chain_id: config.chain_id.unwrap_or(default.chain_id).get(),
        shards: config.shards.unwrap_or(default.shards),
        blocks_per_ds_epoch: config.blocks_per_ds_epoch.unwrap_or(default.blocks_per_ds_epoch),
        scilla_rules: config.scilla_rules.map_or(default.rules.scilla, Rules::current),
    }
}

/// Returns the parameters in the manifest, with the policy of the configuration.
fn chain_config(config: &Config, manifest: &Manifest) -> ChainConfig {
    let mut chain = manifest.chain_config();
    chain.policy.nonces = config.profile.nonces();
    set_policy(config, &mut chain);
    chain
}

/// Sets the policy of this node.
pub(super) fn set_policy(config: &Config, chain: &mut ChainConfig) {
    let policy = &mut chain.policy;
    policy.proof_window = NonZeroU64::new(config.proof_window).unwrap_or(policy.proof_window);
    policy.pool.transactions = usize::try_from(config.max_pending).unwrap_or(usize::MAX);
    policy.pool.gapped_per_sender = usize::try_from(config.max_gapped).unwrap_or(usize::MAX);
}

/// Returns the options of the store.
fn store_options(config: &Config) -> StoreOptions {
    StoreOptions {
        cache_bytes: config.cache_bytes,
        history: config.proof_window,
        index: config.index,
        durability: match config.durability {
            Durability::Flush => silica_state::Durability::Flush,
            Durability::Relaxed => silica_state::Durability::Relaxed,
        },
        ..StoreOptions::default()
    }
}

/// Rejects a configuration whose parameters differ from those of the chain.
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

/// Rejects a configuration whose Scilla rules differ from those of the chain. The caller has compared the accounts
/// before, because an error about the accounts identifies the chain of a profile better.
fn check_same_rules(data_dir: &DataDir, manifest: &Manifest, config: &Config) -> Result<(), DataDirError> {
    let found = manifest.scilla_rules().edition();
    match config.scilla_rules {
        Some(wanted) if wanted != found => {
            Err(data_dir.other_chain("Scilla rules", &found, &config.origins.of("scilla-rules"), &wanted))
        }
        Some(_) | None => Ok(()),
    }
}

/// Rejects a configuration whose genesis accounts differ from those of the chain. Exception: if the configuration only
/// names a profile, the chain may have accounts that belong to no profile. Accepts every chain if no option selects
/// accounts.
fn check_same_accounts(data_dir: &DataDir, kept: &str, config: &Config) -> Result<(), StartError> {
    let (option, wanted_name) = match (&config.accounts_file, &config.mnemonic) {
        (Some(file), _) => ("accounts-file", format!("those of {}", file.display())),
        (None, Some((_, count))) => ("mnemonic", format!("its first {count} accounts")),
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

/// Rejects a genesis block that differs from the manifest. If the manifest has no hash of a genesis block, and the
/// block is stored, adds the hash of the block to the manifest.
pub(super) fn check_genesis(
    data_dir: &DataDir,
    manifest: &mut Manifest,
    chain: &Chain,
    is_stored: bool,
) -> Result<(), StartError> {
    let block = chain.snapshot().tx_block(BlockNumber::new(0));
    let failed = |source: ArchiveError| StartError::Chain {
        path: Some(data_dir.path().to_owned()),
        source: Box::new(OpenError::from(source)),
    };
    let found = block.map_err(failed)?.map(|block| block.header.hash().to_string()).unwrap_or_default();
    match &manifest.genesis {
        Some(genesis) if *genesis == found => Ok(()),
        Some(genesis) => Err(data_dir.other_chain("genesis block", &found, "the manifest", genesis).into()),
        None if !is_stored => Ok(()),
        None => {
            manifest.genesis = Some(found);
            Ok(data_dir.write_manifest(manifest)?)
        }
    }
}

/// Returns the accounts file that the configuration selects, together with the additional accounts of the
/// configuration.
fn read_accounts(config: &Config) -> Result<Zeroizing<String>, StartError> {
    let text = read_main_accounts(config)?;
    if config.genesis_accounts.is_empty() {
        return Ok(text);
    }
    // A text that is not an object stays unchanged. The parser of the accounts rejects this text.
    let Ok(mut accounts) = serde_json::from_str::<Map<String, Value>>(&text) else { return Ok(text) };
    for (address, balance) in &config.genesis_accounts {
        // The file can spell the address in several ways.
        let known = accounts.iter_mut().find(|(key, _)| key.parse() == Ok(*address)).map(|(_, entry)| entry);
        match known.and_then(Value::as_object_mut) {
            Some(entry) => drop(entry.insert("amount".to_owned(), balance.to_string().into())),
            None => drop(accounts.insert(address.to_string(), json!({ "amount": balance.to_string(), "nonce": 0 }))),
        }
    }
    let text = Zeroizing::new(serde_json::to_string(&accounts).unwrap_or_default());
    for key in accounts.values_mut().filter_map(|entry| entry.get_mut("privateKey")) {
        if let Value::String(digits) = key {
            digits.zeroize();
        }
    }
    Ok(text)
}

fn read_main_accounts(config: &Config) -> Result<Zeroizing<String>, StartError> {
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

/// Parses the genesis accounts.
fn parse_accounts(text: &str, config: &Config) -> Result<Genesis, StartError> {
    let path = || config.accounts_file.clone().unwrap_or_else(|| "accounts.json".into());
    Genesis::from_accounts_json(text).map_err(|source| StartError::Accounts { path: path(), source })
}
