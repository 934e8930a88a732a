//! Parser and printers: printing keeps the meaning of a text, and the formatter does not change formatted text.

use silica_scilla::{
    report::Failure,
    stdlib,
    syntax::{
        MAX_ERRORS, SexpStyle, contract_sexp, expression_sexp, format_contract, format_expression, format_library,
        library_sexp, parse_contract, parse_expression, parse_library, print_contract, print_expression, print_library,
    },
};

/// A syntax tree in all printed forms.
#[derive(Debug, PartialEq)]
struct Written {
    printed: String,
    /// The S-expression, without locations.
    tree: String,
    /// The S-expression on several lines.
    readable: String,
}

/// One kind of text: its file name, and the functions that parse and format it.
struct Grammar {
    file: &'static str,
    read: fn(&str, &[u8]) -> Result<Written, Failure>,
    format: fn(&str, &[u8]) -> Result<String, Failure>,
}

/// An S-expression on one line, without locations.
const COMPACT: SexpStyle = SexpStyle { human_readable: false, without_places: true };
/// An S-expression on several lines, without locations.
const READABLE: SexpStyle = SexpStyle { human_readable: true, without_places: true };
/// An S-expression on one line, with locations.
const PLACED: SexpStyle = SexpStyle { human_readable: false, without_places: false };

/// Makes a [`Grammar`] from the functions that parse, print and format a kind of module.
macro_rules! grammar {
    ($file:literal, $parse:ident, $print:ident, $sexp:ident, $format:ident) => {
        Grammar {
            file: $file,
            read: |file, text| {
                let module = $parse(file, text)?;
                assert!($sexp(&module, PLACED).contains($file) || $sexp(&module, COMPACT).len() < 40);
                Ok(Written {
                    printed: $print(&module),
                    tree: $sexp(&module, COMPACT),
                    readable: $sexp(&module, READABLE),
                })
            },
            format: $format,
        }
    };
}

const GRAMMARS: [Grammar; 3] = [
    grammar!("f.scilla", parse_contract, print_contract, contract_sexp, format_contract),
    grammar!("f.scillib", parse_library, print_library, library_sexp, format_library),
    grammar!("f.scilexp", parse_expression, print_expression, expression_sexp, format_expression),
];

/// Parses a text as each kind of module, and prints it in each form.
pub fn check(data: &[u8]) {
    GRAMMARS.iter().for_each(|grammar| grammar.check(data));
}

impl Grammar {
    fn check(&self, text: &[u8]) {
        let written = match (self.read)(self.file, text) {
            Ok(written) => written,
            Err(failure) => {
                assert!(failure.entries().len() <= MAX_ERRORS, "{failure:?}");
                super::check_report(&failure, |file| (file == self.file).then_some(text.len()));
                assert_eq!((self.format)(self.file, text), Err(failure));
                return;
            }
        };
        assert_eq!(without_blanks(&written.readable), without_blanks(&written.tree));
        self.check_same("printing", &written.printed, &written);

        let formatted = (self.format)(self.file, text).expect("it parses");
        self.check_same("formatting", &formatted, &written);
        assert_eq!(comments(formatted.as_bytes()), comments(text), "{formatted}");
        assert_eq!((self.format)(self.file, formatted.as_bytes()).as_ref(), Ok(&formatted), "formatting settles");
    }

    /// Checks that a text parses as the tree `written`.
    fn check_same(&self, what: &str, text: &str, written: &Written) {
        match (self.read)(self.file, text.as_bytes()) {
            Ok(again) => assert_eq!(again, *written, "{what} changes it:\n{text}"),
            Err(failure) => panic!("{what} breaks it: {failure:?}\n{text}"),
        }
    }
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace()).collect()
}

/// Returns the comments of a text that parses, without blanks.
fn comments(text: &[u8]) -> String {
    let (mut found, mut comment) = (String::new(), Vec::new());
    let (mut at, mut depth) = (0, 0_usize);
    while at < text.len() {
        let rest = &text[at..];
        let step = match (depth, rest) {
            (_, [b'(', b'*', ..]) => {
                depth += 1;
                2
            }
            (1.., [b'*', b')', ..]) => {
                depth -= 1;
                2
            }
            (0, [b'"', ..]) => string(rest),
            _ => 1,
        };
        if depth > 0 || rest.starts_with(b"*)") && step == 2 {
            comment.extend_from_slice(&rest[..step]);
        }
        if depth == 0 && !comment.is_empty() {
            found += &without_blanks(&String::from_utf8_lossy(&comment));
            comment.clear();
        }
        at += step;
    }
    found
}

/// Returns the length of the string literal at the start of a text, in bytes.
fn string(text: &[u8]) -> usize {
    let mut at = 1;
    while text[at] != b'"' {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// Returns programs and libraries of this project, and expressions.
pub fn seeds() -> Vec<Vec<u8>> {
    let expressions = [
        "let x = Uint32 20 in builtin add x x",
        "fun (x : List (Map ByStr20 Uint128)) => match x with | Nil => \"a\\n\\\"\" | Cons _ (Cons y _) => 0xab end",
        "tfun 'A => @list_foldl 'A (Option (forall 'B. 'A -> 'B))",
        "{ _eventname : \"E\"; a : Int32 -5; b : Emp Uint32 (Map String Bool); c : L.x }",
        "(* a (* nested *) *) let f : ByStr20 with contract field a : Uint32, field b : Bool end = g x (* y *) in Some {Nat} f",
        "let x = match a with end in let x = let y = z in y in BNum 100",
    ];
    let libraries = stdlib::ALL.map(|(_, text)| text).into_iter().filter(|text| text.len() < 8192);
    super::bytes(super::PROGRAMS.into_iter().chain(libraries).chain(expressions))
}
