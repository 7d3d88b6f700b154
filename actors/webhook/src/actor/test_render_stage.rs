//! For tests: what reviews know of the RenderActor.

use actix::prelude::*;
use haptic_render::{CompileCache, Renderer, RendererFork, actor::ForkRequested};
use haptic_runtime::Mailbox;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

struct RenderStage {
    renderer: Renderer,
    compiled: CompileCache,
    asked: Arc<AtomicUsize>,
}

/// Runs a test in which actors are started.
pub fn run(test: impl Future<Output = ()>) {
    System::new().block_on(test);
}

/// Starts one that gives forks of `renderer`, and counts how often it is asked.
pub fn start(renderer: Renderer, compiled: CompileCache) -> (Mailbox<ForkRequested>, Arc<AtomicUsize>) {
    let asked = Arc::<AtomicUsize>::default();
    let stage = RenderStage { renderer, compiled, asked: asked.clone() }.start();
    (stage.recipient().into(), asked)
}

impl Actor for RenderStage {
    type Context = Context<Self>;
}

impl Handler<ForkRequested> for RenderStage {
    type Result = MessageResult<ForkRequested>;

    fn handle(&mut self, _: ForkRequested, _: &mut Self::Context) -> Self::Result {
        self.asked.fetch_add(1, Relaxed);
        MessageResult(RendererFork::of(&self.renderer, &self.compiled))
    }
}
