//! `app-root`: who asks for `/` of a host is led into an app.

use crate::{
    claims::Claims,
    families::ForeignOptions,
    matching::{Match, MatchShape},
    options::{self, groups::Grouping, value::OptionValues},
};
use haptic_model::Finding;
use std::collections::BTreeMap;

/// The options of a family's annotations for the path `/` of whole hosts; `spreads`: whether they count there however paths are read.
pub(crate) fn of_hosts(said: &ForeignOptions, spreads: bool) -> Option<OptionValues> {
    let is_of_root = |name: &str| name == "app-root" || name.starts_with("redirect-");
    let values = &said.own.written.values;
    let asks = (spreads || said.ingress.paths.is_some())
        && said.ingress.canary.is_none()
        && values.contains_key("app-root");
    asks.then(|| {
        // What others redirect elsewhere keeps its code.
        let is_of_others = |name: &str| name == "redirect-to" || name == "redirect-code";
        let of_root = values.iter().filter(|(name, _)| is_of_root(name) && !is_of_others(name));
        of_root.map(|(name, value)| (*name, value.clone())).collect()
    })
}

/// That it has no effect, because no route of the object takes requests for `/`. Of families whoever has `/` redirects.
pub(crate) fn in_vain(
    grouping: &Grouping<'_>,
    claims: &Claims,
    annotations: &BTreeMap<String, String>,
) -> Option<Finding> {
    let is_of_own_route = grouping.annotations().foreign().ingress.paths.is_none();
    let is_asked = is_of_own_route && grouping.own().values.contains_key("app-root");
    let is_there = claims.routes.is_empty() || claims.routes.iter().any(|route| takes_root(&route.wanted));
    // What counts for all Ingresses of a class is no fault of this one.
    let written = annotations.keys().find(|key| key.ends_with("/app-root"))?;
    (is_asked && !is_there).then(|| options::root_without_path(written))
}

pub(crate) fn takes_root(wanted: &Match) -> bool {
    matches!(wanted.shape, MatchShape::Regex(_)) || matches!(&*wanted.path, "" | "/")
}
