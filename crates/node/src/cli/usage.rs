//! Error texts for invalid command lines.

use std::{error::Error, ffi::OsString, io};

use clap::{
    Arg, Command, CommandFactory,
    builder::Resettable,
    error::{ContextKind, ContextValue},
};

use super::Cli;
use crate::{
    data_dir::DataDirError, dump::DumpError, export::ExportError, maintenance::MaintenanceError, startup::StartError,
};

/// Returns a text with the options that avoid an error of a start or of `silica db`. Returns `None` if no option avoids
/// the error.
pub(crate) fn hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let maintenance = match (error.downcast_ref::<DumpError>(), error.downcast_ref::<ExportError>()) {
        (Some(DumpError::Source(error)), _) | (_, Some(ExportError::Source(error))) => Some(&**error),
        _ => error.downcast_ref::<MaintenanceError>(),
    };
    let data_dir = match (error.downcast_ref::<StartError>(), maintenance) {
        (Some(StartError::Listen { source, .. }), _) if source.kind() == io::ErrorKind::AddrInUse => {
            return Some("--listen, --websocket and --operator-listen set other addresses");
        }
        (Some(StartError::DataDir(error)), _) | (_, Some(MaintenanceError::DataDir(error))) => error,
        _ => return None,
    };
    matches!(
        data_dir,
        DataDirError::InUse { .. }
            | DataDirError::Foreign { .. }
            | DataDirError::Member { .. }
            | DataDirError::OtherChain { .. }
            | DataDirError::Untrusted(_)
    )
    .then_some("--data-dir sets another directory")
}

/// Returns the text of a usage error of the command line `words`. If the invalid value came from an environment
/// variable, the text names the variable instead of the option.
pub(crate) fn usage_error(error: &clap::Error, words: impl IntoIterator<Item = OsString>) -> String {
    let text = error.to_string();
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else { return text };
    let typed = without_env(Cli::command()).try_get_matches_from(words).err();
    if typed.is_some_and(|error| error.to_string() == text) {
        return text;
    }
    let long = named.trim_start_matches('-').split([' ', '=']).next().unwrap_or_default();
    let quoted = format!("'{named}'");
    let shown = if text.contains(&quoted) { &quoted } else { named };
    match variable(&Cli::command(), long) {
        Some(variable) => text.replacen(shown, &variable, 1),
        None => text,
    }
}

/// Returns the command without its environment variables.
pub(super) fn without_env(command: Command) -> Command {
    command.mut_args(|arg| arg.env(Resettable::Reset)).mut_subcommands(without_env)
}

/// Returns the environment variable of an option, from the command or one of its subcommands. An option has the same
/// variable in all commands.
fn variable(command: &Command, long: &str) -> Option<String> {
    let here = command.get_arguments().find(|arg| arg.get_long() == Some(long)).and_then(Arg::get_env);
    let here = here.map(|name| name.to_string_lossy().into_owned());
    here.or_else(|| command.get_subcommands().find_map(|command| variable(command, long)))
}
