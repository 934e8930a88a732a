//! Which value each option has, and who gave it: a flag before the environment, the environment before the TOML file, the
//! file before the profile, the profile before the default.
//!
//! The definition of [`RunArgs`] is the only list of options: what a key of the file is called and what it may hold, and
//! what `silica config print` writes, is read from it.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt, io,
    path::{Path, PathBuf},
};

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches,
    builder::Resettable,
    error::{ContextKind, ContextValue},
    parser::ValueSource,
};
use toml::de::{DeTable, DeValue};
use zeroize::{Zeroize, Zeroizing};

use crate::{
    config::{Cli, Config, RunArgs},
    files,
    mnemonic::Mnemonic,
    profile::Profile,
};

/// Bytes of the longest TOML file that is read.
const LONGEST: u64 = 1 << 20;

/// Options of which only one can be heard. Where they come from different places, the first place wins.
const EXCLUSIVE: [(&str, &str); 2] = [("ephemeral", "data-dir"), ("mnemonic", "accounts-file")];

/// The option whose value is a secret from which keys are derived. The parser of the command line keeps copies of what it reads, and
/// does not erase them: it does not get this value from elsewhere.
const WORDS: &str = "mnemonic";

/// Options that mean something else when they are said than when they are left at their defaults: a profile that is asked
/// for has to be that of the chain, and accounts need words.
const UNSAID: [&str; 2] = ["profile", "accounts"];

/// Reason why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The TOML file cannot be read.
    #[error("cannot read configuration file {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{place}: expected TOML: {reason}")]
    Syntax {
        /// Where.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// There is no option of this name.
    #[error("{place}: unknown key {key:?}{}", nearest.as_ref().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default())]
    Unknown {
        /// Where.
        place: Place,
        /// The name.
        key: String,
        /// The most similar name that there is.
        nearest: Option<String>,
    },
    /// An option cannot have this value.
    #[error("{place}: {key}: {wrong}")]
    Value {
        /// Where.
        place: Place,
        /// The option.
        key: String,
        /// What was expected and what came.
        wrong: String,
    },
    /// Two options from the same place contradict each other.
    #[error("{first} cannot be used with {second}")]
    Exclusive {
        /// One, and who gave it.
        first: String,
        /// The other, likewise.
        second: String,
    },
    /// An option means nothing without another.
    #[error("{option} (by {origin}) means nothing without {needed}")]
    Alone {
        /// The option.
        option: &'static str,
        /// Who gave it.
        origin: Origin,
        /// The other.
        needed: &'static str,
    },
    /// What every place said by itself cannot be said together.
    #[error(transparent)]
    Together(#[from] clap::Error),
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    path: PathBuf,
    line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

/// Who gave a value, from the one who is heard first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The flag.
    Flag(String),
    /// A variable of the environment.
    Environment(String),
    /// The TOML file.
    File(Place),
    /// The profile.
    Profile(Profile),
    /// Nobody.
    Default,
}

impl Origin {
    const fn rank(&self) -> u8 {
        match self {
            Self::Flag(_) => 0,
            Self::Environment(_) => 1,
            Self::File(_) => 2,
            Self::Profile(_) => 3,
            Self::Default => 4,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "--{name}"),
            Self::Environment(name) => f.write_str(name),
            Self::File(place) => write!(f, "{place}"),
            Self::Profile(profile) => write!(f, "profile {}", profile.name()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// Who gave which option, by the name of its flag. What nobody gave is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, Origin>);

impl Origins {
    /// Who gave an option, or the name of its flag where that is not known.
    pub(crate) fn of(&self, option: &str) -> String {
        self.0.get(option).map_or_else(|| format!("--{option}"), Origin::to_string)
    }

    /// Whether anybody gave the option.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.0.contains_key(option)
    }
}

/// The text of a value, which is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
struct Said(OsString);

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Said(..)")
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        std::mem::take(&mut self.0).into_encoded_bytes().zeroize();
    }
}

impl Said {
    fn new(text: impl Into<OsString>) -> Self {
        Self(text.into())
    }
}

/// An option, its value, and who gave it.
#[derive(Clone, Debug)]
struct Setting {
    arg: Arg,
    /// `None` where nobody gave one and there is no default.
    value: Option<Said>,
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
        self.value.as_ref().map(|said| said.0.as_os_str())
    }
}

