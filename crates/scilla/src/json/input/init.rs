//! Init files: the parameters of a module.

use std::sync::Arc;

use super::{Ending, InputError, Pair, check_kind, entries, read_named, rejected};
use crate::{
    host::StateField,
    json::{document::Json, value::ValueReader},
    report::{Entry, Failure},
    resolve::Origin,
    rules::Rules,
    types::adt::DataTypes,
    value::{Constructor, Hex, Value},
};

/// Reads the address and the external libraries of a module from an init file. The caller needs both before it loads
/// the libraries.
///
/// The function reads all values with the built-in types only. As in the reference, an init file with a value of a
/// library's type is therefore invalid.
///
/// # Errors
///
/// If the file is invalid.
pub fn read_origin(file: &str, json: Json<'_>, rules: Rules) -> Result<Origin, InputError> {
    let all = read_all(file, json, &DataTypes::built_in(), Ending::Unable)?;
    let mut origin = Origin { rules, ..Origin::default() };
    let mut lists = 0;
    for entry in &all {
        match &*entry.name {
            "_this_address" if origin.address.is_some() => {
                return Err(rejected("Multiple entries specified in init json: _this_address"));
            }
            "_this_address" => origin.address = Some(this_address(&entry.value)?),
            "_extlibs" if lists > 0 => return Err(rejected("Multiple entries in init json: _extlibs")),
            "_extlibs" => {
                lists += 1;
                for (name, address) in external_libraries(&entry.value, rules)? {
                    if origin.libraries.insert(name, address).is_some() {
                        return Err(rejected(format!("Duplicate extlib map entries in init JSON file: {file}")));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(origin)
}

/// Reads all entries of an init file.
///
/// # Errors
///
/// If the file is invalid.
pub fn read_init(file: &str, json: Json<'_>, known: &DataTypes) -> Result<Vec<StateField>, InputError> {
    let all = read_all(file, json, known, Ending::Plain)?;
    all.iter().try_for_each(|entry| check_kind(&entry.ty))?;
    Ok(all)
}

fn read_all(file: &str, json: Json<'_>, known: &DataTypes, ending: Ending) -> Result<Vec<StateField>, InputError> {
    let mut reader = ValueReader::new(known);
    let read = entries(json).and_then(|list| list.map(|entry| read_named(entry, &mut reader)).collect());
    read.map_err(|error| ending.wrong(file, error))
}

fn this_address(value: &Value) -> Result<Arc<str>, InputError> {
    let wrong = || rejected("Illegal type for field specified in init json: _this_address");
    let Value::ByStrX(bytes) = value else { return Err(wrong()) };
    if bytes.len() == 20 { Ok(address_text(bytes)) } else { Err(wrong()) }
}

/// Reads a `List (Pair String ByStr20)`. `Zilliqa/scilla` 308af35, `src/base/JSON.ml` lines 352 to 378, checks the
/// width of each address.
fn external_libraries(value: &Value, rules: Rules) -> Result<Vec<Pair>, InputError> {
    let wrong = || rejected("Invalid entry in init json: _extlibs");
    let mut elements = value.elements();
    let mut libraries = Vec::new();
    for element in elements.by_ref() {
        match element.as_adt().map(|pair| pair.arguments()) {
            Some([Value::String(name), Value::ByStrX(address)])
                if address.len() == 20 || !rules.checks_unused_library_addresses() =>
            {
                libraries.push((Arc::clone(name), address_text(address)));
            }
            _ => return Err(wrong()),
        }
    }
    let is_list = elements.rest().as_adt().is_some_and(|end| end.is(Constructor::nil()));
    if is_list { Ok(libraries) } else { Err(wrong()) }
}

fn address_text(bytes: &[u8]) -> Arc<str> {
    Hex(bytes).to_string().into()
}

/// Returns the failure of a module whose init file has no `_this_address`, although the module needs it.
pub fn missing_this_address(file: &str) -> Failure {
    Failure::of(Entry::nowhere(format!("No _this_address entry found in init file {file}\n")))
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{error_of, with},
        *,
    };
    use crate::rules::Edition;

    fn origin(json: &str) -> Result<Origin, InputError> {
        with(json, |json, _| read_origin("f.json", json, Rules::default()))
    }

    fn init(json: &str) -> Result<Vec<StateField>, InputError> {
        with(json, |json, known| read_init("f.json", json, known))
    }

    const ADDRESS: &str =
        r#"{"vname":"_this_address","type":"ByStr20","value":"0xABfeccdc9012345678901234567890f777567890"}"#;

    fn libraries(names: &[&str]) -> String {
        let pair = |name: &&str| {
            format!(
                r#"{{"constructor":"Pair","argtypes":["String","ByStr20"],"arguments":["{name}","0x887756789012345678901234567890123456efab"]}}"#
            )
        };
        let pairs: Vec<_> = names.iter().map(pair).collect();
        format!(r#"{{"vname":"_extlibs","type":"List (Pair String ByStr20)","value":[{}]}}"#, pairs.join(","))
    }

    #[test]
    fn the_origin_is_the_address_and_the_libraries() {
        let found = origin(&format!("[{ADDRESS},{}]", libraries(&["A", "B"]))).unwrap();
        assert_eq!(found.address.as_deref(), Some("0xabfeccdc9012345678901234567890f777567890"));
        assert_eq!(found.libraries.get("B").map(|it| &**it), Some("0x887756789012345678901234567890123456efab"));
        assert_eq!(found.libraries.len(), 2);
        assert_eq!(origin("[]").unwrap(), Origin::default());
    }

    #[test]
    fn a_wrong_origin_is_an_error() {
        let twice = format!("[{ADDRESS},{ADDRESS}]");
        assert_eq!(error_of(origin(&twice)), "Multiple entries specified in init json: _this_address");
        let list = libraries(&["A"]);
        assert_eq!(error_of(origin(&format!("[{list},{list}]"))), "Multiple entries in init json: _extlibs");
        let doubled = format!("[{}]", libraries(&["A", "A"]));
        assert_eq!(error_of(origin(&doubled)), "Duplicate extlib map entries in init JSON file: f.json");
        let short = r#"[{"vname":"_this_address","type":"ByStr20","value":"0xab"}]"#;
        assert_eq!(error_of(origin(short)), "Illegal type for field specified in init json: _this_address");
        let wrong = r#"[{"vname":"_extlibs","type":"List Uint32","value":["1"]}]"#;
        assert_eq!(error_of(origin(wrong)), "Invalid entry in init json: _extlibs");
        let wrong = r#"[{"vname":"_extlibs","type":"Uint32","value":"1"}]"#;
        assert_eq!(error_of(origin(wrong)), "Invalid entry in init json: _extlibs");
        let number = r#"[{"vname":"x","type":"Uint32","value":2}]"#;
        assert_eq!(error_of(origin(number)), "Expected string, got int|Unable to parse JSON file: f.json");
        let foreign = r#"[{"vname":"x","type":"0xab.T","value":"2"}]"#;
        assert_eq!(error_of(origin(foreign)), "ADT not found: 0xab.T|Unable to parse JSON file: f.json");
    }

    #[test]
    fn an_address_of_a_library_has_twenty_bytes_whether_it_is_imported_or_not() {
        let of = |address: &str, rules: Rules| {
            let list = libraries(&["A"]).replace("0x887756789012345678901234567890123456efab", address);
            with(&format!("[{list}]"), |json, _| read_origin("f.json", json, rules))
                .map(|origin| origin.libraries.len())
        };
        let [short, right] = ["0x12", "0x887756789012345678901234567890123456ef00"];
        for rules in Edition::ALL.map(Rules::current) {
            assert_eq!(error_of(of(short, rules)), "Invalid entry in init json: _extlibs");
            assert_eq!(of(right, rules).unwrap(), 1);
        }
        assert_eq!(of(short, Rules::UNNAMED).unwrap(), 1);
    }

    #[test]
    fn entries_are_read_in_order() {
        let found = init(r#"[{"vname":"a","type":"Uint32","value":"1"},{"vname":"b","type":"String","value":"x"}]"#);
        let names: Vec<_> = found.unwrap().into_iter().map(|entry| entry.name.to_string()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn forbidden_entry_of_an_init_file_is_an_error() {
        let entry = |name: &str, ty: &str, value: &str| {
            error_of(init(&format!(r#"[{{"vname":"{name}","type":"{ty}","value":{value}}}]"#)))
        };
        assert_eq!(entry("a", "ByStr20 with end", r#""0x12""#), "Address type not allowed in json file");
        assert_eq!(entry("a", "List (ByStr20 with end)", "[]"), "Address type not allowed in json file");
        assert_eq!(entry("a", "List (Uint32 -> Uint32)", "[]"), "Illegal type in json file: List (Uint32 -> Uint32)");
        assert_eq!(entry("a.b", "Uint32", r#""1""#), "invalid name in json input: a.b|Failed to parse json: f.json");
        assert_eq!(entry("a", "Uint32", "null"), "Member not found in json: value|Failed to parse json: f.json");
        assert_eq!(entry("a", "uint", r#""1""#), "Invalid type in json: uint|Failed to parse json: f.json");
        assert_eq!(entry("a", "ByStr20", r#""12""#), "internal");
        assert_eq!(error_of(init("{}")), "internal");
    }
}
