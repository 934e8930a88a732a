//! `scilla check`: checks whether a contract or a library may be deployed.

use super::{
    Arguments, Command, Flag, Outcome, Session, UsageError,
    arguments::RULES,
    files::{Libraries, extension, origin},
    render::{Pointing, Style, plain_warnings},
};
use crate::{
    check::{self, Options, Rejected},
    gas::Meter,
    json::{CheckReport, FailureReport},
    report::{Entry, Failure, Warning},
    resolve::{self, Origin, ResolveError},
    rules::Rules,
    syntax::{parse_contract, parse_library},
};

/// The gas limit of a check, in gas, if no flag sets another limit.
pub(super) const DEFAULT_GAS_LIMIT: u64 = 100_000;

pub(super) const COMMAND: Command = Command {
    name: "check",
    alias: Some("scilla-checker"),
    operands: "FILE",
    summary: "Check a contract or a library.",
    details: "\
FILE is a contract (.scilla) or a library (.scillib). The command parses it, finds its imports, and checks names,
types, patterns and further rules. It prints the remaining gas and the requested results as JSON. Each error has its
line in FILE.

    scilla check token.scilla
    scilla check -contractinfo -libdir libs token.scilla",
    flags: &[
        Flag::valued(
            "libdir",
            "DIR[:DIR]",
            "Directories of imported libraries; may be repeated. The standard library is built in.",
        ),
        Flag::valued("gaslimit", "N", "The gas that the check may use (100000)."),
        Flag::valued("init", "FILE", "The init file of the contract: its address, and the addresses of libraries."),
        Flag::switch("contractinfo", "Print the interface of the contract: parameters, fields, transitions, events."),
        Flag::switch("typeinfo", "Print the types of all names, for editors."),
        Flag::switch("cf", "Analyse the use of money: warn of wrong accepts, and print the fields that hold money."),
        Flag::valued(
            "cf-token-field",
            "FIELD",
            "A field or parameter that holds money, if -cf does not find it; may be repeated.",
        ),
        Flag::switch("dump-callgraph", "Write the call graph, in the format of dot, to a file next to FILE."),
        Flag::switch("dump-callgraph-stdout", "Print the call graph, in the format of dot."),
        RULES,
        Flag::switch("jsonerrors", "Print errors as JSON."),
        Flag::switch("disable-developer-warnings", "Skip the phase that finds suspicious code, including its errors."),
        Flag::valued("debuglevel", "LEVEL", "Accepted for compatibility; there are no debug logs."),
    ],
    run,
};

/// The inputs of a check.
struct Task<'a> {
    file: &'a str,
    text: Vec<u8>,
    origin: Origin,
    libraries: Libraries<'a>,
    options: Options,
    limit: u64,
    contract_info: bool,
    call_graph: Drawing,
}

/// The output of the call graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawing {
    File,
    None,
    Output,
}

/// Reason why a check ended, and the meaning of the source positions in its report.
struct Stopped {
    rejected: Box<Rejected>,
    pointing: Pointing,
}

fn run(arguments: &Arguments, session: &Session) -> Result<Outcome, UsageError> {
    let file = arguments.operand("FILE")?;
    let limit = arguments.number("gaslimit")?.unwrap_or(DEFAULT_GAS_LIMIT);
    let style = session.style(arguments);
    let task = match prepare(file, limit, arguments.rules()?, arguments, session) {
        Ok(task) => task,
        Err(failure) => return Ok(session.failed(style, &failure, None)),
    };
    let checked = match extension(file) {
        Some("scilla") => task.contract(style, session),
        Some("scillib") => task.library(style, session),
        _ => {
            let failure = Failure::of(Entry::nowhere("Unknown file extension"));
            return Ok(session.failed(style, &failure, Some(limit)));
        }
    };
    Ok(checked.unwrap_or_else(|stopped| {
        let Rejected { failure, warnings, meter, reports_gas } = &*stopped.rejected;
        let gas_remaining = reports_gas.then(|| meter.gas());
        if stopped.pointing == Pointing::Behind {
            return session.unparsed(style, failure, gas_remaining);
        }
        session.rejected(style, &FailureReport { gas_remaining, failure, warnings }, stopped.pointing)
    }))
}