/// Every option with its value.
#[derive(Clone, Debug)]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Adds to the options of a command line and the environment those of the TOML file and the profile that they name.
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

    /// The data directory that a command for those is to use: that of the flag, the environment, the TOML file, or the
    /// default one.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the file and its line. A file that keeps the chain in memory names no directory, and is refused
    /// if nothing else does.
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

    /// The options, read by their types.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Together`], when options do not go together.
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

    /// What a node is started with.
    ///
    /// # Errors
    ///
    /// As [`args`](Self::args).
    pub fn config(&self) -> Result<Config, ConfigError> {
        let given = self.0.iter().filter(|setting| setting.is_given());
        let origins = Origins(given.map(|setting| (setting.key().to_owned(), setting.origin.clone())).collect());
        Ok(Config { origins, ..Config::from(self.args()?) })
    }

    /// Lets the option win that was given in the first place, of two that contradict each other.
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
                setting.value = is_switch(&setting.arg).then(|| Said::new("false"));
                setting.origin = Origin::Default;
            }
        }
        Ok(())
    }

    fn check_companions(&self) -> Result<(), ConfigError> {
        match (self.given("accounts"), self.given("mnemonic")) {
            (Some(accounts), None) => {
                let origin = accounts.origin.clone();
                Err(ConfigError::Alone { option: "accounts", origin, needed: "mnemonic" })
            }
            _ => Ok(()),
        }
    }

    /// An option that somebody gave. A switch that is off is not given.
    fn given(&self, key: &str) -> Option<&Setting> {
        let setting = self.0.iter().find(|setting| setting.key() == key && setting.is_given())?;
        let off = is_switch(&setting.arg) && setting.text() != Some(OsStr::new("true"));
        (!off).then_some(setting)
    }
}

impl fmt::Display for Settings {
    /// Writes TOML that a node takes, with comments that say who gave each value. Secrets are left out.
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

/// The options alone, without the environment.
fn command() -> Command {
    RunArgs::augment_args(Command::new("silica")).mut_args(|arg| arg.env(Resettable::Reset))
}

/// What is said of a command line that is not taken, where `words` are that line. Where the value of an option came from the
/// environment, it is the name of the variable that is told: nobody has typed the flag.
pub fn wrong_use(error: &clap::Error, words: impl IntoIterator<Item = OsString>) -> String {
    let text = error.to_string();
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else { return text };
    let typed = deaf(Cli::command()).try_get_matches_from(words).err();
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

/// A command that does not look at the environment.
fn deaf(command: Command) -> Command {
    command.mut_args(|arg| arg.env(Resettable::Reset)).mut_subcommands(deaf)
}

/// The variable of the environment that gives the option of this name, here or in a subcommand: it is the same everywhere.
fn variable(command: &Command, long: &str) -> Option<String> {
    let here = command.get_arguments().find(|arg| arg.get_long() == Some(long)).and_then(Arg::get_env);
    let here = here.map(|name| name.to_string_lossy().into_owned());
    here.or_else(|| command.get_subcommands().find_map(|command| variable(command, long)))
}

/// Whether an argument is an option that a file may hold.
fn is_option(arg: &Arg) -> bool {
    arg.get_long().is_some_and(|name| !["config", "help", "version"].contains(&name))
}

fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

fn look_up(arg: &Arg, given: &ArgMatches, file: &mut File, profile: Option<Profile>) -> Setting {
    let key = arg.get_long().unwrap_or_default();
    let from_file = file.options.remove(key);
    let said = || given.get_raw(arg.get_id().as_str())?.next().map(Said::new);
    let (value, origin) = match given.value_source(arg.get_id().as_str()) {
        Some(ValueSource::CommandLine) => (on_or(arg, given, said()), Origin::Flag(key.to_owned())),
        Some(ValueSource::EnvVariable) => {
            (on_or(arg, given, said()), Origin::Environment(format!("SILICA_{}", key.replace('-', "_").to_uppercase())))
        }
        _ => match (from_file, profile.and_then(|profile| preset(profile, key))) {
            (Some((value, place)), _) => (Some(Said::new(value.as_str())), Origin::File(place)),
            (None, Some((value, origin))) => (Some(Said::new(value)), origin),
            (None, None) if is_switch(arg) => (Some(Said::new("false")), Origin::Default),
            (None, None) => {
                (arg.get_default_values().first().map(|text| Said::new(text.to_os_string())), Origin::Default)
            }
        },
    };
    Setting { arg: arg.clone(), value, origin }
}

/// A switch is on or off; another option has what was said.
fn on_or(arg: &Arg, given: &ArgMatches, said: Option<Said>) -> Option<Said> {
    if is_switch(arg) { Some(Said::new(given.get_flag(arg.get_id().as_str()).to_string())) } else { said }
}

fn preset(profile: Profile, key: &str) -> Option<(&'static str, Origin)> {
    let (_, value) = profile.options().iter().find(|(name, _)| *name == key)?;
    Some((value, Origin::Profile(profile)))
}

/// The options in a TOML file, as text, and their places.
#[derive(Debug, Default)]
struct File {
    options: BTreeMap<String, (Zeroizing<String>, Place)>,
}

impl File {
    fn read(path: &Path) -> Result<Self, ConfigError> {
        let bytes = files::read_named(path, LONGEST)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&bytes, path)
    }

    fn parse(bytes: &[u8], path: &Path) -> Result<Self, ConfigError> {
        let place = |position: usize| {
            let lines = bytes.iter().take(position).filter(|byte| **byte == b'\n').count();
            Place { path: path.to_owned(), line: lines.saturating_add(1) }
        };
        let text = std::str::from_utf8(bytes).map_err(|error| ConfigError::Syntax {
            place: place(error.valid_up_to()),
            reason: "there is something that is not UTF-8".to_owned(),
        })?;
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            place: place(error.span().map_or(0, |span| span.start)),
            reason: error.message().to_owned(),
        })?;
        let command = command();
        let options: BTreeMap<&str, &Arg> = command
            .get_arguments()
            .filter(|arg| is_option(arg))
            .filter_map(|arg| Some((arg.get_long()?, arg)))
            .collect();
        let mut read = BTreeMap::new();
        for (key, value) in table.get_ref() {
            let place = place(key.span().start);
            let key = key.get_ref().as_ref();
            let Some(arg) = options.get(key) else {
                let nearest = nearest(key, options.keys().copied());
                return Err(ConfigError::Unknown { place, key: key.to_owned(), nearest });
            };
            let value = checked(arg, value.get_ref(), &place)?;
            read.insert(key.to_owned(), (Zeroizing::new(value), place));
        }
        Ok(Self { options: read })
    }
}

