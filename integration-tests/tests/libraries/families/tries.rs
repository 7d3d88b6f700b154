//! How often servers are asked that do not answer: `proxy_next_upstream` and `proxy_next_upstream_tries` of nginx.

use super::setups::{HOST, ingress, site};
use crate::{around::service, auth_server, site::Scheme};
use haptic_routes::families::Family;
use integration_tests::program::HaproxySeries;

#[test]
fn a_server_is_asked_as_often_as_by_nginx() {
    let (port, questions) = auth_server::start();
    let none: &[(&str, &str)] = &[];
    // What is never answered, what a connection is closed for, what is answered with no HTTP.
    for (number, (annotations, expected)) in [
        (none, [3_usize, 3, 1]),
        (&[("proxy-next-upstream", "error")], [1, 3, 1]),
        (&[("proxy-next-upstream", "invalid_header timeout"), ("proxy-next-upstream-tries", "2")], [2, 1, 2]),
        (&[("proxy-next-upstream", "http_503 non_idempotent")], [1, 1, 1]),
        (&[("proxy-next-upstream", "error timeout off")], [1, 1, 1]),
        (&[("proxy-next-upstream-tries", "1")], [1, 1, 1]),
    ]
    .into_iter()
    .enumerate()
    {
        let times = [("proxy-read-timeout", "1"), ("proxy-send-timeout", "1")];
        let annotations = [&times[..], annotations].concat();
        let mut manifests = vec![ingress(Family::IngressNginx, "/", "failing", &annotations)];
        manifests.extend(service("failing", "IPv4", port, &["127.0.3.4"]));
        let site = site(HaproxySeries::V3_4, Family::IngressNginx, &manifests);
        let asked = ["never", "close", "nonsense"].map(|what| {
            let path = format!("/{what}/{number}");
            let status = site.get(Scheme::Http, HOST, &path).status;
            assert!(matches!(status, 502 | 504), "{annotations:?} {what}: {status}");
            questions.with(&format!(" {path} ")).len()
        });
        assert_eq!(asked, expected, "{annotations:?}");
    }
}
