//! The objects of a measurement: Ingresses with a host each, a Service and three endpoints for each of them; hosts with
//! certificates.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use integration_tests::{
    Outcome,
    certificate::{self, Certificate},
    manifest,
};
use serde_json::{Value, json};
use std::net::Ipv4Addr;

/// Where every endpoint listens. Not a port that a controller or HAProxy takes on an address of its own.
pub const PORT: u16 = 7070;
/// Endpoints of each Service.
const ENDPOINTS: usize = 3;
/// Whose hosts they are, in turn.
pub const DOMAINS: usize = 10;
/// Of the first endpoint; those before are the clusters', controllers' and HAProxys'.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 99, 16, 0);

/// How many of them this machine has. After so many changes an address comes again, and of 100,000 Ingresses several have one.
const ADDRESSES: usize = 240 * 256;

/// Which objects there are.
#[derive(Clone, Copy, Debug)]
pub struct Dataset {
    /// How many Ingresses, each with its Service, from 0.
    pub ingresses: usize,
    /// How many routes come later.
    pub later: usize,
}

/// One route: an Ingress with its Service and endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    number: usize,
}

/// A host with a certificate of its own, in front of a Service that is there.
#[derive(Clone, Copy, Debug)]
pub struct Secured {
    number: usize,
}

/// One endpoint that moves.
#[derive(Clone, Debug)]
pub struct Move {
    /// Whose endpoint.
    pub member: Member,
    /// The EndpointSlice afterwards.
    pub slice: Value,
    /// The address that was not there before.
    pub address: Ipv4Addr,
}

impl Dataset {
    /// Every object that there is at the beginning.
    pub fn manifests(self) -> impl Iterator<Item = Value> {
        (0..self.ingresses).flat_map(|number| Member { number }.manifests())
    }

    /// The last one that there is at the beginning.
    pub fn last(self) -> Member {
        Member { number: self.ingresses.saturating_sub(1) }
    }

    /// The routes that come later.
    pub fn newcomers(self) -> impl Iterator<Item = Member> {
        (self.ingresses..self.ingresses + self.later).map(|number| Member { number })
    }

    /// The first `count` routes.
    pub fn first(self, count: usize) -> impl Iterator<Item = Member> {
        (0..self.ingresses.min(count)).map(|number| Member { number })
    }

    /// Hosts with certificates, `count` of them.
    pub fn secured(self, count: usize) -> impl Iterator<Item = Secured> {
        (0..self.ingresses.min(count)).map(|number| Secured { number })
    }

    /// The `count`th change: one of three endpoints goes, another comes. Neighbours in time are far apart in the files.
    pub fn change(self, count: usize) -> Move {
        const STRIDE: usize = 7919;
        self.change_of(Member { number: count * STRIDE % self.ingresses.max(1) }, count)
    }

    /// The `count`th change, to `member`.
    pub fn change_of(self, member: Member, count: usize) -> Move {
        let known = ENDPOINTS * (self.ingresses + self.later);
        let address = address(known + count % ADDRESSES.saturating_sub(known).max(1));
        let mut addresses = member.addresses();
        if let Some(first) = addresses.first_mut() {
            *first = address;
        }
        Move { member, slice: slice(&member.name(), &addresses), address }
    }
}

/// Whose hosts this one's is among: a tenth of all.
pub fn domain(number: usize) -> String {
    format!("site-{}.example", number % DOMAINS)
}

impl Member {
    /// The host of its Ingress.
    pub fn host(self) -> String {
        format!("host-{}.{}", self.number, domain(self.number))
    }

    /// Where its endpoints are at the beginning.
    pub fn addresses(self) -> Vec<Ipv4Addr> {
        (0..ENDPOINTS).map(|number| address(self.number * ENDPOINTS + number)).collect()
    }

    /// Its Service, EndpointSlice and Ingress, in the order in which they come into being.
    pub fn manifests(self) -> [Value; 3] {
        let name = self.name();
        [self.service(), slice(&name, &self.addresses()), manifest::ingress(&name, &self.host(), &name)]
    }

    fn service(self) -> Value {
        let mut service = manifest::service(&self.name());
        // Without an address of its own: the API server takes minutes to give away 10,000.
        service["spec"]["clusterIP"] = json!("None");
        service
    }

    /// Which one it is, from 0.
    pub fn number(self) -> usize {
        self.number
    }

    /// Its name, and that of its Service.
    pub fn name(self) -> String {
        format!("service-{}", self.number)
    }
}

impl Secured {
    /// The host of its Ingress.
    pub fn host(self) -> String {
        format!("secure-{}.example", self.number)
    }

    /// Its Ingress.
    pub fn ingress(self) -> Value {
        let name = format!("secure-{}", self.number);
        manifest::tls_ingress(&name, &self.host(), &Member { number: self.number }.name(), &name)
    }

    /// A new certificate, and its Secret.
    pub fn secret(self) -> Outcome<(Certificate, Value)> {
        let made = certificate::for_host(&self.host())?;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": { "name": format!("secure-{}", self.number) },
            "data": { "tls.crt": STANDARD.encode(&made.pem), "tls.key": STANDARD.encode(&made.key) },
        });
        Ok((made, secret))
    }
}

fn slice(service: &str, addresses: &[Ipv4Addr]) -> Value {
    let mut slice = manifest::endpoints(service, addresses);
    slice["ports"] = json!([{ "name": "http", "port": PORT, "protocol": "TCP" }]);
    slice
}

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST.to_bits() + u32::try_from(number % ADDRESSES).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn kinds(dataset: Dataset, kind: &str) -> usize {
        dataset.manifests().filter(|manifest| manifest["kind"] == kind).count()
    }

    #[test]
    fn every_ingress_has_a_service_with_three_endpoints_of_its_own() {
        let dataset = Dataset { ingresses: 10_000, later: 20 };
        assert_eq!(kinds(dataset, "Ingress"), 10_000);
        assert_eq!((kinds(dataset, "Service"), kinds(dataset, "EndpointSlice")), (10_000, 10_000));
        let slices = dataset.manifests().filter(|manifest| manifest["kind"] == "EndpointSlice");
        let addresses: Vec<String> = slices
            .flat_map(|slice| slice["endpoints"].as_array().cloned().unwrap())
            .map(|endpoint| endpoint["addresses"][0].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(addresses.len(), 30_000);
        assert_eq!(addresses.iter().collect::<HashSet<_>>().len(), addresses.len());
        assert!(addresses.iter().all(|address| address.starts_with("10.99.")));
    }

    #[test]
    fn a_hundred_thousand_are_in_the_network_of_the_tests() {
        let addresses = Dataset { ingresses: 100_000, later: 20 }.last().addresses();
        assert!(addresses.iter().all(|address| address.octets()[..2] == [10, 99]), "{addresses:?}");
    }

    #[test]
    fn a_change_brings_an_address_that_was_never_there() {
        let dataset = Dataset { ingresses: 100, later: 2 };
        let mut known: HashSet<Ipv4Addr> =
            (0..102).flat_map(|number| Member { number }.addresses()).collect();
        for count in 0..200 {
            let change = dataset.change(count);
            assert!(known.insert(change.address), "{change:?}");
            assert_eq!(change.slice["endpoints"].as_array().unwrap().len(), 3);
            assert_eq!(change.slice["endpoints"][0]["addresses"][0], change.address.to_string());
        }
        assert!(known.iter().all(|address| address.octets()[..2] == [10, 99]));
    }
}
