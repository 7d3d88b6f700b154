//! After any history of changes, what is found by reading only the changed blocks is what a full reading finds.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use haptic_haproxy::{
    CheckOptions, Document,
    block_index::{BlockIndex, differing, in_sections},
    check::{self, Proof},
    diff::{ConfigChange, compare},
    views::servers,
};
use haptic_model::HaproxyVersion;
use haptic_text::{Fragment, Text, TextBuilder, TextRun};
use proptest::{prelude::*, sample::Index, test_runner::TestRunner};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

const VERSIONS: [HaproxyVersion; 3] =
    [HaproxyVersion::new(3, 0), HaproxyVersion::new(3, 2), HaproxyVersion::new(3, 4)];

/// Pieces of which no block's problem depends on another one, except by names.
const ORDERLY: &[&str] = &[
    "backend a from web\n server s 10.0.0.1:80\n",
    "backend a from web\n server s 10.0.0.2:80\n",
    "backend b from web\n",
    "backend c from tcp\n server s 10.0.0.1:80 check\n server t 10.0.0.2:80\n\n",
    "backend d from none\n",
    "frontend f from web\n bind :80\n use_backend a if { path /a }\n default_backend b\n",
    "frontend g from web\n bind :81\n default_backend c\n",
    "frontend h\n bind :82 ssl crt a.pem crt-list list.txt\n",
    "backend two-a from web\n server s 10.0.0.3:80\nbackend two-b from web\n",
    "\n# a comment\nbackend e from web\n balance source\n",
    " server x 10.0.0.9:80\n",
    " server x 10.0.0.8:80\n server y 10.0.0.7:80\n",
    " http-request deny if !known\n",
    " acl known src -f lan.lst\n",
    " modee http\n",
    "# only a comment\n",
    "\n",
    "peers p\n peer a 10.0.0.1:1\n",
    "userlist u\n user x password y\n",
    "backend auth from web\n http-request auth unless { http_auth(u) }\n",
    "backend file from web\n errorfile 503 there.http\n",
    "backend lost from web\n errorfile 503 missing.http\n",
    "global\n maxconn 5\n",
    "global\n crt-base /ssl\n",
    "global\n lua-load mine.lua\n",
    "backend scripted from web\n http-request lua.mine\n http-request set-header X %[lua.mine]\n",
    "frontend off from web\n bind :83\n disabled\n default_backend nowhere\n",
    "backend off2 from web\n disabled\n server s 10.0.0.1:80\n server s 10.0.0.1:81\n",
    "frontend last from web\n bind :84\n default_backend nowhere\n default_backend b\n",
    "backend fetches from web\n http-request set-header X %[nosuch]\n",
    "frontend misplaced from web\n server s 10.0.0.1:80\n",
    "frontend bundle from web\n bind :85 ssl crt /ssl/two.pem\n",
    "defaults late\n mode http\n",
];

/// Pieces that reach beyond themselves, or of which less is known.
const TANGLED: &[&str] = &[
    "defaults web\n mode http\n",
    "defaults\n mode tcp\n default-server check\n",
    "defaults tcp from web\n mode tcp\n",
    "backend plain\n server s 10.0.0.1:80\n",
    ".if defined(X)\n",
    ".else\n",
    ".endif\n",
    "backend a\n.if defined(X)\n server s 10.0.0.1:80\n.endif\n",
    "listen a\n bind :90\n server s 10.0.0.1:80\n",
    "listen l from web\n bind :91\n server s 10.0.0.1:80\n",
    "backend \"$NAME\" from web\n",
    "userlist \"$NAME\"\n",
    "backend cut from web\n server s 10.0",
    ".0.1:80\n",
    " bind \"quote\n",
    "no section\n",
    "\"backend\" quoted from web\n",
    " use_backend nowhere\n",
    " disabled\n",
    " enabled\n",
    "defaults web\n mode http\n disabled\n",
    "frontend f\n bind :80\n",
    "backend of-both from web\nbackend of-late-too from late\n",
    "backend of-late from late\n server s 10.0.0.1:80\n",
    "defaults later from late\n mode http\n",
    "backend of-later from later\n server s 10.0.0.1:80\n",
    "backend two-b from web\nbackend two-c from web\n server s 10.0.0.4:80\n",
    "defaults beside from web\n mode http\n.if defined(X)\nbackend two-c from beside\n.endif\n",
    "global\n maxconn 7\ndefaults beside\n mode tcp\nbackend a from beside\n",
];

const FIRST: &str = "global\n maxconn 10\ndefaults web\n mode http\ndefaults tcp\n mode tcp\n";

