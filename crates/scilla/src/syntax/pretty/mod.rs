//! Prints the syntax tree as text, in one style.
//!
//! The text parses to the same tree, except for source positions. The formatter also prints the comments of the source,
//! and keeps empty lines between statements.

mod expression;
mod format;
mod layout;
mod statement;
mod types;

use std::borrow::Cow;

pub(super) use self::format::contents;
pub use self::format::{comments, format_contract, format_expression, format_library};
use self::layout::{Op, lay_out};
use super::ast::{
    Arena, Contract, ContractModule, ExprId, ExpressionModule, Field, Import, Library, LibraryEntry, LibraryModule,
    Parameter,
};
use crate::{
    name::{Ident, Name},
    source::Span,
    types::Type,
};

/// Prints a contract with its imports and its library.
pub fn print_contract(module: &ContractModule) -> String {
    lay_out(&contract_ops(module), &[], &[])
}

/// Prints a library with its imports.
pub fn print_library(module: &LibraryModule) -> String {
    lay_out(&library_ops(module), &[], &[])
}

/// Prints an expression.
pub fn print_expression(module: &ExpressionModule) -> String {
    lay_out(&expression_ops(module), &[], &[])
}

fn contract_ops(module: &ContractModule) -> Vec<Op> {
    let mut printer = Printer::new(&module.arena);
    printer.head(&module.version, &module.imports);
    if let Some(library) = &module.library {
        printer.library(library);
    }
    printer.contract(&module.contract);
    printer.ops
}

fn library_ops(module: &LibraryModule) -> Vec<Op> {
    let mut printer = Printer::new(&module.arena);
    printer.head(&module.version, &module.imports);
    printer.library(&module.library);
    printer.ops
}

fn expression_ops(module: &ExpressionModule) -> Vec<Op> {
    let mut printer = Printer::new(&module.arena);
    printer.expression(module.root);
    printer.ops
}

/// Converts a tree into layout operations.
struct Printer<'a> {
    arena: &'a Arena,
    ops: Vec<Op>,
}

impl<'a> Printer<'a> {
    const fn new(arena: &'a Arena) -> Self {
        Self { arena, ops: Vec::new() }
    }

    fn op(&mut self, op: Op) {
        self.ops.push(op);
    }

    fn text(&mut self, text: impl Into<Cow<'static, str>>) {
        self.ops.push(Op::Text(text.into()));
    }

    /// Records the source position of the next token.
    fn at(&mut self, span: Span) {
        if !span.is_nowhere() {
            self.op(Op::At(span.start));
        }
    }

    /// Records the source position of the beginning of a statement or an entry.
    fn start_at(&mut self, span: Span) {
        if !span.is_nowhere() {
            self.op(Op::StartAt(span.start));
        }
    }

    /// Records the source position of the `end` of the block with this span.
    fn at_end_of(&mut self, span: Span) {
        if !span.is_nowhere() {
            self.op(Op::At(span.end.saturating_sub(3)));
        }
    }

    fn ident(&mut self, ident: &Ident) {
        self.at(ident.span);
        self.name(&ident.name);
    }

    fn name(&mut self, name: &Name) {
        self.text(name.as_written().to_string());
    }

