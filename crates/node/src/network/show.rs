//! `silica network show`.

use std::{fmt::Write as _, path::PathBuf};

use clap::Args;
use serde_json::{Value, json};
use silica_chain::config::RuleChange;
use silica_council::{BlockTiming, MemberAddress, NetworkFile};

use super::{NetworkError, Report, file};

/// Arguments of `silica network show`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowArgs {
    /// The network file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print the output as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Returns the facts of a network file.
pub(super) fn show(args: &ShowArgs) -> Result<Report, NetworkError> {
    let network = file::read(&args.file)?;
    let text = if args.json { format!("{:#}", json_of(&network)) } else { text_of(&network) };
    Ok(Report::new(text))
}

fn address_of(network: &NetworkFile, member: usize) -> Option<&MemberAddress> {
    network.addresses().iter().find(|address| address.member == member)
}

fn text_of(network: &NetworkFile) -> String {
    let mut text = format!(
        "network id  {}\nmembers     {}\nquorum      {}\nmax faulty  {}\n\n{}",
        network.id(),
        network.members().len(),
        network.quorum(),
        network.faults(),
        network.parameters()
    );
    for (index, member) in network.members().iter().enumerate() {
        let address = address_of(network, index);
        let agreement = address.map_or("unknown", |address| &address.agreement);
        let (name, key, peer) = (&member.name, member.key, member.peer);
        write!(text, "\nmember {name}\n  key        {key}\n  peer       {peer}\n  agreement  {agreement}\n")
            .expect("strings accept every write");
    }
    text.trim_end().to_owned()
}

fn json_of(network: &NetworkFile) -> Value {
    let parameters = network.parameters();
    let milliseconds = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let blocks = match parameters.blocks {
        BlockTiming::Interval(interval) => json!({"mode": "interval", "intervalMs": milliseconds(interval)}),
        BlockTiming::OnDemand { max_idle, min_gap } => {
            json!({"mode": "on-demand", "maxIdleMs": milliseconds(max_idle), "minGapMs": milliseconds(min_gap)})
        }
    };
    let changes: Vec<_> = parameters
        .rule_changes
        .iter()
        .map(|RuleChange { block, scilla }| json!({"block": block.to_string(), "scillaRules": scilla.to_string()}))
        .collect();
    let members: Vec<_> = network
        .members()
        .iter()
        .enumerate()
        .map(|(index, member)| {
            let address = address_of(network, index);
            json!({
                "name": member.name,
                "key": member.key.to_string(),
                "possession": member.possession.to_string(),
                "peer": member.peer.to_string(),
                "agreement": address.map(|address| &address.agreement),
            })
        })
        .collect();
    json!({
        "name": parameters.name,
        "id": network.id().to_string(),
        "quorum": network.quorum(),
        "faults": network.faults(),
        "parameters": {
            "chainId": parameters.chain_id.get(),
            "genesisTime": parameters.genesis_time.get().to_string(),
            "shards": parameters.shards,
            "blocksPerDsEpoch": parameters.blocks_per_ds_epoch.to_string(),
            "shardGasLimit": parameters.shard_gas_limit.to_string(),
            "dsGasLimit": parameters.ds_gas_limit.to_string(),
            "minimumGasPrice": parameters.minimum_gas_price.to_string(),
            "coinbaseReward": parameters.coinbase_reward.to_string(),
            "accounts": {"file": parameters.accounts.file, "sha256": hex::encode(parameters.accounts.sha256)},
            "blocks": blocks,
            "driftMs": milliseconds(parameters.drift),
            "proposeTimeoutMs": milliseconds(parameters.propose_timeout),
            "maxBodyBytes": parameters.max_body,
            "scillaRules": parameters.scilla_rules.to_string(),
            "rulesFrom": changes,
        },
        "members": members,
    })
}
