//! `haptic explain`: which way a request goes through what was rendered, and where each step of it comes from; or why it
//! goes nowhere.
//!
//! HAProxy's own rules are followed ([`rules`]), so it holds for any templates, as far as the rules use what is known here
//! ([`expression`]); where they do not, it says at which line it stops. Why a request goes nowhere is looked up among the
//! watched objects ([`absent`]). Pure: a bundle and stores in, an explanation out.

mod absent;
mod arrival;
mod condition;
mod explanation;
mod expression;
mod gateways;
mod listeners;
mod lists;
mod rules;
mod servers;
pub mod text;

pub use explanation::{Context, ExplainedRequest, Explanation, ExplanationStep};

use arrival::Arrival;
use expression::{ConditionalRoute, Traveller};
use gateways::{GatewaysAtPort, PortOfGateway};
use haptic_haproxy::Document;
use haptic_model::{Finding, Instead, host_name};
use rules::RouteFinding;
use serde_json::Value;
use std::collections::BTreeSet;

/// So often a request may be handed from one frontend to another.
const MOST_FRONTENDS: usize = 3;
/// So many routes that want more of a request than its URL are followed.
const MOST_CONDITIONAL: usize = 8;

/// A request that was followed as far as it could be.
#[derive(Default)]
struct FollowedRequest {
    explanation: Explanation,
    /// Whether nothing was there for it, of which objects may say why.
    is_absent: bool,
    /// Routes that would have come first, had it more than its URL.
    passed_by: Vec<ConditionalRoute>,
}

/// Where a request comes in.
#[derive(Clone, Copy)]
struct EntryPoint<'e> {
    context: &'e Context<'e>,
    document: &'e Document<'e>,
    request: &'e ExplainedRequest,
    /// A Gateway's port; without one it is a port that all hosts share.
    gateway: Option<&'e PortOfGateway>,
}

/// Follows `request` through what was rendered: at the ports that all hosts share, at those of Gateways, or both, by which of them has the
/// port that it is for.
#[must_use]
pub fn explain(context: &Context<'_>, request: ExplainedRequest) -> Explanation {
    let text = context.bundle.config.text.to_string();
    let document = Document::parse(&text);
    let gateways = GatewaysAtPort::of(context, &request);
    let shared = EntryPoint { context, document: &document, request: &request, gateway: None };
    let mut all = Vec::new();
    for (entry, followed) in nearest(shared.followed_with(&gateways)) {
        let passed_by = followed.passed_by.clone();
        all.push(explained(context, followed));
        let conditional = passed_by.iter().take(MOST_CONDITIONAL);
        all.extend(conditional.map(|route| explained(context, entry.follow(Some(route)))));
    }
    let mut all = all.into_iter();
    let mut first = all.next().unwrap_or_default();
    first.also = all.collect();
    let refused = gateways.refused.into_iter().filter(|said| !first.why_not.contains(said));
    first.found.extend(refused.collect::<Vec<_>>());
    first
}

