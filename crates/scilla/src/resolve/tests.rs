#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one kind among all")]

use super::*;
use crate::{
    rules::Edition,
    syntax::{
        ast::{ExprId, ExpressionKind, LibraryEntry, PatternKind, StatementKind},
        parse_contract, parse_expression, parse_library,
    },
    types::Type,
};

/// A source of libraries by target, each with its origin.
#[derive(Default)]
struct Shelf(BTreeMap<&'static str, (&'static str, Origin)>);

impl Shelf {
    fn with(mut self, target: &'static str, text: &'static str) -> Self {
        self.0.insert(target, (text, Origin::default()));
        self
    }

    fn with_origin(mut self, target: &'static str, text: &'static str, origin: Origin) -> Self {
        self.0.insert(target, (text, origin));
        self
    }
}

impl LibrarySource for Shelf {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        Ok(self.0.get(target).map(|(text, origin)| FoundLibrary {
            file: format!("lib/{target}.scillib").into(),
            text: text.as_bytes().into(),
            origin: origin.clone(),
        }))
    }
}

fn origin(address: &str, libraries: &[(&str, &str)]) -> Origin {
    let libraries = libraries.iter().map(|(name, target)| ((*name).into(), (*target).into())).collect();
    Origin { address: Some(address.into()), libraries, ..Origin::default() }
}

fn resolve(text: &str, shelf: &Shelf) -> Result<Program<ContractModule>, ResolveError> {
    let module = parse_contract("dir/main.scilla", text.as_bytes()).expect("the text parses");
    contract(module, &Origin::default(), shelf)
}

/// Returns the errors of a text that cannot be resolved, with their source positions.
fn failure(text: &str, shelf: &Shelf) -> Vec<String> {
    shown(resolve(text, shelf).expect_err("the names are wrong"))
}

fn shown(error: ResolveError) -> Vec<String> {
    let (ResolveError::Import(failure) | ResolveError::Names(failure)) = error;
    let show = |entry: &Entry| {
        let place = &entry.start;
        format!("{}:{}:{}: {}", place.file, place.line, place.column, entry.message)
    };
    failure.entries().iter().map(show).collect()
}

/// Returns the global name of the variable that `y` is bound to in the only transition.
fn meaning(text: &str, shelf: &Shelf) -> String {
    let program = resolve(text, shelf).expect("the names are right");
    let body = &program.main.contract.components.last().expect("there is a transition").body;
    let value = body.iter().find_map(|statement| match &statement.kind {
        StatementKind::Bind { to, value } if &**to.name.base() == "y" => Some(*value),
        _ => None,
    });
    variable(&program.main.arena, value.expect("y is bound"))
}

fn variable(arena: &crate::syntax::ast::Arena, id: ExprId) -> String {
    match &arena.get(id).kind {
        ExpressionKind::Variable(ident) => ident.name.global().to_string(),
        other => panic!("not a variable: {other:?}"),
    }
}

fn in_transition(before: &str, parameters: &str, body: &str) -> String {
    format!("scilla_version 0\n{before}\ncontract C (p : Uint32)\ntransition T ({parameters})\n{body}\nend")
}

const VALUES: &str = "scilla_version 0 library L let a = Uint32 1 let b = a";

#[test]
fn values_of_libraries_are_known_by_their_module() {
    let shelf = Shelf::default().with("L", VALUES);
    assert_eq!(meaning(&in_transition("import L", "", "y = a"), &shelf), "L.a");
    assert_eq!(meaning(&in_transition("import L as N", "", "y = N.a"), &shelf), "L.a");
    assert_eq!(meaning(&in_transition("import L as N", "", "y = a"), &shelf), "a");
    assert_eq!(meaning(&in_transition("library M let a = Uint32 2", "", "y = a"), &shelf), "main.a");
    let program = resolve(&in_transition("import L", "", "y = a"), &shelf).unwrap();
    let library = &program.imports[0].module;
    let LibraryEntry::Value { name, body, .. } = &library.library.entries[1] else { panic!() };
    assert_eq!(name.name.global().to_string(), "L.b");
    assert_eq!(variable(&library.arena, *body), "L.a");
}

