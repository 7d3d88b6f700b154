//! Label and field selectors, as kubectl's `-l` and `--field-selector`, for objects that no API server selects.
//!
//! Grammar: <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>. Pure.

use haptic_text::FieldPath;
use serde_json::{Map, Value};

/// All requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

/// All comparisons must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<LabelComparison>);

/// A selector that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("selector `{selector}`: `{part}` {message}")]
pub struct SelectorError {
    selector: String,
    part: String,
    message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    rule: SelectorRule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SelectorRule {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    /// Of a whole number.
    Above(i64),
    Below(i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LabelComparison {
    field: FieldPath,
    value: String,
    equal: bool,
}

impl LabelSelector {
    /// Reads `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1,j<9`; the empty text selects everything.
    ///
    /// # Errors
    /// The part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parts(text)
            .into_iter()
            .map(|part| requirement(part).map_err(|message| refuse(text, part, message)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether an object with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str);
            requirement.rule.allows(value)
        })
    }
}

impl FieldSelector {
    /// Reads `metadata.name=x,type!=y`.
    ///
    /// # Errors
    /// The part that cannot be read.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parts(text)
            .into_iter()
            .map(|part| comparison(part).map_err(|message| refuse(text, part, message)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether the object is selected; a missing field is the empty text.
    #[must_use]
    pub fn matches(&self, object: &Value) -> bool {
        self.0
            .iter()
            .all(|comparison| (comparison.field.text(object) == comparison.value) == comparison.equal)
    }
}

impl SelectorRule {
    fn allows(&self, value: Option<&str>) -> bool {
        let listed =
            |values: &[String]| value.is_some_and(|value| values.iter().any(|listed| listed == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => listed(values),
            // As in Kubernetes, a missing label is not in any set.
            Self::NotIn(values) => !listed(values),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::Above(bound) => number().is_some_and(|number| number > *bound),
            Self::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Splits at the commas outside parentheses.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

fn requirement(part: &str) -> Result<Requirement, &'static str> {
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement { key: label_key(key)?, rule: SelectorRule::Absent });
    }
    if let Some((key, value)) = part.split_once("!=") {
        return Ok(Requirement {
            key: label_key(key)?,
            rule: SelectorRule::NotIn(vec![label_value(value)?]),
        });
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Requirement { key: label_key(key)?, rule: SelectorRule::In(vec![label_value(value)?]) });
    }
    if let Some((key, bound)) = part.split_once('>') {
        return Ok(Requirement { key: label_key(key)?, rule: SelectorRule::Above(whole_number(bound)?) });
    }
    if let Some((key, bound)) = part.split_once('<') {
        return Ok(Requirement { key: label_key(key)?, rule: SelectorRule::Below(whole_number(bound)?) });
    }
    let Some((head, set)) = part.split_once('(') else {
        return Ok(Requirement { key: label_key(part)?, rule: SelectorRule::Exists });
    };
    let set = set.strip_suffix(')').ok_or("needs a closing `)`")?;
    let values: Vec<String> = set.split(',').map(label_value).collect::<Result<_, _>>()?;
    match head.split_whitespace().collect::<Vec<_>>().as_slice() {
        [key, "in"] => Ok(Requirement { key: label_key(key)?, rule: SelectorRule::In(values) }),
        [key, "notin"] => Ok(Requirement { key: label_key(key)?, rule: SelectorRule::NotIn(values) }),
        _ => Err("must be `key in (a, b)` or `key notin (a, b)`"),
    }
}

fn comparison(part: &str) -> Result<LabelComparison, &'static str> {
    let (field, value, equal) = if let Some((field, value)) = part.split_once("!=") {
        (field, value, false)
    } else if let Some((field, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        (field, value, true)
    } else {
        return Err("must be `field=value` or `field!=value`");
    };
    let field =
        FieldPath::parse(field.trim()).map_err(|_| "does not begin with a field such as `metadata.name`")?;
    Ok(LabelComparison { field, value: value.trim().to_owned(), equal })
}

fn label_key(key: &str) -> Result<String, &'static str> {
    let key = key.trim();
    let allowed = |character: char| character.is_ascii_alphanumeric() || "-_./".contains(character);
    if key.is_empty() || !key.chars().all(allowed) {
        return Err("has no valid label name; write `key=value`, `key in (a, b)`, `key` or `!key`");
    }
    Ok(key.to_owned())
}

fn label_value(value: &str) -> Result<String, &'static str> {
    let value = value.trim();
    if value.chars().all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character)) {
        Ok(value.to_owned())
    } else {
        Err("has a value that no label can have")
    }
}

fn whole_number(bound: &str) -> Result<i64, &'static str> {
    bound.trim().parse().map_err(|_| "compares with something that is no whole number")
}

fn refuse(selector: &str, part: &str, message: &str) -> SelectorError {
    SelectorError { selector: selector.to_owned(), part: part.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selects(selector: &str, labels: &Value) -> bool {
        LabelSelector::parse(selector).unwrap().matches(labels.as_object())
    }

    #[test]
    fn label_selectors_mean_what_they_mean_to_kubectl() {
        let labels = json!({"app": "shop", "tier": "web", "example.com/x": "", "cores": "8"});
        for selector in [
            "",
            "app=shop",
            "app==shop,tier=web",
            "app!=other",
            "missing!=x",
            "app in (shop, blog)",
            "tier notin (db,cache),app",
            "missing notin (a)",
            "!missing",
            "example.com/x",
            "example.com/x=",
            "cores>7,cores < 9",
        ] {
            assert!(selects(selector, &labels), "{selector}");
        }
        for selector in [
            "app=other",
            "app!=shop",
            "missing",
            "!app",
            "app in (blog)",
            "app notin (shop)",
            "app=shop,x",
            "cores>8",
            "app<9",
            "missing<9",
        ] {
            assert!(!selects(selector, &labels), "{selector}");
        }
        assert!(!LabelSelector::parse("app").unwrap().matches(None));
    }

    #[test]
    fn a_bad_selector_names_the_bad_part() {
        for (selector, part) in
            [("a=b,c in (x", "`c in (x`"), ("a b", "`a b`"), ("a of (x)", "`a of (x)`"), ("a=b c", "`a=b c`")]
        {
            let error = LabelSelector::parse(selector).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn field_selectors_compare_fields_as_text() {
        let object = json!({"metadata": {"name": "tls"}, "type": "kubernetes.io/tls", "spec": {"port": 80}});
        let selects = |selector| FieldSelector::parse(selector).unwrap().matches(&object);
        assert!(selects("type=kubernetes.io/tls,metadata.name!=other,spec.port=80,spec.nodeName="));
        assert!(!selects("metadata.name!=tls"));
        assert!(FieldSelector::parse("metadata.name").unwrap_err().to_string().contains("field=value"));
    }
}
