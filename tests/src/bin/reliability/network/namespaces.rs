//! Four members in network namespaces of their own, and a router between them.
//!
//! The trial is the router. Each member has a link for the agreement, and a link to its server for the clients. A
//! partition changes the first link only. The kernel drops the packets of a partition, so connections stay half open,
//! and TCP retransmits.
//!
//! All namespaces are anonymous. They and all members end with the process of the trial, whatever ends it.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use silica_tests::node::binary;

use super::{
    MEMBERS,
    plan::{Kind, Mix},
    topology::{State, Topology, crosses},
};

/// The kinds of trials. Half of the trials of a cycle cut connections.
pub(super) const MIX: Mix = Mix {
    once: &[
        Kind::Kill,
        Kind::KillAll,
        Kind::Halves,
        Kind::Alone,
        Kind::Frozen,
        Kind::Rolling,
        Kind::PowerLoss,
        Kind::Narrow,
    ],
    more: &[(Kind::Kill, 3), (Kind::Halves, 2), (Kind::Alone, 2), (Kind::PowerLoss, 1)],
    // Some 60 s are enough for several retransmissions of TCP, and for all attempts of the network library.
    longest_cut: Duration::from_mins(1),
};

/// The programs that make and use namespaces.
const PROGRAMS: [&str; 5] = ["ip", "nsenter", "setpriv", "tc", "unshare"];
/// This variable has the network namespace in which the trial began.
const OUTSIDE: &str = "SILICA_TRIAL_OUTSIDE";
/// The network namespace of this process.
const OWN: &str = "/proc/self/ns/net";
/// The links of a member, with the second byte of their addresses.
const LINKS: [(&str, u8); 2] = [("agree", AGREEMENT), ("serve", SERVICE)];
const AGREEMENT: u8 = 66;
const SERVICE: u8 = 67;
/// A narrow link: less than the load of a member needs, and room for two packets.
const NARROW: &str = "tbf rate 128kbit burst 3000 limit 3000";

/// Moves this process to a new network namespace, where it begins again.
///
/// # Errors
///
/// What the system lacks.
pub(super) fn enter() -> Result<(), String> {
    let own = fs::read_link(OWN).map_err(|error| format!("cannot read {OWN}: {error}"))?;
    if env::var_os(OUTSIDE).is_some_and(|outside| outside != own.as_os_str()) {
        return Ok(());
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let path = env::var_os("PATH").unwrap_or_default();
    let exists = |program: &str| env::split_paths(&path).any(|directory| directory.join(program).is_file());
    let mut missing: Vec<&str> = PROGRAMS.into_iter().filter(|program| !exists(program)).collect();
    if !is_root {
        missing.insert(0, "the rights of root");
    }
    if !missing.is_empty() {
        return Err(format!("trials with network namespaces need {}, which this system lacks", missing.join(", ")));
    }
    let program = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut unshare = Command::new("unshare");
    unshare.arg("--net").arg(program).args(env::args_os().skip(1)).env(OUTSIDE, own);
    // The call returns only if it fails. If the kernel refuses the namespace, `unshare` prints the reason.
    Err(format!("cannot run unshare: {}", unshare.exec()))
}

/// A network namespace. It ends with its last process.
#[derive(Debug)]
struct Namespace(Child);

impl Namespace {
    /// Makes a namespace with a process. The end of this process ends the input of the process, and so the process.
    fn make() -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = command.spawn().expect("unshare runs");
        let (input, output) = (holder.stdin.as_mut(), holder.stdout.as_mut());
        input.expect("the input is a pipe").write_all(b"x").expect("unshare makes a namespace");
        // Only the program in the namespace copies its input.
        output.expect("the output is a pipe").read_exact(&mut [0]).expect("unshare makes a namespace");
        Self(holder)
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.0.id().to_string()).join(name)
    }

    /// Returns the command that runs a program in this namespace.
    fn command(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.file("ns/net").display()));
        command
    }

    fn run(&self, line: &str) {
        run(self.command(), line);
    }

    /// Returns the number of TCP segments that the kernel has sent again.
    fn retransmitted(&self) -> u64 {
        let counters = fs::read_to_string(self.file("net/snmp")).expect("root reads it");
        let mut lines = counters.lines().filter_map(|line| line.strip_prefix("Tcp: "));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let mut counters = names.split(' ').zip(values.split(' '));
        let (_, count) = counters.find(|(name, _)| *name == "RetransSegs").expect("Linux counts them");
        count.parse().expect("a counter is a number")
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Four members with a router between them.
#[derive(Debug)]
pub(super) struct Namespaces {
    /// Port of the first member. The ports of the others follow.
    first: u16,
    members: Vec<Namespace>,
    /// The rules of the router that drop packets.
    rules: Vec<String>,
    /// Number of segments that TCP has sent again in namespaces that have ended.
    retransmitted: u64,
    /// Number of packets that narrow links have dropped.
    dropped: u64,
}

impl Namespaces {
    /// Makes the namespaces and the links. The members listen at successive ports from `first` on.
    ///
    /// # Panics
    ///
    /// If the system refuses a namespace or a link.
    pub(super) fn make(first: u16) -> Self {
        let is_outside = env::var_os(OUTSIDE).is_none_or(|outside| fs::read_link(OWN).is_ok_and(|own| own == outside));
        assert!(!is_outside, "the network of the machine must not change");
        host("ip link set lo up");
        fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("root can make a router of a namespace");
        let members = (0..MEMBERS).map(connected).collect();
        for member in 0..MEMBERS {
            // Packets to a machine that is off are lost. A link has a better route.
            let [a, b, c, _] = address(AGREEMENT, member).octets();
            host(&format!("ip route add blackhole {a}.{b}.{c}.0/24 metric 1000"));
        }
        Self { first, members, rules: Vec::new(), retransmitted: 0, dropped: 0 }
    }

    fn member(&self, member: usize) -> &Namespace {
        self.members.get(member).expect("a member has a namespace")
    }
}

/// Makes a namespace with both links of a member.
fn connected(member: usize) -> Namespace {
    let namespace = Namespace::make();
    namespace.run("ip link set lo up");
    for (link, net) in LINKS {
        let own = address(net, member);
        let [a, b, c, _] = own.octets();
        let router = format!("{a}.{b}.{c}.1");
        let holder = namespace.0.id();
        host(&format!("ip link add {link}{member} type veth peer name {link} netns {holder}"));
        host(&format!("ip address add {router}/24 dev {link}{member}"));
        host(&format!("ip link set {link}{member} up"));
        namespace.run(&format!("ip address add {own}/24 dev {link}"));
        namespace.run(&format!("ip link set {link} up"));
        if net == AGREEMENT {
            namespace.run(&format!("ip route add default via {router}"));
        }
    }
    namespace
}

/// Returns the address of a member on one of its links.
fn address(net: u8, member: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, net, u8::try_from(member + 1).unwrap_or_default(), 2)
}