#[test]
fn the_address_of_a_module_comes_from_its_origin() {
    let text = "scilla_version 0 import L library M let c = a contract C ()";
    let module = parse_contract("main.scilla", text.as_bytes()).unwrap();
    let shelf = Shelf::default().with("0xbb", VALUES);
    let program = contract(module, &origin("0xaa", &[("L", "0xbb")]), &shelf).unwrap();
    assert_eq!(&*program.address, "0xaa");
    assert_eq!(&*program.imports[0].address, "0xbb");
    let LibraryEntry::Value { name, body, .. } = &program.main.library.as_ref().unwrap().entries[0] else { panic!() };
    assert_eq!(name.name.global().to_string(), "0xaa.c");
    assert_eq!(variable(&program.main.arena, *body), "0xbb.a");
}

#[test]
fn library_can_have_another_address_for_itself_than_its_importer_has() {
    let shelf = Shelf::default().with_origin("L", VALUES, origin("0xcc", &[]));
    let program = resolve("scilla_version 0 import L contract C ()", &shelf).unwrap();
    assert_eq!(&*program.imports[0].address, "0xcc");
    assert_eq!(meaning(&in_transition("import L", "", "y = a"), &shelf), "L.a");
}

#[test]
fn locals_hide_values_of_libraries() {
    let shelf = Shelf::default().with("L", VALUES);
    let check = |parameters: &str, body: &str, expected: &str| {
        let text = in_transition("import L", parameters, body);
        assert_eq!(meaning(&text, &shelf), expected, "{body}");
    };
    check("a : Uint32", "y = a", "a");
    check("", "a = Uint32 1; y = a", "a");
    check("", "a <- f; y = a", "a");
    check("", "a <- f[b]; y = a", "a");
    check("", "a <- exists f[b]; y = a", "a");
    check("", "a <- &BLOCKNUMBER; y = a", "a");
    check("", "a <- &TIMESTAMP(b); y = a", "a");
    check("", "a <- &x.f; y = a", "a");
    check("", "a <- &x.f[b]; y = a", "a");
    check("", "a <- &x as ByStr20 with end; y = a", "a");
    check("", "match b with | a => end; y = a", "L.a");
    check("", "match b with | _ => a = b end; y = a", "L.a");
    check("", "x = let a = b in a; y = a", "L.a");
    check("", "x = fun (a : Uint32) => a; y = a", "L.a");
    check("", "x = match b with | a => a end; y = a", "L.a");
}

#[test]
fn the_result_of_a_procedure_does_not_hide_a_value_as_in_the_reference() {
    let shelf = Shelf::default().with("L", VALUES);
    let text = "scilla_version 0 import L contract C ()
        procedure p () : Uint32 _return := b end
        transition T () a = p; y = a end";
    assert_eq!(meaning(text, &shelf), "L.a");
}

#[test]
fn contract_parameters_hide_values_and_fields_do_not() {
    let shelf = Shelf::default().with("L", "scilla_version 0 library L let p = Uint32 1 let f = p");
    assert_eq!(meaning(&in_transition("import L", "", "y = p"), &shelf), "p");
    let text = "scilla_version 0 import L contract C () field f : Uint32 = Uint32 1 transition T () y = f end";
    assert_eq!(meaning(text, &shelf), "L.f");
}

/// Returns the global names of all variables of an expression, in the order of the arena.
fn variables(text: &str) -> Vec<String> {
    let module = parse_expression("e.scilexp", text.as_bytes()).expect("the text parses");
    let shelf = Shelf::default().with("L", VALUES);
    let program = expression(module, &["L"], &shelf).expect("the names are right");
    let mut arena = program.main.arena;
    let name = |ident: &Ident| Some(ident.name.global().to_string());
    arena
        .iter_mut()
        .filter_map(|expression| match &expression.kind {
            ExpressionKind::Variable(ident) => name(ident),
            _ => None,
        })
        .collect()
}

