//! The worst objects of each kind that an API server takes, by what they are bad for.

mod amounts;
mod annotations;
mod claims;
mod destinations;
mod gateways;
pub mod masses;
mod names;
mod secrets;

use super::case::{Around, Case};
use crate::failure::Outcome;

/// All of them.
pub fn all(around: Around) -> Outcome<Vec<Case>> {
    let mut cases = names::cases(around)?;
    cases.extend(annotations::cases(around)?);
    cases.extend(amounts::cases(around)?);
    cases.extend(secrets::cases(around)?);
    cases.extend(claims::cases(around)?);
    cases.extend(destinations::cases(around));
    Ok(cases)
}

/// Those that only an arena with Gateways feels.
pub fn of_gateways(around: Around) -> Outcome<Vec<Case>> {
    gateways::cases(around)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hostile::refusal;
    use std::{collections::HashSet, net::Ipv4Addr};

    const AROUND: Around =
        Around { haproxy: Ipv4Addr::new(10, 99, 1, 1), server: Ipv4Addr::new(10, 99, 1, 2) };

    fn cases() -> Vec<Case> {
        all(AROUND).unwrap()
    }

    fn with_gateways() -> Vec<Case> {
        [cases(), of_gateways(AROUND).unwrap()].concat()
    }

    #[test]
    fn an_api_server_would_take_every_object() {
        for case in with_gateways() {
            assert!(!case.objects.is_empty(), "{}", case.name);
            for object in &case.objects {
                let refused = refusal(object);
                assert_eq!(refused, None, "{}: {} {}", case.name, object["kind"], object["metadata"]["name"]);
            }
        }
    }

    #[test]
    fn what_is_tried_often_takes_a_minute_and_what_is_rare_is_like_it() {
        let (rare, often): (Vec<Case>, Vec<Case>) = cases().into_iter().partition(|case| case.is_rare);
        assert!((60..110).contains(&often.len()) && rare.len() > 100, "{} and {}", often.len(), rare.len());
    }

    #[test]
    fn every_case_has_namespaces_and_hosts_of_its_own() {
        let mut seen = HashSet::new();
        for case in with_gateways() {
            assert!(seen.insert(case.slug()), "{}", case.name);
            let own = |object: &serde_json::Value| {
                object["metadata"]["namespace"].as_str().is_some_and(|n| n.starts_with("mallory"))
            };
            assert!(case.objects.iter().all(own), "{}", case.name);
        }
    }
}
