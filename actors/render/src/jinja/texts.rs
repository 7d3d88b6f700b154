//! What is done with texts: as filters, as methods of texts, and by `format`.
//!
//! What is made of a text of the template stays one; what is made of a value, or with one, is a value.

use super::{
    evaluate::JinjaEvaluator,
    filter_table::FilterArguments,
    operand::{DEEPEST, Operand},
    operators::text_from,
    text::{self, MarkupPart},
    wrapping::{self, WrapRules},
};
use crate::{evaluation::EvaluationResult, value::Value};

/// Filters that this file has.
pub(super) fn knows(name: &str) -> bool {
    matches!(
        name,
        "capitalize"
            | "center"
            | "indent"
            | "lower"
            | "upper"
            | "replace"
            | "title"
            | "trim"
            | "strip"
            | "lstrip"
            | "rstrip"
            | "truncate"
            | "urlencode"
            | "wordcount"
            | "wordwrap"
            | "filesizeformat"
            | "split"
            | "startswith"
            | "endswith"
    )
}

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn text_filter(
        &mut self,
        name: &str,
        subject: &Operand<'p>,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        match name {
            "indent" => return self.indented(subject, &given),
            "urlencode" if !subject.is_text() && subject.number().is_none() => return self.query(subject),
            _ => {}
        }
        let Some(of) = subject.printed() else {
            return Err(format!("{name}: {} is no text", subject.describe()).into());
        };
        let from = given.with(subject);
        let result = match name {
            "title" => titled(&of, true),
            "trim" | "strip" => trimmed(&of, &given, [true, true]).to_owned(),
            "truncate" => truncated(&of, &given)?,
            "replace" => {
                let (old, new) =
                    (given.text(0, "old").unwrap_or_default(), given.text(1, "new").unwrap_or_default());
                let count = given.get(2, "count").and_then(Operand::whole).filter(|count| *count >= 0);
                self.check_text(of.len().saturating_mul(new.len().max(1)))?;
                match count.and_then(|count| usize::try_from(count).ok()) {
                    Some(count) => of.replacen(&*old, &new, count),
                    None => of.replace(&*old, &new),
                }
            }
            "wordcount" => {
                let words = of.split(|c: char| !c.is_alphanumeric() && c != '_');
                return Ok(Operand::count(words.filter(|word| !word.is_empty()).count()));
            }
            "urlencode" => urlencoded(&of, "/"),
            "wordwrap" => wrapping::wrapped(
                &of,
                WrapRules {
                    width: usize::try_from(given.whole(0, "width", 79)).unwrap_or(0),
                    cuts_words: given.is_true(1, "break_long_words", true),
                    between: &given.text(2, "wrapstring").unwrap_or_else(|| "\n".into()),
                    at_hyphens: given.is_true(3, "break_on_hyphens", true),
                },
            ),
            "filesizeformat" => {
                let bytes = subject.number().or_else(|| of.trim().parse().ok());
                let bytes =
                    bytes.ok_or_else(|| format!("filesizeformat: {} is no number", subject.describe()))?;
                wrapping::file_size(bytes, given.is_true(0, "binary", false))
            }
            name => return self.text_method(subject, name, given),
        };
        self.machine.made(result.len())?;
        Ok(text_from(&result, &from))
    }

    pub fn text_method(
        &mut self,
        subject: &Operand<'p>,
        name: &str,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let of = subject.printed().unwrap_or_default();
        let argument = |place: usize| given.positional.get(place).and_then(Operand::printed);
        let from = given.with(subject);
        let width = || usize::try_from(given.whole(0, "width", 80)).unwrap_or(0);
        let fits = |with: &dyn Fn(&str) -> bool| match given.positional.first() {
            Some(Operand::Tuple(all)) => all.iter().filter_map(Operand::printed).any(|one| with(&one)),
            _ => argument(0).is_some_and(|one| with(&one)),
        };
        let bool = Operand::bool;
        let all = |test: fn(char) -> bool| bool(!of.is_empty() && of.chars().all(test));
        let looked_at = || looked_at(&of, given.positional.get(1), given.positional.get(2));
        let pieces = match name {
            "startswith" => return Ok(bool(fits(&|with| looked_at().0.starts_with(with)))),
            "endswith" => return Ok(bool(fits(&|with| looked_at().0.ends_with(with)))),
            "isdigit" | "isdecimal" => return Ok(all(|c| c.is_ascii_digit())),
            "isnumeric" => return Ok(all(char::is_numeric)),
            "isalpha" => return Ok(all(char::is_alphabetic)),
            "isalnum" => return Ok(all(char::is_alphanumeric)),
            "isspace" => return Ok(all(char::is_whitespace)),
            "islower" => {
                return Ok(bool(of.chars().any(char::is_lowercase) && !of.chars().any(char::is_uppercase)));
            }
            "isupper" => {
                return Ok(bool(of.chars().any(char::is_uppercase) && !of.chars().any(char::is_lowercase)));
            }
            "count" => {
                let count = argument(0).map_or(0, |sought| looked_at().0.matches(&*sought).count());
                return Ok(Operand::count(count));
            }
            "find" | "index" | "rfind" | "rindex" => {
                let (part, before) = looked_at();
                let found = argument(0).and_then(|sought| match name {
                    "find" | "index" => part.find(&*sought),
                    _ => part.rfind(&*sought),
                });
                let found = found.and_then(|at| part.get(..at)).map(|skipped| skipped.chars().count());
                return match found {
                    Some(at) => Ok(Operand::count(before + at)),
                    None if name.ends_with("find") => Ok(Operand::Value(Value::integer(-1))),
                    None => Err("the text is not found".to_owned().into()),
                };
            }
            "join" => {
                let items = given.positional.first().cloned().unwrap_or(Operand::UNDEFINED);
                if let Some(other) = self.items(&items)?.iter().find(|item| !item.is_text()) {
                    return Err(format!("join: {} is no text", other.describe()).into());
                }
                let given = FilterArguments { positional: vec![subject.clone()], named: Vec::new() };
                return self.apply("join", items, given);
            }
            "format" => return self.braces(subject, &given),
            "split" | "rsplit" | "partition" | "rpartition"
                if given.get(0, "sep").is_some_and(|by| by.is_text() && !by.is_true()) =>
            {
                return Err(format!("{name}: the separator is empty").into());
            }
            "split" | "rsplit" => split(&of, name == "rsplit", &given),
            "splitlines" => lines(&of, given.is_true(0, "keepends", false)),
            "partition" | "rpartition" => {
                let by = argument(0).unwrap_or_default();
                let cut = if name == "partition" { of.split_once(&*by) } else { of.rsplit_once(&*by) };
                match cut {
                    Some((before, after)) => vec![before.to_owned(), by.to_string(), after.to_owned()],
                    None if name == "partition" => vec![of.to_string(), String::new(), String::new()],
                    None => vec![String::new(), String::new(), of.to_string()],
                }
            }
            _ => Vec::new(),
        };
        if matches!(name, "split" | "rsplit" | "splitlines" | "partition" | "rpartition") {
            let pieces = pieces.iter().map(|piece| text_from(piece, &from)).collect();
            return if name.ends_with("partition") {
                Ok(Operand::Tuple(Vec::into(pieces)))
            } else {
                self.new_list(pieces)
            };
        }
        let result = match name {
            "upper" => of.to_uppercase(),
            "lower" | "casefold" => of.to_lowercase(),
            "capitalize" => {
                let mut characters = of.chars();
                let first = characters.next().map(title_case).unwrap_or_default();
                first + &characters.as_str().to_lowercase()
            }
            "title" => titled(&of, false),
            "swapcase" => {
                let swap = |c: char| {
                    if c.is_uppercase() { c.to_lowercase().to_string() } else { c.to_uppercase().to_string() }
                };
                of.chars().map(swap).collect()
            }
            "strip" => trimmed(&of, &given, [true, true]).to_owned(),
            "lstrip" => trimmed(&of, &given, [true, false]).to_owned(),
            "rstrip" => trimmed(&of, &given, [false, true]).to_owned(),
            "removeprefix" => argument(0).and_then(|part| of.strip_prefix(&*part)).unwrap_or(&of).to_owned(),
            "removesuffix" => argument(0).and_then(|part| of.strip_suffix(&*part)).unwrap_or(&of).to_owned(),
            "center" | "ljust" | "rjust" | "zfill" => {
                let width = width();
                self.check_text(width.saturating_add(of.len()))?;
                let filling = argument(1).and_then(|text| text.chars().next()).unwrap_or(' ');
                justified(&of, name, width, filling)
            }
            "replace" => return self.text_filter(name, subject, given),
            _ => return Err(super::call::no_method(subject, name)),
        };
        self.machine.made(result.len())?;
        Ok(text_from(&result, &from))
    }

    /// Keys and values as the query of a URL.
    fn query(&mut self, of: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        let mut parts = Vec::new();
        for (key, value) in self.given_pairs(of)? {
            let part = |of: &Operand<'p>| match of.printed() {
                Some(text) => Ok(urlencoded(&text, " ").replace(' ', "+")),
                None => Err(format!("urlencode: {} is no text", of.describe())),
            };
            parts.push(format!("{}={}", part(&key.operand())?, part(&value)?));
        }
        let query = parts.join("&");
        self.check_text(query.len())?;
        self.machine.made(query.len())?;
        Ok(text_from(&query, &[of]))
    }

    /// Each line but the first begins with white space; marked text keeps its marks.
    fn indented(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let before = given.get(0, "width").filter(|width| width.is_text());
        // A value that is put before lines makes a value of them.
        let keeps_marks = before.is_none_or(
            |text| matches!(text, Operand::Markup(text) if !text.contains(crate::framing::is_mark)),
        );
        let width = match given.get(0, "width") {
            Some(width) if width.is_text() => width.printed().unwrap_or_default().to_string(),
            width => {
                let width = usize::try_from(width.and_then(Operand::whole).unwrap_or(4)).unwrap_or(0);
                self.check_text(width)?;
                " ".repeat(width)
            }
        };
        let (first, blank) = (given.is_true(1, "first", false), given.is_true(2, "blank", false));
        let of = match subject {
            Operand::Markup(markup) if keeps_marks => markup.to_string(),
            other => other.printed().unwrap_or_default().to_string(),
        };
        self.check_text(of.len().saturating_add(width.len().saturating_mul(of.matches('\n').count() + 1)))?;
        let mut result = String::new();
        for (number, line) in of.split('\n').enumerate() {
            result.push_str(if number > 0 { "\n" } else { "" });
            let is_indented = if number == 0 { first } else { blank || !text::is_empty(line) };
            result.push_str(if is_indented { &width } else { "" });
            result.push_str(line);
        }
        self.machine.made(result.len())?;
        Ok(match subject {
            Operand::Markup(_) if keeps_marks => Operand::Markup(result.into()),
            other => text_from(&result, &std::iter::once(other).chain(before).collect::<Vec<_>>()),
        })
    }

    /// `'%s' % …`: what the template says of the form stays its text, what is put in is marked.
    pub fn format(&mut self, form: &Operand<'p>, arguments: &[Operand<'p>]) -> EvaluationResult<Operand<'p>> {
        let Operand::Markup(markup) = form else {
            let plain = Operand::Markup(form.printed().unwrap_or_default());
            if plain.describe().is_empty()
                || form.printed().is_some_and(|text| text.contains(crate::framing::is_mark))
            {
                return Err("the form holds a private-use character".to_owned().into());
            }
            let Operand::Markup(result) = self.format(&plain, arguments)? else {
                return Ok(Operand::UNDEFINED);
            };
            let mut from = vec![form];
            from.extend(arguments.iter());
            let is_secret = from.iter().any(|operand| operand.is_secret(DEEPEST));
            let result = text::plain(&result);
            return Ok(Operand::Value(match is_secret {
                true => Value::Secret(result.into()),
                false => Value::text(&result),
            }));
        };
        let mut result = String::new();
        let by_name = match arguments {
            [of @ (Operand::Dict(_) | Operand::Value(Value::Dict(_) | Value::Object(_)))] => Some(of),
            _ => None,
        };
        let mut arguments = arguments.iter();
        for part in text::parts(markup) {
            let template = match part {
                MarkupPart::Mark(mark) => {
                    result.push_str(mark);
                    continue;
                }
                MarkupPart::Template(template) => template,
            };
            let mut rest = template;
            while let Some((before, after)) = rest.split_once('%') {
                result.push_str(before);
                rest = match (after.strip_prefix('('), by_name) {
                    (Some(named), Some(of)) => {
                        arguments = [].iter();
                        self.named_directive(named, of, &mut result)?
                    }
                    _ => self.directive(after, &mut arguments, &mut result)?,
                };
                self.check_text(result.len())?;
            }
            result.push_str(rest);
        }
        if arguments.next().is_some() {
            return Err("the form takes fewer arguments than are given".to_owned().into());
        }
        Ok(Operand::Markup(result.into()))
    }

    /// Puts in what `%…` stands for; what follows it.
    fn directive<'a>(
        &mut self,
        after: &'a str,
        arguments: &mut std::slice::Iter<'_, Operand<'p>>,
        result: &mut String,
    ) -> EvaluationResult<&'a str> {
        let end = after.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(after.len());
        let (flags, rest) = after.split_at_checked(end).unwrap_or((after, ""));
        let mut characters = rest.chars();
        let kind = characters.next().ok_or_else(|| "the form ends within a %".to_owned())?;
        if kind == '%' {
            result.push('%');
            return Ok(characters.as_str());
        }
        let argument =
            arguments.next().ok_or_else(|| "the form takes more arguments than are given".to_owned())?;
        self.put_in(argument, flags, kind, result)?;
        Ok(characters.as_str())
    }

    /// Puts in what `%(name)s` stands for, of the one argument; what follows it.
    fn named_directive<'a>(
        &mut self,
        after: &'a str,
        of: &Operand<'p>,
        result: &mut String,
    ) -> EvaluationResult<&'a str> {
        let (name, rest) = after.split_once(')').ok_or_else(|| "the form has %( without )".to_owned())?;
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (flags, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let mut characters = rest.chars();
        let kind = characters.next().ok_or_else(|| "the form ends within a %".to_owned())?;
        let argument = self.item(of, &Operand::text(name))?;
        if argument.is_undefined() {
            return Err(format!("the form has no argument {name:?}").into());
        }
        self.put_in(&argument, flags, kind, result)?;
        Ok(characters.as_str())
    }

    fn put_in(
        &mut self,
        argument: &Operand<'p>,
        flags: &str,
        kind: char,
        result: &mut String,
    ) -> EvaluationResult {
        let shown = match kind {
            's' if flags.is_empty() => argument.marked()?.to_string(),
            's' | 'd' | 'i' | 'u' | 'f' | 'x' | 'X' | 'o' => {
                let shown = formatted(argument, flags, kind)?;
                self.check_text(shown.len())?;
                text_from(&shown, &[argument]).marked()?.to_string()
            }
            other => return Err(format!("a form has no %{other}").into()),
        };
        result.push_str(&shown);
        Ok(())
    }

    /// `'{} {name}'.format(…)`. Where the form is no text of the template, nothing of the result is: the form says how
    /// often an argument stands in it.
    fn braces(&mut self, form: &Operand<'p>, given: &FilterArguments<'p>) -> EvaluationResult<Operand<'p>> {
        let is_template =
            matches!(form, Operand::Markup(markup) if !markup.contains(crate::framing::is_mark));
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
            let Some((field, behind)) = after.strip_prefix('{').and_then(|after| after.split_once('}'))
            else {
                return Err("the form has a single { or }".to_owned().into());
            };
            if field.contains([':', '!', '.', '[']) {
                return Err(format!("{{{field}}}: a name or a number stands in braces; for widths and digits, write '%5.2f' | format(…)").into());
            }
            let value = match field.parse::<usize>() {
                Ok(place) => given.positional.get(place),
                Err(_) if field.is_empty() => {
                    next += 1;
                    given.positional.get(next - 1)
                }
                Err(_) => given.named.iter().find(|(name, _)| &**name == field).map(|(_, value)| value),
            };
            let value = value.ok_or_else(|| format!("the form has no argument for {{{field}}}"))?;
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

