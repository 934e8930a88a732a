//! `silica_getContractInterface`: the interface of a deployed contract or library. `silica_checkContract`: the check of
//! a source text. Invalid requests of both.

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::Wallet;

use crate::{
    INVALID_PARAMS, check_error,
    contract::{Chain, HELLO},
    no_address,
};

const INTERFACE: &str = "silica_getContractInterface";
const CHECK: &str = "silica_checkContract";

const FUNGIBLE: &str = include_str!("../../contracts/fungible_token/fungible_token.scilla");
const NON_FUNGIBLE: &str = include_str!("../../contracts/non_fungible_token/non_fungible_token.scilla");

fn param(name: &str, type_name: &str) -> Value {
    json!({"vname": name, "type": type_name})
}

fn init(name: &str, type_name: &str, value: &Value) -> Value {
    json!({"vname": name, "type": type_name, "value": value})
}

fn span(start: (u32, u32), end: (u32, u32)) -> Value {
    let position = |(line, column)| json!({"line": line, "column": column});
    json!({"start": position(start), "end": position(end)})
}

#[test]
fn interface_is_the_report_of_the_checker() {
    let mut chain = Chain::new();
    let owner = json!(format!("0x{}", Wallet::funded(0).hex()));
    let (contract, _) = chain.deploy(HELLO, &[init("owner", "ByStr20", &owner)]);
    let interface = chain.node.result(INTERFACE, &json!([contract.to_bech32()]));
    let expected = json!({
        "scilla_major_version": "0",
        "vname": "HelloWorld",
        "library": false,
        "documentation": null,
        "standards": [],
        "params": [param("owner", "ByStr20")],
        "fields": [
            {"vname": "greeting", "type": "String", "depth": 0, "documentation": null},
            {
                "vname": "visits", "type": "Map (ByStr20) (Uint32)", "depth": 1,
                "documentation": "How often each account has asked.",
            },
        ],
        "transitions": [
            {"vname": "Greet", "params": [], "documentation": null, "span": span((26, 1), (31, 4))},
            {
                "vname": "SetGreeting", "params": [param("text", "String")], "documentation": null,
                "span": span((33, 1), (43, 4)),
            },
        ],
        "procedures": [{"vname": "CountVisit", "params": [], "documentation": null, "span": span((15, 1), (24, 4))}],
        "events": [{"vname": "Greeting", "params": [param("to", "ByStr20"), param("text", "String")]}],
        "ADTs": interface["ADTs"],
    });
    assert_eq!(interface, expected);
    let types: Vec<&str> =
        interface["ADTs"].as_array().unwrap().iter().map(|of| of["tname"].as_str().unwrap()).collect();
    assert_eq!(types, ["Bool", "Nat", "Option", "List", "Pair"]);
    let option = json!({"tname": "Option", "tparams": ["'A"], "documentation": null, "tmap": [
        {"cname": "Some", "argtypes": ["'A"]}, {"cname": "None", "argtypes": []},
    ]});
    assert_eq!(interface["ADTs"][2], option);
}

const COLOURS: &str =
    "scilla_version 0\n(* Colours. *)\nlibrary Colours\n(* One colour. *)\ntype Colour =\n| Red\n| Mixed of Uint32\n";
const PAINTER: &str =
    "scilla_version 0\nimport Colours\ncontract Painter ()\ntransition Paint (with_what : Colour)\nend\n";

/// Deploys a library and a contract that imports it. Returns both addresses.
fn painter(chain: &mut Chain) -> (Address, Address) {
    let yes = json!({"constructor": "True", "argtypes": [], "arguments": []});
    let (library, _) = chain.deploy(COLOURS, &[init("_library", "Bool", &yes)]);
    let pair = json!({"constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": ["Colours", format!("0x{library}")]});
    let (contract, _) = chain.deploy(PAINTER, &[init("_extlibs", "List(Pair String ByStr20)", &json!([pair]))]);
    (library, contract)
}

