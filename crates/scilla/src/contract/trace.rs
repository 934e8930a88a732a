//! An observer that collects the statements of a call.

use std::fmt;

use crate::{
    argument::Argument,
    eval::{Observer, Step},
    gas::UNITS_PER_GAS,
    source::Location,
};

/// An [`Observer`] that collects the statements of a call. Its text has one line for each statement.
///
/// # Examples
///
/// ```
/// use silica_scilla::{Contract, Trace};
///
/// let source = "scilla_version 0 contract C () transition Go () x = Uint32 1; y = builtin add x x end";
/// let mut instance = Contract::compile(source)?.deploy(())?;
/// let mut trace = Trace::new();
/// instance.call("Go", ()).observe(&mut trace).run()?;
/// println!("{trace}");
/// assert_eq!(trace.steps()[1].bound.as_ref().map(|bound| bound.value.to_string()), Some("(Uint32 2)".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Trace {
    steps: Vec<TraceStep>,
}

/// One executed statement of a [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceStep {
    /// Name of the transition or procedure that contains the statement.
    pub component: String,
    /// Depth of nested components: 1 in the transition itself.
    pub depth: usize,
    /// Location of the statement in the source.
    pub location: Location,
    /// Source text of the statement, up to the end of the line.
    pub text: String,
    /// The variables that the statement uses with their values, in the order of the text.
    pub used: Vec<Argument>,
    /// The variable that the statement binds, or the result of the procedure that it calls.
    pub bound: Option<Argument>,
    /// Whether the statement failed. A failure ends the run.
    pub failed: bool,
    /// Cost in units, eight of which are one gas.
    units: u64,
}

impl Trace {
    /// Returns a trace without statements.
    pub const fn new() -> Self {
        Self { steps: Vec::new() }
    }

    /// Returns the statements in the order of their execution.
    pub fn steps(&self) -> &[TraceStep] {
        &self.steps
    }
}

impl TraceStep {
    /// Returns the cost of the statement in units, eight of which are one gas.
    ///
    /// The sum of all statements can be less than the gas of the call. Libraries and the checks of addresses cost gas
    /// before the first statement.
    pub const fn units(&self) -> u64 {
        self.units
    }
}

impl Observer for Trace {
    fn statement(&mut self, step: Step<'_>) {
        self.steps.push(TraceStep {
            component: step.component.to_owned(),
            depth: step.depth,
            location: step.location,
            text: String::from_utf8_lossy(step.text).trim_end_matches(';').to_owned(),
            used: step.used,
            bound: step.bound,
            failed: step.failed,
            units: step.units_before.saturating_sub(step.units_after),
        });
    }

    fn returned(&mut self, depth: usize, bound: Argument) {
        if let Some(call) = self.steps.iter_mut().rev().find(|step| step.depth == depth) {
            call.bound = Some(bound);
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl fmt::Display for TraceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Location { file, line, column } = &self.location;
        let indent = self.depth.saturating_sub(1).saturating_mul(2);
        write!(f, "{:indent$}{file}:{line}:{column}: {}", "", self.text)?;
        let parts = self.units % UNITS_PER_GAS * (1000 / UNITS_PER_GAS);
        write!(f, "  [{}.{parts:03} gas]", self.units / UNITS_PER_GAS)?;
        for Argument { name, value } in self.used.iter().chain(&self.bound) {
            write!(f, " {name} = {value}")?;
        }
        f.write_str(if self.failed { " FAILED" } else { "" })
    }
}
