//! Texts that an expression finds something in: a request to ask a path with that is a regular expression.

use regex_syntax::{
    Parser,
    hir::{Class, Hir, HirKind},
};

/// A longer expression is not read: what it takes to read one grows faster than its length.
const LONGEST_EXPRESSION: usize = 2_000;
/// A sample is no longer.
const LONGEST: usize = 200;
/// So many parts of an expression are looked at: repetitions of repetitions of nothing would have no end.
const MOST_STEPS: usize = 10_000;
/// What stands for a class, if it has one of these.
const PREFERRED: [char; 6] = ['a', '1', '-', 'A', '/', '.'];

/// Whether a path is meant as an expression: it has what no plain path has.
pub fn is_expression(path: &str) -> bool {
    path.contains(['\\', '^', '$', '(', ')', '[', ']', '{', '}', '|', '*', '+'])
}

/// A text that `expression` matches as a whole, with something for each part that may be missing; `None` where it cannot be read, or is long.
pub fn sample(expression: &str) -> Option<String> {
    if expression.len() > LONGEST_EXPRESSION {
        return None;
    }
    let hir = Parser::new().parse(expression).ok()?;
    let mut sample = PathSample { text: String::new(), steps: 0 };
    sample.write(&hir);
    Some(sample.text)
}

struct PathSample {
    text: String,
    steps: usize,
}

impl PathSample {
    fn write(&mut self, hir: &Hir) {
        self.steps += 1;
        if self.steps > MOST_STEPS || self.text.len() > LONGEST {
            return;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.push_str(&String::from_utf8_lossy(&literal.0)),
            HirKind::Class(class) => self.text.extend(one_of(class)),
            HirKind::Capture(capture) => self.write(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.write(part)),
            // `(/|$)`: a way through that has something.
            HirKind::Alternation(ways) => {
                let way = ways.iter().find(|way| way.properties().minimum_len() > Some(0));
                way.or(ways.first()).into_iter().for_each(|way| self.write(way));
            }
            HirKind::Repetition(repeated) => {
                let times = repeated.min.max(1).min(repeated.max.unwrap_or(u32::MAX));
                for _ in 0..times {
                    if self.steps > MOST_STEPS {
                        break;
                    }
                    self.write(&repeated.sub);
                }
            }
        }
    }
}

fn one_of(class: &Class) -> Option<char> {
    match class {
        Class::Unicode(class) => {
            let has = |c: &char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(c));
            PREFERRED.into_iter().find(has).or_else(|| class.ranges().first().map(|range| range.start()))
        }
        Class::Bytes(class) => class.ranges().first().map(|range| char::from(range.start())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_found_by_its_expression() {
        for expression in ["/api(/|$)(.*)", "^/v[0-9]+/(users|groups)$", "/a/?b", "(?i)/x[^/]*", "/[g-k]{3,}"]
        {
            let text = sample(expression).unwrap();
            let whole = regex::Regex::new(&format!("^(?:{expression})$")).unwrap();
            assert!(whole.is_match(&text), "{expression}: {text:?}");
        }
        assert_eq!(sample("/api(/|$)(.*)").as_deref(), Some("/api/a"));
        assert_eq!(sample("/a("), None);
    }

    #[test]
    fn endless_repetitions_have_an_end() {
        assert!(sample("/(a{900}){900}").unwrap().len() < 2_000);
        assert!(sample("/((){1000}){1000}b*").unwrap().starts_with('/'));
    }
}