#[test]
fn scopes_end_where_they_end() {
    assert_eq!(variables("let a = a in a"), ["L.a", "a"]);
    assert_eq!(variables("let x = let a = b in a in a"), ["L.b", "a", "L.a"]);
    assert_eq!(variables("fun (a : Uint32) => let b = b in a"), ["L.b", "a"]);
    assert_eq!(variables("match a with | b => b | _ => b end"), ["b", "L.b"]);
    assert_eq!(variables("match a with | Pair (Cons a _) b => let c = a in b | Nil => a end"), ["a", "b", "L.a"]);
    assert_eq!(variables("tfun 'A => a"), ["L.a"]);
}

#[test]
fn every_kind_of_expression_is_reached() {
    let check = |text: &str| {
        let text = in_transition("import L as N", "", &format!("y = {text}"));
        let shelf = Shelf::default().with("L", VALUES);
        assert_eq!(failure(&text, &shelf), ["dir/main.scilla:5:5: Unknown namespace: X"], "{text}");
    };
    check("X.a");
    check("X.a b");
    check("f X.a");
    check("@X.f Uint32");
    check("builtin add X.a X.a");
    check("X.C a");
    check("C X.a");
    check("{ _tag : X.a }");
    check("match X.a with | _ => a end");
    for (text, column) in [("fun (a : X.T) => a", 14), ("let a : List X.T = b in a", 18), ("Nil {X.T}", 10)] {
        let text = in_transition("", "", &format!("y = {text}"));
        let place = format!("dir/main.scilla:5:{column}: Unknown namespace: X");
        assert_eq!(failure(&text, &Shelf::default()), [place]);
    }
    for (text, column) in [
        ("@f (Map Uint32 X.T)", 20),
        ("Emp Uint32 X.T", 16),
        ("{ _tag : Emp Uint32 X.T }", 25),
        ("tfun 'A => fun (a : (forall 'A. 'A) -> ByStr20 with contract field f : X.T end) => a", 76),
        ("builtin size {X.T} a", 19),
        ("match a with | X.C => a end", 20),
        ("match a with | Some (X.C) => a end", 26),
    ] {
        let text = in_transition("", "", &format!("y = {text}"));
        let place = format!("dir/main.scilla:5:{column}: Unknown namespace: X");
        assert_eq!(failure(&text, &Shelf::default()), [place], "{text}");
    }
}

#[test]
fn every_kind_of_statement_is_reached() {
    let check = |text: &str| {
        let text = in_transition("", "", text);
        assert_eq!(failure(&text, &Shelf::default()), ["dir/main.scilla:5:1: Unknown namespace: X"], "{text}");
    };
    for text in [
        "f := X.a",
        "f[X.a] := b",
        "f[a] := X.b",
        "delete f[X.a]",
        "x <- f[X.a]",
        "x <- exists f[X.a]",
        "x <- &TIMESTAMP(X.a)",
        "x <- &a.f[X.a]",
        "x <- &exists a.f[X.a]",
        "x <- &X.a as ByStr20 with end",
        "send X.a",
        "event X.a",
        "throw X.a",
        "match X.a with end",
        "p X.a",
        "forall X.a p",
        "_return := X.a",
    ] {
        check(text);
    }
    let text = in_transition("", "", "x <- &a as ByStr20 with contract field f : X.T end");
    assert_eq!(failure(&text, &Shelf::default()), ["dir/main.scilla:5:44: Unknown namespace: X"]);
    let text = in_transition("", "a : X.T", "");
    assert_eq!(failure(&text, &Shelf::default()), ["dir/main.scilla:4:19: Unknown namespace: X"]);
    let text = "scilla_version 0 contract C () procedure p () : X.T end";
    assert_eq!(failure(text, &Shelf::default()), ["dir/main.scilla:1:49: Unknown namespace: X"]);
    let text = "scilla_version 0 contract C (a : X.T)";
    assert_eq!(failure(text, &Shelf::default()), ["dir/main.scilla:1:34: Unknown namespace: X"]);
    let text = "scilla_version 0 contract C () field f : X.T = a";
    assert_eq!(failure(text, &Shelf::default()), ["dir/main.scilla:1:42: Unknown namespace: X"]);
    let text = "scilla_version 0 contract C () with X.a =>";
    assert_eq!(failure(text, &Shelf::default()), ["dir/main.scilla:1:37: Unknown namespace: X"]);
}

