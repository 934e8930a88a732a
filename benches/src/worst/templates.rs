//! The known kinds of slow programs.

use std::fmt::Write as _;

use serde_json::json;
use silica_crypto::{KeyPair, SecretKey};

use super::{Case, Deployment, Message, Shape, Template};

/// Largest size of a literal, in bytes. A contract has at most 76,800 bytes.
const LONGEST: u32 = 60_000;

fn each(count: u32, text: impl Fn(u32) -> String) -> String {
    (0..count).map(text).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").ok();
        text
    })
}

fn text_literal(shape: &Shape) -> String {
    format!("\"{}\"", "x".repeat(shape.size.min(LONGEST) as usize))
}

fn bytes_literal(shape: &Shape) -> String {
    format!("0x{}", "ab".repeat((shape.size.min(LONGEST) / 2).max(1) as usize))
}

fn number_literal(shape: &Shape) -> String {
    format!("BNum {}", "9".repeat(shape.size.clamp(1, LONGEST) as usize))
}

/// Returns a case whose transition evaluates an expression `copies` times for each of `times` steps of a fold. `first`
/// has statements that bind the names in the expression.
fn folded(shape: &Shape, library: &str, first: &str, step: impl Fn(u32) -> String) -> Case {
    let copies = each(shape.copies, |copy| format!("let v{copy} = {} in\n", step(copy)));
    Case::call(format!(
        "scilla_version 0
library L
{library}
contract C ()
transition Go (times : Uint32)
{first}
  zero = Uint32 0;
  one = Uint32 1;
  count = builtin to_nat times;
  step = fun (sum : Uint32) => fun (left : Nat) => {copies} sum;
  fold = @nat_fold Uint32;
  last = fold step zero count
end
"
    ))
}

/// Returns a case whose transition executes statements `copies` times for each of `times` elements of a list. `first`
/// has the first statements of the procedure, and `fields` is the text before the procedure.
fn repeated(shape: &Shape, library: &str, fields: &str, first: &str, step: impl Fn(u32) -> String) -> Case {
    let copies = each(shape.copies, |copy| format!("{};\n", step(copy)));
    Case::call(format!(
        "scilla_version 0
library L
let nil = Nil {{Message}}
let one_message = fun (m : Message) => Cons {{Message}} m nil
{library}
contract C ()
field nothing : Uint32 = Uint32 0
{fields}
procedure Do (number : Uint32)
{first}
{copies}  end_ = number
end
transition Go (times : Uint32)
  zero = Uint32 0;
  none = Nil {{Uint32}};
  count = builtin to_nat times;
  step = fun (list : List Uint32) => fun (left : Nat) => Cons {{Uint32}} zero list;
  fold = @nat_fold (List Uint32);
  all = fold step none count;
  forall all Do
end
"
    ))
}

/// Returns a library with types of nested pairs, and statements that build a tree. The halves of each level are equal.
fn tree(levels: u32) -> (String, String) {
    let types = each(levels, |below| format!("type T{} = | P{} of T{below} T{below}\n", below + 1, below + 1));
    let values = each(levels, |below| format!("t{} = P{} t{below} t{below};\n", below + 1, below + 1));
    (format!("type T0 = | P0\n{types}"), format!("t0 = P0;\n{values}"))
}

fn hash_of_tree(shape: &Shape, hash: &str) -> Case {
    let levels = shape.depth.min(30);
    let (library, first) = tree(levels);
    folded(shape, &library, &first, |_| format!("builtin {hash} t{levels}"))
}

/// Returns statements that bind a map to `m`, and its last key to `key`. The map has `size` entries, and its keys have
/// `depth` bytes.
fn map(shape: &Shape) -> String {
    let (entries, bytes) = (shape.size.clamp(1, 3_000), shape.depth.min(20_000));
    format!(
        "long = \"{}\"; empty = Emp String Uint32; nothing = Uint32 0; entries = Uint32 {entries};
         all = builtin to_nat entries;
         make = fun (sum : Pair (Map String Uint32) Uint32) => fun (left : Nat) => match sum with
           | Pair map at => let one = Uint32 1 in let next = builtin add at one in let text = builtin to_string at in
             let key = builtin concat long text in let more = builtin put map key at in
             Pair {{(Map String Uint32) Uint32}} more next
           end;
         begin = Pair {{(Map String Uint32) Uint32}} empty nothing;
         making = @nat_fold (Pair (Map String Uint32) Uint32);
         made = making make begin all;
         m = match made with | Pair map at => map end;
         tail = builtin to_string nothing;
         key = builtin concat long tail;",
        "k".repeat(bytes as usize)
    )
}

fn of_map(shape: &Shape, step: &str) -> Case {
    folded(shape, "", &map(shape), |_| step.to_owned())
}

