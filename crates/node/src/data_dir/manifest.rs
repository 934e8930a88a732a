//! The manifest: the parameters of the chain in a data directory, and values that verify other files of the directory.

use serde::{Deserialize, Serialize};
use silica_chain::ChainConfig;
use silica_crypto::KeyPair;
use silica_protocol::{ChainId, sha256};
use silica_scilla::rules::Rules;

/// Version of the format of the data directory of a single node. If the Scilla rules of a chain have no identifier, its
/// manifest has the previous version, so that earlier programs can read the directory.
pub(super) const FORMAT: u32 = 2;
pub(super) const FORMAT_WITHOUT_RULES: u32 = 1;
/// Version of the format of the directory of a member of a network. Earlier programs do not support a committee.
pub(super) const FORMAT_OF_MEMBER: u32 = 3;

/// The parameters of a chain, and values that verify the accounts file, the key and the network file of the directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// Chain id of the network.
    pub(crate) chain_id: u16,
    /// Number of virtual shards.
    pub(crate) shards: u32,
    /// Number of Tx blocks in a DS epoch.
    pub(crate) blocks_per_ds_epoch: u64,
    /// SHA-256 of the accounts file, in hexadecimal.
    pub(super) accounts: String,
    /// Public key of the node, in hexadecimal; `None` for the chain of a network from a dump, until a member starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node_key: Option<String>,
    /// Hash of the genesis block; `None` until the first start has created the block.
    pub(crate) genesis: Option<String>,
    /// The minimum gas price that `SetMinimumGasPrice` has set, in Qa; `None` for the default price.
    pub(crate) gas_price: Option<String>,
    /// The Scilla rules; `None` if the rules of the chain have no identifier.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "rules_text")]
    pub(super) scilla_rules: Option<Rules>,
    /// Id of the network, in hexadecimal; `None` for a single node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<String>,
}

/// The text form of Scilla rules in the manifest.
mod rules_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
    use silica_scilla::rules::Rules;

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference to the field"
    )]
    pub(super) fn serialize<S: Serializer>(rules: &Option<Rules>, serializer: S) -> Result<S::Ok, S::Error> {
        match rules {
            Some(rules) => serializer.collect_str(rules),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rules>, D::Error> {
        String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
    }
}

/// The parameters of a new chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters {
    pub(crate) chain_id: u16,
    pub(crate) shards: u32,
    pub(crate) blocks_per_ds_epoch: u64,
    pub(crate) scilla_rules: Rules,
}

impl Manifest {
    /// Creates the manifest of a new chain with these genesis accounts and this node key.
    pub(crate) fn new(parameters: Parameters, accounts: &str, key: &KeyPair) -> Self {
        let Parameters { chain_id, shards, blocks_per_ds_epoch, scilla_rules } = parameters;
        Self {
            chain_id,
            shards,
            blocks_per_ds_epoch,
            accounts: digest(accounts),
            node_key: Some(key.public_key().to_string()),
            genesis: None,
            gas_price: None,
            scilla_rules: Some(scilla_rules),
            network: None,
        }
    }

    /// Returns the manifest for the member of a network with this id.
    #[cfg(feature = "network")]
    pub(crate) fn of_network(self, id: String) -> Self {
        Self { network: Some(id), ..self }
    }

    /// Returns the manifest for the dump of a network: without the key of the member that writes the dump.
    pub(crate) fn without_key(self) -> Self {
        Self { node_key: None, ..self }
    }

    /// Returns whether the manifest names a key.
    pub(crate) fn has_key(&self) -> bool {
        self.node_key.is_some()
    }

    /// Returns the manifest with the key of a member, if it has no key.
    #[cfg(feature = "network")]
    pub(crate) fn with_key(self, key: &KeyPair) -> Self {
        Self { node_key: self.node_key.or_else(|| Some(key.public_key().to_string())), ..self }
    }

    /// Returns the Scilla rules of the chain.
    pub(crate) fn scilla_rules(&self) -> Rules {
        self.scilla_rules.unwrap_or(Rules::UNNAMED)
    }

    /// Returns the parameters of the chain, with the default policy and the stored minimum gas price.
    pub(crate) fn chain_config(&self) -> ChainConfig {
        let default = ChainConfig::isolated();
        let mut policy = default.policy;
        policy.operator_price = self.gas_price.as_ref().and_then(|price| price.parse().ok());
        ChainConfig {
            chain_id: ChainId::new(self.chain_id),
            shards: self.shards,
            blocks_per_ds_epoch: self.blocks_per_ds_epoch,
            rules: silica_chain::config::Rules { scilla: self.scilla_rules(), ..default.rules },
            policy,
            ..default
        }
    }

    /// Returns the lowest version of the format that supports this manifest.
    pub(super) fn format(&self) -> u32 {
        match (&self.network, self.scilla_rules) {
            (Some(_), _) => FORMAT_OF_MEMBER,
            (None, Some(_)) => FORMAT,
            (None, None) => FORMAT_WITHOUT_RULES,
        }
    }
}

/// The file of the manifest. All versions of this program can read the member `format`. The checksum detects changed
/// digits, which would otherwise give the parameters of another chain.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ManifestFile {
    pub(super) format: u32,
    pub(super) manifest: Manifest,
    pub(super) checksum: String,
}

impl ManifestFile {
    pub(super) fn new(manifest: Manifest) -> Self {
        let text = serde_json::to_string(&manifest).expect("text and numbers have a JSON form");
        Self { format: manifest.format(), manifest, checksum: digest(&text) }
    }

    /// Returns the content of the file.
    pub(super) fn text(&self) -> serde_json::Result<String> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// Returns the SHA-256 of a text, in hexadecimal.
pub(super) fn digest(text: &str) -> String {
    hex::encode(sha256(&[text.as_bytes()]))
}