fn formatted(argument: &Operand<'_>, flags: &str, kind: char) -> Result<String, String> {
    let left = flags.contains('-');
    let digits = flags.trim_start_matches(['-', '+', ' ', '#']);
    let zero = digits.starts_with('0') && !left;
    let (width, precision) = digits.split_once('.').map_or((digits, None), |(w, p)| (w, Some(p)));
    let size = |text: &str| text.parse::<usize>().unwrap_or(0).min(4096);
    let width = size(width);
    let number = || {
        argument.number().ok_or_else(|| format!("%{kind} takes a number, this is {}", argument.describe()))
    };
    #[expect(clippy::cast_possible_truncation, reason = "as Python cuts a fraction off")]
    let whole = || argument.whole().map_or_else(|| number().map(|n| n as i64), Ok);
    let shown = match kind {
        's' => {
            let text = argument.printed().ok_or_else(|| format!("{} is no text", argument.describe()))?;
            precision.map_or_else(|| text.to_string(), |most| text.chars().take(size(most)).collect())
        }
        'f' => format!("{:.*}", precision.map_or(6, size), number()?),
        kind => {
            let whole = whole()?;
            let digits = match kind {
                'x' => format!("{:x}", whole.unsigned_abs()),
                'X' => format!("{:X}", whole.unsigned_abs()),
                'o' => format!("{:o}", whole.unsigned_abs()),
                _ => whole.unsigned_abs().to_string(),
            };
            let prefix = match kind {
                'x' | 'X' | 'o' if flags.contains('#') => format!("0{kind}"),
                _ => String::new(),
            };
            let sign = if whole < 0 { "-" } else { "" };
            format!("{sign}{prefix}{digits:0>precision$}", precision = precision.map_or(0, size))
        }
    };
    let sign = match kind {
        's' => "",
        _ if shown.starts_with('-') => "",
        _ if flags.contains('+') => "+",
        _ if flags.contains(' ') => " ",
        _ => "",
    };
    let shown = format!("{sign}{shown}");
    Ok(match (left, zero && kind != 's') {
        (true, _) => format!("{shown:<width$}"),
        (false, true) => {
            // Zeros stand behind the sign and behind 0x.
            let digits = shown.trim_start_matches(['-', '+', ' ']);
            let has_prefix = flags.contains('#') && matches!(kind, 'x' | 'X' | 'o');
            let digits = if has_prefix { digits.get(2..).unwrap_or(digits) } else { digits };
            let (head, digits) = shown.split_at_checked(shown.len() - digits.len()).unwrap_or(("", digits));
            format!("{head}{digits:0>width$}", width = width.saturating_sub(head.len()))
        }
        (false, false) => format!("{shown:>width$}"),
    })
}