#[derive(Clone, Debug)]
enum Edit {
    Insert(Index, Index),
    Remove(Index),
    Replace(Index, Index),
    Swap(Index, Index),
    /// The same text in other memory.
    Copy(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        3 => any::<(Index, Index)>().prop_map(|(at, piece)| Edit::Insert(at, piece)),
        2 => any::<Index>().prop_map(Edit::Remove),
        2 => any::<(Index, Index)>().prop_map(|(at, piece)| Edit::Replace(at, piece)),
        1 => any::<(Index, Index)>().prop_map(|(one, other)| Edit::Swap(one, other)),
        1 => any::<Index>().prop_map(Edit::Copy),
    ]
}

/// Generations, each of some edits.
fn history() -> impl Strategy<Value = Vec<Vec<Edit>>> {
    prop::collection::vec(prop::collection::vec(edit(), 0..4), 1..16)
}

/// The text of these pieces in runs of three, of which those that stood before are the same memory.
fn in_runs(pieces: &[Fragment], known: &mut HashMap<Vec<usize>, TextRun>) -> Text {
    let mut text = TextBuilder::default();
    for some in pieces.chunks(3) {
        let addresses = some.iter().map(Fragment::address).collect();
        text.run(known.entry(addresses).or_insert_with(|| TextRun::new(some.to_vec())).clone());
    }
    text.finish()
}

/// The configurations of a history. Pieces that stay are the same memory.
fn generations(history: &[Vec<Edit>], texts: &[&str]) -> Vec<Text> {
    let pieces: Vec<Fragment> = texts.iter().map(|text| Fragment::new(*text, Arc::default())).collect();
    let mut list = vec![Fragment::new(FIRST, Arc::default())];
    // Those that are known stay, or another one could be at their place in memory.
    let mut runs = HashMap::new();
    let mut generations = vec![in_runs(&list, &mut runs)];
    for edits in history {
        for edit in edits {
            let piece = |index: &Index| pieces[index.index(pieces.len())].clone();
            let length = list.len();
            match edit {
                Edit::Insert(at, index) => list.insert(at.index(length + 1), piece(index)),
                _ if length == 0 => {}
                Edit::Remove(at) => drop(list.remove(at.index(length))),
                Edit::Replace(at, index) => list[at.index(length)] = piece(index),
                Edit::Swap(one, other) => list.swap(one.index(length), other.index(length)),
                Edit::Copy(at) => {
                    let at = at.index(length);
                    list[at] = Fragment::new(list[at].as_str(), Arc::default());
                }
            }
        }
        generations.push(in_runs(&list, &mut runs));
    }
    generations
}

fn is_there(path: &str) -> bool {
    ["there.http", "lan.lst", "a.pem", "list.txt", "/ssl/a.pem", "/ssl/two.pem.rsa", "mine.lua"]
        .contains(&path)
}

fn problems(text: &Text) -> Vec<String> {
    let text = text.to_string();
    let document = Document::parse(&text);
    let all = VERSIONS.iter().flat_map(|version| {
        let options = CheckOptions { files: Some(&is_there), ..CheckOptions::new(*version) };
        check::check(&document, &options)
    });
    all.map(|problem| problem.to_string()).collect()
}

/// The first generation of which the proof says something else than a full check.
fn contradiction(mut proof: Proof, generations: &[Text], exact: bool) -> Option<String> {
    generations.iter().find_map(|text| {
        let found = problems(text);
        let (proven, clean) = (proof.holds(text, &VERSIONS, &is_there), found.is_empty());
        let contradicts = if exact { proven != clean } else { proven && !clean };
        contradicts.then(|| format!("proven: {proven}; {found:?}\n{text}"))
    })
}

/// What changed, with the line of an added section in place of its position.
fn changes(old: &str, new: &str) -> Vec<ConfigChange> {
    let (old, new) = (Document::parse(old), Document::parse(new));
    let mut changes = compare(&old, &new);
    for change in &mut changes {
        if let ConfigChange::SectionAdded { kind, name, position } = change {
            let section = &new.sections[*position];
            assert_eq!((&section.kind, section.name.as_ref()), (&*kind, name.as_str()));
            *position = 0;
        }
    }
    changes
}

fn changes_in_parts(old: &BlockIndex<()>, new: &BlockIndex<()>, most: usize) -> Vec<ConfigChange> {
    let texts = differing(old, new, most).into_iter().map(|part| part.texts());
    texts.flat_map(|(old, new)| changes(&old, &new)).collect()
}

