//! WebhookActor: maintains what the API server calls the webhook by, which are path, certificate and registration.

use crate::endpoint::{
    EndpointState, EndpointWriter,
    maintain::{Maintained, WatchedState, display},
};
use actix::prelude::*;
use futures::StreamExt;
use haptic_model::{crd::WebhookSpec, pipeline::Leadership};
use haptic_runtime::{
    Alarm, OwnHandle, Topic, Work,
    messages::{ConfigActivated, LeadershipChanged},
};
use kube::Client;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// What a [`WebhookActor`] is built from; the same for each of its lives.
#[derive(Clone)]
pub struct WebhookOptions {
    /// The API server.
    pub client: Client,
    /// The configuration's namespace.
    pub namespace: Arc<str>,
    /// Only the leader writes; it is read right before.
    pub leadership: Topic<Leadership>,
    /// What the webhook is called by.
    pub endpoint: Arc<EndpointWriter>,
}

/// Longer than any pause.
const NEVER: Duration = Duration::from_secs(86_400);

/// Watches the objects that the webhook is called by, and sets them right.
pub struct WebhookActor {
    own: OwnHandle<Self>,
    options: WebhookOptions,
    /// While the configuration asks for a webhook.
    current: Option<Current>,
    alarm: Alarm,
}

/// The webhook with one configuration's settings.
struct Current {
    settings: WebhookSpec,
    /// `None` while it is being refreshed.
    maintained: Option<Maintained>,
    /// What was seen since the last refresh began.
    observed: Vec<WatchedState>,
    /// When the next refresh begins.
    due: Instant,
    refreshing: Option<Work>,
    _watches: Vec<Work>,
}

/// One of the watched objects is another one.
#[derive(Message)]
#[rtype(result = "()")]
struct ObjectObserved(WatchedState);

/// A refresh has ended; the next one follows after the pause.
#[derive(Message)]
#[rtype(result = "()")]
struct EndpointRefreshed(Maintained, Duration);

impl WebhookActor {
    /// An actor that has received nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: WebhookOptions) -> Self {
        Self { own, options, current: None, alarm: Alarm::default() }
    }

    fn maintain(&mut self, settings: WebhookSpec, context: &mut Context<Self>) {
        let WebhookOptions { client, namespace, .. } = &self.options;
        let maintained = Maintained::new(client, namespace, &settings);
        let watches = maintained.watches().into_iter();
        let watches = watches.map(|watch| Work::follow(context, watch.map(ObjectObserved)));
        self.current = Some(Current {
            settings,
            _watches: watches.collect(),
            maintained: Some(maintained),
            observed: Vec::new(),
            due: Instant::now(),
            refreshing: None,
        });
        self.advance(context);
    }

    fn refresh_now(&mut self, context: &mut Context<Self>) {
        if let Some(current) = &mut self.current {
            current.due = Instant::now();
        }
        self.advance(context);
    }

    /// Begins a refresh if one is due and none is under way.
    fn advance(&mut self, context: &mut Context<Self>) {
        let Some(current) = &mut self.current else { return };
        let now = Instant::now();
        if current.maintained.is_some() && now < current.due {
            return self.alarm.set(current.due, context, Self::advance);
        }
        let Some(mut maintained) = current.maintained.take() else { return };
        let observed = std::mem::take(&mut current.observed);
        let (leadership, endpoint) = (self.options.leadership.clone(), self.options.endpoint.clone());
        // What happens from here on asks for another refresh.
        current.due = now + NEVER;
        let refreshed = async move {
            observed.into_iter().for_each(|observation| maintained.observe(observation));
            let pause = maintained.refresh(&leadership, &endpoint).await;
            EndpointRefreshed(maintained, pause)
        };
        current.refreshing = Some(Work::start(context, refreshed));
    }
}

haptic_runtime::supervised!(WebhookActor);

impl Handler<ConfigActivated> for WebhookActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, context: &mut Self::Context) {
        let settings = active.as_ref().and_then(|config| config.spec.webhook());
        match settings {
            Some(settings) if self.current.as_ref().is_none_or(|current| current.settings != settings) => {
                self.maintain(settings, context);
            }
            Some(_) => {}
            None => {
                self.current = None;
                display(&self.options.endpoint, EndpointState::Off);
            }
        }
    }
}

impl Handler<LeadershipChanged> for WebhookActor {
    type Result = ();

    /// A replica that leads from now on may write.
    fn handle(&mut self, _: LeadershipChanged, context: &mut Self::Context) {
        self.refresh_now(context);
    }
}

impl Handler<ObjectObserved> for WebhookActor {
    type Result = ();

    fn handle(&mut self, ObjectObserved(observation): ObjectObserved, context: &mut Self::Context) {
        if let Some(current) = &mut self.current {
            current.observed.push(observation);
            self.refresh_now(context);
        }
    }
}

impl Handler<EndpointRefreshed> for WebhookActor {
    type Result = ();

    fn handle(&mut self, refreshed: EndpointRefreshed, context: &mut Self::Context) {
        let EndpointRefreshed(maintained, pause) = refreshed;
        if let Some(current) = &mut self.current {
            (current.refreshing, current.maintained) = (None, Some(maintained));
            current.due = current.due.min(Instant::now() + pause);
            self.advance(context);
        }
    }
}
