//! The passes of the checker before and after typing, one module each.

pub(crate) mod accepts;
pub(crate) mod call_graph;
pub(crate) mod cash_flow;
pub(crate) mod dead_code;
pub(crate) mod events;
pub(crate) mod messages;
pub(crate) mod patterns;
pub(crate) mod recursion;
pub(crate) mod sanity;
pub(crate) mod summary;
pub(crate) mod type_info;

use crate::{name::Ident, report::Entry, syntax::ast::ComponentKind};

impl crate::syntax::ast::Component {
    /// Returns whether this is a procedure.
    pub(crate) fn is_procedure(&self) -> bool {
        self.kind == ComponentKind::Procedure
    }

    /// Returns the word for its kind.
    pub(crate) const fn kind_text(&self) -> &'static str {
        match self.kind {
            ComponentKind::Procedure => "procedure",
            ComponentKind::Transition => "transition",
        }
    }
}

/// Adds a header before errors.
fn headed(header: Entry, mut errors: Vec<Entry>) -> Vec<Entry> {
    errors.insert(0, header);
    errors
}

/// Returns a name in the form of reports.
fn shown(ident: &Ident) -> String {
    ident.name.as_written().to_string()
}
