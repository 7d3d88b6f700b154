//! What one look at the default certificate does: every replica reads it, the leader makes and renews it.

use super::{
    DefaultCertificate,
    api::SecretApi,
    made::{self, SecretState},
};
use haptic_model::{ActiveConfig, default_certificate, pipeline::Leadership};
use haptic_runtime::{Publisher, Topic};
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How often a replica looks while there is none.
const SHORT_INTERVAL: Duration = Duration::from_millis(500);
/// How often otherwise: it changes once in ten years, or by hand.
const INTERVAL: Duration = Duration::from_secs(15);
/// Renders wait up to this time for the first one; a replica that may not read or make it goes on without.
const FIRST_TIMEOUT: Duration = Duration::from_secs(5);

/// The Secret of `config` as it is, or as this replica has just made it. Only the leader writes, which is read right before.
pub(crate) async fn read_or_make(
    client: Client,
    leadership: Topic<Leadership>,
    config: Arc<ActiveConfig>,
) -> Result<Option<Value>, UpkeepFailure> {
    let name = default_certificate::secret_name(&config.name);
    let api = SecretApi::new(client, &config.namespace, name);
    let found = api.read().await.map_err(UpkeepFailure::NotRead)?;
    let now = Timestamp::now();
    let judgement = found.as_ref().map(|secret| made::examine(secret, now));
    if judgement == Some(SecretState::Good) || !leadership.latest().leads {
        return Ok(found.filter(|_| judgement != Some(SecretState::Broken)));
    }
    let made = made::secret(&config.namespace, &config.name, now).map_err(UpkeepFailure::NotMade)?;
    let written = api.write(&made, found.as_ref()).await.map_err(UpkeepFailure::NotMade)?;
    tracing::info!(
        namespace = &*config.namespace,
        secret = default_certificate::secret_name(&config.name),
        "made the certificate for hosts that have none"
    );
    Ok(Some(written))
}

/// Publishes what was found; when to look again. `began`: when the first look began.
pub(crate) fn publish(
    certificate: &Publisher<DefaultCertificate>,
    found: &Result<Option<Value>, UpkeepFailure>,
    began: Instant,
) -> Duration {
    let known = certificate.latest();
    match found {
        Ok(Some(secret)) => {
            let unchanged = matches!(&*known, DefaultCertificate::Secret(known) if **known == *secret);
            if !unchanged {
                certificate.publish(DefaultCertificate::Secret(Arc::new(secret.clone())));
            }
            INTERVAL
        }
        // One that was there before is better than none.
        _ if matches!(&*known, DefaultCertificate::Secret(_)) => SHORT_INTERVAL,
        _ if began.elapsed() < FIRST_TIMEOUT => SHORT_INTERVAL,
        _ => {
            if *known == DefaultCertificate::Awaited {
                certificate.publish(DefaultCertificate::None);
            }
            INTERVAL
        }
    }
}

/// Why the certificate is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UpkeepFailure {
    /// It could not be read.
    NotRead(String),
    /// There is none that is good, and none could be made.
    NotMade(String),
}

impl UpkeepFailure {
    /// Whether hosts may have none to answer with. One that `is_known` is served on, whether it can be read now or not.
    pub(crate) fn costs_a_certificate(&self, is_known: bool) -> bool {
        matches!(self, Self::NotMade(_)) || !is_known
    }
}

/// Logs trouble when it begins and when it changes.
pub(crate) fn report(trouble: &mut Option<UpkeepFailure>, now: Option<UpkeepFailure>) {
    if let Some(UpkeepFailure::NotRead(why) | UpkeepFailure::NotMade(why)) = &now
        && *trouble != now
    {
        tracing::warn!("hosts without a certificate may have none to answer with: {why}");
    }
    *trouble = now;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_certificate_that_cannot_be_read_now_is_no_trouble() {
        let (not_read, not_made) =
            (UpkeepFailure::NotRead("away".into()), UpkeepFailure::NotMade("refused".into()));
        assert!(!not_read.costs_a_certificate(true) && not_read.costs_a_certificate(false));
        assert!(not_made.costs_a_certificate(true), "the one that is known is about to expire");
    }
}
