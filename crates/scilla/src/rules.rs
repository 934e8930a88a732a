//! Differences between released interpreters, as named sets of rules.
//!
//! The language has one version, but its interpreter has several releases, and networks ran different releases.
//! Receipts are part of block hashes, so the chain determines the rules of each block. An [`Edition`] is the name that
//! an operator chooses. [`Rules`] adds a revision, which is a number of this implementation. A stricter check or a new
//! limit gets the next revision, and chains with an earlier revision keep their rules. Checks and runs read the
//! individual facts of [`Rules`], not the name of the edition.
//!
//! ```
//! use silica_scilla::rules::{Edition, Exceptions, Rules};
//!
//! let rules = Rules::current(Edition::V0_13);
//! assert_eq!(rules.exceptions(), Exceptions::CompletedProcedures);
//! assert_eq!(rules.to_string().parse(), Ok(rules));
//! ```

use std::{fmt, str::FromStr};

/// A release of the interpreter, as a set of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edition {
    /// Scilla 0.11, which Zilliqa 8.1 ran. Its gas charges, and the outcome of a message to a library, differ from
    /// later releases. Its exceptions list the same components as those of `V0_13`.
    V0_11,
    /// Scilla 0.12 to 0.13.5, which Zilliqa 8.2 to 9.3.7 ran. The components that their exceptions list differ from
    /// `Latest`.
    V0_13,
    /// The last state of the interpreter's source, which the successor of Zilliqa 9 runs.
    Latest,
}

impl Edition {
    /// Every edition, the oldest first.
    pub const ALL: [Self; 3] = [Self::V0_11, Self::V0_13, Self::Latest];

    /// Returns the name of the edition in options and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V0_11 => "0.11",
            Self::V0_13 => "0.13",
            Self::Latest => "latest",
        }
    }
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Edition {
    type Err = UnknownEdition;

    fn from_str(text: &str) -> Result<Self, UnknownEdition> {
        let edition = Self::ALL.into_iter().find(|edition| edition.name() == text);
        edition.ok_or_else(|| UnknownEdition { got: text.to_owned() })
    }
}

/// The error for a text that is not the name of an [`Edition`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 0.13, 0.11 or latest, got {got:?}")]
pub struct UnknownEdition {
    got: String,
}

/// The rules by which programs are checked and run.
///
/// Chains store the text form `EDITION/REVISION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rules {
    edition: Edition,
    revision: u16,
}

/// The newest revision, which is the same for all editions. New chains have it.
const CURRENT: u16 = 3;

/// The components that an exception lists after `Raised from`.
///
/// `Zilliqa/scilla`, `src/eval/Eval.ml`, procedure calls: 0.11.1 lines 513 to 550, 308af35 lines 557 to 577.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceptions {
    /// The completed procedures, the newest first, and then the transition. A call removes the entries of the
    /// procedures that completed during the call.
    CompletedProcedures,
    /// The running procedures, the innermost first, then the transition.
    CallStack,
}

/// The cost formulas of the built-in functions that differ between 0.11 and 0.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinCosts {
    /// The formulas of 0.11.
    V0_11,
    /// The formulas of 0.12 and later releases.
    Current,
}

/// The outcome of a message to a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryCalls {
    /// The message succeeds without effect.
    Ignored,
    /// The message fails.
    Refused,
}

/// The constraint of a contract without a written constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnstatedConstraint {
    /// The built-in constructor `True`.
    BuiltIn,
    /// The constructor that the name `True` refers to in the contract.
    InScope,
}

/// The meaning of a name in `_extlibs` of init data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryNames {
    /// The name in `import`. `_extlibs` gives the address for this name. The imports of an imported library use the
    /// init data of this library.
    Imports,
    /// The name of the file with the library's code. `import Name` finds the code as `Name.scillib`, both in a
    /// library and in the program that imports it. The init data of libraries are not used.
    Files,
}

impl Rules {
    /// The rules of a chain without an identifier of its rules.
    pub const UNNAMED: Self = Self { edition: Edition::Latest, revision: 0 };

