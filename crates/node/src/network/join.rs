//! `silica network join`.

use std::path::PathBuf;

use clap::Args;
use silica_council::{MAX_MEMBERS, Member, MemberAddress, NetworkDraft, PeerId};

use super::{NetworkError, Report, file};
use crate::data_dir::DataDir;

/// Arguments of `silica network join`.
#[derive(Clone, Debug, Args)]
pub(crate) struct JoinArgs {
    /// The network file. It can still have too few members for a network.
    #[arg(long, value_name = "FILE")]
    pub network: PathBuf,
    /// Name of the member: 1 to 64 lower-case letters, digits and hyphens.
    #[arg(long, value_name = "NAME", value_parser = file::parse_name)]
    pub name: String,
    /// Directory of the member. The command creates the directory if it does not exist.
    #[arg(long, value_name = "DIR", default_value = "silica-data", env = "SILICA_DATA_DIR")]
    pub data_dir: PathBuf,
    /// Host and port at which other members reach this member. The command then also prints the table of the address.
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_address)]
    pub agreement: Option<String>,
}

/// Parses the address of a member.
fn parse_address(text: &str) -> Result<String, String> {
    if silica_council::is_host_and_port(text) {
        return Ok(text.to_owned());
    }
    Err("expected a host and a port from 1 to 65535, such as 10.0.0.1:4211".to_owned())
}

/// Makes the keys of a member, and returns its table.
pub(super) fn join(args: &JoinArgs) -> Result<Report, NetworkError> {
    let path = &args.network;
    let text = file::read_text(path)?;
    let draft = NetworkDraft::parse(&text).map_err(|source| NetworkError::File { path: path.clone(), source })?;
    let is_known = draft.members().iter().any(|member| member.name == args.name);
    let got = draft.members().len().saturating_add(1);
    // The command makes no keys for a member that the file has no room for.
    if !is_known && got > MAX_MEMBERS {
        return Err(NetworkError::Full { path: path.clone(), most: MAX_MEMBERS, got });
    }
    let (key, peer) = DataDir::create(&args.data_dir)?.member_keys()?;
    let network = draft.parameters();
    let peer = PeerId::new(peer.public());
    let member = Member::new(args.name.clone(), &key, peer, &network.name, network.chain_id);
    let mut report = Report::default();
    if is_in(&member, &draft, path)? {
        report.warnings.push(format!("{} has this member already", path.display()));
    }
    // The table ends with a line end, and the program adds one.
    member.to_string().trim_end().clone_into(&mut report.text);
    if let Some(agreement) = &args.agreement {
        let address = MemberAddress { member: 0, agreement: agreement.clone() };
        report.text = format!("{}\n\n{}", report.text, address.to_toml(&member.name).trim_end());
    }
    Ok(report)
}

/// Returns whether the file has the member. Fails if the file has some of its values in another member.
fn is_in(member: &Member, draft: &NetworkDraft, path: &std::path::Path) -> Result<bool, NetworkError> {
    for other in draft.members() {
        let fields = [
            ("name", member.name.clone(), other.name.clone()),
            ("key", member.key.to_string(), other.key.to_string()),
            ("peer", member.peer.to_string(), other.peer.to_string()),
        ];
        let equal = fields.iter().filter(|(_, expected, got)| expected == got).count();
        match (equal, fields.into_iter().find(|(_, expected, got)| expected != got)) {
            (0, _) => {}
            (_, None) => return Ok(true),
            (_, Some((field, expected, got))) => {
                let (path, name) = (path.to_owned(), other.name.clone());
                return Err(NetworkError::OtherMember { path, name, field, expected, got });
            }
        }
    }
    Ok(false)
}
