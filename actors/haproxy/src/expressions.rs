//! Sample expressions such as `req.hdr(host),lower,map(hosts.map,none)`, alone and inside the `%[…]` of a log-format.
//!
//! It reads only as far as HAProxy's `sample_parse_expr()` certainly does, and knows no names: those are in
//! [`crate::keywords`].

mod positions;

pub(crate) use positions::{WordFormat, answers, condition, formats_read_later, places, takes_condition};

/// One function of an expression: first the fetch, then the converters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpressionCall<'e> {
    pub name: &'e str,
    /// What stands in its parentheses.
    pub arguments: Option<&'e str>,
    /// Where its name starts in the text, in bytes.
    pub start: usize,
}

/// The functions of the expression that starts at a position of a text.
#[derive(Debug, Clone)]
pub(crate) struct Calls<'e> {
    text: &'e str,
    at: usize,
    first: bool,
}

/// The functions of an expression that fills a word.
pub(crate) fn calls(text: &str) -> Calls<'_> {
    Calls { text, at: 0, first: true }
}

impl<'e> Iterator for Calls<'e> {
    type Item = ExpressionCall<'e>;

    fn next(&mut self) -> Option<ExpressionCall<'e>> {
        let rest = self.text.get(self.at..)?;
        let name = rest.trim_start_matches(',');
        let commas = rest.len() - name.len();
        if std::mem::take(&mut self.first) != (commas == 0) {
            return None;
        }
        let length = name.bytes().take_while(|byte| is_name(*byte)).count();
        let (name, after) = name.split_at_checked(length).filter(|_| length > 0)?;
        let start = self.at + commas;
        self.at = start + length;
        let mut arguments = None;
        if let Some(inside) = after.strip_prefix('(') {
            arguments = closing(inside).and_then(|end| inside.get(..end));
            // Without its closing parenthesis nothing more can be read.
            self.at = arguments.map_or(self.text.len(), |inside| self.at + inside.len() + 2);
        }
        Some(ExpressionCall { name, arguments, start })
    }
}

impl ExpressionCall<'_> {
    /// How many arguments there are; `None` where quotes or escapes make commas uncertain.
    pub fn count(&self) -> Option<usize> {
        match self.arguments {
            None | Some("") => Some(0),
            Some(text) if text.contains(['\'', '"', '\\']) => None,
            Some(text) => Some(1 + text.matches(',').count()),
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'+' | b':')
}

/// Where the parenthesis closes that was opened before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (None, b')') => return Some(at),
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (None | Some(b'"'), b'\\') => _ = bytes.next(),
            _ => {}
        }
    }
    None
}

/// The expressions inside the `%[…]` of a log-format.
#[derive(Debug, Clone)]
pub(crate) struct Embedded<'e> {
    text: &'e str,
    at: usize,
}

/// The expressions inside the `%[…]` of a log-format.
pub(crate) fn embedded(text: &str) -> Embedded<'_> {
    Embedded { text, at: 0 }
}

impl<'e> Iterator for Embedded<'e> {
    type Item = Calls<'e>;

    fn next(&mut self) -> Option<Calls<'e>> {
        loop {
            let rest = self.text.get(self.at..)?;
            let after = rest.get(rest.find('%')? + 1..)?;
            if let Some(plain) = after.strip_prefix('%') {
                self.at = self.text.len() - plain.len();
                continue;
            }
            let item = without(without(after, '(', ')'), '{', '}');
            self.at = self.text.len() - after.len();
            if let Some(expression) = item.strip_prefix('[') {
                let calls = Calls { text: self.text, at: self.text.len() - expression.len(), first: true };
                let mut end = calls.clone();
                while end.next().is_some() {}
                self.at = end.at;
                return Some(calls);
            }
        }
    }
}

/// The text after `(name)` or `{flags}`, if it starts so.
fn without(text: &str, open: char, close: char) -> &str {
    let inside = text.strip_prefix(open);
    inside.and_then(|inside| inside.split_once(close)).map_or(text, |(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written<'e>(calls: impl Iterator<Item = ExpressionCall<'e>>) -> String {
        let write = |call: ExpressionCall<'_>| match call.arguments {
            Some(arguments) => format!("{}:{}({arguments})", call.start, call.name),
            None => format!("{}:{}", call.start, call.name),
        };
        calls.map(write).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_expression_is_a_fetch_and_its_converters() {
        for (text, expected) in [
            ("src", "0:src"),
            ("req.hdr(host),lower,map(a.map,none)", "0:req.hdr(host) 14:lower 20:map(a.map,none)"),
            ("base32+src,,lower", "0:base32+src 12:lower"),
            ("str('a,b)c'),concat(\"x\\\")\",y)", "0:str('a,b)c') 13:concat(\"x\\\")\",y)"),
            ("path,regsub(a(b)c,d)", "0:path 5:regsub(a(b)"),
            ("src]", "0:src"),
            ("src,", "0:src"),
            ("str(open", "0:str"),
            (",src", ""),
            ("", ""),
            ("(x)", ""),
        ] {
            assert_eq!(written(calls(text)), expected, "{text}");
        }
    }

    #[test]
    fn expressions_are_found_inside_formats_only() {
        for (text, expected) in [
            ("a %[src] b %{+Q}[path,lower]", vec!["4:src", "17:path 22:lower"]),
            ("%(name:str){+X}[src]", vec!["16:src"]),
            ("%%[src] %ci %{+Q}o src", vec![]),
            ("%[str(%[zz])] %[src]", vec!["2:str(%[zz])", "16:src"]),
            ("100% [src]", vec![]),
            ("%", vec![]),
        ] {
            assert_eq!(embedded(text).map(written).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn arguments_are_counted_where_that_is_certain() {
        for (text, expected) in [
            ("src", Some(0)),
            ("hdr()", Some(0)),
            ("hdr(host)", Some(1)),
            ("map(a,)", Some(2)),
            ("concat('a,b')", None),
        ] {
            assert_eq!(calls(text).next().and_then(|call| call.count()), expected, "{text}");
        }
    }
}