/// Reads a value of the file as text that the option takes.
fn checked(arg: &Arg, value: &DeValue<'_>, place: &Place) -> Result<String, ConfigError> {
    let key = arg.get_long().unwrap_or_default().to_owned();
    let secret = arg.is_hide_env_values_set();
    let refused = |expected: String, got: &str, reason: Option<String>| {
        let got = if secret { "something else" } else { got };
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let wrong = format!("expected {expected}, got {got}{reason}");
        Err(ConfigError::Value { place: place.clone(), key: key.clone(), wrong })
    };
    let (text, shown) = match value {
        DeValue::Boolean(on) if is_switch(arg) => return Ok(on.to_string()),
        DeValue::String(text) if !is_switch(arg) => {
            (text.to_string(), if secret { String::new() } else { format!("{text:?}") })
        }
        DeValue::Integer(number) if !is_switch(arg) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => (number.to_string(), number.to_string()),
            Err(_) => return refused(expectation(arg), number.as_str(), None),
        },
        DeValue::String(_) => return refused(expectation(arg), "text", None),
        DeValue::Integer(_) => return refused(expectation(arg), "a number", None),
        DeValue::Boolean(_) => return refused(expectation(arg), "true or false", None),
        DeValue::Float(_) => return refused(expectation(arg), "a fraction", None),
        DeValue::Datetime(_) => return refused(expectation(arg), "a date", None),
        DeValue::Array(_) => return refused(expectation(arg), "an array", None),
        DeValue::Table(_) => return refused(expectation(arg), "a table", None),
    };
    if key == WORDS {
        let text = Zeroizing::new(text);
        return match text.parse::<Mnemonic>() {
            Ok(_) => Ok(text.as_str().to_owned()),
            Err(error) => refused(expectation(arg), "", Some(format!("--{WORDS}: {error}"))),
        };
    }
    match command().try_get_matches_from(["silica".to_owned(), format!("--{key}={text}")]) {
        Ok(_) => Ok(text),
        Err(error) => refused(expectation(arg), &shown, reason(&error)),
    }
}

