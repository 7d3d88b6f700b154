//! Controllers and agents of two revisions, beside each other and one after the other: an upgrade and a rollback change nothing for
//! requests, and each reads what the other has left on a pod.

use integration_tests::{
    Outcome, Scene, backend::Backend, controller::Controller, ensure, haproxy_pod::HaproxyPod, program,
};
use std::path::PathBuf;

const HOST: &str = "shop.example";

/// The earlier one, this one, and back.
fn revisions() -> Outcome<[PathBuf; 3]> {
    Ok([program::earlier_haptic()?, program::haptic()?, program::earlier_haptic()?])
}

/// Controllers take over from each other on a pod that has this revision's agent, or a Data Plane API.
pub async fn of_the_controller(scene: Scene) -> Outcome {
    let mut story = Story::start(scene).await?;
    for (number, program) in revisions()?.into_iter().enumerate() {
        let before = story.pod.worker().await?;
        story.controller_is(program).await?;
        story.changes_endpoints(1).await?;
        let after = story.pod.worker().await?;
        // A Data Plane API cannot tell what another revision has rendered for it: that is one reload.
        let may_reload = number == 0 || !story.pod.has_agent();
        ensure(
            before == after || may_reload,
            format!("HAProxy reloaded: it was {before:?} and is {after:?}"),
        )?;
        story.goes_on(number).await?;
    }
    Ok(())
}

/// Agents take over HAProxy and its files from each other, while this revision's controller leads.
pub async fn of_the_agent(scene: Scene) -> Outcome {
    let mut story = Story::start(scene).await?;
    story.pod.replace_agent(program::earlier_haptic()?).await?;
    story.controller_is(program::haptic()?).await?;
    story.changes_endpoints(1).await?;
    for (number, program) in revisions()?.into_iter().enumerate() {
        let before = story.pod.worker().await?;
        story.pod.replace_agent(program).await?;
        story.changes_endpoints(1).await?;
        // Reloads are counted anew by each agent.
        let after = story.pod.worker().await?;
        ensure(before.pid == after.pid, format!("HAProxy reloaded: it was {before:?} and is {after:?}"))?;
        story.goes_on(number).await?;
    }
    Ok(())
}

struct Story {
    scene: Scene,
    pod: HaproxyPod,
    controller: Option<Controller>,
    backends: [Backend; 2],
    changes: usize,
}

impl Story {
    /// The configuration is the one that is written by hand: that of the libraries is another one in each revision.
    async fn start(scene: Scene) -> Outcome<Self> {
        scene.configure_with(&scene.by_hand()?.manifest).await?;
        let backends = [scene.backend("a").await?, scene.backend("b").await?];
        let pod = scene.pod().await?;
        Ok(Self { scene, pod, controller: None, backends, changes: 0 })
    }

    async fn controller_is(&mut self, program: PathBuf) -> Outcome {
        if let Some(before) = self.controller.take() {
            before.kill().await?;
        }
        self.controller.insert(self.scene.controller_from(program)?).ready().await
    }

    /// Each of them is served, and then on the pod's disk.
    async fn changes_endpoints(&mut self, times: usize) -> Outcome {
        for _ in 0..times {
            self.changes += 1;
            let next = &self.backends[self.changes % 2];
            self.scene.publish("shop", HOST, next).await?;
            self.pod.serves(HOST, &next.name).await?;
        }
        self.pod.has_stored_what_it_runs().await
    }

    /// Endpoints change without a reload, whoever leads and whatever agent there is; routes come.
    async fn goes_on(&mut self, number: usize) -> Outcome {
        let before = self.pod.worker().await?;
        let traffic = self.pod.traffic(HOST);
        self.changes_endpoints(2).await?;
        let after = self.pod.worker().await?;
        ensure(before == after, format!("HAProxy reloaded: it was {before:?} and is {after:?}"))?;
        let (name, host) = (format!("blog-{number}"), format!("blog-{number}.example"));
        self.scene.publish(&name, &host, &self.backends[0]).await?;
        self.pod.serves(&host, &self.backends[0].name).await?;
        self.pod.has_stored_what_it_runs().await?;
        traffic.finish_without_loss().await.map(drop)
    }
}