    /// Revision 3 of the edition 0.13: the rules of a network whose file names none. Later versions of this program
    /// keep these rules for such a network.
    pub const V0_13_3: Self = Self { edition: Edition::V0_13, revision: 3 };

    /// Returns the rules of a new chain with this edition.
    pub const fn current(edition: Edition) -> Self {
        Self { edition, revision: CURRENT }
    }

    /// Returns the edition.
    pub const fn edition(self) -> Edition {
        self.edition
    }

    /// Returns which components an exception lists.
    pub const fn exceptions(self) -> Exceptions {
        match self.edition {
            Edition::V0_11 | Edition::V0_13 => Exceptions::CompletedProcedures,
            Edition::Latest => Exceptions::CallStack,
        }
    }

    /// Returns the cost formulas of built-in functions.
    pub const fn builtin_costs(self) -> BuiltinCosts {
        match self.edition {
            Edition::V0_11 => BuiltinCosts::V0_11,
            Edition::V0_13 | Edition::Latest => BuiltinCosts::Current,
        }
    }

    /// Returns whether each run of a contract initialises it. Such a run evaluates and charges the libraries twice. It
    /// also evaluates and charges the constraint and the initial values of the fields. Otherwise, a run evaluates the
    /// libraries once, and only a deployment evaluates the other parts.
    pub const fn initialises_each_run(self) -> bool {
        matches!(self.edition, Edition::V0_11)
    }

    /// Returns the outcome of a message to a library.
    pub const fn library_calls(self) -> LibraryCalls {
        match self {
            Self { edition: Edition::V0_11, .. } | Self { revision: 0, .. } => LibraryCalls::Refused,
            Self { edition: Edition::V0_13 | Edition::Latest, .. } => LibraryCalls::Ignored,
        }
    }

    /// Returns the constraint of a contract without a written constraint.
    pub const fn unstated_constraint(self) -> UnstatedConstraint {
        match self.revision {
            0 => UnstatedConstraint::BuiltIn,
            _ => UnstatedConstraint::InScope,
        }
    }

    /// Returns the meaning of a name in `_extlibs`.
    ///
    /// `Zilliqa/zq2` e3306e1, `zilliqa/src/exec.rs` lines 1911 to 1949, writes the files. `Zilliqa/scilla` 308af35,
    /// `src/base/GlobalConfig.ml` lines 111 to 114 and `src/base/RunnerUtil.ml` lines 70 to 148, finds them.
    pub const fn library_names(self) -> LibraryNames {
        match self {
            Self { edition: Edition::Latest, revision: 2.. } => LibraryNames::Files,
            Self { .. } => LibraryNames::Imports,
        }
    }

    /// Returns whether the node itself checks `_scilla_version` of init data, and drops a deployment with another
    /// version. Otherwise, only the interpreter checks it, and the deployment of a library fails if its run fails.
    ///
    /// `Zilliqa/zq2` e3306e1, `zilliqa/src/exec.rs` lines 1953 to 2170, has no such check.
    pub const fn node_compares_version(self) -> bool {
        !matches!(self, Self { edition: Edition::Latest, revision: 2.. })
    }

    /// Returns whether the [work](crate::work) of transactions and blocks has limits.
    pub const fn limits_work(self) -> bool {
        self.revision > 2
    }

    /// Returns whether an address in `_extlibs` must have 20 bytes even if the program does not import the library.
    pub const fn checks_unused_library_addresses(self) -> bool {
        self.revision > 0
    }
}

impl Default for Rules {
    /// Returns the newest revision of [`Edition::Latest`], which is the default of tools.
    fn default() -> Self {
        Self::current(Edition::Latest)
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.edition, self.revision)
    }
}

/// Reason why a text does not identify rules that this version supports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownRules {
    /// The text does not have the form `EDITION/REVISION`.
    #[error("expected Scilla rules in the form EDITION/REVISION, got {got:?}")]
    Malformed {
        /// The invalid text.
        got: String,
    },
    /// The revision belongs to a later version of this program.
    #[error(
        "Scilla rules {got} are newer than this program, which supports revisions up to {CURRENT}; use a newer silica"
    )]
    Newer {
        /// The text with the newer revision.
        got: String,
    },
}

