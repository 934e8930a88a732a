//! The value of each option, and its source. The precedence is: flag, environment, TOML file, profile, default.
//!
//! There are two layers of typed options. The upper layer has the flags and environment variables, which the parser of
//! the command line returns. The lower layer has the values of the file and of the profile, and the defaults. [`fold`]
//! takes each option from one of the layers.
//!
//! [`RunArgs`] is the only list of options. The keys of the file, their types, and the output of `silica config print`
//! derive from it.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, builder::Resettable, parser::ValueSource};

use super::{Config, ConfigError, Origin, Origins, Profile, RunArgs, file::File};

/// Pairs of options that exclude each other. If they come from different sources, the option with the higher precedence
/// applies.
const EXCLUSIVE: [(&str, &str); 2] = [("ephemeral", "data-dir"), ("mnemonic", "accounts-file")];

/// Options that `silica config print` writes as a comment if they have their defaults, because an explicit value has an
/// additional effect. An explicit profile must be the profile of the chain. An explicit number of accounts requires a
/// mnemonic. `acknowledge` requires a network file, and a network file excludes `block-mode` and `developer`.
const COMMENTED_OUT: [&str; 5] = ["profile", "accounts", "acknowledge", "block-mode", "developer"];

/// An option, its value as text, and the source of the value.
#[derive(Clone, Debug)]
struct Setting {
    arg: Arg,
    /// `None` if neither a source nor the default gives a value. The text of a secret is empty.
    value: Option<OsString>,
    origin: Origin,
}

impl Setting {
    fn key(&self) -> &str {
        self.arg.get_long().unwrap_or_default()
    }

    fn is_given(&self) -> bool {
        self.origin != Origin::Default
    }
}

/// Every option with its value and its source.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    settings: Vec<Setting>,
    args: RunArgs,
}

impl Settings {
    /// Combines the options of the command line and the environment with the options of the TOML file and of the
    /// profile.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the file and its line, the options that contradict each other, or a required option that
    /// is missing.
    pub(crate) fn gather(given: &ArgMatches) -> Result<Self, ConfigError> {
        let upper = RunArgs::from_arg_matches(given)?;
        let file = match &upper.config {
            Some(path) => File::read(path)?,
            None => File::default(),
        };
        let profile = if is_given(given, "profile") { Some(upper.profile) } else { file.profile() };
        let lower = file.parse_values(profile.map_or(&[], Profile::options))?;
        let command = command();
        let options = command.get_arguments().filter(|arg| is_option(arg));
        let settings = options.map(|arg| look_up(arg, given, &file, profile)).collect();
        let mut settings = Self { settings, args: fold(given, upper, lower) };
        settings.exclude()?;
        settings.check_companions()?;
        Ok(settings)
    }

    /// Returns the data directory for a command of `silica db`. The precedence is: flag, environment, TOML file,
    /// default.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the file and its line. If the file has `ephemeral = true` and no source names a directory,
    /// there is no data directory, which is an error.
    pub(crate) fn data_dir(given: &ArgMatches) -> Result<PathBuf, ConfigError> {
        let directory = given.get_one::<PathBuf>("data_dir").cloned().unwrap_or_default();
        if is_given(given, "data_dir") {
            return Ok(directory);
        }
        let Some(path) = given.get_one::<PathBuf>("config") else { return Ok(directory) };
        let file = File::read(path)?;
        let args = file.parse_values(&[])?;
        match (file.location("data-dir"), file.location("ephemeral")) {
            (Some(_), _) => Ok(args.data_dir),
            (None, Some(location)) if args.ephemeral => {
                let first = format!("ephemeral (by {location})");
                Err(ConfigError::Exclusive { first, second: "a command for a data directory".to_owned() })
            }
            (None, _) => Ok(directory),
        }
    }

    /// Returns the options as typed values.
    pub(crate) const fn args(&self) -> &RunArgs {
        &self.args
    }

    /// Returns the options as typed values.
    pub(crate) fn into_args(self) -> RunArgs {
        self.args
    }

    /// Returns the configuration of the node.
    pub(crate) fn config(&self) -> Config {
        let given = self.settings.iter().filter(|setting| setting.is_given());
        let origins = Origins(given.map(|setting| (setting.key().to_owned(), setting.origin.clone())).collect());
        Config { origins, ..Config::from(self.args.clone()) }
    }

    /// Resets the option with the lower precedence in each pair of options that exclude each other.
    ///
    /// # Errors
    ///
    /// Both options come from the same source.
    fn exclude(&mut self) -> Result<(), ConfigError> {
        for (first, second) in EXCLUSIVE {
            let loser = match (self.given(first), self.given(second)) {
                (None, None) => continue,
                (Some(one), Some(other)) if one.origin.rank() == other.origin.rank() => {
                    let described = |setting: &Setting| format!("{} (by {})", setting.key(), setting.origin);
                    return Err(ConfigError::Exclusive { first: described(one), second: described(other) });
                }
                (Some(one), Some(other)) if one.origin.rank() < other.origin.rank() => second,
                (Some(_), None) => second,
                (_, Some(_)) => first,
            };
            for setting in self.settings.iter_mut().filter(|setting| setting.key() == loser) {
                setting.value = is_switch(&setting.arg).then(|| "false".into());
                setting.origin = Origin::Default;
            }
            match loser {
                "ephemeral" => self.args.ephemeral = false,
                "mnemonic" => self.args.mnemonic = None,
                "accounts-file" => self.args.accounts_file = None,
                // With `--ephemeral`, the data directory of the `Config` is `None`, so the value of this option has no
                // effect.
                _ => {}
            }
        }
        Ok(())
    }

