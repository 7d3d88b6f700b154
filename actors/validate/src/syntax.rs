//! Phase 1: what the keyword tables know, in milliseconds and without a process.

use crate::report::at_line;
use haptic_haproxy::{CheckOptions, Document, Problem, Version, check};
use haptic_model::{Bundle, Diagnostic, HaproxyVersion};
use std::collections::HashSet;

/// What is wrong with `bundle`'s haproxy.cfg for any of `versions`, each problem once.
#[must_use]
pub fn problems(bundle: &Bundle, versions: &[HaproxyVersion]) -> Vec<Diagnostic> {
    let text = bundle.config.text.to_string();
    let document = Document::parse(&text);
    let present = |path: &str| bundle.files.contains_key(path) || outside(path);
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for version in versions {
        let options = CheckOptions { files: Some(&present), ..CheckOptions::new(table_version(*version)) };
        for problem in check(&document, &options) {
            if seen.insert((problem.code, problem.line, problem.column)) {
                found.push(diagnostic(problem, bundle));
            }
        }
    }
    found
}

fn diagnostic(problem: Problem, bundle: &Bundle) -> Diagnostic {
    let line = u32::try_from(problem.line).unwrap_or(u32::MAX);
    let diagnostic = Diagnostic { help: problem.help, ..Diagnostic::error("syntax", problem.message) };
    at_line(diagnostic, &bundle.config, line)
}

/// Absolute names and the system's CA store are the pod's own affair: only HAProxy there can know.
fn outside(path: &str) -> bool {
    path.starts_with('/') || path.starts_with('@') || path.contains('@')
}

fn table_version(version: HaproxyVersion) -> Version {
    Version { major: version.major, minor: version.minor }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{BundleFile, FileKey, FileKind, Text};

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
        assert_eq!(problems(&bundle(&rule("maps/host.map")), &VERSIONS), []);
        let found = problems(&bundle(&rule("maps/hosts.map")), &VERSIONS);
        assert!(found.len() == 1 && found[0].to_string().contains("maps/hosts.map"), "{found:?}");
    }

    #[test]
    fn a_problem_of_several_versions_is_told_once() {
        assert_eq!(problems(&bundle("defaults\n  modee http\n"), &VERSIONS).len(), 1);
    }
}
