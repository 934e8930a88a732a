//! Printing of types, as a source spells them.

use super::{Op, Printer};
use crate::types::{AddressType, Type};

impl Printer<'_> {
    /// Prints a type. The parser limits its depth, so this function may recurse.
    pub(super) fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Address(address) => self.address(address),
            Type::Adt(ident, arguments) => {
                self.name(&ident.name);
                for argument in arguments.iter() {
                    self.text(" ");
                    self.type_argument(argument);
                }
            }
            Type::Forall(variable, body) => {
                self.text(format!("forall {variable}. "));
                self.ty(body);
            }
            Type::Function(from, to) => {
                self.bracketed(matches!(**from, Type::Function(..) | Type::Forall(..)), from);
                self.text(" -> ");
                self.ty(to);
            }
            Type::Map(key, value) => {
                self.text("Map ");
                self.type_argument(key);
                self.text(" ");
                self.type_argument(value);
            }
            Type::Primitive(primitive) => self.text(primitive.to_string()),
            // `Unit` has no written form, so the tree of a source does not contain it.
            Type::Unit => self.text("()"),
            Type::Variable(variable) => self.text(variable.to_string()),
        }
    }

    /// Prints a type, with parentheses if it needs them as an argument.
    pub(super) fn type_argument(&mut self, ty: &Type) {
        let alone = match ty {
            Type::Adt(_, arguments) => arguments.is_empty(),
            Type::Primitive(_) | Type::Unit | Type::Variable(_) => true,
            Type::Address(_) | Type::Forall(..) | Type::Function(..) | Type::Map(..) => false,
        };
        self.bracketed(!alone, ty);
    }

    pub(super) fn bracketed(&mut self, brackets: bool, ty: &Type) {
        if brackets {
            self.text("(");
        }
        self.ty(ty);
        if brackets {
            self.text(")");
        }
    }

    pub(super) fn address(&mut self, address: &AddressType) {
        match address {
            AddressType::Any => self.text("ByStr20 with end"),
            AddressType::Code => self.text("ByStr20 with _codehash end"),
            AddressType::Library => self.text("ByStr20 with library end"),
            AddressType::Contract(fields) => {
                self.op(Op::Open);
                self.text("ByStr20 with contract");
                self.op(Op::Indent);
                for (index, (name, ty)) in fields.iter().enumerate() {
                    if index > 0 {
                        self.text(",");
                    }
                    self.op(Op::Line);
                    self.text(format!("field {name} : "));
                    self.ty(ty);
                }
                self.op(Op::Dedent);
                self.op(Op::Line);
                self.text("end");
                self.op(Op::Close);
            }
        }
    }
}
