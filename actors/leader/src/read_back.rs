//! Reads back what leaders leave at the API server about one configuration: its status, what is published, the Lease, Events.
//! For people who have kubectl and no way to a controller. Only looks, once, and decides nothing.

use crate::api_server::{forbidden, late, unknown};
use haptic_model::{
    HAProxyTemplateConfig,
    crd::{HAProxyCfg, HAProxyTemplateConfigStatus, LeaderElectionSpec},
};
use jiff::Timestamp;
use k8s_openapi::api::{coordination::v1::Lease, events::v1::Event};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams},
};
use std::time::Duration;

/// An API server that takes longer than this for all of it does not answer.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Who writes our Events.
const CONTROLLER: &str = "reportingController=haproxy-haptic.org/controller";

/// Which configuration is meant.
#[derive(Clone, Debug, Default)]
pub struct ConfigQuery {
    /// Its name; `None`: the only one there is.
    pub name: Option<String>,
    /// Its namespace, or where it is looked for first.
    pub namespace: String,
    /// Whether it is in that namespace or nowhere.
    pub only_there: bool,
}

/// What is at the API server. What could not be read is the reason, with what to allow.
#[derive(Clone, Debug)]
pub struct ReadBackState {
    /// The configuration's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its `metadata.generation`.
    pub generation: Option<i64>,
    /// Its status; the default one when it has none.
    pub status: HAProxyTemplateConfigStatus,
    /// What is published of it; `None` when nothing is.
    pub published: Result<Option<HAProxyCfg>, String>,
    /// The Lease; `None` when replicas elect nobody.
    pub lease: Option<FoundLease>,
    /// The Events that its controllers wrote, in no order.
    pub events: Result<Vec<FoundEvent>, String>,
}

/// The Lease that says who leads.
#[derive(Clone, Debug)]
pub struct FoundLease {
    /// Its name.
    pub name: String,
    /// Who holds it; `None` when nobody does.
    pub holder: Result<Option<LeaseHolder>, String>,
}

/// Who holds a Lease.
#[derive(Clone, Debug)]
pub struct LeaseHolder {
    /// The identity: the pod's name, `_` and a number.
    pub identity: String,
    /// When it was renewed last.
    pub renewed: Timestamp,
    /// For how long that counts, in seconds.
    pub seconds: i64,
}

/// A Kubernetes Event.
#[derive(Clone, Debug)]
pub struct FoundEvent {
    /// When it happened last.
    pub at: Timestamp,
    /// Whether its type is Warning.
    pub warning: bool,
    /// Its reason.
    pub reason: String,
    /// `Ingress default/shop`.
    pub about: String,
    /// Its sentence.
    pub note: String,
}

impl ReadBackState {
    /// When the leader wrote last what it publishes.
    #[must_use]
    pub fn written(&self) -> Option<Timestamp> {
        let cfg = self.published.as_ref().ok()?.as_ref()?;
        let fields = cfg.metadata.managed_fields.iter().flatten();
        fields.filter_map(|entry| Some(entry.time.as_ref()?.0)).max()
    }

    /// The pod of the process that holds the Lease.
    #[must_use]
    pub fn leading_pod(&self) -> Option<&str> {
        let holder = self.lease.as_ref()?.holder.as_ref().ok()?.as_ref()?;
        holder.identity.rsplit_once('_').map(|(pod, _)| pod).filter(|pod| !pod.is_empty())
    }
}

/// Reads everything of the configuration that is meant.
///
/// # Errors
/// When the API server does not answer or allow it, or no one configuration is meant.
pub async fn read(client: &Client, wanted: &ConfigQuery) -> Result<ReadBackState, String> {
    match tokio::time::timeout(TIMEOUT, read_all(client, wanted)).await {
        Ok(read) => read,
        Err(_) => Err(late(TIMEOUT)),
    }
}

async fn read_all(client: &Client, wanted: &ConfigQuery) -> Result<ReadBackState, String> {
    let config = choose(client, wanted).await?;
    let (namespace, name) = (config.namespace().unwrap_or_default(), config.name_any());
    let (published, lease, events) = tokio::join!(
        published(client, &namespace, &name),
        lease(client, &namespace, &config),
        events(client, &namespace),
    );
    let status = config.data.get("status").cloned().and_then(|status| serde_json::from_value(status).ok());
    let leader = lease.as_ref().and_then(|lease| lease.holder.as_ref().ok()?.as_ref());
    let leader = leader.map(|holder| holder.identity.as_str());
    let events =
        events.map(|all| all.iter().filter(|e| is_ours(e, &namespace, leader)).map(found_event).collect());
    Ok(ReadBackState {
        generation: config.metadata.generation,
        status: status.unwrap_or_default(),
        namespace,
        name,
        published,
        lease,
        events,
    })
}