/// Without white space, or the characters that are given, at its start, its end or both.
fn trimmed<'t>(of: &'t str, given: &FilterArguments<'_>, [start, end]: [bool; 2]) -> &'t str {
    let asked = given.get(0, "chars").filter(|chars| !chars.is_none()).and_then(Operand::printed);
    let goes = |c: char| match &asked {
        Some(asked) => asked.contains(c),
        None => c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c),
    };
    let of = if start { of.trim_start_matches(goes) } else { of };
    if end { of.trim_end_matches(goes) } else { of }
}

/// The part of a text that a method looks at, and how many characters stand before it.
fn looked_at<'t>(of: &'t str, start: Option<&Operand<'_>>, end: Option<&Operand<'_>>) -> (&'t str, usize) {
    if start.is_none() && end.is_none() {
        return (of, 0);
    }
    let count = i64::try_from(of.chars().count()).unwrap_or(i64::MAX);
    let place = |bound: Option<&Operand<'_>>, otherwise: i64| match bound.and_then(Operand::whole) {
        Some(bound) if bound < 0 => bound.saturating_add(count).max(0),
        Some(bound) => bound.min(count),
        None => otherwise,
    };
    let (start, end) = (place(start, 0), place(end, count));
    let byte = |place: i64| {
        let place = usize::try_from(place).unwrap_or(0);
        of.char_indices().nth(place).map_or(of.len(), |(at, _)| at)
    };
    (of.get(byte(start)..byte(end)).unwrap_or_default(), usize::try_from(start).unwrap_or(0))
}

