//! Components that an exception lists.
//!
//! The expected lists are the output of builds of Scilla 0.11.1 and 0.13.4 (old) and of 308af35 (new) for these
//! programs.

use silica_scilla::rules::Edition;

use crate::world::{UNITS, World, entries};

/// The common procedures of the programs. `Thr` throws, `N` stores a field, and `M` calls `N` twice. `It` takes an
/// element of a list and calls `N`. `It2` throws on the element `False`. Each program adds its own procedures and the
/// transition.
const PRELUDE: &str = "scilla_version 0
library L
let two = let n = Nil {Bool} in let t = True in let one = Cons {Bool} t n in Cons {Bool} t one
let mixed = let n = Nil {Bool} in let f = False in let t = True in let one = Cons {Bool} f n in Cons {Bool} t one
let none = Nil {Bool}
let divide = fun (x : Uint32) => let zero = Uint32 0 in builtin div x zero
contract C ()
field n : Uint32 = Uint32 0
procedure N () one = Uint32 1; n := one end
procedure M () N; N end
procedure It (b : Bool) N end
procedure Thr () e = { _exception : \"E\" }; throw e end
procedure It2 (b : Bool) match b with | True => N | False => Thr end end
";

/// Returns the first error text of a failed call, and the later error texts without `Raised from `.
fn failing(program: &str, edition: Edition, amount: u128, units: u64) -> (String, Vec<String>) {
    let mut world = World::new(&format!("{PRELUDE}{program}"), edition);
    let failed = world.call(amount, units).unwrap_err();
    let mut texts = entries(&failed.failure).into_iter().map(|(text, _)| text.to_owned());
    let first = texts.next().unwrap();
    (first, texts.map(|text| text.strip_prefix("Raised from ").unwrap().to_owned()).collect())
}

#[test]
fn an_exception_lists_completed_procedures_or_the_call_stack() {
    let cases = [
        ("transition T () throw end", "T", "T"),
        ("transition T () Thr end", "T", "Thr T"),
        ("procedure B () Thr end procedure A () B end transition T () A end", "T", "Thr B A T"),
        ("transition T () N; Thr end", "N T", "Thr T"),
        ("procedure A () N; Thr end transition T () M; A end", "N M T", "Thr A T"),
        ("transition T () t = True; match t with | True => N | False => end; Thr end", "N T", "Thr T"),
        ("transition T () t = True; match t with | True => M; N | False => end; throw end", "N M T", "T"),
        ("transition T () forall two It; Thr end", "It It T", "Thr T"),
        ("transition T () forall two It; forall mixed It2 end", "It2 It It T", "Thr It2 T"),
        ("procedure A () forall two It; Thr end transition T () N; A end", "It It N T", "Thr A T"),
        ("procedure A () forall two It end transition T () A; throw end", "A T", "T"),
        ("procedure A () N; throw end transition T () N; N; N; A end", "N N N N T", "A T"),
        ("transition T () forall none It; throw end", "T", "T"),
        (
            "transition T () accept; e = { _eventname : \"E\" }; event e; l = Nil {Message}; send l; N; Thr end",
            "N T",
            "Thr T",
        ),
        (
            "procedure A () N; M end procedure B () A; t = True; match t with | True => N; Thr | False => end end
             transition T () M; B end",
            "N A M T",
            "Thr B T",
        ),
    ];
    for (program, old, new) in cases {
        for (edition, expected) in [(Edition::V0_11, old), (Edition::V0_13, old), (Edition::Latest, new)] {
            let (first, listed) = failing(program, edition, 0, UNITS);
            assert!(first.starts_with("Exception thrown"), "{first}");
            assert_eq!(listed.join(" "), expected, "{program} under {edition}");
        }
    }
}

#[test]
fn a_failure_that_is_no_exception_lists_nothing() {
    let divided = "Cannot apply built-in Uint.div: Division by zero / UintOverflow error occurred to a list of arguments: \
                   [  (Uint32 1),\n  (Uint32 0)]";
    let poor = "Insufficient sender balance for acceptance: Incoming vs sender_balance: 500 vs 100";
    let cases = [
        ("procedure A () x = Uint32 1; y = divide x end transition T () N; A end", 0, divided),
        ("procedure A () accept end transition T () N; A end", 500, poor),
    ];
    for (program, amount, text) in cases {
        for edition in Edition::ALL {
            assert_eq!(failing(program, edition, amount, UNITS), (text.to_owned(), vec![]), "{edition}");
        }
    }
}

#[test]
fn running_out_of_gas_lists_nothing() {
    // Release 0.11 reports no error if the gas does not suffice for a built-in function. This implementation reports
    // an error.
    let cases = [
        ("procedure A () N; N; N; N end", "Ran out of gas after evaluating statement"),
        ("procedure A () x = let b = Uint256 9 in let n = Uint32 9 in builtin pow b n end", "Insufficient gas"),
    ];
    for (procedure, text) in cases {
        let program = format!("{procedure} transition T () N; A end");
        for edition in Edition::ALL {
            let mut world = World::new(&format!("{PRELUDE}{program}"), edition);
            let enough = world.units_of_call();
            assert_eq!(failing(&program, edition, 0, enough - 1), (text.to_owned(), vec![]), "{edition}");
        }
    }
}

#[test]
fn entries_have_the_lines_of_the_declarations() {
    let program = "transition T ()\n N;\n throw\nend";
    let mut world = World::new(&format!("{PRELUDE}{program}"), Edition::V0_13);
    let failed = world.call(0, UNITS).unwrap_err();
    assert_eq!(entries(&failed.failure), [("Exception thrown", 16), ("Raised from N", 9), ("Raised from T", 14)]);
}

#[test]
fn a_procedure_with_a_result_is_listed_when_it_has_ended() {
    let procedure = "procedure p (b : Bool) : Uint32 one = Uint32 1; N; _return := one end";
    let program = &format!("{procedure} transition T () t = True; x = p t; throw end");
    assert_eq!(failing(program, Edition::V0_13, 0, UNITS).1, ["p", "T"]);
}

#[test]
fn a_list_beyond_its_bound_keeps_the_newest_and_the_transition() {
    let name = "P".repeat(20_000);
    let program = format!("procedure {name} () one = Uint32 1 end transition T () N; {name}; {name}; N; throw end");
    let listed = failing(&program, Edition::V0_13, 0, UNITS).1;
    assert_eq!(listed, ["N", "T"]);
    // The limit does not cut a list that is far below it.
    let program = format!("transition T () {} throw end", "forall two It; ".repeat(500));
    assert_eq!(failing(&program, Edition::V0_13, 0, UNITS).1.len(), 1_001);
}
