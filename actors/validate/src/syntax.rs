//! Phase 1: what the keyword tables know, in milliseconds and without a process.

use crate::{data_plane_api, policy, report::at_line};
use haptic_haproxy::{
    CheckOptions, Document, Problem,
    check::{Proof, check},
};
use haptic_model::{Bundle, Diagnostic, HaproxyVersion, crd::Allowance};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

/// Phase 1 for one bundle after another: only what changed is looked at as long as nothing is wrong. The result is
/// always that of [`problems`]. A cheap handle; clones share what is known.
#[derive(Clone, Debug, Default)]
pub struct Syntax {
    known: Arc<Mutex<Proof>>,
    /// What somebody else knows, who sees nearly the same bundles.
    of_others: Option<Arc<Mutex<Proof>>>,
}

impl Syntax {
    /// One that knows nothing yet, and may [catch up](Self::catch_up) with this one.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { known: Arc::default(), of_others: Some(self.known.clone()) }
    }

    /// Knows what the one that it is apart from knows, and nothing else.
    pub fn catch_up(&self) {
        let of_others =
            self.of_others.as_ref().map(|of| of.lock().unwrap_or_else(PoisonError::into_inner).clone());
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = of_others.unwrap_or_default();
    }

    /// Knows nothing any more.
    pub fn forget(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Proof::default();
    }

    /// As [`problems`].
    #[must_use]
    pub fn problems(
        &self,
        bundle: &Bundle,
        versions: &[HaproxyVersion],
        allow: &[Allowance],
    ) -> Vec<Diagnostic> {
        let present = |path: &str| is_present(bundle, path);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever comes after a panic begins afresh.
        let mut proof = std::mem::take(&mut *known);
        let proven = proof.holds(&bundle.config.text, versions, &present)
            && policy::permits(proof.needs(), bundle, allow);
        *known = proof;
        drop(known);
        if proven { data_plane_api::alone(bundle) } else { problems(bundle, versions, allow) }
    }

    /// Bytes that are kept for the next bundle, beside the text of the last one.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
}

/// What is wrong with `bundle`'s haproxy.cfg for any of `versions`, each problem once, and what it holds beyond what is allowed.
#[must_use]
pub fn problems(bundle: &Bundle, versions: &[HaproxyVersion], allow: &[Allowance]) -> Vec<Diagnostic> {
    let text = bundle.config.text.to_string();
    let document = Document::parse(&text);
    let present = |path: &str| is_present(bundle, path);
    let mut seen = HashSet::new();
    let mut found = policy::problems(&document, bundle, allow);
    found.extend(data_plane_api::problems(bundle, &document));
    for version in versions {
        let options = CheckOptions { files: Some(&present), ..CheckOptions::new(*version) };
        for problem in check(&document, &options) {
            if seen.insert((problem.code, problem.line, problem.column)) {
                found.push(diagnostic(problem, bundle));
            }
        }
    }
    bundle.redact(&mut found);
    found
}

fn diagnostic(problem: Problem, bundle: &Bundle) -> Diagnostic {
    let line = u32::try_from(problem.line).unwrap_or(u32::MAX);
    let help = written_as_jinja(bundle, line).map(str::to_owned).or(problem.help);
    let diagnostic = Diagnostic { help, ..Diagnostic::error("syntax", problem.message) };
    at_line(diagnostic, &bundle.config, line)
}

/// What to do where a tag of another template language came through as text.
fn written_as_jinja(bundle: &Bundle, line: u32) -> Option<&'static str> {
    let text = bundle.config.text.line(line)?;
    let is_tag = ["{%", "{#"].iter().any(|open| text.trim_start().starts_with(open));
    is_tag.then_some("This template is read as Handlebars, and the line has a tag of Jinja2: say engine: jinja2, or write {{#if a}}…{{/if}}, {{#each list as |item|}}…{{/each}}, {{!-- a comment --}}")
}

fn is_present(bundle: &Bundle, path: &str) -> bool {
    bundle.files.contains_key(path)
        || path.contains('@')
        || is_outside(bundle, path)
        || is_folder(bundle, path)
}

