//! The program `silica`. It parses the command line, and runs a node or a command.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    io::{self, Write as _},
    os::unix::process::parent_id,
    process::ExitCode,
    time::Duration,
};

use super::{Cli, Command, ConfigCommand, DbCommand, completions, hint, man_page, usage_error, write_man_pages};
use crate::{
    client::{
        Answer, ClientError, LoadArgs, ProofCommand, VerifyArgs, client, get_proof, hide_keys, load as send_load,
        verify_proof,
    },
    config::{Config, RunArgs, Settings},
    dump::{dump_db, load_db},
    export::{ExportRange, export_db},
    maintenance::{check_db, continue_db_check, rebuild_db},
    methods::openrpc,
    network::{NetworkCommand, Report, network},
    parent::LivingParent,
    protection::{protect_files, protect_memory},
    ready_file::ReadyFile,
    startup::{Node, RunningNode},
    telemetry::{LogFormat, init as init_telemetry},
};
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    time::timeout,
};

/// Idle time after which a blocking thread ends. The time is short, because other threads free the large texts of a
/// blocking thread. The allocator reuses this memory only in the thread that allocated it, or after the end of this
/// thread.
const KEEP_ALIVE: Duration = Duration::from_millis(10);

type AnyError = Box<dyn Error>;

/// Runs the program `silica`, and returns its exit status.
///
/// Reads the arguments from the command line and the environment. Writes to the standard streams.
pub fn run() -> ExitCode {
    // Read the parent first, because it can end at any time.
    let parent = parent_id();
    if let Err(error) = protect_memory() {
        drop(writeln!(io::stderr(), "silica: failed to exclude keys in memory from core dumps: {error}"));
    }
    let matches = Cli::command().try_get_matches().unwrap_or_else(|error| refuse(&error));
    let Cli { command, run } = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let outcome = match command.unwrap_or(Command::Run(run)) {
        Command::Run(_) => run_node(&matches, parent),
        Command::Config(ConfigCommand::Print(_)) => print_config(&matches),
        Command::Db(command) => maintain(command, &matches),
        Command::Network(command) => return manage(&command),
        Command::Load(args) => load(args),
        Command::Client(command) => return ask(client(&command)),
        Command::Proof(ProofCommand::Get(args)) => return ask(get_proof(&args)),
        Command::Proof(ProofCommand::Verify(args)) => return verify(&args),
        Command::Openrpc => print(&openrpc()),
        Command::Completions { shell } => print(&completions(shell)),
        Command::Man { dir: None } => man_page().map_err(AnyError::from).and_then(|page| print(&page)),
        Command::Man { dir: Some(dir) } => {
            write_man_pages(&dir).map_err(|error| format!("cannot write to {}: {error}", dir.display()).into())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&*error, ExitCode::FAILURE),
    }
}

/// Prints an error in the command line or the environment, and exits. Hides text that looks like a secret key.
fn refuse(error: &clap::Error) -> ! {
    let shown = hide_keys(&usage_error(error, env::args_os()));
    if shown == error.to_string() {
        error.exit();
    }
    drop(writeln!(io::stderr(), "{}", shown.trim_end()));
    std::process::exit(error.exit_code())
}

fn complain(error: &(dyn Error + 'static), code: ExitCode) -> ExitCode {
    let hint = hint(error).map(|hint| format!("; {hint}")).unwrap_or_default();
    drop(writeln!(io::stderr(), "silica: {}{hint}", with_causes(error)));
    code
}

/// Returns an error and its causes, separated by colons.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        write!(text, ": {error}").expect("strings accept every write");
        cause = error.source();
    }
    text
}

fn print(text: &str) -> Result<(), AnyError> {
    match writeln!(io::stdout(), "{text}") {
        // Ignore a closed pipe, for example of `silica openrpc | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| format!("cannot write to standard output: {error}").into()),
    }
}

/// Returns the matches of the innermost subcommand, which has the options of the command.
fn leaf_matches(mut matches: &ArgMatches) -> &ArgMatches {
    while let Some((_, further)) = matches.subcommand() {
        matches = further;
    }
    matches
}

fn settings(matches: &ArgMatches) -> Result<Settings, AnyError> {
    Ok(Settings::gather(leaf_matches(matches))?)
}

fn print_config(matches: &ArgMatches) -> Result<(), AnyError> {
    let settings = settings(matches)?;
    print(settings.to_string().trim_end())
}

fn run_node(matches: &ArgMatches, parent: u32) -> Result<(), AnyError> {
    protect_files();
    let settings = settings(matches)?;
    init_telemetry(&settings.args().log, settings.args().log_format)?;
    let config = settings.config();
    // Only `config` has the mnemonic. The node erases the mnemonic after it has derived the accounts.
    let args = RunArgs { mnemonic: None, ..settings.into_args() };
    let parent = args.exit_with_parent.map(|wanted| LivingParent::new(wanted, parent)).transpose()?;
    let runtime = Builder::new_multi_thread().enable_all().thread_keep_alive(KEEP_ALIVE).build()?;
    let outcome = runtime.block_on(run_until_ended(config, &args, parent));
    // Do not wait for work on other threads, so that a second signal ends the process immediately.
    runtime.shutdown_background();
    outcome
}

/// The events that end a node.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
    parent: Option<LivingParent>,
}

impl Ends {
    fn new(parent: Option<LivingParent>) -> io::Result<Self> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Self { interrupt, terminate, parent })
    }

    /// Waits for SIGINT or SIGTERM.
    async fn signal(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for SIGINT or SIGTERM, or for the end of the parent process.
    async fn any(&mut self) {
        let Some(parent) = self.parent else { return self.signal().await };
        tokio::select! {
            () = self.signal() => {}
            () = parent.ended() => tracing::info!("the parent process has ended; the node stops"),
        }
    }
}

