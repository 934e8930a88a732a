//! The facts about a running node: its addresses, its funded accounts, and example commands. The output is text for
//! people, or one line of JSON for programs.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

use serde_json::{Value, json};
use silica_crypto::KeyPair;
use silica_protocol::{Address, BlockNumber, PublicKey, Qa, Version};
use zeroize::Zeroizing;

use crate::block_mode::BlockMode;

/// The text about methods for developers in the banner of a node that serves them.
const DEVELOPERS_ON: &str = "ON: programs that reach the port can change balances, time and blocks; see --developer";

/// Maximum number of accounts in the text. The accounts file can have thousands.
const SHOWN: usize = 20;

/// The form of the banner on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum BannerForm {
    /// Text for people.
    #[default]
    Text,
    /// One line of JSON.
    Json,
    /// No output.
    None,
}

/// The facts about a running node. `Display` writes them for people, and [`to_json`](Self::to_json) for programs.
#[derive(Clone, Debug)]
pub struct Banner {
    /// Address of the JSON-RPC server.
    pub addr: SocketAddr,
    /// Address of the separate server for subscribers; `None` if there is no such server.
    pub websocket: Option<SocketAddr>,
    /// The separate address of the pages for operators; `None` if they are on the ports of JSON-RPC.
    pub operator: Option<SocketAddr>,
    /// The version of transactions for this chain, which includes the chain id.
    pub version: Version,
    /// The block mode.
    pub block_mode: BlockMode,
    /// Whether the node serves methods for developers.
    pub developer: bool,
    /// Whether the node serves the studio, its web page for browsers.
    pub studio: bool,
    /// The data directory; `None` for a chain in memory.
    pub data_dir: Option<PathBuf>,
    /// Number of the latest Tx block.
    pub latest: BlockNumber,
    /// The key that verifies the blocks of the node.
    pub node_key: PublicKey,
    /// The accounts of the genesis block whose secret keys the node has. Accounts with a number are first, in ascending
    /// order.
    pub accounts: Vec<FundedAccount>,
}

/// An account of the genesis block.
#[derive(Clone, PartialEq, Eq)]
pub struct FundedAccount {
    /// The number of the account for `--test-account`; `None` if the account is not a test account.
    pub number: Option<usize>,
    /// Address of the account.
    pub address: Address,
    /// Secret key of the account in hexadecimal; `None` if the banner must not have the key.
    pub secret_key: Option<Zeroizing<String>>,
    /// Whether the key is public. Any user can then sign for the account.
    pub is_published: bool,
    /// Balance of the account at the head.
    pub balance: Qa,
}

impl FundedAccount {
    /// Returns the key pair of the account; `None` if [`secret_key`](Self::secret_key) is `None`.
    pub fn key(&self) -> Option<KeyPair> {
        self.secret_key.as_ref()?.parse().ok()
    }
}

impl fmt::Debug for FundedAccount {
    /// Omits the secret key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, address, secret_key: _, is_published, balance } = self;
        f.debug_struct("FundedAccount")
            .field("number", number)
            .field("address", address)
            .field("is_published", is_published)
            .field("balance", balance)
            .finish_non_exhaustive()
    }
}

impl FundedAccount {
    fn to_json(&self) -> Value {
        let Self { number, address, secret_key, is_published: _, balance } = self;
        let mut account = json!({
            "number": number,
            "address": format!("0x{}", address.to_checksum()),
            "bech32": address.to_bech32(),
            "balance": balance.to_string(),
        });
        if let (Some(members), Some(key)) = (account.as_object_mut(), secret_key) {
            members.insert("secretKey".to_owned(), key.as_str().into());
        }
        account
    }
}

impl fmt::Display for FundedAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, address, secret_key, is_published, balance } = self;
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        writeln!(f, "  {number:>2}  0x{}  {}", address.to_checksum(), address.to_bech32())?;
        let kind = if *is_published { "key" } else { "secret key" };
        let key = secret_key.as_ref().map(|key| format!("{kind} {}  ", **key)).unwrap_or_default();
        writeln!(f, "      {key}balance {} ZIL", balance.to_zil_string())
    }
}

impl Banner {
    /// Returns the URL of the JSON-RPC server.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Returns the URL of the subscription server.
    pub fn websocket_url(&self) -> String {
        format!("ws://{}", self.websocket.unwrap_or(self.addr))
    }

    /// Returns the URL of the JSON-RPC server for a client on this machine. If the server listens on all addresses, the
    /// URL has the loopback address.
    pub(crate) fn local_url(&self) -> String {
        format!("http://{}", on_this_machine(self.addr))
    }

