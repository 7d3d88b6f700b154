//! Every spelling of what is refused, and nothing beside it.

use super::*;
use haptic_model::HaproxyPod;
use proptest::prelude::*;
use serde_json::json;

fn spec(allowed: &[&str]) -> HAProxyTemplateConfigSpec {
    serde_json::from_value(json!({
        "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
        "allow": {"destinations": allowed},
        "templatingSettings": {"extraContext": {"healthPort": 7084, "httpPort": "7080"}},
    }))
    .unwrap()
}

fn fleet(addresses: &[&str]) -> Fleet {
    let pod = |ip: &&str| HaproxyPod::at("edge", ip, (ip.parse::<IpAddr>().unwrap(), 5555));
    Fleet { pods: addresses.iter().map(pod).collect(), ..Fleet::default() }
}

fn refusal(address: &str) -> Option<Refusal> {
    Destinations::new(&spec(&[]), &Fleet::default()).refusal(address.parse().unwrap(), 80)
}

#[test]
fn each_kind_of_address_is_refused_from_its_first_to_its_last() {
    use Refusal::*;
    for (address, expected) in [
        ("127.0.0.0", Loopback),
        ("127.0.0.1", Loopback),
        ("127.255.255.255", Loopback),
        ("0.0.0.0", Loopback),
        ("::", Loopback),
        ("::1", Loopback),
        ("::ffff:127.0.0.1", Loopback),
        ("::127.0.0.1", Loopback),
        ("0.0.0.1", Reserved),
        ("0.255.255.255", Reserved),
        ("169.254.0.0", LinkLocal),
        ("169.254.169.254", LinkLocal),
        ("169.254.255.255", LinkLocal),
        ("fe80::", LinkLocal),
        ("febf:ffff::1", LinkLocal),
        ("fe80::a9fe:a9fe", LinkLocal),
        ("100.100.100.200", Metadata),
        ("168.63.129.16", Metadata),
        ("192.0.0.192", Metadata),
        ("fd00:ec2::254", Metadata),
        ("fd00:ec2::23", Metadata),
        ("fd20:ce::254", Metadata),
        ("fd00:42::42", Metadata),
        ("224.0.0.0", Multicast),
        ("239.255.255.255", Multicast),
        ("ff00::", Multicast),
        ("ff02::1", Multicast),
        ("240.0.0.0", Reserved),
        ("255.255.255.255", Reserved),
        ("fec0::1", Reserved),
        ("100::1", Reserved),
    ] {
        assert_eq!(refusal(address), Some(expected), "{address}");
    }
}

#[test]
fn others_are_not_refused() {
    for address in [
        "10.0.0.1",
        "126.255.255.255",
        "128.0.0.0",
        "1.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "192.168.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "100.100.100.201",
        "203.0.113.7",
        "223.255.255.255",
        "fd00::1",
        "fd00:ec3::1",
        "fe7f::1",
        "2001:db8::1",
        "2606:4700::1111",
        "64:ff9b::203.0.113.7",
        "::ffff:10.0.0.1",
        "2002:cb00:7107::1",
        "101::1",
        "100:0:0:1::1",
    ] {
        assert_eq!(refusal(address), None, "{address}");
    }
}