/// Runs a command in the namespace of the router, and returns its output.
fn host(line: &str) -> String {
    run(Command::new("env"), line)
}

fn run(mut command: Command, line: &str) -> String {
    let output = command.args(line.split(' ')).output().expect("the program was found");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{line}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text.into_owned()
}

/// Returns the number of packets that the queue of a link has dropped, from the statistics of `tc`.
fn dropped(statistics: &str) -> u64 {
    let (_, rest) = statistics.split_once("(dropped ").expect("a queue counts its losses");
    rest.split(',').next().and_then(|count| count.parse().ok()).expect("a counter is a number")
}

impl Topology for Namespaces {
    fn agreement(&self, _: usize, to: usize) -> SocketAddr {
        let port = (self.first..).nth(to).unwrap_or_default();
        (address(AGREEMENT, to), port).into()
    }

    fn service(&self, member: usize) -> IpAddr {
        address(SERVICE, member).into()
    }

    fn starter(&self, member: usize) -> Command {
        let mut command = self.member(member).command();
        // The kernel kills a member when the trial ends, even if the member is stopped.
        command.args(["setpriv", "--pdeathsig", "KILL"]).arg(binary());
        command
    }

    fn separate(&mut self, side: &[usize], state: State) {
        for rule in self.rules.drain(..) {
            host(&format!("ip rule delete {rule}"));
        }
        if let [alone] = side {
            let state = if state == State::Closed { "down" } else { "up" };
            host(&format!("ip link set agree{alone} {state}"));
        }
        let action = match state {
            State::Open => return,
            State::Delayed => "blackhole",
            State::Closed => "unreachable",
        };
        for from in 0..MEMBERS {
            for to in (0..MEMBERS).filter(|to| crosses(side, from, *to)) {
                let rule = format!("from {} to {} {action}", address(AGREEMENT, from), address(AGREEMENT, to));
                host(&format!("ip rule add {rule}"));
                self.rules.push(rule);
            }
        }
    }

    fn cut(&self, side: &[usize], state: State) -> &'static str {
        match (side, state) {
            (_, State::Open) => "",
            (_, State::Delayed) => "lost packets",
            ([_], State::Closed) => "link down",
            (_, State::Closed) => "hosts that the router reports as unreachable",
        }
    }

    fn power(&mut self, member: usize, is_on: bool) {
        let Some(namespace) = self.members.get_mut(member) else { return };
        if is_on {
            self.retransmitted += namespace.retransmitted();
            *namespace = connected(member);
        } else {
            // The kernel would close the connections of a killed process. Without links, no packet leaves.
            for (link, _) in LINKS {
                host(&format!("ip link delete {link}{member}"));
            }
        }
    }

    fn narrow(&mut self, member: usize, is_narrow: bool) {
        let (inside, outside) = ("agree".to_owned(), format!("agree{member}"));
        let namespace = self.member(member);
        if is_narrow {
            namespace.run(&format!("tc qdisc add dev {inside} root {NARROW}"));
            host(&format!("tc qdisc add dev {outside} root {NARROW}"));
            return;
        }
        let mut sum = dropped(&run(namespace.command(), &format!("tc -s qdisc show dev {inside}")));
        sum += dropped(&host(&format!("tc -s qdisc show dev {outside}")));
        namespace.run(&format!("tc qdisc delete dev {inside} root"));
        host(&format!("tc qdisc delete dev {outside} root"));
        self.dropped += sum;
    }

    fn summary(&self) -> String {
        let retransmitted = self.retransmitted + self.members.iter().map(Namespace::retransmitted).sum::<u64>();
        assert!(retransmitted > 0, "cut connections lose segments");
        format!("TCP has sent {retransmitted} segments again; narrow links have dropped {} packets", self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_in_the_statistics() {
        let statistics = "qdisc tbf 8001: root refcnt 2 rate 128Kbit burst 3000b lat 0us\n Sent 1330 bytes 19 pkt (dropped \
                          12, overlimits 7 requeues 0)\n backlog 0b 0p requeues 0\n";
        assert_eq!(dropped(statistics), 12);
    }
}
