//! The first pass: registers data types, and rejects recursion.
//!
//! Source of the order and of the texts: `Zilliqa/scilla: src/base/Recursion.ml` and `Datatypes.ml`.

use std::collections::HashSet;

use super::{headed, shown};
use crate::{
    diagnosis::{Cause, Context},
    name::{Ident, Name},
    report::Entry,
    syntax::ast::{
        Component, ConstructorDefinition, Contract, ExprId, ExpressionKind, Library, LibraryEntry, Pattern,
        PatternKind, Statement, StatementKind,
    },
    typecheck::{Text, malformed_entry},
    types::{
        Type,
        adt::{Constructor, DataType, DataTypes},
        formation::Malformed,
    },
    vocabulary::Vocabulary,
};

type Outcome = Result<(), Entry>;

/// The check of one module. `known` collects the data types of all modules.
#[derive(Debug)]
pub(crate) struct Recursion<'a> {
    pub(crate) known: &'a mut DataTypes,
    pub(crate) text: Text<'a>,
    /// Names for suggestions, or `None` if errors have no suggestions.
    pub(crate) vocabulary: Option<&'a Vocabulary>,
}

impl Recursion<'_> {
    /// Registers the data types of a library. Returns its first error with headers, or an empty list.
    pub(crate) fn library(&mut self, library: &Library) -> Vec<Entry> {
        for entry in &library.entries {
            let (outcome, name, what) = match entry {
                LibraryEntry::Value { name, annotation, body } => {
                    let outcome =
                        self.expression(*body).and_then(|()| annotation.iter().try_for_each(|ty| self.ty(ty)));
                    (outcome, name, "variable")
                }
                LibraryEntry::Type { name, constructors } => (self.definition(name, constructors), name, "type"),
            };
            if let Err(error) = outcome {
                let module = Cause::Context(Context::Module("library", shown(&library.name)));
                let part = Cause::Context(Context::Part(what, shown(name)));
                let header = format!("Type error in library: {}", shown(&library.name));
                let header = self.text.error(library.name.span, header).because(module);
                let entry = format!("Type error in library {what}: {}", shown(name));
                return vec![header, self.text.error(name.span, entry).because(part), error];
            }
        }
        vec![]
    }

    /// Returns the first error in an expression, or `None` if there is none.
    pub(crate) fn root(&self, root: ExprId) -> Option<Entry> {
        self.expression(root).err()
    }

    /// Returns the first error in a contract, or `None` if there is none.
    pub(crate) fn contract(&self, contract: &Contract) -> Option<Entry> {
        self.contract_parts(contract).err()
    }

    fn contract_parts(&self, contract: &Contract) -> Outcome {
        contract.parameters.iter().try_for_each(|parameter| self.ty(&parameter.ty))?;
        self.expression(contract.constraint)?;
        for field in &contract.fields {
            self.ty(&field.ty)?;
            self.expression(field.initial)?;
        }
        let mut procedures = HashSet::new();
        for component in &contract.components {
            self.component(component, &procedures)?;
            if component.is_procedure() {
                procedures.insert(&component.name.name);
            }
        }
        Ok(())
    }

    fn component(&self, component: &Component, procedures: &HashSet<&Name>) -> Outcome {
        component.parameters.iter().try_for_each(|parameter| self.ty(&parameter.ty))?;
        component.body.iter().try_for_each(|statement| self.statement(statement, procedures))
    }

    fn statement(&self, statement: &Statement, procedures: &HashSet<&Name>) -> Outcome {
        match &statement.kind {
            StatementKind::Bind { value, .. } => self.expression(*value),
            StatementKind::Call { procedure, .. } if !procedures.contains(&procedure.name) => {
                let error = self.text.error(statement.span, format!("Procedure is not in scope: {}", shown(procedure)));
                let help = |known: &Vocabulary| known.unknown_procedure(procedure, &error.start, false);
                let cause = self.vocabulary().map(help);
                Err(error.because(cause))
            }
            StatementKind::Match { clauses, .. } => {
                let patterns: Vec<_> = clauses.iter().map(|clause| &clause.pattern).collect();
                clauses.iter().try_for_each(|clause| {
                    self.pattern(&clause.pattern, &patterns)?;
                    clause.body.iter().try_for_each(|statement| self.statement(statement, procedures))
                })
            }
            _ => Ok(()),
        }
    }

    /// Returns the names for suggestions if they belong to this source text.
    fn vocabulary(&self) -> Option<&'_ Vocabulary> {
        self.vocabulary.filter(|known| known.is_of(self.text.source))
    }

    /// Checks the names of data types and constructors in an expression, in the order of the reference.
    fn expression(&self, root: ExprId) -> Outcome {
        enum Step<'a> {
            Expression(ExprId),
            Kind(&'a Type),
            Pattern(&'a Pattern, ExprId),
        }
        let mut pending = vec![Step::Expression(root)];
        while let Some(step) = pending.pop() {
            let id = match step {
                Step::Expression(id) => id,
                Step::Kind(ty) => {
                    self.ty(ty)?;
                    continue;
                }
                Step::Pattern(pattern, of) => {
                    let ExpressionKind::Match { clauses, .. } = &self.text.arena.get(of).kind else { continue };
                    let all = if self.vocabulary.is_some() { clauses.as_slice() } else { &[] };
                    let patterns: Vec<_> = all.iter().map(|clause| &clause.pattern).collect();
                    self.pattern(pattern, &patterns)?;
                    continue;
                }
            };
            let expression = self.text.arena.get(id);
            match &expression.kind {
                ExpressionKind::Let { annotation, value, body, .. } => {
                    pending.push(Step::Expression(*body));
                    pending.extend(annotation.as_ref().map(Step::Kind));
                    pending.push(Step::Expression(*value));
                }
                ExpressionKind::Match { clauses, .. } => {
                    for clause in clauses.iter().rev() {
                        pending.push(Step::Expression(clause.body));
                        pending.push(Step::Pattern(&clause.pattern, id));
                    }
                }
                ExpressionKind::Construct { constructor, types, .. } => {
                    types.iter().try_for_each(|ty| self.ty(ty))?;
                    self.constructor(constructor, &[])?;
                }
                _ => {
                    expression.types().iter().try_for_each(|ty| self.ty(ty))?;
                    pending.extend(expression.parts().into_iter().rev().map(Step::Expression));
                }
            }
        }
        Ok(())
    }

    /// Checks the constructors of a pattern. `all` has all patterns of the same match.
    fn pattern(&self, pattern: &Pattern, all: &[&Pattern]) -> Outcome {
        let mut outcome = Ok(());
        pattern.visit(&mut |part| {
            if let PatternKind::Constructor(constructor, _) = &part.kind
                && outcome.is_ok()
            {
                let is_whole = std::ptr::eq(part, pattern);
                outcome = self.constructor(constructor, if is_whole { all } else { &[] });
            }
        });
        outcome
    }

    /// Checks that a constructor exists. `beside` has all patterns of the same match, or is empty for a nested pattern
    /// and outside of patterns.
    fn constructor(&self, constructor: &Ident, beside: &[&Pattern]) -> Outcome {
        if self.known.constructor(&constructor.name).is_some() {
            return Ok(());
        }
        let text = format!("No data type with this constructor found: {}", shown(constructor));
        let cause = self.vocabulary().map(|known| {
            let matched = beside.iter().find_map(|pattern| match &pattern.kind {
                PatternKind::Constructor(other, _) => self.known.constructor(&other.name).map(|(of, _)| of),
                _ => None,
            });
            known.unknown_constructor(constructor, matched.map(|of| &**of))
        });
        Err(self.text.error(constructor.span, text).because(cause))
    }

    fn ty(&self, ty: &Type) -> Outcome {
        match ty.unknown_data_type(self.known) {
            Some(unknown) => Err(self.unknown_type(unknown)),
            None => Ok(()),
        }
    }

    fn unknown_type(&self, unknown: Ident) -> Entry {
        malformed_entry(self.text, &Malformed::UnknownDataType(unknown), self.vocabulary())
    }

    /// Adds a data type after the check of its constructors' arguments, so that the type cannot contain itself.
    fn definition(&mut self, name: &Ident, constructors: &[ConstructorDefinition]) -> Outcome {
        for constructor in constructors {
            constructor.arguments.iter().try_for_each(|argument| self.argument(argument, constructor))?;
        }
        let constructor = |definition: &ConstructorDefinition| Constructor {
            name: definition.name.name.clone(),
            arguments: definition.arguments.clone(),
        };
        let constructors = constructors.iter().map(constructor).collect();
        let added = DataType { name: name.name.clone(), parameters: vec![], constructors };
        self.known.add(added).map_err(|redefinition| self.text.error(name.span, redefinition.to_string()))
    }

    /// Checks an argument of a constructor: its data types must exist, and it must not contain type variables.
    fn argument(&self, argument: &Type, of: &ConstructorDefinition) -> Outcome {
        let mut first = None;
        argument.visit(|node| match node {
            Type::Adt(name, _) if first.is_none() && self.known.get(&name.name).is_none() => {
                first = Some(self.unknown_type(name.clone()));
            }
            Type::Forall(..) | Type::Variable(_) if first.is_none() => {
                first = Some(self.text.error(of.name.span, "Type variables not allowed in type definitions"));
            }
            _ => {}
        });
        first.map_or(Ok(()), Err)
    }
}