async fn run_until_ended(config: Config, args: &RunArgs, parent: Option<LivingParent>) -> Result<(), AnyError> {
    let mut ends = Ends::new(parent)?;
    let mut node = tokio::select! {
        node = Node::start(config) => node?,
        // The node has acknowledged nothing. An exit at any moment does not damage the store.
        () = ends.any() => return Ok(()),
    };
    let mut ready_file = node.take_ready_file();
    let announced = announce(&node, args, ready_file.as_mut());
    if announced.is_ok() {
        ends.any().await;
    }
    if let Some(Err(error)) = ready_file.as_mut().map(ReadyFile::remove) {
        tracing::warn!(error = &error as &dyn Error, "failed to remove the ready file; the next start replaces it");
    }
    tracing::info!("stopping; a second signal stops at once");
    let longest = Duration::from_secs(args.stop_timeout);
    let stopped: Result<(), AnyError> = tokio::select! {
        stopped = timeout(longest, node.stop()) => match stopped {
            Ok(stopped) => stopped.map_err(AnyError::from),
            Err(_) => Err(format!(
                "did not stop within {longest:?}; pending transactions can be lost; acknowledged blocks are safe, except \
                 with --ephemeral or --durability relaxed"
            )
            .into()),
        },
        () = ends.signal() => Err("stopped at once".into()),
    };
    announced.and(stopped)
}

/// Prints the banner, and writes the ready file.
fn announce(node: &RunningNode, args: &RunArgs, ready_file: Option<&mut ReadyFile>) -> Result<(), AnyError> {
    let banner = node.banner();
    if let Some(text) = banner.in_form(args.banner) {
        print(&text)?;
    }
    if let Some(file) = ready_file {
        file.write(format!("{}\n", banner.to_json()))?;
    }
    Ok(())
}

fn load(args: LoadArgs) -> Result<(), AnyError> {
    let report = Runtime::new()?.block_on(send_load(args))?;
    print(&report.to_string())
}

/// Runs a client command. Prints its output or its error, and returns its exit status.
fn ask(command: impl Future<Output = Result<Answer, ClientError>>) -> ExitCode {
    /// Exit status if the command has no response, as `--help` states.
    const NO_ANSWER: u8 = 2;
    let answer = match Runtime::new() {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => return complain(&error, ExitCode::from(NO_ANSWER)),
    };
    match answer {
        Ok(answer) => {
            if let Some(note) = answer.note() {
                drop(writeln!(io::stderr(), "{note}"));
            }
            match print(&answer.to_string()) {
                Ok(()) => ExitCode::from(answer.exit_status()),
                Err(error) => {
                    if let Some(hash) = answer.sent() {
                        drop(writeln!(io::stderr(), "transaction {hash} was sent; to query it: silica tx {hash}"));
                    }
                    complain(&*error, ExitCode::from(NO_ANSWER))
                }
            }
        }
        Err(error) => complain(&error, ExitCode::from(error.exit_status())),
    }
}

/// Verifies a proof, and prints the result. The exit status states the result for scripts.
fn verify(args: &VerifyArgs) -> ExitCode {
    /// Exit status if the command has no response to verify, as `--help` states.
    const NOTHING_TO_CHECK: u8 = 2;
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&error, ExitCode::from(NOTHING_TO_CHECK)),
    };
    match runtime.block_on(verify_proof(args)) {
        Ok(report) => match print(&report.to_string()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&*error, ExitCode::from(NOTHING_TO_CHECK)),
        },
        Err(error) if error.is_refutation() => complain(&error, ExitCode::FAILURE),
        Err(error) => complain(&error, ExitCode::from(NOTHING_TO_CHECK)),
    }
}

/// Runs a command for a network file. Prints its output, and returns its exit status.
fn manage(command: &NetworkCommand) -> ExitCode {
    let Report { text, warnings, has_faults } = match network(command) {
        Ok(report) => report,
        Err(error) => return complain(&error, ExitCode::FAILURE),
    };
    for warning in warnings {
        drop(writeln!(io::stderr(), "silica: warning: {warning}"));
    }
    match print(&text) {
        Ok(()) if has_faults => ExitCode::FAILURE,
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&*error, ExitCode::FAILURE),
    }
}

fn maintain(command: DbCommand, matches: &ArgMatches) -> Result<(), AnyError> {
    protect_files();
    init_telemetry("info", LogFormat::default())?;
    let data_dir = Settings::data_dir(leaf_matches(matches))?;
    let report = match command {
        DbCommand::Check { continues: true, .. } => continue_db_check(&data_dir)?.to_string(),
        DbCommand::Check { .. } => check_db(&data_dir)?.to_string(),
        DbCommand::Rebuild(_) => rebuild_db(&data_dir)?.to_string(),
        DbCommand::Dump { file, .. } => dump_db(&data_dir, &file)?.to_string(),
        DbCommand::Load { file, .. } => load_db(&file, &data_dir)?.to_string(),
        DbCommand::Export { from, to, output, .. } => {
            // As in other commands, `-` is standard output.
            let file = output.filter(|path| path.as_os_str() != "-");
            let range = ExportRange { from, to };
            let report = match export_db(&data_dir, range, file.as_deref()) {
                Err(error) if error.is_closed_output() => return Ok(()),
                exported => exported?,
            };
            if report.file.is_none() {
                drop(writeln!(io::stderr(), "{report}"));
                return Ok(());
            }
            report.to_string()
        }
    };
    print(&report)
}
