//! After any history of changes, the plan that comes from reading what changed is the plan that comes from reading all.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use haptic_deploy::{Plan, PlanCache, RunningView, Verdict, plan};
use haptic_model::{Bundle, BundleFile, Capabilities, FileKey, FileKind, HaproxyVersion};
use haptic_text::{Fragment, Text};
use proptest::{prelude::*, sample::Index, strategy::ValueTree, test_runner::TestRunner};
use std::{collections::BTreeMap, sync::Arc};

const VERSIONS: [HaproxyVersion; 2] = [HaproxyVersion::new(3, 0), HaproxyVersion::new(3, 4)];

/// The files of a bundle: path, first piece, and the pieces that come and go.
const FILES: &[(&str, &str, &[&str])] = &[
    (
        "haproxy.cfg",
        "global\n maxconn 100\ndefaults web\n mode http\n balance roundrobin\ndefaults other\n mode http\n\
         frontend http from web\n bind :80\n http-request deny if { src -f maps/lan.lst }\n\
         http-request set-var(txn.host) req.hdr(host),map(maps/host.map)\n\
         http-request set-var(txn.b) path,map_beg(maps/path.map)\n\
         http-request set-var(txn.c) path,map_reg(maps/regex.map)\n\
         use_backend %[var(txn.b)] if { var(txn.b) -m found }\n",
        &[
            "backend a from web\n server s 10.0.0.1:80\n",
            "backend a from web\n server s 10.0.0.2:80 weight 5\n server t 10.0.0.3:80\n",
            "backend b from web\n\n",
            "backend b from other\n server s 10.0.0.1:80\n",
            "backend c from web\n http-request set-header x %[srv_conn(a/s)]\n server s 10.0.0.1:80\n",
            "backend d\n balance source\n server s 10.0.0.1:80 track a/s\n",
            "backend e-1 from web\n server s 10.0.0.4:80\nbackend e-2 from web\n server s 10.0.0.5:80\n",
            "frontend f from web\n bind :81\n maxconn 5\n default_backend b\n",
            "frontend f from web\n bind :81\n maxconn 6\n default_backend b\n",
            "frontend g from web\n bind :82\n use_backend a if { path,map(maps/late.map) -m found }\n",
            " server x 10.0.0.9:80\n",
            " http-request deny if { path,map_str(maps/late.map) -m found }\n",
            "# a comment\n",
            "defaults late\n mode tcp\n",
            "listen l from web\n bind :83\n server s 10.0.0.1:80\n",
        ],
    ),
    (
        "maps/host.map",
        "a.example a\n",
        &["b.example b\n", "b.example a\n", "c.example c\nd.example d\n", "# x\n", "e e", "\n"],
    ),
    ("maps/path.map", "", &["/a a\n", "/b b\n", "/b c\n", "/c \n", "/d d\n"]),
    ("maps/regex.map", "", &["^a a\n", "^b b\n"]),
    ("maps/lan.lst", "", &["10.0.0.0/8\n", "192.168.0.0/16\n"]),
    ("maps/late.map", "x y\n", &["y z\n", "z z\n"]),
    ("general/unused.txt", "", &["maps/late.map\n"]),
];

#[derive(Clone, Debug)]
struct Edit {
    /// `None` is haproxy.cfg.
    file: Option<Index>,
    what: u8,
    at: Index,
    piece: Index,
}

fn history() -> impl Strategy<Value = Vec<Vec<Edit>>> {
    // Half of all edits are in haproxy.cfg.
    let file = prop_oneof![Just(None), any::<Index>().prop_map(Some)];
    let edit = (file, 0..4_u8, any::<Index>(), any::<Index>());
    let edit = edit.prop_map(|(file, what, at, piece)| Edit { file, what, at, piece });
    prop::collection::vec(prop::collection::vec(edit, 0..4), 1..14)
}

type Pieces = BTreeMap<&'static str, Vec<Fragment>>;

fn fragment(text: &str) -> Fragment {
    Fragment::new(text, Arc::default())
}

