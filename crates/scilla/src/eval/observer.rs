//! Observers, which receive each statement of a transition.

use crate::{argument::Argument, source::Location};

/// Receives the steps of a transition. An observer cannot change the run.
pub trait Observer {
    /// Receives a statement after its execution, even if the statement failed.
    fn statement(&mut self, step: Step<'_>);

    /// Receives the bound result of a procedure at its end. The latest statement at this depth called the procedure.
    fn returned(&mut self, depth: usize, bound: Argument);
}

/// One executed statement.
///
/// A `match` or a `forall` has one step for its beginning. The steps of its inner statements follow.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// Name of the transition or procedure that contains the statement.
    pub component: &'a str,
    /// Depth of nested components: 1 in the transition itself.
    pub depth: usize,
    /// Location of the statement in the source.
    pub location: Location,
    /// Source text of the statement, up to the end of the line.
    pub text: &'a [u8],
    /// The remaining units before the statement. Eight units are one gas.
    pub units_before: u64,
    /// The remaining units after the statement.
    pub units_after: u64,
    /// The variables that the statement uses with their values, in the order of the text.
    pub used: Vec<Argument>,
    /// The variable that the statement binds. If the statement calls a procedure, [`Observer::returned`] receives the
    /// result instead.
    pub bound: Option<Argument>,
    /// Whether the statement failed. A failure ends the run.
    pub failed: bool,
}
