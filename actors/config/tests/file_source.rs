//! The ConfigActor on a real file that is edited, broken, removed and restored.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use haptic_config::{
    FileOverlay, Validator,
    actor::{ConfigActor, ConfigOptions},
    intake::ConfigState,
    source::ConfigSource,
};
use haptic_model::{config::AcceptedConfig, config::Credentials};
use haptic_runtime::{ActorHandle, Arbiters, Events, Health, Spec, Supervision, Topic, topic};
use haptic_text::Sensitive;
use std::{future::Future, path::PathBuf, sync::Arc, time::Duration};

const VALID: &str = "
credentialsSecretRef: {name: creds}
podSelector: {matchLabels: {app: haproxy}}
watchedResources: {ingresses: {apiVersion: networking.k8s.io/v1, resources: ingresses}}
haproxyConfig: {template: 'global'}
";

struct Scene {
    file: PathBuf,
    accepted: Topic<Option<AcceptedConfig>>,
    state: Topic<ConfigState>,
    _folder: tempfile::TempDir,
    _actor: ActorHandle<ConfigActor>,
}

impl Scene {
    fn write(&self, text: &str) {
        let new = self.file.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, &self.file).unwrap();
    }

    async fn until_state(&mut self, wanted: impl FnMut(&ConfigState) -> bool) -> Arc<ConfigState> {
        in_time(self.state.wait_for(wanted)).await
    }

    fn template(&self) -> String {
        let accepted = self.accepted.latest();
        (*accepted).as_ref().and_then(|a| a.spec.haproxy_config.clone()).unwrap_or_default().template
    }
}

async fn in_time<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it did not happen within 60 s")
}

fn on_scene<F>(text: Option<&str>, play: impl FnOnce(Scene) -> F + 'static)
where
    F: Future<Output = ()> + 'static,
{
    let runtime =
        Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
    let text = text.map(str::to_owned);
    let shared = runtime.clone();
    let code = haptic_runtime::run(runtime, async move {
        let health = Health::new();
        let arbiter = Arbiters::new(shared, health.clone(), Duration::from_secs(5)).start("config").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let (publisher, accepted) = topic(None);
        let (state_writer, state) = topic(ConfigState::Waiting(String::new()));
        let options = ConfigOptions {
            source: ConfigSource::File {
                path: file.clone(),
                credentials: Credentials { username: "u".into(), password: Sensitive::new("p".into()) },
                overlay: FileOverlay::default(),
            },
            validators: Validator::built_in(),
            accepted: Arc::new(publisher),
            state: Arc::new(state_writer),
            config_verdict: Arc::new(topic(None).0),
            remarks: Arc::new(topic(haptic_model::Remarks::default()).0),
            events: Events::silent(),
        };
        let actor = Spec::named("config")
            .start(&arbiter, &Supervision::new(health), move |own| ConfigActor::new(own, options.clone()));
        play(Scene { file, accepted, state, _folder: folder, _actor: actor }).await;
        0
    })
    .unwrap();
    assert_eq!(code, 0);
}

#[test]
fn a_missing_file_is_waited_for_by_name_and_taken_when_it_appears() {
    on_scene(None, |mut scene| async move {
        let state = scene
            .until_state(|s| matches!(s, ConfigState::Waiting(why) if why.contains("there is no")))
            .await;
        assert!(matches!(&*state, ConfigState::Waiting(why) if why.contains("config.yaml")), "{state:?}");
        scene.write(VALID);
        scene.until_state(|s| *s == ConfigState::Valid).await;
        assert_eq!(scene.template(), "global");
    });
}

#[test]
fn an_invalid_edit_keeps_the_valid_configuration_and_a_good_one_replaces_it() {
    on_scene(Some(VALID), |mut scene| async move {
        scene.until_state(|s| *s == ConfigState::Valid).await;
        scene.write(&VALID.replace("podSelector", "podSelectr"));
        let state = scene.until_state(|s| matches!(s, ConfigState::Invalid(_))).await;
        assert!(format!("{state:?}").contains("podSelectr"));
        assert_eq!(scene.template(), "global");
        scene.write(&VALID.replace("'global'", "'other'"));
        scene.until_state(|s| *s == ConfigState::Valid).await;
        assert_eq!(scene.template(), "other");
    });
}

#[test]
fn a_deleted_configuration_is_declared_and_still_served() {
    on_scene(Some(VALID), |mut scene| async move {
        scene.until_state(|s| *s == ConfigState::Valid).await;
        std::fs::remove_file(&scene.file).unwrap();
        scene.until_state(|s| *s == ConfigState::Deleted).await;
        assert_eq!(scene.template(), "global");
        scene.write(VALID);
        scene.until_state(|s| *s == ConfigState::Valid).await;
    });
}

#[test]
fn a_folder_in_the_place_of_the_former_one_is_watched_as_that_was() {
    on_scene(Some(VALID), |mut scene| async move {
        scene.until_state(|s| *s == ConfigState::Valid).await;
        let folder = scene.file.parent().unwrap().to_owned();
        let away = folder.with_extension("away");
        std::fs::rename(&folder, &away).unwrap();
        std::fs::create_dir(&folder).unwrap();
        for text in ["of another folder", "edited there"] {
            scene.write(&VALID.replace("'global'", &format!("'# {text}'")));
            in_time(scene.accepted.wait_for(|accepted| {
                let template = accepted.as_ref().and_then(|a| a.spec.haproxy_config.clone());
                template.is_some_and(|source| source.template.contains(text))
            }))
            .await;
        }
        std::fs::remove_dir_all(away).unwrap();
    });
}

#[test]
fn the_file_that_a_link_leads_to_is_followed() {
    on_scene(None, |mut scene| async move {
        let elsewhere = tempfile::tempdir().unwrap();
        let real = elsewhere.path().join("real.yaml");
        std::fs::write(&real, VALID).unwrap();
        std::os::unix::fs::symlink(&real, &scene.file).unwrap();
        scene.until_state(|s| *s == ConfigState::Valid).await;
        std::fs::write(&real, VALID.replace("'global'", "'# edited'")).unwrap();
        in_time(scene.accepted.wait_for(|accepted| {
            let template = accepted.as_ref().and_then(|a| a.spec.haproxy_config.clone());
            template.is_some_and(|source| source.template.contains("edited"))
        }))
        .await;
    });
}