    /// Returns the URL of the subscription server for a client on this machine.
    pub(crate) fn local_websocket_url(&self) -> String {
        format!("ws://{}", on_this_machine(self.websocket.unwrap_or(self.addr)))
    }

    /// Returns the URL of the pages for operators, for a client on this machine. Returns `None` without a separate
    /// address.
    fn local_operator_url(&self) -> Option<String> {
        self.operator.map(|addr| format!("http://{}", on_this_machine(addr)))
    }

    /// Returns the URL of the studio, for a browser on this machine. Returns `None` if the node does not serve it.
    pub fn local_studio_url(&self) -> Option<String> {
        self.studio.then(|| format!("{}/studio/", self.local_url()))
    }

    /// Returns the facts as a JSON object, together with the version and the id of this process.
    pub fn to_json(&self) -> Value {
        let Self { version, block_mode, developer, data_dir, latest, node_key, accounts, .. } = self;
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "url": self.local_url(),
            "websocket": self.local_websocket_url(),
            "operator": self.local_operator_url(),
            "chainId": version.chain_id().get(),
            "transactionVersion": version.packed(),
            "blockMode": block_mode.to_string(),
            "developerMethods": developer,
            "studio": self.local_studio_url(),
            "latestTxBlock": latest.get(),
            "dataDir": data_dir.as_ref().map(|path| path.to_string_lossy()),
            "nodeKey": node_key.to_string(),
            "accounts": accounts.iter().map(FundedAccount::to_json).collect::<Vec<_>>(),
        })
    }

    /// Returns the banner in a form; `None` for [`BannerForm::None`].
    pub fn in_form(&self, form: BannerForm) -> Option<String> {
        match form {
            BannerForm::Text => Some(self.to_string()),
            BannerForm::Json => Some(self.to_json().to_string()),
            BannerForm::None => None,
        }
    }

    /// Returns a shell command that requests the balance of an account.
    pub(crate) fn curl_line(&self, account: &Address) -> String {
        let request =
            format!(r#"{{"id":"1","jsonrpc":"2.0","method":"GetBalance","params":["{}"]}}"#, account.to_bech32());
        format!("curl -s -H 'content-type: application/json' -d '{request}' {}", self.local_url())
    }
}