fn generations(history: &[Vec<Edit>]) -> Vec<Bundle> {
    let pool: Vec<Vec<Fragment>> =
        FILES.iter().map(|(_, _, pieces)| pieces.iter().map(|piece| fragment(piece)).collect()).collect();
    let mut pieces: Pieces = FILES.iter().map(|(path, first, _)| (*path, vec![fragment(first)])).collect();
    let mut generations = vec![bundle(&pieces)];
    for edits in history {
        for Edit { file, what, at, piece } in edits {
            let number = file.map_or(0, |file| file.index(FILES.len()));
            let list = pieces.get_mut(FILES[number].0).unwrap();
            let new = pool[number][piece.index(pool[number].len())].clone();
            // The first piece stays: without it nothing else means much.
            match (what, list.len()) {
                (0 | 1, length) => list.insert(1 + at.index(length), new),
                (_, 1) => {}
                (2, length) => drop(list.remove(1 + at.index(length - 1))),
                (_, length) => list[1 + at.index(length - 1)] = new,
            }
        }
        generations.push(bundle(&pieces));
    }
    generations
}

fn bundle(pieces: &Pieces) -> Bundle {
    made(pieces.iter().map(|(path, pieces)| (*path, Text::new(pieces.clone()))))
}

/// The same bytes that share no memory with anything.
fn alone(bundle: &Bundle) -> Bundle {
    let path = |path: &str| FILES.iter().find(|(known, ..)| *known == path).unwrap().0;
    made(bundle.all().map(|file| (path(&file.path), Text::plain(&file.text.to_string()))))
}

fn made(files: impl Iterator<Item = (&'static str, Text)>) -> Bundle {
    let file = |(path, text): (&'static str, Text)| {
        let key = match path {
            "haproxy.cfg" => FileKey::config(),
            _ if path.starts_with("maps") => FileKey::new(FileKind::Map, path),
            _ => FileKey::new(FileKind::General, path),
        };
        BundleFile::new(key, path, text)
    };
    let (config, files): (Vec<_>, Vec<_>) = files.map(file).partition(|file| file.key == FileKey::config());
    Bundle::new(config.into_iter().next().unwrap(), files)
}

/// The first plan that is another one than without any memory. One pod follows each generation, another every third.
fn difference(generations: &[Bundle], first: impl Fn(Bundle) -> RunningView) -> Option<String> {
    for version in VERSIONS {
        let (cache, capabilities) = (PlanCache::new(), Capabilities::of(version));
        let mut views = vec![cache.keep(first(generations[0].clone()))];
        for (at, bundle) in generations.iter().enumerate().skip(1) {
            let desired = cache.view(bundle);
            for back in [1, 3] {
                let Some(before) = at.checked_sub(back) else { continue };
                let quick = cache.plan(&views[before], &desired, capabilities);
                let full = plan(&RunningView::of(alone(&generations[before])), &alone(bundle), capabilities);
                if *quick != full {
                    let (old, new) = (&generations[before].config.text, &bundle.config.text);
                    return Some(format!("{quick:#?}\nbut in full {full:#?}\n--- old\n{old}--- new\n{new}"));
                }
            }
            views.push(desired);
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_plan_is_the_same_whatever_was_known_before(history in history()) {
        prop_assert_eq!(difference(&generations(&history), RunningView::of), None);
    }
}

#[test]
fn views_that_never_forget_are_found_out() {
    let mut runner = TestRunner::deterministic();
    let found = runner.run(&history(), |history| {
        prop_assert_eq!(difference(&generations(&history), RunningView::forgetful), None);
        Ok(())
    });
    assert!(found.is_err(), "the property must fail with this fault");
}

#[test]
fn what_is_drawn_has_plans_of_every_kind() {
    let mut runner = TestRunner::deterministic();
    let mut seen = [0; 3];
    for _ in 0..60 {
        let history = history().new_tree(&mut runner).unwrap().current();
        for pair in generations(&history).windows(2) {
            let Plan { verdict, .. } =
                plan(&RunningView::of(pair[0].clone()), &pair[1], Capabilities::of(VERSIONS[1]));
            match verdict {
                Verdict::Nothing => seen[0] += 1,
                Verdict::Runtime { .. } => seen[1] += 1,
                Verdict::Reload { .. } => seen[2] += 1,
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}
