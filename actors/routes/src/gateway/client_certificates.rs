//! Certificates of TLS that a Gateway asks its clients for, and the one that it shows to servers (`spec.tls`).
//!
//! https://gateway-api.sigs.k8s.io/reference/spec/, `GatewayTLSConfig`. What clients must show counts for a port, whichever listener they ask for:
//! a connection may be used for all hosts of a port. A port whose certificates of authorities are not there is not served.

use super::{
    authorities::AuthorityText,
    listeners::{ClientValidation, GatewayListener, ListenerContext, Owner, certificate},
    objects::{ClientValidationSpec, GatewayTls, ObjectReference},
};
use haptic_model::gateway::NamespacedName;
use std::{collections::BTreeMap, sync::Arc};

/// Lets in also who shows no certificate, or one that nobody vouches for.
const LENIENT: &str = "AllowInsecureFallback";

/// Why a port's certificates of authorities are not all there: a reason of the API, and a sentence.
type BadAuthority = (&'static str, String);

/// What clients of a Gateway's ports must show. It is read once for all listeners that have it in common, of which there may be thousands.
#[derive(Default)]
pub(super) struct GuardedPorts {
    /// By the place of the port's own settings, if it has some.
    known: BTreeMap<Option<usize>, ReadValidation>,
}

/// A validation that was read.
struct ReadValidation {
    bad: Option<BadAuthority>,
    /// None where nobody could be let in.
    clients: Option<Arc<ClientValidation>>,
}

impl ReadValidation {
    fn of(spec: &ClientValidationSpec, owner: &Owner<'_>, context: &ListenerContext<'_>) -> Self {
        let (mut pem, mut bad): (String, Option<BadAuthority>) = (String::new(), None);
        for reference in &spec.authorities {
            match authorities(reference, owner, context) {
                Ok(text) => {
                    pem += &text.pem;
                    pem.push('\n');
                }
                Err(why) => drop(bad.get_or_insert(why)),
            }
        }
        let is_lenient = spec.mode.as_deref() == Some(LENIENT);
        let clients =
            (!pem.is_empty()).then(|| Arc::new(ClientValidation { authorities: pem.into(), is_lenient }));
        Self { bad, clients }
    }
}

impl GuardedPorts {
    /// Has a listener with TLS ask for certificates, or be refused where nobody could be let in.
    pub fn guard(
        &mut self,
        tls: &GatewayTls,
        listener: &mut GatewayListener,
        owner: &Owner<'_>,
        context: &ListenerContext<'_>,
    ) {
        let Some((place, spec)) = tls.validation(listener.port) else { return };
        let read = self.known.entry(place).or_insert_with(|| ReadValidation::of(spec, owner, context));
        if let Some((reason, message)) = &read.bad {
            listener.unresolve(reason, message.clone());
        }
        if read.clients.is_none() {
            let bad = read.bad.as_ref().map(|(_, why)| why.as_str());
            let why = bad.unwrap_or("no certificate of an authority is named");
            let message = format!(
                "certificates of clients cannot be verified (spec.tls.frontend of the Gateway): {why}"
            );
            listener.refuse("NoValidCACertificate", message);
            return;
        }
        listener.clients.clone_from(&read.clients);
    }
}

impl GatewayTls {
    /// The validation that counts for a port, and the place of the port's own settings, if it has some.
    fn validation(&self, port: u16) -> Option<(Option<usize>, &ClientValidationSpec)> {
        let frontend = self.frontend.as_ref()?;
        let place = frontend.per_port.iter().position(|one| one.port == port);
        let of_port = place.and_then(|place| frontend.per_port.get(place)).map(|one| &one.tls);
        Some((place, of_port.or(frontend.default.as_ref())?.validation.as_ref()?))
    }

    /// Whether any port lets in clients without a certificate.
    pub fn is_lenient(&self) -> bool {
        let frontend = self.frontend.iter();
        let all = frontend.flat_map(|one| one.per_port.iter().map(|one| &one.tls).chain(&one.default));
        all.filter_map(|one| one.validation.as_ref()).any(|one| one.mode.as_deref() == Some(LENIENT))
    }

    /// The Secret with the certificate that servers are shown.
    ///
    /// # Errors
    /// A reason of the API, and a sentence.
    pub fn client(
        &self,
        owner: &Owner<'_>,
        context: &ListenerContext<'_>,
    ) -> Result<Option<NamespacedName>, BadAuthority> {
        let Some(reference) = self.backend.as_ref().and_then(|backend| backend.certificate.as_ref()) else {
            return Ok(None);
        };
        let of_client = |(reason, message)| {
            let reason =
                if reason == "InvalidCertificateRef" { "InvalidClientCertificateRef" } else { reason };
            (reason, format!("spec.tls.backend.clientCertificateRef: {message}"))
        };
        certificate(reference, owner, context).map(Some).map_err(of_client)
    }
}

fn authorities(
    reference: &ObjectReference,
    owner: &Owner<'_>,
    context: &ListenerContext<'_>,
) -> Result<AuthorityText, BadAuthority> {
    let namespace = reference.namespace.as_ref().unwrap_or(owner.gateway_namespace());
    let name = (namespace.clone(), reference.name.clone());
    if !reference.is_core("ConfigMap") {
        let kind = reference.kind.as_deref().unwrap_or_default();
        return Err((
            "InvalidCACertificateKind",
            format!("caCertificateRef {} is a {kind}, and no ConfigMap", name.1),
        ));
    }
    let of = owner.gateway_namespace();
    if namespace != of && !context.grants.allow("Gateway", of, "ConfigMap", &name) {
        let message = format!(
            "ConfigMap {namespace}/{} is in another namespace, and no ReferenceGrant there allows Gateways of namespace {of} to refer to it",
            name.1
        );
        return Err(("RefNotPermitted", message));
    }
    let why = |why: String| {
        ("InvalidCACertificateRef", format!("ConfigMap {namespace}/{} cannot be used: {why}", name.1))
    };
    (context.authority)(&name).map_err(why)
}