fn of_text(shape: &Shape, step: &str) -> Case {
    let other = if step.contains(" y") { "y = builtin concat x sep;" } else { "" };
    let first = format!("x = {}; sep = \"\"; {other} start = Uint32 0; length = Uint32 1;", text_literal(shape));
    folded(shape, "", &first, |_| step.to_owned())
}

fn of_bytes(shape: &Shape, step: &str) -> Case {
    let first = format!("fixed = {}; x = builtin to_bystr fixed; y = builtin strrev x;", bytes_literal(shape));
    folded(shape, "", &first, |_| step.to_owned())
}

fn of_number(shape: &Shape, step: &str) -> Case {
    let other = if step.contains(" y") { "more = Uint32 1; y = builtin badd x more;" } else { "" };
    let first = format!("x = {}; {other}", number_literal(shape));
    folded(shape, "", &first, |_| step.to_owned())
}

const G2: [&str; 4] = [
    "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2",
    "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed",
    "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b",
    "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
];

/// Returns statements that bind points of `alt_bn128` to `one` and `two`, a list of `size` pairs of points to `pairs`,
/// and a number to `scalar`.
fn points(shape: &Shape) -> String {
    let [a, b, c, d] = G2;
    let of = "{(Pair (Pair ByStr32 ByStr32) (Pair ByStr64 ByStr64))}";
    let pairs = each(shape.size.min(200), |at| format!("p{} = Cons {of} both p{at};\n", at + 1));
    format!(
        "x1 = 0x{:064x}; y1 = 0x{:064x}; x2 = 0x{a}{b}; y2 = 0x{c}{d};
         one_ = Pair {{ByStr32 ByStr32}} x1 y1; two = Pair {{ByStr64 ByStr64}} x2 y2;
         both = Pair {{(Pair ByStr32 ByStr32) (Pair ByStr64 ByStr64)}} one_ two;
         p0 = Nil {of};
         {pairs} pairs = p{};
         scalar = 0x{};",
        1,
        2,
        shape.size.min(200),
        scalar(shape.depth)
    )
}

/// Returns the number with `bits` bits, all of them set.
fn scalar(bits: u32) -> String {
    let bits = bits.min(256);
    let digits = "f".repeat((bits / 4) as usize);
    let first = ["", "1", "3", "7"].get((bits % 4) as usize).copied().unwrap_or_default();
    format!("{:0>64}", format!("{first}{digits}"))
}

/// Returns statements that bind a key, a message of `size` bytes, and a signature of the message.
fn signed(shape: &Shape) -> String {
    let signer = SecretKey::from_bytes([7; 32]).map(KeyPair::from).expect("the number is a key");
    let message = vec![0x61; shape.size.clamp(1, 20_000) as usize];
    let signature = signer.sign(&message).expect("the key signs");
    // Another library made this signature with the same key, for another message.
    let ecdsa = "4ab48fe13b1722e49931cda4380dc6ce589927603260e28c80e13807b6d88f64\
                 44d45c3c65167507e0f475d4af62908841dbefbf8d80d2400bb7155e96638f99";
    format!(
        "fixed = {}; message = builtin to_bystr fixed; key = {}; signature = {}; ecdsa = 0x{ecdsa}; id = Uint32 1;",
        hex(&message),
        hex(signer.public_key().as_bytes()),
        hex(signature.as_bytes())
    )
}

fn with_wide_type(shape: &Shape, first: &str, step: impl Fn(u32) -> String) -> Case {
    let width = shape.size.clamp(1, 3_000);
    let library = format!(
        "type Wide = | Wide{}\n",
        each(width, |at| if at == 0 { " of Uint32".into() } else { " Uint32".into() })
    );
    let first = format!("n = Uint32 0; {first}");
    folded(shape, &library, &first, step)
}

/// Returns a type with `size` nested types.
fn large_type(size: u32) -> String {
    (0..size.clamp(1, 200)).fold("Uint32".to_owned(), |inner, _| format!("Option ({inner})"))
}

fn stored(shape: &Shape, step: impl Fn(u32) -> String) -> Case {
    let fields = "field m : Map String (Map String String) = Emp String (Map String String)
field s : String = \"\"
field u : Uint32 = Uint32 0";
    let first = format!(
        "  long = \"{}\"; k = \"{}\"; inner = Emp String String; one = Uint32 1;",
        "v".repeat(shape.size.min(LONGEST / 2) as usize),
        "k".repeat(shape.depth.min(LONGEST / 2) as usize)
    );
    repeated(shape, "", fields, &first, step)
}

