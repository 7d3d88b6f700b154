//! Groups of objects that are examined together, and how they are split.

use super::ruling::Ruling;
use haptic_model::ObjectRef;
use std::{collections::BTreeMap, sync::Arc};

/// Objects that are examined together.
#[derive(Clone)]
pub(super) struct ObjectGroup {
    pub objects: Vec<Arc<ObjectRef>>,
    pub known: GroupResult,
}

/// The verdict on a group.
#[derive(Clone)]
pub(super) enum GroupResult {
    /// Nothing yet.
    Open,
    /// It failed.
    Fails(Arc<FailedGroup>),
    /// The group that it is a part of failed, and the other part passes.
    Left(Arc<FailedGroup>),
}

/// A group that failed when it was looked at.
pub(super) struct FailedGroup {
    pub objects: Vec<Arc<ObjectRef>>,
    pub ruling: Ruling,
}

impl ObjectGroup {
    pub fn open(objects: Vec<Arc<ObjectRef>>) -> Self {
        Self { objects, known: GroupResult::Open }
    }

    pub fn failed(objects: Vec<Arc<ObjectRef>>, ruling: Ruling) -> Self {
        let failed = FailedGroup { objects: objects.clone(), ruling };
        Self { objects, known: GroupResult::Fails(Arc::new(failed)) }
    }
}

/// Two halves: of several namespaces whole ones, as far as they are about as large.
pub(super) fn halves(mut objects: Vec<Arc<ObjectRef>>) -> (Vec<Arc<ObjectRef>>, Vec<Arc<ObjectRef>>) {
    objects.sort_by(|a, b| (&a.namespace, a).cmp(&(&b.namespace, b)));
    let middle = objects.len().div_ceil(2);
    let ends = |at: &usize| match (objects.get(at.wrapping_sub(1)), objects.get(*at)) {
        (Some(before), Some(behind)) => before.namespace != behind.namespace,
        _ => false,
    };
    let end = (1..objects.len()).filter(ends).min_by_key(|at| at.abs_diff(middle));
    let second = objects.split_off(end.unwrap_or(middle));
    (objects, second)
}

/// The same objects by namespace.
pub(super) fn by_namespace(
    objects: impl IntoIterator<Item = Arc<ObjectRef>>,
) -> BTreeMap<Arc<str>, Vec<Arc<ObjectRef>>> {
    let mut groups: BTreeMap<Arc<str>, Vec<Arc<ObjectRef>>> = BTreeMap::new();
    for object in objects {
        groups.entry(object.namespace.clone()).or_default().push(object);
    }
    groups
}

/// At most `most` of these, of as many namespaces as possible.
pub(super) fn spread(objects: impl IntoIterator<Item = Arc<ObjectRef>>, most: usize) -> Vec<Arc<ObjectRef>> {
    let groups: Vec<_> = by_namespace(objects).into_values().collect();
    let step = groups.len().div_ceil(most.max(1)).max(1);
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    let rounds = (0..longest)
        .flat_map(|round| groups.iter().step_by(step).filter_map(move |group| group.get(round).cloned()));
    rounds.take(most).collect()
}
