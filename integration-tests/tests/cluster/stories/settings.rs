//! What people change in a release that runs.

use crate::{
    release::{NAMESPACE, Release},
    report::{Measure, measured},
    routing::Routing,
};
use integration_tests::{Outcome, certificate, ensure, eventually, http, manifest};
use std::{
    rc::Rc,
    time::{Duration, Instant},
};

pub async fn other_haproxy(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    for version in ["3.0", "3.2", "3.4"] {
        release.upgrade(&[&format!("haproxy.version={version}")]).await?;
    }
    let served = release.a_new_route_is_served("other-haproxy").await?;
    Ok(vec![measured("3.4 to 3.0 to 3.2 to 3.4", began), Measure::new("a new route served", served)])
}

pub async fn credentials_rotated(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    let password = r#"{"stringData":{"password":"another-password-of-32-characters"}}"#;
    release.kubectl(&["patch", "secret", "haptic-credentials", "--type=merge", "-p", password]).await?;
    // kubelet brings a Secret to pods within a minute or two; the controller knows it at once.
    let served = release.a_new_route_is_served("rotated").await?;
    Ok(vec![measured("all in all", began), Measure::new("a new route served", served)])
}

/// A host's certificate becomes another one while clients come.
pub async fn certificate_renewed(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    let host = "renewed.example.com";
    let secret = Routing::chosen().tls_route(&release.node, "renewed").await?;
    let mut longest = Duration::ZERO;
    for _ in 0..3 {
        let certificate = certificate::for_host(host)?;
        release.node.apply(&manifest::tls_secret(&secret, &certificate).to_string()).await?;
        let began = Instant::now();
        eventually("all pods show the new certificate", async || {
            for _ in 0..8 {
                let answer = http::get_tls(release.addresses[1], host, "/").await?;
                ensure(answer.certificate.as_deref() == Some(&*certificate.der), "another one is shown")?;
            }
            Ok(())
        })
        .await?;
        longest = longest.max(began.elapsed());
    }
    release.unroute("renewed").await?;
    release.node.kubectl(&["delete", "secret/renewed", "--ignore-not-found"]).await?;
    Ok(vec![Measure::new("shown by all pods, the longest of three", longest)])
}

/// What is wrong is refused, and what is right goes through, with one replica to ask.
pub async fn webhook_fails_closed(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    release.upgrade(&["webhook.failurePolicy=Fail", "controller.replicas=1"]).await?;
    let began = Instant::now();
    eventually("the webhook refuses what is wrong", async || {
        let wrong = [Routing::chosen().wrong_change(), &["--dry-run=server"]].concat();
        let refused = release.node.kubectl(&wrong).await.is_err();
        ensure(refused, "it was taken")
    })
    .await?;
    let refused = measured("what is wrong is refused", began);
    let served = release.a_new_route_is_served("fail-closed").await?;
    release.restart("haptic-controller").await?;
    release.a_new_route_is_served("fail-closed-again").await?;
    release.upgrade(&["webhook.failurePolicy=Ignore", "controller.replicas=2"]).await?;
    Ok(vec![refused, Measure::new("a new route served", served)])
}

/// The autoscaler takes over as many pods as there are: none goes because it is switched on.
pub async fn autoscaling(release: Rc<Release>) -> Outcome<Vec<Measure>> {
    release.scale(3).await?;
    release.upgrade(&["haproxy.autoscaling.enabled=true", "haproxy.autoscaling.minReplicas=3"]).await?;
    let pods = release.pods("haproxy").await?.len();
    ensure(pods == 3, format!("there are {pods} pods of 3 in namespace {NAMESPACE}"))?;
    release.upgrade(&["haproxy.autoscaling.enabled=false", "haproxy.replicas=2"]).await?;
    release.scale(2).await?;
    Ok(Vec::new())
}
