//! Why a request goes nowhere: looked up among the Ingresses and the routes of the Gateway API, in the order in which somebody
//! would look.

mod fields;
mod ingresses;
pub mod routes;
mod services;

use super::explanation::{Context, Explanation};
use haptic_routes::Routes;

/// Adds every reason that is found.
pub fn reasons(context: &Context<'_>, explanation: &mut Explanation) {
    let (host, path) = (explanation.request.host.clone(), explanation.request.path.clone());
    let mut resolved = Routes::default();
    let sets = resolved.beside(context.config, context.snapshots);
    let of_ingresses = ingresses::reasons(context, &sets, &host, &path);
    let of_routes = routes::reasons(context, &resolved, &explanation.request);
    let found = match (of_ingresses, of_routes) {
        (None, None) => {
            let objects = if routes::are_watched(context) { "Ingress and no route" } else { "Ingress" };
            vec![format!(
                "no {objects} names the host {host}, or a wildcard or a default backend that takes it"
            )]
        }
        (of_ingresses, of_routes) => of_ingresses.into_iter().chain(of_routes).flatten().collect(),
    };
    explanation.why_not.extend(found);
}
