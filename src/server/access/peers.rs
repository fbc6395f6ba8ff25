//! Identifies clients, behind trusted proxies by `X-Forwarded-For`, and counts what each has under way.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

use crate::server::reject::Rejection;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Prefix length of an IPv6 network that one customer controls.
const CUSTOMERS: u32 = 64;

/// Identifies clients, and counts the requests under way of those behind trusted proxies.
#[derive(Debug)]
pub(crate) struct Peers {
    trusted: Vec<IpNet>,
    under_way: Arc<PeerCounts>,
}

/// Counts by client, with a bound for each.
#[derive(Debug)]
pub(crate) struct PeerCounts {
    most: usize,
    by_peer: Mutex<HashMap<IpAddr, usize>>,
}

/// One count of a client; dropping it ends the count.
#[derive(Debug)]
pub(crate) struct PeerCount {
    counts: Arc<PeerCounts>,
    peer: IpAddr,
}

impl PeerCounts {
    /// Counters with a bound of `most` for each client.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            by_peer: Mutex::default(),
        })
    }

    /// The bound for each client.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Counts one more of `peer`. The error is the count of a peer that has reached the bound.
    pub(crate) fn enter(self: &Arc<Self>, peer: IpAddr) -> Result<PeerCount, usize> {
        let peer = one_client(peer);
        let mut by_peer = self.by_peer.lock().unwrap_or_else(PoisonError::into_inner);
        let count = by_peer.entry(peer).or_default();
        if *count >= self.most {
            return Err(*count);
        }
        *count += 1;
        Ok(PeerCount {
            counts: Arc::clone(self),
            peer,
        })
    }
}

impl Drop for PeerCount {
    fn drop(&mut self) {
        let counts = &self.counts.by_peer;
        let mut by_peer = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = by_peer.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                by_peer.remove(&self.peer);
            }
        }
    }
}

impl Peers {
    pub(crate) fn new(trusted: Vec<IpNet>, most: usize) -> Self {
        Self {
            trusted,
            under_way: PeerCounts::new(most),
        }
    }

    /// Whether this address is a trusted proxy.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted.iter().any(|net| net.contains(&address))
    }

    /// The client of a request on a connection from `address`: the last hop that is not a trusted proxy.
    pub(crate) fn client_of(&self, address: IpAddr, headers: &HeaderMap) -> IpAddr {
        let address = address.to_canonical();
        if !self.trusts(address) {
            return address;
        }
        let hops: Vec<&str> = headers
            .get_all(FORWARDED_FOR)
            .iter()
            .filter_map(|one| one.to_str().ok())
            .flat_map(|one| one.split(','))
            .collect();
        let mut client = address;
        for hop in hops.into_iter().rev() {
            // A trusted proxy appends only addresses. Any other text comes from the client.
            let Some(hop) = address_of(hop.trim()) else {
                break;
            };
            client = hop;
            if !self.trusts(hop) {
                break;
            }
        }
        client
    }

    /// Counts one more request through a trusted proxy. Refuses it if the client `peer` has too many under way.
    pub(crate) fn admit(&self, peer: IpAddr) -> Result<PeerCount, Rejection> {
        self.under_way
            .enter(peer)
            .map_err(|under_way| Rejection::TooMany {
                under_way,
                allowed: self.under_way.most(),
            })
    }
}

/// The address under which a client is counted. For IPv6, this is the network of one customer.
pub(crate) fn one_client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = address.to_bits() >> CUSTOMERS << CUSTOMERS;
            IpAddr::V6(network.into())
        }
        address => address,
    }
}

/// Parses a network: an address, optionally with a prefix length.
#[must_use]
pub fn network(text: &str) -> Option<IpNet> {
    let text = text.trim();
    let one = || Some(IpNet::from(text.parse::<IpAddr>().ok()?.to_canonical()));
    text.parse().ok().or_else(one)
}

