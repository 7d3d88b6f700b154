//! All that `haptic validate` found out, however it is printed.

use haptic_config::library::Untested;
use haptic_inspect::tests_of_config::Report;
use haptic_model::{Diagnostic, HaproxyVersion, Severity};
use haptic_render::engine::ImpureBlock;
use std::collections::BTreeMap;

/// What was found out about one configuration.
#[derive(Default)]
pub(super) struct Examined {
    /// The file, or the name in the cluster.
    pub name: String,
    /// The HAProxy that checked, if it came to that.
    pub haproxy: Option<HaproxyVersion>,
    /// Tests of libraries, which are run with the configuration's own, each with its library.
    pub of_libraries: BTreeMap<String, &'static str>,
    /// Tests of libraries that are left out, and why.
    pub untested: Option<Untested>,
    /// Problems of the configuration, and of what it renders.
    pub diagnostics: Vec<Diagnostic>,
    /// Blocks that are rendered anew each time, and for how many objects that was so.
    pub uncacheable: BTreeMap<ImpureBlock, usize>,
    /// What came of the tests.
    pub tests: Report,
    /// Content by path, when that was asked for.
    pub rendered: BTreeMap<String, String>,
}

impl Examined {
    pub fn of(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
    }

    pub fn is_valid(&self) -> bool {
        self.errors() == 0 && self.tests.all_passed()
    }
}
