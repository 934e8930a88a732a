//! Who makes blocks: keys, network addresses and their hashes.

use std::{fmt, net::Ipv4Addr};

use crate::key::PublicKey;

/// Network address of a committee member: twenty bytes, of which four hold an IPv4 address and four the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer([u8; 20]);

impl Peer {
    /// Packs an address and a port.
    pub const fn new(ip: Ipv4Addr, port: u16) -> Self {
        let [a, b, c, d] = ip.octets();
        let [high, low] = port.to_be_bytes();
        Self([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, d, c, b, a, 0, 0, high, low])
    }

    /// Returns the IPv4 address.
    pub const fn ip(self) -> Ipv4Addr {
        let [.., d, c, b, a, _, _, _, _] = self.0;
        Ipv4Addr::new(a, b, c, d)
    }

    /// Returns the port.
    pub const fn port(self) -> u32 {
        let [.., a, b, c, d] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ip(), self.port())
    }
}

/// A member of a shard, as the sharding structure lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardMember {
    /// Key of the member.
    pub key: PublicKey,
    /// Where the member listens.
    pub peer: Peer,
    /// Standing of the member.
    pub reputation: u32,
}