/// A change of defaults is one in each part.
fn as_set(changes: &[ConfigChange]) -> BTreeSet<String> {
    changes.iter().map(|change| format!("{change:?}")).collect()
}

/// Each generation is compared with the one before, and with the one three before.
fn differs_from_full(generations: &[Text]) -> Option<String> {
    let mut indexes: Vec<BlockIndex<()>> = Vec::new();
    for text in generations {
        let mut block_index = indexes.last().cloned().unwrap_or_default();
        block_index.advance(text);
        for back in [1, 3] {
            let Some(at) = indexes.len().checked_sub(back) else { continue };
            let full = changes(&generations[at].to_string(), &text.to_string());
            let sent = BlockIndex::of(&in_sections(&generations[at].to_string()));
            for (before, most) in [
                (&indexes[at], 0),
                (&indexes[at], 100),
                (&indexes[at], usize::MAX),
                (&sent, 0),
                (&sent, usize::MAX),
            ] {
                let short = changes_in_parts(before, &block_index, most);
                // Of many parts the order of changes is another one.
                let is_same =
                    if most == usize::MAX { short == full } else { as_set(&short) == as_set(&full) };
                if is_same {
                    continue;
                }
                return Some(format!(
                    "{most}: {short:?}\nbut in full {full:?}\n--- old\n{}--- new\n{text}",
                    generations[at]
                ));
            }
        }
        indexes.push(block_index);
    }
    None
}

fn all_pieces() -> Vec<&'static str> {
    [ORDERLY, TANGLED].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_proof_holds_exactly_when_a_full_check_finds_nothing(history in history()) {
        let generations = generations(&history, ORDERLY);
        prop_assert_eq!(contradiction(Proof::default(), &generations, true), None);
    }

    #[test]
    fn a_proof_never_holds_when_a_full_check_finds_something(history in history()) {
        let generations = generations(&history, &all_pieces());
        prop_assert_eq!(contradiction(Proof::default(), &generations, false), None);
    }

    #[test]
    fn changed_blocks_differ_as_the_whole_does(history in history()) {
        prop_assert_eq!(differs_from_full(&generations(&history, ORDERLY)), None);
        prop_assert_eq!(differs_from_full(&generations(&history, &all_pieces())), None);
    }
}

#[test]
fn a_proof_that_forgets_what_has_gone_is_found_out() {
    let mut runner = TestRunner::deterministic();
    let found = runner.run(&history(), |history| {
        let generations = generations(&history, ORDERLY);
        prop_assert_eq!(contradiction(Proof::forgetful(), &generations, true), None);
        Ok(())
    });
    assert!(found.is_err(), "the property must fail with this fault");
}

#[test]
fn a_defaults_section_may_stand_behind_sections_that_start_from_others() {
    let holds = |pieces: &[&str]| {
        let pieces = [&[FIRST][..], pieces].concat();
        let text = Text::new(pieces.iter().map(|text| Fragment::new(*text, Arc::default())).collect());
        assert_eq!(Proof::default().holds(&text, &VERSIONS, &is_there), problems(&text).is_empty(), "{text}");
        problems(&text).is_empty()
    };
    let (late, one) = ("defaults late\n mode http\n", "backend a from late\n");
    let several = "backend b from web\nbackend c from tcp\n";
    assert!(holds(&["backend d from web\n", several, late, one]));
    assert!(!holds(&["backend d from web\n", several, one, late]));
    assert!(!holds(&["backend b from web\nbackend c from late\n", late, one]));
}

#[test]
fn one_change_among_many_blocks_is_all_that_is_compared() {
    let pieces: Vec<Fragment> = std::iter::once(FIRST.to_owned())
        .chain((0..1000).map(|n| format!("backend b{n} from web\n server s 10.0.0.1:80\n")))
        .map(|text| Fragment::new(text, Arc::default()))
        .collect();
    let mut changed = pieces.clone();
    changed[500] = Fragment::new("backend b499 from web\n server s 10.0.0.2:80\n", Arc::default());
    let old: BlockIndex<()> = BlockIndex::of(&Text::new(pieces));
    let mut new = old.clone();
    new.advance(&Text::new(changed));
    let parts = differing(&old, &new, usize::MAX);
    assert_eq!(parts.len(), 1);
    let (old, new) = parts[0].texts();
    assert_eq!(old, format!("{FIRST}backend b499 from web\n server s 10.0.0.1:80\n"));
    assert_eq!(new, format!("{FIRST}backend b499 from web\n server s 10.0.0.2:80\n"));
}

