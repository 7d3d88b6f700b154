//! One look at a status: what it should be, from the object as stored, and the write that brings it there.

use super::{
    abandoned::WithoutVerdict,
    held::{self, HeldRoute},
    kinds::{GatewayKind, KindSource, StatusKey},
    progress::{FleetProgress, ProgrammedProof},
    queue::AwaitedProof,
    references::EntryList,
    status::{GatewayAddresses, GatewayStatusChange, StatusContext},
    status_api::{GatewayStatusApi, StatusFailure},
};
use futures::{StreamExt, stream};
use haptic_model::{
    Object,
    gateway::{
        ClassVerdict, GatewayVerdict, GatewayVerdicts, ListenerSetVerdict, PolicyVerdict, RouteVerdict,
    },
    pipeline::Leadership,
};
use haptic_runtime::{Topic, cpu};
use jiff::Timestamp;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::Instant;

/// So many writes are under way at once: no more than a shell's loop or two would make.
const AT_ONCE: usize = 4;
/// So often a status that somebody else changes meanwhile is read again.
const ATTEMPTS: usize = 4;

/// What was decided about one object.
#[derive(Clone, Debug)]
pub(crate) enum ObjectVerdict {
    Class(Arc<ClassVerdict>),
    Gateway(Arc<GatewayVerdict>, GatewayAddresses),
    ListenerSet(Arc<ListenerSetVerdict>),
    Route(Arc<RouteVerdict>),
    /// Its present version is held back; the verdict is about what is served in its place.
    HeldRoute(HeldRoute, Option<Arc<RouteVerdict>>),
    Policy(Arc<PolicyVerdict>),
    /// It is a Gateway or a ListenerSet, and has none. The generation that was judged last, if any was.
    Abandoned(Option<i64>),
    /// Nothing of it is ours.
    None,
}

/// One status to look at.
#[derive(Clone, Debug)]
pub(crate) struct StatusWork {
    pub(crate) key: StatusKey,
    pub(crate) source: KindSource,
    pub(crate) object: StoredObject,
    pub(crate) verdict: ObjectVerdict,
    pub(crate) waiting: Option<AwaitedProof>,
    /// What the store had when the look began.
    pub(crate) seen: Arc<Object>,
}

/// The object as it is stored, as far as that is known.
#[derive(Clone, Debug)]
pub(crate) enum StoredObject {
    /// As the store has it.
    InStore,
    /// As the API server answered to the last write.
    Written(Arc<Value>),
    /// It has to be read.
    Unknown,
}

/// What all looks of one round share.
#[derive(Clone)]
pub(crate) struct RoundContext {
    pub(crate) api: GatewayStatusApi,
    /// Read right before each write.
    pub(crate) leadership: Topic<Leadership>,
    pub(crate) controller: Arc<str>,
    /// All of them.
    pub(crate) verdicts: Arc<GatewayVerdicts>,
    pub(crate) fleet: Arc<FleetProgress>,
    /// Whether addresses of Gateways are ours to say.
    pub(crate) has_addresses: bool,
    pub(crate) began: Instant,
    /// RFC 3339, whole seconds.
    pub(crate) now: String,
}

/// What came of a look.
#[derive(Debug)]
pub(crate) struct StatusDone {
    pub(crate) key: StatusKey,
    pub(crate) outcome: StatusOutcome,
    /// What the store had when the look began.
    pub(crate) seen: Arc<Object>,
    /// Whether a part of it waits for the pods.
    pub(crate) waits: bool,
}

#[derive(Debug)]
pub(crate) enum StatusOutcome {
    /// It is as it should be, or it is too early to say, or it is gone.
    Right,
    Written {
        /// The object as it is now.
        object: Arc<Value>,
        /// Whether the API server made something else of it: who writes again writes for ever.
        in_vain: bool,
    },
    /// Another attempt may succeed.
    Failed(String),
    /// No other attempt would.
    Refused(String),
    /// This replica does not lead any more.
    Abandoned,
}

/// Looks at all of `works`, a few at a time.
pub(crate) async fn round(works: Vec<StatusWork>, context: RoundContext) -> Vec<StatusDone> {
    let evaluated = {
        let context = context.clone();
        cpu("gateway-status", move || {
            works
                .into_iter()
                .map(|work| {
                    let object = work.object();
                    let change = object.as_ref().map(|object| work.judge(object, &context));
                    (work, object, change)
                })
                .collect::<Vec<_>>()
        })
        .await
    };
    let evaluated = match evaluated {
        Ok(evaluated) => evaluated,
        Err(panicked) => {
            tracing::error!("statuses of the Gateway API: {panicked}");
            return Vec::new();
        }
    };
    // Who may not write one of a kind may write none of it.
    let forbidden = Arc::new(Mutex::new(BTreeMap::<GatewayKind, String>::new()));
    let looks = evaluated.into_iter().map(|(work, object, change)| {
        let (context, forbidden) = (&context, forbidden.clone());
        async move { work.done(object, change, context, &forbidden).await }
    });
    stream::iter(looks).buffer_unordered(AT_ONCE).collect().await
}

