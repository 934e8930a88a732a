//! The syntax tree for other tools, in the form of the reference's `scilla-fmt --sexp` and `--json`.
//!
//! A [`Tree`] is a flat sequence of pieces for both forms. In an S-expression, a record is a list of pairs of a name
//! and a value. A variant is a list that begins with its name, and an optional value is a list with one element or
//! none. In JSON ([`tree_json`](crate::json::tree_json)), a record is an object, and an optional value is `null` or
//! the value. Literals and primitive types have forms of their own. Names are spelled as in the reference, but line
//! breaks can differ.

mod expression;
mod module;
mod sexp;
mod statement;
mod types;

use self::sexp::lay_out;
use super::ast::{Arena, ContractModule, ExpressionModule, LibraryModule};
use crate::{
    name::{Ident, Name},
    source::{Location, Source, Span},
    types::Primitive,
};

/// Options of an S-expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SexpStyle {
    /// Whether the text has line breaks and indentation.
    pub human_readable: bool,
    /// Whether the text omits the source positions of nodes.
    pub without_places: bool,
}

/// Returns the S-expression of a contract with its imports and its library.
pub fn contract_sexp(module: &ContractModule, style: SexpStyle) -> String {
    Tree::of_contract(module, style.without_places).to_sexp(style.human_readable)
}

/// Returns the S-expression of a library module.
pub fn library_sexp(module: &LibraryModule, style: SexpStyle) -> String {
    Tree::of_library(module, style.without_places).to_sexp(style.human_readable)
}

/// Returns the S-expression of an expression.
pub fn expression_sexp(module: &ExpressionModule, style: SexpStyle) -> String {
    Tree::of_expression(module, style.without_places).to_sexp(style.human_readable)
}

/// The syntax tree in the form of the reference's output for other tools.
#[derive(Debug)]
pub struct Tree {
    pieces: Vec<Piece>,
}

impl Tree {
    /// Returns the tree of a contract with its imports and its library.
    pub fn of_contract(module: &ContractModule, without_places: bool) -> Self {
        let mut writer = Writer::new(&module.source, &module.arena, without_places);
        writer.contract_module(module);
        Self { pieces: writer.pieces }
    }

    /// Returns the tree of a library module.
    pub fn of_library(module: &LibraryModule, without_places: bool) -> Self {
        let mut writer = Writer::new(&module.source, &module.arena, without_places);
        writer.library_module(module);
        Self { pieces: writer.pieces }
    }

    /// Returns the tree of an expression.
    pub fn of_expression(module: &ExpressionModule, without_places: bool) -> Self {
        let mut writer = Writer::new(&module.source, &module.arena, without_places);
        writer.expression(module.root);
        Self { pieces: writer.pieces }
    }

    /// Returns the tree as an S-expression, on one line or with line breaks.
    pub fn to_sexp(&self, human_readable: bool) -> String {
        lay_out(&self.pieces, human_readable)
    }

    /// Returns the pieces of the tree.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
}

/// One piece of a tree.
#[derive(Debug)]
pub(crate) enum Piece {
    /// The beginning of a group.
    Begin(Group),
    /// The end of the innermost open group.
    End,
    /// An integer literal with its type.
    Integer(Primitive, String),
    /// A variant without parts.
    Name(String),
    /// A missing optional value, or an omitted source position.
    Nothing,
    /// A number.
    Number(String),
    /// The name of a primitive type.
    Primitive(Primitive),
    /// A text as bytes, which need not be UTF-8.
    Text(Vec<u8>),
    /// A boolean.
    Truth(bool),
}

/// A group of pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// An address type. JSON does not show its parts.
    Address,
    /// A literal: its sort and its value. JSON does not show the sort.
    Literal(&'static str),
    /// A list or a tuple.
    List,
    /// A member of a record: its name and its value.
    Member(&'static str),
    /// A part of a literal. Only JSON shows its name.
    Part(&'static str),
    /// The parts of a literal with several parts.
    Parts,
    /// A record, which contains members.
    Record,
    /// An optional value that is present.
    Some,
    /// A variant: its name and its parts.
    Variant(&'static str),
}

/// Converts a tree into pieces.
struct Writer<'a> {
    source: &'a Source,
    arena: &'a Arena,
    without_places: bool,
    pieces: Vec<Piece>,
}

impl<'a> Writer<'a> {
    const fn new(source: &'a Source, arena: &'a Arena, without_places: bool) -> Self {
        Self { source, arena, without_places, pieces: Vec::new() }
    }

    fn begin(&mut self, group: Group) {
        self.pieces.push(Piece::Begin(group));
    }

    fn end(&mut self) {
        self.pieces.push(Piece::End);
    }

    /// Writes a group.
    fn group(&mut self, group: Group, write: impl FnOnce(&mut Self)) {
        self.begin(group);
        write(self);
        self.end();
    }

    fn text(&mut self, text: impl AsRef<[u8]>) {
        self.pieces.push(Piece::Text(text.as_ref().to_vec()));
    }

    fn number(&mut self, number: impl Into<String>) {
        self.pieces.push(Piece::Number(number.into()));
    }

    /// Writes a variant without parts.
    fn word(&mut self, name: impl Into<String>) {
        self.pieces.push(Piece::Name(name.into()));
    }

    fn maybe<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => self.group(Group::Some, |writer| write(writer, value)),
            None => self.pieces.push(Piece::Nothing),
        }
    }

    fn list<T>(&mut self, parts: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.begin(Group::List);
        for part in parts {
            write(self, part);
        }
        self.end();
    }

    /// Writes a variant: its name and its parts.
    fn variant(&mut self, name: &'static str, write: impl FnOnce(&mut Self)) {
        self.group(Group::Variant(name), write);
    }

    /// Writes a member of a record.
    fn member(&mut self, name: &'static str, write: impl FnOnce(&mut Self)) {
        self.group(Group::Member(name), write);
    }

    fn name(&mut self, name: &Name) {
        match name.namespace() {
            None => self.variant("SimpleLocal", |writer| writer.text(name.base().as_bytes())),
            Some(namespace) => self.variant("QualifiedLocal", |writer| {
                writer.text(namespace.as_bytes());
                writer.text(name.base().as_bytes());
            }),
        }
    }

    fn ident(&mut self, ident: &Ident) {
        self.ident_at(&ident.name, ident.span);
    }

    fn ident_at(&mut self, name: &Name, span: Span) {
        self.variant("Ident", |writer| {
            writer.name(name);
            writer.place(span);
        });
    }

    fn idents(&mut self, idents: &[Ident]) {
        self.list(idents, Self::ident);
    }

    fn maybe_ident(&mut self, ident: Option<&Ident>) {
        self.maybe(ident, Self::ident);
    }

    /// Writes the source position of a node, or an empty piece if the tree omits source positions.
    fn place(&mut self, span: Span) {
        if self.without_places {
            self.pieces.push(Piece::Nothing);
        } else {
            self.location(&self.source.start(span));
        }
    }

    fn location(&mut self, location: &Location) {
        self.group(Group::Record, |writer| {
            writer.member("fname", |writer| writer.text(location.file.as_bytes()));
            writer.member("lnum", |writer| writer.number(location.line.to_string()));
            writer.member("cnum", |writer| writer.number(location.column.to_string()));
        });
    }
}

#[cfg(test)]
mod tests;
