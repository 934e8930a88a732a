use super::*;
use crate::{name::Ident, types::Width};

fn forall(name: &str, body: Type) -> Type {
    Type::Forall(name.into(), Arc::new(body))
}

fn variable(name: &str) -> Type {
    Type::Variable(name.into())
}

fn function(from: Type, to: Type) -> Type {
    Type::function(from, to)
}

fn contract(fields: &[(&str, Type)]) -> Type {
    let fields = fields.iter().map(|(name, ty)| ((*name).into(), ty.clone())).collect();
    Type::Address(AddressType::Contract(Arc::new(fields)))
}

fn uint() -> Type {
    Type::Primitive(Primitive::Uint(Width::W128))
}

const ANY: Type = Type::Address(AddressType::Any);
const CODE: Type = Type::Address(AddressType::Code);
const LIBRARY: Type = Type::Address(AddressType::Library);
const BYTES: Type = Type::bystr(20);

/// Checks equivalence in both directions.
fn check_same(a: &Type, b: &Type, expected: bool) {
    assert_eq!(equivalent(a, b), expected, "{} and {}", a.global(), b.global());
    assert_eq!(equivalent(b, a), expected, "{} and {}", b.global(), a.global());
    if expected {
        check_fits(a, b, true);
        check_fits(b, a, true);
    }
}

fn check_fits(expected: &Type, actual: &Type, fits: bool) {
    assert_eq!(assignable(expected, actual), fits, "{} takes {}", expected.global(), actual.global());
}

/// Checks that `expected` accepts `actual`, but not the reverse.
fn check_wider(expected: &Type, actual: &Type) {
    check_fits(expected, actual, true);
    check_fits(actual, expected, false);
    check_same(expected, actual, false);
}

#[test]
fn names_of_bound_variables_do_not_matter() {
    let identity = |name: &str| forall(name, function(variable(name), variable(name)));
    check_same(&identity("'A"), &identity("'B"), true);
    check_same(&forall("'X", identity("'A")), &forall("'A", identity("'A")), true);
    check_same(&identity("'A"), &forall("'A", function(variable("'A"), variable("'B"))), false);
}

#[test]
fn variables_differ_by_their_binding() {
    let of = |outer: &str, inner: &str, from: &str, to: &str| {
        forall(outer, forall(inner, function(variable(from), variable(to))))
    };
    check_same(&of("'A", "'B", "'A", "'B"), &of("'B", "'A", "'B", "'A"), true);
    check_same(&of("'A", "'B", "'A", "'B"), &of("'A", "'B", "'B", "'A"), false);
    check_same(&of("'A", "'A", "'A", "'A"), &of("'A", "'B", "'B", "'B"), true);
    check_same(&of("'A", "'A", "'A", "'A"), &of("'A", "'B", "'A", "'A"), false);
}

#[test]
fn a_binding_ends_with_its_body() {
    let identity = |name: &str| forall(name, function(variable(name), variable(name)));
    check_same(&function(identity("'A"), variable("'A")), &function(identity("'B"), variable("'A")), true);
    check_same(&function(identity("'A"), variable("'A")), &function(identity("'B"), variable("'B")), false);
    check_same(&Type::pair(identity("'A"), identity("'A")), &Type::pair(identity("'B"), identity("'C")), true);
}

#[test]
fn data_types_differ_by_module() {
    let colour = |module: &str| {
        let name = crate::name::Name::simple("Colour").defined_in(module.into());
        Type::Adt(Ident::new(name, crate::source::Span::NOWHERE), Arc::from([]))
    };
    check_same(&colour("0xab"), &colour("0xab"), true);
    check_same(&colour("0xab"), &colour("0xac"), false);
    check_fits(&colour("0xab"), &colour("0xac"), false);
}

