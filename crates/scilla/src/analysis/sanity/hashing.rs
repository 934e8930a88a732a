//! Hashes of compound values. Different compound values can have the same hash input.

use super::{Subject, WASTE, Warnings, shown};
use crate::{
    syntax::ast::{ExprId, ExpressionKind, LibraryEntry, StatementKind},
    types::{Primitive, Type},
};

/// Warns of hashes of compound values in the constraint, the library, the fields and the components.
pub(super) fn contract(subject: Subject<'_>, warnings: &mut Warnings) {
    let mut roots = vec![subject.contract.constraint];
    for entry in subject.library.into_iter().flat_map(|library| &library.entries) {
        if let LibraryEntry::Value { body, .. } = entry {
            roots.push(*body);
        }
    }
    roots.extend(subject.contract.fields.iter().map(|field| field.initial));
    for statement in subject.contract.components.iter().flat_map(|component| &component.body) {
        statement.visit(&mut |statement| {
            if let StatementKind::Bind { value, .. } = &statement.kind {
                roots.push(*value);
            }
        });
    }
    for root in roots {
        expression(subject, root, warnings);
    }
}

fn expression(subject: Subject<'_>, root: ExprId, warnings: &mut Warnings) {
    subject.text.arena.visit(root, |_, part| {
        let ExpressionKind::Builtin { name, arguments, .. } = &part.kind else { return };
        if !matches!(name.name.base().as_ref(), "sha256hash" | "keccak256hash" | "ripemd160hash") {
            return;
        }
        for argument in arguments {
            if subject.typing.ident(argument).is_some_and(is_compound) {
                let name = shown(argument);
                let text = format!(
                    "A hashing builtin is applied to argument \"{name}\" whose compound type makes it prone to hash \
                     collisions. Consider using values of more primitive types in your hashing scheme."
                );
                warnings.add(WASTE, subject.start(argument.span), text);
            }
        }
    });
}

fn is_compound(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Map(..) | Type::Adt(..) | Type::Primitive(Primitive::Message | Primitive::Event | Primitive::Exception)
    )
}
