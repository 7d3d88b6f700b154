//! What holds for all families: their tables, and what a translation of each key becomes.

use super::*;
use crate::options::table::row;
use serde_json::json;

fn settings(families: serde_json::Value) -> Settings {
    Settings::of(json!({"annotationFamilies": families}).as_object().unwrap())
}

fn foreign(annotations: &[(&str, &str)]) -> ForeignOptions {
    let settings = settings(json!({"ingress-nginx": {"config": {"proxy-connect-timeout": 7}}}));
    let annotations = annotations.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    ForeignOptions::of(settings.families.iter(), &annotations, &[], About::default(), &settings)
}

#[test]
fn tables_are_sorted_and_name_options_of_ours() {
    for family in Family::ALL {
        let table = family.table();
        assert!(table.is_sorted_by(|a, b| a.name < b.name), "{family:?}");
        for key in table {
            let options: &[&str] = match key.to {
                KeyTarget::Option(option) => &[option],
                KeyTarget::Group(options) => options,
                KeyTarget::Alias(other) => {
                    assert!(family.key(other).is_some(), "{other}");
                    &[]
                }
                KeyTarget::Nothing => &[],
            };
            for option in options {
                assert!(row(option).is_some(), "{family:?} {}: {option}", key.name);
            }
        }
    }
}

#[test]
fn values_are_read_as_their_controller_reads_them_and_wrong_ones_do_what_the_row_says() {
    let nginx = |key: &str| format!("nginx.ingress.kubernetes.io/{key}");
    let of = |key: &str, text: &str| foreign(&[(&nginx(key), text)]);
    let value =
        |of: &ForeignOptions, option: &str| of.ingress.written.values.get(option).map(|v| v.to_json());
    let good = of("proxy-body-size", "8M");
    assert_eq!(value(&good, "max-body-size"), Some(json!(8 << 20)));
    assert_eq!(value(&good, "timeout-connect"), Some(json!(7000)));
    let wrong = of("proxy-connect-timeout", "5s");
    assert!(wrong.findings[0].sentence.contains("it must be a number of seconds"), "{:?}", wrong.findings);
    assert_eq!((wrong.ingress.closed, wrong.dropped), (false, false));
    assert!(of("whitelist-source-range", "everybody").ingress.closed);
    let unknown = of("proxy-body-sise", "1m");
    assert!(unknown.findings[0].sentence.contains("proxy-body-size"), "{:?}", unknown.findings);
}

#[test]
fn what_is_read_again_for_each_service_is_bounded_and_closed_beyond() {
    let settings = settings(json!({"haproxy-org": {}}));
    let networks: Vec<String> = (0..500).map(|n| format!("10.{}.{}.0/24", n / 250, n % 250)).collect();
    let annotations = BTreeMap::from([("haproxy.org/allow-list".to_owned(), networks.join(","))]);
    let of_service = BTreeMap::from([("haproxy.org/timeout-server".to_owned(), "5s".to_owned())]);
    let services: Vec<(Arc<str>, _)> = (0..2_000).map(|n| (format!("s{n:04}").into(), &of_service)).collect();
    let of = |annotations: &BTreeMap<String, String>, count: usize| {
        ForeignOptions::of(
            settings.families.iter(),
            annotations,
            &services[..count],
            About::default(),
            &settings,
        )
    };
    let is_open = |all: &ForeignOptions, name: &str| !all.level(Some(name)).closed;
    let many = of(&annotations, 2_000);
    let open = many.of_services.values().filter(|level| !level.closed).count();
    assert!(open > 100 && open < 1_000, "{open}");
    assert!(is_open(&many, "s0000") && !is_open(&many, "s1999") && !many.ingress.closed);
    let told = format!("{} Services of its routes", 2_000 - open);
    assert!(many.findings.iter().any(|finding| finding.sentence.starts_with(&told)), "{:?}", many.findings);
    // What others say in their annotations costs nothing, and little of them may be said of many.
    let others =
        BTreeMap::from([("kubectl.kubernetes.io/last-applied-configuration".to_owned(), networks.join(","))]);
    let few = of(&others, 2_000);
    assert!(is_open(&few, "s1999") && few.findings.is_empty(), "{:?}", few.findings);
}
