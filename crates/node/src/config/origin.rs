//! The source of the value of an option.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use super::Profile;

/// A file, and the number of a line in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    pub(super) path: PathBuf,
    pub(super) line: usize,
}

impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

/// The source of a value, in order of precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag(String),
    /// An environment variable.
    Environment(String),
    /// A line of the TOML file.
    File(FileLocation),
    /// The profile.
    Profile(Profile),
    /// The default, because no source has a value.
    Default,
}

impl Origin {
    #[cfg(feature = "cli")]
    /// Returns the precedence: a lower rank takes precedence.
    pub(super) const fn rank(&self) -> u8 {
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

/// The sources of the given options, by the names of the flags without dashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(pub(super) BTreeMap<String, Origin>);

impl Origins {
    /// Returns the source of an option as text. If no source gave the option, returns its flag.
    pub(crate) fn of(&self, option: &str) -> String {
        self.0.get(option).map_or_else(|| format!("--{option}"), Origin::to_string)
    }

    /// Returns whether a source other than the default gave the option.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.0.contains_key(option)
    }
}
