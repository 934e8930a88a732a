//! The TOML file of options.

use std::{collections::BTreeMap, path::Path};

use clap::{
    Arg, FromArgMatches,
    error::{ContextKind, ContextValue},
};
use silica_crypto::Mnemonic;
use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

use super::{
    ConfigError, FileLocation, Profile, RunArgs,
    settings::{command, is_option, is_secret, is_switch},
};
use crate::files;

/// Maximum size of the file, in bytes.
const LONGEST: u64 = 1 << 20;

/// The option with the secret from which keys are derived. The parser of the command line keeps copies of its input,
/// and does not erase them. Therefore the file's value of this option does not go through the parser.
const WORDS: &str = "mnemonic";

/// The options of a TOML file, with the line of each option.
#[derive(Debug, Default)]
pub(super) struct File {
    options: BTreeMap<String, FileOption>,
    mnemonic: Option<Mnemonic>,
}

/// An option of the file, whose value has the required TOML type.
#[derive(Debug)]
struct FileOption {
    /// The value in the form of the command line; empty for the mnemonic.
    text: Zeroizing<String>,
    is_string: bool,
    location: FileLocation,
}

impl File {
    /// Reads the file at `path`, and parses the names and TOML types of its options.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the file, and the line if there is one.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigError> {
        let bytes = files::read_named(path, LONGEST)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&bytes, path)
    }

    /// Parses the names and the TOML types of the options. [`parse_values`](Self::parse_values) parses the values. The
    /// errors name `path`.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self, ConfigError> {
        let location = |position: usize| {
            let lines = bytes.iter().take(position).filter(|byte| **byte == b'\n').count();
            FileLocation { path: path.to_owned(), line: lines.saturating_add(1) }
        };
        let text = std::str::from_utf8(bytes).map_err(|error| ConfigError::Syntax {
            place: location(error.valid_up_to()),
            reason: "got bytes that are not UTF-8".to_owned(),
        })?;
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            place: location(error.span().map_or(0, |span| span.start)),
            reason: error.message().to_owned(),
        })?;
        let command = command();
        let known: BTreeMap<&str, &Arg> = command
            .get_arguments()
            .filter(|arg| is_option(arg))
            .filter_map(|arg| Some((arg.get_long()?, arg)))
            .collect();
        let mut file = Self::default();
        for (key, value) in table.get_ref() {
            let location = location(key.span().start);
            let key = key.get_ref().as_ref();
            let Some(arg) = known.get(key) else {
                let nearest = nearest(key, known.keys().copied());
                return Err(ConfigError::Unknown { place: location, key: key.to_owned(), nearest });
            };
            let (mut text, is_string) =
                text_of(arg, value.get_ref()).map_err(|got| wrong_value(arg, &location, &got, None))?;
            if key == WORDS {
                let words = text
                    .parse()
                    .map_err(|error| wrong_value(arg, &location, "", Some(format!("--{WORDS}: {error}"))))?;
                file.mnemonic = Some(words);
                text = Zeroizing::default();
            }
            file.options.insert(key.to_owned(), FileOption { text, is_string, location });
        }
        Ok(file)
    }

    /// Returns the value and the line of an option; `None` if the file does not have it.
    pub(super) fn option(&self, key: &str) -> Option<(&str, &FileLocation)> {
        self.options.get(key).map(|option| (option.text.as_str(), &option.location))
    }

    /// Returns the line of an option; `None` if the file does not have it.
    pub(super) fn location(&self, key: &str) -> Option<&FileLocation> {
        self.options.get(key).map(|option| &option.location)
    }

    /// Returns the profile that the file names; `None` if the file names no profile or an unknown profile.
    pub(super) fn profile(&self) -> Option<Profile> {
        let (name, _) = self.option("profile")?;
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Parses the values of the file. An option that the file does not have gets its value from `presets`, or its
    /// default.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Value`] names the line of an invalid value.
    pub(super) fn parse_values(&self, presets: &[(&str, &str)]) -> Result<RunArgs, ConfigError> {
        let mut line = vec!["silica".to_owned()];
        let presets = presets.iter().filter(|(key, _)| !self.options.contains_key(*key));
        line.extend(presets.map(|(key, value)| format!("--{key}={value}")));
        let command = command();
        for arg in command.get_arguments() {
            let key = arg.get_long().unwrap_or_default();
            match self.option(key) {
                Some(("true", _)) if is_switch(arg) => line.push(format!("--{key}")),
                Some((text, _)) if !is_switch(arg) && key != WORDS => line.push(format!("--{key}={text}")),
                _ => {}
            }
        }
        let matches = command.try_get_matches_from(line).map_err(|error| self.locate(error))?;
        let mut args = RunArgs::from_arg_matches(&matches)?;
        args.mnemonic.clone_from(&self.mnemonic);
        Ok(args)
    }

    /// Converts an error of the parser. Adds the line of the option if the file has the option.
    fn locate(&self, error: clap::Error) -> ConfigError {
        let flag = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(flag)) => flag.trim_start_matches('-'),
            _ => return error.into(),
        };
        // The parser names an option with its value, as in `--cache-mb <MB>`.
        let key = flag.split([' ', '=', '[']).next().unwrap_or_default();
        let command = command();
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(key));
        match (arg, self.options.get(key)) {
            (Some(arg), Some(FileOption { text, is_string, location })) => {
                let got = if *is_string { format!("{:?}", text.as_str()) } else { text.to_string() };
                wrong_value(arg, location, &got, reason(&error))
            }
            _ => error.into(),
        }
    }
}

/// Returns a value as text, and whether the value is a TOML string.
///
/// # Errors
///
/// The value does not have the TOML type of the option. The error text describes the value.
fn text_of(arg: &Arg, value: &DeValue<'_>) -> Result<(Zeroizing<String>, bool), String> {
    let wrong_type = match value {
        DeValue::Boolean(on) if is_switch(arg) => return Ok((on.to_string().into(), false)),
        DeValue::String(text) if !is_switch(arg) => return Ok((text.to_string().into(), true)),
        DeValue::Integer(number) if !is_switch(arg) => {
            return match i128::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Ok((number.to_string().into(), false)),
                Err(_) => Err(number.as_str().to_owned()),
            };
        }
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Float(_) => "a fraction",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    };
    Err(wrong_type.to_owned())
}

/// Returns the error for a value that the option does not accept. The error does not show the value of a secret.
fn wrong_value(arg: &Arg, location: &FileLocation, got: &str, reason: Option<String>) -> ConfigError {
    let got = if is_secret(arg) { "something else" } else { got };
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let wrong = format!("expected {}, got {got}{reason}", expectation(arg));
    ConfigError::Value { place: location.clone(), key: arg.get_long().unwrap_or_default().to_owned(), wrong }
}

/// Returns the reason for which the parser rejected a value; `None` if the error has no reason.
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

/// Describes the values that an option accepts.
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

/// Returns the name that is most similar to `key`. Returns `None` if the edit distance to each name is more than a
/// third of the length of the key, rounded up.
fn nearest<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance = |name: &&str| strsim::osa_distance(&key.replace('_', "-").to_lowercase(), name);
    let nearest = names.min_by_key(distance)?;
    (distance(&nearest) <= key.chars().count().div_ceil(3)).then(|| nearest.to_owned())
}