/// Each word with a capital; `filter` says how words are told apart.
fn titled(of: &str, filter: bool) -> String {
    let mut result = String::with_capacity(of.len());
    let mut begins = true;
    for c in of.chars() {
        if begins && filter {
            result.extend(c.to_uppercase());
        } else if begins {
            result.push_str(&title_case(c));
        } else {
            result.extend(c.to_lowercase());
        }
        begins = match filter {
            true => c.is_whitespace() || matches!(c, '-' | '(' | '{' | '[' | '<'),
            false => !c.is_alphabetic(),
        };
    }
    result
}

/// A character as a word begins with it: of several that it becomes, one is large.
fn title_case(c: char) -> String {
    let mut large = c.to_uppercase();
    large.next().into_iter().chain(large.flat_map(char::to_lowercase)).collect()
}

/// The lines of a text, as Python tells them apart.
fn lines(of: &str, keeps_ends: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = of;
    while !rest.is_empty() {
        let is_end = |c: char| {
            matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
        };
        let (line, behind) =
            rest.split_at_checked(rest.find(is_end).unwrap_or(rest.len())).unwrap_or((rest, ""));
        let length =
            if behind.starts_with("\r\n") { 2 } else { behind.chars().next().map_or(0, char::len_utf8) };
        let (end, after) = behind.split_at_checked(length).unwrap_or((behind, ""));
        lines.push(if keeps_ends { format!("{line}{end}") } else { line.to_owned() });
        rest = after;
    }
    lines
}

