//! Observers of transitions, statement by statement.

use crate::{argument::Argument, source::Location};

/// Receives the steps of a transition. An observer cannot change the run.
pub trait Observer {
    /// Receives a statement that was executed or has failed.
    fn statement(&mut self, step: Step<'_>);

    /// Receives the bound result of a procedure that has ended. The latest statement of this depth called it.
    fn returned(&mut self, depth: usize, bound: Argument);
}

/// One statement as it was executed.
///
/// A `match` and a `forall` have one step for their beginning. The steps of the inner statements follow.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// The transition or procedure of the statement.
    pub component: &'a str,
    /// Number of nested components: 1 in the transition itself.
    pub depth: usize,
    /// Its place in the source.
    pub location: Location,
    /// Its source, up to the end of the line.
    pub text: &'a [u8],
    /// The units of gas before it.
    pub units_before: u64,
    /// The units of gas after it.
    pub units_after: u64,
    /// The variables that it uses, in the order of the text, with their values.
    pub used: Vec<Argument>,
    /// The variable that the statement binds. For the result of a procedure, the step follows the end of the procedure.
    pub bound: Option<Argument>,
    /// Whether it failed, which ends the run.
    pub failed: bool,
}
