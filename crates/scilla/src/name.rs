//! Names, as written and in global form.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use crate::source::Span;

/// A name as the source spells it. After resolution, it also has the module that defines it.
///
/// Two names are equal if they have the same base and the same defining module. The spelling of the namespace matters
/// only for texts.
#[derive(Clone, Debug)]
pub struct Name {
    base: Arc<str>,
    namespace: Option<Arc<str>>,
    module: Option<Arc<str>>,
}

impl Name {
    /// Returns a name without namespace and module, for example of a local, a field or a built-in type.
    pub fn simple(base: impl Into<Arc<str>>) -> Self {
        Self { base: base.into(), namespace: None, module: None }
    }

    /// Returns a name in the form `namespace.base`, without a module. The resolver adds the module.
    pub fn qualified(namespace: impl Into<Arc<str>>, base: impl Into<Arc<str>>) -> Self {
        Self { base: base.into(), namespace: Some(namespace.into()), module: None }
    }

    /// Returns the name with the module that defines it: an address (`0x` and lower-case hex) or the name of a library.
    #[must_use]
    pub fn defined_in(mut self, module: Arc<str>) -> Self {
        self.module = Some(module);
        self
    }

    /// Returns the name without its namespace and its module.
    pub fn base(&self) -> &Arc<str> {
        &self.base
    }

    /// Returns the namespace in the source, or `None` if the name has no namespace.
    pub fn namespace(&self) -> Option<&Arc<str>> {
        self.namespace.as_ref()
    }

    /// Returns the defining module, or `None` if the name belongs to no module.
    pub fn module(&self) -> Option<&Arc<str>> {
        self.module.as_ref()
    }

    /// Returns the length of the global form, in bytes.
    pub(crate) fn global_len(&self) -> usize {
        self.module.as_ref().map_or(0, |module| module.len() + 1) + self.base.len()
    }

    /// Returns the name as the source spells it: `x` or `Ns.x`.
    pub fn as_written(&self) -> impl fmt::Display + '_ {
        Dotted(self.namespace.as_deref(), &self.base)
    }

    /// Returns the global form of the name: `x`, or the defining module, a dot, and `x`.
    pub fn global(&self) -> impl fmt::Display + '_ {
        Dotted(self.module.as_deref(), &self.base)
    }
}

struct Dotted<'a>(Option<&'a str>, &'a str);

impl fmt::Display for Dotted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(prefix) = self.0 {
            write!(f, "{prefix}.")?;
        }
        f.write_str(self.1)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.base == other.base && self.module == other.module
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.base.hash(state);
        self.module.hash(state);
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.module, &self.base).cmp(&(&other.module, &other.base))
    }
}

/// A name with its source position. Equality ignores the position.
#[derive(Clone, Debug)]
pub struct Ident {
    /// The name itself.
    pub name: Name,
    /// Position of the name in the source.
    pub span: Span,
}

impl Ident {
    /// Returns a name with its source position.
    pub const fn new(name: Name, span: Span) -> Self {
        Self { name, span }
    }

    /// Returns a simple name without a source position.
    pub fn nowhere(base: impl Into<Arc<str>>) -> Self {
        Self { name: Name::simple(base), span: Span::NOWHERE }
    }
}

impl PartialEq for Ident {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Ident {}

impl Hash for Ident {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_both_ways() {
        let name = Name::qualified("Ns", "x").defined_in("0xab".into());
        assert_eq!(name.as_written().to_string(), "Ns.x");
        assert_eq!(name.global().to_string(), "0xab.x");
        assert_eq!(Name::simple("x").global().to_string(), "x");
    }

    #[test]
    fn the_spelling_does_not_matter_for_equality() {
        let name = Name::qualified("Ns", "x").defined_in("0xab".into());
        assert_eq!(name, Name::simple("x").defined_in("0xab".into()));
        assert_ne!(name, Name::simple("x"));
    }
}
