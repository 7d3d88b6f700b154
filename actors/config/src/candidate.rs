//! A configuration that was read but not yet judged.

use crate::{
    credentials::{self, SecretName},
    library::{self, Untested},
};
use haptic_model::{
    ActiveConfig, Diagnostic, HAProxyTemplateConfig, HAProxyTemplateConfigSpec, Layout, Remarks,
    config::Credentials, crd::AllowedNetwork, mass_deletion::CONFIRMATION,
};
use haptic_text::Sensitive;
use serde_json::Value;
use std::sync::Arc;

/// A configuration as its source holds it, defaults applied.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigCandidate {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// `metadata.generation`; 0 for a file.
    pub resource_generation: i64,
    /// `metadata.uid`; `None` for a file.
    pub uid: Option<Arc<str>>,
    /// All fields, laid over the libraries they name, defaults applied.
    pub spec: Arc<HAProxyTemplateConfigSpec>,
    /// What it says beside its spec.
    pub remarks: Remarks,
    /// Tests of libraries that are left out.
    pub untested: Option<Untested>,
    /// What a file says in a way that others have replaced.
    pub notices: Vec<Diagnostic>,
}

impl ConfigCandidate {
    /// The candidate in a whole `HAProxyTemplateConfig` given as JSON, laid over the libraries it names.
    ///
    /// # Errors
    /// What does not fit the types, with its field.
    pub fn from_resource(resource: &Value) -> Result<Self, Diagnostic> {
        let text = |path: &str| resource.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (spec, untested) = library::laid_over(resource.get("spec").cloned().unwrap_or_default())?;
        Ok(Self {
            name: text("/metadata/name").into(),
            namespace: text("/metadata/namespace").into(),
            resource_generation: resource
                .pointer("/metadata/generation")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            uid: Some(text("/metadata/uid")).filter(|uid| !uid.is_empty()).map(Arc::from),
            spec: Arc::new(read_spec(spec)?),
            remarks: remarks(resource),
            untested,
            notices: Vec::new(),
        })
    }

    /// `namespace/name`.
    #[must_use]
    pub fn full_name(&self) -> Arc<str> {
        format!("{}/{}", self.namespace, self.name).into()
    }

    /// The Secret with its credentials.
    #[must_use]
    pub fn secret(&self) -> SecretName {
        credentials::secret_of(&self.spec, &self.namespace)
    }

    /// The configuration as if it were active, with credentials that no pod accepts.
    ///
    /// # Errors
    /// A layout that no pod can have.
    pub fn as_if_active(self) -> Result<Arc<ActiveConfig>, String> {
        let layout = Layout::of(&self.spec.dataplane)?;
        Ok(Arc::new(ActiveConfig {
            name: self.name,
            namespace: self.namespace,
            resource_generation: self.resource_generation,
            revision: 1,
            spec: self.spec,
            layout,
            credentials: vec![Credentials {
                username: String::new(),
                password: Sensitive::new(String::new()),
            }],
        }))
    }
}

impl TryFrom<&HAProxyTemplateConfig> for ConfigCandidate {
    type Error = Diagnostic;

    fn try_from(resource: &HAProxyTemplateConfig) -> Result<Self, Self::Error> {
        let value = serde_json::to_value(resource).map_err(|e| Diagnostic::error("basic", e.to_string()))?;
        Self::from_resource(&value)
    }
}

fn remarks(resource: &Value) -> Remarks {
    let annotations = resource.pointer("/metadata/annotations");
    let confirmed = annotations.and_then(|all| all.get(CONFIRMATION)).and_then(Value::as_str).map(Arc::from);
    let watched = resource.pointer("/status/watchedObjects").and_then(Value::as_object);
    let count =
        |(name, count): (&String, &Value)| Some((name.clone(), usize::try_from(count.as_u64()?).ok()?));
    Remarks { confirmed, watched: watched.into_iter().flatten().filter_map(count).collect() }
}

/// serde's own message names the field it stumbled over and nothing of the path to it: the schema pass before
/// this reports paths, so only what it cannot know arrives here.
fn read_spec(spec: Value) -> Result<HAProxyTemplateConfigSpec, Diagnostic> {
    match wrong_destination(&spec) {
        Some(wrong) => Err(wrong),
        None => serde_json::from_value(spec)
            .map_err(|e| Diagnostic::error("basic", e.to_string()).at_field("spec")),
    }
}

/// For the schema it is a text as any other.
fn wrong_destination(spec: &Value) -> Option<Diagnostic> {
    let listed = spec.pointer("/allow/destinations")?.as_array()?;
    listed.iter().enumerate().find_map(|(place, text)| {
        let why = text.as_str()?.parse::<AllowedNetwork>().err()?;
        Some(Diagnostic::error("basic", why).at_field(format!("spec.allow.destinations[{place}]")))
    })
}
