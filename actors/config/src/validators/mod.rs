//! Scatter-gather validation: every validator is asked at once, all answers count, a missing one is an error.

mod basic;
mod hosts;
mod jsonpath;
mod on_demand;
mod webhook;

pub use basic::basic;
pub use jsonpath::jsonpath;

use futures::future::{BoxFuture, FutureExt, join_all};
use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec, Severity, event::Asked};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The time all validators together have.
pub const TIME_LIMIT: Duration = Duration::from_secs(10);

type ValidatorResponse = BoxFuture<'static, Result<Vec<Diagnostic>, String>>;

/// One validator: a name for its errors, and the question.
#[derive(Clone)]
pub struct Validator {
    name: &'static str,
    ask: Arc<dyn Fn(Arc<HAProxyTemplateConfigSpec>) -> ValidatorResponse + Send + Sync>,
}

impl Validator {
    /// A validator that answers later, for instance an actor.
    pub fn new(
        name: &'static str,
        ask: impl Fn(Arc<HAProxyTemplateConfigSpec>) -> ValidatorResponse + Send + Sync + 'static,
    ) -> Self {
        Self { name, ask: Arc::new(ask) }
    }

    /// A pure function as validator, run off the calling thread.
    pub fn pure(name: &'static str, check: fn(&HAProxyTemplateConfigSpec) -> Vec<Diagnostic>) -> Self {
        Self::new(name, move |spec| {
            async move {
                tokio::task::spawn_blocking(move || check(&spec)).await.map_err(|e| format!("it failed: {e}"))
            }
            .boxed()
        })
    }

    /// The validators of this crate: `basic` and `jsonpath`.
    #[must_use]
    pub fn built_in() -> Vec<Self> {
        vec![Self::pure("basic", basic), Self::pure("jsonpath", jsonpath)]
    }
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Validator").field(&self.name).finish()
    }
}

/// What all validators said.
#[derive(Clone, Debug)]
pub struct ValidatorResponses {
    /// In the validators' order; one that did not answer is itself an error that names it.
    pub diagnostics: Vec<Diagnostic>,
    /// Who was asked.
    pub asked: Asked,
}

impl ValidatorResponses {
    /// False when one did not answer: then nothing is known for good.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.asked.silent.is_empty()
    }
}

/// Asks all validators at once. The answers are in the validators' order; a validator that fails or does not answer
/// in time is itself an error that names it.
pub async fn scatter_gather(
    validators: &[Validator],
    spec: &Arc<HAProxyTemplateConfigSpec>,
    limit: Duration,
) -> ValidatorResponses {
    let began = Instant::now();
    let asking = validators.iter().map(|validator| async move {
        match tokio::time::timeout(limit, (validator.ask)(spec.clone())).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", limit.as_secs())),
        }
    });
    let mut answers = ValidatorResponses { diagnostics: Vec::new(), asked: Asked::default() };
    for (validator, answer) in validators.iter().zip(join_all(asking).await) {
        let Asked { answered, silent, .. } = &mut answers.asked;
        if answer.is_ok() { answered } else { silent }.push(validator.name);
        answers.diagnostics.extend(answer.unwrap_or_else(|why| vec![no_answer(validator.name, &why)]));
    }
    answers.asked.took = began.elapsed();
    answers
}

/// Whether any of them refuses.
#[must_use]
pub fn refused(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

fn no_answer(validator: &'static str, why: &str) -> Diagnostic {
    Diagnostic::error(validator, format!("validator {validator} did not answer: {why}"))
        .help("The configuration is not taken; it is tried again in a moment")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Arc<HAProxyTemplateConfigSpec> {
        Arc::new(
            serde_json::from_str(
                r#"{"credentialsSecretRef":{"name":"c"},"podSelector":{"matchLabels":{"a":"b"}}}"#,
            )
            .unwrap(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_validator_that_never_answers_is_named_and_the_others_are_heard() {
        let silent = Validator::new("silent", |_| futures::future::pending().boxed());
        let strict = Validator::pure("strict", |_| vec![Diagnostic::error("strict", "no")]);
        let said = scatter_gather(&[silent, strict], &spec(), TIME_LIMIT).await;
        assert!(!said.is_complete());
        assert_eq!((&*said.asked.answered, &*said.asked.silent), (&["strict"][..], &["silent"][..]));
        assert_eq!(said.asked.took, TIME_LIMIT);
        let said: Vec<String> = said.diagnostics.iter().map(ToString::to_string).collect();
        assert!(said[0].contains("silent did not answer: no answer within 10 s"), "{said:?}");
        assert_eq!(said[1], "no");
    }

    #[tokio::test]
    async fn a_validator_that_panics_refuses_by_name() {
        let broken = Validator::pure("broken", |_| panic!("on purpose"));
        let said = scatter_gather(&[broken], &spec(), TIME_LIMIT).await;
        let said = said.diagnostics;
        assert!(refused(&said) && said[0].to_string().contains("broken"), "{said:?}");
    }
}