#[test]
fn patterns_are_resolved_from_the_last_part_to_the_first() {
    let text = in_transition("", "", "match a with | Pair (X.C) (Y.C) => end");
    assert_eq!(failure(&text, &Shelf::default()), ["dir/main.scilla:5:28: Unknown namespace: Y"]);
}

#[test]
fn names_that_must_be_simple_are_reported_nowhere() {
    for body in ["x <- N.f", "x <- &a.N.f"] {
        assert_eq!(failure(&in_transition("", "", body), &Shelf::default()), [":0:0: Illegal name: N.f"]);
    }
}

#[test]
fn a_namespace_holds_what_was_imported_into_it() {
    let shelf = Shelf::default().with("L", VALUES).with("M", "scilla_version 0 library M type T = | A | B let c = A");
    let text = in_transition("import L as N M as N", "", "y = N.a; x = N.c; z = N.A");
    assert_eq!(meaning(&text, &shelf), "L.a");
    let text = in_transition("import L as N", "", "y = N.c");
    assert_eq!(failure(&text, &shelf), ["dir/main.scilla:5:5: Name c is not defined in the namespace N"]);
    let text = in_transition("import L as N", "", "y = N.A");
    assert_eq!(failure(&text, &shelf), ["dir/main.scilla:5:5: Name A is not defined in the namespace N"]);
}

#[test]
fn types_and_constructors_are_known_by_their_module() {
    let text = "scilla_version 0 library M type T = | A of Uint32 | B
        contract C (x : List T) transition P () match x with | A _ => | None => end end";
    let program = resolve(text, &Shelf::default()).unwrap();
    let LibraryEntry::Type { name, constructors } = &program.main.library.as_ref().unwrap().entries[0] else {
        panic!()
    };
    assert_eq!(name.name.global().to_string(), "main.T");
    assert_eq!(constructors[1].name.name.global().to_string(), "main.B");
    let contract = &program.main.contract;
    assert_eq!(contract.parameters[0].ty.global().to_string(), "List (main.T)");
    assert_eq!(contract.parameters[0].ty.as_written().to_string(), "List (T)");
    let StatementKind::Match { clauses, .. } = &contract.components[0].body[0].kind else { panic!() };
    let constructor = |index: usize| match &clauses[index].pattern.kind {
        PatternKind::Constructor(ident, _) => ident.name.global().to_string(),
        other => panic!("not a constructor: {other:?}"),
    };
    assert_eq!([constructor(0), constructor(1)], ["main.A", "None"]);
}

#[test]
fn type_is_not_in_scope_in_its_own_definition() {
    let text = "scilla_version 0 library M type T = | A of T contract C ()";
    let program = resolve(text, &Shelf::default()).unwrap();
    let LibraryEntry::Type { constructors, .. } = &program.main.library.as_ref().unwrap().entries[0] else { panic!() };
    let Type::Adt(ident, _) = &constructors[0].arguments[0] else { panic!() };
    assert_eq!(ident.name.global().to_string(), "T");
}

/// Returns the resolved constraint of a contract without a written constraint.
fn unstated_constraint(text: &str, shelf: &Shelf, rules: Rules) -> String {
    let module = parse_contract("main.scilla", text.as_bytes()).unwrap();
    let program = contract(module, &Origin { rules, ..Origin::default() }, shelf).unwrap();
    let expression = program.main.arena.get(program.main.contract.constraint);
    let ExpressionKind::Construct { constructor, .. } = &expression.kind else { panic!() };
    constructor.name.global().to_string()
}

#[test]
fn a_constraint_that_is_not_written_is_what_true_names() {
    let own = "scilla_version 0 library M type T = | True contract C ()";
    let imported = "scilla_version 0 import L contract C ()";
    let qualified = "scilla_version 0 import L as N contract C ()";
    let plain = "scilla_version 0 contract C ()";
    let shelf = Shelf::default().with("L", "scilla_version 0 library L type T = | True");
    for rules in Edition::ALL.map(Rules::current) {
        assert_eq!(unstated_constraint(own, &shelf, rules), "main.True");
        assert_eq!(unstated_constraint(imported, &shelf, rules), "L.True");
        assert_eq!(unstated_constraint(qualified, &shelf, rules), "True");
        assert_eq!(unstated_constraint(plain, &shelf, rules), "True");
    }
    for text in [own, imported, qualified, plain] {
        assert_eq!(unstated_constraint(text, &shelf, Rules::UNNAMED), "True");
    }
}

