//! `silica network local`.

use std::{fmt::Write as _, fs, path::PathBuf, time::Duration};

use clap::{Args, value_parser};
use silica_council::{MAX_MEMBERS, Member, MemberAddress, PeerId};
use silica_protocol::ChainId;

use super::{NetworkError, Report, file};
use crate::{data_dir::DataDir, files};

/// Time for the first proposal of a height between processes of one machine.
const PROPOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Name of the network and of its file.
const NAME: &str = "local";
pub(super) const FILE: &str = "network.toml";

/// Arguments of `silica network local`.
#[derive(Clone, Debug, Args)]
pub(crate) struct LocalArgs {
    /// Number of validators. A network of 4 still makes blocks if one of them stops or sends false messages.
    #[arg(value_name = "N", value_parser = value_parser!(u16).range(2..=i64::try_from(MAX_MEMBERS).unwrap_or(2)))]
    pub members: u16,
    /// New or empty directory for the network file, and for the data directory of each validator.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Port of the first validator on 127.0.0.1, for messages between validators. The others have the next ports.
    #[arg(long, value_name = "PORT", default_value_t = 4211, value_parser = value_parser!(u16).range(1..))]
    pub port: u16,
    /// Chain id [default: 222].
    #[arg(long, value_name = "ID", value_parser = value_parser!(u16).range(1..))]
    pub chain_id: Option<u16>,
}

/// Writes the files of a network on this machine.
pub(super) fn local(args: &LocalArgs) -> Result<Report, NetworkError> {
    let LocalArgs { members, dir, port, chain_id } = args;
    let most = u16::MAX.saturating_sub(members.saturating_sub(1));
    if *port > most {
        return Err(NetworkError::Ports { option: "--port", most, members: *members, got: *port });
    }
    files::create_directory(dir).map_err(NetworkError::io("create directory", dir))?;
    let mut entries = fs::read_dir(dir).map_err(NetworkError::io("read directory", dir))?;
    if let Some(entry) = entries.next() {
        let found = entry.map_err(NetworkError::io("read directory", dir))?.file_name();
        return Err(NetworkError::NotEmpty { path: dir.clone(), found: found.to_string_lossy().into_owned() });
    }
    let path = dir.join(FILE);
    let accounts = file::write_test_accounts(&path)?;
    let parameters = file::parameters(NAME, chain_id.map(ChainId::new), accounts, PROPOSE_TIMEOUT);
    let (mut tables, mut addresses, mut lines) = (parameters.to_string(), String::new(), String::new());
    for (index, port) in (*port..).take((*members).into()).enumerate() {
        let name = name_of(index);
        let data_dir = dir.join(&name);
        let (key, peer) = DataDir::create(&data_dir)?.member_keys()?;
        let peer = PeerId::new(peer.public());
        let member = Member::new(name.clone(), &key, peer, &parameters.name, parameters.chain_id);
        let address = MemberAddress { member: index, agreement: format!("127.0.0.1:{port}") };
        write!(tables, "\n{member}").expect("strings accept every write");
        write!(addresses, "\n{}", address.to_toml(&name)).expect("strings accept every write");
        let (agreement, shown) = (&address.agreement, data_dir.display());
        write!(lines, "\nmember {name}: {agreement}, {shown}").expect("strings accept every write");
    }
    // Write the network file last, so that a directory with this file is complete.
    file::write_new(&path, &format!("{tables}{addresses}"))?;
    let network = file::read(&path)?;
    let mut report = Report::new(format!("wrote {}, network id {}{lines}", path.display(), network.id()));
    report.warnings.push("the keys of the test accounts are public".to_owned());
    report.warnings.extend(file::no_faults_warning((*members).into()));
    Ok(report)
}

/// Returns the name of a member: `a` to `z`, then `aa`, `ab` and so on.
fn name_of(index: usize) -> String {
    let letter = |index: usize| char::from(b'a'.saturating_add(u8::try_from(index % 26).unwrap_or_default()));
    match (index / 26).checked_sub(1) {
        None => letter(index).to_string(),
        Some(first) => format!("{}{}", letter(first), letter(index)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_members_differ() {
        assert_eq!([0, 25, 26, 51, 52, 63].map(name_of), ["a", "z", "aa", "az", "ba", "bl"]);
        let mut names: Vec<_> = (0..MAX_MEMBERS).map(name_of).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), MAX_MEMBERS);
    }
}