fn prepare<'a>(
    file: &'a str,
    limit: u64,
    rules: Rules,
    arguments: &Arguments,
    session: &'a Session,
) -> Result<Task<'a>, Failure> {
    let text = session.files.read(file)?;
    let origin = match arguments.value("init") {
        Some(init) => origin(init, &session.files.read(init)?, rules)?,
        None => Origin { rules, ..Origin::default() },
    };
    let mut directories = session.library_path.clone();
    directories.extend(arguments.library_directories());
    let libraries = Libraries { files: &session.files, directories };
    let (contract_info, type_info) = (arguments.has("contractinfo"), arguments.has("typeinfo"));
    let options = Options {
        meter: Meter::with_limit(limit),
        type_info,
        sanity: !arguments.has("disable-developer-warnings"),
        money: arguments.has("cf").then(|| arguments.values("cf-token-field").map(str::to_owned).collect()),
        advice: matches!(session.style(arguments), Style::Drawn { .. }),
    };
    let call_graph = match (arguments.has("dump-callgraph-stdout"), arguments.has("dump-callgraph")) {
        (true, _) => Drawing::Output,
        (false, true) => Drawing::File,
        (false, false) => Drawing::None,
    };
    Ok(Task { file, text, origin, libraries, options, limit, contract_info, call_graph })
}

impl Task<'_> {
    fn contract(&self, style: Style, session: &Session) -> Result<Outcome, Stopped> {
        let module = parse_contract(self.file, &self.text).map_err(|failure| self.unparsed(failure))?;
        let program =
            resolve::contract(module, &self.origin, &self.libraries).map_err(|error| self.unresolved(error))?;
        let checked = check::contract(&program, &self.options).map_err(rejected)?;
        let report = CheckReport {
            contract: self.contract_info.then_some(&checked.summary),
            cash_flow: checked.summary.cash_flow.as_ref(),
            type_info: self.options.type_info.then_some(&checked.type_info),
            is_library: false,
            warnings: &checked.warnings,
            gas_remaining: checked.meter.gas_of_success(self.limit),
        };
        // The output lists warnings in reverse order.
        let shown = [checked.warnings.as_slice(), checked.advice.as_slice()].concat();
        let graph = &checked.summary.call_graph;
        match self.call_graph {
            Drawing::None => {}
            Drawing::Output => return Ok(Outcome::of(format!("{graph}\n"))),
            Drawing::File => {
                let stem = self.file.strip_suffix(".scilla").unwrap_or(self.file);
                if let Err(failure) = session.files.write(&format!("{stem}.dot"), &format!("{graph}\n")) {
                    return Ok(session.failed(style, &failure, None));
                }
            }
        }
        Ok(accepted(&report, &shown, style, session))
    }

    fn library(&self, style: Style, session: &Session) -> Result<Outcome, Stopped> {
        let module = parse_library(self.file, &self.text).map_err(|failure| self.unparsed(failure))?;
        let program =
            resolve::library(module, &self.origin, &self.libraries).map_err(|error| self.unresolved(error))?;
        let checked = check::library(&program, &self.options).map_err(rejected)?;
        let report = CheckReport {
            contract: None,
            cash_flow: None,
            type_info: self.options.type_info.then_some(&checked.type_info),
            is_library: true,
            warnings: &checked.warnings,
            gas_remaining: checked.meter.gas_of_success(self.limit),
        };
        Ok(accepted(&report, &checked.warnings, style, session))
    }

    fn unparsed(&self, failure: Failure) -> Stopped {
        let rejected = Rejected { failure, warnings: vec![], meter: self.options.meter, reports_gas: true };
        Stopped { rejected: Box::new(rejected), pointing: Pointing::Behind }
    }

    fn unresolved(&self, error: ResolveError) -> Stopped {
        let (failure, reports_gas) = match error {
            ResolveError::Import(failure) => (failure, false),
            ResolveError::Names(failure) => (failure, true),
        };
        rejected(Rejected { failure, warnings: vec![], meter: self.options.meter, reports_gas })
    }
}

fn rejected(rejected: Rejected) -> Stopped {
    Stopped { rejected: Box::new(rejected), pointing: Pointing::To }
}

/// Returns the outcome of a successful check. `shown` has the warnings for people.
fn accepted(report: &CheckReport<'_>, shown: &[Warning], style: Style, session: &Session) -> Outcome {
    if report.is_short() && style == Style::Plain {
        let stdout = format!("{}gas_remaining: {}\n", plain_warnings(report.warnings), report.gas_remaining);
        return Outcome::of(stdout);
    }
    if report.is_short() && style != Style::Json {
        let stdout = format!("gas remaining: {}\n", report.gas_remaining);
        return Outcome { stdout, stderr: session.warned(style, shown), code: 0 };
    }
    let stdout = format!("{}\n", report.to_json().root().pretty());
    Outcome { stdout, stderr: session.warned(style, shown), code: 0 }
}
