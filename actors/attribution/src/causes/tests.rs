//! Searches with evaluations that refuse, say nothing, or never end.

use super::*;
use futures::executor::block_on;
use haptic_model::{BundleFile, FileKey, FileKind, Object, Snapshot, Snapshots};
use haptic_text::{Blame, Fragment, LineBlame, Text};
use proptest::prelude::*;
use std::{cell::Cell, future::poll_fn, task::Poll};

/// The first letter of its name is its namespace.
fn object(name: &str) -> Arc<ObjectRef> {
    Arc::new(ObjectRef::new("ingresses", name.get(..1).unwrap(), name))
}

pub(crate) fn piece(text: String, of: Option<&str>) -> Fragment {
    let lines = vec![LineBlame { template: 0, object: None, line: 1 }; text.lines().count()];
    let block = of.map(object);
    Fragment::new(text, Arc::new(Blame { templates: vec!["t".into()], lines, block, ..Blame::default() }))
}

pub(crate) fn bundle_of(pieces: Vec<Fragment>) -> Bundle {
    Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(pieces)), [])
}

/// A line of nobody's, and one of each of these objects.
fn bundle(blocks: &[(String, &str)]) -> Bundle {
    let pieces = blocks.iter().map(|(name, word)| piece(format!("{name} {word}\n"), Some(name)));
    bundle_of(std::iter::once(piece("skeleton\n".into(), None)).chain(pieces).collect())
}

fn of_words(count: usize, bad: &[usize], word: &'static str) -> Bundle {
    let word = |number| if bad.contains(&number) { word } else { "good" };
    bundle(&(0..count).map(|number| (format!("o{number:04}"), word(number))).collect::<Vec<_>>())
}

/// Tells of `named` with its line, of at most three of them, and of `nobodys` without; does not end with more than one
/// `costly`, or with `slow`.
fn evaluate(bundle: &Bundle) -> Ruling {
    let text = bundle.config.text.to_string();
    let count = |word: &str| text.lines().filter(|line| line.ends_with(word)).count();
    if count(" slow") > 0 || count(" costly") > 3 {
        return Ruling::Unfinished(Diagnostic::error("haproxy", "it did not end"));
    }
    let mut said = Vec::new();
    for (number, line) in (1_u32..).zip(text.lines()) {
        if line.ends_with(" named") && said.len() < 3 {
            let error = Diagnostic::error("haproxy", "no");
            let object = bundle.config.text.blamed(number);
            said.push(error.at_output(FileKey::config(), number, line).of_object(object));
        }
    }
    if said.is_empty() && count(" nobodys") > 0 {
        said.push(Diagnostic::error("haproxy", "somewhere"));
    }
    if said.is_empty() && count(" one") > 0 && count(" other") > 0 {
        said.push(Diagnostic::error("haproxy", "they do not go together"));
    }
    if said.is_empty() { Ruling::Passes } else { Ruling::Refused(said) }
}

/// What comes of a search: names of the proven and of suspects, and how many checks it took.
struct Search {
    proven: Vec<String>,
    suspects: Vec<String>,
    nobodys: Option<Nobodys>,
    checks: usize,
}

#[derive(Clone, Copy)]
struct Terms<'t> {
    good: Option<&'t Bundle>,
    throttled: &'t str,
    is_new_configuration: bool,
    checks: usize,
}

impl<'t> Terms<'t> {
    fn since(good: &'t Bundle) -> Self {
        Self { good: Some(good), ..Self::at_first() }
    }

    fn at_first() -> Self {
        Self { good: None, throttled: "", is_new_configuration: false, checks: usize::MAX }
    }
}

fn search(bundle: &Bundle, terms: Terms<'_>, evaluate: impl Fn(&Bundle) -> Ruling) -> Search {
    let Terms { good, is_new_configuration, .. } = terms;
    let throttled = terms.throttled.chars().map(|letter| letter.to_string().into()).collect();
    let (checks, ruling) = (Cell::new(0), evaluate(bundle));
    let charge = Charge { bundle, good, ruling: &ruling, throttled: &throttled, is_new_configuration };
    let found = block_on(find_causes(&charge, async |reduced: Bundle, _| {
        (checks.get() < terms.checks).then(|| {
            checks.set(checks.get() + 1);
            evaluate(&reduced)
        })
    }));
    let names = |blamed: &FailingByCause| blamed.iter().map(|(object, _)| object.name.to_string()).collect();
    let (proven, suspects) = (names(&found.proven), names(&found.suspects));
    Search { proven, suspects, nobodys: found.nobodys, checks: checks.get() }
}

