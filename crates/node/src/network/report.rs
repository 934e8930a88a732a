//! The output of a command.

/// The output of a command, with warnings for standard error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// The text for standard output, without the last line end.
    pub(crate) text: String,
    /// The warnings.
    pub(crate) warnings: Vec<String>,
    /// Whether the checked file has faults. The program then ends with an exit status for scripts.
    pub(crate) has_faults: bool,
}

impl Report {
    /// Creates a report without warnings and faults.
    pub(super) fn new(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}
