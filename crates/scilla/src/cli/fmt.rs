//! `scilla fmt`: one style for all sources.

use super::{Arguments, Command, Flag, Outcome, Session, UsageError, files::extension};
use crate::{
    report::{Entry, Failure},
    syntax::{format_contract, format_expression, format_library},
};

pub(super) const COMMAND: Command = Command {
    name: "fmt",
    alias: Some("scilla-fmt"),
    operands: "FILE",
    summary: "Print a source in the common style.",
    details: "\
FILE is a contract (.scilla), a library (.scillib) or an expression (.scilexp). It is printed as it should look, with
its comments; with -inplace it is written back. Formatting what is formatted changes nothing.

    scilla fmt token.scilla
    scilla fmt -inplace token.scilla",
    flags: &[
        Flag::switch("inplace", "Write FILE back instead of printing it."),
        Flag::switch("check", "Print nothing; fail if FILE is not formatted."),
    ],
    run,
};

fn run(arguments: &Arguments, session: &Session) -> Result<Outcome, UsageError> {
    let file = arguments.operand("FILE")?;
    if arguments.has("inplace") && arguments.has("check") {
        return Err(UsageError::Combination("-inplace and -check do not go together"));
    }
    let text = match session.files.read(file) {
        Ok(text) => text,
        Err(failure) => return Ok(session.failed(session.style, &failure, None)),
    };
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
