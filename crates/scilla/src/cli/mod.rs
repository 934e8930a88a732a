//! The `scilla` command: language tools for people, and for programs that call the reference's tools.
//!
//! Each command is a row of `COMMANDS` with a table of its flags. The tables determine help and parsing. The function
//! of a command returns an `Outcome` for arguments and files. Only [`main`] uses the process environment and the
//! standard streams.

mod arguments;
mod check;
mod conformance;
mod eval;
mod files;
mod fmt;
mod help;
mod parse;
mod render;
mod run;
mod type_of;

use std::{
    env,
    io::{self, ErrorKind, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use self::{
    arguments::{Arguments, Flag, UsageError},
    files::Files,
    render::{Pointing, Style},
};
use crate::{
    json::FailureReport,
    report::{Failure, Warning},
};

/// A command: a row of the table.
#[derive(Debug)]
struct Command {
    name: &'static str,
    /// Name of the tool of the reference that this command replaces. A call of the program by this name runs the
    /// command.
    alias: Option<&'static str>,
    /// Operands after the flags, as the help shows them.
    operands: &'static str,
    /// Purpose of the command, in one line.
    summary: &'static str,
    /// Description of the command for its help.
    details: &'static str,
    flags: &'static [Flag],
    run: fn(&Arguments, &Session) -> Result<Outcome, UsageError>,
}

const COMMANDS: &[Command] = &[
    check::COMMAND,
    run::COMMAND,
    eval::COMMAND,
    type_of::COMMAND,
    fmt::COMMAND,
    parse::COMMAND,
    conformance::COMMAND,
];

/// The output and the exit code of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outcome {
    stdout: String,
    stderr: String,
    code: u8,
}

impl Outcome {
    /// Returns a successful outcome with a text for the standard output.
    fn of(stdout: String) -> Self {
        Self { stdout, ..Self::default() }
    }
}

/// The environment of a command.
#[derive(Clone, Debug)]
struct Session {
    files: Files,
    /// Directories in the environment variable `SCILLA_STDLIB_PATH`.
    library_path: Vec<String>,
    /// Output form of failures, if no flag selects another form.
    style: Style,
}

impl Session {
    /// Returns the output form of failures for these arguments.
    fn style(&self, arguments: &Arguments) -> Style {
        if arguments.has("jsonerrors") { Style::Json } else { self.style }
    }

    /// Returns the outcome for a rejected program or a failed run.
    fn rejected(&self, style: Style, report: &FailureReport<'_>, pointing: Pointing) -> Outcome {
        let stderr = render::failure(report, pointing, style, &self.files);
        Outcome { stderr, code: 1, stdout: String::new() }
    }

    /// Returns the outcome for a text that does not parse. Output for people lists several errors. The other forms
    /// have only the first error, as the reference's tools do.
    fn unparsed(&self, style: Style, failure: &Failure, gas_remaining: Option<u64>) -> Outcome {
        let first = failure.entries().first().cloned().map(Failure::of);
        let failure = first.as_ref().filter(|_| matches!(style, Style::Json | Style::Plain)).unwrap_or(failure);
        self.rejected(style, &FailureReport { gas_remaining, failure, warnings: &[] }, Pointing::Behind)
    }

    /// Returns the outcome for a command whose input or output failed.
    fn failed(&self, style: Style, failure: &Failure, gas_remaining: Option<u64>) -> Outcome {
        let report = FailureReport { gas_remaining, failure, warnings: &[] };
        self.rejected(style, &report, Pointing::To)
    }

    /// Returns the text of the warnings of a successful command, or an empty text if the output is for programs.
    fn warned(&self, style: Style, warnings: &[Warning]) -> String {
        match style {
            Style::Drawn { colours } => render::warnings(warnings, colours, &self.files),
            Style::Json | Style::Plain => String::new(),
        }
    }
}

/// Runs the command that the arguments of the process name.
///
/// The exit code is 0 after success, 1 after a rejected program or a failed run, and 2 after wrong usage.
pub fn main() -> ExitCode {
    let given: Result<Vec<String>, UsageError> =
        env::args_os().map(|argument| argument.into_string().map_err(UsageError::NotUtf8)).collect();
    let library_path = env::var("SCILLA_STDLIB_PATH").unwrap_or_default();
    let colours = io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none();
    let session = Session {
        files: Files::new(PathBuf::new(), "stdlib".into()),
        library_path: library_path.split(':').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        style: Style::Drawn { colours },
    };
    let outcome = match given {
        Ok(given) => dispatch(given, session),
        Err(error) => misused(&error, None),
    };
    let written = io::stdout().write_all(outcome.stdout.as_bytes()).and_then(|()| io::stdout().flush());
    // If standard error fails, there is no other stream for a report.
    let _ = io::stderr().write_all(outcome.stderr.as_bytes());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "scilla: standard output: {error}");
            ExitCode::FAILURE
        }
        // A broken pipe is not a failure: the reader has closed the pipe.
        Ok(()) | Err(_) => ExitCode::from(outcome.code),
    }
}

fn dispatch(given: Vec<String>, mut session: Session) -> Outcome {
    let mut given = given.into_iter();
    let program = given.next().unwrap_or_default();
    let called = Path::new(&program).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    if let Some(command) = COMMANDS.iter().find(|command| command.alias == Some(called)) {
        session.style = Style::Plain;
        return execute(command, given.collect(), &session);
    }
    let Some(name) = given.next() else {
        return Outcome { stderr: help::overview(), code: 2, stdout: String::new() };
    };
    let named = |name: &str| COMMANDS.iter().find(|command| command.name == name || command.alias == Some(name));
    match name.as_str() {
        "help" | "-help" | "--help" | "-h" => match given.next() {
            None => Outcome::of(help::overview()),
            Some(topic) => match named(&topic) {
                Some(command) => Outcome::of(help::of(command)),
                None => misused(&UsageError::UnknownCommand(topic), None),
            },
        },
        "version" | "-version" | "--version" | "-V" => Outcome::of(version()),
        _ => match named(&name) {
            Some(command) => execute(command, given.collect(), &session),
            None => misused(&UsageError::UnknownCommand(name), None),
        },
    }
}

fn execute(command: &Command, given: Vec<String>, session: &Session) -> Outcome {
    let is_switch = |letter| command.flags.iter().any(|flag| flag.short == Some(letter));
    let asks = |argument: &String| match argument.as_str() {
        "-help" | "--help" => true,
        "-h" => given.len() == 1 || !is_switch('h'),
        _ => false,
    };
    if given.iter().any(asks) {
        return Outcome::of(help::of(command));
    }
    if given.iter().any(|argument| matches!(argument.as_str(), "-version" | "--version" | "-V")) {
        return Outcome::of(version());
    }
    let parsed = Arguments::parse(given, command.flags);
    parsed
        .and_then(|arguments| (command.run)(&arguments, session))
        .unwrap_or_else(|error| misused(&error, Some(command)))
}

fn version() -> String {
    format!("scilla {} (language version 0)\n", env!("CARGO_PKG_VERSION"))
}

fn misused(error: &UsageError, command: Option<&Command>) -> Outcome {
    let topic = command.map(|command| format!(" {}", command.name)).unwrap_or_default();
    let stderr = format!("scilla{topic}: {error}\n`scilla help{topic}` describes the usage\n");
    Outcome { stderr, code: 2, stdout: String::new() }
}

#[cfg(test)]
mod diagnostics;
#[cfg(test)]
mod tests;
