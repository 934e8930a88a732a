//! The value of each option, and its source. A flag takes precedence over the environment, the environment over the TOML
//! file, the file over the profile, and the profile over the default.
//!
//! The definition of [`RunArgs`] is the only list of options: it has the names and the types of the keys of the file, and
//! what `silica config print` writes.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, builder::Resettable, parser::ValueSource};
use zeroize::Zeroize;

use super::{Config, ConfigError, Mnemonic, Origin, Origins, Profile, RunArgs, file::File};

/// Pairs of options of which only one is used. If they come from different sources, the one of the higher precedence is.
const EXCLUSIVE: [(&str, &str); 2] = [("ephemeral", "data-dir"), ("mnemonic", "accounts-file")];

/// The option whose value is a secret, from which keys are derived. The parser of the command line keeps copies of its
/// input and does not erase them. Therefore it gets this value from the command line only.
pub(super) const WORDS: &str = "mnemonic";

/// Options whose default differs in meaning from the same value given: a given profile must be that of the chain, and
/// given accounts need a mnemonic.
const UNSAID: [&str; 2] = ["profile", "accounts"];

/// The text of a value. It is overwritten in memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
struct Given(OsString);

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given(..)")
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        std::mem::take(&mut self.0).into_encoded_bytes().zeroize();
    }
}

impl Given {
    fn new(text: impl Into<OsString>) -> Self {
        Self(text.into())
    }
}

/// An option, its value, and the source of the value.
#[derive(Clone, Debug)]
struct Setting {
    arg: Arg,
    /// `None` if no source gives one, and there is no default.
    value: Option<Given>,
    origin: Origin,
}

impl Setting {
    fn key(&self) -> &str {
        self.arg.get_long().unwrap_or_default()
    }

    fn is_given(&self) -> bool {
        self.origin != Origin::Default
    }

    fn text(&self) -> Option<&OsStr> {
        self.value.as_ref().map(|given| given.0.as_os_str())
    }
}

/// Every option with its value and its source.
#[derive(Clone, Debug)]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Takes the options of a command line and of the environment, and adds those of the TOML file and of the profile that
    /// they name.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the file and its line, or the options that contradict each other.
    pub fn gather(given: &ArgMatches) -> Result<Self, ConfigError> {
        let mut file = match given.get_one::<PathBuf>("config") {
            Some(path) => File::read(path)?,
            None => File::default(),
        };
        let mut settings = Vec::new();
        // The profile is the first option, so that it is known when the others are looked up.
        let mut profile = None;
        for arg in command().get_arguments().filter(|arg| is_option(arg)) {
            let setting = look_up(arg, given, &mut file, profile);
            if setting.key() == "profile" && setting.is_given() {
                let name = setting.text().and_then(OsStr::to_str).unwrap_or_default();
                profile = Profile::ALL.into_iter().find(|profile| profile.name() == name);
            }
            settings.push(setting);
        }
        let mut settings = Self(settings);
        settings.exclude()?;
        settings.check_companions()?;
        Ok(settings)
    }

    /// Returns the data directory for a command of `silica db`: that of the flag, of the environment, of the TOML file, or the
    /// default.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the file and its line. A file that keeps the chain in memory names no directory, and is an error
    /// if no other source names one.
    pub fn data_dir(given: &ArgMatches) -> Result<PathBuf, ConfigError> {
        let said = given.get_one::<PathBuf>("data_dir").cloned().unwrap_or_default();
        if matches!(given.value_source("data_dir"), Some(ValueSource::CommandLine | ValueSource::EnvVariable)) {
            return Ok(said);
        }
        let Some(path) = given.get_one::<PathBuf>("config") else { return Ok(said) };
        let mut options = File::read(path)?.options;
        match (options.remove("data-dir"), options.remove("ephemeral")) {
            (Some((directory, _)), _) => Ok(directory.as_str().into()),
            (None, Some((on, place))) if *on == "true" => {
                let first = format!("ephemeral (by {place})");
                Err(ConfigError::Exclusive { first, second: "a command for a data directory".to_owned() })
            }
            (None, _) => Ok(said),
        }
    }

    /// Returns the options as typed values.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Clap`], when options do not go together.
    pub fn args(&self) -> Result<RunArgs, ConfigError> {
        let mut line = vec![OsString::from("silica")];
        let mut words = None;
        for setting in self.0.iter().filter(|setting| setting.is_given()) {
            let Some(value) = setting.text() else { continue };
            match is_switch(&setting.arg) {
                true if value != "true" => {}
                true => line.push(format!("--{}", setting.key()).into()),
                // Every place has checked them.
                false if setting.key() == WORDS => {
                    words = value.to_str().and_then(|text| text.parse::<Mnemonic>().ok());
                }
                false => {
                    let mut flag = OsString::from(format!("--{}=", setting.key()));
                    flag.push(value);
                    line.push(flag);
                }
            }
        }
        let mut args = RunArgs::from_arg_matches(&command().try_get_matches_from(line)?)?;
        args.mnemonic = words;
        Ok(args)
    }

    /// Returns the configuration of the node.
    ///
    /// # Errors
    ///
    /// As [`args`](Self::args).
    pub fn config(&self) -> Result<Config, ConfigError> {
        let given = self.0.iter().filter(|setting| setting.is_given());
        let origins = Origins(given.map(|setting| (setting.key().to_owned(), setting.origin.clone())).collect());
        Ok(Config { origins, ..Config::from(self.args()?) })
    }

    /// Resets the option of the lower precedence, of two that exclude each other.
    fn exclude(&mut self) -> Result<(), ConfigError> {
        for (first, second) in EXCLUSIVE {
            let loser = match (self.given(first), self.given(second)) {
                (None, None) => continue,
                (Some(one), Some(other)) if one.origin.rank() == other.origin.rank() => {
                    let said = |setting: &Setting| format!("{} (by {})", setting.key(), setting.origin);
                    return Err(ConfigError::Exclusive { first: said(one), second: said(other) });
                }
                (Some(one), Some(other)) if one.origin.rank() < other.origin.rank() => second,
                (Some(_), None) => second,
                (_, Some(_)) => first,
            };
            for setting in self.0.iter_mut().filter(|setting| setting.key() == loser) {
                setting.value = is_switch(&setting.arg).then(|| Given::new("false"));
                setting.origin = Origin::Default;
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

    /// Returns an option that some source gave. A switch that is off is not given.
    fn given(&self, key: &str) -> Option<&Setting> {
        let setting = self.0.iter().find(|setting| setting.key() == key && setting.is_given())?;
        let off = is_switch(&setting.arg) && setting.text() != Some(OsStr::new("true"));
        (!off).then_some(setting)
    }
}

impl fmt::Display for Settings {
    /// Writes TOML that a node takes, with the source of each value as a comment. Secrets are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for setting in &self.0 {
            let (key, origin) = (setting.key(), &setting.origin);
            match setting.text() {
                None => writeln!(f, "# {key} is not set")?,
                Some(_) if setting.arg.is_hide_env_values_set() => writeln!(f, "# {key} is set, by {origin}")?,
                Some(value) => {
                    let mark = if UNSAID.contains(&key) && !setting.is_given() { "# " } else { "" };
                    writeln!(f, "{mark}{key} = {} # {origin}", toml_of(&setting.arg, &value.to_string_lossy()))?;
                }
            }
        }
        Ok(())
    }
}

