//! Committees: public keys of members, their network addresses, and hashes of both.

use alloc::vec::Vec;
use core::{fmt, net::Ipv4Addr};

use prost::Message;

use crate::{
    hash::{CommitteeHash, ShardingHash, sha256},
    key::PublicKey,
    proto::{ByteArray, ProtoCommittee, ProtoShard, ProtoShardMember, ProtoShardingStructure},
};

/// Network address of a committee member in 20 bytes. Four bytes contain the IPv4 address, and the last four bytes
/// contain the port.
///
/// # Examples
///
/// ```
/// use silica_protocol::Peer;
/// let peer = Peer::new([54, 200, 30, 189].into(), 33133);
/// assert_eq!(peer.to_string(), "54.200.30.189:33133");
/// // The octets of the address are in reverse order.
/// assert_eq!(peer.as_bytes()[12..], [189, 30, 200, 54, 0, 0, 0x81, 0x6d]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer([u8; 20]);

impl Peer {
    /// Packs an IP address and a port.
    pub const fn new(ip: Ipv4Addr, port: u16) -> Self {
        let [a, b, c, d] = ip.octets();
        let [high, low] = port.to_be_bytes();
        Self([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, d, c, b, a, 0, 0, high, low])
    }

    /// Wraps the packed form.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Borrows the packed form.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Returns the IPv4 address.
    pub const fn ip(self) -> Ipv4Addr {
        let [.., d, c, b, a, _, _, _, _] = self.0;
        Ipv4Addr::new(a, b, c, d)
    }

    /// Returns the port. It has 32 bits in the packed form, so a value above 65,535 is possible.
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

/// A member of a shard in the sharding structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardMember {
    /// Public key of the member.
    pub key: PublicKey,
    /// Network address of the member.
    pub peer: Peer,
    /// Reputation of the member, by which the reference ranks solutions of the proof of work.
    pub reputation: u32,
}

/// Version of the format of the sharding structure.
const SHARDING_VERSION: u32 = 1;

impl CommitteeHash {
    /// Returns the hash of the public keys of a committee, in the order of the committee.
    pub fn of(keys: &[PublicKey]) -> Self {
        Self::new(sha256(&[&ProtoCommittee { members: ByteArray::wrap_keys(keys) }.encode_to_vec()]))
    }
}

impl ShardingHash {
    /// Returns the hash of a sharding structure.
    pub fn of(shards: &[Vec<ShardMember>]) -> Self {
        let member = |member: &ShardMember| ProtoShardMember {
            pubkey: Some(ByteArray::wrap(member.key)),
            peerinfo: Some(ByteArray::wrap(member.peer.as_bytes())),
            reputation: Some(member.reputation),
        };
        let shard = |members: &Vec<ShardMember>| ProtoShard { members: members.iter().map(member).collect() };
        let structure =
            ProtoShardingStructure { version: SHARDING_VERSION, shards: shards.iter().map(shard).collect() };
        Self::new(sha256(&[&structure.encode_to_vec()]))
    }
}