#[test]
fn those_that_messages_name_are_found_with_one_check_for_each_list_of_them() {
    let good = of_words(0, &[], "");
    let found = search(&of_words(9, &[2, 5], "named"), Terms::since(&good), evaluate);
    assert_eq!((found.proven, found.checks), (vec!["o0002".into(), "o0005".into()], 2));
    let many = [1, 2, 3, 4, 5, 6, 7, 8];
    let found = search(&of_words(40, &many, "named"), Terms::since(&good), evaluate);
    assert_eq!((found.proven.len(), found.suspects.len(), found.checks), (8, 0, 4));
}

#[test]
fn one_that_no_message_names_is_found_by_halves_at_the_start_and_later() {
    let good = of_words(0, &[], "");
    for word in ["nobodys", "slow"] {
        for bad in [0, 7, 63, 99] {
            for terms in [Terms::since(&good), Terms::at_first()] {
                let found = search(&of_words(100, &[bad], word), terms, evaluate);
                assert_eq!((found.proven, found.suspects), (vec![format!("o{bad:04}")], vec![]), "{word}");
                assert!(found.checks < 20, "{} checks", found.checks);
            }
        }
    }
}

/// Lets whatever else there is to do come first, once.
async fn a_turn_later() {
    let mut is_later = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut is_later, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn nobody_waits_for_the_check_of_a_half_when_the_other_passes() {
    let bundle = of_words(64, &[40], "slow");
    let ruling = evaluate(&bundle);
    let throttled = BTreeSet::new();
    let charge = Charge {
        bundle: &bundle,
        good: None,
        ruling: &ruling,
        throttled: &throttled,
        is_new_configuration: false,
    };
    let waited = Cell::new(0);
    let found = block_on(find_causes(&charge, async |reduced: Bundle, _| {
        let ruling = evaluate(&reduced);
        if matches!(ruling, Ruling::Unfinished(_)) {
            a_turn_later().await;
            waited.set(waited.get() + 1);
        }
        Some(ruling)
    }));
    assert_eq!(found.proven.len(), 1);
    assert_eq!(waited.get(), 1, "only that it is slow by itself must be seen to the end");
}

#[test]
fn what_is_not_cleared_when_time_is_over_is_suspected_and_nothing_else() {
    let all = |letter: &str, word: &'static str| {
        let letter = letter.to_owned();
        (0..64).map(move |number| (format!("{letter}{number:02}"), word)).collect::<Vec<_>>()
    };
    let blocks = [all("a", "good"), all("b", "nobodys"), all("c", "good")].concat();
    let terms = Terms { checks: 12, ..Terms::at_first() };
    let found = search(&bundle(&blocks), terms, evaluate);
    assert!(found.checks == 12 && found.nobodys.is_none());
    assert!(
        found.suspects.len() > 50 && found.suspects.iter().all(|name| name.starts_with('b')),
        "{:?}",
        found.suspects
    );
    let terms = Terms { checks: 0, ..terms };
    assert_eq!(search(&bundle(&blocks), terms, evaluate).suspects.len(), 192, "nobody is cleared");
}

#[test]
fn who_did_not_change_is_not_at_fault() {
    let old = of_words(5, &[1], "one");
    let fragments = old.config.text.fragments().to_vec();
    let new = bundle(&[("fine".into(), "good"), ("more".into(), "good"), ("new".into(), "other")]);
    let all = fragments.iter().chain(new.config.text.fragments().iter().skip(1)).cloned().collect();
    let found = search(&bundle_of(all), Terms::since(&old), evaluate);
    assert_eq!(
        (found.proven, found.suspects),
        (vec!["new".to_owned()], vec![]),
        "only with the others it is wrong"
    );
}

