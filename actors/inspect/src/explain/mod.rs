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
mod rules;
mod servers;
pub mod text;

pub use explanation::{Context, ExplainedRequest, Explanation, ExplanationStep};

use arrival::Arrival;
use expression::Traveller;
use gateways::PortOfGateway;
use haptic_haproxy::Document;
use haptic_model::{Finding, Instead, host_name};
use rules::RouteFinding;
use std::collections::BTreeSet;

/// So often a request may be handed from one frontend to another.
const MOST_FRONTENDS: usize = 3;

/// A request that was followed as far as it could be.
struct FollowedRequest {
    explanation: Explanation,
    /// Whether nothing was there for it, of which objects may say why.
    is_absent: bool,
}

/// Follows `request` through what was rendered: at the ports that all hosts share, and where nothing is there for it, at those
/// of Gateways.
#[must_use]
pub fn explain(context: &Context<'_>, request: ExplainedRequest) -> Explanation {
    let text = context.bundle.config.text.to_string();
    let document = Document::parse(&text);
    let mut followed = follow(context, &document, &request, None);
    if followed.is_absent {
        let through = gateways::ports(context, &request);
        let through = through.iter().map(|port| follow(context, &document, &request, Some(port)));
        for next in through {
            let is_nearer = next.explanation.objects() > followed.explanation.objects();
            if !next.is_absent || is_nearer {
                followed = next;
            }
            if !followed.is_absent {
                break;
            }
        }
    }
    let FollowedRequest { mut explanation, is_absent } = followed;
    if is_absent {
        absent::reasons(context, &mut explanation);
    }
    explanation.held_back = held_back(context, &explanation);
    explanation.found = found(context, &explanation);
    explanation
}

fn follow(
    context: &Context<'_>,
    document: &Document<'_>,
    request: &ExplainedRequest,
    gateway: Option<&PortOfGateway>,
) -> FollowedRequest {
    let mut explanation = Explanation { request: request.clone(), ..Explanation::default() };
    explanation.steps.extend(gateway.map(PortOfGateway::step));
    let arrival = Arrival { port: gateway.map(|gateway| gateway.target), ..Arrival::default() };
    let mut traveller = Traveller::new(context, document, request, arrival);
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
    FollowedRequest { explanation, is_absent }
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
