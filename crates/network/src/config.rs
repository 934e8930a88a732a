//! The configuration of the engine.

use std::{net::IpAddr, time::Duration};

use arc_malachitebft_app::{
    config::{ConsensusConfig, P2pConfig, ProtocolNames, PubSubMaxSizePerTopic, ValueSyncConfig},
    net::Multiaddr,
};
use silica_council::{MAX_MEMBERS, NetworkFile};
use silica_protocol::hex;

/// An address is not a host and a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("agreement address: expected a host and a port, such as 10.0.0.1:4211, got {got:?}")]
pub struct AddressError {
    /// The address.
    pub got: String,
}

/// Returns the address of a host and a port in the form of the network library.
fn multiaddr(address: &str) -> Result<Multiaddr, AddressError> {
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

/// Returns the configuration of the engine for the member at `index`. Only members of the network file can connect.
pub(crate) fn consensus(network: &NetworkFile, index: usize, listen: &str) -> Result<ConsensusConfig, AddressError> {
    let mut peers = Vec::new();
    for address in network.addresses().iter().filter(|address| address.member != index) {
        let Some(member) = network.members().get(address.member) else { continue };
        let text = format!("{}/p2p/{}", multiaddr(&address.agreement)?, member.peer);
        peers.push(text.parse().map_err(|_| AddressError { got: text.clone() })?);
    }
    let id = hex::encode(network.id().as_bytes());
    let id = id.get(..16).unwrap_or(&id);
    let mut p2p = P2pConfig {
        listen_addr: multiaddr(listen)?,
        persistent_peers: peers,
        persistent_peers_only: true,
        pubsub_max_size_per_topic: PubSubMaxSizePerTopic {
            consensus: Some("16 KiB".parse().unwrap_or_default()),
            proposal_parts: Some("160 KiB".parse().unwrap_or_default()),
            liveness: Some("64 KiB".parse().unwrap_or_default()),
        },
        // Members of other networks do not even negotiate.
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
    // All members of a test network have the address of this machine.
    p2p.discovery.max_connections_per_ip = MAX_MEMBERS.saturating_mul(4);
    p2p.discovery.ip_throttle_duration = Duration::ZERO;
    Ok(ConsensusConfig { p2p, ..ConsensusConfig::default() })
}

/// Returns the configuration of value sync. A member announces its height with each decision.
pub(crate) fn value_sync() -> ValueSyncConfig {
    ValueSyncConfig { status_update_interval: Duration::ZERO, ..ValueSyncConfig::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

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
