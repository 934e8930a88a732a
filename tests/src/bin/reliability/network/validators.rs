//! Four validators on this machine, with a topology between them.

use std::{
    fs,
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use silica_protocol::PublicKey;
use silica_tests::{
    Directory, Node,
    chain::number,
    node::{free_ports, run},
    root::SmallDisk,
};

use super::{
    MEMBERS,
    topology::{State, Topology},
};
use crate::kill::check_clean;

/// Longest time for an event that must come.
const PATIENCE: Duration = Duration::from_mins(3);
/// Size of the disk of the last member, in MiB.
const DISK: u32 = 512;

/// The log of a failed trial has the decisions and the requests for missing blocks.
const LOG: &str = "info,silica_network=debug,arc_malachitebft_engine::sync=debug,arc_malachitebft_sync=debug";

const NAMES: [&str; MEMBERS] = ["a", "b", "c", "d"];

/// The addresses of the servers. A member that is down has none.
#[derive(Debug, Default)]
pub(super) struct Addresses([Mutex<Option<SocketAddr>>; MEMBERS]);

impl Addresses {
    pub(super) fn get(&self, member: usize) -> Option<SocketAddr> {
        *self.0.get(member)?.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, member: usize, address: Option<SocketAddr>) {
        if let Some(place) = self.0.get(member) {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = address;
        }
    }
}

/// The validators of a network.
#[derive(Debug)]
pub(super) struct Validators<'a> {
    nodes: Vec<Option<Node>>,
    addresses: &'a Addresses,
    topology: Box<dyn Topology>,
    path: PathBuf,
    data: Vec<PathBuf>,
    keys: Vec<PublicKey>,
    /// The disk of the last member, if root runs the trials.
    pub(super) disk: Option<SmallDisk>,
    _directory: Directory,
}

impl<'a> Validators<'a> {
    /// Makes a network, and starts all members. `topology` gets the port of the first member; the ports of the others
    /// follow. `changes` are replacements in the network file.
    pub(super) fn start(
        addresses: &'a Addresses,
        topology: fn(u16) -> Box<dyn Topology>,
        changes: &[(&str, &str)],
        has_disk: bool,
    ) -> Self {
        let directory = Directory::new();
        let path = directory.path().join("network");
        let first = free_ports(u16::try_from(MEMBERS).expect("four"));
        let made = run(&["network", "local", "4", text(&path), "--port", &first.to_string()]);
        assert!(made.status.success(), "{}", made.output);
        let mut file = fs::read_to_string(path.join("network.toml")).expect("the command wrote it");
        for (old, new) in changes {
            assert!(file.contains(old), "{old:?} is missing in\n{file}");
            file = file.replace(old, new);
        }
        let keys = file.lines().filter_map(|line| line.strip_prefix("key = "));
        let keys = keys.map(|key| key.trim_matches('"').parse().expect("a public key")).collect();
        let topology = topology(first);
        for (from, name) in NAMES.iter().enumerate() {
            // Each member has a file with the addresses at which it reaches the others.
            let mut own = file.clone();
            for (to, port) in (0..MEMBERS).zip(first..) {
                let address = topology.agreement(from, to);
                own = own.replace(&format!("\"127.0.0.1:{port}\""), &format!("\"{address}\""));
            }
            fs::write(path.join(format!("{name}.toml")), own).expect("the temporary directory is writable");
        }
        let mut data: Vec<PathBuf> = NAMES.iter().map(|name| path.join(name)).collect();
        let disk = has_disk.then(|| SmallDisk::new(DISK));
        if let (Some(disk), Some(last)) = (&disk, data.last_mut()) {
            let moved = disk.path().join("data");
            let copied = std::process::Command::new("cp").arg("-a").arg(&*last).arg(&moved).status();
            assert!(copied.expect("cp runs").success(), "the data directory is copied");
            *last = moved;
        }
        let nodes = (0..MEMBERS).map(|_| None).collect();
        let mut validators = Self { nodes, addresses, topology, path, data, keys, disk, _directory: directory };
        (0..MEMBERS).for_each(|member| validators.start_member(member));
        validators
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the public keys of the members.
    pub(super) fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    pub(super) fn start_member(&mut self, member: usize) {
        let (Some(data), Some(name), Some(place)) =
            (self.data.get(member), NAMES.get(member), self.nodes.get_mut(member))
        else {
            return;
        };
        let file = self.path.join(format!("{name}.toml"));
        let listen = SocketAddr::new(self.topology.service(member), 0).to_string();
        let args = ["--data-dir", text(data), "--listen", &listen, "--network", text(&file), "--validator"];
        let further = ["--websocket", "off", "--acknowledge", "block", "--log", LOG];
        let node = Node::start_by(self.topology.starter(member), &[&args[..], &further].concat());
        self.addresses.set(member, Some(node.address()));
        *place = Some(node);
    }

    pub(super) fn node(&self, member: usize) -> &Node {
        self.nodes.get(member).and_then(Option::as_ref).expect("the member runs")
    }

    /// Returns all members that run.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten()
    }

