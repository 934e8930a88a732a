//! `scilla parse`: checks whether a file parses.

use super::{Arguments, Command, Flag, Outcome, Session, UsageError, files::extension, render::Style};
use crate::{
    report::{Entry, Failure},
    syntax::{parse_contract, parse_expression, parse_library},
};

pub(super) const COMMAND: Command = Command {
    name: "parse",
    alias: Some("parser-dummy"),
    operands: "FILE",
    summary: "Parse a contract, a library or an expression.",
    details: "\
FILE is a contract (.scilla), a library (.scillib) or an expression (.scilexp). The command does not check
names and types, and does not read imports. It prints nothing if FILE parses.",
    flags: &[Flag::switch("jsonerrors", "Print errors as JSON.")],
    run,
};

fn run(arguments: &Arguments, session: &Session) -> Result<Outcome, UsageError> {
    let file = arguments.operand("FILE")?;
    // The reference has this tool only for its tests, and the tool always prints JSON.
    let style = if session.style == Style::Plain { Style::Json } else { session.style(arguments) };
    let text = match session.files.read(file) {
        Ok(text) => text,
        Err(failure) => return Ok(session.failed(style, &failure, None)),
    };
    let parsed = match extension(file) {
        Some("scilla") => parse_contract(file, &text).map(drop),
        Some("scillib") => parse_library(file, &text).map(drop),
        Some("scilexp") => parse_expression(file, &text).map(drop),
        _ => Err(Failure::of(Entry::nowhere("Unknown file extension"))),
    };
    let Err(failure) = parsed else { return Ok(Outcome::default()) };
    Ok(session.unparsed(style, &failure, None))
}
