//! Tests of the command with files.

use std::{fs, path::Path};

use super::*;

const CONTRACT: &str = r"scilla_version 0

library Counter

let one = Uint32 1

contract Counter (owner : ByStr20)

field count : Uint32 = Uint32 0

transition Add ()
  now <- count;
  more = builtin add now one;
  count := more
end

transition Fail ()
  throw
end
";

const INIT: &str = r#"[
  { "vname": "_scilla_version", "type": "Uint32", "value": "0" },
  { "vname": "_this_address", "type": "ByStr20", "value": "0xabfeccdc9012345678901234567890f777567890" },
  { "vname": "_creation_block", "type": "BNum", "value": "1" },
  { "vname": "owner", "type": "ByStr20", "value": "0x1234567890123456789012345678901234567890" }
]"#;

const STATE: &str = r#"[
  { "vname": "_balance", "type": "Uint128", "value": "0" },
  { "vname": "count", "type": "Uint32", "value": "41" }
]"#;

const CHAIN: &str = r#"[ { "vname": "BLOCKNUMBER", "type": "BNum", "value": "100" } ]"#;

fn message(tag: &str) -> String {
    let sender = "0x1234567890123456789012345678901234567890";
    format!(r#"{{"_tag":"{tag}","_amount":"0","_sender":"{sender}","_origin":"{sender}","params":[]}}"#)
}

/// Returns a directory with a contract and the input files of its runs.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("counter.scilla", CONTRACT);
    write("wrong.scilla", &CONTRACT.replace("add now one", "add now two"));
    write("broken.scilla", &CONTRACT.replace("field count :", "field count"));
    write("init.json", INIT);
    write("state.json", STATE);
    write("chain.json", CHAIN);
    write("add.json", &message("Add"));
    write("fail.json", &message("Fail"));
    write("sum.scilexp", "let x = Uint32 20 in builtin add x x");
    directory
}

pub(super) fn call_in(root: &Path, line: &str) -> Outcome {
    let session = Session {
        files: Files::new(root.to_owned(), "stdlib".into()),
        library_path: Vec::new(),
        style: Style::Drawn { colours: false },
    };
    dispatch(line.split_whitespace().map(str::to_owned).collect(), session)
}

fn call(line: &str) -> Outcome {
    call_in(directory().path(), line)
}

const RUN: &str =
    "scilla run -init init.json -i counter.scilla -istate state.json -iblockchain chain.json -gaslimit 8000";

