//! Hostile objects by a seed, without an end: texts of every shape in any field, several at once, claims, and the worst cases
//! among them. The same seed gives the same objects.

use super::{
    admission::{ANNOTATIONS, refusal},
    case::{Around, Case, OPTIONS, backend},
    tenant::{Field, Payload, Tenant, options, payloads},
    texts::{LARGE, numbers, regexes, shapes},
};
use crate::{certificate, dice::Dice, failure::Outcome};
use serde_json::{Value, json};

/// Of most texts: ten thousand objects of the largest would be one attack only, on the disk of whoever runs this.
const USUAL: usize = 2 << 10;
/// What others of a namespace lead to, or are attached to.
const SHARED: [&str; 4] = ["Service", "EndpointSlice", "Gateway", "ListenerSet"];

/// Makes them.
pub struct Generator {
    around: Around,
    options: Vec<String>,
    payloads: Vec<Payload>,
    tenant: Tenant,
    fields: Vec<Field>,
}

impl Generator {
    /// For an arena with these addresses.
    pub fn new(around: Around) -> Outcome<Self> {
        let made = certificate::for_host("mallory.example")?;
        Self::of(Tenant::new("NAMESPACE", "HOST", &made.pem, &made.key)?, around)
    }

    /// For one that serves Gateways, too.
    pub fn with_gateways(around: Around) -> Outcome<Self> {
        let made = certificate::for_host("mallory.example")?;
        Self::of(Tenant::with_gateways("NAMESPACE", "HOST", &made.pem, &made.key)?, around)
    }

    fn of(tenant: Tenant, around: Around) -> Outcome<Self> {
        let is_written = |field: &Field| {
            !field.pointer().starts_with("/status") && !field.pointer().starts_with("/metadata/namespace")
        };
        let fields = tenant.fields()?.into_iter().filter(is_written).collect();
        Ok(Self { around, options: options()?.into_iter().collect(), payloads: payloads()?, tenant, fields })
    }

    /// The `number`th case of `seed`; `namespace` puts it into a namespace that others have, too.
    #[must_use]
    pub fn case(&self, seed: u64, number: u64, namespace: Option<&str>) -> Case {
        let mut dice = Dice(seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let name = format!("random {seed}-{number}");
        let mut case = Case::new(self.around, &name, |m| {
            let mut objects = match dice.below(4) {
                0 => self.anywhere(&mut dice, m),
                1 => vec![self.claim(&mut dice, m)],
                _ => vec![self.annotations(&mut dice, m)],
            };
            objects.retain(|object| refusal(object).is_none());
            m.with_web(objects)
        });
        for object in &mut case.objects {
            // Many in one namespace: each with names of its own.
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if let Some(namespace) = namespace {
                object["metadata"]["namespace"] = namespace.into();
                let is_shared = SHARED.iter().any(|kind| object["kind"] == *kind);
                if !is_shared && name.len() < 200 {
                    object["metadata"]["name"] = format!("{name}-{number}").into();
                }
            }
        }
        case
    }

    fn text(&self, dice: &mut Dice) -> String {
        let size = match dice.below(40) {
            0 => LARGE,
            _ => 1 + dice.below(USUAL),
        };
        let text = match dice.below(6) {
            0 => dice.pick(&shapes(size.max(8))).map(|(_, text)| text.clone()),
            1 => dice.pick(&numbers()).cloned(),
            2 => dice.pick(&regexes()).cloned(),
            3 => Some(self.payload(dice) + &self.payload(dice)),
            _ => Some(self.payload(dice)),
        };
        text.unwrap_or_default()
    }

    fn payload(&self, dice: &mut Dice) -> String {
        dice.pick(&self.payloads).map(|payload| payload.text.clone()).unwrap_or_default()
    }

    /// One Ingress with some annotations.
    fn annotations(&self, dice: &mut Dice, m: &super::case::Mallory) -> Value {
        let mut ingress = m.ingress("web");
        let mut room = ANNOTATIONS;
        for _ in 0..1 + dice.below(6) {
            let (option, text) = (dice.pick(&self.options).cloned().unwrap_or_default(), self.text(dice));
            let key = format!("{OPTIONS}{option}");
            if key.len() + text.len() < room {
                room -= key.len() + text.len();
                ingress["metadata"]["annotations"][key] = text.into();
            }
        }
        ingress
    }

    /// A whole tenant with a hostile text in one or several of its fields.
    fn anywhere(&self, dice: &mut Dice, m: &super::case::Mallory) -> Vec<Value> {
        let tenant = (0..1 + dice.below(4)).fold(self.tenant.clone(), |tenant, _| {
            let (Some(field), text) = (dice.pick(&self.fields), self.text(dice)) else { return tenant };
            if dice.below(2) == 0 { tenant.with(field, &text) } else { tenant.with_behind(field, &text) }
        });
        tenant.renamed("NAMESPACE", &m.namespace).renamed("HOST", &m.host).objects
    }

    /// What is alpha's, asked for with some annotation.
    fn claim(&self, dice: &mut Dice, m: &super::case::Mallory) -> Value {
        const HOSTS: [&str; 6] = [
            "alpha.example",
            "secure.alpha.example",
            "*.alpha.example",
            "beta.example",
            "*.example",
            "moving.alpha.example",
        ];
        let mut ingress = self.annotations(dice, m);
        let host = HOSTS[dice.below(HOSTS.len())];
        if dice.below(2) == 0 {
            ingress["spec"]["tls"] = json!([{ "hosts": [host, m.host], "secretName": "tls" }]);
        } else {
            ingress["spec"]["rules"][0] = json!({ "host": host, "http": { "paths": [
                { "path": "/", "pathType": "Prefix", "backend": backend("web") },
            ] } });
        }
        ingress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn generator() -> Generator {
        Generator::with_gateways(Around {
            haproxy: Ipv4Addr::new(10, 99, 1, 1),
            server: Ipv4Addr::new(10, 99, 1, 2),
        })
        .unwrap()
    }

    #[test]
    fn most_objects_of_each_kind_get_through_to_the_controller() {
        let generator = generator();
        let mut counts = std::collections::BTreeMap::new();
        for object in (0..300).flat_map(|number| generator.case(7, number, None).objects) {
            *counts.entry(object["kind"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
        for kind in ["Ingress", "Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute"] {
            assert!(counts.get(kind).is_some_and(|count| *count > 20), "{kind}: {counts:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_objects_and_an_api_server_would_take_them() {
        let generator = generator();
        for number in 0..300 {
            let case = generator.case(7, number, None);
            assert_eq!(case.objects, generator.case(7, number, None).objects);
            for object in &case.objects {
                assert_eq!(refusal(object), None, "{}: {}", case.name, object["kind"]);
            }
        }
        assert_ne!(generator.case(7, 1, None).objects, generator.case(8, 1, None).objects);
    }

    #[test]
    fn many_may_share_a_namespace() {
        let case = generator().case(7, 3, Some("mallory-all"));
        assert!(case.objects.iter().all(|object| object["metadata"]["namespace"] == "mallory-all"));
    }
}
