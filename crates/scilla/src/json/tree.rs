//! The syntax tree as JSON, for other tools.

use super::document::{Builder, Document};
use crate::{
    syntax::{Group, Piece, Tree},
    types::{Primitive, Width},
};

/// Returns a syntax tree in the form of the reference's `scilla-fmt --json`.
///
/// Bytes become a text. If they are not UTF-8, each byte becomes the character with this code point (Latin-1). The
/// reference writes such bytes unchanged, so its output is then not JSON.
pub fn tree_json(tree: &Tree) -> Document {
    let mut json = Builder::new();
    let mut groups = Vec::new();
    // The number of open groups inside an address type. The output omits these groups.
    let mut hidden = 0_usize;
    for piece in tree.pieces() {
        match piece {
            Piece::Begin(_) if hidden > 0 => hidden += 1,
            Piece::End if hidden > 0 => hidden -= 1,
            _ if hidden > 0 => {}
            Piece::Begin(group) => {
                hidden = usize::from(*group == Group::Address);
                if begin(*group, &mut json) {
                    groups.push(*group);
                }
            }
            Piece::End => {
                let is_container =
                    |group: &Group| matches!(group, Group::List | Group::Parts | Group::Record | Group::Variant(_));
                if groups.pop().as_ref().is_some_and(is_container) {
                    json.end();
                }
            }
            Piece::Integer(_, digits) => _ = json.string(digits),
            Piece::Name(name) => _ = json.begin_array().string(name).end(),
            Piece::Nothing => _ = json.null(),
            Piece::Number(digits) => _ = json.integer(digits),
            Piece::Primitive(ty) => primitive(*ty, &mut json),
            Piece::Text(bytes) => _ = json.string(text(bytes)),
            Piece::Truth(value) => _ = json.boolean(*value),
        }
    }
    json.finish()
}

/// Begins a group. Returns false if the group is already complete.
fn begin(group: Group, json: &mut Builder) -> bool {
    match group {
        Group::Address => _ = json.begin_array().string("Address").string("Address").end(),
        Group::List => _ = json.begin_array(),
        Group::Literal(_) | Group::Some => {}
        Group::Member(name) | Group::Part(name) => _ = json.key(name),
        Group::Parts | Group::Record => _ = json.begin_object(),
        Group::Variant(name) => _ = json.begin_array().string(name),
    }
    group != Group::Address
}

fn primitive(ty: Primitive, json: &mut Builder) {
    let width = |json: &mut Builder, name: &str, width: Width| {
        json.begin_array().string(name).begin_array().string(format_args!("Bits{}", width.bits())).end().end();
    };
    let word = |json: &mut Builder, name: &str| _ = json.begin_array().string(name).end();
    match ty {
        Primitive::BNum => word(json, "Bnum_typ"),
        Primitive::ByStr => word(json, "Bystr_typ"),
        Primitive::ByStrX(bytes) => _ = json.begin_array().string("Bystrx_typ").integer(bytes).end(),
        Primitive::Event => word(json, "Event_typ"),
        Primitive::Exception => word(json, "Exception_typ"),
        Primitive::Int(bits) => width(json, "Int_typ", bits),
        Primitive::Message => word(json, "Msg_typ"),
        Primitive::ReplicateContract => word(json, "ReplicateContr_typ"),
        Primitive::String => word(json, "String_typ"),
        Primitive::Uint(bits) => width(json, "Uint_typ", bits),
    }
}

fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{parse_contract, parse_expression, parse_library};

    fn expression(text: &str) -> String {
        let module = parse_expression("e.scilexp", text.as_bytes()).unwrap();
        tree_json(&Tree::of_expression(&module, true)).root().compact().to_string()
    }

    fn id(name: &str) -> String {
        format!(r#"["Ident",["SimpleLocal","{name}"],null]"#)
    }

    /// Checks the JSON of a function whose parameter has this type.
    fn check_kind(text: &str, expected: &str) {
        let found = expression(&format!("fun (x : {text}) => x"));
        let (x, body) = (id("x"), format!(r#"[["Var",{}],null]"#, id("x")));
        assert_eq!(found, format!(r#"[["Fun",{x},{expected},{body}],null]"#));
    }

    #[test]
    fn literals_are_their_values() {
        let check = |text: &str, expected: &str| {
            assert_eq!(expression(text), format!(r#"[["Literal",{expected}],null]"#));
        };
        check("Int32 -5", r#""-5""#);
        check("BNum 7", r#""7""#);
        check(r#""a\"b""#, r#""a\"b""#);
        check("0x4142", r#""AB""#);
        check("0x00ff", r#""\u0000ÿ""#);
        check(
            "Emp Uint256 Bool",
            r#"{"mtype":[["PrimType",["Uint_typ",["Bits256"]]],["ADT",["Ident",["SimpleLocal","Bool"],{"fname":"","lnum":0,"cnum":0}],[]]],"data":[]}"#,
        );
    }

    #[test]
    fn types_of_every_kind_are_written() {
        for (name, expected) in [
            ("Int64", r#"["Int_typ",["Bits64"]]"#),
            ("Uint128", r#"["Uint_typ",["Bits128"]]"#),
            ("ByStr20", r#"["Bystrx_typ",20]"#),
            ("ByStr", r#"["Bystr_typ"]"#),
            ("BNum", r#"["Bnum_typ"]"#),
            ("String", r#"["String_typ"]"#),
            ("Message", r#"["Msg_typ"]"#),
            ("Event", r#"["Event_typ"]"#),
        ] {
            check_kind(name, &format!(r#"["PrimType",{expected}]"#));
        }
        check_kind("forall 'A. 'A", r#"["PolyFun","'A",["TypeVar","'A"]]"#);
        check_kind("ByStr20 with contract field a : Map BNum (ByStr20 with end) end", r#"["Address","Address"]"#);
        check_kind("'A -> 'B", r#"["FunType",["TypeVar","'A"],["TypeVar","'B"]]"#);
    }

    #[test]
    fn optional_part_is_null_or_itself() {
        let (x, y) = (id("x"), id("y"));
        let body = format!(r#"[["Var",{y}],null]"#);
        assert_eq!(expression("let x = y in y"), format!(r#"[["Let",{x},null,{body},{body}],null]"#));
        let typed = format!(r#"[["Let",{x},["PrimType",["Bnum_typ"]],{body},{body}],null]"#);
        assert_eq!(expression("let x : BNum = y in y"), typed);
    }

    #[test]
    fn names_without_parts_are_arrays_of_one() {
        let name = id("x");
        assert_eq!(
            expression("builtin to_bystr20 x"),
            format!(r#"[["Builtin",[["Builtin_to_bystrx",20],null],[],[{name}]],null]"#)
        );
        assert_eq!(expression("builtin add x"), format!(r#"[["Builtin",[["Builtin_add"],null],[],[{name}]],null]"#));
        let clause = format!(r#"[["Wildcard"],[["Var",{name}],null]]"#);
        assert_eq!(expression("match x with | _ => x end"), format!(r#"[["MatchExpr",{name},[{clause}]],null]"#));
        assert_eq!(
            expression("{ a : Uint32 1; b : x }"),
            format!(r#"[["Message",[["a",["MLit","1"]],["b",["MVar",{name}]]]],null]"#)
        );
    }

    #[test]
    fn records_are_objects_with_places() {
        let text = "scilla_version 0 import A as B contract C () transition T () x <- exists m[k]; accept end";
        let module = parse_contract("c.scilla", text.as_bytes()).unwrap();
        let place = |line: u32, column: u32| format!(r#"{{"fname":"c.scilla","lnum":{line},"cnum":{column}}}"#);
        let ident = |name: &str, column: u32| format!(r#"["Ident",["SimpleLocal","{name}"],{}]"#, place(1, column));
        let expected = [
            format!(r#"{{"smver":0,"libs":null,"elibs":[[{},{}]],"contr":{{"cname":{},"#, ident("A", 25), ident("B", 30), ident("C", 41)),
            r#""cparams":[],"cconstraint":[["Literal",{"name":["SimpleLocal","True"],"types":[],"lits":[]}],{"fname":"","lnum":0,"cnum":0}],"#.into(),
            format!(r#""cfields":[],"ccomps":[{{"comp_type":["CompTrans"],"comp_name":{},"comp_params":[],"comp_body":["#, ident("T", 57)),
            format!(r#"[["MapGet",{},{},[{}],false],{}],"#, ident("x", 62), ident("m", 74), ident("k", 76), place(1, 62)),
            format!(r#"[["AcceptPayment"],{}]],"comp_return":null}}]}}}}"#, place(1, 80)),
        ];
        let written = tree_json(&Tree::of_contract(&module, false)).root().compact().to_string();
        assert_eq!(written, expected.concat());
    }

    #[test]
    fn a_library_has_its_entries() {
        let module = parse_library("l.scillib", b"scilla_version 0 library L type T = | A of BNum").unwrap();
        let constructor = format!(r#"{{"cname":{},"c_arg_types":[["PrimType",["Bnum_typ"]]]}}"#, id("A"));
        let library = format!(r#"{{"lname":{},"lentries":[["LibTyp",{},[{constructor}]]]}}"#, id("L"), id("T"));
        let written = tree_json(&Tree::of_library(&module, true)).root().compact().to_string();
        assert_eq!(written, format!(r#"{{"smver":0,"elibs":[],"libs":{library}}}"#));
    }
}