#[test]
fn a_contract_is_checked() {
    let checked = call("scilla check counter.scilla -gaslimit 8000");
    assert_eq!((checked.code, checked.stdout.as_str()), (0, "gas remaining: 7999\n"));
    let output = call("scilla check -contractinfo -jsonerrors counter.scilla").stdout;
    assert!(output.contains(r#""vname": "Counter""#), "{output}");
}

#[test]
fn files_are_paid_for_by_their_length() {
    let root = directory();
    let output = |line: &str, size: usize, least: &str| {
        let with = |gas: usize| call_in(root.path(), &format!("{line} -jsonerrors -gaslimit {gas}")).stderr;
        assert!(with((size - 1) / 8).contains(least), "{}", with((size - 1) / 8));
        assert!(!with(size.div_ceil(8)).contains(least), "{}", with(size.div_ceil(8)));
    };
    let deployment = "scilla run -init init.json -i counter.scilla";
    output(deployment, CONTRACT.len() + INIT.len(), "Insufficient gas to parse contract/init files");
    let call = format!("{deployment} -istate state.json -iblockchain chain.json -imessage add.json");
    output(&call, message("Add").len(), "Insufficient gas to parse message");
}

#[test]
fn a_library_needs_an_address() {
    let root = directory();
    fs::write(root.path().join("L.scillib"), "scilla_version 0 library L").unwrap();
    let nowhere = INIT.replace("_this_address", "another");
    fs::write(root.path().join("nowhere.json"), nowhere).unwrap();
    let output = call_in(root.path(), "scilla run -init nowhere.json -i L.scillib -gaslimit 8000");
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("No _this_address entry found in init file nowhere.json"), "{}", output.stderr);
}

#[test]
fn money_is_analysed_on_request() {
    let tags = |line: &str| {
        let output = call(line).stdout.replace(char::is_whitespace, "");
        output.split("],").next().map(str::to_owned)
    };
    let expected = |tag: &str| {
        Some(format!(
            r#"{{"cashflow_tags":{{"Statevariables":[{{"field":"owner","tag":"NoInfo"}},{{"field":"count","tag":"{tag}"}}"#
        ))
    };
    assert_eq!(tags("scilla check -cf counter.scilla"), expected("NoInfo"));
    assert_eq!(tags("scilla check -cf -cf-token-field count counter.scilla"), expected("Money"));
    assert_eq!(tags("scilla check -cf-token-field count counter.scilla"), Some("gasremaining:99999".into()));
}

#[test]
fn faults_have_three_forms_of_output() {
    let drawn = call("scilla check wrong.scilla");
    assert_eq!(drawn.code, 1);
    assert!(drawn.stderr.contains("13 |   more = builtin add now two;"), "{}", drawn.stderr);
    assert!(drawn.stderr.contains("^^^"), "{}", drawn.stderr);
    let listed = call("bin/scilla-checker wrong.scilla -gaslimit 8000").stderr;
    assert_eq!(listed, "\nwrong.scilla:13:26: error: Couldn't resolve identifier: two\n\nGas remaining: 8000\n");
    let output = call("scilla check wrong.scilla -jsonerrors -gaslimit 8000").stderr;
    assert!(output.contains(r#""gas_remaining": "8000""#), "{output}");
}

#[test]
fn the_place_of_a_parse_error_is_the_word_that_does_not_fit() {
    let drawn = call("scilla parse broken.scilla").stderr;
    let line = drawn.lines().find(|line| line.contains('^')).unwrap();
    assert_eq!(line, "  |             ^^^^^^", "{drawn}");
}

#[test]
fn a_contract_is_deployed() {
    let deployed = call("scilla run -init init.json -i counter.scilla -gaslimit 8000 -disable-pp-json");
    assert_eq!(deployed.code, 0, "{}", deployed.stderr);
    let fields =
        r#""states":[{"vname":"_balance","type":"Uint128","value":"0"},{"vname":"count","type":"Uint32","value":"0"}]"#;
    assert!(deployed.stdout.contains(fields), "{}", deployed.stdout);
}

#[test]
fn a_message_changes_the_state() {
    let directory = directory();
    let run = call_in(directory.path(), &format!("{RUN} -imessage add.json -o out.json"));
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    let out = fs::read_to_string(directory.path().join("out.json")).unwrap();
    assert!(out.contains(r#"{ "vname": "count", "type": "Uint32", "value": "42" }"#), "{out}");
}

#[test]
fn an_exception_has_its_trace() {
    let run = call(&format!("{RUN} -imessage fail.json"));
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("error: Exception thrown"), "{}", run.stderr);
    assert!(run.stderr.contains("error: Raised from Fail"), "{}", run.stderr);
}

#[test]
fn exception_has_the_fields_of_the_rules() {
    let directory = directory();
    let text =
        CONTRACT.replace("transition Fail ()\n  throw", "procedure No ()\n throw\nend\n\ntransition Fail ()\n  No");
    fs::write(directory.path().join("counter.scilla"), text).unwrap();
    for (rules, is_listed) in [("", true), ("-rules latest", true), ("-rules 0.13", false), ("--rules 0.11", false)] {
        let run = call_in(directory.path(), &format!("{RUN} -imessage fail.json {rules}"));
        assert!(run.stderr.contains("error: Exception thrown"), "{}", run.stderr);
        assert!(run.stderr.contains("error: Raised from Fail"), "{}", run.stderr);
        assert_eq!(run.stderr.contains("error: Raised from No"), is_listed, "{}", run.stderr);
    }
    let run = call(&format!("{RUN} -imessage fail.json -rules 0.12"));
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("-rules takes 0.13, 0.11 or latest, not `0.12`"), "{}", run.stderr);
}

#[test]
fn gas_is_that_of_the_rules() {
    let left = |rules: &str| {
        let directory = directory();
        let text = "let a = Uint32 1 in let n = Uint32 1000 in builtin pow a n";
        fs::write(directory.path().join("pow.scilexp"), text).unwrap();
        let value = call_in(directory.path(), &format!("scilla eval pow.scilexp {rules}")).stdout;
        value.rsplit(' ').next().unwrap().trim_end().parse::<u64>().unwrap()
    };
    assert_eq!(left(""), left("-rules latest"));
    assert_eq!(left("-rules 0.13"), left("-rules latest"));
    assert_eq!(left("-rules latest") - left("-rules 0.11"), (20 * 1000 - 20 * 7) / 8);
}

#[test]
fn expressions_have_values_and_types() {
    let value = call("scilla eval sum.scilexp");
    assert!(value.stdout.starts_with("(Uint32 40),\n{ [x -> (Uint32 20)] }\nGas remaining: "), "{}", value.stdout);
    assert_eq!(call("scilla type sum.scilexp").stdout, "Uint32\n");
}

#[test]
fn a_source_is_formatted_in_place() {
    let directory = directory();
    fs::write(directory.path().join("crowded.scilexp"), "let x=Uint32 20 in x").unwrap();
    assert_eq!(call_in(directory.path(), "scilla fmt -check crowded.scilexp").code, 1);
    assert_eq!(call_in(directory.path(), "scilla fmt -inplace crowded.scilexp").code, 0);
    assert_eq!(call_in(directory.path(), "scilla fmt -check crowded.scilexp").code, 0);
}

#[test]
fn the_formatter_takes_the_letters_of_the_reference() {
    let long = call("bin/scilla-fmt --sexp --human-readable counter.scilla");
    assert_eq!(long.code, 0, "{}", long.stderr);
    assert!(long.stdout.starts_with("((smver 0)\n (libs\n"), "{}", long.stdout);
    for line in
        ["scilla-fmt -s -h counter.scilla", "scilla-fmt counter.scilla -hs", "scilla fmt -h --sexp counter.scilla"]
    {
        assert_eq!(call(line), long, "{line}");
    }
    let without_places = call("scilla-fmt --sexp --deannot counter.scilla");
    assert_eq!(call("scilla-fmt -sd counter.scilla"), without_places);
    assert!(!without_places.stdout.contains("counter.scilla"));
    let json = call("scilla-fmt --json --deannot counter.scilla");
    assert!(json.stdout.starts_with(r#"{"smver":0,"libs":{"lname":["Ident",["SimpleLocal","#), "{}", json.stdout);
    assert_eq!(call("scilla-fmt -jd counter.scilla"), json);
    let readable = call("scilla fmt -jdh counter.scilla").stdout;
    let without_space = |text: &str| text.replace([' ', '\n'], "");
    assert!(readable.lines().count() > 20 && without_space(&readable) == without_space(&json.stdout), "{readable}");
    assert_eq!(call("scilla fmt -sexp -json counter.scilla").code, 2);
    assert_eq!(call("scilla-fmt -h counter.scilla").stdout, CONTRACT);
    assert_eq!(call("scilla fmt -h counter.scilla").code, 2);
    assert_eq!(call("scilla fmt -h"), call("scilla fmt --help"));
}

/// Calls the command with an invalid file. The command must end with exit code 1, and with a short message that
/// contains the expected texts.
fn check_bad(file: &str, text: impl AsRef<[u8]>, line: &str, expected: &[&str]) {
    let directory = directory();
    fs::write(directory.path().join(file), text).unwrap();
    let outcome = call_in(directory.path(), line);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{line}: {}", outcome.stderr);
    for expected in expected {
        assert!(outcome.stderr.contains(expected), "{line}: {expected} is not in {}", outcome.stderr);
    }
    assert!(outcome.stderr.len() < 20_000, "{line}: {} bytes are printed", outcome.stderr.len());
}

#[test]
fn bad_programs_end_in_a_place_and_few_words() {
    let ten_mebibytes = 10 << 20;
    let nested = format!("{}Uint32{}", "(".repeat(100_000), ")".repeat(100_000));
    let field = CONTRACT.replace("field count : Uint32", &format!("field count : {nested}"));
    let deep = "nested more than 256 levels deep";
    for command in ["check", "fmt", "parse"] {
        check_bad("bad.scilla", &field, &format!("scilla {command} bad.scilla"), &[deep, "bad.scilla:9:271"]);
    }
    let matches = "match x with | _ => ".repeat(100_000) + "x" + &" end".repeat(100_000);
    check_bad("bad.scilexp", matches, "scilla eval bad.scilexp", &[deep, "bad.scilexp:1:"]);
    let unexpected = ["Lexical error: Unexpected character", "bad.scilla:1:2"];
    check_bad("bad.scilla", vec![0; ten_mebibytes], "scilla parse bad.scilla", &unexpected);
    let string = CONTRACT.replace("Uint32 1", &format!("\"{}\"", r"\x".repeat(ten_mebibytes / 2)));
    check_bad("bad.scilla", string, "scilla check bad.scilla", &["Lexical error: Illegal string character", "5:"]);
    let comment = CONTRACT.replace("library", &("(*".to_owned() + &"x".repeat(ten_mebibytes)));
    check_bad("bad.scilla", comment, "scilla check bad.scilla", &["Comment unfinished", "bad.scilla:3:1"]);
}

#[test]
fn a_text_may_have_sixteen_mebibytes() {
    let text = " ".repeat((16 << 20) + 1);
    for command in ["check", "fmt", "fmt -sexp", "parse", "run -init init.json -gaslimit 9000000 -i"] {
        let line = format!("scilla {command} bad.scilla");
        check_bad("bad.scilla", &text, &line, &["Lexical error: the text is longer than 16 MiB", "bad.scilla:1:1"]);
    }
}

#[test]
fn a_byte_order_mark_is_hinted_at() {
    let hint = "save the file without it";
    check_bad("bad.scilla", format!("\u{feff}{CONTRACT}"), "scilla check bad.scilla", &["bad.scilla:1:1", hint]);
    let deploy = "scilla run -init bad.json -i counter.scilla";
    check_bad("bad.json", format!("\u{feff}{INIT}"), deploy, &["line 1, column 1", "bad.json", hint]);
}

#[test]
fn bad_imports_end_in_a_place() {
    let importing = |name: &str| CONTRACT.replace("\nlibrary", &format!("\nimport {name}\nlibrary"));
    let check = "scilla check bad.scilla -libdir .";
    let missing = ["Failed to import library (not found): Nowhere", "bad.scilla:3:8", "-libdir"];
    check_bad("bad.scilla", importing("Nowhere"), check, &missing);

    let directory = directory();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("A.scillib", "scilla_version 0\nimport B\nlibrary A\n");
    write("B.scillib", "scilla_version 0\nimport A\nlibrary B\n");
    write("circle.scilla", &importing("A"));
    for line in ["scilla check circle.scilla -libdir .", "scilla run -init init.json -i circle.scilla"] {
        let outcome = call_in(directory.path(), line);
        assert_eq!(outcome.code, 1, "{line}");
        assert!(outcome.stderr.contains("Cyclic dependence found when importing A."), "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("B.scillib:2:8"), "{line}: {}", outcome.stderr);
    }
}

#[test]
fn bad_json_ends_in_a_place_or_the_name_of_what_is_wrong() {
    let run = format!("{RUN} -imessage bad.json");
    let add = message("Add");
    check_bad("bad.json", add.replace("\"_tag\"", "\"tag\""), &run, &["Member not found in json: _tag"]);
    check_bad("bad.json", add.replace("\"0\"", "0"), &run, &["Expected string, got int", "bad.json"]);
    check_bad("bad.json", add.replace("\"0\"", "\"many\""), &run, &["Invalid value in JSON: many of type Uint128"]);
    check_bad("bad.json", add.replace("[]", "[ }"), &run, &["line 1, column", "expected a value, found '}'"]);
    check_bad("bad.json", add.replace("Add", "Nothing"), &run, &["No contract transition for tag found: Nothing"]);
    let elements = vec!["\"1\""; 1_000_000].join(",");
    let list = format!(r#"{{"vname":"list","type":"List Uint32","value":[{elements}]}}"#);
    check_bad("bad.json", add.replace("[]", &format!("[{list}]")), &run, &["Insufficient gas to parse message"]);

    let state = format!("{} -imessage add.json", RUN.replace("state.json", "bad.json"));
    check_bad("bad.json", "[".repeat(1_000_000), &state, &["line 1, column 1000001: expected a value", "bad.json"]);
    check_bad("bad.json", "[]", &state, &["Field missing: _balance"]);
    let twice = STATE.replace("\"_balance\", \"type\": \"Uint128\"", "\"count\", \"type\": \"Uint32\"");
    check_bad("bad.json", twice, &state, &["Field missing: _balance"]);
    check_bad("bad.json", STATE.replace("Uint32", "String"), &state, &["State type of field does not match"]);
    check_bad("bad.json", STATE.replace("count", "counts"), &state, &["Field not defined in the contract"]);
    let doubled = STATE.replace(']', r#", { "vname": "count", "type": "Uint32", "value": "1" } ]"#);
    check_bad("bad.json", doubled, &state, &["Duplicate field entries found"]);

    let chain = format!("{} -imessage add.json", RUN.replace("chain.json", "bad.json"));
    check_bad("bad.json", CHAIN.replace("100", "-1"), &chain, &["error: bad.json: expected a number, got -1"]);
    check_bad("bad.json", "{}", &chain, &["error: bad.json: expected array, got object"]);
    let account = r#"{ "vname": "_external", "type": "Unit", "value": [ { "address": "0x12", "state": [] } ] }"#;
    let external = STATE.replace(']', &format!(", {account} ]"));
    let expected = "error: bad.json: expected an address as `0x` and 40 hexadecimal digits, got 0x12";
    check_bad("bad.json", external, &state, &[expected]);

    let deploy = "scilla run -init bad.json -i counter.scilla";
    check_bad("bad.json", "[]", deploy, &["No _this_address entry found in init file bad.json"]);
    let as_reference = "scilla-runner -init bad.json -i counter.scilla";
    check_bad("bad.json", "[]", as_reference, &["Insufficient gas to parse contract/init files"]);
    check_bad("bad.json", INIT.replace("owner", "other"), deploy, &["No init entry found matching contract parameter"]);
    let nested = format!("\"{}Uint32{}\"", "(".repeat(10_000), ")".repeat(10_000));
    check_bad("bad.json", INIT.replacen("\"Uint32\"", &nested, 1), deploy, &["Invalid type in json: ((("]);
}

#[test]
fn first_of_two_equal_members_counts() {
    let directory = directory();
    let twice = message("Add").replacen('{', r#"{"_tag":"Fail","#, 1);
    fs::write(directory.path().join("twice.json"), twice).unwrap();
    let run = call_in(directory.path(), &format!("{RUN} -imessage twice.json"));
    assert!(run.stderr.contains("Raised from Fail"), "{}", run.stderr);
}

#[test]
fn many_warnings_are_short() {
    let directory = directory();
    let fields = (0..3000).fold(String::new(), |text, index| text + &format!("field f{index} : Uint32 = one\n"));
    let text = CONTRACT.replace("field count", &(fields + "field count"));
    fs::write(directory.path().join("many.scilla"), text).unwrap();
    let checked = call_in(directory.path(), "scilla check many.scilla");
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    assert!(checked.stderr.ends_with("more warnings\n\n"), "{}", checked.stderr);
    assert!(checked.stderr.len() < 5000);
}

#[test]
fn wrong_use_differs_from_rejection() {
    for line in ["scilla", "scilla chek x", "scilla check", "scilla check -x a.scilla", "scilla run -i counter.scilla"]
    {
        assert_eq!(call(line).code, 2, "{line}");
    }
    for line in ["scilla check missing.scilla", "scilla check init.json", "scilla run -i wrong.json -init init.json"] {
        assert_eq!(call(line).code, 1, "{line}");
    }
}

#[test]
fn every_command_has_help() {
    for command in COMMANDS {
        let help = call(&format!("scilla help {}", command.name));
        assert_eq!(help.code, 0);
        for flag in command.flags {
            assert!(help.stdout.contains(flag.name), "{} -{}", command.name, flag.name);
        }
    }
}