fn truncated(of: &str, given: &FilterArguments<'_>) -> Result<String, String> {
    let length = usize::try_from(given.whole(0, "length", 255)).unwrap_or(0);
    let end = given.text(2, "end").unwrap_or_else(|| "...".into());
    let leeway = usize::try_from(given.whole(3, "leeway", 5)).unwrap_or(0);
    let room = length.checked_sub(end.chars().count()).ok_or_else(|| {
        format!("truncate: a text of {length} characters has no room for {end:?} at its end")
    })?;
    if of.chars().count() <= length.saturating_add(leeway) {
        return Ok(of.to_owned());
    }
    let kept: String = of.chars().take(room).collect();
    if given.is_true(1, "killwords", false) {
        return Ok(kept + &end);
    }
    let whole = kept.rsplit_once(' ').map_or(&*kept, |(before, _)| before);
    Ok(format!("{whole}{end}"))
}

/// A text as a part of a URL, in which the characters of `kept` may stand.
fn urlencoded(of: &str, kept: &str) -> String {
    let mut result = String::new();
    for byte in of.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                result.push(char::from(byte))
            }
            other if kept.as_bytes().contains(&other) => result.push(char::from(other)),
            other => result.push_str(&format!("%{other:02X}")),
        }
    }
    result
}

fn split(of: &str, from_end: bool, given: &FilterArguments<'_>) -> Vec<String> {
    let by = given.text(0, "sep").filter(|_| given.get(0, "sep").is_some_and(|by| !by.is_none()));
    let most = given.get(1, "maxsplit").and_then(Operand::whole).and_then(|most| usize::try_from(most).ok());
    let own = |piece: &str| piece.to_owned();
    match (by, most) {
        (Some(by), None) => of.split(&*by).map(own).collect(),
        (Some(by), Some(most)) if from_end => {
            let mut pieces: Vec<_> = of.rsplitn(most.saturating_add(1), &*by).map(own).collect();
            pieces.reverse();
            pieces
        }
        (Some(by), Some(most)) => of.splitn(most.saturating_add(1), &*by).map(own).collect(),
        (None, None) => of.split_whitespace().map(own).collect(),
        (None, Some(most)) => {
            let mut pieces = Vec::new();
            let mut rest = if from_end { of.trim_end() } else { of.trim_start() };
            while pieces.len() < most
                && let Some((a, b)) = if from_end {
                    rest.rsplit_once(char::is_whitespace)
                } else {
                    rest.split_once(char::is_whitespace)
                }
            {
                let (piece, left) = if from_end { (b, a.trim_end()) } else { (a, b.trim_start()) };
                pieces.push(own(piece));
                rest = left;
            }
            if !rest.is_empty() {
                pieces.push(own(rest));
            }
            if from_end {
                pieces.reverse();
            }
            pieces
        }
    }
}

fn justified(of: &str, how: &str, width: usize, filling: char) -> String {
    let missing = width.saturating_sub(of.chars().count());
    let fill = |count: usize| filling.to_string().repeat(count);
    match how {
        "ljust" => of.to_owned() + &fill(missing),
        "rjust" => fill(missing) + of,
        "zfill" => match of.strip_prefix(['-', '+']) {
            Some(digits) => format!("{}{}{digits}", of.get(..1).unwrap_or_default(), "0".repeat(missing)),
            None => "0".repeat(missing) + of,
        },
        _ => {
            // As Python does: of an odd number the larger half stands before, if the width is odd.
            let before = missing / 2 + (missing & width & 1);
            fill(before) + of + &fill(missing - before)
        }
    }
}
