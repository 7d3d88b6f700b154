//! The ConfigMaps in which other controllers list ports and Services: `annotationFamilies.NAME.tcpServices` names one, in a namespace of the
//! operator's. A row that cannot be read is left out, as theirs do, and found.

use super::claims::{AskedBy, AskedPorts, TcpClaim, TcpTls};
use crate::{
    claims::Backend, families::Family, objects::config_maps::watched, options::tcp_ports::port_of,
    ownership::contest::Age, sentences::shortened,
};
use haptic_model::{ActiveConfig, Finding, FindingKind, ObjectRef, Snapshots};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

#[derive(Deserialize)]
struct TcpConfigMap {
    metadata: super::claims::TcpMetadata,
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
}

/// The claim of a row, and what becomes of it otherwise than there.
type TcpRow = (TcpClaim, Option<&'static str>);

/// A ConfigMap that a setting names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedConfigMap {
    family: Family,
    /// `tcpServices`, or `udpServices`, of which nothing is served.
    setting: &'static str,
    /// NAMESPACE/NAME.
    name: String,
}

/// The setting for UDP.
const UDP: &str = "udpServices";

/// The ConfigMaps that the settings name.
pub(super) fn named(context: &Map<String, Value>) -> Vec<NamedConfigMap> {
    let of = |(family, setting): (Family, &'static str)| {
        let name = context.get("annotationFamilies")?.get(family.name())?.get(setting)?.as_str()?;
        (!name.is_empty()).then(|| NamedConfigMap { family, setting, name: name.to_owned() })
    };
    let settings =
        Family::ALL.into_iter().flat_map(|family| ["tcpServices", UDP].map(|setting| (family, setting)));
    settings.filter_map(of).collect()
}

/// The claims of ConfigMaps, and sentences about those that are not there.
pub(super) fn read(
    config: &ActiveConfig,
    snapshots: &Snapshots,
    named: &[NamedConfigMap],
) -> (BTreeMap<Arc<ObjectRef>, AskedPorts>, Vec<String>) {
    let (mut all, mut missing) = (BTreeMap::new(), Vec::new());
    for NamedConfigMap { family, setting, name } in named {
        let (namespace, own) = name.split_once('/').unwrap_or(("", name));
        let mut found = watched(&config.spec).filter_map(|resource| {
            let store = snapshots.get(resource)?;
            let object = store.get(namespace, own)?;
            Some((
                object.reference.clone(),
                serde_json::from_slice::<TcpConfigMap>(&object.json.bytes()).ok()?,
            ))
        });
        match found.next() {
            Some((reference, config_map)) if *setting == UDP => drop(all.insert(reference, of_udp(config_map))),
            Some((reference, config_map)) => drop(all.insert(reference, claims(*family, config_map))),
            None => missing.push(format!(
                "annotationFamilies.{}.{setting} names ConfigMap {}, which is not there, is not watched or is no NAMESPACE/NAME",
                family.name(),
                shortened(name)
            )),
        }
    }
    (all, missing)
}

/// HAProxy passes on no UDP: each row is found.
fn of_udp(TcpConfigMap { metadata, data }: TcpConfigMap) -> AskedPorts {
    let age = metadata.creation_timestamp.map_or(Age::Unknown, Age::Since);
    let found = data.unwrap_or_default().into_keys().map(|key| {
        let at = format!("data.{}", shortened(&key));
        let why = "is not served: HAProxy passes on no UDP; a Service of type LoadBalancer does";
        Finding::new(FindingKind::ForeignNotServed, format!("{at} {why}")).at_annotation(&at)
    });
    AskedPorts { age, claims: Vec::new(), findings: found.collect(), by: AskedBy::ConfigMap }
}

