//! The tree as an S-expression, in the shape of the reference's `scilla-fmt --sexp`, which other tools read.
//!
//! Records are lists of a name and a value, a variant is a list that begins with its name, an optional value is a list
//! of one or none. The spelling of names is the reference's; the line breaks are our own.

mod expression;
mod layout;
mod module;
mod statement;
mod types;

use self::layout::{Piece, lay_out};
use super::ast::{Arena, ContractModule, ExpressionModule, LibraryModule};
use crate::{
    name::{Ident, Name},
    source::{Location, Source, Span},
};

/// How an S-expression is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SexpStyle {
    /// With line breaks and indentation.
    pub human_readable: bool,
    /// Without the places of nodes.
    pub without_places: bool,
}

/// Writes a contract with its imports and its library.
pub fn contract_sexp(module: &ContractModule, style: SexpStyle) -> String {
    let mut writer = Writer::new(&module.source, &module.arena, style);
    writer.contract_module(module);
    writer.finish()
}

/// Writes a library module.
pub fn library_sexp(module: &LibraryModule, style: SexpStyle) -> String {
    let mut writer = Writer::new(&module.source, &module.arena, style);
    writer.library_module(module);
    writer.finish()
}

/// Writes an expression.
pub fn expression_sexp(module: &ExpressionModule, style: SexpStyle) -> String {
    let mut writer = Writer::new(&module.source, &module.arena, style);
    writer.expression(module.root);
    writer.finish()
}

/// Turns a tree into the pieces of an S-expression.
struct Writer<'a> {
    source: &'a Source,
    arena: &'a Arena,
    style: SexpStyle,
    pieces: Vec<Piece>,
}

impl<'a> Writer<'a> {
    const fn new(source: &'a Source, arena: &'a Arena, style: SexpStyle) -> Self {
        Self { source, arena, style, pieces: Vec::new() }
    }

    fn finish(self) -> String {
        lay_out(&self.pieces, self.style.human_readable)
    }

    fn open(&mut self) {
        self.pieces.push(Piece::Open);
    }

    fn close(&mut self) {
        self.pieces.push(Piece::Close);
    }

    fn atom(&mut self, text: impl AsRef<[u8]>) {
        self.pieces.push(Piece::atom(text.as_ref()));
    }

    fn list<T>(&mut self, parts: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.open();
        for part in parts {
            write(self, part);
        }
        self.close();
    }

    /// Writes a variant: its name and its parts.
    fn variant(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.open();
        self.atom(name);
        write(self);
        self.close();
    }

    /// Writes a member of a record.
    fn member(&mut self, name: &str, write: impl FnOnce(&mut Self)) {
        self.variant(name, write);
    }

    fn name(&mut self, name: &Name) {
        match name.namespace() {
            None => self.variant("SimpleLocal", |writer| writer.atom(name.base().as_bytes())),
            Some(namespace) => self.variant("QualifiedLocal", |writer| {
                writer.atom(namespace.as_bytes());
                writer.atom(name.base().as_bytes());
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
        self.list(ident, Self::ident);
    }

    /// Writes the place of a node, or the empty list if places are not wanted.
    fn place(&mut self, span: Span) {
        if self.style.without_places {
            self.open();
            self.close();
        } else {
            self.location(&self.source.start(span));
        }
    }

    fn location(&mut self, location: &Location) {
        self.open();
        self.member("fname", |writer| writer.atom(location.file.as_bytes()));
        self.member("lnum", |writer| writer.atom(location.line.to_string()));
        self.member("cnum", |writer| writer.atom(location.column.to_string()));
        self.close();
    }
}

#[cfg(test)]
mod tests;
