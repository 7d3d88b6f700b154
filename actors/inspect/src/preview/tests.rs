//! Previews of small bundles: what is told and what must never be shown.

use super::*;
use haptic_model::{BundleFile, FileKey, FileKind};
use haptic_text::Text;

fn bundle(config: &str, files: &[(FileKind, &str, &str)]) -> Bundle {
    let file = |(kind, path, text): &(FileKind, &str, &str)| {
        let name = path.rsplit('/').next().unwrap_or_default();
        BundleFile::new(FileKey::new(*kind, name), path, Text::plain(text))
    };
    let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(config));
    Bundle::new(config, files.iter().map(file))
}

fn config(server: &str) -> String {
    format!(
        "defaults\n  mode http\nfrontend web\n  bind :80\n  default_backend shop\nbackend shop\n  balance random\n  {server}\n"
    )
}

fn preview(old: &Bundle, new: &Bundle) -> PodPreview {
    PodPreview::of("edge/a".into(), HaproxyVersion::new(3, 4), &RunningView::of(old.clone()), new)
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_server_that_is_added_is_told_in_words_and_shown_as_a_diff() {
    let (old, new) =
        (bundle(&config("server a 10.0.0.1:80"), &[]), bundle(&config("server a 10.0.0.2:80"), &[]));
    let preview = preview(&old, &new);
    assert_eq!(preview.verdict(), "runtime");
    let text = plain(&as_text(&[preview]));
    for part in [
        "edge/a (HAProxy 3.4): runtime only, 1 operation\n  set server shop/a addr 10.0.0.2 port 80\n",
        "--- running/haproxy.cfg\n+++ desired/haproxy.cfg\n",
        "-  server a 10.0.0.1:80\n+  server a 10.0.0.2:80\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn a_reload_is_told_with_its_reason() {
    let (old, new) = (bundle(&config("balance source"), &[]), bundle(&config("balance first"), &[]));
    let text = plain(&as_text(&[preview(&old, &new)]));
    assert!(text.starts_with("edge/a (HAProxy 3.4): reload\n  because "), "{text}");
}

#[test]
fn a_private_key_is_never_shown() {
    let key = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
    let files = [(FileKind::Certificate, "ssl/a.pem", key), (FileKind::General, "general/b.txt", key)];
    let (old, new) = (bundle("global\n", &[]), bundle("global\n", &files));
    let preview = preview(&old, &new);
    let text = as_text(std::slice::from_ref(&preview));
    assert!(text.contains("ssl/a.pem: new; ") && text.contains("general/b.txt: new; "), "{text}");
    let json = serde_json::to_string(&as_json(&[preview])).unwrap();
    assert!(!text.contains("c2VjcmV0") && !json.contains("c2VjcmV0"));
}

#[test]
fn pods_that_change_alike_are_told_of_together_and_others_apart() {
    let (old, new) =
        (bundle(&config("server a 10.0.0.1:80"), &[]), bundle(&config("server a 10.0.0.2:80"), &[]));
    let other = |pod: &str, version, running: &Bundle| {
        PodPreview::of(pod.into(), version, &RunningView::of(running.clone()), &new)
    };
    let all = [
        preview(&old, &new),
        other("edge/b", HaproxyVersion::new(3, 4), &old),
        other("edge/c", HaproxyVersion::new(3, 4), &new),
    ];
    let text = plain(&as_text(&all));
    assert!(text.contains("edge/a, edge/b (HAProxy 3.4): runtime only"), "{text}");
    assert!(text.contains("edge/c (HAProxy 3.4): no change\n"), "{text}");
    assert_eq!(as_json(&all).len(), 3);
}

#[test]
fn a_comment_changes_files_and_nothing_else() {
    let (old, new) = (bundle(&config("# old"), &[]), bundle(&config("# new"), &[]));
    let preview = preview(&old, &new);
    assert!(preview.changes() && preview.verdict() == "files");
}
