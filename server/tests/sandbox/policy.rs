//! What is refused before HAProxy sees it, unless the configuration allows it.

use crate::subject::{VERSIONS, bundle, free, said};
use haptic_model::crd::{ALLOWANCES, Allowance};

#[tokio::test]
async fn what_reaches_beyond_haproxy_is_refused_by_name_unless_it_is_allowed() {
    let checker = free();
    for (global, frontend, needs) in [
        ("lua-load general/x.lua", "", Allowance::Lua),
        ("external-check\n insecure-fork-wanted", "", Allowance::Insecure),
        ("external-check", "", Allowance::ExternalChecks),
        ("", "acl x path -f /etc/hostname", Allowance::OutsideFiles),
    ] {
        let bundle = bundle(global, frontend, ("general/x.lua", ""));
        let refused = checker.check(&bundle, &VERSIONS[..1]).await;
        assert!(!refused.passed(), "{global}{frontend}");
        assert!(said(&refused).contains(&format!("{needs:?} to spec.allow.features")), "{}", said(&refused));
        assert!(said(&refused).contains("haproxy.cfg:"), "{}", said(&refused));
        let allowing = checker.allowing(&[needs, Allowance::ExternalChecks]);
        let allowed = allowing.check(&bundle, &VERSIONS[..1]).await;
        assert!(allowed.passed(), "{}", said(&allowed));
        let refused = checker.check(&bundle, &VERSIONS[..1]).await;
        assert!(!refused.passed(), "what was allowed once is not remembered for others");
    }
}

/// They are for masters only, which no check is.
#[tokio::test]
async fn programs_are_always_refused() {
    let checker = free().allowing(&ALLOWANCES);
    for version in VERSIONS {
        let bundle = bundle("", "program x\n    command /bin/true", ("general/x", ""));
        assert!(!checker.check(&bundle, &[version]).await.passed(), "HAProxy {version} takes it");
    }
}
