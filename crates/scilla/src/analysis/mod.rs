//! The passes of the checker before and after the type check, one module each.

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
    /// Returns whether the component is a procedure.
    pub(crate) fn is_procedure(&self) -> bool {
        self.kind == ComponentKind::Procedure
    }

    /// Returns the word for the kind of the component.
    pub(crate) const fn kind_text(&self) -> &'static str {
        match self.kind {
            ComponentKind::Procedure => "procedure",
            ComponentKind::Transition => "transition",
        }
    }
}

/// Puts a header in front of errors.
fn headed(header: Entry, mut errors: Vec<Entry>) -> Vec<Entry> {
    errors.insert(0, header);
    errors
}

/// Returns a name as error texts show it.
fn shown(ident: &Ident) -> String {
    ident.name.as_written().to_string()
}
