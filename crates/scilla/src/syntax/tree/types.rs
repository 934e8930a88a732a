//! Pieces of types.

use super::{Group, Piece, Writer};
use crate::{
    name::Name,
    source::Location,
    types::{AddressType, Type},
};

impl Writer<'_> {
    pub(super) fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Address(address) => self.address(address),
            Type::Adt(ident, arguments) => {
                // The source position in the name of a type is a part of the type. If the tree omits source positions,
                // the writer writes an unknown position.
                let nowhere = self.without_places;
                let location = if nowhere { Location::default() } else { self.source.start(ident.span) };
                self.variant("ADT", |writer| {
                    writer.type_ident(&ident.name, &location);
                    writer.kinds(arguments);
                });
            }
            Type::Forall(variable, body) => self.variant("PolyFun", |writer| {
                writer.text(variable.as_bytes());
                writer.ty(body);
            }),
            Type::Function(from, to) => self.variant("FunType", |writer| {
                writer.ty(from);
                writer.ty(to);
            }),
            Type::Map(key, value) => self.variant("MapType", |writer| {
                writer.ty(key);
                writer.ty(value);
            }),
            Type::Primitive(primitive) => {
                self.variant("PrimType", |writer| writer.pieces.push(Piece::Primitive(*primitive)));
            }
            Type::Unit => self.word("Unit"),
            Type::Variable(variable) => self.variant("TypeVar", |writer| writer.text(variable.as_bytes())),
        }
    }

    pub(super) fn kinds(&mut self, kinds: &[Type]) {
        self.list(kinds, Self::ty);
    }

    pub(super) fn maybe_kind(&mut self, ty: Option<&Type>) {
        self.maybe(ty, Self::ty);
    }

    pub(super) fn address(&mut self, address: &AddressType) {
        self.group(Group::Address, |writer| match address {
            AddressType::Any => writer.word("AnyAddr"),
            AddressType::Code => writer.word("CodeAddr"),
            AddressType::Contract(fields) => writer.variant("ContrAddr", |writer| {
                writer.list(fields.iter(), |writer, (name, ty)| {
                    writer.begin(Group::List);
                    // The tree has no source positions for the fields of an address type.
                    writer.type_ident(&Name::simple(name.as_ref()), &Location::default());
                    writer.ty(ty);
                    writer.end();
                });
            }),
            AddressType::Library => writer.word("LibAddr"),
        });
    }

    fn type_ident(&mut self, name: &Name, location: &Location) {
        self.variant("Ident", |writer| {
            writer.name(name);
            writer.location(location);
        });
    }
}
