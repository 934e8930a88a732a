//! `silica_getContractInterface`: the interface of a deployed contract, and invalid requests.

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::Wallet;

use crate::{
    INVALID_PARAMS, check_error,
    contract::{Chain, HELLO},
    no_address,
};

const INTERFACE: &str = "silica_getContractInterface";

fn param(name: &str, type_name: &str) -> Value {
    json!({"vname": name, "type": type_name})
}

fn init(name: &str, type_name: &str, value: &Value) -> Value {
    json!({"vname": name, "type": type_name, "value": value})
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
        "params": [param("owner", "ByStr20")],
        "fields": [
            {"vname": "greeting", "type": "String", "depth": 0},
            {"vname": "visits", "type": "Map (ByStr20) (Uint32)", "depth": 1},
        ],
        "transitions": [
            {"vname": "Greet", "params": []},
            {"vname": "SetGreeting", "params": [param("text", "String")]},
        ],
        "procedures": [{"vname": "CountVisit", "params": []}],
        "events": [{"vname": "Greeting", "params": [param("to", "ByStr20"), param("text", "String")]}],
        "ADTs": interface["ADTs"],
    });
    assert_eq!(interface, expected);
    let types: Vec<&str> =
        interface["ADTs"].as_array().unwrap().iter().map(|of| of["tname"].as_str().unwrap()).collect();
    assert_eq!(types, ["Bool", "Nat", "Option", "List", "Pair"]);
    let option = json!({"tname": "Option", "tparams": ["'A"], "tmap": [
        {"cname": "Some", "argtypes": ["'A"]}, {"cname": "None", "argtypes": []},
    ]});
    assert_eq!(interface["ADTs"][2], option);
}

/// Deploys a library and a contract that imports it. Returns both addresses.
fn painter(chain: &mut Chain) -> (Address, Address) {
    let yes = json!({"constructor": "True", "argtypes": [], "arguments": []});
    let library = "scilla_version 0\nlibrary Colours\ntype Colour =\n| Red\n| Mixed of Uint32\n";
    let (library, _) = chain.deploy(library, &[init("_library", "Bool", &yes)]);
    let pair = json!({"constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": ["Colours", format!("0x{library}")]});
    let code = "scilla_version 0\nimport Colours\ncontract Painter ()\ntransition Paint (with_what : Colour)\nend\n";
    let (contract, _) = chain.deploy(code, &[init("_extlibs", "List(Pair String ByStr20)", &json!([pair]))]);
    (library, contract)
}

#[test]
fn types_of_imported_libraries_are_named_by_their_address() {
    let mut chain = Chain::new();
    let (library, contract) = painter(&mut chain);
    let interface = chain.node.result(INTERFACE, &json!([contract.to_string()]));
    let colour = format!("0x{library}.Colour");
    let paint = json!([{"vname": "Paint", "params": [param("with_what", &colour)]}]);
    assert_eq!(interface["transitions"], paint);
    check_error(&chain.node, INTERFACE, &json!([library.to_string()]), (-5, "Address not contract address"));
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
