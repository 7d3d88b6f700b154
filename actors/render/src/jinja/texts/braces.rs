//! `'{} {name}'.format(…)`.

use crate::{
    evaluation::EvaluationResult,
    jinja::{arguments::FilterArguments, evaluate::JinjaEvaluator, operand::Operand, operators::text_from},
    output::framing,
};

impl<'p> JinjaEvaluator<'_, 'p> {
    /// Where the form is no text of the template, nothing of the result is: the form says how often an argument stands
    /// in it.
    pub fn braces(
        &mut self,
        form: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let is_template = matches!(form, Operand::Markup(markup) if !markup.contains(framing::is_mark));
        let say = |text: &str| text_from(text, &[form]);
        let of = form.printed().unwrap_or_default();
        let (mut rest, mut next) = (&*of, 0);
        let mut parts: Vec<Operand<'p>> = Vec::new();
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            parts.push(say(before));
            if let Some(behind) = after.strip_prefix("{{").or_else(|| after.strip_prefix("}}")) {
                parts.push(say(if after.starts_with('{') { "{" } else { "}" }));
                rest = behind;
                continue;
            }
            let field = after.strip_prefix('{').and_then(|after| after.split_once('}'));
            let (field, behind) = field.ok_or_else(|| "the form has a single { or }".to_owned())?;
            let value = argument(field, &mut next, given)?;
            parts.push(match value.printed() {
                Some(text) if !is_template => text_from(&text, &[form, value]),
                _ => value.clone(),
            });
            self.check_text(parts.len())?;
            rest = behind;
        }
        parts.push(say(rest));
        self.join(&parts.iter().collect::<Vec<_>>())
    }
}

/// The argument for `{field}`: that at a place, of a name, or the next one.
fn argument<'g, 'p>(
    field: &str,
    next: &mut usize,
    given: &'g FilterArguments<'p>,
) -> Result<&'g Operand<'p>, String> {
    if field.contains([':', '!', '.', '[']) {
        return Err(format!(
            "{{{field}}}: a name or a number stands in braces; for widths and digits, write '%5.2f' | format(…)"
        ));
    }
    let value = match field.parse::<usize>() {
        Ok(place) => given.positional.get(place),
        Err(_) if field.is_empty() => {
            *next += 1;
            given.positional.get(*next - 1)
        }
        Err(_) => given.by_name(field),
    };
    value.ok_or_else(|| format!("the form has no argument for {{{field}}}"))
}
