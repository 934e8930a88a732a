//! The configuration of the engine.

use std::{net::IpAddr, str::FromStr, time::Duration};

use arc_malachitebft_app::{
    config::{ConsensusConfig, P2pConfig, ProtocolNames, PubSubMaxSizePerTopic, ValueSyncConfig},
    net::Multiaddr,
};
use silica_council::{MAX_MEMBERS, NetworkFile};
use silica_protocol::hex;

use crate::codec::max_response;

/// An address is not a host and a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("agreement address: expected a host and a port, such as 10.0.0.1:4211, got {got:?}")]
pub struct AddressError {
    /// The address.
    pub got: String,
}

/// Returns the address of a host and a port in the form of the network library.
pub(crate) fn multiaddr(address: &str) -> Result<Multiaddr, AddressError> {
    let error = || AddressError { got: address.to_owned() };
    let (host, port) = address.rsplit_once(':').ok_or_else(error)?;
    let port: u16 = port.parse().map_err(|_| error())?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let text = match host.parse() {
        Ok(IpAddr::V4(ip)) => format!("/ip4/{ip}/tcp/{port}"),
        Ok(IpAddr::V6(ip)) => format!("/ip6/{ip}/tcp/{port}"),
        Err(_) => format!("/dns/{host}/tcp/{port}"),
    };
    text.parse().map_err(|_| error())
}

/// Returns the configuration of the engine for the member at `index`. Only members with an address in the network file
/// can connect.
///
/// # Errors
///
/// [`AddressError`] if `listen` or an address of the network file is invalid.
pub(crate) fn consensus(network: &NetworkFile, index: usize, listen: &str) -> Result<ConsensusConfig, AddressError> {
    let mut peers = Vec::new();
    for address in network.addresses().iter().filter(|address| address.member != index) {
        let Some(member) = network.members().get(address.member) else { continue };
        let text = format!("{}/p2p/{}", multiaddr(&address.agreement)?, member.peer);
        peers.push(text.parse().map_err(|_| AddressError { got: text.clone() })?);
    }
    let id = hex::encode(network.id().as_bytes());
    let id = id.get(..16).unwrap_or(&id);
    let max_body = network.parameters().body_limits().bytes;
    let mut p2p = P2pConfig {
        listen_addr: multiaddr(listen)?,
        persistent_peers: peers,
        persistent_peers_only: true,
        rpc_max_size: bytes(max_response(max_body)),
        pubsub_max_size_per_topic: PubSubMaxSizePerTopic {
            consensus: Some("16 KiB".parse().unwrap_or_default()),
            proposal_parts: Some("160 KiB".parse().unwrap_or_default()),
            liveness: Some("64 KiB".parse().unwrap_or_default()),
        },
        // The names have the start of the network id, so nodes of two networks have no protocol in common.
        protocol_names: ProtocolNames {
            consensus: format!("/silica/{id}/consensus/v1"),
            discovery_kad: format!("/silica/{id}/discovery/kad/v1"),
            discovery_regres: format!("/silica/{id}/discovery/regres/v1"),
            sync: format!("/silica/{id}/sync/v1"),
            validator_proof: format!("/silica/{id}/proof/v1"),
        },
        ..P2pConfig::default()
    };
    p2p.discovery.enabled = false;
    // All members of a test network have the IP address of one machine.
    p2p.discovery.max_connections_per_ip = MAX_MEMBERS.saturating_mul(4);
    p2p.discovery.ip_throttle_duration = Duration::ZERO;
    Ok(ConsensusConfig { p2p, ..ConsensusConfig::default() })
}

/// Returns the configuration of value sync, if a body has at most `max_body` bytes. A member announces its height with
/// each decision.
pub(crate) fn value_sync(max_body: usize) -> ValueSyncConfig {
    ValueSyncConfig {
        status_update_interval: Duration::ZERO,
        max_response_size: bytes(max_response(max_body)),
        ..ValueSyncConfig::default()
    }
}

/// Returns a number of bytes in the form of the engine, whose type has no public name.
fn bytes<T: FromStr + Default>(count: usize) -> T {
    format!("{count} B").parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use arc_malachitebft_app::types::{
        codec::HasEncodedLen as _,
        core::{CommitCertificate, CommitSignature, Round},
    };
    use arc_malachitebft_sync::{RawDecidedValue, Response, ValueResponse};

    use super::*;
    use crate::{
        codec::{EngineCodec, extended},
        types::{EngineHeight, EngineSignature, MemberIndex, ValueId},
    };

    /// The answer has the largest body. It has the certificate of the decision twice: in the entry, and next to the
    /// entry.
    #[test]
    fn an_answer_with_the_largest_body_is_within_the_limits() {
        let votes = (0..u16::try_from(MAX_MEMBERS).unwrap())
            .map(|member| CommitSignature::new(MemberIndex(member), EngineSignature([1; 64])));
        let certificate = CommitCertificate {
            height: EngineHeight(1),
            round: Round::new(0),
            value_id: ValueId([1; 32]),
            commit_signatures: votes.collect(),
        };
        for max_body in [64 << 10, 16 << 20] {
            let entry = borsh::to_vec(&(&certificate, vec![1_u8; max_body])).unwrap();
            let value = RawDecidedValue::new(entry.into(), extended(certificate.clone()));
            let answer = Response::ValueResponse(ValueResponse::new(EngineHeight(1), vec![value]));
            let len = u64::try_from(EngineCodec.encoded_len(&answer).unwrap()).unwrap();
            let limit = value_sync(max_body).max_response_size.as_u64();
            assert!(len <= limit, "{len} bytes, {limit}");
        }
    }

    #[test]
    fn hosts_and_ports_become_addresses() {
        for (text, expected) in [
            ("10.0.0.1:4211", "/ip4/10.0.0.1/tcp/4211"),
            ("[::1]:4211", "/ip6/::1/tcp/4211"),
            ("a.example:1", "/dns/a.example/tcp/1"),
        ] {
            assert_eq!(multiaddr(text).unwrap().to_string(), expected);
        }
        for text in ["", "10.0.0.1", "10.0.0.1:x", "10.0.0.1:70000", "a/b:1"] {
            let error = multiaddr(text).unwrap_err();
            assert_eq!(error, AddressError { got: text.to_owned() });
        }
    }
}