/// Parses an address, with or without a port, as proxies write it.
fn address_of(text: &str) -> Option<IpAddr> {
    let address = text
        .parse()
        .or_else(|_| {
            text.parse::<std::net::SocketAddr>()
                .map(|socket| socket.ip())
        })
        .or_else(|_| text.trim_matches(['[', ']']).parse())
        .ok()?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::server::access::peers::*;

    fn headers(forwarded: &[&'static str]) -> HeaderMap {
        let values = forwarded
            .iter()
            .map(|value| (FORWARDED_FOR, value.parse().unwrap()));
        values.collect()
    }

    #[test]
    fn only_a_trusted_proxy_says_who_asks() {
        let trusted = vec!["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
        let peers = Peers::new(trusted, 1);
        let client = |address: &str, forwarded: &[&'static str]| {
            peers
                .client_of(address.parse().unwrap(), &headers(forwarded))
                .to_string()
        };
        assert_eq!(client("192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(client("10.1.2.3", &["198.51.100.7"]), "198.51.100.7");
        assert_eq!(
            client("::ffff:10.1.2.3", &["198.51.100.7:4711"]),
            "198.51.100.7"
        );
        // Values that a client sends stand to the left of those that proxies append.
        assert_eq!(
            client("10.1.2.3", &["1.1.1.1, 198.51.100.7, 10.9.9.9"]),
            "198.51.100.7"
        );
        assert_eq!(
            client("10.1.2.3", &["1.1.1.1", "198.51.100.7"]),
            "198.51.100.7"
        );
        assert_eq!(client("::1", &["[2001:db8::7]:80"]), "2001:db8::7");
        for nothing in [&[][..], &["unknown"], &[""]] {
            assert_eq!(client("10.1.2.3", nothing), "10.1.2.3");
        }
        // Forged or malformed values further left than the client's address are ignored.
        let seen = "198.51.100.7";
        for forged in [
            "10.2.2.2",
            "::1",
            "unknown",
            "\"",
            "1.1.1.1 ",
            ",,,",
            "300.1.1.1",
            "fe80::1%eth0",
        ] {
            let hops = Box::leak(format!("{forged}, {seen}").into_boxed_str());
            assert_eq!(client("10.1.2.3", &[hops]), seen, "{forged}");
        }
        assert_eq!(
            client("10.1.2.3", &["1.1.1.1, garbage, 10.9.9.9"]),
            "10.9.9.9"
        );
    }

    #[test]
    fn a_customer_s_network_is_one_client_whatever_address_of_it_asks() {
        let peers = Peers::new(Vec::new(), 2);
        let from = |address: &str| peers.admit(address.parse().unwrap());
        let _admitted = [
            from("2001:db8:0:1::1").unwrap(),
            from("2001:db8:0:1:ffff:ffff:ffff:ffff").unwrap(),
        ];
        assert!(from("2001:db8:0:1::2").is_err());
        assert!(from("2001:db8:0:2::2").is_ok());
        for itself in ["::1", "192.0.2.1", "2001:db8::"] {
            let address: IpAddr = itself.parse().unwrap();
            assert_eq!(one_client(address), address);
        }
        let mapped = "::ffff:192.0.2.1".parse().unwrap();
        assert_eq!(one_client(mapped).to_string(), "192.0.2.1");
    }

    #[test]
    fn what_is_under_way_is_counted_until_it_is_done() {
        let peers = Peers::new(Vec::new(), 2);
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let admitted = [peers.admit(one).unwrap(), peers.admit(one).unwrap()];
        assert!(matches!(
            peers.admit(one),
            Err(Rejection::TooMany {
                under_way: 2,
                allowed: 2
            })
        ));
        assert!(peers.admit("192.0.2.2".parse().unwrap()).is_ok());
        drop(admitted);
        assert!(peers.admit(one).is_ok());
        assert!(peers.under_way.by_peer.lock().unwrap().is_empty());
    }
}
