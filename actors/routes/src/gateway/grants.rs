//! ReferenceGrants: which objects may refer to those of another namespace. A question is answered by one look, however many grants there are.

use super::{
    objects::{GROUP, GatewayResource, GrantSpec},
    parsed::ParsedObjects,
};
use haptic_model::gateway::NamespacedName;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// The most entries of each of a grant's two lists that the API takes. Every one of the first goes with every one of the second.
const MOST_ENTRIES: usize = 16;

/// The objects that refer: their kind and namespace.
pub(super) type Referrers = (Arc<str>, Arc<str>);

/// All ReferenceGrants.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    all: BTreeMap<NamespacedName, Arc<GatewayResource<GrantSpec>>>,
    /// The numbers of kinds, namespaces and names, which stand in many grants.
    numbers: HashMap<Arc<str>, u32>,
    granted: HashSet<GrantedReference>,
}

/// What a grant allows, by the numbers of its words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GrantedReference {
    kind: u32,
    from: u32,
    to_kind: u32,
    to_namespace: u32,
    /// Without one all of the kind there.
    to_name: Option<u32>,
}

impl Grants {
    pub fn of(kept: &ParsedObjects<GatewayResource<GrantSpec>>) -> Self {
        Self::among(kept.iter().map(|(name, grant)| (name.clone(), grant.clone())))
    }

    fn among(all: impl Iterator<Item = (NamespacedName, Arc<GatewayResource<GrantSpec>>)>) -> Self {
        let mut this = Self::default();
        for (name, grant) in all {
            this.take(&grant);
            this.all.insert(name, grant);
        }
        this
    }

    fn take(&mut self, grant: &GatewayResource<GrantSpec>) {
        let to_namespace = self.number(&grant.metadata.namespace);
        let to = grant.spec.to.iter().take(MOST_ENTRIES).filter(|one| one.group.is_empty());
        let to: Vec<(u32, Option<u32>)> =
            to.map(|one| (self.number(&one.kind), one.name.as_ref().map(|name| self.number(name)))).collect();
        for one in grant.spec.from.iter().take(MOST_ENTRIES).filter(|one| one.group == GROUP) {
            let (kind, from) = (self.number(&one.kind), self.number(&one.namespace));
            let granted = to.iter().map(|(to_kind, to_name)| GrantedReference {
                kind,
                from,
                to_kind: *to_kind,
                to_namespace,
                to_name: *to_name,
            });
            self.granted.extend(granted);
        }
    }

    fn number(&mut self, word: &str) -> u32 {
        if let Some(known) = self.numbers.get(word) {
            return *known;
        }
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.numbers.insert(word.into(), next);
        next
    }

    /// Whether objects of a kind in a namespace may refer to an object of the core group elsewhere.
    pub fn allow(&self, kind: &str, from: &str, to_kind: &str, to: &NamespacedName) -> bool {
        self.granted(kind, from, to_kind, to).is_some()
    }

    fn granted(&self, kind: &str, from: &str, to_kind: &str, to: &NamespacedName) -> Option<()> {
        let number = |word: &str| self.numbers.get(word).copied();
        let all = GrantedReference {
            kind: number(kind)?,
            from: number(from)?,
            to_kind: number(to_kind)?,
            to_namespace: number(&to.0)?,
            to_name: None,
        };
        if self.granted.contains(&all) {
            return Some(());
        }
        let one = GrantedReference { to_name: Some(number(&to.1)?), ..all };
        self.granted.contains(&one).then_some(())
    }

