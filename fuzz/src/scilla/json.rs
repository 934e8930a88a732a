//! JSON: reading and writing gives the same text, the same value, and the same input of a run.

use std::sync::LazyLock;

use serde_json::Value as Tree;
use silica_scilla::{
    code::Code,
    host::StateField,
    json::{
        ChainInput, Document, InputError, Json, ListForm, MessageInput, RunReport, StateInput, ValueReader, parse,
        parse_type, read_document, read_init, read_origin,
    },
    resolve::{self, Origin},
    rules::Rules,
    syntax::parse_contract,
    types::{Primitive, Type, Width, adt::DataTypes},
    value::Value,
};

use super::Parts;

/// Data types of a sample contract and of the language.
///
/// `Colour` contains itself. A reader must end without a panic for such a type, although the check rejects the
/// contract.
static KNOWN: LazyLock<DataTypes> = LazyLock::new(|| {
    let text = "scilla_version 0 library L type Colour = | Red | Mix of Colour (List Uint32) (Map String Bool)
                contract C ()";
    let module = parse_contract("c.scilla", text.as_bytes()).expect("it is right");
    let origin = Origin { address: Some(super::samples::CONTRACT.into()), ..Origin::default() };
    let program = resolve::contract(module, &origin, &Parts::of("")).expect("it imports nothing");
    DataTypes::clone(Code::of_contract_unchecked(&program).data_types())
});

/// Parses a text as JSON, and as each input of a run.
pub fn check(data: &[u8]) {
    let ours = parse(data);
    if let Ok(expected) = serde_json::from_slice::<Tree>(data) {
        // If another parser accepts the text, this parser must return the same document.
        let document = ours.as_ref().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(tree(document), Some(expected));
    }
    let document = match ours {
        Ok(document) => document,
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1, "{error}");
            assert!(error.line as usize + error.column as usize <= data.len() + 2, "{error}");
            return;
        }
    };
    let compact = document.root().compact().to_string();
    check_same(&document, &compact);
    check_same(&document, &document.root().pretty().to_string());
    check_inputs(data, document.root());
}

/// Checks that a text parses as `document`.
fn check_same(document: &Document, text: &str) {
    let again = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(again.root().compact().to_string(), document.root().compact().to_string());
    if let Err(error) = serde_json::from_str::<Tree>(text) {
        let message = error.to_string();
        assert!(message.contains("recursion") || message.contains("out of range"), "not JSON: {message}: {text}");
    }
}

/// Returns a document as the tree of another library, or `None` if it is too deep for that library.
fn tree(document: &Document) -> Option<Tree> {
    serde_json::from_str(&document.root().compact().to_string()).ok()
}

fn check_inputs(data: &[u8], json: Json<'_>) {
    let file = "f.json";
    assert!(read_document(file, data).is_ok());
    check_error(&read_origin(file, json, Rules::default()));
    check_error(&ChainInput::read(file, json));
    let init = read_init(file, json, &KNOWN);
    check_error(&init);
    init.iter().flatten().for_each(check_named);
    let message = MessageInput::read(file, json, &KNOWN);
    check_error(&message);
    if let Ok(message) = &message {
        message.parameters.iter().for_each(check_named);
        check_value(&Type::bystr(20), &message.sender);
    }
    let state = StateInput::read(file, json, &KNOWN);
    check_error(&state);
    if let Ok(state) = &state {
        state.fields.iter().chain(state.accounts.iter().flat_map(|account| &account.fields)).for_each(check_named);
        check_state(file, state);
    }
    strings(json, &mut |text| {
        if let Ok(ty) = parse_type(text) {
            assert_eq!(parse_type(&ty.global().to_string()).as_ref(), Ok(&ty), "{text}");
        }
    });
}

/// Checks that an error has a text.
fn check_error<T>(result: &Result<T, InputError>) {
    if let Err(error) = result {
        assert!(!error.to_string().is_empty());
    }
}

fn check_named(named: &StateField) {
    assert_eq!(parse_type(&named.ty.global().to_string()).as_ref(), Ok(&named.ty));
    check_value(&named.ty, &named.value);
}