#[test]
fn of_two_that_pass_by_themselves_and_not_together_the_second_is_at_fault() {
    let blocks = [("a", "one"), ("b", "good"), ("c", "other"), ("d", "good")];
    let blocks = blocks.map(|(name, word)| (name.to_owned(), word));
    let found = search(&bundle(&blocks), Terms::at_first(), evaluate);
    assert_eq!((found.proven, found.suspects), (vec!["c".to_owned()], vec![]));
}

#[test]
fn a_namespace_whose_objects_cost_little_each_and_too_much_together_is_held() {
    let of = |letter: &str, count: usize, word: &'static str| {
        let letter = letter.to_owned();
        (0..count).map(move |number| (format!("{letter}{number:02}"), word)).collect::<Vec<_>>()
    };
    let blocks = [of("a", 20, "good"), of("e", 10, "costly"), of("z", 20, "good")].concat();
    let found = search(&bundle(&blocks), Terms::at_first(), evaluate);
    let all: Vec<_> = found.proven.iter().chain(&found.suspects).collect();
    assert!(!all.is_empty() && all.iter().all(|name| name.starts_with('e')), "{all:?}");
    assert!(10 - all.len() <= 3, "what is left passes: {all:?}");
}

#[test]
fn who_names_what_another_object_prints_is_not_at_fault_for_it() {
    let users = |word: &str| piece(format!("userlist users\n  s {word}\n"), Some("s"));
    let pieces = |word: &str| {
        let one = piece("backend a\n  auth unless { http_auth(users) }\n".into(), Some("a"));
        let other = piece("backend b\n".into(), Some("b"));
        vec![piece("skeleton\n".into(), None), one, users(word), other]
    };
    let lacking = |bundle: &Bundle| {
        let text = bundle.config.text.to_string();
        match text.contains("http_auth(users)") && !text.contains("userlist users") {
            true => Ruling::Refused(vec![Diagnostic::error("haproxy", "unable to find userlist 'users'")]),
            false => evaluate(bundle),
        }
    };
    for word in ["nobodys", "slow"] {
        let found = search(&bundle_of(pieces(word)), Terms::at_first(), lacking);
        assert_eq!((found.proven, found.suspects), (vec!["s".to_owned()], vec![]), "{word}");
    }
}

#[test]
fn who_has_a_name_that_many_use_is_found_as_fast_as_anybody() {
    for bad in ["e", "a"] {
        let blocks = (0..64).map(|number| {
            let of = format!("a{number:02}");
            piece(format!("backend {of}\n  server s 10.0.0.1 check\n"), Some(&of))
        });
        let named =
            piece(format!("backend check\n  description {bad}\n  s nobodys\n"), Some(&format!("{bad}vil")));
        let all = std::iter::once(piece("skeleton\n".into(), None)).chain(blocks).chain([named]);
        let found = search(&bundle_of(all.collect()), Terms::at_first(), evaluate);
        assert_eq!((found.proven, found.suspects), (vec![format!("{bad}vil")], vec![]));
        assert!(found.checks < 30, "{} checks", found.checks);
    }
}

#[test]
fn two_that_have_the_same_name_need_not_one_another() {
    let of = |object: &str, word: &str| {
        piece(format!("backend one\n  description x{word}\n  s {word}\n"), Some(object))
    };
    let bundle = bundle_of(vec![of("a", "nobodys"), of("b", "good"), of("c", "good")]);
    let found = search(&bundle, Terms::at_first(), evaluate);
    assert_eq!((found.proven, found.suspects), (vec!["a".to_owned()], vec![]));
    let parts = Parts::of(&bundle);
    assert_eq!(parts.closure([&object("b")]).len(), 1);
}

#[test]
fn a_file_is_there_with_whoever_names_it() {
    let certificate = piece("nobodys\n".into(), Some("a"));
    let line = |name: &str| piece(format!("ssl/a.pem {name}.example\n"), Some(name));
    let file = |kind, name: &str, path: &str, pieces| {
        BundleFile::new(FileKey::new(kind, name), path, Text::new(pieces))
    };
    let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("skeleton\n"));
    let files = [
        file(FileKind::Certificate, "a.pem", "ssl/a.pem", vec![certificate]),
        file(FileKind::CrtList, "list.txt", "ssl/list.txt", vec![line("a"), line("b"), line("c")]),
    ];
    let bundle = Bundle::new(config, files);
    let parts = Parts::of(&bundle);
    let with = parts.together(&parts.closure([&object("c")]));
    assert_eq!(with.files["ssl/list.txt"].text.to_string(), "ssl/a.pem a.example\nssl/a.pem c.example\n");
    assert!(with.files.contains_key("ssl/a.pem"));
    let without = parts.together(&ObjectSet::new());
    assert!(without.files.contains_key("ssl/list.txt") && !without.files.contains_key("ssl/a.pem"));
}