/// Ways of which none is there only because nothing else is: of those that lead nowhere the one that comes by most objects.
fn nearest(ways: Vec<(EntryPoint<'_>, FollowedRequest)>) -> Vec<(EntryPoint<'_>, FollowedRequest)> {
    let leads_nowhere = |way: &FollowedRequest| way.is_absent && way.passed_by.is_empty();
    let (nowhere, somewhere): (Vec<_>, Vec<_>) = ways.into_iter().partition(|(_, way)| leads_nowhere(way));
    if !somewhere.is_empty() {
        return somewhere;
    }
    let objects = |(_, way): &(EntryPoint<'_>, FollowedRequest)| way.explanation.objects();
    let nearest =
        nowhere.into_iter().reduce(|best, next| if objects(&next) > objects(&best) { next } else { best });
    nearest.into_iter().collect()
}

/// All that is said of a request that was followed.
fn explained(context: &Context<'_>, followed: FollowedRequest) -> Explanation {
    let FollowedRequest { mut explanation, is_absent, .. } = followed;
    if is_absent {
        absent::reasons(context, &mut explanation);
    }
    explanation.held_back = held_back(context, &explanation);
    explanation.found = found(context, &explanation);
    explanation
}

impl<'e> EntryPoint<'e> {
    /// Every way in that there is for the request, this one first, followed. Where nothing but a listener that is not served has its port
    /// there is none.
    fn followed_with(self, gateways: &'e GatewaysAtPort) -> Vec<(Self, FollowedRequest)> {
        let (document, request) = (self.document, self.request);
        let takes = |port: &&PortOfGateway| arrival::place(document, request, Some(port.target)).is_some();
        let is_shared = self.is_shared();
        let ports = if gateways.ports.is_empty() && !is_shared { &gateways.others } else { &gateways.ports };
        let of_gateways = ports.iter().filter(takes);
        let mut all: Vec<Self> = of_gateways.map(|port| Self { gateway: Some(port), ..self }).collect();
        let own = arrival::place(document, request, None).and_then(|place| place.arrival.port);
        let is_of_gateway = all.iter().any(|one| one.gateway.map(|port| port.target) == own && own.is_some());
        let is_nobodys = all.is_empty() && gateways.refused.is_empty();
        if !is_of_gateway && (is_nobodys || is_shared) {
            all.insert(0, self);
        }
        if all.is_empty() {
            let explanation = Explanation { request: request.clone(), ..Explanation::default() };
            return vec![(
                self,
                FollowedRequest { explanation, is_absent: true, ..FollowedRequest::default() },
            )];
        }
        all.into_iter().map(|one| (one, one.follow(None))).collect()
    }

    /// Whether requests for its port come to the ports that all hosts share, as far as that is known: HAProxy listens there, or clients
    /// see it so.
    fn is_shared(&self) -> bool {
        let Some(port) = self.request.port else { return true };
        let (setting, usual) =
            if self.request.tls { ("httpsPublicPort", 443) } else { ("httpPublicPort", 80) };
        let settings = &self.context.config.spec.templating_settings.extra_context;
        let public = settings.get(setting).and_then(Value::as_u64).unwrap_or(usual);
        u64::from(port) == public || arrival::place(self.document, self.request, Some(port)).is_some()
    }

    /// Follows the request from there; `assumed` has what it wants.
    fn follow(&self, assumed: Option<&ConditionalRoute>) -> FollowedRequest {
        let Self { context, document, request, gateway } = *self;
        let given = assumed.map(|route| route.given.clone());
        let mut explanation = Explanation { request: request.clone(), given, ..Explanation::default() };
        explanation.steps.extend(gateway.map(PortOfGateway::step));
        let arrival = Arrival { port: gateway.map(|gateway| gateway.target), ..Arrival::default() };
        let mut traveller = Traveller::new(context, document, request, arrival);
        traveller.assumed = assumed.map(|route| route.key.clone());
        let mut is_absent = false;
        match ways(document, &mut traveller, &mut explanation) {
            RouteFinding::Backend(name) => {
                rules::pass_backend(document, &name, &mut traveller, &mut explanation);
                explanation.backend = Some(name);
                is_absent = explanation.servers.is_empty();
            }
            RouteFinding::Nowhere(why) => {
                explanation.why_not.push(why);
                is_absent = true;
            }
            RouteFinding::Redirected(to) => explanation.redirected = Some(to),
            RouteFinding::Fulfilled(how) => explanation.fulfilled = Some(how),
            RouteFinding::Answered(why) => explanation.why_not.push(why),
            RouteFinding::Lost(why) => {
                explanation.is_lost = true;
                explanation.why_not.push(why);
            }
        }
        FollowedRequest { explanation, is_absent, passed_by: traveller.passed_by }
    }
}

/// Follows a request through its frontend, and through those that it is handed on to over sockets.
fn ways(
    document: &Document<'_>,
    traveller: &mut Traveller<'_>,
    explanation: &mut Explanation,
) -> RouteFinding {
    let mut way = rules::follow(document, traveller, explanation);
    for _ in 0..MOST_FRONTENDS {
        let RouteFinding::Backend(name) = &way else { break };
        let Some(socket) = servers::socket_of(document, name) else { break };
        let Some(next) = rules::hand_on(document, &socket, traveller, explanation) else { break };
        way = next;
    }
    way
}

/// What is found at the objects of its way, without what is of other hosts or is said already.
fn found(context: &Context<'_>, explanation: &Explanation) -> Vec<String> {
    let steps = explanation.steps.iter().chain(&explanation.servers);
    let objects: BTreeSet<&str> = steps.filter_map(|step| step.object.as_deref()).collect();
    let host = &*explanation.request.host;
    let over = host_name::wildcard_over(host);
    let concerns = |finding: &Finding| {
        finding.place.host.as_deref().is_none_or(|of| of == host || of == "*" || Some(of) == over.as_deref())
    };
    let of_way = context
        .findings
        .iter()
        .filter(|(object, finding)| concerns(finding) && objects.contains(&*object.to_string()));
    let said = of_way.map(|(object, finding)| format!("{object}: {}", finding.sentence));
    said.filter(|said| !explanation.why_not.contains(said)).collect()
}

/// Its lines are those of a former version, then.
fn held_back(context: &Context<'_>, explanation: &Explanation) -> Vec<String> {
    let steps = explanation.steps.iter().chain(&explanation.servers);
    let objects: BTreeSet<&str> = steps.filter_map(|step| step.object.as_deref()).collect();
    let held = context.quarantine.held.values();
    let of_way =
        held.filter(|held| held.instead != Instead::Nothing && objects.contains(&*held.object.to_string()));
    of_way.map(ToString::to_string).collect()
}