#[test]
fn types_of_imported_libraries_are_named_by_their_address() {
    let mut chain = Chain::new();
    let (library, contract) = painter(&mut chain);
    let interface = chain.node.result(INTERFACE, &json!([contract.to_string()]));
    let colour = format!("0x{library}.Colour");
    assert_eq!(interface["transitions"][0]["vname"], "Paint");
    assert_eq!(interface["transitions"][0]["params"], json!([param("with_what", &colour)]));
    assert_eq!(
        interface["ADTs"][5]["documentation"],
        Value::Null,
        "the text of a library is not a part of the contract"
    );

    let interface = chain.node.result(INTERFACE, &json!([library.to_string()]));
    assert_eq!((&interface["library"], &interface["vname"]), (&json!(true), &json!("Colours")));
    assert_eq!(interface["documentation"], "Colours.");
    let mixed = json!({"cname": format!("0x{library}.Mixed"), "argtypes": ["Uint32"]});
    let red = json!({"cname": format!("0x{library}.Red"), "argtypes": []});
    let own = json!({"tname": colour, "tparams": [], "documentation": "One colour.", "tmap": [red, mixed]});
    assert_eq!(interface["ADTs"][5], own);
    for empty in ["params", "fields", "transitions", "procedures", "events", "standards"] {
        assert_eq!(interface[empty], json!([]), "{empty}");
    }
}

#[test]
fn standards_are_those_whose_parts_the_contract_has() {
    let mut chain = Chain::new();
    let owner = json!(format!("0x{}", Wallet::funded(0).hex()));
    let fungible = [
        init("contract_owner", "ByStr20", &owner),
        init("name", "String", &json!("Coin")),
        init("symbol", "String", &json!("COIN")),
        init("decimals", "Uint32", &json!("12")),
        init("init_supply", "Uint128", &json!("1000")),
        init("default_operators", "List ByStr20", &json!([])),
    ];
    let (contract, _) = chain.deploy(FUNGIBLE, &fungible);
    let interface = chain.node.result(INTERFACE, &json!([contract.to_string()]));
    assert_eq!(interface["standards"], json!(["ZRC-2"]));
    let types = interface["ADTs"].as_array().unwrap();
    let unit = types.iter().find(|it| it["tname"] == format!("0x{contract}.Unit")).unwrap();
    assert_eq!(unit["documentation"], "Sets are maps to this type.");
    let burn = interface["transitions"].as_array().unwrap().iter().find(|it| it["vname"] == "Burn").unwrap();
    assert_eq!(burn["documentation"], "Everyone may burn what is their own.");
    let non_fungible = [
        init("initial_contract_owner", "ByStr20", &owner),
        init("initial_base_uri", "String", &json!("")),
        init("name", "String", &json!("Cats")),
        init("symbol", "String", &json!("CAT")),
    ];
    let (contract, _) = chain.deploy(NON_FUNGIBLE, &non_fungible);
    let interface = chain.node.result(INTERFACE, &json!([contract.to_string()]));
    assert_eq!(interface["standards"], json!(["ZRC-6"]));
}

#[test]
fn source_text_is_checked_as_for_a_deployment() {
    let node = silica_tests::Node::start(&[]);
    let checked = node.result(CHECK, &json!([HELLO]));
    assert_eq!((&checked["diagnostics"], &checked["truncated"]), (&json!([]), &json!(false)));
    assert_eq!(checked["interface"]["fields"][1]["documentation"], "How often each account has asked.");
    for source in [FUNGIBLE, NON_FUNGIBLE] {
        let checked = node.result(CHECK, &json!([source]));
        let errors = checked["diagnostics"].as_array().unwrap().iter().filter(|it| it["severity"] == "error").count();
        assert_eq!((errors, checked["interface"].is_object()), (0, true), "{checked}");
    }
    let library = node.result(CHECK, &json!([COLOURS]));
    assert_eq!(library["interface"]["ADTs"][5]["tname"], "library.Colour");
    let accounts = node.result("silica_listAccounts", &json!([]));
    assert_eq!(accounts["accounts"].as_array().unwrap().iter().filter(|it| !it["codeHash"].is_null()).count(), 0);
}

