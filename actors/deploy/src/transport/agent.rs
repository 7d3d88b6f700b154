//! The agent's HTTP interface. Routes and bodies: [`haptic_model::agent_api`].

use super::{
    CallFuture, Transport, TransportError,
    caller::{Caller, PodCall, PodReply},
    error::Peer,
};
use awc::http::StatusCode;
use futures::FutureExt;
use haptic_model::{
    ActiveConfig, HaproxyPod,
    agent_api::{Apply, Incarnation, LARGEST_BODY, Outcome, RunningBundle, Runtime, Status, written},
};
use haptic_runtime::cpu;
use haptic_text::Content;
use serde::de::DeserializeOwned;
use std::{sync::Arc, time::Duration};

/// As errors call it.
pub const PEER: Peer = Peer("agent");
/// An agent answers its status from memory and one socket command.
const STATUS_LIMIT: Duration = Duration::from_secs(5);
/// An agent keeps a question for its next incarnation waiting for less.
const WAIT_LIMIT: Duration = Duration::from_secs(40);
/// Orders up to so many bytes are written on the arbiter's thread: that takes less than handing them over.
const WRITTEN_AT_ONCE: usize = 64 << 10;

/// One agent.
pub struct AgentTransport {
    caller: Caller,
    apply_limit: Duration,
}

impl AgentTransport {
    /// The agent on `pod`, as `config` says it is reached.
    ///
    /// # Errors
    /// [`TransportError::Setup`]: https without a usable `caBundle`.
    pub fn new(pod: &HaproxyPod, config: &ActiveConfig) -> Result<Self, TransportError> {
        Ok(Self {
            caller: Caller::new(PEER, pod, config)?,
            apply_limit: config.spec.dataplane.deployment_timeout.get(),
        })
    }

    fn get<'a, T: DeserializeOwned + 'a>(&'a self, call: PodCall<'a>) -> CallFuture<'a, T> {
        async move {
            let path = call.path;
            let reply = self.caller.call(call).await?;
            self.read(path, &reply)
        }
        .boxed_local()
    }

    /// The body as `T`. An outcome may come with any status: the body says what happened.
    fn read<T: DeserializeOwned>(&self, call: &'static str, reply: &PodReply) -> Result<T, TransportError> {
        let error = match serde_json::from_slice(&reply.body) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let excerpt = reply.excerpt();
        // What an agent says when it fails is a sentence; a success that is not JSON is not an agent's.
        Err(if reply.status.is_success() {
            self.caller.unexpected(call, format!("{} {excerpt:?} ({error})", reply.status))
        } else if reply.status == StatusCode::NOT_FOUND {
            self.caller.unexpected(call, format!("{} {excerpt:?}", reply.status))
        } else {
            self.caller.failed(call, format!("{}: {excerpt}", reply.status))
        })
    }
}

impl Transport for AgentTransport {
    fn status(&self) -> CallFuture<'_, Status> {
        self.get(PodCall::get("/v1/status", STATUS_LIMIT))
    }

    fn running_bundle(&self) -> CallFuture<'_, Option<RunningBundle>> {
        let call = PodCall { longest_answer: LARGEST_BODY, ..PodCall::get("/v1/bundle", self.apply_limit) };
        self.get(call)
    }

    fn runtime(&self) -> CallFuture<'_, Runtime> {
        self.get(PodCall::get("/v1/runtime", self.apply_limit))
    }

    fn incarnation(&self, not: u64) -> CallFuture<'_, u64> {
        async move {
            let target = format!("/v1/incarnation?not={not}");
            let call = PodCall { target: &target, ..PodCall::get("/v1/incarnation", WAIT_LIMIT) };
            self.get::<Incarnation>(call).await.map(|now| now.incarnation)
        }
        .boxed_local()
    }

    fn apply(&self, order: Arc<Apply>) -> CallFuture<'_, Outcome> {
        async move {
            let bytes = sent(&order);
            let body = if bytes > WRITTEN_AT_ONCE {
                let written = cpu("deploy", move || written(&*order, bytes)).await;
                written.map_err(|error| TransportError::Setup(error.to_string()))?
            } else {
                written(&*order, bytes)
            };
            let body = body.map_err(|error| {
                TransportError::Setup(format!("the order cannot be written as JSON: {error}"))
            })?;
            let call = PodCall::post("/v1/apply", "application/json", body.into(), self.apply_limit);
            let reply = self.caller.call(call).await?;
            self.read("/v1/apply", &reply)
        }
        .boxed_local()
    }
}

/// About how many bytes the order has.
fn sent(order: &Apply) -> usize {
    const EACH: usize = 128;
    order.files.len() * EACH + order.contents.values().map(Content::sent).sum::<usize>()
}
