//! `silica account`: keys and their accounts.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde::Serialize;
use silica_chain::PUBLISHED_ACCOUNTS;
use silica_crypto::{KeyPair, Keystore};
use silica_protocol::{Address, Qa, rpc::account::Balance, rpc::text::Dec};
use zeroize::Zeroizing;

use super::{
    Answer, EXIT_STATUS,
    error::ClientError,
    key::{KeyArgs, read_password},
    node::{NodeArgs, Rpc, is_unknown, read, refused},
    receipt::in_zil,
    rows::Rows,
};
use crate::{data_dir::draw_key, terminal::visible};

/// Commands for keys and accounts.
#[derive(Debug, Subcommand)]
pub(crate) enum AccountCommand {
    /// Make a key, write the key to a new file, and show its address. Only the owner of the file can read the file.
    /// With a password, the file is a keystore, which wallets can read.
    #[command(after_help = EXIT_STATUS)]
    New(NewArgs),
    /// Show the test accounts, which have money on a new chain, with their numbers for --test-account. The keys of
    /// these accounts are public: on a real network, other users take the money of such an account immediately.
    #[command(after_help = EXIT_STATUS)]
    List(NodeArgs),
    /// Show all forms of an address, or of the address of a key.
    #[command(after_help = EXIT_STATUS)]
    Address(AddressArgs),
    /// Show balance and nonce of an account.
    #[command(after_help = EXIT_STATUS)]
    Balance(BalanceArgs),
}

/// Arguments of `silica account new`.
#[derive(Clone, Debug, Args)]
pub(crate) struct NewArgs {
    /// Path of the new file. The file must not exist.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// File with a password, which encrypts the key. Only the owner of the password file may have permission to read
    /// the password file.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Print the output as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `silica account address`.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddressArgs {
    /// The address, in hexadecimal or as bech32 [default: the address of the key].
    #[arg(value_name = "ADDRESS", value_parser = Address::parse, conflicts_with_all = ["key_file", "test_account"])]
    pub address: Option<Address>,
    /// The key of the address.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Print the output as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `silica account balance`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BalanceArgs {
    /// The address of the account, in hexadecimal or as bech32 [default: the address of the key].
    #[arg(value_name = "ADDRESS", value_parser = Address::parse, conflicts_with_all = ["key_file", "test_account"])]
    pub address: Option<Address>,
    /// The key of the account.
    #[command(flatten)]
    pub key: KeyArgs,
    /// Options for the node and the output.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// An address in hexadecimal and as bech32, and its public key if the client has the key.
#[derive(Clone, Debug, Serialize)]
struct Forms {
    address: String,
    bech32: String,
    #[serde(rename = "publicKey", skip_serializing_if = "Option::is_none")]
    public_key: Option<String>,
}

impl Forms {
    fn of_address(address: &Address) -> Self {
        Self { address: format!("0x{}", address.to_checksum()), bech32: address.to_bech32(), public_key: None }
    }

    fn of_key(key: &KeyPair) -> Self {
        Self { public_key: Some(key.public_key().to_string()), ..Self::of_address(&key.address()) }
    }

    fn answer(&self, is_json: bool) -> Answer {
        if is_json { Answer::json(self) } else { Answer::done(self.rows()) }
    }

    fn rows(&self) -> Rows {
        let mut rows = Rows::default();
        rows.row("address", &self.address).row("bech32", &self.bech32);
        rows.maybe("public key", self.public_key.as_ref());
        rows
    }
}

/// The report of an account, from the values that a node returns.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    test_account: Option<usize>,
    #[serde(flatten)]
    forms: Forms,
    /// The balance, in Qa.
    balance: String,
    nonce: u64,
}

impl AccountReport {
    async fn of(rpc: &Rpc<'_>, address: &Address) -> Result<(Self, Qa), ClientError> {
        const METHOD: &str = "GetBalance";
        let Balance { balance: Dec(balance), nonce } = match rpc.try_ask(METHOD, &[address.to_string()]).await? {
            Ok(answer) => read(METHOD, &answer)?,
            // An address without an account has no money.
            Err(error) if is_unknown(&error) => Balance { balance: Dec(Qa::ZERO), nonce: 0 },
            Err(error) => return Err(refused(METHOD, &error)),
        };
        let forms = Forms::of_address(address);
        Ok((Self { test_account: None, forms, balance: balance.to_string(), nonce }, balance))
    }
}

/// Runs `silica account new`.
pub(super) fn new(args: &NewArgs) -> Result<Answer, ClientError> {
    let failed = |source| ClientError::File { action: "make", path: args.file.clone(), source };
    let password = args.password_file.as_deref().map(read_password).transpose()?;
    let key = draw_key().map_err(failed)?;
    let text = match password {
        None => key.secret().to_hex(),
        Some(password) => {
            let keystore = Keystore::new(&key, &password).map_err(|error| failed(io::Error::other(error)))?;
            Zeroizing::new(keystore.to_string())
        }
    };
    write_key(&args.file, &text).map_err(failed)?;
    let path = args.file.display().to_string();
    let note = format!("the key is in {}: keep it safe, it cannot be restored", visible(&path));
    Ok(Forms::of_key(&key).answer(args.json).with_note(note))
}

fn write_key(path: &Path, text: &str) -> io::Result<()> {
    let mut file = private_file(path)?;
    // Remove the file after a failed write, because the next attempt fails if the file exists.
    fill(&mut file, text).inspect_err(|_| drop(fs::remove_file(path)))
}

fn fill(file: &mut File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Runs `silica account list`.
pub(super) async fn list(args: &NodeArgs) -> Result<Answer, ClientError> {
    let (mut reports, mut rows) = (Vec::new(), Rows::default());
    for (number, account) in (1..).zip(PUBLISHED_ACCOUNTS) {
        let (report, balance) = AccountReport::of(&args.rpc(), &account.address()).await?;
        let Forms { address, bech32, .. } = &report.forms;
        rows.row(&number.to_string(), format!("{address}  {bech32}  {}", in_zil(balance)));
        reports.push(AccountReport { test_account: Some(number), ..report });
    }
    Ok(if args.json { Answer::json(&reports) } else { Answer::done(rows) })
}

/// Runs `silica account address`.
pub(super) fn address(args: &AddressArgs) -> Result<Answer, ClientError> {
    let forms = match &args.address {
        Some(address) => Forms::of_address(address),
        None => Forms::of_key(&args.key.read()?),
    };
    Ok(forms.answer(args.json))
}

/// Runs `silica account balance`.
pub(super) async fn balance(args: &BalanceArgs) -> Result<Answer, ClientError> {
    let address = match args.address {
        Some(address) => address,
        None => args.key.read()?.address(),
    };
    let (report, balance) = AccountReport::of(&args.node.rpc(), &address).await?;
    if args.node.json {
        return Ok(Answer::json(&report));
    }
    let mut rows = report.forms.rows();
    rows.row("balance", in_zil(balance)).row("nonce", report.nonce);
    Ok(Answer::done(rows))
}
