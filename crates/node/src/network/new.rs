//! `silica network new`.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use silica_protocol::ChainId;

use super::{NetworkError, Report, file};

/// Time for the first proposal of a height in a network whose members are in several places.
const PROPOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Arguments of `silica network new`.
#[derive(Clone, Debug, Args)]
pub(crate) struct NewArgs {
    /// Name of the network: 1 to 64 lower-case letters, digits and hyphens.
    #[arg(value_name = "NAME", value_parser = file::parse_name)]
    pub name: String,
    /// Path of the new network file. It must not exist.
    #[arg(long, value_name = "FILE", default_value = "network.toml")]
    pub file: PathBuf,
    /// Chain id, from 1 to 65535 [default: 222].
    #[arg(long, value_name = "ID", value_parser = parse_chain_id)]
    pub chain_id: Option<ChainId>,
    /// File of the accounts of the genesis block, in the format of the isolated server [default: the test accounts, in
    /// a new file `accounts.json` next to the network file].
    #[arg(long, value_name = "FILE")]
    pub accounts_file: Option<PathBuf>,
}

/// Parses a chain id. A network file has no chain id 0.
fn parse_chain_id(text: &str) -> Result<ChainId, String> {
    let id = text.parse().ok().filter(|id| *id > 0_u16);
    id.map(ChainId::new).ok_or_else(|| "expected a number from 1 to 65535".to_owned())
}

/// Writes the files of a new network.
pub(super) fn new(args: &NewArgs) -> Result<Report, NetworkError> {
    let path = &args.file;
    let mut report = Report::default();
    // Check the name before the accounts file is written, so that a failure leaves no file.
    if path.symlink_metadata().is_ok() {
        return Err(NetworkError::io("write", path)(std::io::ErrorKind::AlreadyExists.into()));
    }
    let accounts = if let Some(accounts) = &args.accounts_file {
        file::entry_of(path, accounts)?
    } else {
        report.warnings.push("the keys of the test accounts are public; --accounts-file sets others".to_owned());
        file::write_test_accounts(path)?
    };
    let parameters = file::parameters(&args.name, args.chain_id, accounts, PROPOSE_TIMEOUT);
    let accounts = file::accounts_path(path, &parameters.accounts);
    file::write_new(path, &parameters.to_string())?;
    let shown = path.display();
    report.text = format!(
        "wrote {shown}, with the accounts of {}\n\
         next, for each member: silica network join --network {shown} --name MEMBER --data-dir DIR\n\
         then append the tables of all members to {shown}",
        accounts.display()
    );
    Ok(report)
}
