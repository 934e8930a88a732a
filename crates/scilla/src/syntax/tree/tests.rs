use super::*;
use crate::syntax::{parse_contract, parse_expression, parse_library};

const BARE: SexpStyle = SexpStyle { human_readable: false, without_places: true };

/// Checks the S-expression of an expression without source positions. Ignores the empty source position at its end.
fn check(text: &str, expected: &str) {
    let module = parse_expression("e.scilexp", text.as_bytes()).unwrap_or_else(|failure| panic!("{failure}: {text}"));
    assert_eq!(expression_sexp(&module, BARE), format!("({expected} ())\n"), "{text}");
}

/// Checks that the S-expression of a contract with one transition contains this statement.
fn statement(text: &str, expected: &str) {
    let text = format!("scilla_version 0 contract C () transition T () {text} end");
    let module = parse_contract("c.scilla", text.as_bytes()).unwrap_or_else(|failure| panic!("{failure}: {text}"));
    let written = contract_sexp(&module, BARE);
    let body = format!("(comp_body (({expected} ())))");
    assert!(written.contains(&body), "{written}\nlacks\n{body}");
}

fn id(name: &str) -> String {
    format!("(Ident (SimpleLocal {name}) ())")
}

#[test]
fn expressions_of_every_kind_are_written() {
    let (x, y, f) = (id("x"), id("y"), id("f"));
    check("x", &format!("(Var {x})"));
    check("N.x", "(Var (Ident (QualifiedLocal N x) ()))");
    check("f x y", &format!("(App {f} ({x} {y}))"));
    check("let x = y in f", &format!("(Let {x} () ((Var {y}) ()) ((Var {f}) ()))"));
    check("let x : Uint32 = y in f", &format!("(Let {x} ((PrimType Uint32)) ((Var {y}) ()) ((Var {f}) ()))"));
    check("fun (x : 'A) => y", &format!("(Fun {x} (TypeVar 'A) ((Var {y}) ()))"));
    check("tfun 'A => y", &format!("(TFun (Ident (SimpleLocal 'A) ()) ((Var {y}) ()))"));
    check("@f 'A", &format!("(TApp {f} ((TypeVar 'A)))"));
    check("builtin add x y", &format!("(Builtin (Builtin_add ()) () ({x} {y}))"));
    check("builtin to_bystr20 x", &format!("(Builtin ((Builtin_to_bystrx 20) ()) () ({x}))"));
    check("builtin to_bystr x", &format!("(Builtin (Builtin_to_bystr ()) () ({x}))"));
    check("Some {String} x", &format!("(Constr {} ((PrimType String)) ({x}))", id("Some")));
    check("{ _tag : \"\"; a : x }", &format!("(Message ((_tag (MLit (StringLit \"\"))) (a (MVar {x}))))"));
    check(
        "match x with | A (B _) y => y | _ => x end",
        &format!(
            "(MatchExpr {x} (((Constructor {} ((Constructor {} (Wildcard)) (Binder {y}))) ((Var {y}) ())) \
             (Wildcard ((Var {x}) ()))))",
            id("A"),
            id("B")
        ),
    );
}

#[test]
fn literals_of_every_kind_are_written() {
    check("Int32 -5", "(Literal (IntLit \"Int32 -5\"))");
    check("Uint256 5", "(Literal (UintLit \"Uint256 5\"))");
    check("BNum 5", "(Literal (BNum 5))");
    check("\"a b\\n\\\"\"", "(Literal (StringLit \"a b\\n\\\"\"))");
    check("0x4100ff", "(Literal (ByStrX \"A\\000\\255\"))");
    check("Emp Uint32 Bool", &format!("(Literal (Map ((PrimType Uint32) {}) ()))", adt("Bool", "")));
}

/// Returns the S-expression of an algebraic data type whose name has no source position.
fn adt(name: &str, arguments: &str) -> String {
    format!("(ADT (Ident (SimpleLocal {name}) ((fname \"\") (lnum 0) (cnum 0))) ({arguments}))")
}

#[test]
fn types_of_every_kind_are_written() {
    let check_kind = |text: &str, expected: &str| {
        check(&format!("fun (x : {text}) => x"), &format!("(Fun {} {expected} ((Var {}) ()))", id("x"), id("x")));
    };
    check_kind("List Uint32", &adt("List", "(PrimType Uint32)"));
    check_kind("Map ByStr20 BNum", "(MapType (PrimType ByStr20) (PrimType BNum))");
    check_kind("String -> Message", "(FunType (PrimType String) (PrimType Message))");
    check_kind("forall 'A. 'A", "(PolyFun 'A (TypeVar 'A))");
    check_kind("ByStr20 with end", "(Address AnyAddr)");
    check_kind("ByStr20 with library end", "(Address LibAddr)");
    check_kind("ByStr20 with _codehash end", "(Address CodeAddr)");
    check_kind(
        "ByStr20 with contract field a : Event end",
        "(Address (ContrAddr (((Ident (SimpleLocal a) ((fname \"\") (lnum 0) (cnum 0))) (PrimType Event)))))",
    );
}

