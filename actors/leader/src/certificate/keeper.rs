//! The loop that keeps the default certificate: every replica reads it, the leader makes and renews it.

use super::{
    api::SecretApi,
    made::{self, Judgement},
};
use haptic_model::{ActiveConfig, default_certificate, pipeline::Leadership};
use haptic_runtime::{CellReader, CellWriter};
use jiff::Timestamp;
use kube::Client;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How often a replica looks while there is none.
const IMPATIENT: Duration = Duration::from_millis(500);
/// How often otherwise: it changes once in ten years, or by somebody's hand.
const PATIENT: Duration = Duration::from_secs(15);
/// Renders wait so long for the first one; whoever may not read or make it goes on without.
const WITHOUT: Duration = Duration::from_secs(5);

/// What is known of the default certificate.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DefaultCertificate {
    /// Nothing yet: a render would come too early.
    #[default]
    Awaited,
    /// There is none, and it is not to be waited for.
    None,
    /// This Secret's.
    Secret(Arc<Value>),
}

/// Keeps it.
#[derive(Clone)]
pub struct Keeper {
    /// The API server.
    pub client: Client,
    /// Only the leader writes.
    pub leadership: CellReader<Leadership>,
    /// The configuration that was accepted last: it says whether one is wanted.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// Where it goes.
    pub certificate: Arc<CellWriter<DefaultCertificate>>,
}

impl Keeper {
    /// Keeps it until the future is dropped.
    pub async fn run(mut self) {
        let (mut began, mut trouble) = (None, None);
        loop {
            let config = self.config.read().as_ref().clone();
            let Some(config) = config.filter(|config| default_certificate::is_wanted(&config.spec)) else {
                self.config.changed().await;
                continue;
            };
            let began = *began.get_or_insert_with(Instant::now);
            let found = self.look(&config).await;
            let pause = self.publish(&found, began);
            let is_known = matches!(*self.certificate.read(), DefaultCertificate::Secret(_));
            report(&mut trouble, found.err().filter(|failure| failure.costs_a_certificate(is_known)));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = self.config.changed() => {}
                // Whoever leads from now on may make it.
                _ = self.leadership.changed() => {}
            }
        }
    }

    /// The Secret as it is, or as this replica has just made it.
    async fn look(&self, config: &ActiveConfig) -> Result<Option<Value>, Failure> {
        let name = default_certificate::secret_name(&config.name);
        let api = SecretApi::new(self.client.clone(), &config.namespace, name);
        let found = api.read().await.map_err(Failure::NotRead)?;
        let now = Timestamp::now();
        let judgement = found.as_ref().map(|secret| made::judge(secret, now));
        if judgement == Some(Judgement::Good) || !self.leadership.read().leads {
            return Ok(found.filter(|_| judgement != Some(Judgement::Broken)));
        }
        let made = made::secret(&config.namespace, &config.name, now).map_err(Failure::NotMade)?;
        let written = api.write(&made, found.as_ref()).await.map_err(Failure::NotMade)?;
        tracing::info!(
            namespace = &*config.namespace,
            secret = default_certificate::secret_name(&config.name),
            "made the certificate for hosts that have none"
        );
        Ok(Some(written))
    }

    /// Tells what was found; when to look again.
    fn publish(&self, found: &Result<Option<Value>, Failure>, began: Instant) -> Duration {
        let known = self.certificate.read();
        match found {
            Ok(Some(secret)) => {
                let unchanged = matches!(&*known, DefaultCertificate::Secret(known) if **known == *secret);
                if !unchanged {
                    self.certificate.publish(DefaultCertificate::Secret(Arc::new(secret.clone())));
                }
                PATIENT
            }
            // One that was there before is better than none.
            _ if matches!(&*known, DefaultCertificate::Secret(_)) => IMPATIENT,
            _ if began.elapsed() < WITHOUT => IMPATIENT,
            _ => {
                if *known == DefaultCertificate::Awaited {
                    self.certificate.publish(DefaultCertificate::None);
                }
                PATIENT
            }
        }
    }
}

/// Why the certificate is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failure {
    /// It could not be read.
    NotRead(String),
    /// There is none that is good, and none could be made.
    NotMade(String),
}

impl Failure {
    /// Whether hosts may have none to answer with. One that `is_known` is served on, whether it can be read now or not.
    fn costs_a_certificate(&self, is_known: bool) -> bool {
        matches!(self, Self::NotMade(_)) || !is_known
    }
}

/// Logs trouble when it begins and when it changes.
fn report(trouble: &mut Option<Failure>, now: Option<Failure>) {
    if let Some(Failure::NotRead(why) | Failure::NotMade(why)) = &now
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
        let (not_read, not_made) = (Failure::NotRead("away".into()), Failure::NotMade("refused".into()));
        assert!(!not_read.costs_a_certificate(true) && not_read.costs_a_certificate(false));
        assert!(not_made.costs_a_certificate(true), "the one that is known is about to expire");
    }
}