#[test]
fn networks_that_are_allowed_are_in_every_spelling() {
    let spec = spec(&["127.0.0.0/16", "::1", "169.254.169.254"]);
    let refusal =
        |address: &str| Destinations::new(&spec, &Fleet::default()).refusal(address.parse().unwrap(), 80);
    for allowed in ["127.0.0.1", "127.0.9.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "169.254.169.254"]
    {
        assert_eq!(refusal(allowed), None, "{allowed}");
    }
    for refused in ["127.1.0.1", "::ffff:127.1.0.1", "169.254.169.253", "0.0.0.0"] {
        assert!(refusal(refused).is_some(), "{refused}");
    }
}

#[test]
fn in_haproxys_own_pods_its_own_ports_are_refused() {
    let (spec, mut fleet) = (spec(&[]), fleet(&["10.1.0.1"]));
    fleet.pods[0].other_addresses.push("fd00::1".parse().unwrap());
    let refusal =
        |address: &str, port| Destinations::new(&spec, &fleet).refusal(address.parse().unwrap(), port);
    for address in ["10.1.0.1", "::ffff:10.1.0.1", "64:ff9b::10.1.0.1", "2002:0a01:0001::", "fd00::1"] {
        for own in [7084, 7080, 5555] {
            assert_eq!(refusal(address, own), Some(Refusal::OwnPort), "{address} {own}");
        }
        // A node's address is that of all its pods with hostNetwork.
        assert_eq!(refusal(address, 6443), None, "{address}");
    }
    assert_eq!(refusal("10.1.0.2", 7084), None);
    let allowing = super::tests::spec(&["10.1.0.0/24"]);
    assert_eq!(Destinations::new(&allowing, &fleet).refusal("10.1.0.1".parse().unwrap(), 7084), None);
}

#[test]
fn ports_of_a_node_that_lead_to_haproxy_are_refused() {
    let (spec, mut fleet) = (spec(&[]), fleet(&["10.1.0.1", "10.1.0.2"]));
    let node = ["10.0.0.7", "fd00::7"].map(|address| address.parse().unwrap());
    (fleet.pods[1].node_addresses, fleet.pods[1].host_ports) = (node.into(), vec![80, 443]);
    let refusal =
        |address: &str, port| Destinations::new(&spec, &fleet).refusal(address.parse().unwrap(), port);
    for address in ["10.0.0.7", "::ffff:10.0.0.7", "fd00::7"] {
        assert_eq!(refusal(address, 443), Some(Refusal::OwnPort), "{address}");
        // What else is on the node is not HAProxy's.
        assert_eq!(refusal(address, 7080), None, "{address}");
    }
    assert_eq!(refusal("10.0.0.8", 443), None);
}

#[test]
fn ports_of_tcp_services_and_of_gateways_are_haproxys_own_too() {
    let (mut spec, fleet) = (spec(&[]), fleet(&["10.1.0.1"]));
    let settings = &mut spec.templating_settings.extra_context;
    settings.insert("tcpPorts".into(), json!([5432, {"ports": "9000-9010", "namespaces": ["db"]}]));
    let ranges = json!({"firstPort": 20000, "ports": 128, "firstTlsPort": 20200, "firstTcpPort": 20300});
    settings.insert("gateway".into(), ranges);
    let refusal = |spec: &HAProxyTemplateConfigSpec, port| {
        Destinations::new(spec, &fleet).refusal("10.1.0.1".parse().unwrap(), port)
    };
    for own in [5432, 9000, 9010, 20000, 20127, 20200, 20231, 20300, 20363] {
        assert_eq!(refusal(&spec, own), Some(Refusal::OwnPort), "{own}");
    }
    for other in [5433, 9011, 20128, 20199, 20232, 20364, 65536] {
        assert_eq!(refusal(&spec, other), None, "{other}");
    }
    let same = json!({"portMode": "same", "portTargets": {"80": 8080}});
    spec.templating_settings.extra_context.insert("gateway".into(), same);
    assert_eq!(refusal(&spec, 8080), Some(Refusal::OwnPort));
    assert_eq!(refusal(&spec, 20000), None);
}

/// The spellings of an IPv4 address, written out by text rather than bits.
fn spellings(address: Ipv4Addr, other: u16) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let (high, low) = (format!("{a:02x}{b:02x}"), format!("{c:02x}{d:02x}"));
    let inverted = format!("{:02x}{:02x}:{:02x}{:02x}", !a, !b, !c, !d);
    vec![
        address.to_string(),
        format!("::ffff:{address}"),
        format!("::ffff:0:{address}"),
        format!("64:ff9b::{address}"),
        format!("64:ff9b:1:{other:x}::{address}"),
        format!("2002:{high}:{low}:{other:x}::1"),
        format!("2001:0:{other:x}:1:2:3:{inverted}"),
        format!("2001:db8:{other:x}::5efe:{address}"),
        format!("2001:db8:{other:x}::200:5efe:{address}"),
    ]
}

proptest! {
    /// Whatever an IPv4 address is, its spellings are.
    #[test]
    fn a_spelling_is_judged_as_what_it_spells(bits in any::<u32>(), special in 0..9_usize, other in any::<u16>()) {
        let networks = [0x7f00_0000, 0, 0xa9fe_0000, 0xe000_0000, 0xf000_0000, 0x6464_64c8, 0x0a00_0000];
        let address = match networks.get(special) {
            Some(0x6464_64c8) => 0x6464_64c8,
            Some(network) => network | (bits & 0xffff),
            None => bits,
        };
        let address = Ipv4Addr::from_bits(address);
        let expected = refusal(&address.to_string());
        for spelling in spellings(address, other) {
            prop_assert_eq!(refusal(&spelling), expected, "{}", spelling);
        }
    }
}