/// A command with the options alone, which does not read the environment.
pub(super) fn command() -> Command {
    RunArgs::augment_args(Command::new("silica")).mut_args(|arg| arg.env(Resettable::Reset))
}

/// Returns whether an argument is an option that a file may have.
pub(super) fn is_option(arg: &Arg) -> bool {
    arg.get_long().is_some_and(|name| !["config", "help", "version"].contains(&name))
}

pub(super) fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

fn look_up(arg: &Arg, given: &ArgMatches, file: &mut File, profile: Option<Profile>) -> Setting {
    let key = arg.get_long().unwrap_or_default();
    let from_file = file.options.remove(key);
    let said = || given.get_raw(arg.get_id().as_str())?.next().map(Given::new);
    let (value, origin) = match given.value_source(arg.get_id().as_str()) {
        Some(ValueSource::CommandLine) => (switch_value(arg, given, said()), Origin::Flag(key.to_owned())),
        Some(ValueSource::EnvVariable) => (
            switch_value(arg, given, said()),
            Origin::Environment(format!("SILICA_{}", key.replace('-', "_").to_uppercase())),
        ),
        _ => match (from_file, profile.and_then(|profile| preset(profile, key))) {
            (Some((value, place)), _) => (Some(Given::new(value.as_str())), Origin::File(place)),
            (None, Some((value, origin))) => (Some(Given::new(value)), origin),
            (None, None) if is_switch(arg) => (Some(Given::new("false")), Origin::Default),
            (None, None) => {
                (arg.get_default_values().first().map(|text| Given::new(text.to_os_string())), Origin::Default)
            }
        },
    };
    Setting { arg: arg.clone(), value, origin }
}

/// Returns the value of an option: a switch is on or off, another option has the given text.
fn switch_value(arg: &Arg, given: &ArgMatches, said: Option<Given>) -> Option<Given> {
    if is_switch(arg) { Some(Given::new(given.get_flag(arg.get_id().as_str()).to_string())) } else { said }
}

fn preset(profile: Profile, key: &str) -> Option<(&'static str, Origin)> {
    let (_, value) = profile.options().iter().find(|(name, _)| *name == key)?;
    Some((value, Origin::Profile(profile)))
}

/// Writes a value as TOML: numbers and switches as they are, everything else in quotes.
fn toml_of(arg: &Arg, value: &str) -> String {
    let number = value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    if is_switch(arg) || number {
        return value.to_owned();
    }
    // A text of JSON is one of TOML but for one character.
    serde_json::to_string(value).unwrap_or_default().replace('\u{7f}', "\\u007F")
}