#[test]
fn problems_have_a_place_and_advice() {
    let node = silica_tests::Node::start(&[]);
    let check = |source: &str| -> Vec<Value> {
        let checked = node.result(CHECK, &json!([source]));
        let has_errors = checked["diagnostics"].as_array().unwrap().iter().any(|it| it["severity"] == "error");
        assert_eq!(checked["interface"].is_null(), has_errors, "{checked}");
        checked["diagnostics"].as_array().unwrap().clone()
    };
    let position = |line: u32, column: u32| json!({"line": line, "column": column});
    let types = "scilla_version 0\nlibrary L let total = Uint32 0\ncontract C ()\nfield a : Uint32 = totl\n";
    let [found] = &check(types)[..] else { panic!("one error") };
    assert_eq!((&found["severity"], &found["file"]), (&json!("error"), &Value::Null));
    assert_eq!((&found["start"], &found["end"]), (&position(4, 20), &position(4, 24)), "{found}");
    assert!(found["help"].as_str().unwrap().contains("`total`"), "{found}");
    let grammar = "scilla_version 0\ncontract C ()\ntransition T ()\n  accept accept\nend\n";
    let found = check(grammar);
    assert_eq!(found[0]["severity"], "error");
    assert_eq!(found[0]["start"]["line"], 4, "{found:?}");
    let unused = "scilla_version 0\ncontract C ()\nfield a : Uint32 = Uint32 0\n";
    let found = check(unused);
    assert!(found.iter().all(|it| it["severity"] == "warning") && !found.is_empty(), "{found:?}");
    assert_eq!(found[0]["start"]["line"], 3, "{found:?}");
    let absent = check("scilla_version 0\nimport Absent\ncontract C ()\n");
    assert!(absent[0]["message"].as_str().unwrap().contains("Absent"), "{absent:?}");
    for other in ["", "contract", "(*", "\"", "library L", "\u{1f980}", "scilla_version 1\ncontract C ()\n"] {
        assert_eq!(check(other)[0]["severity"], "error", "{other:?}");
    }
}

#[test]
fn sources_import_deployed_libraries_by_address() {
    let mut chain = Chain::new();
    let (library, contract) = painter(&mut chain);
    let options = json!({"libraries": {"Colours": format!("0x{library}")}});
    let checked = chain.node.result(CHECK, &json!([PAINTER, options]));
    let unused = &checked["diagnostics"][0];
    assert_eq!(
        (&unused["severity"], &unused["message"]),
        (&json!("warning"), &json!("Unused transition parameter: with_what"))
    );
    assert_eq!(checked["interface"], chain.node.result(INTERFACE, &json!([contract.to_string()])));
    let missing = chain.node.result(CHECK, &json!([PAINTER]));
    assert!(
        missing["interface"].is_null() && missing["diagnostics"][0]["message"].as_str().unwrap().contains("Colours")
    );

    let refused = |options: Value, problem: &str| {
        check_error(&chain.node, CHECK, &json!([PAINTER, options]), (-8, &format!("options: libraries: {problem}")));
    };
    let libraries = |address: &str| json!({"libraries": {"Colours": address}});
    for wrong in [contract, Wallet::funded(0).address(), Wallet::stranger(3).address()] {
        let problem = format!("expected the address of a library for \"Colours\", got {wrong}");
        refused(libraries(&wrong.to_string()), &problem);
    }
    let expected = "expected an object with at most 100 names and addresses, got";
    refused(libraries("12"), &format!("{expected} {{\"Colours\":\"12\"}}"));
    refused(json!({"libraries": [1]}), &format!("{expected} [1]"));
    refused(json!({"libraries": {"a": null}}), &format!("{expected} {{\"a\":null}}"));
    let many: serde_json::Map<_, _> = (0..101).map(|n| (format!("L{n}"), json!(library.to_string()))).collect();
    let (code, text) = chain.node.error(CHECK, &json!([PAINTER, {"libraries": many}]));
    assert!(code == -8 && text.starts_with(&format!("options: libraries: {expected}")) && text.len() < 200, "{text}");
    check_error(&chain.node, CHECK, &json!([PAINTER, {"gas": 1}]), (-8, "options: expected libraries, got \"gas\""));
}