#[test]
fn a_port_for_tls_has_a_certificate_in_every_check() {
    let file = |kind, name: &str, path: &str, pieces| {
        BundleFile::new(FileKey::new(kind, name), path, Text::new(pieces))
    };
    let certificate = |name: &str, word: &str| {
        let text = format!("{name} {word}\n");
        file(FileKind::Certificate, name, &format!("ssl/{name}.pem"), vec![piece(text, Some(name))])
    };
    let line = |name: &str| piece(format!("ssl/{name}.pem\n"), Some(name));
    let lacking = |bundle: &Bundle| {
        let is_refused = |file: &BundleFile| file.text.to_string().contains("nobodys");
        let has_none = bundle.files["ssl/list.txt"].text.to_string().is_empty();
        match has_none || bundle.files.values().any(|file| is_refused(file)) {
            true => {
                Ruling::Refused(vec![Diagnostic::error("haproxy", "no SSL certificate specified for bind")])
            }
            false => evaluate(bundle),
        }
    };
    for (bad_certificate, expected) in [("none", vec!["x"]), ("a", vec!["a", "x"])] {
        let word = |name: &str| if name == bad_certificate { "nobodys" } else { "good" };
        let blocks = [piece("skeleton\n".into(), None), piece("x nobodys\n".into(), Some("x"))];
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(blocks.to_vec()));
        let files = [
            certificate("a", word("a")),
            certificate("b", word("b")),
            file(FileKind::CrtList, "list.txt", "ssl/list.txt", vec![line("a"), line("b")]),
        ];
        let found = search(&Bundle::new(config, files), Terms::at_first(), lacking);
        assert_eq!(
            (found.proven, found.suspects),
            (expected.iter().map(ToString::to_string).collect(), vec![])
        );
    }
}

#[test]
fn what_is_wrong_without_all_of_them_is_nobodys() {
    let good = of_words(0, &[], "");
    let with = |word: &str| {
        let blocks = (0..5).map(|number| piece(format!("o{number} good\n"), Some(&format!("o{number}"))));
        bundle_of(std::iter::once(piece(format!("skeleton {word}\n"), None)).chain(blocks).collect())
    };
    for (word, terms) in
        [("nobodys", Terms::since(&good)), ("slow", Terms::since(&good)), ("nobodys", Terms::at_first())]
    {
        let found = search(&with(word), terms, evaluate);
        assert!(found.proven.is_empty() && found.suspects.is_empty());
        assert!(matches!(found.nobodys, Some(Nobodys::Templates(_))), "{word}: {:?}", found.nobodys);
    }
    let always = |_: &Bundle| Ruling::Unfinished(Diagnostic::error("haproxy", "killed"));
    let found = search(&with("good"), Terms::since(&good), always);
    assert!(matches!(found.nobodys, Some(Nobodys::Machine(_))), "{:?}", found.nobodys);
}

#[test]
fn a_check_that_fails_once_is_nobodys_fault() {
    let good = of_words(1, &[], "");
    let first = Cell::new(true);
    let once = |_: &Bundle| match first.take() {
        true => Ruling::Unfinished(Diagnostic::error("haproxy", "killed")),
        false => Ruling::Passes,
    };
    for (number, terms) in [(5, Terms::since(&good)), (5, Terms::at_first()), (1, Terms::at_first())] {
        first.set(true);
        let found = search(&of_words(number, &[], ""), terms, once);
        assert!(found.proven.is_empty() && found.suspects.is_empty(), "{:?}", found.suspects);
        assert_eq!(found.nobodys, Some(Nobodys::Nothing));
    }
}