/// Checks that both written forms of a value read as the same value.
fn check_value(ty: &Type, value: &Value) {
    for lists in [ListForm::Array, ListForm::Constructors] {
        let written = value.to_json(lists);
        let again = ValueReader::new(&KNOWN).read(written.root(), ty);
        assert_eq!(again.as_ref(), Ok(value), "{ty:?} {}", written.root().compact());
    }
}

/// Checks that the state in the report of a run reads as the same state.
fn check_state(file: &str, state: &StateInput) {
    let ty = Primitive::Uint(Width::W128).into();
    let balance = StateField { name: "_balance".into(), ty, value: Value::from(state.balance) };
    let fields: Vec<_> = std::iter::once(balance).chain(state.fields.iter().cloned()).collect();
    let report = RunReport {
        gas_remaining: 0,
        accepted: false,
        messages: None,
        states: &fields,
        events: &[],
        lists: ListForm::Array,
    };
    let written = report.to_json();
    let states = written.root().member("states").expect("a report has states");
    let again = StateInput::read(file, states, &KNOWN).expect("it was written from a state");
    assert_eq!((again.balance, &again.fields), (state.balance, &state.fields));
}

/// Calls `see` with each string of a document.
fn strings<'a>(json: Json<'a>, see: &mut impl FnMut(&'a str)) {
    let mut pending = vec![json];
    while let Some(json) = pending.pop() {
        json.as_str().into_iter().for_each(&mut *see);
        pending.extend(json.elements().into_iter().flatten());
        pending.extend(json.members().into_iter().flatten().map(|(_, value)| value));
    }
}

/// Returns the files of an example, and values of all types.
pub fn seeds() -> Vec<Vec<u8>> {
    let contract = super::samples::CONTRACT;
    let nested = r#"{"vname":"_external","type":"Unit","value":[{"address":"0x1234567890123456789012345678901234567890",
        "state":[{"vname":"_balance","type":"Uint128","value":"5"},{"vname":"m","type":"Map ByStr20 (Map Uint32 String)",
        "value":[{"key":"0x1234567890123456789012345678901234567890","val":[{"key":"1","val":"a\n\"\\"}]}]}]}]}"#;
    let balance = r#"{"vname":"_balance","type":"Uint128","value":"340282366920938463463374607431768211455"}"#;
    let colour = format!(
        r#"{{"constructor":"{contract}.Mix","argtypes":[],"arguments":[{{"constructor":"{contract}.Red","argtypes":[],
        "arguments":[]}},["1","2"],[{{"key":"k","val":{{"constructor":"True","argtypes":[],"arguments":[]}}}}]]}}"#
    );
    let libraries = r#"[{"vname":"_extlibs","type":"List (Pair String ByStr20)","value":[{"constructor":"Pair",
        "argtypes":["String","ByStr20"],"arguments":["A","0xabfeccdc9012345678901234567890f777567890"]}]}]"#;
    let texts = [
        format!("[{balance},{nested}]"),
        format!(r#"[{balance},{{"vname":"c","type":"{contract}.Colour","value":{colour}}}]"#),
        libraries.to_owned(),
        r#"[{"vname":"BLOCKNUMBER","type":"BNum","value":"100"},{"vname":"CHAINID","type":"Uint32","value":"1"},
            {"vname":"TIMESTAMP","type":"Uint64","value":{"100":"12218"}}]"#
            .to_owned(),
        r#"[{"vname":"n","type":"Nat","value":{"constructor":"Succ","argtypes":[],"arguments":[{"constructor":"Zero",
            "argtypes":[],"arguments":[]}]}},{"vname":"i","type":"Int256","value":"-5"},
            {"vname":"o","type":"Option (List (ByStr))","value":{"constructor":"Some","argtypes":["List (ByStr)"],
            "arguments":[["0x","0xAB"]]}}]"#
            .to_owned(),
        r#"["ByStr20 with contract field a : Map (Uint32) (String), field b : Bool end", "forall 'A. 'A -> List ('A)"]"#
            .to_owned(),
        r#" // space
            {"a":[1,-2.5e+3,true,false,null],"b":{"c":"\u00e9\ud83d\ude00\/"},"b":[[],{}]/* more */}"#
            .to_owned(),
    ];
    super::bytes([super::INIT, super::MESSAGE].map(str::to_owned).into_iter().chain(texts))
}
