//! Type check of libraries.

use std::collections::HashSet;

use super::{Checker, Fault, Outcome, malformed_entry};
use crate::{
    name::{Ident, Name},
    report::Entry,
    syntax::ast::{ConstructorDefinition, ExprId, Library, LibraryEntry},
    types::Type,
};

/// The gas is exhausted. The list ends with the error for exhausted gas, and can have earlier errors before it.
#[derive(Debug)]
pub(crate) struct Aborted(pub(crate) Vec<Entry>);

impl Checker<'_> {
    /// Checks the types of a library's entries, and binds their names for later code. Returns the errors.
    ///
    /// The function does not check an entry that uses an invalid entry.
    pub(crate) fn library(&mut self, library: &Library) -> Result<Vec<Entry>, Aborted> {
        let mut errors = Vec::new();
        let mut wrong = HashSet::new();
        for entry in &library.entries {
            match entry {
                LibraryEntry::Type { constructors, .. } => errors.extend(self.definitions(constructors)),
                LibraryEntry::Value { name, annotation, body } => {
                    if self.depends_on(*body, &wrong) {
                        wrong.insert(name.name.clone());
                        continue;
                    }
                    match self.value(name, annotation.as_ref(), *body) {
                        Ok(()) => {}
                        Err(Fault::Error(error)) => {
                            wrong.insert(name.name.clone());
                            errors.push(error);
                        }
                        Err(Fault::Exhausted) => {
                            errors.push(Fault::exhausted());
                            return Err(Aborted(errors));
                        }
                    }
                }
            }
        }
        Ok(errors)
    }

    fn value(&mut self, name: &Ident, annotation: Option<&Type>, body: ExprId) -> Outcome<()> {
        let before = self.meter;
        let ty = self.expression(body)?;
        if let Some(annotation) = annotation
            && let Err(fault) = self.expect_assignable(annotation, &ty, name.span)
        {
            // As in the reference, an entry with a wrong annotation costs no gas.
            self.meter = before;
            return Err(fault);
        }
        self.bind(name, ty);
        Ok(())
    }

    /// Returns the first error in the arguments of constructors.
    fn definitions(&self, constructors: &[ConstructorDefinition]) -> Option<Entry> {
        let mut arguments = constructors.iter().flat_map(|constructor| &constructor.arguments);
        arguments.find_map(|argument| {
            let formation =
                argument.check_formation(self.known, |variable| self.environment.has_type_variable(variable));
            formation.err().map(|malformed| malformed_entry(self.text, &malformed, self.vocabulary()))
        })
    }

    fn depends_on(&self, body: ExprId, names: &HashSet<Name>) -> bool {
        let mut depends = false;
        if !names.is_empty() {
            self.text.arena.visit(body, |_, part| depends |= part.uses().iter().any(|used| names.contains(&used.name)));
        }
        depends
    }
}