#[test]
fn a_configuration_with_which_no_object_of_a_kind_passes_is_at_fault_itself() {
    let all = |word: &'static str| {
        (0..26).map(|n| (format!("{}o", char::from(b'a' + n)), word)).collect::<Vec<_>>()
    };
    let good = bundle(&all("good"));
    for word in ["named", "nobodys", "slow"] {
        let new = bundle(&all(word));
        let terms = Terms { is_new_configuration: true, ..Terms::since(&good) };
        let found = search(&new, terms, evaluate);
        assert!(matches!(found.nobodys, Some(Nobodys::Templates(_))) && found.proven.is_empty(), "{word}");
        assert!(found.checks <= 1 + SAMPLE, "{} checks", found.checks);
        let found = search(&new, Terms { good: None, ..terms }, evaluate);
        assert!(matches!(found.nobodys, Some(Nobodys::Templates(_))), "{word}: {:?}", found.nobodys);
        let found = search(&new, Terms { is_new_configuration: false, ..terms }, evaluate);
        assert_eq!(
            (found.proven.len(), found.nobodys),
            (26, None),
            "all changed at once with templates that are good"
        );
    }
}

#[test]
fn one_namespace_does_not_make_the_templates_faulty() {
    let evil = (0..40).map(|number| (format!("e{number}"), "nobodys"));
    let others = ["a", "b"].map(|name| (name.to_owned(), "good"));
    let bundle = bundle(&evil.chain(others).collect::<Vec<_>>());
    let terms = Terms { is_new_configuration: true, ..Terms::at_first() };
    let found = search(&bundle, terms, evaluate);
    assert_eq!((found.proven.len(), found.nobodys), (40, None));
}

/// Who changed in three namespaces, with these bad ones.
fn changed(bad: &[&str]) -> Bundle {
    let all = (0..60).map(|number| (["a", "b", "c"][number % 3], number));
    let named = all.map(|(namespace, number)| format!("{namespace}{number:02}"));
    let word = |name: &str| if bad.contains(&name) { "nobodys" } else { "good" };
    bundle(&named.map(|name| (name.clone(), word(&name))).collect::<Vec<_>>())
}

#[test]
fn throttled_namespaces_go_back_as_a_whole_with_few_checks_and_nobody_else_does() {
    let good = of_words(0, &[], "");
    let in_these = |throttled: &str, bad: &[&str]| {
        let terms = Terms { throttled, ..Terms::since(&good) };
        let found = search(&changed(bad), terms, evaluate);
        (found.proven, found.suspects.len(), found.checks)
    };
    let none = Vec::<String>::new();
    assert_eq!(in_these("a", &["a03", "a57"]), (none.clone(), 20, 2));
    assert_eq!(in_these("ab", &["a03"]), (none.clone(), 20, 4));
    assert_eq!(in_these("ab", &["a03", "b04"]), (none, 40, 4));
    let (names, suspects, _) = in_these("a", &["b04"]);
    assert_eq!((names, suspects), (vec!["b04".to_owned()], 0), "it was another one");
    let (names, suspects, _) = in_these("a", &["a03", "b04"]);
    assert_eq!((names, suspects), (vec!["b04".to_owned()], 20));
    let terms = Terms { throttled: "a", ..Terms::at_first() };
    let found = search(&changed(&["a03", "b04"]), terms, evaluate);
    assert_eq!(found.proven, ["a03", "b04"], "there is nothing to go back to");
}

#[test]
fn one_object_that_changed_in_a_throttled_namespace_is_at_fault_itself() {
    let (bundle, good) = (bundle(&[("a0".into(), "nobodys"), ("b0".into(), "good")]), of_words(0, &[], ""));
    let found = search(&bundle, Terms { throttled: "a", ..Terms::since(&good) }, evaluate);
    assert_eq!((found.proven, found.suspects), (vec!["a0".to_owned()], vec![]));
}

#[test]
fn one_bad_object_in_each_of_many_namespaces_takes_a_few_checks_each() {
    let pieces = (0..200).flat_map(|namespace| (0..10).map(move |number| (namespace, number)));
    let pieces = pieces.map(|(namespace, number)| {
        let object = ObjectRef::new("ingresses", &format!("n{namespace:04}"), &format!("o{number}"));
        let word = if number == 7 { "nobodys" } else { "good" };
        let lines = vec![LineBlame { template: 0, object: None, line: 1 }];
        Fragment::new(
            format!(" {word}\n"),
            Arc::new(Blame { lines, block: Some(Arc::new(object)), ..Blame::default() }),
        )
    });
    let bundle = bundle_of(std::iter::once(piece("skeleton\n".into(), None)).chain(pieces).collect());
    let found = search(&bundle, Terms::at_first(), evaluate);
    assert_eq!((found.proven.len(), found.suspects.len()), (200, 0));
    assert!(found.checks < 200 * 11, "{} checks", found.checks);
}