/// Certificates and authorities may be named by their folder.
fn is_folder(bundle: &Bundle, path: &str) -> bool {
    let folder = path.trim_end_matches('/');
    bundle.files.keys().any(|file| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

/// Absolute names and the system's CA store are the pod's own affair: only HAProxy there can know. But in folders of the
/// bundle there is nothing else.
fn is_outside(bundle: &Bundle, path: &str) -> bool {
    let Some((folder, _)) = path.rsplit_once('/').filter(|_| path.starts_with('/')) else { return false };
    let lies_there = |file: &str| file.rsplit_once('/').is_some_and(|(its, _)| its == folder);
    !bundle.files.keys().any(|file| lies_there(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{BundleFile, FileKey, FileKind};
    use haptic_text::{Blame, Fragment, Text};

    const VERSIONS: [HaproxyVersion; 2] = [HaproxyVersion::new(3, 0), HaproxyVersion::new(3, 4)];

    fn bundle(config: &str) -> Bundle {
        let map =
            BundleFile::new(FileKey::new(FileKind::Map, "host.map"), "maps/host.map", Text::plain("a b\n"));
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(config)), [map])
    }

    #[test]
    fn a_map_that_the_bundle_does_not_contain_is_found_before_haproxy_runs() {
        let rule = |map: &str| {
            format!(
                "defaults\n  mode http\nfrontend f\n  bind :80\n  http-request set-var(txn.b) hdr(host),map({map})\n"
            )
        };
        assert_eq!(problems(&bundle(&rule("maps/host.map")), &VERSIONS, &[]), []);
        let found = problems(&bundle(&rule("maps/hosts.map")), &VERSIONS, &[]);
        assert!(found.len() == 1 && found[0].to_string().contains("maps/hosts.map"), "{found:?}");
    }

    #[test]
    fn certificates_of_a_bundle_and_a_folder_of_them_are_there() {
        let pem =
            |path: &str| BundleFile::new(FileKey::new(FileKind::Certificate, path), path, Text::plain(""));
        let bind = |crt: &str| {
            let text = format!("defaults\n  mode http\nfrontend f\n  bind :80 ssl crt {crt}\n");
            let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&text));
            problems(&Bundle::new(config, [pem("ssl/a.pem.rsa"), pem("ssl/b.pem")]), &VERSIONS, &[]).len()
        };
        let found = ["ssl/a.pem", "ssl/b.pem", "ssl", "ssl/", "ss", "ssl/c.pem"].map(bind);
        assert_eq!(found, [0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn one_bundle_after_another_is_judged_as_if_it_were_the_first() {
        let syntax = Syntax::default();
        let rule = "defaults\n  mode http\nfrontend f\n  bind :80\n  use_backend x if { path,map(maps/host.map) -m found }\n";
        for (config, clean) in [
            (format!("{rule}backend x\n"), true),
            (rule.to_owned(), false),
            (format!("{rule}backend x\nbackend x\n"), false),
            (format!("{rule}backend x\n"), true),
        ] {
            let found = syntax.problems(&bundle(&config), &VERSIONS, &[]);
            assert_eq!(found, problems(&bundle(&config), &VERSIONS, &[]), "{config}");
            assert_eq!(found.is_empty(), clean, "{config}");
        }
        assert!(syntax.bytes() > 0);
    }

    #[test]
    fn who_catches_up_knows_what_the_other_knows_and_judges_alike() {
        let good = "defaults\n  mode http\nfrontend f\n  bind :80\n";
        let (pipeline, bad) = (Syntax::default(), format!("{good}  use_backend nowhere\n"));
        assert!(pipeline.problems(&bundle(good), &VERSIONS, &[]).is_empty());
        let reviews = pipeline.apart();
        assert_eq!(reviews.bytes(), 0);
        reviews.catch_up();
        assert_eq!(reviews.bytes(), pipeline.bytes());
        for config in [&bad, good, &bad] {
            assert_eq!(
                reviews.problems(&bundle(config), &VERSIONS, &[]),
                problems(&bundle(config), &VERSIONS, &[])
            );
        }
        assert!(
            pipeline.problems(&bundle(good), &VERSIONS, &[]).is_empty(),
            "nothing is known here of reviews"
        );
        reviews.forget();
        assert_eq!(reviews.bytes(), 0);
    }

    #[test]
    fn what_is_quoted_of_a_secret_is_not_told() {
        let text = "defaults\n  mode http\nfrontend f\n  bind :80\n  http-request deny if planted-name\n";
        let at = text.find("planted").unwrap_or_default();
        let blame = Blame { secrets: std::iter::once(at..at + 12).collect(), ..Blame::default() };
        let text = Text::new(vec![Fragment::new(text, Arc::new(blame))]);
        let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), []);
        for found in [problems(&bundle, &VERSIONS, &[]), Syntax::default().problems(&bundle, &VERSIONS, &[])]
        {
            assert!(found[0].message.contains("no ACL '[redacted]'"), "{found:?}");
            assert!(!format!("{found:?}").contains("planted"), "{found:?}");
        }
    }

    #[test]
    fn jinja_that_came_through_as_text_is_told_as_it_is_written_here() {
        for line in ["{% if x %}", "{# a comment #}"] {
            let found = problems(&bundle(&format!("defaults\n  mode http\n  {line}\n")), &VERSIONS, &[]);
            let told = found[0].to_string();
            assert!(told.contains("say engine: jinja2, or write {{#if a}}"), "{told}");
        }
    }

    #[test]
    fn a_problem_of_several_versions_is_told_once() {
        assert_eq!(problems(&bundle("defaults\n  modee http\n"), &VERSIONS, &[]).len(), 1);
    }
}