#[test]
fn fields_of_contracts_have_no_order_and_all_count() {
    let both = contract(&[("a", uint()), ("b", Type::bool())]);
    check_same(&both, &contract(&[("b", Type::bool()), ("a", uint())]), true);
    check_same(&both, &contract(&[("a", uint()), ("c", Type::bool())]), false);
    check_same(&both, &contract(&[("a", uint()), ("b", uint())]), false);
    check_wider(&contract(&[("a", uint())]), &both);
    check_wider(&contract(&[]), &both);
}

#[test]
fn addresses_stand_for_those_of_which_less_is_known() {
    for more in [CODE, LIBRARY, contract(&[]), contract(&[("a", uint())])] {
        check_wider(&BYTES, &more);
        check_wider(&ANY, &more);
    }
    check_wider(&BYTES, &ANY);
    check_wider(&CODE, &LIBRARY);
    check_wider(&CODE, &contract(&[]));
    check_fits(&LIBRARY, &contract(&[]), false);
    check_fits(&contract(&[]), &LIBRARY, false);
    check_fits(&Type::bystr(21), &ANY, false);
}

#[test]
fn fields_follow_the_contract() {
    check_wider(&contract(&[("a", BYTES)]), &contract(&[("a", ANY)]));
    check_wider(&contract(&[("a", Type::list(ANY))]), &contract(&[("a", Type::list(CODE)), ("b", uint())]));
    check_fits(&contract(&[("a", ANY)]), &contract(&[("a", uint())]), false);
}

#[test]
fn parts_follow_the_whole() {
    check_wider(&Type::list(BYTES), &Type::list(ANY));
    check_wider(&Type::option(Type::pair(BYTES, ANY)), &Type::option(Type::pair(ANY, ANY)));
    check_wider(&Type::map(BYTES, uint()), &Type::map(ANY, uint()));
    check_wider(&Type::map(uint(), Type::map(uint(), ANY)), &Type::map(uint(), Type::map(uint(), CODE)));
    check_fits(&Type::pair(BYTES, ANY), &Type::pair(ANY, BYTES), false);
    check_fits(&Type::list(ANY), &Type::option(ANY), false);
}

#[test]
fn parameters_of_functions_go_the_other_way() {
    check_wider(&function(uint(), BYTES), &function(uint(), ANY));
    check_wider(&function(ANY, uint()), &function(BYTES, uint()));
    check_wider(&function(function(BYTES, uint()), uint()), &function(function(ANY, uint()), uint()));
    check_wider(&function(ANY, function(ANY, BYTES)), &function(BYTES, function(ANY, ANY)));
    check_fits(&function(BYTES, uint()), &function(ANY, uint()), false);
}

#[test]
fn bound_variables_change_sides_with_their_function() {
    // forall 'A. ('A -> T) -> 'A
    let of = |name: &str, taken: Type| forall(name, function(function(variable(name), taken), variable(name)));
    check_wider(&of("'A", ANY), &of("'B", BYTES));
    check_same(&of("'A", ANY), &of("'B", ANY), true);
}

#[test]
fn bodies_follow_the_type_function() {
    let of = |name: &str, result: Type| forall(name, function(variable(name), result));
    check_wider(&of("'A", BYTES), &of("'B", ANY));
    check_fits(&of("'A", variable("'A")), &of("'A", BYTES), false);
}

#[test]
fn primitives_are_themselves_only() {
    for a in Width::ALL {
        for b in Width::ALL {
            check_same(&Primitive::Uint(a).into(), &Primitive::Uint(b).into(), a == b);
            check_same(&Primitive::Int(a).into(), &Primitive::Uint(b).into(), false);
        }
    }
    check_same(&Primitive::ByStr.into(), &BYTES, false);
    check_same(&Type::Unit, &Type::Unit, true);
}

#[test]
fn long_types_do_not_overflow() {
    let long = |last: Type| (0..1000).fold(last, |of, _| function(Type::bool(), of));
    check_same(&long(uint()), &long(uint()), true);
    check_wider(&long(BYTES), &long(ANY));
}