/// What is written to objects as they are told now.
pub(crate) fn timestamp() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl StatusWork {
    fn object(&self) -> Option<Arc<Value>> {
        match &self.object {
            StoredObject::InStore => self.seen.value().ok().map(Arc::new),
            StoredObject::Written(object) => Some(object.clone()),
            StoredObject::Unknown => None,
        }
    }

    fn judge(&self, object: &Value, context: &RoundContext) -> GatewayStatusChange {
        let since = self.waiting.as_ref().map(|waiting| &*waiting.since);
        let StatusKey { kind, namespace, .. } = &self.key;
        let status = StatusContext {
            controller: &context.controller,
            namespace,
            now: &context.now,
            proof: ProgrammedProof { fleet: &context.fleet, since },
        };
        match &self.verdict {
            ObjectVerdict::Class(verdict) => status.of_class(object, verdict),
            ObjectVerdict::Gateway(verdict, addresses) => status.of_gateway(object, verdict, addresses),
            ObjectVerdict::ListenerSet(verdict) => status.of_listener_set(object, verdict),
            ObjectVerdict::Route(verdict) => status.of_route(object, verdict),
            ObjectVerdict::HeldRoute(held, served) => {
                let served = served.as_deref();
                match (held.verdict(object, namespace, served, &context.verdicts), served) {
                    (Some(verdict), served) => {
                        status.of_held_route(object, &verdict, served.map(|served| served.generation))
                    }
                    (None, Some(served)) => status.of_route(object, served),
                    (None, None) => GatewayStatusChange::default(),
                }
            }
            ObjectVerdict::Policy(verdict) => status.of_policy(object, verdict),
            ObjectVerdict::Abandoned(validated) => {
                match WithoutVerdict::of(*kind, object, namespace, &context.verdicts) {
                    WithoutVerdict::ToCome => GatewayStatusChange::default(),
                    WithoutVerdict::ClassRefused => status.of_refused_class(object, context.has_addresses),
                    WithoutVerdict::NotOurs => {
                        status.abandoned(*kind, object, *validated, context.has_addresses)
                    }
                }
            }
            ObjectVerdict::None => match kind {
                // Its verdict is to come: it is new, or was held back and is tried again.
                GatewayKind::Route(_) if held::has_parent_of_ours(object, namespace, &context.verdicts) => {
                    GatewayStatusChange::default()
                }
                GatewayKind::Route(_) => {
                    status.withdrawn(object, EntryList::parents(&context.controller, namespace))
                }
                GatewayKind::Policy => {
                    status.withdrawn(object, EntryList::ancestors(&context.controller, namespace))
                }
                _ => GatewayStatusChange::default(),
            },
        }
    }

    async fn done(
        self,
        object: Option<Arc<Value>>,
        change: Option<GatewayStatusChange>,
        context: &RoundContext,
        forbidden: &Mutex<BTreeMap<GatewayKind, String>>,
    ) -> StatusDone {
        let lock = || forbidden.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&self.key.kind).cloned();
        let mut waits = false;
        let brought = match known {
            Some(why) => Ok(StatusOutcome::Failed(why)),
            None => self.bring(object.zip(change), context, &mut waits).await,
        };
        let outcome = match brought {
            Ok(outcome) => outcome,
            Err(StatusFailure::Forbidden(why)) => {
                lock().insert(self.key.kind, why.clone());
                StatusOutcome::Failed(why)
            }
            Err(StatusFailure::Refused(why)) => StatusOutcome::Refused(why),
            Err(StatusFailure::Failed(why)) => StatusOutcome::Failed(why),
            Err(StatusFailure::Conflict) => {
                StatusOutcome::Failed(format!("{}: others change it all the time", self.key))
            }
            Err(StatusFailure::Gone) => StatusOutcome::Right,
        };
        StatusDone { key: self.key, outcome, seen: self.seen, waits }
    }

    /// Writes what differs, if something does and it is not too early; what others change meanwhile is read again.
    async fn bring(
        &self,
        mut known: Option<(Arc<Value>, GatewayStatusChange)>,
        context: &RoundContext,
        waits: &mut bool,
    ) -> Result<StatusOutcome, StatusFailure> {
        for _ in 0..ATTEMPTS {
            let (object, change) = match known.take() {
                Some(known) => known,
                None => {
                    let object = Arc::new(context.api.read(&self.source.resource, &self.key).await?);
                    let change = self.judge(&object, context);
                    (object, change)
                }
            };
            *waits = change.waits;
            let is_early = self.waiting.as_ref().is_some_and(|waiting| context.began < waiting.grace);
            if change.fields.is_empty() || change.waits && is_early {
                return Ok(StatusOutcome::Right);
            }
            if !context.leadership.latest().leads {
                return Ok(StatusOutcome::Abandoned);
            }
            // A store that leaves it out by the configuration's word: what is to be written is read once more before.
            let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
            let Some(version) = version else { continue };
            match context.api.write(&self.source.resource, &self.key, version, change.fields).await {
                Ok(after) => {
                    let in_vain = !self.judge(&after, context).fields.is_empty();
                    return Ok(StatusOutcome::Written { object: Arc::new(after), in_vain });
                }
                Err(StatusFailure::Conflict) => {}
                Err(failure) => return Err(failure),
            }
        }
        Err(StatusFailure::Conflict)
    }
}