const WORDS: [&str; 7] = ["good", "good", "good", "good", "named", "nobodys", "slow"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// With as much time as it takes exactly those that are bad are found, at least one each time; with less, nobody who is good
    /// is blamed, and whoever is neither blamed nor suspected is good.
    #[test]
    fn the_bad_ones_are_found_and_nobody_else_whoever_they_are(
        blocks in prop::collection::vec((0..5_u8, 0..WORDS.len()), 1..60),
        is_first: bool,
        checks in prop_oneof![Just(usize::MAX), 0..40_usize],
    ) {
        let name = |number: usize, namespace: u8| format!("{}{number:02}", char::from(b'a' + namespace));
        let mut left: Vec<(String, &str)> =
            blocks.iter().enumerate().map(|(number, (namespace, word))| (name(number, *namespace), WORDS[*word])).collect();
        let good = of_words(0, &[], "");
        while !evaluate(&bundle(&left)).passes() {
            let terms = if is_first { Terms::at_first() } else { Terms::since(&good) };
            let found = search(&bundle(&left), Terms { checks, ..terms }, evaluate);
            let is_bad = |name: &String| left.iter().any(|(known, word)| known == name && *word != "good");
            prop_assert!(found.proven.iter().all(is_bad), "{:?}", found.proven);
            prop_assert!(found.nobodys.is_none());
            prop_assert!(!found.proven.is_empty() || !found.suspects.is_empty());
            prop_assert!(checks != usize::MAX || found.suspects.is_empty());
            left.retain(|(name, _)| !found.proven.contains(name) && !found.suspects.contains(name));
        }
    }
}

/// Stores with these Ingresses.
fn stores(names: &[&str]) -> Snapshots {
    let mut store = Snapshot::full();
    for name in names {
        store.apply(Object::new(object(name), b"{}".as_slice()), [Arc::from(*name)].into());
    }
    Snapshots::new([(Arc::from("ingresses"), Arc::new(store))].into())
}

#[test]
fn what_is_made_of_several_objects_is_laid_on_those_who_name_it_or_on_their_namespace() {
    let derived = |namespace: &str| Arc::new(ObjectRef::new("authentication", namespace, "t"));
    let bundle_with = |settings: &str, namespace: &str| {
        let lines = vec![LineBlame { template: 0, object: None, line: 1 }];
        let block = Some(derived(namespace));
        let asked = Blame { templates: vec!["t".into()], lines, block, ..Blame::default() };
        let asked = Fragment::new("backend auth:o_b_80\n", Arc::new(asked));
        let map = ["o1", "o2", "p1"].map(|name| {
            let settings = if name == "o1" { settings } else { "auth=auth:o_b_8080" };
            piece(format!("{name}.example {settings}\n"), Some(name))
        });
        let map = BundleFile::new(FileKey::new(FileKind::Map, "m"), "m", Text::new(map.to_vec()));
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(vec![asked])), [map])
    };
    let accused = |settings: &str, namespace: &str, good: Option<&Bundle>| {
        let proven = vec![(derived(namespace), Diagnostic::error("haproxy", "no"))];
        let found = FailureCauses { proven, ..FailureCauses::default() };
        let found = found.in_stores(&stores(&["o1", "o2", "p1"]), &bundle_with(settings, namespace), good);
        found.proven.iter().map(|(object, _)| object.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(accused("auth=auth:o_b_80|auth-uri=/", "o", None), ["o1"]);
    assert_eq!(accused("open", "o", None), ["o1", "o2"], "nobody names it");
    assert_eq!(accused("open", "", None), Vec::<String>::new(), "it is of no namespace");
    let good = bundle_of(vec![]);
    assert_eq!(accused("auth=auth:o_b_80", "o", Some(&good)), ["o1"]);
}
