//! Opening of the chain of a member of a network, and the start of its agreement.

use std::{path::Path, sync::Arc, time::Duration};

use silica_chain::{
    EngineError, Genesis,
    consensus::{Application, Effect, Engine, Input},
};
use silica_council::{BlockTiming, NetworkFile};
use silica_crypto::KeyPair;
use silica_network::{Agreement, Driver, Settings, Work};
use silica_protocol::Timestamp;
use silica_scilla::rules::Rules;
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

use super::{
    StartError,
    open::{MemberParts, Opened, check_genesis, open_chain, open_store, set_policy},
};
use crate::{
    acknowledge::Acknowledge,
    config::{Config, Durability, When},
    data_dir::{DataDir, Manifest, Parameters},
    driver::{MemberRelay, NodeHandle},
    network::read_files,
    relay::Relay,
};

/// The options that the network file replaces.
const SET_BY_NETWORK: [&str; 8] =
    ["profile", "chain-id", "shards", "blocks-per-ds-epoch", "scilla-rules", "accounts-file", "mnemonic", "block-mode"];

/// The engine of the driver of a member. The agreement makes all blocks.
#[derive(Debug)]
pub(super) struct ByAgreement;

impl Engine for ByAgreement {
    fn step(&mut self, _: Input, _: &mut dyn Application) -> Result<Vec<Effect>, EngineError> {
        Err(EngineError::Committee)
    }
}

/// Opens the chain of a member, or creates it.
pub(super) fn open(config: &Config) -> Result<Opened, StartError> {
    let path = config.network.as_deref().unwrap_or(Path::new(""));
    let Some(directory) = &config.data_dir else { return Err(StartError::MemberInMemory) };
    if !config.validator {
        return Err(StartError::NotValidator);
    }
    if config.durability != Durability::Flush {
        return Err(StartError::RelaxedMember);
    }
    if let Some(option) = SET_BY_NETWORK.into_iter().find(|option| config.origins.has(option)) {
        return Err(StartError::SetByNetwork { option, by: config.origins.of(option) });
    }
    // Accept `off`, because the service file and the container image set this value.
    if config.origins.has("developer") && config.developer != When::Off {
        return Err(StartError::DeveloperMember { by: config.origins.of("developer"), got: config.developer });
    }
    if config.pause_id.is_some() {
        return Err(StartError::PausedMember { by: config.origins.of("pause-id") });
    }
    let (network, text, accounts) = read_files(path).map_err(|error| StartError::Network(Box::new(error)))?;
    let accounts = Zeroizing::new(accounts);
    let data_dir = DataDir::create(directory)?;
    let (key, peer_key) = data_dir.existing_member_keys()?;
    let peer_key = Zeroizing::new(peer_key.seed());
    // Nothing is written for a member that could not start.
    silica_network::check_member(&network, &key, &peer_key).map_err(|error| StartError::Agreement(Box::new(error)))?;
    let id = network.id().to_string();
    let stored = data_dir.manifest()?;
    let mut manifest = if let Some(manifest) = stored.clone() {
        let found = manifest.network.clone().unwrap_or_else(|| "none: it is the chain of a single node".to_owned());
        if found != id {
            return Err(data_dir.other_chain("network id", &found, &config.origins.of("network"), &id).into());
        }
        // The directory from a dump belongs to no member before its first start.
        let manifest = manifest.with_key(&key);
        data_dir.key(&manifest)?;
        manifest
    } else {
        data_dir.write_accounts(&accounts)?;
        data_dir.write_network(&text)?;
        let manifest = manifest(&network, &accounts, &key, id);
        data_dir.write_manifest(&manifest)?;
        manifest
    };
    let store = open_store(config, &data_dir, &manifest)?;
    let genesis = Genesis::from_accounts_json(&accounts)
        .map_err(|source| StartError::Accounts { path: path.to_owned(), source })?;
    let parameters = network.parameters();
    let mut chain_config = parameters.chain_config();
    set_policy(config, &mut chain_config);
    // A file with other rules for existing blocks must not replace the file of the last start, because the commands for
    // the directory use this file.
    silica_chain::check_rules(&store, &chain_config)
        .map_err(|error| StartError::Chain { path: config.data_dir.clone(), source: Box::new(error.into()) })?;
    // The addresses and the later rules can differ from those of the last start.
    data_dir.write_network(&text)?;
    let (committees, time) = (network.committees(), parameters.genesis_time);
    let (chain, producer) = open_chain(store, config, chain_config, &genesis, committees, time)?;
    check_genesis(&data_dir, &mut manifest, &chain, true)?;
    if stored.is_some_and(|stored| stored != manifest) {
        data_dir.write_manifest(&manifest)?;
    }
    let member = Some(MemberParts { network, peer_key });
    Ok(Opened { accounts, key, chain, producer, member, data_dir: Some(data_dir) })
}

fn manifest(network: &NetworkFile, accounts: &str, key: &KeyPair, id: String) -> Manifest {
    let parameters = network.parameters();
    let rules: Rules = parameters.chain_config().rules.scilla;
    let parameters = Parameters {
        chain_id: parameters.chain_id.get(),
        shards: parameters.shards,
        blocks_per_ds_epoch: parameters.blocks_per_ds_epoch,
        scilla_rules: rules,
    };
    Manifest::new(parameters, accounts, key).of_network(id)
}

/// The functions of the node that its agreement calls.
struct MemberDriver {
    node: NodeHandle,
    relay: Arc<Relay>,
}

impl Driver for MemberDriver {
    fn run(&self, work: Work) {
        self.node.run(Box::new(move |producer| work(producer)));
    }

    fn now(&self) -> Timestamp {
        self.node.clock().now()
    }

    fn received(&self, member: usize, batch: Vec<u8>) {
        self.relay.received(member, batch);
    }

    fn confirmed(&self, member: usize, batch: [u8; 32], except: &[u16]) {
        self.relay.confirmed(member, batch, except);
    }
}

/// Starts the agreement of a member.
pub(super) async fn start(
    node: &NodeHandle,
    member: MemberParts,
    key: KeyPair,
    data_dir: &DataDir,
    acknowledge: Acknowledge,
) -> Result<Arc<Agreement>, StartError> {
    let MemberParts { network, peer_key } = member;
    let relay = Relay::start(node.chain().clone(), network.members().len()).map_err(StartError::System)?;
    let stale = match network.parameters().blocks {
        BlockTiming::Interval(interval) => interval.saturating_mul(5),
        BlockTiming::OnDemand { max_idle, .. } => max_idle.saturating_add(Duration::from_secs(5)),
    };
    let stale = stale.max(Duration::from_secs(10));
    node.join(MemberRelay { relay: Arc::clone(&relay), acknowledge, faults: network.faults(), stale });
    let settings = Settings {
        network,
        key,
        peer_key,
        directory: data_dir.agreement(),
        listen: None,
        chain: node.chain().clone(),
        driver: Arc::new(MemberDriver { node: node.clone(), relay: Arc::clone(&relay) }),
    };
    // The start creates a runtime, which must not begin inside the runtime of this task.
    let started = spawn_blocking(move || silica_network::start(settings)).await.map_err(|_| StartError::Panicked)?;
    let agreement = Arc::new(started.map_err(|error| StartError::Agreement(Box::new(error)))?);
    relay.connect(&agreement);
    Ok(agreement)
}
