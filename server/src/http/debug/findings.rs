//! `/debug/findings`: what is found at objects and holds nothing back, of which kinds, and where.

use super::state::{DebugState, json_of};
use actix_web::{HttpResponse, web};
use haptic_model::{Finding, FindingKind, Findings, ObjectFinding, ObjectRef};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// So many are shown, unless more are asked for.
const SHOWN: usize = 1_000;
/// And no more at once.
const MOST: usize = 100_000;

#[derive(Debug, Default, Deserialize)]
pub(super) struct FindingsQuery {
    kind: Option<String>,
    namespace: Option<String>,
    limit: Option<usize>,
}

pub(super) async fn show(state: web::Data<DebugState>, wanted: web::Query<FindingsQuery>) -> HttpResponse {
    if let Some(kind) = wanted.kind.as_deref().filter(|kind| !FindingKind::NAMES.contains(kind)) {
        let kinds = FindingKind::NAMES.join(", ");
        let why = format!("there are no findings of the kind {kind:?}: it is one of {kinds}\n");
        return HttpResponse::BadRequest().content_type("text/plain").body(why);
    }
    json_of(&shown(&state.readers.findings(), &wanted))
}

fn shown(findings: &Findings, wanted: &FindingsQuery) -> Value {
    let is_wanted = |(object, finding): &(&Arc<ObjectRef>, &Finding)| {
        wanted.kind.as_deref().is_none_or(|kind| finding.kind.name() == kind)
            && wanted.namespace.as_deref().is_none_or(|namespace| &*object.namespace == namespace)
    };
    let limit = wanted.limit.unwrap_or(SHOWN).min(MOST);
    let (mut few, mut matching) = (Vec::new(), 0_usize);
    for (object, finding) in findings.iter().filter(is_wanted) {
        matching += 1;
        if few.len() < limit {
            few.push(ObjectFinding { object: object.clone(), finding: finding.clone() });
        }
    }
    let kinds: BTreeMap<&str, usize> =
        findings.counts().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.name(), count)).collect();
    json!({"findings": findings.len(), "kinds": kinds, "matching": matching, "shown": few})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_shown_by_kind_and_namespace_and_never_all_unasked() {
        let mut findings = Findings::default();
        for number in 0..1_500 {
            let object = Arc::new(ObjectRef::new("ingresses", "shop", &number.to_string()));
            findings.set(&object, vec![Finding::new(FindingKind::ServiceMissing, "no Service")]);
        }
        let other = Arc::new(ObjectRef::new("ingresses", "blog", "web"));
        findings
            .set(&other, vec![Finding::new(FindingKind::NoCertificate, "no Secret").at_host("a.example")]);
        let all = shown(&findings, &FindingsQuery::default());
        assert_eq!((&all["findings"], all["shown"].as_array().unwrap().len()), (&json!(1_501), SHOWN));
        assert_eq!(all["kinds"], json!({"no_certificate": 1, "service_missing": 1_500}));
        let blog = shown(&findings, &FindingsQuery { namespace: Some("blog".into()), ..Default::default() });
        assert_eq!(blog["shown"][0]["place"], json!({"host": "a.example"}));
        let kind =
            FindingsQuery { kind: Some("service_missing".into()), limit: Some(2), ..Default::default() };
        let few = shown(&findings, &kind);
        assert_eq!((&few["matching"], few["shown"].as_array().unwrap().len()), (&json!(1_500), 2));
    }
}