    /// Kills members with SIGKILL, and checks their directories as the crash left them.
    pub(super) fn kill(&mut self, members: &[usize]) {
        // The signals come before the first wait, so that all members end at once.
        for member in members {
            self.node(*member).signal("KILL");
        }
        for member in members {
            self.end(*member, "KILL");
        }
        for data in members.iter().filter_map(|member| self.data.get(*member)) {
            check_clean(data);
        }
    }

    /// Stops a member with SIGTERM.
    pub(super) fn stop(&mut self, member: usize) {
        self.end(member, "TERM");
    }

    fn end(&mut self, member: usize, signal: &str) {
        self.addresses.set(member, None);
        let node = self.nodes.get_mut(member).and_then(Option::take).expect("the member runs");
        let ended = node.interrupt(signal);
        self.keep_log(member, &ended.output);
        assert!(!ended.output.contains("panicked"), "{}", ended.output);
        assert!(signal == "KILL" || ended.status.success(), "{}:\n{}", ended.status, ended.output);
    }

    /// Sets the connections between the members of `side` and all others.
    pub(super) fn separate(&mut self, side: &[usize], state: State) {
        self.topology.separate(side, state);
    }

    pub(super) fn topology(&mut self) -> &mut dyn Topology {
        &mut *self.topology
    }

    /// Waits until all `members` have `more` blocks after the highest block that one of them has now.
    pub(super) fn wait_for_blocks(&self, members: &[usize], more: u64) {
        let heights = || members.iter().map(|member| height(self.node(*member)));
        let target = heights().max().unwrap_or_default() + more;
        let begun = Instant::now();
        while heights().any(|height| height < target) {
            let heights: Vec<u64> = heights().collect();
            assert!(begun.elapsed() < PATIENCE, "members {members:?} have {heights:?} blocks, not {target}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops all members, and checks their directories.
    pub(super) fn finish(mut self) {
        (0..MEMBERS).for_each(|member| self.stop(member));
        for data in &self.data {
            check_clean(data);
        }
    }

    /// Appends the output of a member to its log file.
    fn keep_log(&self, member: usize, output: &str) {
        let path = self.path.join(format!("{}.log", NAMES.get(member).unwrap_or(&"")));
        let file = fs::File::options().append(true).create(true).open(path);
        // A missing log does not change the result of the trial.
        drop(file.and_then(|mut file| file.write_all(output.as_bytes())));
    }
}

impl Drop for Validators<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            for (member, node) in self.nodes.iter().enumerate() {
                if let Some(node) = node {
                    self.keep_log(member, &node.output());
                }
            }
            println!("the files of the network are in {}", self.path.display());
        }
    }
}

/// Returns the number of blocks of a member.
pub(super) fn height(node: &Node) -> u64 {
    number(&node.result("GetNumTxBlocks", &json!([""])))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}
