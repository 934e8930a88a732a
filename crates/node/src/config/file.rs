//! The TOML file of options.

use std::{collections::BTreeMap, path::Path};

use clap::{
    Arg,
    error::{ContextKind, ContextValue},
};
use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

use super::{
    ConfigError, FileLocation, Mnemonic,
    settings::{WORDS, command, is_option, is_switch},
};
use crate::files;

/// Maximum size of the file in bytes.
const LONGEST: u64 = 1 << 20;

/// The options in a TOML file, as text, with their places.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) options: BTreeMap<String, (Zeroizing<String>, FileLocation)>,
}

impl File {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the file and its line.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigError> {
        let bytes = files::read_named(path, LONGEST)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&bytes, path)
    }

    /// Parses the text of the file at `path`.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self, ConfigError> {
        let place = |position: usize| {
            let lines = bytes.iter().take(position).filter(|byte| **byte == b'\n').count();
            FileLocation { path: path.to_owned(), line: lines.saturating_add(1) }
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

/// Returns a value of the file as text, if its option takes it.
fn checked(arg: &Arg, value: &DeValue<'_>, place: &FileLocation) -> Result<String, ConfigError> {
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

/// Returns why an option does not take a value.
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

/// Describes the values that an option takes.
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

/// Returns the most similar one of `names`, if one is similar.
fn nearest<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance = |name: &&str| strsim::osa_distance(&key.replace('_', "-").to_lowercase(), name);
    let nearest = names.min_by_key(distance)?;
    (distance(&nearest) <= key.chars().count().div_ceil(3)).then(|| nearest.to_owned())
}
