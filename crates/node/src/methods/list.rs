//! The list of methods that a node serves (`--methods`).

use std::str::FromStr;

use super::table;

/// Method names, and prefixes of method names with a `*` at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodList(Vec<String>);

/// An element of a method list matches no method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected method names separated by commas, or prefixes of names such as Get*, got {got:?}, which matches no method"
)]
pub struct MethodListError {
    got: String,
}

impl FromStr for MethodList {
    type Err = MethodListError;

    fn from_str(text: &str) -> Result<Self, MethodListError> {
        let patterns: Vec<String> = text.split(',').map(|pattern| pattern.trim().to_owned()).collect();
        let useless =
            |pattern: &&String| !table().entries().iter().any(|entry| entry.names().any(|name| fits(pattern, name)));
        match patterns.iter().find(useless) {
            Some(got) => Err(MethodListError { got: got.chars().take(64).collect() }),
            None => Ok(Self(patterns)),
        }
    }
}

impl MethodList {
    /// Returns one flag for each row of the method table, in the order of the table. The flag is `true` if the list has
    /// any of the names of the row.
    pub(crate) fn select(&self) -> Box<[bool]> {
        let is_listed = |name: &str| self.0.iter().any(|pattern| fits(pattern, name));
        table().entries().iter().map(|entry| entry.names().any(is_listed)).collect()
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &str, names: &[&str]) {
        let selected = list.parse::<MethodList>().unwrap().select();
        let listed: Vec<_> =
            table().entries().iter().zip(selected).filter(|(_, on)| *on).map(|(entry, _)| entry.name).collect();
        assert_eq!(listed, names, "{list}");
    }

    #[test]
    fn methods_are_listed_by_name_and_by_prefix() {
        check("GetBalance, CreateTransaction", &["CreateTransaction", "GetBalance"]);
        check("net_*,GetDsBlockV*", &["GetDsBlockVerbose", "net_listening", "net_version"]);
        check("GetLatestDSBlock", &["GetLatestDsBlock"]);
        assert!("*".parse::<MethodList>().unwrap().select().iter().all(|on| *on));
    }

    #[test]
    fn pattern_that_fits_no_method_is_rejected() {
        for (list, got) in
            [("", ""), ("GetBalance,", ""), ("getBalance", "getBalance"), ("Gte*,Get*", "Gte*"), ("*e", "*e")]
        {
            let error = list.parse::<MethodList>().unwrap_err();
            assert_eq!(error, MethodListError { got: got.to_owned() }, "{list}");
        }
    }
}
