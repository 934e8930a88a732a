//! The connections between the members, and the places where the members run.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    process::Command,
};

/// How two members are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// Messages wait, and the members get no error.
    Delayed,
    /// No message passes, and the members get errors.
    Closed,
}

/// A network of four members on this machine.
pub(super) trait Topology: fmt::Debug {
    /// Returns the address at which the member `from` reaches the member `to`. With two equal members, this is the
    /// address at which the member listens.
    fn agreement(&self, from: usize, to: usize) -> SocketAddr;

    /// Returns the address at which a member serves clients.
    fn service(&self, member: usize) -> IpAddr;

    /// Returns the command that starts the node of a member, without the arguments of the node.
    fn starter(&self, member: usize) -> Command;

    /// Sets the connections between the members of `side` and all others.
    fn separate(&mut self, side: &[usize], state: State);

    /// Returns the effect of [`Self::separate`] in a few words.
    fn cut(&self, side: &[usize], state: State) -> &'static str;

    /// Ends or starts the machine of a member. No process of the member runs, and the others get no packet of its end.
    fn power(&mut self, member: usize, is_on: bool) {
        panic!("this topology has no machine {member} to set to {is_on}");
    }

    /// Limits the rate of the link of a member, or removes the limit.
    fn narrow(&mut self, member: usize, is_narrow: bool) {
        panic!("this topology has no link of member {member} to set to {is_narrow}");
    }

    /// Returns measurements of the connections.
    fn summary(&self) -> String {
        String::new()
    }
}

/// Returns whether exactly one of two members is in `side`.
pub(super) fn crosses(side: &[usize], from: usize, to: usize) -> bool {
    side.contains(&from) != side.contains(&to)
}