impl FromStr for Rules {
    type Err = UnknownRules;

    fn from_str(text: &str) -> Result<Self, UnknownRules> {
        let malformed = || UnknownRules::Malformed { got: text.to_owned() };
        let (edition, revision) = text.split_once('/').ok_or_else(malformed)?;
        let edition = edition.parse().map_err(|_| malformed())?;
        // Reject other texts of the same number, such as leading zeros, so that equal rules have equal texts.
        let number: u16 = revision.parse().map_err(|_| malformed())?;
        if number == 0 || number.to_string() != revision {
            return Err(malformed());
        }
        if number > CURRENT {
            return Err(UnknownRules::Newer { got: text.to_owned() });
        }
        Ok(Self { edition, revision: number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_read_as_it_is_written() {
        for edition in Edition::ALL {
            let rules = Rules::current(edition);
            assert_eq!(rules.to_string().parse(), Ok(rules));
            assert_eq!(edition.to_string().parse(), Ok(edition));
        }
        assert_eq!(Rules::current(Edition::V0_13).to_string(), "0.13/3");
        let first = Rules { edition: Edition::V0_13, revision: 1 };
        assert_eq!("0.13/1".parse(), Ok(first), "a chain of an earlier revision keeps its rules");
    }

    #[test]
    fn a_wrong_identifier_is_refused() {
        let error_of = |text: &str| text.parse::<Rules>().unwrap_err().to_string();
        for text in ["", "0.13", "0.13/", "0.13/0", "latest/0", "0.13/01", "0.13/+1", "0.12/1", "0.13/1/1", "0.13/x"] {
            assert!(error_of(text).contains("EDITION/REVISION"), "{text}: {}", error_of(text));
        }
        assert!(error_of("0.13/4").ends_with("up to 3; use a newer silica"), "{}", error_of("0.13/3"));
        let edition = "0.12".parse::<Edition>().unwrap_err().to_string();
        assert_eq!(edition, "expected 0.13, 0.11 or latest, got \"0.12\"");
    }

    #[test]
    fn the_successors_libraries_and_versions_are_those_of_its_edition_from_revision_2_on() {
        let latest = |revision| Rules { edition: Edition::Latest, revision };
        let others = [Rules::UNNAMED, latest(1), Rules::current(Edition::V0_13), Rules::current(Edition::V0_11)];
        for rules in others {
            assert_eq!(
                (rules.library_names(), rules.node_compares_version()),
                (LibraryNames::Imports, true),
                "{rules}"
            );
        }
        for rules in [latest(2), Rules::current(Edition::Latest)] {
            assert_eq!((rules.library_names(), rules.node_compares_version()), (LibraryNames::Files, false), "{rules}");
        }
    }

    #[test]
    fn editions_differ_where_their_interpreters_did() {
        use BuiltinCosts::Current;
        use Exceptions::{CallStack, CompletedProcedures};
        use LibraryCalls::{Ignored, Refused};
        use UnstatedConstraint::{BuiltIn, InScope};
        let facts = |rules: Rules| {
            let strict = rules.checks_unused_library_addresses();
            let (exceptions, costs, again) = (rules.exceptions(), rules.builtin_costs(), rules.initialises_each_run());
            (exceptions, costs, again, rules.library_calls(), rules.unstated_constraint(), strict)
        };
        let newest = |edition| facts(Rules::current(edition));
        let expected = (CompletedProcedures, BuiltinCosts::V0_11, true, Refused, InScope, true);
        assert_eq!(newest(Edition::V0_11), expected);
        assert_eq!(newest(Edition::V0_13), (CompletedProcedures, Current, false, Ignored, InScope, true));
        assert_eq!(newest(Edition::Latest), (CallStack, Current, false, Ignored, InScope, true));
        assert_eq!(facts(Rules::UNNAMED), (CallStack, Current, false, Refused, BuiltIn, false));
    }
}
