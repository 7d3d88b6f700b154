//! Asks for the Secret of a configuration that is not stored yet.

use super::kubernetes::is_refused;
use crate::credentials::{self, SecretName};
use haptic_model::Diagnostic;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, api::ListParams};

/// Why a Secret cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub enum Unusable {
    /// It is not there, or lacks a key.
    Wrong(Diagnostic),
    /// This controller may not read it.
    Refused(Diagnostic),
    /// The API server does not say.
    Unknown(String),
}

/// Whether `named` has what credentials need. Takes no other right than the watch of it does.
///
/// # Errors
/// Why not.
pub async fn check(client: &Client, named: &SecretName) -> Result<(), Unusable> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &named.namespace);
    let only = ListParams::default().fields(&format!("metadata.name={}", named.name));
    match secrets.list(&only).await {
        Ok(found) => match found.items.into_iter().next() {
            Some(secret) => credentials::from_secret(named, &credentials::data_of(secret))
                .map(drop)
                .map_err(Unusable::Wrong),
            None => Err(Unusable::Wrong(credentials::missing(named))),
        },
        Err(kube::Error::Api(status)) if is_refused(status.code) => {
            Err(Unusable::Refused(credentials::unreadable(named, &status.message)))
        }
        Err(error) => Err(Unusable::Unknown(error.to_string())),
    }
}