/// Returns a case with fields for maps of `size` entries and for a value of `depth` levels. A setup call writes these
/// fields, and `step` reads or writes them.
fn filled(shape: &Shape, step: impl Fn(u32) -> String) -> Case {
    let (entries, levels) = (shape.size.clamp(1, 3_000), shape.depth.clamp(1, 10_000));
    let fields = format!(
        "field numbers : Map Uint32 Bool = Emp Uint32 Bool
field texts : Map String Bool = Emp String Bool
field maps : Map Uint32 (Map Uint32 Bool) = Emp Uint32 (Map Uint32 Bool)
field deep : Nat = Zero
transition Fill ()
  yes = True; inner = Emp Uint32 Bool; entries = Uint32 {entries}; all = builtin to_nat entries;
  none1 = Emp Uint32 Bool; fold1 = @nat_fold (Map Uint32 Bool);
  step1 = fun (map : Map Uint32 Bool) => fun (left : Nat) => let size = builtin size map in builtin put map size yes;
  all1 = fold1 step1 none1 all; numbers := all1;
  none2 = Emp String Bool; fold2 = @nat_fold (Map String Bool);
  step2 = fun (map : Map String Bool) => fun (left : Nat) =>
    let size = builtin size map in let text = builtin to_string size in builtin put map text yes;
  all2 = fold2 step2 none2 all; texts := all2;
  none3 = Emp Uint32 (Map Uint32 Bool); fold3 = @nat_fold (Map Uint32 (Map Uint32 Bool));
  step3 = fun (map : Map Uint32 (Map Uint32 Bool)) => fun (left : Nat) =>
    let size = builtin size map in builtin put map size inner;
  all3 = fold3 step3 none3 all; maps := all3;
  levels = Uint32 {levels}; value = builtin to_nat levels; deep := value
end"
    );
    let mut case = repeated(shape, "", &fields, "", step);
    case.setup.push(Message { tag: "Fill", params: Vec::new() });
    case
}

fn remote(shape: &Shape, step: &str) -> Case {
    let fields = each(shape.size.clamp(1, 300), |at| format!("field f{at} : Uint32 = Uint32 0\n"));
    let other = Deployment::contract(format!("scilla_version 0\ncontract O ()\n{fields}transition Go ()\nend\n"));
    let list = each(shape.size.clamp(1, 300), |at| format!("{} field f{at} : Uint32", if at == 0 { "" } else { "," }));
    let step = step.replace("FIELDS", &list);
    let mut case = repeated(shape, "", "", "  at = OTHER0;", |copy| step.replace("COPY", &copy.to_string()));
    case.others.push(other);
    case
}

fn deployed(mut text: String) -> Case {
    text.insert_str(0, "scilla_version 0\n");
    Case::deployment(text)
}

fn plain(library: &str) -> Case {
    deployed(format!("library L\n{library}\ncontract C ()\ntransition Go ()\nend\n"))
}

const fn shape(times: u32, copies: u32, size: u32, depth: u32) -> Shape {
    Shape { times, copies, size, depth }
}

macro_rules! templates {
    ($($name:literal, $shape:expr, $case:expr;)*) => {
        /// All kinds of programs, each with the slowest known shape.
        pub const TEMPLATES: &[Template] = &[$(Template { name: $name, shape: $shape, case: $case }),*];
    };
}

