//! `scilla type`: prints the type of an expression.

use super::{
    Arguments, Command, Flag, Outcome, Session, UsageError,
    check::DEFAULT_GAS_LIMIT,
    files::Libraries,
    render::{Pointing, Style},
};
use crate::{
    check::{self, Options, Rejected},
    json::{FailureReport, expression_types},
    report::Failure,
    resolve::{self, Program, ResolveError},
    syntax::{ast::ExpressionModule, parse_expression},
};

pub(super) const COMMAND: Command = Command {
    name: "type",
    alias: Some("type-checker"),
    operands: "FILE",
    summary: "Print the type of an expression.",
    details: "\
FILE has one expression (.scilexp). The command imports the standard library and all libraries in the directories.

    echo 'fun (x : Uint32) => Some {Uint32} x' > some.scilexp
    scilla type some.scilexp",
    flags: &[
        Flag::valued("libdir", "DIR[:DIR]", "Directories of additional libraries; may be repeated."),
        Flag::valued("gaslimit", "N", "The gas that the check may use (100000)."),
        Flag::switch("typeinfo", "Print the types of all names, for editors."),
        Flag::switch("contractinfo", "Accepted for compatibility; an expression is not a contract."),
        Flag::switch("cf", "Accepted for compatibility; an expression handles no money."),
        Flag::valued("init", "FILE", "Accepted for compatibility; an expression has no parameters."),
        Flag::switch("jsonerrors", "Print errors as JSON."),
    ],
    run,
};

fn run(arguments: &Arguments, session: &Session) -> Result<Outcome, UsageError> {
    let file = arguments.operand("FILE")?;
    let limit = arguments.number("gaslimit")?.unwrap_or(DEFAULT_GAS_LIMIT);
    let style = session.style(arguments);
    let program = match load(file, arguments, session) {
        Ok(program) => program,
        Err(unread) => return Ok(unread.render(style, session, None)),
    };
    let advice = matches!(style, Style::Drawn { .. });
    let options = Options { type_info: arguments.has("typeinfo"), advice, ..Options::with_limit(limit) };
    Ok(match check::expression(&program, &options) {
        Ok(checked) => {
            let types = options.type_info.then_some(&*checked.type_info);
            let stdout = if types.is_none() && style != Style::Json {
                format!("{}\n", checked.summary.as_written())
            } else {
                format!("{}\n", expression_types(types, &checked.summary).root().pretty())
            };
            Outcome::of(stdout)
        }
        Err(Rejected { failure, warnings, .. }) => {
            let report = FailureReport { gas_remaining: None, failure: &failure, warnings: &warnings };
            session.rejected(style, &report, Pointing::To)
        }
    })
}

/// Reason why an expression cannot be read.
pub(super) enum Unread {
    /// The expression does not parse.
    Expression(Failure),
    /// A file or a directory cannot be read.
    File(Failure),
    /// A library cannot be imported.
    Import(Failure),
    /// A name is not defined.
    Names(Failure),
}

impl Unread {
    /// Returns the outcome of the failure. `gas_remaining` is `None` if the tool of the reference does not report the
    /// gas.
    pub(super) fn render(&self, style: Style, session: &Session, gas_remaining: Option<u64>) -> Outcome {
        match self {
            Self::Expression(failure) => session.unparsed(style, failure, gas_remaining),
            Self::File(failure) | Self::Import(failure) | Self::Names(failure) => {
                session.failed(style, failure, gas_remaining)
            }
        }
    }
}

/// Reads an expression, and imports all libraries in the directories.
pub(super) fn load(file: &str, arguments: &Arguments, session: &Session) -> Result<Program<ExpressionModule>, Unread> {
    let text = session.files.read(file).map_err(Unread::File)?;
    let mut directories = session.library_path.clone();
    directories.extend(arguments.library_directories());
    let libraries = Libraries { files: &session.files, directories };
    let names = libraries.all().map_err(Unread::File)?;
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let module = parse_expression(file, &text).map_err(Unread::Expression)?;
    resolve::expression(module, &names, &libraries).map_err(|error| match error {
        ResolveError::Import(failure) => Unread::Import(failure),
        ResolveError::Names(failure) => Unread::Names(failure),
    })
}
