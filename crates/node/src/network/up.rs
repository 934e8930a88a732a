//! `silica network up`.

use std::{
    env,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Sender, channel},
    thread,
};

use clap::{Args, value_parser};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

use super::{NetworkError, Report, file, local::FILE};
use crate::terminal::visible;

/// Arguments of `silica network up`.
#[derive(Clone, Debug, Args)]
pub(crate) struct UpArgs {
    /// The directory that `silica network local` has made.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Port of the JSON-RPC server of the first validator on 127.0.0.1. The others have the next ports.
    #[arg(long, value_name = "PORT", default_value_t = 5555, value_parser = value_parser!(u16).range(1..))]
    pub rpc_port: u16,
}

/// An event while the validators run.
enum Event {
    Signal,
    Ended { name: String, status: io::Result<ExitStatus> },
}

/// Starts the validators, and waits for a signal or for the end of one of them.
pub(super) fn up(args: &UpArgs) -> Result<Report, NetworkError> {
    if !cfg!(feature = "network") {
        return Err(NetworkError::NoEngine);
    }
    let path = args.dir.join(FILE);
    let network = file::read(&path)?;
    let members = u16::try_from(network.members().len()).unwrap_or(u16::MAX);
    let most = u16::MAX.saturating_sub(members.saturating_sub(1));
    if args.rpc_port > most {
        return Err(NetworkError::Ports { option: "--rpc-port", most, members, got: args.rpc_port });
    }
    let program = env::current_exe().map_err(NetworkError::io("find the path of", "this program"))?;
    let (events, queue) = channel();
    watch_signals(events.clone()).map_err(NetworkError::io("watch the signals of", "this process"))?;
    let mut running = Vec::new();
    for (member, port) in network.members().iter().zip(args.rpc_port..) {
        let child = start(&program, &path, &args.dir.join(&member.name), port);
        match child {
            Ok(child) => running.push(watch(member.name.clone(), child, events.clone())),
            Err(error) => {
                stop(&running);
                return Err(NetworkError::io("start", program)(error));
            }
        }
        drop(writeln!(io::stdout(), "member {}: http://127.0.0.1:{port}", member.name));
    }
    let (mut left, mut failure) = (running.len(), None);
    let mut is_stopping = false;
    while left > 0 {
        let Ok(event) = queue.recv() else { break };
        if let Event::Ended { name, status } = event {
            left = left.saturating_sub(1);
            let is_orderly = is_stopping && status.as_ref().is_ok_and(ExitStatus::success);
            if !is_orderly && failure.is_none() {
                let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                failure = Some(NetworkError::Ended { name, status });
            }
        }
        if !is_stopping {
            is_stopping = true;
            stop(&running);
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok(Report::new("all members have stopped".to_owned())),
    }
}

/// Starts a validator. It stops if this process ends. It has a process group of its own, so that Ctrl-C in a terminal
/// stops only this process, which stops the validators in order.
fn start(program: &Path, network: &Path, data_dir: &Path, port: u16) -> io::Result<Child> {
    Command::new(program)
        .arg("--network")
        .arg(network)
        .arg("--validator")
        .arg("--data-dir")
        .arg(data_dir)
        .args(["--listen", &format!("127.0.0.1:{port}"), "--websocket", "off", "--banner", "none"])
        .arg("--exit-with-parent")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// Prints the lines of a validator with its name in front, and reports its end. Returns its process id.
fn watch(name: String, mut child: Child, events: Sender<Event>) -> Option<Pid> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let outputs: [Option<Box<dyn Read + Send>>; 2] =
        [stdout.map(|it| Box::new(it) as Box<dyn Read + Send>), stderr.map(|it| Box::new(it) as Box<dyn Read + Send>)];
    let printers: Vec<_> = outputs
        .into_iter()
        .flatten()
        .map(|output| {
            let name = name.clone();
            thread::spawn(move || {
                for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                    drop(writeln!(io::stderr(), "{name} | {}", visible(&String::from_utf8_lossy(&line))));
                }
            })
        })
        .collect();
    thread::spawn(move || {
        let status = child.wait();
        for printer in printers {
            drop(printer.join());
        }
        drop(events.send(Event::Ended { name, status }));
    });
    pid
}

/// Requests an orderly stop of each validator.
fn stop(running: &[Option<Pid>]) {
    for pid in running.iter().flatten() {
        // A process that has ended needs no signal.
        let _: Result<(), _> = kill_process(*pid, Signal::TERM);
    }
}

/// Reports the first signal that ends this program.
fn watch_signals(events: Sender<Event>) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
            let [Ok(mut interrupt), Ok(mut terminate)] = kinds else { return };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            drop(events.send(Event::Signal));
        });
    })?;
    Ok(())
}