fn claims(family: Family, TcpConfigMap { metadata, data }: TcpConfigMap) -> AskedPorts {
    let age = metadata.creation_timestamp.map_or(Age::Unknown, Age::Since);
    let mut all = AskedPorts { age, claims: Vec::new(), findings: Vec::new(), by: AskedBy::ConfigMap };
    for (key, text) in data.unwrap_or_default() {
        let port = key.parse::<u16>().ok().filter(|port| *port > 0);
        let row = port.ok_or("its key is no port").and_then(|port| row(family, port, text.trim()));
        let (kind, why) = match row {
            Ok((claim, differs)) => {
                all.claims.push(claim);
                let Some(differs) = differs else { continue };
                (FindingKind::ForeignDiffers, differs.to_owned())
            }
            Err(why) => (FindingKind::ForeignUnreadable, format!("{why}: it is left out")),
        };
        let at = format!("data.{}", shortened(&key));
        all.findings.push(Finding::new(kind, format!("{at}: {why}")).at_annotation(&at));
    }
    all
}

fn row(family: Family, port: u16, text: &str) -> Result<TcpRow, &'static str> {
    let mut words = text.split(':');
    let (namespace, service) =
        words.next().and_then(|name| name.split_once('/')).ok_or("it names no NAMESPACE/SERVICE")?;
    let of_service = words.next().and_then(port_of).ok_or("it names no port of the Service")?;
    let mut claim = TcpClaim {
        port,
        namespace: namespace.into(),
        backend: Backend { service: service.into(), port: of_service },
        accept_proxy: false,
        send_proxy: None,
        tls: None,
        networks: None,
        said_by: format!("data.{port}").into(),
    };
    let more: Vec<&str> = words.collect();
    let differs = match family {
        Family::IngressNginx => ingress_nginx(&mut claim, &more)?,
        Family::HaproxyOrg => haproxy_org(&mut claim, &more)?,
        Family::HaproxyIngress => haproxy_ingress(&mut claim, &more)?,
    };
    Ok((claim, differs))
}

/// `[:PROXY][:PROXY]`: of clients, and to servers.
fn ingress_nginx(claim: &mut TcpClaim, words: &[&str]) -> Result<Option<&'static str>, &'static str> {
    let is_proxy = |word: Option<&&str>| match word {
        None | Some(&"") => Ok(false),
        Some(word) if word.eq_ignore_ascii_case("proxy") => Ok(true),
        Some(_) => Err("behind the port stands another word than PROXY"),
    };
    claim.accept_proxy = is_proxy(words.first())?;
    claim.send_proxy = is_proxy(words.get(1))?.then_some("v1");
    if words.len() > 2 { Err("it has too many parts") } else { Ok(None) }
}

/// `[:ssl]`: with the certificates of all hosts.
fn haproxy_org(claim: &mut TcpClaim, words: &[&str]) -> Result<Option<&'static str>, &'static str> {
    match words {
        [] => Ok(None),
        ["ssl"] => {
            claim.tls = Some(TcpTls::All);
            Ok(None)
        }
        _ => Err("behind the port stands something else than ssl"),
    }
}

/// `[:[PROXY][:[PROXY[-V1|-V2]][:NAMESPACE/SECRET[:CHECK[:NAMESPACE/SECRET OF A CA]]]]]`.
fn haproxy_ingress(claim: &mut TcpClaim, words: &[&str]) -> Result<Option<&'static str>, &'static str> {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    claim.accept_proxy = match word(0) {
        "" => false,
        "PROXY" => true,
        _ => return Err("the word for clients is not PROXY"),
    };
    claim.send_proxy = match word(1) {
        "" => None,
        "PROXY" | "PROXY-V2" => Some("v2"),
        "PROXY-V1" => Some("v1"),
        _ => return Err("the word for servers is none of PROXY, PROXY-V1 and PROXY-V2"),
    };
    claim.tls = match word(2) {
        "" => None,
        secret => {
            let (namespace, name) = secret.split_once('/').ok_or("it names no NAMESPACE/SECRET")?;
            Some(TcpTls::Secret { namespace: namespace.into(), name: name.into() })
        }
    };
    if !word(4).is_empty() {
        return Err("certificates of clients are not asked for at ports of TCP");
    }
    Ok(Some("servers are not checked").filter(|_| word(3) != "-"))
}