#[test]
fn the_same_name_from_two_imports_clashes() {
    let types = "scilla_version 0 library M type T = | A | B";
    let shelf = Shelf::default()
        .with("L", VALUES)
        .with("M", types)
        .with("K", "scilla_version 0 library K type A = | B | A let a = Uint32 1");
    let check = |imports: &str, expected: &str| {
        let text = format!("scilla_version 0\nimport {imports}\ncontract C ()");
        assert_eq!(failure(&text, &shelf), [format!("dir/main.scilla:2:{expected}")], "{imports}");
    };
    check("L L", "10: Variable b imported from multiple sources: libraries L and L");
    check("L K", "10: Variable a imported from multiple sources: libraries K and L");
    check("M M", "10: Type T imported from multiple sources: libraries M and M");
    check("M K", "10: Type constructor A imported from multiple sources: libraries K and M");
    check("M as N K as N", "15: Type constructor A imported from multiple sources: libraries K and M");
    assert!(resolve("scilla_version 0 import M as N K contract C ()", &shelf).is_ok());
}

#[test]
fn types_are_declared_once_and_values_as_often_as_one_likes() {
    let shelf = Shelf::default().with("M", "scilla_version 0 library M type T = | A let x = A");
    let check = |library: &str, expected: &str| {
        let text = format!("scilla_version 0 import M\nlibrary K\n{library}\ncontract C ()");
        assert_eq!(failure(&text, &shelf), [format!("dir/main.scilla:{expected}")], "{library}");
    };
    check("  type T", "3:3: Multiple declarations of type T in library M");
    check("type S type S", "3:8: Multiple declarations of type S in library main");
    check("type S = | A", "3:10: Multiple declarations of type constructor A in library M");
    check("type S = | B | B", "3:14: Multiple declarations of type constructor B in library main");
    let text = "scilla_version 0 import M library K let x = x let x = x contract C () with x =>";
    let program = resolve(text, &shelf).unwrap();
    let values = program.main.library.as_ref().unwrap().entries.iter().map(|entry| match entry {
        LibraryEntry::Value { body, .. } => variable(&program.main.arena, *body),
        LibraryEntry::Type { .. } => panic!("no type here"),
    });
    let values: Vec<_> = values.collect();
    assert_eq!(values, ["M.x", "main.x"]);
    assert_eq!(variable(&program.main.arena, program.main.contract.constraint), "main.x");
}

#[test]
fn a_missing_library_is_reported_at_the_import() {
    let text = "scilla_version 0\nimport A contract C ()";
    assert_eq!(failure(text, &Shelf::default()), ["dir/main.scilla:2:8: Failed to import library (not found): A"]);
    let module = parse_contract("main.scilla", text.as_bytes()).unwrap();
    let error = contract(module, &origin("0xaa", &[("A", "0xbb")]), &Shelf::default()).unwrap_err();
    assert!(matches!(error, ResolveError::Import(_)));
    assert_eq!(shown(error), ["main.scilla:2:8: Failed to import library (not found): 0xbb"]);
}

#[test]
fn a_wrong_library_is_reported_there_and_at_the_import() {
    let shelf = Shelf::default()
        .with("A", "scilla_version 0\nlibrary A let let")
        .with("B", "scilla_version 0\nlibrary B let x = N.x");
    let entries = failure("scilla_version 0\nimport A contract C ()", &shelf);
    assert_eq!(entries.len(), 2);
    assert!(entries[0].starts_with("lib/A.scillib:2:18: Syntax error: "), "{}", entries[0]);
    assert_eq!(entries[1], "dir/main.scilla:2:8: Failed to parse");
    assert_eq!(
        failure("scilla_version 0\nimport B contract C ()", &shelf),
        ["lib/B.scillib:2:19: Unknown namespace: N", "dir/main.scilla:2:8: Failed to disambiguate imported library: B"]
    );
}

