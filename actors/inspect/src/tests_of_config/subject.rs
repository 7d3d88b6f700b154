//! What a test rendered, or why it could not, as assertions look at it.

use super::target::{self, Target};
use haptic_model::{ActiveConfig, Bundle, Diagnostic, FileKey, Fleet, Snapshots};
use haptic_render::{Checked, Program, RenderJob, RenderLimits, Renderer};
use haptic_text::Text;
use serde_json::{Map, Value, json};

/// The outcome of one render: the bundle, or everything that is wrong.
pub(super) type Outcome = Result<Bundle, String>;

/// What assertions look at.
pub(super) struct Subject {
    /// What was rendered.
    pub outcome: Outcome,
    /// What came of rendering the objects in another order, if that was asked for.
    pub again: Option<Outcome>,
    /// What templates see, for `jsonpath`.
    pub context: Value,
}

/// Renders once, by itself: nothing is kept from any other test.
pub(super) fn render(
    compiled: &Program,
    config: &ActiveConfig,
    snapshots: &Snapshots,
    fleet: &Fleet,
) -> Outcome {
    let mut renderer = Renderer::checked(Checked::Never);
    match renderer.render(&RenderJob { compiled, config, snapshots, fleet, limits: &RenderLimits::default() })
    {
        Ok(rendering) => Ok(rendering.bundle),
        Err(problems) => Err(joined(&problems)),
    }
}

/// One problem a line.
pub(super) fn joined(problems: &[Diagnostic]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// `extraContext` with its keys also at the top, `config`, `fleet`, and `resources.NAME` with all objects.
pub(super) fn context(config: &ActiveConfig, snapshots: &Snapshots, fleet: &Fleet) -> Value {
    let extra = &config.spec.templating_settings.extra_context;
    let mut context: Map<String, Value> = extra.clone();
    let resources: Map<String, Value> = snapshots
        .iter()
        .map(|(name, store)| {
            let objects = store.iter().filter_map(|object| object.value().ok()).collect();
            (name.to_string(), Value::Array(objects))
        })
        .collect();
    let own = [
        ("extraContext", Value::Object(extra.clone())),
        ("config", json!(&*config.spec)),
        ("fleet", json!(fleet)),
        ("resources", Value::Object(resources)),
    ];
    context.extend(own.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Value::Object(context)
}

impl Subject {
    /// The bundle.
    ///
    /// # Errors
    /// That rendering failed, and why.
    pub fn bundle(&self) -> Result<&Bundle, String> {
        self.outcome.as_ref().map_err(|why| format!("rendering failed: {why}"))
    }

    /// The text of `target`.
    ///
    /// # Errors
    /// When it is not there: the file was not rendered, or there is no error to look at.
    pub fn text(&self, target: &Target) -> Result<Text, String> {
        match target {
            Target::File(key) => Ok(self.file(key)?.clone()),
            Target::RenderingError => match &self.outcome {
                Err(why) => Ok(Text::plain(why)),
                Ok(_) => Err("rendering succeeded, so there is no rendering_error".to_owned()),
            },
        }
    }

    fn file(&self, key: &FileKey) -> Result<&Text, String> {
        Ok(&target::file(key, self.bundle()?)?.text)
    }
}