    /// Those that grants speak of which are not what they were `before`.
    pub fn involved(&self, before: &Self) -> BTreeSet<Referrers> {
        let is_other = |all: &BTreeMap<_, _>, name, grant: &Arc<GatewayResource<GrantSpec>>| {
            all.get(name).is_none_or(|other: &Arc<_>| !Arc::ptr_eq(other, grant) && **other != **grant)
        };
        let gone = before.all.iter().filter(|(name, grant)| is_other(&self.all, *name, grant));
        let new = self.all.iter().filter(|(name, grant)| is_other(&before.all, *name, grant));
        let from = gone.chain(new).flat_map(|(_, grant)| &grant.spec.from);
        from.map(|one| (one.kind.as_str().into(), one.namespace.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::objects::{GatewayObjectMeta, GrantFrom, GrantTo},
        *,
    };
    use proptest::prelude::*;

    type Grant = GatewayResource<GrantSpec>;

    /// The answer by the definition: all grants are looked at.
    fn defined(all: &[Grant], kind: &str, from: &str, to_kind: &str, to: &NamespacedName) -> bool {
        all.iter().filter(|grant| grant.metadata.namespace == to.0).any(|grant| {
            let comes = |one: &GrantFrom| one.group == GROUP && one.kind == kind && *one.namespace == *from;
            let is_named = |one: &GrantTo| one.name.as_ref().is_none_or(|name| *name == to.1);
            let goes = |one: &GrantTo| one.group.is_empty() && one.kind == to_kind && is_named(one);
            grant.spec.from.iter().any(comes) && grant.spec.to.iter().any(goes)
        })
    }

    fn indexed(all: &[Grant]) -> Grants {
        let named = all
            .iter()
            .enumerate()
            .map(|(number, grant)| (("".into(), number.to_string().into()), Arc::new(grant.clone())));
        Grants::among(named)
    }

    fn one_of(all: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
        prop::sample::select(all)
    }

    const NAMES: &[&str] = &["a", "b", "c"];
    const FROM: &[&str] = &["HTTPRoute", "Gateway", "a"];
    const TO: &[&str] = &["Service", "Secret"];

    fn any_grant() -> impl Strategy<Value = Grant> {
        let from =
            (one_of(&[GROUP, ""]), one_of(FROM), one_of(NAMES)).prop_map(|(group, kind, namespace)| {
                GrantFrom { group: group.into(), kind: kind.into(), namespace: namespace.into() }
            });
        let to = (one_of(&["", GROUP]), one_of(TO), prop::option::of(one_of(NAMES)));
        let to = to.prop_map(|(group, kind, name)| GrantTo {
            group: group.into(),
            kind: kind.into(),
            name: name.map(Into::into),
        });
        let lists = (prop::collection::vec(from, 0..3), prop::collection::vec(to, 0..3));
        (one_of(NAMES), lists).prop_map(|(namespace, (from, to))| GatewayResource {
            metadata: GatewayObjectMeta { namespace: namespace.into(), ..GatewayObjectMeta::default() },
            spec: GrantSpec { from, to },
        })
    }

    /// All questions about these words.
    fn questions() -> impl Iterator<Item = (&'static str, &'static str, &'static str, NamespacedName)> {
        let to = NAMES.iter().flat_map(|of| NAMES.iter().map(|name| ((*of).into(), (*name).into())));
        to.flat_map(|to: NamespacedName| {
            let to_kinds = TO.iter().map(move |to_kind| (*to_kind, to.clone()));
            to_kinds.flat_map(|(to_kind, to)| {
                let from = FROM.iter().flat_map(|kind| NAMES.iter().map(|from| (*kind, *from)));
                from.map(move |(kind, from)| (kind, from, to_kind, to.clone()))
            })
        })
    }

    proptest! {
        #[test]
        fn one_look_answers_as_looking_at_all_grants_does(all in prop::collection::vec(any_grant(), 0..6)) {
            let grants = indexed(&all);
            for (kind, from, to_kind, to) in questions() {
                let expected = defined(&all, kind, from, to_kind, &to);
                prop_assert_eq!(grants.allow(kind, from, to_kind, &to), expected);
            }
        }

        #[test]
        fn whoever_gets_another_answer_is_concerned(
            before in prop::collection::vec(any_grant(), 0..4),
            now in prop::collection::vec(any_grant(), 0..4),
        ) {
            let (before, now) = (indexed(&before), indexed(&now));
            let involved = now.involved(&before);
            for (kind, from, to_kind, to) in questions() {
                let is_other = before.allow(kind, from, to_kind, &to) != now.allow(kind, from, to_kind, &to);
                prop_assert!(!is_other || involved.contains(&(kind.into(), from.into())));
            }
        }
    }

    #[test]
    fn nobody_is_concerned_by_what_is_the_same() {
        let grant = |from: &str| Grant {
            metadata: GatewayObjectMeta { namespace: "a".into(), ..GatewayObjectMeta::default() },
            spec: GrantSpec {
                from: vec![GrantFrom {
                    group: GROUP.into(),
                    kind: "HTTPRoute".into(),
                    namespace: from.into(),
                }],
                to: vec![GrantTo { group: String::new(), kind: "Service".into(), name: None }],
            },
        };
        let before = indexed(&[grant("x"), grant("y")]);
        let now = indexed(&[grant("x"), grant("z")]);
        assert!(before.involved(&indexed(&[grant("x"), grant("y")])).is_empty());
        let both = ["y", "z"].map(|from| ("HTTPRoute".into(), from.into()));
        assert_eq!(now.involved(&before), BTreeSet::from(both));
    }
}