#[test]
fn hostile_sources_end_with_a_bounded_result() {
    let node = silica_tests::Node::start(&[]);
    let check = |source: &str| {
        let checked = node.result(CHECK, &json!([source]));
        assert!(checked["diagnostics"].as_array().unwrap().len() <= 100, "{source:.60}");
        assert!(checked.to_string().len() < 1 << 20, "{source:.60}");
        checked
    };
    let full = |head: &str, part: &dyn Fn(usize) -> String, tail: &str| {
        let mut text = head.to_owned();
        for number in 0.. {
            let part = part(number);
            if text.len() + part.len() + tail.len() > 76_800 {
                return text + tail;
            }
            text.push_str(&part);
        }
        text
    };
    let contract = "scilla_version 0\ncontract C ()\n";
    // Unknown names of the same length, each with an error of its own.
    let unknown = full(contract, &|n| format!("transition T{n:04} ()\nx <- {}{n:04}\nend\n", "n".repeat(44)), "");
    let found = check(&unknown);
    assert_eq!((&found["truncated"], &found["interface"]), (&json!(true), &Value::Null));
    let fields =
        full(contract, &|n| format!("field {}{n:04} : Uint32 = y{}{n:04}\n", "n".repeat(44), "n".repeat(43)), "");
    check(&fields);
    // A type that doubles with each definition.
    let types = full(
        "scilla_version 0\nlibrary L\ntype T0 =\n| A0\n",
        &|n| format!("type T{} =\n| A{} of T{n} T{n}\n", n + 1, n + 1),
        "contract C ()\n",
    );
    check(&types);
    // Errors that show a long type.
    let long = format!("{}Uint32{}", "Map Uint32 (".repeat(200), ")".repeat(200));
    let found = check(&full(contract, &|n| format!("field f{n} : {long} = Uint32 0\n"), ""));
    assert!(found["diagnostics"].as_array().unwrap().iter().all(|it| it["message"].as_str().unwrap().len() <= 1000));
    // Functions that apply each other, so that the type of the last one is long.
    let functions = full(
        "scilla_version 0\nlibrary L\nlet f0 = tfun 'A => fun (x : 'A) => x\n",
        &|n| {
            format!(
                "let f{} = tfun 'A => fun (x : 'A) => let g = @f{n} (Pair 'A 'A) in let p = Pair {{'A 'A}} x x in g p\n",
                n + 1
            )
        },
        "contract C ()\nfield a : Uint32 = let g = @f400 Uint32 in let z = Uint32 0 in g z\n",
    );
    check(&functions);
    for (open, close) in
        [("(", ")"), ("match x with | ", " end"), ("fun (x : Uint32) => ", ""), ("(* ", ""), ("Pair (", ")")]
    {
        let half = 76_000 / (open.len() + close.len()).max(1);
        let nested = format!(
            "scilla_version 0\nlibrary L\nlet a = {}{}\ncontract C ()\n",
            open.repeat(half),
            close.repeat(half)
        );
        check(&nested[..nested.len().min(76_800)]);
    }
    check(&"\"".repeat(76_800));
    check(&"\u{1f980}".repeat(76_800 / 4));
    let long = "x".repeat(76_801);
    check_error(&node, CHECK, &json!([long]), (-8, "source: expected at most 76800 bytes, got 76801"));
    for params in [json!([]), json!([7]), json!([null]), json!([{"a": 1}]), json!([HELLO, 7]), json!([HELLO, {}, 1])] {
        let (code, _) = node.error(CHECK, &params);
        assert_eq!(code, INVALID_PARAMS.0, "{params:.60}");
    }
}

#[test]
fn wrong_requests_are_refused() {
    let node = silica_tests::Node::start(&[]);
    let refused = |params: Value, error: (i64, &str)| check_error(&node, INTERFACE, &params, error);
    refused(json!([]), INVALID_PARAMS);
    refused(json!([5]), INVALID_PARAMS);
    refused(json!([Wallet::funded(0).hex(), "more"]), INVALID_PARAMS);
    refused(json!(["12"]), (-8, &no_address("12")));
    refused(json!([Wallet::stranger(5).hex()]), (-5, "Address does not exist"));
    refused(json!([Wallet::funded(0).hex()]), (-5, "Address not contract address"));
}
