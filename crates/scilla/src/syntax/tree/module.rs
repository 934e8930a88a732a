//! Pieces of modules.

use super::{Group, Writer};
use crate::syntax::ast::{Contract, ContractModule, Field, Import, Library, LibraryEntry, LibraryModule};

impl Writer<'_> {
    pub(super) fn contract_module(&mut self, module: &ContractModule) {
        self.begin(Group::Record);
        self.member("smver", |writer| writer.number(&*module.version));
        self.member("libs", |writer| writer.maybe(module.library.as_ref(), Self::library));
        self.member("elibs", |writer| writer.imports(&module.imports));
        self.member("contr", |writer| writer.contract(&module.contract));
        self.end();
    }

    pub(super) fn library_module(&mut self, module: &LibraryModule) {
        self.begin(Group::Record);
        self.member("smver", |writer| writer.number(&*module.version));
        self.member("elibs", |writer| writer.imports(&module.imports));
        self.member("libs", |writer| writer.library(&module.library));
        self.end();
    }

    fn imports(&mut self, imports: &[Import]) {
        self.list(imports, |writer, import| {
            writer.begin(Group::List);
            writer.ident(&import.library);
            writer.maybe_ident(import.namespace.as_ref());
            writer.end();
        });
    }

    fn library(&mut self, library: &Library) {
        self.begin(Group::Record);
        self.member("lname", |writer| writer.ident(&library.name));
        self.member("lentries", |writer| writer.list(&library.entries, Self::library_entry));
        self.end();
    }

    fn library_entry(&mut self, entry: &LibraryEntry) {
        match entry {
            LibraryEntry::Value { name, annotation, body } => self.variant("LibVar", |writer| {
                writer.ident(name);
                writer.maybe_kind(annotation.as_ref());
                writer.expression(*body);
            }),
            LibraryEntry::Type { name, constructors } => self.variant("LibTyp", |writer| {
                writer.ident(name);
                writer.list(constructors, |writer, constructor| {
                    writer.begin(Group::Record);
                    writer.member("cname", |writer| writer.ident(&constructor.name));
                    writer.member("c_arg_types", |writer| writer.kinds(&constructor.arguments));
                    writer.end();
                });
            }),
        }
    }

    fn contract(&mut self, contract: &Contract) {
        self.begin(Group::Record);
        self.member("cname", |writer| writer.ident(&contract.name));
        self.member("cparams", |writer| writer.parameters(&contract.parameters));
        self.member("cconstraint", |writer| writer.expression(contract.constraint));
        self.member("cfields", |writer| writer.list(&contract.fields, Self::field));
        self.member("ccomps", |writer| writer.list(&contract.components, Self::component));
        self.end();
    }

    fn field(&mut self, field: &Field) {
        self.begin(Group::List);
        self.ident(&field.name);
        self.ty(&field.ty);
        self.expression(field.initial);
        self.end();
    }
}
