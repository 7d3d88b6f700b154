//! Warns of what HAProxy takes without a word, and hardly anybody means: two proxies that listen at the same place.

use crate::report::at_line;
use haptic_haproxy::listeners::{SharedListener, shared};
use haptic_model::{Bundle, Diagnostic};
use haptic_text::Fragment;

/// A warning for each listener at whose place another proxy listens before it.
#[must_use]
pub fn warnings(bundle: &Bundle) -> Vec<Diagnostic> {
    let pieces = bundle.config.text.fragments().iter().map(Fragment::as_str);
    let mut found: Vec<_> = shared(pieces).iter().map(|shared| warning(shared, bundle)).collect();
    bundle.redact(&mut found);
    found
}

fn warning(SharedListener { address, proxy, first, second }: &SharedListener, bundle: &Bundle) -> Diagnostic {
    let config = &bundle.config;
    let line = |line: &usize| u32::try_from(*line).unwrap_or(u32::MAX);
    // Its line in the template does not change with what is rendered before it: a warning is told once.
    let other = match config.text.origin(line(first)) {
        Some(origin) => format!("template {}:{}", origin.template, origin.line),
        None => format!("{}:{first}", config.path),
    };
    let message = format!(
        "this listens on {address}, and {proxy} does, too ({other}): each connection goes to one of them by chance"
    );
    let warning = Diagnostic::warning("listeners", message).help("Give one of them another address or port");
    at_line(warning, config, line(second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{BundleFile, FileKey};
    use haptic_text::Text;

    #[test]
    fn both_lines_are_named() {
        let text = Text::plain("frontend f\n  bind :80\nlisten l\n  bind *:80\n");
        let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), []);
        let found: Vec<String> = warnings(&bundle).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "this listens on *:80, and frontend f does, too (haproxy.cfg:2): each connection goes to one of them by chance; \
              haproxy.cfg:4 `bind *:80`. Give one of them another address or port"
            ]
        );
    }
}
