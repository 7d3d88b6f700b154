//! A configuration that a ConfigMap holds as a text, as it was once. Pure.

use haptic_model::Diagnostic;
use serde_json::Value;

/// What a ConfigMap holds.
pub(crate) struct HeldText {
    pub text: String,
    /// Where it is, for messages.
    pub origin: String,
    pub notice: Diagnostic,
}

/// The configuration in a ConfigMap, if that is all that `documents` are.
///
/// # Errors
/// When it holds several texts, or none.
pub(crate) fn held_in(documents: &[Value], origin: &str) -> Result<Option<HeldText>, Diagnostic> {
    let mut documents = documents.iter().filter(|document| !document.is_null());
    let (Some(only), None) = (documents.next(), documents.next()) else { return Ok(None) };
    if only.get("kind").and_then(Value::as_str) != Some("ConfigMap") {
        return Ok(None);
    }
    let data: Vec<(&String, &str)> = only
        .get("data")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, text)| Some((key, text.as_str()?)))
        .collect();
    let [(key, text)] = data.as_slice() else {
        let message = format!("{origin}: a ConfigMap with {} texts is no configuration", data.len());
        return Err(Diagnostic::error("basic", message)
            .help("Give a ConfigMap whose data has the configuration as its one text"));
    };
    let message =
        format!("{origin}: the configuration is a text in a ConfigMap, which no controller watches");
    let help = "Store it as an HAProxyTemplateConfig: haptic config view -f FILE | kubectl apply -f -";
    let notice = Diagnostic::warning("basic", message).help(help);
    Ok(Some(HeldText { text: (*text).to_owned(), origin: format!("{origin}/{key}"), notice }))
}
