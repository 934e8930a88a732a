//! `silica network check`.

use std::{error::Error, path::PathBuf};

use clap::Args;
use silica_council::NetworkFile;

use super::{NetworkError, Report, file};

/// Arguments of `silica network check`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckArgs {
    /// The network file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Verifies a network file and its accounts file.
pub(super) fn check(args: &CheckArgs) -> Result<Report, NetworkError> {
    let path = &args.file;
    let network = match NetworkFile::check(&file::read_text(path)?) {
        Ok(network) => network,
        Err(faults) => return Ok(faulty(path, faults.iter().map(ToString::to_string))),
    };
    let mut faults = Vec::new();
    let accounts = file::accounts_path(path, &network.parameters().accounts);
    match file::read_accounts(&accounts) {
        Err(error) => faults.push(format!("network.accounts.file: expected a readable file, got: {}", chain(&error))),
        Ok(bytes) => {
            if let Err(error) = network.parameters().accounts.genesis(&bytes) {
                faults.push(chain(&error));
            }
        }
    }
    if let Err(error) = network.parameters().chain_config().check() {
        faults.push(format!("network: {error}"));
    }
    if !faults.is_empty() {
        return Ok(faulty(path, faults));
    }
    let (members, quorum) = (network.members().len(), network.quorum());
    let mut report = Report::new(format!(
        "{} is valid: network {}, {members} members, {quorum} sign a block, at most {} faulty\nnetwork id {}",
        path.display(),
        network.parameters().name,
        network.faults(),
        network.id()
    ));
    report.warnings.extend(file::no_faults_warning(members));
    for (index, member) in network.members().iter().enumerate() {
        if !network.addresses().iter().any(|address| address.member == index) {
            report.warnings.push(format!("member {:?} has no table [[address]] in this file", member.name));
        }
    }
    Ok(report)
}

/// Returns the report of a file with faults.
fn faulty(path: &std::path::Path, faults: impl IntoIterator<Item = String>) -> Report {
    let lines: Vec<_> = faults.into_iter().map(|fault| format!("{}: {fault}", path.display())).collect();
    Report { has_faults: true, ..Report::new(lines.join("\n")) }
}

/// Returns an error and its causes, separated by colons.
fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
