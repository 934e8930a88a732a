//! Modules.

use super::Writer;
use crate::syntax::ast::{Contract, ContractModule, Field, Import, Library, LibraryEntry, LibraryModule};

impl Writer<'_> {
    pub(super) fn contract_module(&mut self, module: &ContractModule) {
        self.open();
        self.member("smver", |writer| writer.atom(module.version.as_bytes()));
        self.member("libs", |writer| writer.list(&module.library, Self::library));
        self.member("elibs", |writer| writer.imports(&module.imports));
        self.member("contr", |writer| writer.contract(&module.contract));
        self.close();
    }

    pub(super) fn library_module(&mut self, module: &LibraryModule) {
        self.open();
        self.member("smver", |writer| writer.atom(module.version.as_bytes()));
        self.member("elibs", |writer| writer.imports(&module.imports));
        self.member("libs", |writer| writer.library(&module.library));
        self.close();
    }

    fn imports(&mut self, imports: &[Import]) {
        self.list(imports, |writer, import| {
            writer.open();
            writer.ident(&import.library);
            writer.maybe_ident(import.namespace.as_ref());
            writer.close();
        });
    }

    fn library(&mut self, library: &Library) {
        self.open();
        self.member("lname", |writer| writer.ident(&library.name));
        self.member("lentries", |writer| writer.list(&library.entries, Self::library_entry));
        self.close();
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
                    writer.open();
                    writer.member("cname", |writer| writer.ident(&constructor.name));
                    writer.member("c_arg_types", |writer| writer.kinds(&constructor.arguments));
                    writer.close();
                });
            }),
        }
    }

    fn contract(&mut self, contract: &Contract) {
        self.open();
        self.member("cname", |writer| writer.ident(&contract.name));
        self.member("cparams", |writer| writer.parameters(&contract.parameters));
        self.member("cconstraint", |writer| writer.expression(contract.constraint));
        self.member("cfields", |writer| writer.list(&contract.fields, Self::field));
        self.member("ccomps", |writer| writer.list(&contract.components, Self::component));
        self.close();
    }

    fn field(&mut self, field: &Field) {
        self.open();
        self.ident(&field.name);
        self.kind(&field.kind);
        self.expression(field.initial);
        self.close();
    }
}
