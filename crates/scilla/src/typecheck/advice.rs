//! Advice for people about applications to arguments of wrong types.

use super::Checker;
use crate::{
    builtins::Builtin,
    diagnosis::{Cause, TypedArgument, joined},
    name::Ident,
    types::{Primitive, Type, TypeVariable, Width, adt::DataType},
};

/// Types that the search for a valid call tries in place of an argument.
const TRIED: [Primitive; 12] = [
    Primitive::Uint(Width::W32),
    Primitive::Uint(Width::W64),
    Primitive::Uint(Width::W128),
    Primitive::Uint(Width::W256),
    Primitive::Int(Width::W32),
    Primitive::Int(Width::W64),
    Primitive::Int(Width::W128),
    Primitive::Int(Width::W256),
    Primitive::String,
    Primitive::BNum,
    Primitive::ByStr,
    Primitive::ByStrX(20),
];

/// Largest number of types that advice lists.
const LISTED_TYPES: usize = 5;

impl Checker<'_> {
    /// Returns the cause of an invalid call of a built-in function: the wrong argument, and its expected types.
    ///
    /// An argument is wrong if the call would be valid with another type of this argument. If several arguments are
    /// wrong in this sense, for example two integers of different types, the function marks the last of them.
    pub(super) fn ill_typed_builtin(
        &self,
        name: &Ident,
        has_types: bool,
        arguments: &[Ident],
        given: &[Type],
    ) -> Option<Cause> {
        let of = Builtin::find(name.name.base())?;
        let fits = |types: &[Type]| of.result_type(types, has_types, self.known).is_some();
        let typed = arguments.iter().zip(given).map(|(argument, ty)| TypedArgument {
            name: argument.name.as_written().to_string(),
            ty: ty.as_written().to_string(),
            place: self.text.source.start(argument.span),
        });
        let instead = |index: usize| -> Vec<Type> {
            let others = given.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, ty)| ty.clone());
            let mut tried: Vec<Type> = Vec::new();
            for ty in TRIED.into_iter().map(Type::Primitive).chain(others) {
                let mut types = given.to_vec();
                if let Some(place) = types.get_mut(index) {
                    *place = ty.clone();
                }
                if fits(&types) && !tried.contains(&ty) {
                    tried.push(ty);
                }
            }
            tried
        };
        let wrong: Vec<_> =
            (0..given.len()).map(|index| (index, instead(index))).filter(|(_, it)| !it.is_empty()).collect();
        let help = conversion(arguments, given).filter(|_| wrong.len() > 1).or_else(|| match wrong.as_slice() {
            [(_, expected)] if expected.len() <= LISTED_TYPES => {
                let names: Vec<_> = expected.iter().map(|ty| format!("`{}`", ty.as_written())).collect();
                Some(format!("the argument must be of type {}", joined(&names, "or")))
            }
            [] => self.other_count(of, has_types, given),
            _ => None,
        });
        Some(Cause::BuiltinArguments {
            builtin: name.name.as_written().to_string(),
            arguments: typed.collect(),
            wrong: wrong.last().map(|(index, _)| *index),
            help,
        })
    }

    /// Returns a description of the number of arguments, if another number makes the call valid.
    fn other_count(&self, of: Builtin, has_types: bool, given: &[Type]) -> Option<String> {
        let fits = |types: &[Type]| of.result_type(types, has_types, self.known).is_some();
        let fewer = (1..given.len()).rev().find(|count| given.get(..*count).is_some_and(fits));
        let more = || {
            let tried = TRIED.into_iter().map(Type::Primitive).chain(given.iter().cloned());
            tried.into_iter().any(|ty| fits(&[given, &[ty]].concat())).then(|| given.len() + 1)
        };
        let expected = fewer.or_else(more)?;
        Some(format!("`{of}` takes {expected} arguments, found {}", given.len()))
    }

    /// Returns the expression with its type arguments, as far as the arguments of the call determine them.
    pub(super) fn with_type_arguments(
        &self,
        constructor: &Ident,
        of: &DataType,
        expected: &[Type],
        arguments: &[Ident],
    ) -> Cause {
        let found = |variable: &TypeVariable| {
            expected.iter().zip(arguments).find_map(|(expected, argument)| {
                let actual = self.environment.get(&argument.name)?;
                part_for(expected, actual, variable)
            })
        };
        let types: Vec<String> = of
            .parameters
            .iter()
            .map(|variable| match found(variable) {
                Some(ty) if is_single(ty) => ty.as_written().to_string(),
                Some(ty) => format!("({})", ty.as_written()),
                None => "T".to_owned(),
            })
            .collect();
        let names: Vec<_> = arguments.iter().map(|argument| format!(" {}", argument.name.as_written())).collect();
        let unknown = of.parameters.iter().any(|variable| found(variable).is_none());
        let remark = if unknown { ", where T is the intended type" } else { "" };
        let written = format!("{} {{{}}}{}", constructor.name.as_written(), types.join(" "), names.concat());
        Cause::MissingTypeArguments { written, remark }
    }
}

/// Returns the part of `actual` at the position that the variable has in `expected`, or `None` if `actual` has no such
/// part.
fn part_for<'t>(expected: &Type, actual: &'t Type, variable: &TypeVariable) -> Option<&'t Type> {
    if let Type::Variable(name) = expected {
        return (name == variable).then_some(actual);
    }
    let (Type::Adt(one, expected), Type::Adt(other, actual)) = (expected, actual) else { return None };
    let mut parts = expected.iter().zip(actual.iter()).filter(|_| one.name == other.name);
    parts.find_map(|(expected, actual)| part_for(expected, actual, variable))
}

/// Returns whether a type needs no parentheses as an argument.
fn is_single(ty: &Type) -> bool {
    match ty {
        Type::Primitive(_) | Type::Variable(_) => true,
        Type::Adt(_, arguments) => arguments.is_empty(),
        Type::Address(_) | Type::Forall(..) | Type::Function(..) | Type::Map(..) | Type::Unit => false,
    }
}

/// Returns a help text for the conversion of the narrower of two integers to the type of the other integer, or `None`
/// for other types.
fn conversion(arguments: &[Ident], given: &[Type]) -> Option<String> {
    let ([one, other], [first, second]) = (arguments, given) else { return None };
    let width = |ty: &Type| {
        if let Type::Primitive(Primitive::Int(width) | Primitive::Uint(width)) = ty {
            Some(width.bytes())
        } else {
            None
        }
    };
    let (narrow, wide) = if width(first)? < width(second)? { (one, second) } else { (other, first) };
    let (name, ty) = (narrow.name.as_written(), wide.as_written().to_string());
    Some(format!(
        "both must be of one type: `builtin to_{} {name}` converts `{name}` to `Option {ty}`",
        ty.to_lowercase()
    ))
}
