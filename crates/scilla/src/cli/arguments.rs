//! Flags and their values.
//!
//! The reference's tools accept long flags with one dash, before or after operands, and values as the next argument.
//! This parser also accepts two dashes, and values after an equals sign. One-letter flags exist only where a tool of
//! the reference has them. Several one-letter flags may follow one dash.

use std::ffi::OsString;

use crate::{diagnosis::similar, eval::Settings, rules::Rules};

/// A flag of a command, as a row of the command's table. Parsing and help use this row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// Name without dashes.
    pub(super) name: &'static str,
    /// One-letter form, if the reference has one.
    pub(super) short: Option<char>,
    /// Word for the value in the help, or `None` if the flag has no value.
    pub(super) value: Option<&'static str>,
    /// Purpose of the flag, in one sentence.
    pub(super) help: &'static str,
}

impl Flag {
    /// Returns a flag without a value.
    pub(super) const fn switch(name: &'static str, help: &'static str) -> Self {
        Self { name, short: None, value: None, help }
    }

    /// Returns a flag with a value.
    pub(super) const fn valued(name: &'static str, value: &'static str, help: &'static str) -> Self {
        Self { name, short: None, value: Some(value), help }
    }

    /// Returns the flag with the additional one-letter form `short`.
    pub(super) const fn or(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }
}

/// The flag that selects the rules of the interpreter.
pub(super) const RULES: Flag =
    Flag::valued("rules", "NAME", "The rules of the interpreter, by release: 0.13, 0.11 or latest (default: latest).");

/// The arguments of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    given: Vec<(&'static str, String)>,
    operands: Vec<String>,
}

