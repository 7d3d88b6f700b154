//! Watches of a directory of real files.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod watching;

use haptic_model::{
    StoreLimits,
    crd::{StoreKind, WatchedResource},
};
use haptic_watch::{Directory, OpenedSource};
use serde_json::Value;
use std::{fs, os::unix::fs::symlink, path::Path};
use watching::{Watching, events, resource};

fn service(name: &str, port: u16) -> String {
    format!(
        "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: a, labels: {{app: {name}}}}}\nspec:\n  port: {port}\n"
    )
}

fn watch(root: &Path, resource: WatchedResource) -> Watching {
    let told = events();
    let directory = Directory::open(root, told.0.clone()).unwrap();
    Watching::start(OpenedSource::Directory(directory), resource, told)
}

fn services(root: &Path) -> Watching {
    watch(root, resource("v1", "services"))
}

fn port(value: &Value) -> u64 {
    value["spec"]["port"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_changes_just_its_objects() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("services.yaml");
    fs::write(&file, service("blog", 1) + &service("shop", 1)).unwrap();
    let mut watching = services(root.path());
    let before = watching.until_named(&["a/blog", "a/shop"]).await;
    assert!(before.is_synced());
    assert!(watching.change().await.initial);
    fs::write(&file, service("blog", 1) + &service("shop", 2)).unwrap();
    let change = watching.change().await;
    assert_eq!((change.cause.created, change.cause.modified, change.cause.deleted), (0, 1, 0));
    assert_eq!(change.cause.example.unwrap().to_string(), "services a/shop");
    let after = watching.until_named(&["a/blog", "a/shop"]).await;
    assert_eq!(port(&after.get("a", "shop").unwrap().value().unwrap()), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_may_be_named_by_a_relative_path() {
    let root = tempfile::tempdir().unwrap();
    let depth = std::env::current_dir().unwrap().components().count() - 1;
    let relative = Path::new(&"../".repeat(depth)).join(root.path().strip_prefix("/").unwrap());
    let file = root.path().join("services.yaml");
    fs::write(&file, service("shop", 1)).unwrap();
    let watching = services(&relative);
    watching.until_named(&["a/shop"]).await;
    fs::write(&file, service("blog", 1)).unwrap();
    watching.until_named(&["a/blog"]).await;
    fs::remove_file(&file).unwrap();
    watching.until_named(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_directories_come_and_go_at_any_depth() {
    let root = tempfile::tempdir().unwrap();
    let watching = services(root.path());
    watching.until_named(&[]).await;
    let deep = root.path().join("x/y");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("one.yml"), service("one", 1)).unwrap();
    fs::write(root.path().join("notes.txt"), service("ignored", 1)).unwrap();
    watching.until_named(&["a/one"]).await;
    fs::rename(deep.join("one.yml"), root.path().join("moved.yaml")).unwrap();
    fs::write(
        root.path().join("two.json"),
        r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"two"}}"#,
    )
    .unwrap();
    watching.until_named(&["a/one", "default/two"]).await;
    fs::remove_file(root.path().join("moved.yaml")).unwrap();
    watching.until_named(&["default/two"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_replaces_the_file_never_makes_its_object_vanish() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("s.yaml");
    fs::write(&file, service("shop", 1)).unwrap();
    let mut watching = services(root.path());
    watching.until_named(&["a/shop"]).await;
    watching.change().await;
    fs::rename(&file, root.path().join("s.yaml~")).unwrap();
    fs::write(&file, service("shop", 2)).unwrap();
    let change = watching.change().await;
    assert_eq!((change.cause.modified, change.cause.deleted), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mounts_swapped_link_is_a_change() {
    let root = tempfile::tempdir().unwrap();
    for (version, port) in [("..1", 1), ("..2", 2)] {
        fs::create_dir(root.path().join(version)).unwrap();
        fs::write(root.path().join(version).join("s.yaml"), service("shop", port)).unwrap();
    }
    symlink("..1", root.path().join("..data")).unwrap();
    symlink("..data/s.yaml", root.path().join("s.yaml")).unwrap();
    let watching = services(root.path());
    watching.until_named(&["a/shop"]).await;
    symlink("..2", root.path().join("..data_tmp")).unwrap();
    fs::rename(root.path().join("..data_tmp"), root.path().join("..data")).unwrap();
    let swapped =
        |store: &haptic_model::Snapshot| port(&store.get("a", "shop").unwrap().value().unwrap()) == 2;
    watching.until("the new version is read", swapped).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_keeps_its_last_good_objects_and_is_told_with_its_place() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("s.yaml");
    fs::write(&file, service("shop", 1)).unwrap();
    let mut watching = services(root.path());
    watching.until_named(&["a/shop"]).await;
    fs::write(&file, "apiVersion: v1\nkind: [\n").unwrap();
    let told = watching.refusal().await;
    assert!(told.starts_with(&format!("{}:", file.display())) && told.contains("stays"), "{told}");
    watching.until_named(&["a/shop"]).await;
    watching.restart();
    fs::write(root.path().join("t.yaml"), service("zebra", 1)).unwrap();
    watching.until_named(&["a/shop", "a/zebra"]).await;
    fs::write(&file, service("shop", 2)).unwrap();
    let repaired =
        |store: &haptic_model::Snapshot| port(&store.get("a", "shop").unwrap().value().unwrap()) == 2;
    watching.until("the corrected file is read", repaired).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_in_two_files_is_told_and_the_first_file_wins() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("b.yaml"), service("shop", 2)).unwrap();
    fs::write(root.path().join("a.yaml"), service("shop", 1)).unwrap();
    let mut watching = services(root.path());
    let told = watching.refusal().await;
    assert!(told.contains("a.yaml and in ") && told.contains("b.yaml; that of"), "{told}");
    let store = watching.until_named(&["a/shop"]).await;
    assert_eq!(port(&store.get("a", "shop").unwrap().value().unwrap()), 1);
    fs::remove_file(root.path().join("a.yaml")).unwrap();
    let other = |store: &haptic_model::Snapshot| {
        store.get("a", "shop").is_some_and(|o| port(&o.value().unwrap()) == 2)
    };
    watching.until("the other file's object is taken", other).await;
    assert!(watching.mended().await.ends_with(".yaml"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_was_away_is_read_again_and_nothing_is_wrong_with_it_any_more() {
    let above = tempfile::tempdir().unwrap();
    let (root, away) = (above.path().join("manifests"), above.path().join("away"));
    fs::create_dir(&root).unwrap();
    fs::write(root.join("s.yaml"), service("shop", 1)).unwrap();
    let mut watching = services(&root);
    watching.until_named(&["a/shop"]).await;
    fs::rename(&root, &away).unwrap();
    let told = watching.refusal().await;
    assert!(told.starts_with(&root.display().to_string()), "{told}");
    fs::rename(&away, &root).unwrap();
    assert_eq!(watching.mended().await, root.display().to_string());
    watching.until_named(&["a/shop"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_in_the_place_of_the_former_one_is_watched_as_that_was() {
    let above = tempfile::tempdir().unwrap();
    let [root, other, away] = ["m", "m2", "m3"].map(|name| above.path().join(name));
    for (folder, name) in [(&root, "old"), (&other, "new")] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("s.yaml"), service(name, 1)).unwrap();
    }
    let watching = services(&root);
    watching.until_named(&["a/old"]).await;
    fs::rename(&root, &away).unwrap();
    fs::rename(&other, &root).unwrap();
    watching.until_named(&["a/new"]).await;
    fs::write(root.join("s.yaml"), service("edited", 1)).unwrap();
    watching.until_named(&["a/edited"]).await;
    fs::remove_dir_all(&root).unwrap();
    fs::create_dir(&root).unwrap();
    fs::write(root.join("s.yaml"), service("again", 1)).unwrap();
    watching.until_named(&["a/again"]).await;
    fs::write(root.join("s.yaml"), service("edited", 1)).unwrap();
    watching.until_named(&["a/edited"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_symbolic_links_lead_to_is_followed() {
    let above = tempfile::tempdir().unwrap();
    let root = above.path().join("m");
    fs::create_dir_all(above.path().join("elsewhere")).unwrap();
    fs::create_dir(&root).unwrap();
    let (file, inner) = (above.path().join("f.yaml"), above.path().join("elsewhere/g.yaml"));
    fs::write(&file, service("file", 1)).unwrap();
    fs::write(&inner, service("inner", 1)).unwrap();
    symlink("../f.yaml", root.join("f.yaml")).unwrap();
    symlink("../elsewhere", root.join("folder")).unwrap();
    let watching = services(&root);
    watching.until_named(&["a/file", "a/inner"]).await;
    fs::write(&file, service("written", 1)).unwrap();
    watching.until_named(&["a/inner", "a/written"]).await;
    fs::write(above.path().join("new"), service("moved", 1)).unwrap();
    fs::rename(above.path().join("new"), &file).unwrap();
    fs::write(&inner, service("also", 1)).unwrap();
    watching.until_named(&["a/also", "a/moved"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn that_there_are_no_manifests_is_told() {
    let root = tempfile::tempdir().unwrap();
    let mut watching = services(root.path());
    let told = watching.ignored().await;
    assert!(told.contains(&format!("no manifests in {}", root.path().display())), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_nobody_watches_is_told_once() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("d.yaml"), "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n")
        .unwrap();
    let mut watching = services(root.path());
    let told = watching.ignored().await;
    assert!(told.contains("kind Deployment (apps/v1)") && told.contains("ignored"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn selectors_apply_to_files_as_in_a_cluster() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("s.yaml"), service("shop", 1) + &service("blog", 1)).unwrap();
    let namespace = |team: &str| {
        format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: a, labels: {{team: {team}}}}}\n")
    };
    fs::write(root.path().join("z.yaml"), namespace("web")).unwrap();
    let selecting = WatchedResource {
        label_selector: Some("app in (shop)".into()),
        namespace_selector: Some("team=web".into()),
        ..resource("v1", "services")
    };
    let watching = watch(root.path(), selecting);
    watching.until_named(&["a/shop"]).await;
    fs::write(root.path().join("s.yaml"), service("shop", 1).replace("app: shop", "app: other")).unwrap();
    watching.until_named(&[]).await;
    fs::write(root.path().join("s.yaml"), service("shop", 1)).unwrap();
    watching.until_named(&["a/shop"]).await;
    fs::write(root.path().join("z.yaml"), namespace("mail")).unwrap();
    watching.until_named(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_on_demand_store_of_files_holds_nothing_and_reads_the_file_again() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("s.yaml");
    fs::write(&file, service("shop", 1)).unwrap();
    let on_demand = WatchedResource { store: StoreKind::OnDemand, ..resource("v1", "services") };
    let mut watching = watch(root.path(), on_demand);
    for expected in [1, 2] {
        let store = watching.until_named(&["a/shop"]).await;
        watching.change().await;
        assert_eq!(store.bytes(), 0);
        let loading = store.clone();
        let load = move || loading.load(loading.get("a", "shop").unwrap()).unwrap().unwrap().value().unwrap();
        assert_eq!(port(&tokio::task::spawn_blocking(load).await.unwrap()), expected);
        fs::write(&file, service("shop", 2)).unwrap();
        if expected == 1 {
            watching.until("the change is seen", |now| now.version() > store.version()).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_on_demand_store_that_cannot_be_indexed_so_is_in_trouble_for_as_long() {
    let root = tempfile::tempdir().unwrap();
    let by_port = WatchedResource {
        store: StoreKind::OnDemand,
        index_by: vec!["spec.port".into()],
        ..resource("v1", "services")
    };
    let mut watching = watch(root.path(), by_port);
    let told = watching.failure().await;
    assert!(told.contains("store: full"), "{told}");
    assert_eq!(watching.trouble(), Some(told));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_objects_are_published_in_few_snapshots_and_at_first_in_one() {
    let root = tempfile::tempdir().unwrap();
    let many: String = (0..2000).map(|n| service(&format!("s{n:05}"), 1)).collect();
    fs::write(root.path().join("many.yaml"), many).unwrap();
    let mut watching = services(root.path());
    watching.until("all are there", |store| store.len() == 2000).await;
    let first = watching.change().await;
    assert_eq!((first.initial, first.cause.created), (true, 2000));
    fs::remove_file(root.path().join("many.yaml")).unwrap();
    let mut deleted = 0;
    while deleted < 2000 {
        deleted += watching.change().await.cause.deleted;
    }
    let publications = watching.publications();
    assert!(publications < 500, "{publications} snapshots for one removed file");
}

#[test]
fn a_directory_that_is_not_there_is_refused_with_its_name() {
    let error = Directory::open(Path::new("/nowhere/at/all"), events().0).unwrap_err().to_string();
    assert!(error.contains("/nowhere/at/all") && error.contains("*.yaml"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_beyond_a_limit_is_left_out_and_told_and_comes_in_when_there_is_room() {
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str| root.path().join(format!("{name}.yaml"));
    for name in ["a", "b", "c", "d"] {
        fs::write(file(name), service(name, 1)).unwrap();
    }
    let told = events();
    let directory = Directory::open(root.path(), told.0.clone()).unwrap();
    let limits = StoreLimits { object_bytes: 400, objects_per_namespace: 3, ..StoreLimits::default() };
    let services = resource("v1", "services");
    let mut watching = Watching::limited(OpenedSource::Directory(directory), services, told, limits);
    watching.until_named(&["a/a", "a/b", "a/c"]).await;
    let told = watching.limit().await;
    assert!(told.contains("more than 3 services in namespace a:"), "{told}");
    fs::remove_file(file("b")).unwrap();
    watching.until_named(&["a/a", "a/c", "a/d"]).await;
    let large = format!("{}  x: {:?}\n", service("d", 2), "y".repeat(400));
    fs::write(file("d"), large).unwrap();
    let told = watching.limit().await;
    assert!(told.contains("services a/d stays in force as it was") && told.contains("of 400"), "{told}");
    fs::remove_file(file("a")).unwrap();
    let after = watching.until_named(&["a/c", "a/d"]).await;
    assert_eq!(port(&after.get("a", "d").unwrap().value().unwrap()), 1);
    fs::write(file("d"), service("d", 3)).unwrap();
    watching
        .until("it is small again", |store| {
            // The file is empty for a moment, while it is written.
            store.get("a", "d").is_some_and(|d| port(&d.value().unwrap()) == 3)
        })
        .await;
}