#[test]
fn what_differs_comes_in_parts_with_each_section_beside_its_former_self() {
    let piece = |n: usize, port: usize| format!("backend b{n} from web\n server s 10.0.0.1:{port}\n");
    let first = Fragment::new(FIRST, Arc::default());
    let text = |pieces: &[String]| {
        let pieces = pieces.iter().map(|text| Fragment::new(text.as_str(), Arc::default()));
        Text::new(std::iter::once(first.clone()).chain(pieces).collect())
    };
    let old: Vec<String> = (0..100).map(|n| piece(n, 80)).collect();
    // All differ, in the other order; ten are gone and ten are new.
    let new: Vec<String> = (10..110).rev().map(|n| piece(n, 81)).collect();
    let before = BlockIndex::<()>::of(&text(&old));
    let mut after = before.clone();
    after.advance(&text(&new));
    let parts = differing(&before, &after, 1000);
    let per_part = 1000 / piece(10, 80).len() + 1;
    assert_eq!(parts.len(), 110_usize.div_ceil(per_part));
    let largest = parts.iter().map(|part| part.texts().1.len()).max().unwrap();
    assert!(largest < FIRST.len() + 1000 + 50, "{largest}");
    let short = changes_in_parts(&before, &after, 1000);
    let full = changes(&text(&old).to_string(), &text(&new).to_string());
    assert_eq!((short.len(), as_set(&short)), (110, as_set(&full)));
}

#[test]
fn blocks_of_several_sections_come_in_parts_and_of_the_first_block_only_its_defaults() {
    let heads = [
        FIRST,
        "global\n maxconn 11\ndefaults web\n mode http\ndefaults tcp\n mode tcp\nfrontend f\n bind :80\n",
    ];
    // Each has a section that the one of the same number had before, and one that the next one had.
    let pairs = |from: usize, port: usize| {
        let piece = move |n: usize| {
            let sections = [from + n, from + n + 1000]
                .map(|n| format!("backend b{n} from web\n server s 10.0.0.1:{port}\n"));
            sections.concat()
        };
        (0..100).map(piece).collect::<Vec<_>>()
    };
    let text = |head: &str, pieces: Vec<String>| {
        let pieces = [vec![head.to_owned()], pieces].concat();
        Text::new(pieces.iter().map(|piece| Fragment::new(piece.as_str(), Arc::default())).collect())
    };
    let (old, new) = (text(heads[0], pairs(0, 80)), text(heads[1], pairs(1, 81)));
    let before = BlockIndex::<()>::of(&old);
    let mut after = before.clone();
    after.advance(&new);
    let parts = differing(&before, &after, 2000);
    assert!((5..12).contains(&parts.len()), "{}", parts.len());
    let largest = parts.iter().map(|part| part.texts().1.len()).max().unwrap();
    assert!(largest < heads[1].len() + 2300, "{largest}");
    let frontends = parts.iter().filter(|part| part.texts().1.contains("frontend f")).count();
    assert_eq!(frontends, 1);
    let short = changes_in_parts(&before, &after, 2000);
    let full = changes(&old.to_string(), &new.to_string());
    assert_eq!((short.len(), as_set(&short)), (full.len(), as_set(&full)));
}

#[test]
fn a_conditional_defaults_section_beside_others_is_compared_where_its_condition_is() {
    let text = |retries: u8, port: u16| {
        let first = format!(
            "global\n maxconn 10\n.if defined(X)\ndefaults web\n mode http\n retries {retries}\n.endif\n"
        );
        let backends = (0..20).map(|n| format!("backend b{n} from web\n server s 10.0.0.1:{port}\n"));
        let pieces = std::iter::once(first).chain(backends);
        Text::new(pieces.map(|piece| Fragment::new(piece, Arc::default())).collect())
    };
    let (old, new) = (text(2, 80), text(3, 81));
    let [before, after] = [&old, &new].map(BlockIndex::<()>::of);
    assert_eq!(differing(&before, &after, 100).len(), 1);
    let short = changes_in_parts(&before, &after, 100);
    assert_eq!(as_set(&short), as_set(&changes(&old.to_string(), &new.to_string())));
}

#[test]
fn blocks_that_were_one_are_counted_all() {
    let backend = |n: usize, port: usize| format!("backend b{n} from web\n server s 10.0.0.1:{port}\n");
    let text = |pieces: Vec<String>| {
        let pieces = std::iter::once(FIRST.to_owned()).chain(pieces);
        Text::new(pieces.map(|piece| Fragment::new(piece, Arc::default())).collect())
    };
    // Of ten sections each, and then one section each.
    let before = (0..20).map(|block| (0..10).map(|n| backend(10 * block + n, 80)).collect()).collect();
    let (old, new) = (text(before), text((0..200).map(|n| backend(n, 81)).collect()));
    let [before, after] = [old, new].map(|text| BlockIndex::<()>::of(&text));
    let parts = differing(&before, &after, 500);
    let largest = parts.iter().map(|part| part.texts().1.len()).max().unwrap();
    assert!(largest < FIRST.len() + 1200, "{largest}");
}