/// Reason why the arguments of a command are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UsageError {
    /// The flag does not accept this value.
    #[error("-{flag} takes {expected}, not `{got}`")]
    BadValue {
        /// Name of the flag.
        flag: &'static str,
        /// Description of the accepted values.
        expected: &'static str,
        /// The value on the command line.
        got: String,
    },
    /// Flags that exclude each other, or a flag that requires another flag.
    #[error("{0}")]
    Combination(&'static str),
    /// A required flag is missing.
    #[error("-{0} is missing")]
    Missing(&'static str),
    /// A required operand is missing.
    #[error("{0} is missing")]
    MissingOperand(&'static str),
    /// The value of a flag is missing.
    #[error("-{0} needs a value")]
    MissingValue(&'static str),
    /// An argument is not UTF-8.
    #[error("the argument {} is not UTF-8", .0.display())]
    NotUtf8(OsString),
    /// The command line has more operands than the command takes.
    #[error("`{0}` is one argument too many")]
    TooMany(String),
    /// The command does not exist.
    #[error("there is no command `{0}`")]
    UnknownCommand(String),
    /// The command does not have this flag.
    #[error("there is no flag `{given}`{}", .nearest.map(|name| format!("; did you mean `-{name}`?")).unwrap_or_default())]
    UnknownFlag {
        /// The unknown flag, as on the command line.
        given: String,
        /// The most similar flag, if there is one.
        nearest: Option<&'static str>,
    },
    /// The command line has a value for a flag that takes no value.
    #[error("-{0} takes no value")]
    UnwantedValue(&'static str),
}

impl Arguments {
    /// Parses arguments into flags and operands.
    ///
    /// # Errors
    ///
    /// If a flag is unknown, lacks its value, or has a value that it does not take.
    pub(super) fn parse(given: impl IntoIterator<Item = String>, flags: &[Flag]) -> Result<Self, UsageError> {
        let mut arguments = Self::default();
        let mut given = given.into_iter();
        while let Some(argument) = given.next() {
            let stripped = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
            let Some(named) = stripped.filter(|name| !name.is_empty()) else {
                arguments.operands.push(argument);
                continue;
            };
            let (name, attached) = match named.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (named, None),
            };
            let Some(flag) = flags.iter().find(|flag| flag.name == name) else {
                if let Some(switches) = letters(&argument, flags) {
                    arguments.given.extend(switches.into_iter().map(|name| (name, String::new())));
                    continue;
                }
                let nearest = nearest(name, flags);
                return Err(UsageError::UnknownFlag { given: argument, nearest });
            };
            let value = match (flag.value, attached) {
                (None, None) => String::new(),
                (None, Some(_)) => return Err(UsageError::UnwantedValue(flag.name)),
                (Some(_), Some(value)) => value,
                (Some(_), None) => given.next().ok_or(UsageError::MissingValue(flag.name))?,
            };
            arguments.given.push((flag.name, value));
        }
        Ok(arguments)
    }

    /// Returns whether the command line has a flag.
    pub(super) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// Returns the value of a flag, or `None` if the flag is not given. As in the reference, the last value counts.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.values(name).last()
    }

    /// Returns all values of a flag, in the order of the command line.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.given.iter().filter(move |(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of a required flag.
    pub(super) fn required(&self, name: &'static str) -> Result<&str, UsageError> {
        self.value(name).ok_or(UsageError::Missing(name))
    }

    /// Returns the value of a flag as a number, or `None` if the flag is not given.
    pub(super) fn number(&self, name: &'static str) -> Result<Option<u64>, UsageError> {
        let parse = |text: &str| {
            let error = || UsageError::BadValue { flag: name, expected: "a number", got: text.into() };
            text.parse().map_err(|_| error())
        };
        self.value(name).map(parse).transpose()
    }

    /// Returns the value of a flag with the values `true` and `false`, or `None` if the flag is not given.
    pub(super) fn truth(&self, name: &'static str) -> Result<Option<bool>, UsageError> {
        let parse = |text: &str| {
            let error = || UsageError::BadValue { flag: name, expected: "true or false", got: text.into() };
            text.parse().map_err(|_| error())
        };
        self.value(name).map(parse).transpose()
    }

    /// Returns the rules that the flag `-rules` names, or the default rules.
    pub(super) fn rules(&self) -> Result<Rules, UsageError> {
        let parse = |text: &str| {
            let error = |_| UsageError::BadValue { flag: "rules", expected: "0.13, 0.11 or latest", got: text.into() };
            text.parse().map(Rules::current).map_err(error)
        };
        self.value("rules").map_or(Ok(Rules::default()), parse)
    }

    /// Returns the settings of a run, from the flags `-pplit` and `-rules`.
    pub(super) fn settings(&self) -> Result<Settings, UsageError> {
        Ok(Settings { pretty_literals: self.truth("pplit")?.unwrap_or(true), rules: self.rules()? })
    }

    /// Returns the operand, or an error unless there is exactly one operand.
    pub(super) fn operand(&self, what: &'static str) -> Result<&str, UsageError> {
        match self.operands.as_slice() {
            [] => Err(UsageError::MissingOperand(what)),
            [one] => Ok(one),
            [_, second, ..] => Err(UsageError::TooMany(second.clone())),
        }
    }

    /// Checks that there is no operand.
    pub(super) fn no_operand(&self) -> Result<(), UsageError> {
        self.operands.first().map_or(Ok(()), |first| Err(UsageError::TooMany(first.clone())))
    }

    /// Returns the directories of `-libdir`. The flag may occur several times, and its value may have several
    /// directories with colons between them.
    pub(super) fn library_directories(&self) -> Vec<String> {
        let split = self.values("libdir").flat_map(|value| value.split(':'));
        split.filter(|directory| !directory.is_empty()).map(str::to_owned).collect()
    }
}

/// Returns the names of the flags in a group of one-letter flags, or `None` if a letter is not such a flag.
fn letters(argument: &str, flags: &[Flag]) -> Option<Vec<&'static str>> {
    let letters = argument.strip_prefix('-')?.chars();
    let switch = |letter| flags.iter().find(|flag| flag.short == Some(letter) && flag.value.is_none());
    letters.map(|letter| switch(letter).map(|flag| flag.name)).collect()
}

/// Returns the flag whose name is most similar to an unknown name, or `None` if no name is similar.
fn nearest(name: &str, flags: &[Flag]) -> Option<&'static str> {
    similar(name, flags.iter().map(|flag| flag.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &[Flag] = &[
        Flag::switch("jsonerrors", "Print errors as JSON.").or('j'),
        Flag::switch("summary", "Print the table only.").or('s'),
        Flag::valued("libdir", "DIR", "Look for libraries there."),
        Flag::valued("gaslimit", "N", "The gas."),
        Flag::valued("pplit", "BOOL", "Lists as arrays."),
    ];

    fn parse(line: &str) -> Result<Arguments, UsageError> {
        Arguments::parse(line.split_whitespace().map(str::to_owned), FLAGS)
    }

    #[test]
    fn flags_stand_anywhere() {
        let arguments = parse("-libdir a:b file --jsonerrors -libdir=c -gaslimit 7").unwrap();
        assert!(arguments.has("jsonerrors"));
        assert_eq!(arguments.library_directories(), ["a", "b", "c"]);
        assert_eq!(arguments.number("gaslimit"), Ok(Some(7)));
        assert_eq!(arguments.operand("FILE"), Ok("file"));
    }

    #[test]
    fn the_last_value_counts() {
        assert_eq!(parse("-pplit true -pplit false").unwrap().truth("pplit"), Ok(Some(false)));
    }

    #[test]
    fn letters_stand_for_flags() {
        for line in ["-sj", "-j -s", "-s -jsonerrors"] {
            let arguments = parse(line).unwrap();
            assert!(arguments.has("jsonerrors") && arguments.has("summary"), "{line}");
        }
        for line in ["--s", "-sx", "-s=1"] {
            assert!(matches!(parse(line), Err(UsageError::UnknownFlag { .. })), "{line}");
        }
    }

    #[test]
    fn wrong_use_is_an_error() {
        let error_of = |line| parse(line).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(error_of("-gaslimt 7"), Err("there is no flag `-gaslimt`; did you mean `-gaslimit`?".into()));
        assert_eq!(error_of("-moon"), Err("there is no flag `-moon`".into()));
        assert_eq!(error_of("-libdir"), Err("-libdir needs a value".into()));
        assert_eq!(error_of("-jsonerrors=1"), Err("-jsonerrors takes no value".into()));
        let number = parse("-gaslimit many").unwrap().number("gaslimit").map_err(|error| error.to_string());
        assert_eq!(number, Err("-gaslimit takes a number, not `many`".into()));
        assert_eq!(parse("a b").unwrap().operand("FILE"), Err(UsageError::TooMany("b".into())));
        assert_eq!(parse("").unwrap().operand("FILE"), Err(UsageError::MissingOperand("FILE")));
    }
}