#[test]
fn statements_of_every_kind_are_written() {
    let (x, f, k, a) = (id("x"), id("f"), id("k"), id("a"));
    statement("accept", "AcceptPayment");
    statement("x = f", &format!("(Bind {x} ((Var {f}) ()))"));
    statement("f x", &format!("(CallProc () {f} ({x}))"));
    statement("x <- &a as ByStr20 with end", &format!("(TypeCast {x} {a} (Address AnyAddr))"));
    statement("event x", &format!("(CreateEvnt {x})"));
    statement("forall x f", &format!("(Iterate {x} {f})"));
    statement("x <- f", &format!("(Load {x} {f})"));
    statement("delete f[k]", &format!("(MapUpdate {f} ({k}) ())"));
    statement("f[k] := x", &format!("(MapUpdate {f} ({k}) ({x}))"));
    statement("x <- f[k]", &format!("(MapGet {x} {f} ({k}) true)"));
    statement("x <- exists f[k]", &format!("(MapGet {x} {f} ({k}) false)"));
    statement("match x with | _ => accept end", &format!("(MatchStmt {x} ((Wildcard ((AcceptPayment ())))))"));
    statement("x <- &BLOCKNUMBER", &format!("(ReadFromBC {x} CurBlockNum)"));
    statement("x <- &CHAINID", &format!("(ReadFromBC {x} ChainID)"));
    statement("x <- &TIMESTAMP(k)", &format!("(ReadFromBC {x} (Timestamp {k}))"));
    statement("x <- &a.f", &format!("(RemoteLoad {x} {a} {f})"));
    statement("x <- &a.f[k]", &format!("(RemoteMapGet {x} {a} {f} ({k}) true)"));
    statement("x <- &exists a.f[k]", &format!("(RemoteMapGet {x} {a} {f} ({k}) false)"));
    statement("_return := x", &format!("(Return {x})"));
    statement("send x", &format!("(SendMsgs {x})"));
    statement("f := x", &format!("(Store {f} {x})"));
    statement("throw", "(Throw ())");
    statement("throw x", &format!("(Throw ({x}))"));
}

#[test]
fn a_contract_is_written_with_its_places() {
    let text = "scilla_version 0 import A B as N library L let x = y type T = | C of Uint32
contract K (p : Uint32) field f : Uint32 = p
procedure q () : Uint32 end";
    let module = parse_contract("k.scilla", text.as_bytes()).expect("it parses");
    let at = |line: u32, column: u32| format!("((fname k.scilla) (lnum {line}) (cnum {column}))");
    let ident = |name: &str, line: u32, column: u32| format!("(Ident (SimpleLocal {name}) {})", at(line, column));
    let expected = format!(
        "((smver 0) \
         (libs (((lname {}) (lentries ((LibVar {} () ((Var {}) {})) \
         (LibTyp {} (((cname {}) (c_arg_types ((PrimType Uint32))))))))))) \
         (elibs (({} ()) ({} ({})))) \
         (contr ((cname {}) (cparams (({} (PrimType Uint32)))) \
         (cconstraint ((Literal (ADTValue (SimpleLocal True) () ())) ((fname \"\") (lnum 0) (cnum 0)))) \
         (cfields (({} (PrimType Uint32) ((Var {}) {})))) \
         (ccomps (((comp_type CompProc) (comp_name {}) (comp_params ()) (comp_body ()) \
         (comp_return ((PrimType Uint32)))))))))\n",
        ident("L", 1, 34),
        ident("x", 1, 48),
        ident("y", 1, 52),
        at(1, 52),
        ident("T", 1, 54),
        ident("C", 1, 63),
        ident("A", 1, 25),
        ident("B", 1, 27),
        ident("N", 1, 32),
        ident("K", 2, 10),
        ident("p", 2, 13),
        ident("f", 2, 31),
        ident("p", 2, 44),
        at(2, 44),
        ident("q", 3, 11),
    );
    assert_eq!(contract_sexp(&module, SexpStyle::default()), expected);
}

#[test]
fn line_breaks_are_all_that_makes_it_readable() {
    let text = "scilla_version 0 library L let f = fun (x : Option (List Uint32)) => match x with | Some y => y | None => z end";
    let module = parse_library("l.scillib", text.as_bytes()).expect("it parses");
    let plain = library_sexp(&module, BARE);
    let readable = library_sexp(&module, SexpStyle { human_readable: true, ..BARE });
    assert!(plain.starts_with("((smver 0) (elibs ()) (libs ((lname "), "{plain}");
    assert_eq!(readable.split_whitespace().collect::<Vec<_>>(), plain.split_whitespace().collect::<Vec<_>>());
    assert!(readable.lines().count() > 5 && readable.lines().all(|line| line.len() <= 120), "{readable}");
}

#[test]
fn a_long_chain_is_written() {
    let text = "let x = y in ".repeat(30_000) + "x";
    let module = parse_expression("e.scilexp", text.as_bytes()).expect("it parses");
    let written = expression_sexp(&module, SexpStyle { human_readable: true, without_places: true });
    assert_eq!(written.matches('(').count(), written.matches(')').count());
    assert!(written.len() < 30_000 * 1000);
}