    fn check_companions(&self) -> Result<(), ConfigError> {
        match (self.given("accounts"), self.given("mnemonic")) {
            (Some(accounts), None) => {
                let origin = accounts.origin.clone();
                Err(ConfigError::MissingCompanion { option: "accounts", origin, needed: "mnemonic" })
            }
            _ => Ok(()),
        }
    }

    /// Returns an option if a source gave it. A switch that is off counts as absent.
    fn given(&self, key: &str) -> Option<&Setting> {
        let setting = self.settings.iter().find(|setting| setting.key() == key && setting.is_given())?;
        let off = is_switch(&setting.arg) && setting.value.as_deref() != Some("true".as_ref());
        (!off).then_some(setting)
    }
}

impl fmt::Display for Settings {
    /// Writes TOML that is valid as the configuration file of a node, with the source of each value as a comment. Omits
    /// the values of secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for setting in &self.settings {
            let (key, origin) = (setting.key(), &setting.origin);
            match &setting.value {
                None => writeln!(f, "# {key} is not set")?,
                Some(_) if is_secret(&setting.arg) => writeln!(f, "# {key} is set, by {origin}")?,
                Some(value) => {
                    let mark = if COMMENTED_OUT.contains(&key) && !setting.is_given() { "# " } else { "" };
                    writeln!(f, "{mark}{key} = {} # {origin}", toml_of(&setting.arg, &value.to_string_lossy()))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns a command with the options of the node. This command does not read the environment.
pub(super) fn command() -> Command {
    RunArgs::augment_args(Command::new("silica")).mut_args(|arg| arg.env(Resettable::Reset))
}

/// Returns whether an argument is valid as a key of the file.
pub(super) fn is_option(arg: &Arg) -> bool {
    arg.get_long().is_some_and(|name| !["config", "help", "version"].contains(&name))
}

pub(super) fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// Returns whether the value of an option is a secret, which no output shows.
pub(super) fn is_secret(arg: &Arg) -> bool {
    arg.is_hide_env_values_set()
}

/// Returns whether a flag or a variable gave an option.
fn is_given(given: &ArgMatches, id: &str) -> bool {
    matches!(given.value_source(id), Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// Takes each option from the upper layer if a flag or an environment variable gave it, and from the lower layer
/// otherwise. The struct expression in the macro has no `..`, so that the compiler reports a missing field.
fn fold(given: &ArgMatches, upper: RunArgs, lower: RunArgs) -> RunArgs {
    macro_rules! choose {
        ($($field:ident)*) => {
            RunArgs { $($field: if is_given(given, stringify!($field)) { upper.$field } else { lower.$field },)* }
        };
    }
    choose! {
        profile config data_dir ephemeral listen websocket operator_listen chain_id block_mode pause_id
        accounts_file mnemonic accounts show_keys shards blocks_per_ds_epoch scilla_rules network validator acknowledge proof_window
        index cache_mb durability max_body_bytes max_bodies_mb max_connections max_pending max_gapped developer studio
        allowed_hosts allowed_origins methods max_batch max_batch_answer_mb request_timeout idle_timeout
        rate_limit trusted_proxies banner ready_file exit_with_parent stop_timeout log_format log
    }
}

fn look_up(arg: &Arg, given: &ArgMatches, file: &File, profile: Option<Profile>) -> Setting {
    let (key, id) = (arg.get_long().unwrap_or_default(), arg.get_id().as_str());
    let preset = profile.and_then(|profile| Some((preset(profile, key)?, Origin::Profile(profile))));
    let shown = |text: &OsStr| if is_secret(arg) { OsString::new() } else { text.to_owned() };
    let text = || {
        if is_switch(arg) { Some(given.get_flag(id).to_string().into()) } else { given.get_raw(id)?.next().map(shown) }
    };
    let (value, origin) = match (given.value_source(id), file.option(key), preset) {
        (Some(ValueSource::CommandLine), ..) => (text(), Origin::Flag(key.to_owned())),
        (Some(ValueSource::EnvVariable), ..) => {
            (text(), Origin::Environment(format!("SILICA_{}", key.replace('-', "_").to_uppercase())))
        }
        (_, Some((text, location)), _) => (Some(shown(text.as_ref())), Origin::File(location.clone())),
        (_, None, Some((text, origin))) => (Some(text.into()), origin),
        (_, None, None) if is_switch(arg) => (Some("false".into()), Origin::Default),
        (_, None, None) => (arg.get_default_values().first().map(Into::into), Origin::Default),
    };
    Setting { arg: arg.clone(), value, origin }
}

fn preset(profile: Profile, key: &str) -> Option<&'static str> {
    profile.options().iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
}

/// Returns a value as TOML: integers and switches unchanged, and everything else in quotes.
fn toml_of(arg: &Arg, value: &str) -> String {
    let number = value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    if is_switch(arg) || number {
        return value.to_owned();
    }
    // A JSON string is a TOML string, except for the character DEL.
    serde_json::to_string(value).unwrap_or_default().replace('\u{7f}', "\\u007F")
}