    /// Prints parts, with a separator and a possible line break between two parts.
    fn separated<T>(&mut self, parts: &[T], separator: &'static str, mut print: impl FnMut(&mut Self, &T)) {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.text(separator);
                self.op(Op::Line);
            }
            print(self, part);
        }
    }

    fn head(&mut self, version: &str, imports: &[Import]) {
        self.text(format!("scilla_version {version}"));
        let Some(first) = imports.first() else { return };
        self.op(Op::Skip);
        self.at(first.library.span);
        self.op(Op::Open);
        self.text("import");
        self.op(Op::Indent);
        for import in imports {
            self.op(Op::Line);
            self.ident(&import.library);
            if let Some(namespace) = &import.namespace {
                self.text(" as ");
                self.ident(namespace);
            }
        }
        self.op(Op::Dedent);
        self.op(Op::Close);
    }

    fn library(&mut self, library: &Library) {
        self.op(Op::Skip);
        self.at(library.name.span);
        self.text("library ");
        self.at(library.name_span);
        self.name(&library.name.name);
        let mut last_is_short = false;
        for entry in &library.entries {
            // Constants on adjacent lines of the source remain on adjacent lines. Empty lines separate all other
            // entries.
            let short = matches!(entry, LibraryEntry::Value { body, .. } if self.is_closed(*body));
            self.op(if short && last_is_short { Op::Hard } else { Op::Skip });
            last_is_short = short;
            self.library_entry(entry);
        }
    }

    fn library_entry(&mut self, entry: &LibraryEntry) {
        match entry {
            LibraryEntry::Value { name, annotation, body } => {
                self.start_at(name.span);
                self.text("let ");
                self.name(&name.name);
                if let Some(ty) = annotation {
                    self.text(" : ");
                    self.ty(ty);
                }
                self.value(*body);
            }
            LibraryEntry::Type { name, constructors } => {
                self.at(name.span);
                self.text("type ");
                self.name(&name.name);
                if constructors.is_empty() {
                    return;
                }
                self.text(" =");
                self.op(Op::Indent);
                for constructor in constructors {
                    self.op(Op::Hard);
                    self.at(constructor.name.span);
                    self.text("| ");
                    self.at(constructor.name_span);
                    self.name(&constructor.name.name);
                    self.constructor_arguments(&constructor.arguments);
                }
                self.op(Op::Dedent);
            }
        }
    }

    fn constructor_arguments(&mut self, arguments: &[Type]) {
        if arguments.is_empty() {
            return;
        }
        self.text(" of");
        self.op(Op::Open);
        self.op(Op::Indent);
        for argument in arguments {
            self.op(Op::Line);
            self.type_argument(argument);
        }
        self.op(Op::Dedent);
        self.op(Op::Close);
    }

    /// Prints `=` and the expression after it.
    fn value(&mut self, body: ExprId) {
        self.text(" =");
        self.part(body);
    }

    fn contract(&mut self, contract: &Contract) {
        self.op(Op::Skip);
        self.at(contract.name.span);
        self.text("contract ");
        self.name(&contract.name.name);
        self.text(" ");
        self.parameters(&contract.parameters);
        if !self.arena.get(contract.constraint).span.is_nowhere() {
            self.op(Op::Hard);
            self.text("with");
            self.op(Op::Indent);
            self.op(Op::Hard);
            self.expression(contract.constraint);
            self.op(Op::Dedent);
            self.op(Op::Hard);
            self.text("=>");
        }
        for (index, field) in contract.fields.iter().enumerate() {
            self.op(if index == 0 { Op::Skip } else { Op::Hard });
            self.field(field);
        }
        for component in &contract.components {
            self.op(Op::Skip);
            self.component(component);
        }
    }

    fn field(&mut self, field: &Field) {
        self.start_at(field.name.span);
        self.text("field ");
        self.name(&field.name.name);
        self.text(" : ");
        self.ty(&field.ty);
        self.value(field.initial);
    }

    /// Prints parameters in parentheses.
    fn parameters(&mut self, parameters: &[Parameter]) {
        if parameters.is_empty() {
            self.text("()");
            return;
        }
        self.op(Op::Open);
        self.text("(");
        self.op(Op::Indent);
        self.op(Op::Join);
        self.separated(parameters, ",", |printer, parameter| {
            printer.ident(&parameter.name);
            printer.text(" : ");
            printer.ty(&parameter.ty);
        });
        self.op(Op::Dedent);
        self.op(Op::Join);
        self.text(")");
        self.op(Op::Close);
    }
}

#[cfg(test)]
mod tests;
