//! Functions as values.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Value;
use crate::types::Type;

/// A function or a type function, with its captured values and the arguments that it already has.
///
/// A closure is valid only with the [`Code`](crate::code::Code) that made it.
#[derive(Clone)]
pub struct Closure {
    pub(crate) function: u32,
    pub(crate) captured: Arc<[Value]>,
    /// The types of the type variables in scope, in order.
    pub(crate) types: Arc<[Type]>,
    /// The first arguments, while other arguments are missing.
    pub(crate) applied: SmallVec<[Value; 2]>,
    depth: u32,
}

impl Closure {
    pub(crate) fn new(
        function: u32,
        captured: Arc<[Value]>,
        types: Arc<[Type]>,
        applied: SmallVec<[Value; 2]>,
    ) -> Self {
        let depth = captured.iter().chain(applied.as_slice()).map(Value::depth).max().unwrap_or(0).saturating_add(1);
        Self { function, captured, types, applied, depth }
    }

    pub(super) const fn depth(&self) -> u32 {
        self.depth
    }
}

impl std::fmt::Debug for Closure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Closure").field("function", &self.function).finish_non_exhaustive()
    }
}