/// The configuration that is meant.
async fn choose(client: &Client, wanted: &ConfigQuery) -> Result<DynamicObject, String> {
    let ConfigQuery { name, namespace, only_there } = wanted;
    let kind = ApiResource::erase::<HAProxyTemplateConfig>(&());
    let here: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    let failed = |error: kube::Error| why(&error, "haproxytemplateconfigs", namespace);
    if let Some(name) = name {
        return here.get_opt(name).await.map_err(failed)?.ok_or_else(|| {
            format!("there is no HAProxyTemplateConfig {name} in namespace {namespace}; `kubectl get haptpl -A` lists them")
        });
    }
    let mut found = match here.list(&ListParams::default()).await {
        Ok(list) if *only_there || !list.items.is_empty() => list.items,
        here => {
            let everywhere: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
            match everywhere.list(&ListParams::default()).await {
                Ok(list) => list.items,
                Err(_) => here.map_err(failed)?.items,
            }
        }
    };
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => Err(format!(
            "there is no HAProxyTemplateConfig in namespace {namespace}; name another with --namespace"
        )),
        (Some(last), _) => {
            let named = |config: &DynamicObject| {
                format!("--namespace {} --name {}", config.namespace().unwrap_or_default(), config.name_any())
            };
            let all: Vec<String> = found.iter().chain([&last]).map(named).collect();
            Err(format!("there are several configurations, say which one is meant:\n  {}", all.join("\n  ")))
        }
    }
}

async fn published(client: &Client, namespace: &str, name: &str) -> Result<Option<HAProxyCfg>, String> {
    let api: Api<HAProxyCfg> = Api::namespaced(client.clone(), namespace);
    api.get_opt(name).await.map_err(|error| why(&error, "haproxycfgs", namespace))
}

async fn lease(client: &Client, namespace: &str, config: &DynamicObject) -> Option<FoundLease> {
    let spec = config.data.pointer("/spec/controller/leaderElection").cloned();
    let election: LeaderElectionSpec =
        spec.and_then(|spec| serde_json::from_value(spec).ok()).unwrap_or_default();
    if !election.enabled {
        return None;
    }
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let holder = match api.get_opt(&election.lease_name).await {
        Ok(lease) => Ok(lease.and_then(holder)),
        Err(error) => Err(why(&error, "leases", namespace)),
    };
    Some(FoundLease { name: election.lease_name, holder })
}

fn holder(lease: Lease) -> Option<LeaseHolder> {
    let spec = lease.spec?;
    Some(LeaseHolder {
        identity: spec.holder_identity.filter(|holder| !holder.is_empty())?,
        renewed: spec.renew_time?.0,
        seconds: spec.lease_duration_seconds.unwrap_or_default().into(),
    })
}

async fn events(client: &Client, namespace: &str) -> Result<Vec<Event>, String> {
    let ours = ListParams::default().fields(CONTROLLER);
    let everywhere: Api<Event> = Api::all(client.clone());
    if let Ok(events) = everywhere.list(&ours).await {
        return Ok(events.items);
    }
    let here: Api<Event> = Api::namespaced(client.clone(), namespace);
    here.list(&ours).await.map(|events| events.items).map_err(|error| why(&error, "events", namespace))
}

/// Other releases tell, too: of what is elsewhere counts what the leader of this one told.
fn is_ours(event: &Event, namespace: &str, leader: Option<&str>) -> bool {
    event.namespace().as_deref() == Some(namespace)
        || leader.is_none()
        || event.reporting_instance.as_deref() == leader
}

fn found_event(event: &Event) -> FoundEvent {
    let last = event.series.as_ref().map(|series| series.last_observed_time.0);
    let first = event.event_time.as_ref().map(|time| time.0);
    let made = event.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let about = event.regarding.clone().unwrap_or_default();
    let name = [about.namespace, about.name].into_iter().flatten().collect::<Vec<_>>().join("/");
    FoundEvent {
        at: last.or(first).or(made).unwrap_or_default(),
        warning: event.type_.as_deref() == Some("Warning"),
        reason: event.reason.clone().unwrap_or_default(),
        about: format!("{} {name}", about.kind.unwrap_or_default()),
        note: event.note.clone().unwrap_or_default(),
    }
}

fn why(error: &kube::Error, resource: &str, namespace: &str) -> String {
    match error {
        kube::Error::Api(status) if status.code == 403 => {
            forbidden(status, format_args!("get and list on {resource} in namespace {namespace}"))
        }
        kube::Error::Api(status) if status.code == 404 => unknown(resource),
        error => error.to_string(),
    }
}