templates! {
    // Built-in functions.
    "keccak256hash of a tree of equal halves", shape(1, 1, 1, 16), |it| hash_of_tree(it, "keccak256hash");
    "sha256hash of a tree of equal halves", shape(1, 1, 1, 16), |it| hash_of_tree(it, "sha256hash");
    "ripemd160hash of a tree of equal halves", shape(1, 1, 1, 16), |it| hash_of_tree(it, "ripemd160hash");
    "keccak256hash of a small tree", shape(100, 37, 1, 4), |it| hash_of_tree(it, "keccak256hash");
    "keccak256hash of a long text", shape(20, 1, 60_000, 1), |it| of_text(it, "builtin keccak256hash x");
    "ripemd160hash of a long text", shape(20, 1, 60_000, 1), |it| of_text(it, "builtin ripemd160hash x");
    "sha256hash of a long text", shape(40, 1, 60_000, 1), |it| of_text(it, "builtin sha256hash x");
    "ripemd160hash of a short text", shape(100, 37, 2_400, 1), |it| of_text(it, "builtin ripemd160hash x");
    "keccak256hash of a map", shape(5, 10, 100, 10), |it| of_map(it, "builtin keccak256hash m");
    "eq of long texts", shape(5, 1, 60_000, 1), |it| of_text(it, "builtin eq x y");
    "concat of a long text and nothing", shape(5, 1, 60_000, 1), |it| of_text(it, "builtin concat x sep");
    "substr of a long text", shape(20, 10, 60_000, 1), |it| of_text(it, "builtin substr x start length");
    "strrev of a long text", shape(5, 1, 60_000, 1), |it| of_text(it, "builtin strrev x");
    "to_uint256 of a long text", shape(20, 10, 60_000, 1), |it| of_text(it, "builtin to_uint256 x");
    "to_string of long bytes", shape(5, 1, 60_000, 1), |it| of_bytes(it, "builtin to_string x");
    "to_ascii of long bytes", shape(5, 1, 60_000, 1), |it| of_bytes(it, "builtin eq x y");
    "to_bystr33 of long bytes", shape(50, 20, 60_000, 1), |it| of_bytes(it, "builtin to_bystr33 x");
    "bystr20_to_bech32", shape(50, 20, 20, 1), |it| folded(it, "", "a = 0x1234567890123456789012345678901234567890; p = \"zil\";", |_| "builtin bystr20_to_bech32 p a".into());
    "badd of a long block number", shape(20, 10, 60_000, 1), |it| of_number(it, "builtin badd x one");
    "badd and sha256hash of a long block number", shape(40, 1, 60_000, 1), |it| of_number(it, "let z = builtin badd x one in builtin sha256hash z");
    "bsub of long block numbers", shape(20, 10, 60_000, 1), |it| of_number(it, "builtin bsub x y");
    "eq of long block numbers", shape(20, 10, 60_000, 1), |it| of_number(it, "builtin eq x y");
    "a map with a long block number as its key", shape(20, 10, 60_000, 1), |it| folded(it, "", &format!("x = {}; e = Emp BNum Uint32;", number_literal(it)), |_| "let z = builtin badd x one in builtin put e z one".into());
    "alt_bn128_pairing_product of pairs", shape(5, 1, 5, 1), |it| folded(it, "", &points(it), |_| "builtin alt_bn128_pairing_product pairs".into());
    "alt_bn128_pairing_product of one pair", shape(5, 1, 1, 1), |it| folded(it, "", &points(it), |_| "builtin alt_bn128_pairing_product pairs".into());
    "alt_bn128_pairing_product of nothing", shape(20, 5, 0, 1), |it| folded(it, "", &points(it), |_| "builtin alt_bn128_pairing_product pairs".into());
    "alt_bn128_G1_add", shape(40, 10, 0, 1), |it| folded(it, "", &points(it), |_| "builtin alt_bn128_G1_add one_ one_".into());
    "alt_bn128_G1_neg", shape(20, 10, 0, 1), |it| folded(it, "", &points(it), |_| "builtin alt_bn128_G1_neg one_".into());
    "alt_bn128_G1_mul", shape(20, 1, 0, 8), |it| folded(it, "", &points(it), |_| "builtin alt_bn128_G1_mul one_ scalar".into());
    "ecdsa_recover_pk", shape(20, 12, 36, 1), |it| folded(it, "", &signed(it), |_| "builtin ecdsa_recover_pk message ecdsa id".into());
    "ecdsa_verify", shape(20, 10, 9, 1), |it| folded(it, "", &signed(it), |_| "builtin ecdsa_verify key message ecdsa".into());
    "schnorr_verify", shape(20, 10, 9, 1), |it| folded(it, "", &signed(it), |_| "builtin schnorr_verify key message signature".into());
    "schnorr_get_address", shape(50, 30, 9, 1), |it| folded(it, "", &signed(it), |_| "builtin schnorr_get_address key".into());
    "get of a map with long keys", shape(50, 20, 100, 200), |it| of_map(it, "builtin get m key");
    "contains of a map with long keys", shape(50, 20, 100, 200), |it| of_map(it, "builtin contains m key");
    "put into a map", shape(50, 20, 1, 200), |it| of_map(it, "builtin put m key one");
    "remove from a map", shape(50, 20, 100, 1), |it| of_map(it, "builtin remove m key");
    "to_list of a map", shape(5, 2, 500, 1), |it| of_map(it, "builtin to_list m");
    "get of a map of a large type", shape(50, 20, 50, 1), |it| folded(it, "", &format!("e = Emp Uint32 ({}); k = Uint32 1;", large_type(it.size)), |_| "builtin get e k".into());
    "contains of a map in a map with a large type", shape(50, 20, 50, 1), |it| folded(it, "", &format!("e = Emp Uint32 ({}); o = Emp Uint32 (Map Uint32 ({0})); k = Uint32 1;", large_type(it.size)), |_| "builtin put o k e".into());
    "pow of one", shape(20, 10, 32, 1), |it| folded(it, "", &format!("b = Uint256 1; e = Uint32 {};", (1_u64 << it.size.min(32)) - 1), |_| "builtin pow b e".into());
    "pow of minus one", shape(20, 10, 32, 1), |it| folded(it, "", &format!("b = Int256 -1; e = Uint32 {};", (1_u64 << it.size.min(32)) - 1), |_| "builtin pow b e".into());
    "isqrt", shape(20, 10, 1, 77), |it| folded(it, "", &format!("b = Uint256 {};", "9".repeat(it.depth.clamp(1, 77) as usize)), |_| "builtin isqrt b".into());
    "div of large numbers", shape(50, 20, 1, 38), |it| folded(it, "", &format!("b = Uint256 {}; d = Uint256 {};", "9".repeat(77), "7".repeat(it.depth.clamp(1, 77) as usize)), |_| "builtin div b d".into());
    "add of numbers", shape(50, 50, 1, 1), |it| folded(it, "", "", |_| "builtin add one zero".into());
    "to_nat", shape(20, 1, 10_000, 1), |it| folded(it, "", &format!("n = Uint32 {};", it.size), |_| "builtin to_nat n".into());
    "size of a map", shape(50, 50, 1, 1), |it| of_map(it, "builtin size m");
    "strlen of nothing", shape(50, 50, 0, 1), |it| of_text(it, "builtin strlen sep");
    // Expressions.
    "a fold that does nothing", shape(2_000, 0, 1, 1), |it| folded(it, "", "", |_| String::new());
    "a construction of many arguments", shape(50, 25, 119, 1), |it| with_wide_type(it, "", |_| format!("Wide{}", " n".repeat(it.size.clamp(1, 3_000) as usize)));
    "a wide pattern", shape(50, 20, 30, 1), |it| {
        let (names, blanks) = (" n".repeat(it.size.clamp(1, 3_000) as usize), " _".repeat(it.size.clamp(1, 3_000) as usize));
        with_wide_type(it, &format!("w = Wide{names};"), |_| format!("match w with | Wide{blanks} => n end"))
    };
    "a wide pattern that binds", shape(50, 25, 119, 1), |it| {
        let names = " n".repeat(it.size.clamp(1, 3_000) as usize);
        let bound = each(it.size.clamp(1, 3_000), |at| format!(" b{at}"));
        with_wide_type(it, &format!("w = Wide{names};"), |_| format!("match w with | Wide{bound} => n end"))
    };
    "a deep pattern", shape(50, 10, 20, 20), |it| {
        let depth = it.depth.clamp(1, 200);
        let pattern = (0..depth).fold("Zero".to_owned(), |inner, _| format!("(Succ {inner})"));
        folded(it, "", &format!("d = Uint32 {depth}; deep = builtin to_nat d;"), |_| format!("match deep with | {} => zero | _ => one end", &pattern[1..pattern.len() - 1]))
    };
    "a function that captures much", shape(50, 12, 121, 1), |it| {
        let size = it.size.clamp(1, 500);
        let first = each(size, |at| format!("c{at} = Uint32 {at};\n"));
        let used = each(size, |at| format!("let u = c{at} in "));
        folded(it, "", &first, |_| format!("fun (x : Uint32) => {used} x"))
    };
    "a function of many arguments, one by one", shape(20, 1, 50, 1), |it| {
        let size = it.size.clamp(2, 1_000);
        let function = each(size, |at| format!("fun (a{at} : Uint32) => "));
        let applied = each(size - 1, |at| format!("let f{} = f{at} zero in ", at + 1));
        folded(it, "", &format!("f0 = {function} a0;"), |_| format!("{applied} zero"))
    };
    "a large type given to a function of types", shape(50, 10, 5, 1), |it| {
        let library = "let make = tfun 'A => fun (x : 'A) => Nil {(Pair 'A 'A)}";
        folded(it, library, "", |_| format!("let f = @make ({}) in zero", large_type(it.size)))
    };
    "a type that is put together", shape(50, 12, 20, 1), |it| {
        let inner = large_type(it.size).replace("Uint32", "'A");
        let library = format!("let make = tfun 'A => let e = Nil {{({inner})}} in e");
        folded(it, &library, "", |_| "let f = @make Uint32 in zero".into())
    };
    "a map that is put together", shape(50, 10, 50, 1), |it| folded(it, "", "", |_| format!("Emp Uint32 ({})", large_type(it.size)));
    "a construction of a large type", shape(50, 10, 50, 1), |it| folded(it, "", "", |_| format!("None {{({})}}", large_type(it.size)));
    "a message of many entries", shape(100, 6, 20, 1), |it| folded(it, "", "", |_| format!("{{ _eventname : \"E\"{} }}", each(it.size.min(300), |at| format!("; e{at} : zero"))));
    "a message with a value of a large type", shape(50, 10, 50, 1), |it| folded(it, "", &format!("large = None {{({})}};", large_type(it.size)), |_| "{ _eventname : \"E\"; e : large }".into());
    // Statements.
    "statements that do nothing", shape(20, 100, 1, 1), |it| repeated(it, "", "", "", |copy| format!("a{copy} = number"));
    "calls of a procedure of many arguments", shape(40, 25, 80, 1), |it| {
        let size = it.size.clamp(1, 500);
        let params: Vec<_> = (0..size).map(|at| format!("p{at} : Uint32")).collect();
        let fields = format!("procedure Many ({})\nend", params.join(", "));
        repeated(it, "", &fields, "", |_| format!("Many{}", " number".repeat(size as usize)))
    };
    "loads of a field", shape(20, 50, 1, 1), |it| stored(it, |copy| format!("a{copy} <- u"));
    "stores to a field", shape(20, 50, 1, 1), |it| stored(it, |_| "u := one".into());
    "stores of a long text", shape(2, 1, 20_000, 1), |it| stored(it, |_| "s := long".into());
    "looks at an entry of a map", shape(20, 50, 1, 10), |it| stored(it, |copy| format!("a{copy} <- exists m[k][k]"));
    "loads of an entry of a map", shape(20, 50, 1, 10), |it| stored(it, |copy| format!("a{copy} <- m[k][k]"));
    "stores to an entry of a map", shape(20, 50, 1, 10), |it| stored(it, |_| "m[k][k] := k".into());
    "stores of an empty map", shape(20, 50, 1, 10), |it| stored(it, |_| "m[k] := inner".into());
    "removals of an entry of a map", shape(20, 50, 1, 10), |it| stored(it, |_| "delete m[k][k]".into());
    "stores to many entries of a map", shape(100, 3, 1, 10), |it| {
        let fields = "field m : Map Uint32 (Map String Uint32) = Emp Uint32 (Map String Uint32)\nfield at : Uint32 = Uint32 0";
        let first = format!("  k = \"{}\"; one = Uint32 1;", "k".repeat(it.depth.min(LONGEST / 2) as usize));
        repeated(it, "", fields, &first, |copy| format!("at{copy} <- at; new{copy} = builtin add at{copy} one; at := new{copy}; m[new{copy}][k] := one"))
    };
    "removals of entries that are not there", shape(100, 3, 1, 10), |it| {
        let fields = "field m : Map Uint32 (Map String Uint32) = Emp Uint32 (Map String Uint32)\nfield at : Uint32 = Uint32 0";
        let first = format!("  k = \"{}\"; one = Uint32 1;", "k".repeat(it.depth.min(LONGEST / 2) as usize));
        repeated(it, "", fields, &first, |copy| format!("at{copy} <- at; new{copy} = builtin add at{copy} one; at := new{copy}; delete m[new{copy}][k]"))
    };
    "loads of a map of numbers", shape(2, 5, 1_000, 1), |it| filled(it, |copy| format!("a{copy} <- numbers"));
    "loads of a map of texts", shape(2, 5, 1_000, 1), |it| filled(it, |copy| format!("a{copy} <- texts"));
    "loads of a map of empty maps", shape(2, 5, 1_000, 1), |it| filled(it, |copy| format!("a{copy} <- maps"));
    "loads of a deep value", shape(2, 2, 1, 10_000), |it| filled(it, |copy| format!("a{copy} <- deep"));
    "stores of a deep value", shape(1, 1, 1, 10_000), |it| filled(it, |copy| format!("a{copy} <- deep; deep := a{copy}"));
    "times of blocks", shape(20, 50, 1, 1), |it| repeated(it, "", "", "  b = BNum 1;", |copy| format!("t{copy} <- & TIMESTAMP(b)"));
    "times of a block of many digits", shape(20, 50, 20_000, 1), |it| repeated(it, "", "", &format!("  b = {};", number_literal(it)), |copy| format!("t{copy} <- & TIMESTAMP(b)"));
    "the block number", shape(20, 50, 1, 1), |it| repeated(it, "", "", "", |copy| format!("t{copy} <- & BLOCKNUMBER"));
    "events", shape(20, 20, 1, 1), |it| repeated(it, "", "", &format!("  e = {{ _eventname : \"{}\" }};", "E".repeat(it.depth.clamp(1, 1_000) as usize)), |_| "event e".into());
    "events with a long text", shape(4, 1, 5_000, 1), |it| repeated(it, "", "", &format!("  long = {}; e = {{ _eventname : \"E\"; t : long }};", text_literal(it)), |_| "event e".into());
    "events with a tree of equal halves", shape(20, 1, 1, 6), |it| {
        let levels = it.depth.min(12);
        let (library, first) = tree(levels);
        repeated(it, &library, "", &format!("{first} e = {{ _eventname : \"E\"; t : t{levels} }};"), |_| "event e".into())
    };
    "messages", shape(20, 20, 1, 1), |it| repeated(it, "", "", "  zero = Uint128 0; m = { _tag : \"\"; _recipient : _this_address; _amount : zero }; ms = one_message m;", |_| "send ms".into());
    "messages to new accounts", shape(20, 1, 1, 1), |it| {
        let fields = "field at : Uint256 = Uint256 1";
        let first = "  zero = Uint128 0; one = Uint256 1; start = Uint32 12; length = Uint32 20;";
        repeated(it, "", fields, first, |copy| format!(
            "at{copy} <- at; new{copy} = builtin add at{copy} one; at := new{copy};
             all{copy} = builtin to_bystr32 new{copy}; bytes{copy} = builtin to_bystr all{copy};
             part{copy} = builtin substr bytes{copy} start length; to{copy} = builtin to_bystr20 part{copy};
             match to{copy} with | Some to => m = {{ _tag : \"\"; _recipient : to; _amount : zero }}; ms = one_message m; send ms | None => end"
        ))
    };
    "an exception after many procedures", shape(500, 20, 1, 1), |it| {
        let fields = format!("procedure P{} ()\nend", "x".repeat(it.depth.min(20_000) as usize));
        let mut case = repeated(it, "", &fields, "", |_| format!("P{}", "x".repeat(it.depth.min(20_000) as usize)));
        case.program.code = case.program.code.replace("forall all Do\n", "forall all Do;\n  throw\n");
        case
    };
    "reads of the balance of another", shape(20, 50, 1, 1), |it| {
        let mut case = remote(it, "xCOPY <- & other._balance");
        case.program.code = case.program.code.replace("contract C ()", "contract C (other : ByStr20 with end)");
        case.program.init.push(json!({"vname": "other", "type": "ByStr20", "value": "OTHER0"}));
        case
    };
    "reads of a field of another", shape(20, 50, 1, 1), |it| {
        let mut case = remote(it, "xCOPY <- & other.f0");
        let kind = "contract C (other : ByStr20 with contract field f0 : Uint32 end)";
        case.program.code = case.program.code.replace("contract C ()", kind);
        case.program.init.push(json!({"vname": "other", "type": "ByStr20", "value": "OTHER0"}));
        case
    };
    "casts of an address", shape(20, 50, 1, 1), |it| remote(it, "aCOPY <- & at as ByStr20 with end");
    "casts to a contract of many fields", shape(20, 5, 100, 1), |it| remote(it, "aCOPY <- & at as ByStr20 with contract FIELDS end");
    "a contract that names one library often", shape(1, 0, 1_000, 1), |it| {
        let mut case = repeated(it, "", "", "", |_| String::new());
        case.others.push(Deployment::library("scilla_version 0\nlibrary O\nlet a = Uint32 1\n"));
        let names = (0..it.size.min(1_500)).map(|at| json!({
            "constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": [format!("N{at}"), "OTHER0"]
        }));
        let value = names.collect::<Vec<_>>();
        case.program.init.push(json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": value}));
        case
    };
    "a message of a long list", shape(1, 0, 2_000, 1), |it| {
        let mut case = repeated(it, "", "", "", |_| String::new());
        case.program.code = case.program.code.replace("(times : Uint32)", "(l : List (Option Uint32), times : Uint32)");
        let value = vec![json!({"constructor": "None", "argtypes": ["Uint32"], "arguments": []}); it.size.min(5_000) as usize];
        let params = vec![json!({"vname": "l", "type": "List (Option Uint32)", "value": value})];
        case.measured = Some(Message { tag: "Go", params });
        case
    };
    "a call of a contract that imports all standard libraries", shape(1, 0, 1, 1), |it| {
        let mut case = repeated(it, "", "", "", |_| String::new());
        case.program.code = case.program.code.replace("library L\n", "import BoolUtils Conversions CryptoUtils IntUtils ListUtils NatUtils PairUtils Polynetwork\nlibrary L\n");
        case
    };
    // Deployments.
    "deployment of a contract that imports all standard libraries", shape(1, 0, 1, 1), |_| deployed("import BoolUtils Conversions CryptoUtils IntUtils ListUtils NatUtils PairUtils Polynetwork\ncontract C ()\ntransition Go ()\nend\n".into());
    "deployment with many values", shape(1, 1, 3_000, 1), |it| plain(&each(it.size.min(3_500), |at| format!("let a{at} = Uint32 1\n")));
    "deployment with many expressions", shape(1, 1, 5_000, 1), |it| plain(&format!("let f = fun (x : Uint32) =>\n{} x\n", each(it.size.min(6_000), |_| "let y=x in ".into())));
    "deployment with many names", shape(1, 1, 4_000, 1), |it| plain(&format!("let f = fun (x : Uint32) =>\n{} x\n", each(it.size.min(4_000), |at| format!("let y{at}=x in "))));
    "deployment with many constructors", shape(1, 1, 8_000, 1), |it| plain(&format!("type T =\n{}", each(it.size.min(8_000), |at| format!("|A{at}\n"))));
    "deployment with many types", shape(1, 1, 2_500, 1), |it| plain(&each(it.size.min(2_500), |at| format!("type T{at} = |A{at} of Uint32\n")));
    "deployment with types of types", shape(1, 1, 2_000, 1), |it| plain(&format!("type T0 = |A0\n{}", each(it.size.min(2_000), |at| format!("type T{} = |A{} of T{at} T{at}\n", at + 1, at + 1))));
    "deployment with nested matches", shape(1, 1, 100, 1), |it| {
        let size = it.size.min(200);
        let matches = each(size, |_| "match b with|True=>b|False=>".into());
        plain(&format!("let f = fun (b : Bool) => {matches} b {}\n", "end ".repeat(size as usize)))
    };
    "deployment with columns of patterns", shape(1, 1, 1, 16), |it| {
        let columns = it.depth.clamp(2, 100);
        let pair = |leaf: &dyn Fn(u32) -> String| (1..columns).fold(leaf(0), |inner, at| format!("(Pair {inner} {})", leaf(at)));
        let kind = pair(&|_| "Bool".to_owned());
        let rows = each(columns, |at| {
            let row = pair(&|column| if at == column { "True".into() } else { "_".into() });
            format!("| {} => b\n", row.get(1..row.len() - 1).unwrap_or_default())
        });
        plain(&format!("let f = fun (p : {kind}) => fun (b : Bool) => match p with {rows} | _ => b end\n"))
    };
    "deployment with many clauses", shape(1, 1, 300, 10), |it| {
        let (constructors, matches) = (it.size.clamp(2, 2_000), it.depth.clamp(1, 30));
        let types = each(constructors, |at| format!("|A{at}\n"));
        let clauses = each(constructors, |at| format!("|A{at}=>x\n"));
        plain(&format!("type T =\n{types}let f = fun (t : T) => fun (x : Uint32) =>\n{} x\n", each(matches, |at| format!("let m{at} = match t with {clauses} end in "))))
    };
    "deployment with many transitions", shape(1, 1, 2_000, 1), |it| deployed(format!("contract C ()\n{}", each(it.size.min(2_500), |at| format!("transition T{at} ()\nend\n"))));
    "deployment with many calls of procedures", shape(1, 1, 1_000, 3), |it| deployed(format!("contract C ()\nprocedure P0 ()\nend\n{}", each(it.size.min(1_500), |at| format!("procedure P{} ()\n{}\nend\n", at + 1, each(it.depth.clamp(1, 20), |call| format!("{}P{at}", if call == 0 { "" } else { ";" }))))));
    "deployment with many fields", shape(1, 1, 2_000, 1), |it| deployed(format!("contract C ()\n{}", each(it.size.min(2_500), |at| format!("field f{at}:Uint32=Uint32 0\n"))));
    "deployment with work in fields", shape(1, 1, 2_000, 100), |it| {
        let (text, times) = ("x".repeat(it.size.min(LONGEST / 2) as usize), it.depth.min(10_000));
        deployed(format!("contract C ()\nfield f : Uint32 = let x = \"{text}\" in let n = Uint32 {times} in let count = builtin to_nat n in
let zero = Uint32 0 in let fold = @nat_fold Uint32 in
let step = fun (sum : Uint32) => fun (left : Nat) => let hash = builtin keccak256hash x in sum in fold step zero count
transition Go ()\nend\n"))
    };
    "deployment with many events", shape(1, 1, 1_000, 2), |it| deployed(format!("contract C ()\ntransition Go ()\n{}  z = Uint32 0\nend\n", each(it.size.min(1_500), |at| format!("e{at}={{_eventname:\"E\"{}}};event e{at};\n", each(it.depth.min(20), |entry| format!(";a{entry}:_sender"))))));
    "deployment with types that double", shape(1, 1, 100, 8), |it| {
        let types = each(it.depth.clamp(1, 16), |at| format!("let f{} = tfun 'A => fun (x : 'A) => let g = @f{at} (Pair 'A 'A) in let p = Pair {{'A 'A}} x x in g p\n", at + 1));
        let used = each(it.size.min(2_000), |at| format!("let u{at} = @f{} Uint32\n", it.depth.clamp(1, 16)));
        plain(&format!("let f0 = tfun 'A => fun (x : 'A) => Uint32 0\n{types}{used}"))
    };
    "deployment with a large type in many places", shape(1, 1, 100, 300), |it| {
        let kind = large_type(it.size);
        let calls = each(it.depth.min(3_000), |at| format!("let u{at} = f x in "));
        plain(&format!("let g = fun (f : ({kind}) -> ({kind})) => fun (x : {kind}) => {calls} x\n"))
    };
    "deployment with deep parentheses", shape(1, 1, 250, 10), |it| plain(&each(it.depth.min(100), |at| format!("let f{at} = fun (x : {}Uint32{}) => x\n", "(".repeat(it.size.min(250) as usize), ")".repeat(it.size.min(250) as usize))));
    "deployment with addresses of many fields", shape(1, 1, 100, 10), |it| {
        let fields: Vec<_> = (0..it.size.clamp(1, 300)).map(|at| format!("field f{at}:Uint32")).collect();
        let kind = format!("ByStr20 with contract {} end", fields.join(","));
        deployed(format!("contract C ()\n{}", each(it.depth.clamp(1, 60), |at| format!("transition T{at} (a : {kind})\nend\n"))))
    };
    "deployment with a comment", shape(1, 1, 70_000, 1), |it| deployed(format!("(*{}*)\ncontract C ()\n", "*".repeat(it.size.min(70_000) as usize)));
    "deployment with nested comments", shape(1, 1, 10_000, 1), |it| deployed(format!("{}{}\ncontract C ()\n", "(*".repeat(it.size.min(17_000) as usize), "*)".repeat(it.size.min(17_000) as usize)));
    "deployment that is wrong in many places", shape(1, 1, 3_000, 1), |it| plain(&each(it.size.min(3_500), |at| format!("let a{at} = b{at}\n")));
}
