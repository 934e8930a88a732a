//! What a node tells whoever started it: where it listens, who has money, and how to try it.

use std::{fmt, net::SocketAddr, path::PathBuf};

use silica_protocol::{Address, BlockNumber, PublicKey, Qa, Version};

use crate::config::BlockMode;

/// Said where methods for developers are answered.
const DEVELOPERS_ON: &str = "ON: programs on this machine can change balances, time and blocks; see --developer";

/// Accounts that are shown; a file may hold thousands.
const SHOWN: usize = 20;

/// The facts of a node that has started. `Display` writes them for people.
#[derive(Clone, Debug)]
pub struct Banner {
    /// Where the JSON-RPC server listens.
    pub addr: SocketAddr,
    /// Where else it listens, for subscribers.
    pub websocket: Option<SocketAddr>,
    /// The version that transactions for this chain carry.
    pub version: Version,
    /// When blocks are made.
    pub block_mode: BlockMode,
    /// Whether methods for developers are answered.
    pub developer: bool,
    /// Where the chain is kept; `None` in memory.
    pub data_dir: Option<PathBuf>,
    /// Number of the latest Tx block.
    pub latest: BlockNumber,
    /// The node's own key.
    pub node_key: PublicKey,
    /// Accounts of the genesis block whose secret keys are known.
    pub accounts: Vec<FundedAccount>,
}

/// An account that can be used for trying things out.
#[derive(Clone, PartialEq, Eq)]
pub struct FundedAccount {
    /// Its address.
    pub address: Address,
    /// Its secret key, hexadecimal.
    pub secret_key: String,
    /// Its money at the head.
    pub balance: Qa,
}

impl fmt::Debug for FundedAccount {
    /// Shows nothing of the secret key: a file may hold more than the published ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, secret_key: _, balance } = self;
        f.debug_struct("FundedAccount").field("address", address).field("balance", balance).finish_non_exhaustive()
    }
}

impl fmt::Display for Banner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { addr, websocket, version, block_mode, developer, data_dir, latest, node_key, accounts } = self;
        let chain_id = version.chain_id();
        writeln!(f, "silica {}, chain {chain_id} (transaction version {version})", env!("CARGO_PKG_VERSION"))?;
        writeln!(f)?;
        writeln!(f, "  JSON-RPC   http://{addr}")?;
        writeln!(f, "  WebSocket  ws://{}", websocket.unwrap_or(*addr))?;
        match data_dir {
            Some(path) => writeln!(f, "  data       {}", path.display())?,
            None => writeln!(f, "  data       in memory, forgotten at the end")?,
        }
        match block_mode {
            BlockMode::Instant => writeln!(f, "  blocks     with each transaction; latest is {latest}")?,
            BlockMode::Interval(interval) => writeln!(f, "  blocks     every {interval:?}; latest is {latest}")?,
            BlockMode::Manual => writeln!(f, "  blocks     with IncreaseBlocknum; latest is {latest}")?,
        }
        writeln!(
            f,
            "  developers {}",
            if *developer { DEVELOPERS_ON } else { "off: methods for developers are refused" }
        )?;
        writeln!(f, "  node key   {node_key} ({})", Address::from_public_key(node_key).to_bech32())?;
        writeln!(f)?;
        let Some(first) = accounts.first() else { return Ok(()) };
        writeln!(
            f,
            "Accounts for trying things out. Their keys are shown to whoever looks: never use them for value."
        )?;
        writeln!(f)?;
        for account in accounts.iter().take(SHOWN) {
            let FundedAccount { address, secret_key, balance } = account;
            writeln!(f, "  0x{}  {}", address.to_checksum(), address.to_bech32())?;
            writeln!(f, "    key {secret_key}  balance {} ZIL", balance.to_zil_string())?;
        }
        if let Some(more) = accounts.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            writeln!(f, "  and {more} more")?;
        }
        writeln!(f)?;
        writeln!(f, "Try it:")?;
        writeln!(f)?;
        let request =
            format!(r#"{{"id":"1","jsonrpc":"2.0","method":"GetBalance","params":["{}"]}}"#, first.address.to_bech32());
        writeln!(f, "  curl -s -H 'content-type: application/json' -d '{request}' http://{addr}")?;
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use silica_protocol::ChainId;

    use super::*;

    fn banner(accounts: usize) -> String {
        let account = FundedAccount {
            address: "4baf5fada8e5db92c3d3242618c5b47133ae003c".parse().unwrap(),
            secret_key: "e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89".to_owned(),
            balance: Qa::from_zil(900).unwrap(),
        };
        let banner = Banner {
            addr: ([127, 0, 0, 1], 5555).into(),
            websocket: Some(([127, 0, 0, 1], 4401).into()),
            version: Version::of_chain(ChainId::new(222)),
            block_mode: BlockMode::Instant,
            developer: true,
            data_dir: None,
            latest: BlockNumber::new(7),
            node_key: PublicKey::new([2; 33]),
            accounts: vec![account; accounts],
        };
        banner.to_string()
    }

    #[test]
    fn banner_names_what_is_needed_to_begin() {
        let text = banner(1);
        for words in [
            "chain 222 (transaction version 14548993)",
            "http://127.0.0.1:5555",
            "ws://127.0.0.1:4401",
            "latest is 7",
            "developers ON: programs on this machine can change balances",
            "0x4BAF5faDA8e5Db92C3d3242618c5B47133AE003C  zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7",
            "key e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89  balance 900.000000000000 ZIL",
            "curl -s -H 'content-type: application/json' -d '{\"id\":\"1\",\"jsonrpc\":\"2.0\",",
        ] {
            assert!(text.contains(words), "{words} is missing in {text}");
        }
    }

    #[test]
    fn secret_keys_are_for_the_banner_only() {
        let secret_key = "e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89".to_owned();
        let account = FundedAccount { address: Address::ZERO, secret_key, balance: Qa::ZERO };
        assert!(!format!("{account:?}").contains("e53d"));
    }

    #[test]
    fn long_lists_of_accounts_are_cut() {
        assert!(banner(23).contains("and 3 more"));
        assert!(!banner(20).contains("more"));
        assert!(!banner(0).contains("curl"));
    }
}
