//! The log: one line per event on standard error, filtered by `--log`, in the form of `--log-format`. Panics are in the
//! log too. A log line about a request has the id of the request.

use std::{
    fmt,
    io::{self, IsTerminal},
    panic,
};

use clap::ValueEnum;
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    Layer,
    filter::LevelFilter,
    filter::{ParseError, Targets},
    fmt::{
        self as lines, FmtContext,
        format::{self, FormatEvent, FormatFields, Writer},
    },
    layer::SubscriberExt,
    registry::LookupSpan,
    util::SubscriberInitExt,
};

use crate::request_id::RequestId;

/// A log filter is invalid.
#[derive(Debug, thiserror::Error)]
#[error("--log: expected a filter such as \"info\" or \"warn,silica_node=debug\", got {filter:?}")]
pub(crate) struct FilterError {
    filter: String,
    /// The reason, or `None` for an empty part between commas.
    source: Option<ParseError>,
}

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text for people.
    #[default]
    Pretty,
    /// A JSON object on each line.
    Json,
}

/// Starts the log of the process, including panics.
///
/// # Errors
///
/// [`FilterError`] if `filter` is invalid.
pub(crate) fn init(filter: &str, form: LogFormat) -> Result<(), FilterError> {
    let targets = parse(filter)?;
    let layer = lines::layer().with_writer(io::stderr);
    let layer = match form {
        LogFormat::Pretty => layer.with_ansi(io::stderr().is_terminal()).event_format(Named(format::format())).boxed(),
        LogFormat::Json => layer
            .with_ansi(false)
            .fmt_fields(format::JsonFields::new())
            .event_format(Named(format::format().json().flatten_event(true)))
            .boxed(),
    };
    // Tests start the log several times in one process. The first subscriber stays.
    drop(tracing_subscriber::registry().with(layer.with_filter(targets)).try_init());
    panic::set_hook(Box::new(|panic| {
        if silica_state::is_engine_panic(panic) {
            // The panic means that a file is damaged. The caller of the storage engine reports the damage as an error.
            tracing::debug!(%panic, "the storage engine panicked");
            return;
        }
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(%panic, %backtrace, "a task panicked; its caller gets an error");
    }));
    Ok(())
}

/// Parses a list of levels, each for one module or for all.
fn parse(filter: &str) -> Result<Targets, FilterError> {
    let invalid = |source| FilterError { filter: filter.to_owned(), source };
    // The parser of the library reads an empty part as the level `error` for all modules.
    if filter.split(',').any(|part| part.trim().is_empty()) {
        return Err(invalid(None));
    }
    let targets: Targets = filter.parse().map_err(|source| invalid(Some(source)))?;
    // The consensus engine logs each vote at the level `info`. A filter that names a module of the engine replaces the
    // level of this module.
    let most = targets.default_level().unwrap_or(LevelFilter::OFF);
    let named: Vec<String> = targets.iter().map(|(target, _)| target.to_owned()).collect();
    let is_named = |module: &str| named.iter().any(|target| !target.is_empty() && module.starts_with(target));
    let quiet = ENGINE.into_iter().filter(|(module, _)| !is_named(module));
    let quiet: Vec<_> = quiet.map(|(module, level)| (module, level.min(most))).collect();
    Ok(targets.with_targets(quiet))
}

/// The modules of the consensus engine, with their levels if the filter does not name them. The network of the engine
/// reports each lost connection as a warning. For the connected members, the node has a log line and a metric.
const ENGINE: [(&str, LevelFilter); 4] = [
    ("arc_malachitebft", LevelFilter::WARN),
    ("arc_malachitebft_discovery", LevelFilter::OFF),
    ("arc_malachitebft_network", LevelFilter::OFF),
    ("libp2p", LevelFilter::OFF),
];

/// A format of log lines that adds the id of the current request.
struct Named<F>(F);

impl<S, N, F> FormatEvent<S, N> for Named<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, at: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let Some(id) = RequestId::current() else { return self.0.format_event(at, writer, event) };
        let mut line = String::new();
        self.0.format_event(at, Writer::new(&mut line), event)?;
        write_named(&mut writer, &line, &id)
    }
}

/// Writes a line with the id: as the first member of a JSON object, or at the end of text. An id has no characters that
/// need escapes.
fn write_named(writer: &mut impl fmt::Write, line: &str, id: &RequestId) -> fmt::Result {
    match line.strip_prefix('{') {
        Some(rest) => write!(writer, "{{\"request_id\":\"{id}\",{rest}"),
        None => writeln!(writer, "{} request_id={id}", line.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderValue};
    use tracing::Level;

    use super::*;
    use crate::request_id::HEADER;

    #[test]
    fn bad_filter_is_named_in_the_message() {
        for filter in ["", "info,=,", "info,", "info=loud", "silica_node=debug=info"] {
            let error = init(filter, LogFormat::Pretty).unwrap_err();
            assert!(error.to_string().contains(&format!("{filter:?}")), "{error}");
        }
    }

    #[test]
    fn filter_selects_levels_by_module() {
        let targets = parse("warn,silica_node=debug,silica_node::http=off").unwrap();
        assert!(targets.would_enable("hyper", &Level::WARN) && !targets.would_enable("hyper", &Level::INFO));
        assert!(targets.would_enable("silica_node::rpc", &Level::DEBUG));
        assert!(!targets.would_enable("silica_node::rpc", &Level::TRACE));
        assert!(!targets.would_enable("silica_node::http", &Level::ERROR));
    }

    #[test]
    fn modules_of_the_engine_are_quiet_unless_the_filter_names_them() {
        let enabled = |filter: &str, module: &str| parse(filter).unwrap().would_enable(module, &Level::WARN);
        assert!(enabled("info", "arc_malachitebft_engine::wal"));
        assert!(!parse("info").unwrap().would_enable("arc_malachitebft_engine", &Level::INFO));
        for module in ["arc_malachitebft_network", "arc_malachitebft_discovery::x", "libp2p_swarm"] {
            assert!(!enabled("debug", module), "{module}");
        }
        assert!(!enabled("error", "arc_malachitebft_engine") && !enabled("silica_node=info", "libp2p"));
        assert!(enabled("info,libp2p=debug", "libp2p_swarm"));
        assert!(enabled("info,arc_malachitebft=warn", "arc_malachitebft_network"));
    }

    #[test]
    fn lines_have_the_name_of_the_request() {
        let id = RequestId::of(&HeaderMap::from_iter([(HEADER, HeaderValue::from_static("a-1"))]));
        let named = |line: &str| {
            let mut text = String::new();
            write_named(&mut text, line, &id).unwrap();
            text
        };
        assert_eq!(named("INFO what: happened\n"), "INFO what: happened request_id=a-1\n");
        assert_eq!(named("{\"level\":\"INFO\"}\n"), "{\"request_id\":\"a-1\",\"level\":\"INFO\"}\n");
    }
}
