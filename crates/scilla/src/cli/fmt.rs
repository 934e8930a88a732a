//! `scilla fmt`: formats sources.

use super::{Arguments, Command, Flag, Outcome, Session, Style, UsageError, files::extension};
use crate::{
    json::tree_json,
    report::{Entry, Failure},
    syntax::{
        Tree, format_contract, format_expression, format_library, parse_contract, parse_expression, parse_library,
    },
};

pub(super) const COMMAND: Command = Command {
    name: "fmt",
    alias: Some("scilla-fmt"),
    operands: "FILE",
    summary: "Print a source in the common style.",
    details: "\
FILE is a contract (.scilla), a library (.scillib) or an expression (.scilexp). The command prints it in
the common style, with its comments. With -inplace, it writes the result to FILE. A formatted source does not change.

    scilla fmt token.scilla
    scilla fmt -inplace token.scilla",
    flags: &[
        Flag::switch("inplace", "Write the formatted source to FILE instead of printing it.").or('i'),
        Flag::switch("check", "Print nothing; fail if FILE is not formatted."),
        Flag::switch("sexp", "Print the tree of FILE as an S-expression, for other tools.").or('s'),
        Flag::switch("json", "Print the tree of FILE as JSON, for other tools.").or('j'),
        Flag::switch("human-readable", "Print the tree with line breaks and indentation.").or('h'),
        Flag::switch("deannot", "Print the tree without source positions.").or('d'),
    ],
    run,
};

fn run(arguments: &Arguments, session: &Session) -> Result<Outcome, UsageError> {
    let file = arguments.operand("FILE")?;
    if arguments.has("inplace") && arguments.has("check") {
        return Err(UsageError::Combination("-inplace cannot be used with -check"));
    }
    let form = match (arguments.has("sexp"), arguments.has("json")) {
        (false, false) => None,
        (false, true) => Some(Form::Json),
        (true, false) => Some(Form::Sexp),
        (true, true) => return Err(UsageError::Combination("-sexp cannot be used with -json")),
    };
    if form.is_some() && (arguments.has("inplace") || arguments.has("check")) {
        return Err(UsageError::Combination("-sexp and -json cannot be used with -inplace or -check"));
    }
    // The reference's tool ignores these two flags.
    let strict = session.style != Style::Plain;
    if strict && form.is_none() && (arguments.has("human-readable") || arguments.has("deannot")) {
        return Err(UsageError::Combination("-human-readable and -deannot require -sexp or -json"));
    }
    let text = match session.files.read(file) {
        Ok(text) => text,
        Err(failure) => return Ok(session.failed(session.style, &failure, None)),
    };
    if let Some(form) = form {
        return Ok(match tree(file, &text, arguments.has("deannot")) {
            Ok(tree) => Outcome::of(form.write(&tree, arguments.has("human-readable"))),
            Err(failure) => session.unparsed(session.style, &failure, None),
        });
    }
    let formatted = match extension(file) {
        Some("scilla") => format_contract(file, &text),
        Some("scillib") => format_library(file, &text),
        Some("scilexp") => format_expression(file, &text),
        _ => Err(Failure::of(Entry::nowhere("Unknown file extension"))),
    };
    let formatted = match formatted {
        Ok(formatted) => formatted,
        Err(failure) => return Ok(session.unparsed(session.style, &failure, None)),
    };
    let changed = formatted.as_bytes() != text;
    if arguments.has("check") {
        let stderr = if changed { format!("{file} is not formatted\n") } else { String::new() };
        return Ok(Outcome { stderr, code: u8::from(changed), stdout: String::new() });
    }
    if !arguments.has("inplace") {
        return Ok(Outcome::of(formatted));
    }
    let written = if changed { session.files.write(file, &formatted) } else { Ok(()) };
    Ok(match written {
        Ok(()) => Outcome::default(),
        Err(failure) => session.failed(session.style, &failure, None),
    })
}

/// The output form of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Sexp,
}

impl Form {
    fn write(self, tree: &Tree, human_readable: bool) -> String {
        match (self, human_readable) {
            (Self::Json, true) => format!("{}\n", tree_json(tree).root().pretty()),
            (Self::Json, false) => format!("{}\n", tree_json(tree).root().compact()),
            (Self::Sexp, _) => tree.to_sexp(human_readable),
        }
    }
}

/// Reads the tree of a source.
fn tree(file: &str, text: &[u8], without_places: bool) -> Result<Tree, Failure> {
    match extension(file) {
        Some("scilla") => parse_contract(file, text).map(|module| Tree::of_contract(&module, without_places)),
        Some("scillib") => parse_library(file, text).map(|module| Tree::of_library(&module, without_places)),
        Some("scilexp") => parse_expression(file, text).map(|module| Tree::of_expression(&module, without_places)),
        _ => Err(Failure::of(Entry::nowhere("Unknown file extension"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_extension_selects_the_form_of_the_tree() {
        let write =
            |file: &str, text: &str| tree(file, text.as_bytes(), true).map(|tree| Form::Sexp.write(&tree, false));
        assert_eq!(write("a.scilexp", "x").unwrap(), "((Var (Ident (SimpleLocal x) ())) ())\n");
        let contract = write("a.scilla", "scilla_version 0 contract C ()").unwrap();
        assert!(contract.starts_with("((smver 0) (libs ()) (elibs ()) (contr ((cname (Ident (SimpleLocal C) ()))"));
        let library = write("a.scillib", "scilla_version 0 library L").unwrap();
        assert!(library.starts_with("((smver 0) (elibs ()) (libs ((lname (Ident (SimpleLocal L) ()))"));
        assert_eq!(write("a.txt", "x").unwrap_err().entries()[0].message, "Unknown file extension");
        assert!(write("a.scilexp", "let").is_err());
    }
}