/// What an option says of a value that it does not take.
fn reason(error: &clap::Error) -> Option<String> {
    use std::error::Error as _;
    if let Some(source) = error.source() {
        return Some(source.to_string());
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(_)) => None,
        _ => error.to_string().lines().next().map(|line| line.trim_start_matches("error: ").to_owned()),
    }
}

/// What an option takes, in words.
fn expectation(arg: &Arg) -> String {
    if is_switch(arg) {
        return "true or false".to_owned();
    }
    let values: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if !values.is_empty() {
        return values.join(" or ");
    }
    arg.get_value_names().and_then(|names| names.first()).map_or_else(|| "text".to_owned(), ToString::to_string)
}

/// The most similar of `names`, if any is similar.
fn nearest<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance = |name: &&str| strsim::osa_distance(&key.replace('_', "-").to_lowercase(), name);
    let nearest = names.min_by_key(distance)?;
    (distance(&nearest) <= key.chars().count().div_ceil(3)).then(|| nearest.to_owned())
}

/// A value as TOML: numbers and switches as they are, everything else in quotes.
fn toml_of(arg: &Arg, value: &str) -> String {
    let number = value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    if is_switch(arg) || number {
        return value.to_owned();
    }
    // A text of JSON is one of TOML but for one character.
    serde_json::to_string(value).unwrap_or_default().replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use silica_protocol::ChainId;

    use super::*;
    use crate::{block_mode::BlockMode, config::Durability};

    const WORDS: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";

    /// Gathers the options of a command line, and of `toml` as the file that it names.
    fn gather(line: &str, toml: Option<&str>) -> Result<Settings, ConfigError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.toml");
        let mut words: Vec<OsString> =
            std::iter::once("silica").chain(line.split_whitespace()).map(Into::into).collect();
        if let Some(toml) = toml {
            fs::write(&path, toml).unwrap();
            words.push("--config".into());
            words.push(path.into());
        }
        Settings::gather(&command().try_get_matches_from(words).unwrap())
    }

    fn config(line: &str, toml: &str) -> Config {
        gather(line, Some(toml)).unwrap().config().unwrap()
    }

    #[test]
    fn nothing_said_is_the_default() {
        let config = gather("", None).unwrap().config().unwrap();
        assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
    }

    #[test]
    fn every_option_can_stand_in_a_file() {
        let config = config(
            "",
            "data-dir = 'd'\nlisten = '127.0.0.1:80'\nwebsocket = 'off'\nchain-id = 7\nblock-mode = 'manual'\nshards = 3\n\
             proof-window = 60\ncache-mb = 0x10\ndurability = 'relaxed'\nmax-connections = 1_000\nlog = 'warn'\n\
             allowed-hosts = 'a, b'\nallowed-origins = 'https://a'\ntrusted-proxies = '::1'\nmethods = 'Get*'\n\
             operator-listen = '127.0.0.1:90'",
        );
        assert_eq!(
            (config.access.hosts, config.access.origins),
            ("a,b".parse().unwrap(), "https://a".parse().unwrap())
        );
        assert_eq!((config.access.proxies, config.methods), ("::1".parse().unwrap(), Some("Get*".parse().unwrap())));
        assert_eq!(config.operator_listen, Some(([127, 0, 0, 1], 90).into()));
        assert_eq!(config.data_dir, Some("d".into()));
        assert_eq!(config.listen, ([127, 0, 0, 1], 80).into());
        assert_eq!((config.chain_id, config.shards), (Some(ChainId::new(7)), Some(3)));
        assert_eq!((config.block_mode, config.durability), (BlockMode::Manual, Durability::Relaxed));
        assert_eq!((config.proof_window, config.cache_bytes, config.http.connections), (60, 16 << 20, 1000));
    }

    #[test]
    fn flag_goes_before_file_and_file_before_profile() {
        let toml = "profile = 'zq2'\nchain-id = 7\nshards = 2";
        let config = config("--shards 3", toml);
        assert_eq!((config.shards, config.chain_id), (Some(3), Some(ChainId::new(7))));
        assert_eq!((config.listen.port(), config.profile), (4201, Profile::Zq2));
        let text = gather("--shards 3", Some(toml)).unwrap().to_string();
        for line in ["shards = 3 # --shards", "listen = \"127.0.0.1:4201\" # profile zq2", "cache-mb = 256 # default"] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        let of_file = |start: &str| text.lines().any(|line| line.starts_with(start) && line.ends_with(":2"));
        assert!(of_file("chain-id = 7 # ") && !of_file("shards"), "{text}");
    }

    #[test]
    fn environment_goes_between_flag_and_file() {
        // The environment of this process is shared by its tests: the source is said as the parser would.
        let matches = RunArgs::augment_args(Command::new("silica"))
            .mut_arg("shards", |arg| arg.env("CARGO_PKG_VERSION_MINOR"))
            .try_get_matches_from(["silica"])
            .unwrap();
        let text = Settings::gather(&matches).unwrap().to_string();
        let minor = std::env::var("CARGO_PKG_VERSION_MINOR").unwrap();
        assert!(text.contains(&format!("shards = {minor} # SILICA_SHARDS")), "{text}");
    }

    /// Gathers the options of a command line, where the variable `CARGO_PKG_NAME`, which is that of this package, is heard for
    /// one of them: the environment of this process is shared by its tests.
    fn gather_beside_a_variable(option: &'static str, words: &[&str]) -> Settings {
        let matches = RunArgs::augment_args(Command::new("silica"))
            .mut_args(|arg| arg.env(Resettable::Reset))
            .mut_arg(option, |arg| arg.env("CARGO_PKG_NAME"))
            .try_get_matches_from([&["silica"], words].concat())
            .unwrap();
        Settings::gather(&matches).unwrap()
    }

    #[test]
    fn flag_goes_before_what_the_environment_says_to_the_contrary() {
        let config = |option, words: &[&str]| gather_beside_a_variable(option, words).config().unwrap();
        assert_eq!(config("data_dir", &[]).data_dir, Some(env!("CARGO_PKG_NAME").into()));
        assert_eq!(config("data_dir", &["--ephemeral"]).data_dir, None);
        let with_words = config("accounts_file", &["--mnemonic", WORDS]);
        assert_eq!((with_words.mnemonic.map(|(_, accounts)| accounts), with_words.accounts_file), (Some(10), None));
        let error = gather("--ephemeral --data-dir d", None).unwrap_err().to_string();
        assert_eq!(error, "ephemeral (by --ephemeral) cannot be used with data-dir (by --data-dir)");
    }

    #[test]
    fn command_for_a_data_directory_hears_the_file_last() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.toml");
        let find = |toml: &str, words: &[&str]| {
            fs::write(&path, toml).unwrap();
            let words = [&["silica", "db", "check", "--config", path.to_str().unwrap()], words].concat();
            let matches = deaf(Cli::command()).try_get_matches_from(words).unwrap();
            let (_, matches) = matches.subcommand().unwrap();
            Settings::data_dir(matches.subcommand().unwrap().1).map_err(|error| error.to_string())
        };
        assert_eq!(find("data-dir = 'd'\nshards = 3", &[]), Ok("d".into()));
        assert_eq!(find("data-dir = 'd'", &["--data-dir", "e"]), Ok("e".into()));
        assert_eq!(find("shards = 3", &[]), Ok("silica-data".into()));
        assert!(find("shards = 3\nephemeral = true", &[]).unwrap_err().contains("ephemeral (by "));
        assert_eq!(find("ephemeral = true", &["--data-dir", "e"]), Ok("e".into()));
        assert!(find("shard = 3", &[]).unwrap_err().contains("did you mean \"shards\"?"));
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        for line in
            ["", "--profile zq2 --block-mode interval=5", "--ephemeral --websocket off", "--data-dir a\"\\\u{7f}b"]
        {
            let settings = gather(line, None).unwrap();
            let again = gather("", Some(&settings.to_string())).unwrap();
            let facts = |settings: &Settings| {
                format!("{:?}", Config { origins: Origins::default(), ..settings.config().unwrap() })
            };
            assert_eq!(facts(&again), facts(&settings), "{line}\n{settings}");
        }
    }

    #[test]
    fn of_options_that_contradict_each_other_the_first_place_wins() {
        assert_eq!(config("--ephemeral", "data-dir = 'd'").data_dir, None);
        assert_eq!(config("--data-dir d", "ephemeral = true").data_dir, Some("d".into()));
        assert_eq!(config("--data-dir d", "ephemeral = false").data_dir, Some("d".into()));
        let error = gather("", Some("ephemeral = true\ndata-dir = 'd'")).unwrap_err().to_string();
        assert!(
            error.contains("ephemeral") && error.contains(":1") && error.contains("data-dir") && error.contains(":2")
        );
    }

    #[test]
    fn secrets_are_not_printed() {
        let toml = format!("mnemonic = '{WORDS}'\naccounts = 3");
        let settings = gather("", Some(&toml)).unwrap();
        assert_eq!(settings.config().unwrap().mnemonic, Some((WORDS.parse().unwrap(), 3)));
        let text = settings.to_string();
        assert!(text.contains("# mnemonic is set, by ") && !text.contains("legal"), "{text}");
        assert!(!format!("{:?}", settings.config().unwrap()).contains("legal"));
        check("mnemonic = 'legal winners thank year'", &[":1: mnemonic: expected WORDS", "12, 15", "got 4"]);
        let wrong = WORDS.replace("year", "jahr");
        for error in [
            gather("", Some(&format!("mnemonic = '{wrong}'"))).unwrap_err().to_string(),
            command().try_get_matches_from(["silica", "--mnemonic", &wrong]).unwrap_err().to_string(),
        ] {
            assert!(error.contains("word 4") && !error.contains("jahr") && !error.contains("legal"), "{error}");
        }
    }

    /// Checks that a file is refused with a message that holds each of `words`.
    fn check(toml: &str, words: &[&str]) {
        let error = gather("", Some(toml)).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{word:?} is missing in {error}");
        }
    }

    #[test]
    fn refusals_name_file_line_key_what_was_expected_and_what_came() {
        check("# x\n\nchain_id = 3", &["s.toml:3: unknown key \"chain_id\"; did you mean \"chain-id\"?"]);
        check("chian-id = 3", &["did you mean \"chain-id\"?"]);
        check("completely-else = 3", &["s.toml:1: unknown key \"completely-else\""]);
        check("config = 'x'", &["unknown key \"config\""]);
        check("\ncache-mb = 7", &["s.toml:2: cache-mb: expected MB, got 7: ", "8..=1048576"]);
        check("cache-mb = 'much'", &["cache-mb: expected MB, got \"much\""]);
        check("cache-mb = 1.5", &["cache-mb: expected MB, got a fraction"]);
        check("allowed-hosts = 'a:1'", &["s.toml:1: allowed-hosts: expected HOSTS, got \"a:1\": expected host names"]);
        check(
            "trusted-proxies = 'x'",
            &["trusted-proxies: expected PROXIES, got \"x\": expected addresses or networks"],
        );
        check("methods = ['Get*']", &["methods: expected METHODS, got an array"]);
        check("durability = 'never'", &["durability: expected flush or relaxed, got \"never\""]);
        check("profile = 'x'", &["profile: expected isolated or testnet or mainnet or zq2, got \"x\""]);
        check("block-mode = 'fast'", &["block-mode", "instant, interval=MS"]);
        check("ephemeral = 'yes'", &["ephemeral: expected true or false, got text"]);
        check("listen = ['a']", &["listen: expected ADDR:PORT, got an array"]);
        check("[http]\na = 1", &["s.toml:1: unknown key \"http\""]);
        check("listen", &["s.toml:1: expected TOML"]);
        check("shards = 1\nshards = 2", &["s.toml:2: expected TOML", "duplicate"]);
        check("accounts = 3", &["accounts", "s.toml:1", "means nothing without mnemonic"]);
    }

    #[test]
    fn file_that_is_no_text_is_told_by_its_line() {
        let error = File::parse(b"shards = 1\n# caf\xe9\n", Path::new("s.toml")).unwrap_err().to_string();
        assert_eq!(error, "s.toml:2: expected TOML: there is something that is not UTF-8");
    }

    #[test]
    fn file_that_is_not_there_is_named() {
        let matches = command().try_get_matches_from(["silica", "--config", "/none/s.toml"]).unwrap();
        let error = Settings::gather(&matches).unwrap_err().to_string();
        assert!(error.contains("cannot read configuration file /none/s.toml"), "{error}");
    }
}