/// Puts the header of the pass in front of errors in a contract and its libraries.
pub(crate) fn contract_header(text: Text<'_>, contract: &Contract, errors: Vec<Entry>) -> Vec<Entry> {
    let message = format!("Type error(s) in contract: {}", shown(&contract.name));
    headed(contract_entry(text, contract, message), errors)
}

fn contract_entry(text: Text<'_>, contract: &Contract, message: String) -> Entry {
    let context = Context::Module("contract", shown(&contract.name));
    text.error(contract.name.span, message).because(Cause::Context(context))
}

/// Puts the header of the pattern phase in front of errors of a contract and its libraries.
pub(crate) fn contract_header_with_line_feed(text: Text<'_>, contract: &Contract, errors: Vec<Entry>) -> Vec<Entry> {
    let message = format!("Type error(s) in contract: {}\n", shown(&contract.name));
    headed(contract_entry(text, contract, message), errors)
}

/// Puts the header of the pass in front of errors in a library module.
///
/// The reference replaces an error of the library itself by an internal error, and keeps the errors of imports.
pub(crate) fn library_header(text: Text<'_>, library: &Library, is_own: bool, errors: Vec<Entry>) -> Vec<Entry> {
    let at = library.name.span;
    let context = Context::Module("library", shown(&library.name));
    let header = text.error(at, format!("Type error(s) in library: {}", shown(&library.name)));
    let forgotten = |errors| text.error(at, "Internal error in typing library module.").because(Cause::Instead(errors));
    headed(header.because(Cause::Context(context)), if is_own { vec![forgotten(errors)] } else { errors })
}