#[test]
fn what_a_pod_sent_is_compared_in_parts_too() {
    let rendered = |port: usize| {
        let backends =
            (0..100).map(|n| format!("\n# the next one\nbackend b{n} from web\n server s 10.0.0.1:{port}\n"));
        let pieces = std::iter::once(FIRST.to_owned()).chain(backends);
        Text::new(pieces.map(|piece| Fragment::new(piece, Arc::default())).collect())
    };
    let (sent, desired) = (in_sections(&rendered(80).to_string()), rendered(81));
    assert_eq!(sent.to_string(), rendered(80).to_string());
    let [before, after] = [&sent, &desired].map(BlockIndex::<()>::of);
    let parts = differing(&before, &after, 1000);
    assert!(parts.len() > 4, "{}", parts.len());
    let largest =
        parts.iter().flat_map(|part| <[String; 2]>::from(part.texts())).map(|text| text.len()).max().unwrap();
    assert!(largest < FIRST.len() + 1200, "{largest}");
    let short = changes_in_parts(&before, &after, 1000);
    assert_eq!(
        (short.len(), as_set(&short)),
        (100, as_set(&changes(&sent.to_string(), &desired.to_string())))
    );
    assert_eq!(in_sections("").fragments().iter().count(), 0);
    assert_eq!(in_sections("no section").to_string(), "no section");
}

#[test]
fn servers_in_runs_are_those_of_the_whole() {
    let pieces = [
        FIRST,
        "backend a from web\n server s 10.0.0.1:80\n",
        "defaults late\n mode http\n default-server weight 7\n",
        "backend b\n server s 10.0.0.2:80\n",
        "backend c from web\n default-server weight 3\n server s 10.0.0.3:80\n",
        "defaults later from late\n default-server check\nbackend d from later\n server s 10.0.0.4:80\n",
        "backend e from later\n server s 10.0.0.5:80\nlisten f\n server t 10.0.0.6:80\n",
    ];
    let text = Text::new(pieces.iter().map(|text| Fragment::new(*text, Arc::default())).collect());
    let index: BlockIndex<()> = BlockIndex::of(&text);
    let read = |most: usize| {
        let (mut found, mut runs) = (Vec::new(), 0);
        index.in_runs(most, |document| {
            runs += 1;
            let inheritance = document.inheritance();
            for (at, section) in document.sections.iter().enumerate() {
                if section.kind.has_backend() {
                    found.push((section.name.to_string(), servers(document, &inheritance, at)));
                }
            }
        });
        (found, runs)
    };
    let (whole, runs) = read(usize::MAX);
    assert_eq!((whole.len(), runs), (6, 1));
    assert_eq!(whole[5].1[0].param("check"), Some(vec![]));
    let (found, runs) = read(0);
    assert_eq!(found, whole);
    assert!(runs >= 4, "{runs}");
}

#[test]
fn a_defaults_section_that_changes_has_only_its_heirs_compared() {
    let piece = |text: &str| Fragment::new(text, Arc::default());
    let heirs =
        [piece("backend a from tcp\n server s 10.0.0.1:80\n"), piece("backend b\n server s 10.0.0.1:80\n")];
    let others: Vec<Fragment> =
        (0..100).map(|n| piece(&format!("backend c{n} from web\n server s 10.0.0.1:80\n"))).collect();
    let web = piece("global\n maxconn 10\ndefaults web\n mode http\n");
    let with = |tcp: &str| {
        let first = [web.clone(), piece(tcp)];
        Text::new(first.into_iter().chain(heirs.iter().cloned()).chain(others.iter().cloned()).collect())
    };
    let before = BlockIndex::<()>::of(&with("defaults tcp\n mode tcp\n"));
    let mut after = before.clone();
    after.advance(&with("defaults tcp\n mode tcp\n retries 7\n"));
    let parts = differing(&before, &after, usize::MAX);
    let (old, new) = parts[0].texts();
    let backends = |text: &str| text.matches("backend ").count();
    assert_eq!((parts.len(), backends(&old), backends(&new)), (1, 2, 2), "{new}");
    assert_eq!(changes(&old, &new).len(), 1);
}
