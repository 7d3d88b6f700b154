//! `haptic explain`: which way a request goes through what was rendered, and where each step of it comes from; or why it
//! goes nowhere.
//!
//! HAProxy's own rules are followed ([`rules`]), so it holds for any templates, as far as the rules use what is known here
//! ([`expression`]); where they do not, it says at which line it stops. Why a request goes nowhere is looked up among the
//! watched objects ([`absent`]). Pure: a bundle and stores in, an explanation out.

mod absent;
mod condition;
mod explanation;
mod expression;
mod rules;
mod servers;
pub mod text;

pub use explanation::{Context, ExplainedRequest, Explanation, ExplanationStep};

use expression::Traveller;
use haptic_haproxy::Document;
use haptic_model::{Finding, Instead, host_name};
use std::collections::{BTreeSet, HashMap};

/// Follows `request` through what was rendered.
#[must_use]
pub fn explain(context: &Context<'_>, request: ExplainedRequest) -> Explanation {
    let text = context.bundle.config.text.to_string();
    let document = Document::parse(&text);
    let mut explanation = Explanation { request: request.clone(), ..Explanation::default() };
    let mut traveller = Traveller { context, request: &request, variables: HashMap::new(), maps: Vec::new() };
    match rules::follow(&document, &mut traveller, &mut explanation) {
        rules::RouteFinding::Backend(name) => {
            servers::list(&document, &name, &mut traveller, &mut explanation);
            explanation.backend = Some(name);
            if explanation.servers.is_empty() {
                absent::reasons(context, &mut explanation);
            }
        }
        rules::RouteFinding::Nowhere(why) => {
            explanation.why_not.push(why);
            absent::reasons(context, &mut explanation);
        }
        rules::RouteFinding::Redirected(to) => explanation.redirected = Some(to),
        rules::RouteFinding::Fulfilled(how) => explanation.fulfilled = Some(how),
        rules::RouteFinding::Answered(why) | rules::RouteFinding::Lost(why) => explanation.why_not.push(why),
    }
    explanation.held_back = held_back(context, &explanation);
    explanation.found = found(context, &explanation);
    explanation
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
