//! Helpers of the tests.

use std::fmt::Write as _;

use silica_crypto::KeyPair;
use silica_protocol::ChainId;

use crate::network::{Member, PeerId};

/// Returns the key pairs of `count` members.
pub(crate) fn keys(count: usize) -> Vec<KeyPair> {
    let key = |index: usize| KeyPair::from_hex(&format!("{:064x}", 0x0101_0101 + index)).unwrap();
    (0..count).map(key).collect()
}

/// Returns the text of a network file with `count` members.
pub(crate) fn network_file(count: usize) -> String {
    network_file_with("example-4", 333, count)
}

/// Returns the text of a network file with this name, chain id and number of members.
pub(crate) fn network_file_with(name: &str, chain_id: u16, count: usize) -> String {
    let keys = keys(count);
    let mut text = format!(
        r#"[network]
name = "{name}"
chain-id = {chain_id}
genesis-time = 1790000000000000
genesis-key = "{}"
shards = 1
blocks-per-ds-epoch = 100
shard-gas-limit = 400000
ds-gas-limit = 500000
minimum-gas-price = 2000000000
coinbase-reward = "176000000000000000"
accounts = {{ file = "accounts.json", sha256 = "{}" }}
blocks = "interval"
interval = "1s"
drift = "2s"
propose-timeout = "1s"
max-body = "4MiB"

"#,
        keys[0].public_key(),
        "11".repeat(32),
    );
    for (index, key) in keys.iter().enumerate() {
        let peer = PeerId::new([u8::try_from(index).unwrap(); 32]);
        let member = Member::new(format!("m{index}"), key, peer, name, ChainId::new(chain_id));
        writeln!(
            text,
            "\n[[member]]\nname = \"m{index}\"\nkey = \"{}\"\npossession = \"{}\"\npeer = \"{peer}\"",
            member.key, member.possession
        )
        .unwrap();
    }
    text.push_str("\n[[address]]\nname = \"m0\"\nagreement = \"10.0.0.1:4211\"\nstream = \"https://a.example:4201\"\n");
    text
}
