//! Tests of the complete output for people, for many mistakes.
//!
//! `diagnostics.txt` has a section for each mistake: a title, a contract or its components, and the output of the
//! check after `--`.

use std::fs;

use super::tests::call_in;

const CASES: &str = include_str!("diagnostics.txt");

/// The first lines of a contract. They complete sections that have only components.
const HEAD: &str = "scilla_version 0
import IntUtils
library Box
let one = Uint32 1
let two = Uint32 2
type Colour =
| Red
| Green
| Blue
contract Box (owner : ByStr20)
field count : Uint32 = one
field money : Uint128 = Uint128 0
field given : Map ByStr20 Uint128 = Emp ByStr20 Uint128
";

/// Checks a file next to other files, and returns the output for people.
fn check(file: &str, text: &str, others: &[(&str, &str)]) -> String {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in others.iter().chain([&(file, text)]) {
        fs::write(root.path().join(name), text).unwrap();
    }
    let outcome = call_in(root.path(), &format!("scilla check -libdir . {file}"));
    assert_eq!(outcome.stdout.starts_with("gas remaining: "), outcome.code == 0, "{}", outcome.stdout);
    let of_the_case = |part: &&str| !part.starts_with("warning: ") || part.contains("never accepts");
    outcome.stderr.split("\n\n").filter(of_the_case).collect::<Vec<_>>().join("\n\n")
}

/// Removes blanks at the ends of lines, because text files should not contain them.
fn tidy(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[test]
fn mistakes_are_explained() {
    let mut wrong = Vec::new();
    let sections: Vec<_> = CASES.split("## ").skip(1).collect();
    for section in &sections {
        let (title, rest) = section.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("\n--\n").unwrap();
        let text = if text.starts_with("scilla_version") { text.to_owned() } else { format!("{HEAD}{text}\n") };
        let found = tidy(&check("box.scilla", &text, &[]));
        if found != expected.trim() {
            wrong.push(format!("## {title}\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sections.len() >= 40, "{} sections were found", sections.len());
}

#[test]
fn the_error_that_a_library_has_is_shown_instead_of_an_internal_one() {
    let found = check("L.scillib", "scilla_version 0\nlibrary L\ntype T =\n| A of Uint33\n", &[]);
    let expected = "\
error: ADT not found: Uint33
 --> L.scillib:4:8
  |
4 | | A of Uint33
  |        ^^^^^^
  |
  = note: in type `T` of library `L`
  = help: did you mean `Uint32`?";
    assert_eq!(tidy(&found), expected, "{found}");
}

#[test]
fn the_import_of_a_wrong_library_is_a_note() {
    let contract = "scilla_version 0\nimport M\ncontract C ()\n";
    let found = check("c.scilla", contract, &[("M.scillib", "scilla_version 0\nlibrary M\nlet x = \n")]);
    let expected = "\
error: Syntax error: expected an expression, but found the end of the text
 --> ./M.scillib:4:1
  |
4 |
  | ^
  |
  = note: library `M` is imported at c.scilla:2:8";
    assert_eq!(tidy(&found), expected, "{found}");
}

#[test]
fn programs_read_the_same_as_before() {
    let root = tempfile::tempdir().unwrap();
    let text = format!("{HEAD}transition T ()\n  match owner with\n  | Just v =>\n  end\nend\n");
    fs::write(root.path().join("box.scilla"), text).unwrap();
    let found = call_in(root.path(), "scilla check -jsonerrors box.scilla").stderr;
    let place = |line: u32, column: u32| format!(r#"{{"file":"box.scilla","line":{line},"column":{column}}}"#);
    let nowhere = r#"{"file":"","line":0,"column":0}"#;
    let error = |message: &str, line, column| {
        let start = place(line, column);
        format!(r#"{{"error_message":"{message}","start_location":{start},"end_location":{nowhere}}}"#)
    };
    let errors = [
        error("Type error(s) in contract: Box", 10, 10),
        error("No data type with this constructor found: Just", 16, 5),
    ];
    let expected = format!(r#"{{"gas_remaining":"100000","errors":[{}],"warnings":[]}}"#, errors.join(","));
    let blanks = |text: &str| text.replace([' ', '\n'], "");
    assert_eq!(blanks(&found), blanks(&expected));
    let lines = call_in(root.path(), "scilla-checker -gaslimit 8000 box.scilla").stderr;
    let expected = "\nbox.scilla:10:10: error: Type error(s) in contract: Box\n\
                    box.scilla:16:5: error: No data type with this constructor found: Just\n\nGas remaining: 8000\n";
    assert_eq!(lines, expected);
}