fn on_this_machine(mut addr: SocketAddr) -> SocketAddr {
    if addr.ip().is_unspecified() {
        addr.set_ip(if addr.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    addr
}

fn keys_are(count: usize) -> String {
    if count == 1 { "key of 1 account is".to_owned() } else { format!("keys of {count} accounts are") }
}

const fn them(count: usize) -> &'static str {
    if count == 1 { "it" } else { "them" }
}

impl fmt::Display for Banner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operator, version, block_mode, developer, data_dir, latest, node_key, accounts, .. } = self;
        let chain_id = version.chain_id();
        writeln!(f, "silica {}, chain {chain_id} (transaction version {version})", env!("CARGO_PKG_VERSION"))?;
        writeln!(f)?;
        writeln!(f, "  JSON-RPC   {}", self.url())?;
        writeln!(f, "  WebSocket  {}", self.websocket_url())?;
        if let Some(url) = self.local_studio_url() {
            writeln!(f, "  studio     {url}")?;
        }
        if let Some(addr) = operator {
            writeln!(f, "  operators  http://{addr}")?;
        }
        match data_dir {
            Some(path) => writeln!(f, "  data       {}", path.display())?,
            None => writeln!(f, "  data       in memory, deleted at the stop")?,
        }
        match block_mode {
            BlockMode::Instant => writeln!(f, "  blocks     with each transaction; latest is {latest}")?,
            BlockMode::InstantAndInterval(interval) => {
                writeln!(f, "  blocks     with each transaction and every {interval:?}; latest is {latest}")?;
            }
            BlockMode::Interval(interval) => writeln!(f, "  blocks     every {interval:?}; latest is {latest}")?,
            BlockMode::ManualImmediate => {
                writeln!(
                    f,
                    "  blocks     with each transaction; only requests increase the logical block number; latest is {latest}"
                )?;
            }
            BlockMode::Manual => writeln!(f, "  blocks     on request, see --block-mode; latest is {latest}")?,
            BlockMode::Committee => writeln!(f, "  blocks     of the committee; latest is {latest}")?,
        }
        writeln!(
            f,
            "  developers {}",
            if *developer { DEVELOPERS_ON } else { "off: the node rejects methods for developers" }
        )?;
        writeln!(f, "  node key   {node_key} ({})", Address::from_public_key(node_key).to_bech32())?;
        writeln!(f)?;
        let Some(first) = accounts.first() else { return Ok(()) };
        let count = |fits: fn(&FundedAccount) -> bool| accounts.iter().filter(|account| fits(account)).count();
        let published = count(|account| account.secret_key.is_some() && account.is_published);
        let secret = count(|account| account.secret_key.is_some() && !account.is_published);
        let hidden = count(|account| account.secret_key.is_none());
        writeln!(f, "Accounts.")?;
        if published > 0 {
            writeln!(f, "The {} published: never use {} for value.", keys_are(published), them(published))?;
        }
        if secret > 0 {
            let keys = keys_are(secret);
            writeln!(f, "The {keys} secret and shown because of --show-keys: keep this output private.")?;
        }
        if hidden > 0 {
            writeln!(f, "The secret {} not shown; --show-keys prints {}.", keys_are(hidden), them(hidden))?;
        }
        writeln!(f)?;
        for account in accounts.iter().take(SHOWN) {
            write!(f, "{account}")?;
        }
        if let Some(more) = accounts.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            writeln!(f, "  and {more} more")?;
        }
        writeln!(f)?;
        writeln!(f, "Try it:")?;
        writeln!(f)?;
        writeln!(f, "  {}", self.curl_line(&first.address))?;
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use silica_protocol::ChainId;

    use super::*;

    const KEY: &str = "e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89";

    fn banner(accounts: usize, secret_key: Option<&str>) -> Banner {
        let account = |number| FundedAccount {
            number: Some(number),
            address: "4baf5fada8e5db92c3d3242618c5b47133ae003c".parse().unwrap(),
            secret_key: secret_key.map(|key| Zeroizing::new(key.to_owned())),
            is_published: true,
            balance: Qa::from_zil(900).unwrap(),
        };
        Banner {
            addr: ([127, 0, 0, 1], 5555).into(),
            websocket: Some(([127, 0, 0, 1], 4401).into()),
            operator: None,
            version: Version::of_chain(ChainId::new(222)),
            block_mode: BlockMode::Instant,
            developer: true,
            studio: true,
            data_dir: None,
            latest: BlockNumber::new(7),
            node_key: PublicKey::new([2; 33]),
            accounts: (1..=accounts).map(account).collect(),
        }
    }

    #[test]
    fn banner_names_what_is_needed_to_begin() {
        let text = banner(1, Some(KEY)).to_string();
        for words in [
            "chain 222 (transaction version 14548993)",
            "http://127.0.0.1:5555",
            "ws://127.0.0.1:4401",
            "latest is 7",
            "developers ON: programs that reach the port can change balances",
            "   1  0x4BAF5faDA8e5Db92C3d3242618c5B47133AE003C  zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7",
            "key e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89  balance 900.000000000000 ZIL",
            "curl -s -H 'content-type: application/json' -d '{\"id\":\"1\",\"jsonrpc\":\"2.0\",",
        ] {
            assert!(text.contains(words), "{words} is missing in {text}");
        }
        assert!(!text.contains("--show-keys") && !text.contains("operators"), "{text}");
    }

    #[test]
    fn address_for_operators_is_shown_if_there_is_one() {
        let banner = Banner { operator: Some(([0, 0, 0, 0], 9100).into()), ..banner(1, None) };
        assert!(banner.to_string().contains("\n  operators  http://0.0.0.0:9100\n"), "{banner}");
        assert_eq!(banner.to_json()["operator"], "http://127.0.0.1:9100");
    }

    #[test]
    fn page_for_browsers_is_shown_if_the_node_serves_it() {
        let everywhere = Banner { addr: ([0, 0, 0, 0], 5555).into(), ..banner(1, None) };
        for banner in [banner(1, None), everywhere] {
            assert!(banner.to_string().contains("\n  studio     http://127.0.0.1:5555/studio/\n"), "{banner}");
            assert_eq!(banner.to_json()["studio"], "http://127.0.0.1:5555/studio/");
        }
        let without = Banner { studio: false, ..banner(1, None) };
        assert!(!without.to_string().contains("studio"), "{without}");
        assert_eq!(without.to_json().get("studio"), Some(&Value::Null));
    }

    /// Checks the lines about keys in a banner. Each account has two flags: its key is public, and the banner has the
    /// key.
    #[track_caller]
    fn check_keys(accounts: &[(bool, bool)], lines: &[&str]) {
        let mut banner = banner(accounts.len(), Some(KEY));
        for (account, (is_published, is_shown)) in banner.accounts.iter_mut().zip(accounts) {
            account.is_published = *is_published;
            account.secret_key = account.secret_key.take().filter(|_| *is_shown);
        }
        let text = banner.to_string();
        let (_, rest) = text.split_once("Accounts.\n").unwrap();
        assert_eq!(rest.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>(), lines, "{text}");
        let secret = accounts.iter().filter(|(is_published, is_shown)| *is_shown && !is_published).count();
        assert_eq!(text.matches(&format!("      secret key {KEY}  balance")).count(), secret, "{text}");
    }

    #[test]
    fn keys_are_called_published_or_secret_as_they_are() {
        const PUBLISHED: (bool, bool) = (true, true);
        const SECRET: (bool, bool) = (false, true);
        const HIDDEN: (bool, bool) = (false, false);
        check_keys(&[PUBLISHED], &["The key of 1 account is published: never use it for value."]);
        check_keys(&[PUBLISHED; 2], &["The keys of 2 accounts are published: never use them for value."]);
        let private = "secret and shown because of --show-keys: keep this output private.";
        check_keys(&[SECRET], &[&format!("The key of 1 account is {private}")]);
        check_keys(&[SECRET; 3], &[&format!("The keys of 3 accounts are {private}")]);
        check_keys(&[HIDDEN], &["The secret key of 1 account is not shown; --show-keys prints it."]);
        check_keys(
            &[PUBLISHED, SECRET, HIDDEN, HIDDEN],
            &[
                "The key of 1 account is published: never use it for value.",
                &format!("The key of 1 account is {private}"),
                "The secret keys of 2 accounts are not shown; --show-keys prints them.",
            ],
        );
    }

    #[test]
    fn banner_without_keys_names_the_option_that_shows_them() {
        let text = banner(2, None).to_string();
        assert!(text.contains("The secret keys of 2 accounts are not shown; --show-keys prints them."), "{text}");
        assert!(text.contains("0x4BAF5faDA8e5Db92C3d3242618c5B47133AE003C") && text.contains("      balance 900.0"));
        assert!(!text.contains("published") && !text.contains("key e53"), "{text}");
    }

    #[test]
    fn json_has_every_fact_and_only_keys_that_are_shown() {
        let facts = banner(1, Some(KEY)).to_json();
        assert_eq!(
            (&facts["url"], &facts["websocket"]),
            (&json!("http://127.0.0.1:5555"), &json!("ws://127.0.0.1:4401"))
        );
        assert_eq!(facts.get("operator"), Some(&Value::Null));
        assert_eq!((&facts["chainId"], &facts["transactionVersion"]), (&json!(222), &json!(14_548_993)));
        assert_eq!((&facts["blockMode"], &facts["dataDir"]), (&json!("instant"), &Value::Null));
        assert_eq!(facts["pid"], std::process::id());
        let account = json!({
            "number": 1, "address": "0x4BAF5faDA8e5Db92C3d3242618c5B47133AE003C",
            "bech32": "zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7", "balance": "900000000000000", "secretKey": KEY,
        });
        assert_eq!(facts["accounts"], json!([account]));
        let text = banner(30, None).in_form(BannerForm::Json).unwrap();
        assert!(!text.contains("secretKey") && !text.contains('\n'), "{text}");
        assert_eq!(text.matches("bech32").count(), 30);
        assert_eq!(banner(1, None).in_form(BannerForm::None), None);
    }

    #[test]
    fn server_on_all_addresses_is_reached_over_loopback() {
        let check = |addr: &str, expected: &str| {
            let banner = Banner { addr: addr.parse().unwrap(), websocket: None, ..banner(0, None) };
            assert_eq!(banner.local_url(), format!("http://{expected}"));
            assert_eq!(banner.local_websocket_url(), format!("ws://{expected}"));
        };
        check("0.0.0.0:5555", "127.0.0.1:5555");
        check("[::]:5555", "[::1]:5555");
        check("192.168.0.7:5555", "192.168.0.7:5555");
    }

    #[test]
    fn debug_output_hides_secret_keys() {
        assert!(!format!("{:?}", banner(1, Some(KEY))).contains("e53d"));
    }

    #[test]
    fn long_lists_of_accounts_are_cut() {
        assert!(banner(23, Some(KEY)).to_string().contains("and 3 more"));
        assert!(!banner(20, Some(KEY)).to_string().contains("more"));
        assert!(!banner(0, None).to_string().contains("curl"));
    }
}
