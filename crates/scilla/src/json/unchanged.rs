//! Values that a conversion to JSON and back does not change.

use std::sync::Arc;

use crate::{
    types::{Primitive, Type},
    value::{AdtValue, Constructor, Value, is_text_byte},
};

/// Returns whether a value stays the same after a conversion to JSON and back with the type `ty`. Returns `false`
/// for some rare values that would stay the same.
///
/// `ty` must come from parsed text, so that it is within the limits of the parser. Only built-in types can give
/// `true`, because the reader replaces the spelling of other names by the spelling of its program.
pub(super) fn is_unchanged(value: &Value, ty: &Type) -> bool {
    if !is_built_in(ty) {
        return false;
    }
    // A list of 100,000 elements has that many levels, so this is a stack instead of recursion.
    let mut pending = vec![(value, ty)];
    while let Some((value, ty)) = pending.pop() {
        let same = match (value, ty) {
            (Value::Integer(integer), Type::Primitive(primitive)) => Primitive::from(integer.ty()) == *primitive,
            (Value::String(text), Type::Primitive(Primitive::String)) => text.bytes().all(is_text_byte),
            // A later check reports a wrong width of bytes.
            (Value::BNum(_), Type::Primitive(Primitive::BNum))
            | (Value::ByStr(_), Type::Primitive(Primitive::ByStr))
            | (Value::ByStrX(_), Type::Primitive(Primitive::ByStrX(_))) => true,
            (Value::Map(map), Type::Map(key, value)) => {
                pending.extend(map.iter().flat_map(|(one, other)| [(one.value(), &**key), (other, &**value)]));
                map.key_type() == &**key && map.value_type() == &**value
            }
            (Value::Adt(adt), Type::Adt(_, types)) => match kinds_of_arguments(adt, ty) {
                Some(kinds) => {
                    let kinds = kinds.into_iter().flatten();
                    let same = adt.types() == types && adt.arguments().len() == kinds.clone().count();
                    pending.extend(adt.arguments().iter().zip(kinds));
                    same
                }
                None => false,
            },
            _ => false,
        };
        if !same {
            return false;
        }
    }
    true
}

/// Returns the argument types of a built-in constructor of the type `ty`. Returns `None` if the value has another type,
/// or its constructor is not built-in.
fn kinds_of_arguments<'k>(value: &AdtValue, ty: &'k Type) -> Option<[Option<&'k Type>; 2]> {
    let Type::Adt(name, types) = ty else { return None };
    if value.constructor().data_type != name.name {
        return None;
    }
    let is = |constructor: fn() -> &'static Arc<Constructor>| value.is(constructor());
    if is(Constructor::cons) {
        Some([types.first(), Some(ty)])
    } else if is(Constructor::pair) {
        Some([types.first(), types.get(1)])
    } else if is(Constructor::some) {
        Some([types.first(), None])
    } else if is(Constructor::succ) {
        Some([Some(ty), None])
    } else if [Constructor::r#true, Constructor::r#false, Constructor::zero, Constructor::none, Constructor::nil]
        .into_iter()
        .any(is)
    {
        Some([None, None])
    } else {
        None
    }
}

/// Returns whether a type consists of built-in types with a JSON form, without address types.
fn is_built_in(ty: &Type) -> bool {
    let mut built_in = true;
    ty.visit(|part| {
        built_in &= match part {
            Type::Primitive(primitive) => match primitive {
                Primitive::BNum
                | Primitive::ByStr
                | Primitive::ByStrX(_)
                | Primitive::Int(_)
                | Primitive::String
                | Primitive::Uint(_) => true,
                Primitive::Event | Primitive::Exception | Primitive::Message | Primitive::ReplicateContract => false,
            },
            Type::Map(..) => true,
            Type::Adt(ident, types) => {
                let name = &ident.name;
                let parameters = match &**name.base() {
                    "Bool" | "Nat" => Some(0),
                    "List" | "Option" => Some(1),
                    "Pair" => Some(2),
                    _ => None,
                };
                name.module().is_none() && name.namespace().is_none() && parameters == Some(types.len())
            }
            Type::Address(_) | Type::Forall(..) | Type::Function(..) | Type::Unit | Type::Variable(_) => false,
        };
    });
    built_in
}