#[test]
fn a_cycle_of_imports_is_reported() {
    let shelf = Shelf::default()
        .with("A", "scilla_version 0 import B library A")
        .with("B", "scilla_version 0\nimport A library B");
    assert_eq!(
        failure("scilla_version 0 import A contract C ()", &shelf),
        ["lib/B.scillib:2:8: Cyclic dependence found when importing A."]
    );
    let module = parse_contract("main.scilla", b"scilla_version 0 import A contract C ()").unwrap();
    let error = contract(module, &origin("0xaa", &[("A", "A")]), &shelf).unwrap_err();
    assert_eq!(shown(error), ["lib/B.scillib:2:8: Cyclic dependence found when importing A (mapped to A)."]);
}

#[test]
fn cycles_go_by_name_even_where_a_library_has_been_read_before() {
    // B imports X with the target Y. This is not the library X that imports B.
    let shelf = Shelf::default()
        .with_origin("B", "scilla_version 0\nimport X library B", origin("0xb", &[("X", "Y")]))
        .with("X", "scilla_version 0 import B library X")
        .with("Y", "scilla_version 0 library Y");
    assert!(resolve("scilla_version 0 import B contract C ()", &shelf).is_ok());
    assert_eq!(
        failure("scilla_version 0 import B X contract C ()", &shelf),
        ["lib/B.scillib:2:8: Cyclic dependence found when importing X."]
    );
}

#[test]
fn a_library_reached_twice_is_read_once() {
    let shelf = Shelf::default()
        .with("Top", "scilla_version 0 library Top let t = Uint32 1")
        .with("A", "scilla_version 0 import Top library A let x = t")
        .with("B", "scilla_version 0 import Top library B let y = t");
    let program = resolve("scilla_version 0 import A B contract C ()", &shelf).unwrap();
    assert!(Arc::ptr_eq(&program.imports[0].imports[0], &program.imports[1].imports[0]));
    let text = in_transition("import A B", "", "y = t");
    assert_eq!(meaning(&text, &shelf), "t", "imports are not transitive");
}

#[test]
fn a_library_of_its_own_is_resolved_as_an_imported_one() {
    let module = parse_library("dir/Own.scillib", b"scilla_version 0 import L library O let c = a").unwrap();
    let program = library(module, &Origin::default(), &Shelf::default().with("L", VALUES)).unwrap();
    assert_eq!(&*program.address, "Own");
    let LibraryEntry::Value { name, body, .. } = &program.main.library.entries[0] else { panic!() };
    assert_eq!(name.name.global().to_string(), "Own.c");
    assert_eq!(variable(&program.main.arena, *body), "L.a");
}

#[test]
fn an_expression_that_cannot_be_resolved_has_one_text() {
    let module = parse_expression("e.scilexp", b"N.x").unwrap();
    let error = expression(module, &[], &Shelf::default()).unwrap_err();
    assert_eq!(shown(error), [":0:0: Failed to disambiguate"]);
}

/// A source of libraries in which each library imports the next one, without end.
struct Chain;

impl LibrarySource for Chain {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        let text = format!("scilla_version 0 import {target}x library L");
        let file = format!("{target}.scillib").into();
        Ok(Some(FoundLibrary { file, text: text.as_bytes().into(), origin: Origin::default() }))
    }
}

#[test]
fn a_chain_of_imports_has_an_end() {
    let module = parse_contract("main.scilla", b"scilla_version 0 import A contract C ()").unwrap();
    let entries = shown(contract(module, &Origin::default(), &Chain).unwrap_err());
    assert_eq!(entries.len(), 1);
    assert!(entries[0].ends_with("Libraries import each other more than 256 deep"), "{}", entries[0]);
}

#[test]
fn a_chain_of_lets_may_be_long() {
    let text = "let a = b in ".repeat(100_000) + "a";
    let module = parse_expression("e.scilexp", text.as_bytes()).unwrap();
    let program = expression(module, &["L"], &Shelf::default().with("L", VALUES)).unwrap();
    assert_eq!(program.main.arena.len(), 200_001);
}
