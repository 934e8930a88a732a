//! Logs: one line per event on standard error, filtered by `--log`, and panics among them.

use std::{
    io::{self, IsTerminal},
    panic,
};

use tracing_subscriber::EnvFilter;

/// Reason why a log filter is not understood.
#[derive(Debug, thiserror::Error)]
#[error("--log {filter:?} is not a filter such as \"info\" or \"warn,silica_node=debug\"")]
pub struct FilterError {
    filter: String,
    source: tracing_subscriber::filter::ParseError,
}

/// Starts logging for the whole process and sends panics there.
///
/// # Errors
///
/// [`FilterError`] when `filter` does not parse.
pub fn init(filter: &str) -> Result<(), FilterError> {
    let parsed = EnvFilter::try_new(filter).map_err(|source| FilterError { filter: filter.to_owned(), source })?;
    // A second start in one process, as tests do it, keeps the first subscriber.
    drop(
        tracing_subscriber::fmt()
            .with_env_filter(parsed)
            .with_writer(io::stderr)
            .with_ansi(io::stderr().is_terminal())
            .try_init(),
    );
    panic::set_hook(Box::new(|panic| {
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(%panic, %backtrace, "a task panicked");
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_filter_is_named_in_the_message() {
        let error = init("info,=,").unwrap_err();
        assert!(error.to_string().contains(r#""info,=,""#), "{error}");
    }
}
