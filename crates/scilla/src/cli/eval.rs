//! `scilla eval`: prints the value of an expression.

use std::{fmt::Write as _, sync::Arc};

use super::{
    Arguments, Command, Flag, Outcome, Session, UsageError, arguments::RULES, check::DEFAULT_GAS_LIMIT,
    render::Pointing, type_of::load,
};
use crate::{
    code::Code,
    eval::{Evaluated, Failed},
    gas::Meter,
    json::FailureReport,
};

pub(super) const COMMAND: Command = Command {
    name: "eval",
    alias: Some("eval-runner"),
    operands: "FILE",
    summary: "Evaluate an expression.",
    details: "\
FILE has one expression (.scilexp). The command imports the standard library and all libraries in the directories. It
prints the value, the variables in scope at the last evaluated part, and the remaining gas. It does not check types:
see `scilla type`.

    echo 'let x = Uint32 20 in builtin add x x' > forty.scilexp
    scilla eval forty.scilexp",
    flags: &[
        Flag::valued("libdir", "DIR[:DIR]", "Directories of additional libraries; may be repeated."),
        Flag::valued("gaslimit", "N", "The gas that the evaluation may use (100000)."),
        Flag::valued("pplit", "BOOL", "Write values in reports as literals (true) or as JSON (false)."),
        RULES,
        Flag::switch("jsonerrors", "Print errors as JSON."),
    ],
    run,
};

fn run(arguments: &Arguments, session: &Session) -> Result<Outcome, UsageError> {
    let file = arguments.operand("FILE")?;
    let limit = arguments.number("gaslimit")?.unwrap_or(DEFAULT_GAS_LIMIT);
    let settings = arguments.settings()?;
    let style = session.style(arguments);
    let program = match load(file, arguments, session) {
        Ok(program) => program,
        Err(unread) => return Ok(unread.render(style, session, None)),
    };
    let code = Arc::new(Code::of_expression_unchecked(&program));
    let evaluated = code.load(settings, Meter::with_limit(limit)).and_then(|loaded| loaded.evaluate());
    Ok(match evaluated {
        Ok(evaluated) => Outcome::of(text_of(&evaluated, limit)),
        Err(Failed { failure, gas }) => {
            let report = FailureReport { gas_remaining: Some(gas.gas()), failure: &failure, warnings: &[] };
            session.rejected(style, &report, Pointing::To)
        }
    })
}

fn text_of(evaluated: &Evaluated, limit: u64) -> String {
    let mut text = format!("{},\n{{ ", evaluated.value.literal());
    for (index, (name, value)) in evaluated.bindings.iter().enumerate() {
        let separator = if index == 0 { "" } else { ",\n  " };
        // A write to a `String` cannot fail.
        let _ = write!(text, "{separator}[{name} -> {}]", value.literal());
    }
    let _ = writeln!(text, " }}\nGas remaining: {}", evaluated.gas.gas_of_success(limit));
    text
}
