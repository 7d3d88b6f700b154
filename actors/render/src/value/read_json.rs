//! Reads the JSON of watched objects into values: half of a full render's time, so it does nothing else.
//!
//! Keys repeat from object to object; a reader keeps the ones it met and shares them.

use super::Value;
use std::{cell::RefCell, sync::Arc};

/// Deepest nesting, as `serde_json` has it: the reader recurses.
const DEEPEST: usize = 128;

/// Slots for keys met before.
const KEYS: usize = 256;

/// Longer keys are rarely met twice.
const LONGEST_KEY: usize = 32;

/// Shares keys between the objects read with it.
pub(crate) struct KeyInterner(RefCell<Vec<Option<Arc<str>>>>);

/// Where the text is no JSON.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotJson {
    /// In bytes from the start.
    pub position: usize,
}

impl Default for KeyInterner {
    fn default() -> Self {
        Self(RefCell::new(vec![None; KEYS]))
    }
}

impl KeyInterner {
    fn share(&self, key: &str) -> Arc<str> {
        let bytes = key.as_bytes();
        let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return "".into() };
        if bytes.len() > LONGEST_KEY {
            return key.into();
        }
        let middle = bytes.get(bytes.len() / 2).copied().unwrap_or(0);
        let slot = bytes.len() * 31 + usize::from(*first) * 7 + usize::from(*last) * 13 + usize::from(middle);
        match self.0.borrow_mut().get_mut(slot % KEYS) {
            Some(Some(known)) if **known == *key => known.clone(),
            Some(place) => place.insert(key.into()).clone(),
            None => key.into(),
        }
    }
}

/// The value that `text` stands for.
///
/// # Errors
/// Where it stops being JSON.
pub(crate) fn read(text: &str, keys: &KeyInterner) -> Result<Value, NotJson> {
    let mut reader = JsonReader { text, position: 0, keys, depth: 0 };
    let value = reader.value().and_then(|value| {
        reader.skip_space();
        (reader.position == text.len()).then_some(value)
    });
    value.ok_or(NotJson { position: reader.position })
}

/// Those of the `wanted` fields that `text` has, which is an object of JSON; the others are passed over. `None` for anything
/// else, as far as it was looked at.
pub(crate) fn read_fields(text: &str, wanted: &[&str], keys: &KeyInterner) -> Option<Value> {
    let mut reader = JsonReader { text, position: 0, keys, depth: 1 };
    (reader.next()? == b'{').then_some(())?;
    let mut found = Vec::with_capacity(wanted.len());
    reader.skip_space();
    if reader.peek()? == b'}' {
        return Some(Value::dict(found));
    }
    while found.len() < wanted.len() {
        reader.skip_space();
        let key = reader.string()?;
        (reader.next()? == b':').then_some(())?;
        if wanted.contains(&key.as_str()) {
            let key = key.shared(keys);
            found.push((key, reader.value()?));
        } else {
            reader.pass_over()?;
        }
        match reader.next()? {
            b',' => {}
            b'}' => break,
            _ => return None,
        }
    }
    Some(Value::dict(found))
}

struct JsonReader<'t> {
    text: &'t str,
    position: usize,
    keys: &'t KeyInterner,
    depth: usize,
}

impl<'t> JsonReader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.position += 1;
        }
    }

    /// The next byte that is not white space, passed.
    fn next(&mut self) -> Option<u8> {
        self.skip_space();
        let byte = self.peek()?;
        self.position += 1;
        Some(byte)
    }

    fn value(&mut self) -> Option<Value> {
        self.skip_space();
        match self.peek()? {
            b'"' => self.string().map(|s| match s {
                StringPart::Plain(text) => Value::text(text),
                StringPart::Unescaped(text) => Value::from(text),
            }),
            b'{' => self.nested(Self::dict),
            b'[' => self.nested(Self::list),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Option<Value>) -> Option<Value> {
        self.position += 1;
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn dict(&mut self) -> Option<Value> {
        let mut entries = Vec::with_capacity(4);
        self.skip_space();
        if self.peek()? == b'}' {
            self.position += 1;
            return Some(Value::dict(entries));
        }
        loop {
            self.skip_space();
            let key = self.string()?.shared(self.keys);
            if self.next()? != b':' {
                return None;
            }
            entries.push((key, self.value()?));
            match self.next()? {
                b',' => {}
                b'}' => return Some(Value::dict(entries)),
                _ => return None,
            }
        }
    }

    fn list(&mut self) -> Option<Value> {
        let mut items = Vec::new();
        self.skip_space();
        if self.peek()? == b']' {
            self.position += 1;
            return Some(Value::list(items));
        }
        loop {
            items.push(self.value()?);
            match self.next()? {
                b',' => {}
                b']' => return Some(Value::list(items)),
                _ => return None,
            }
        }
    }

    fn string(&mut self) -> Option<StringPart<'t>> {
        if self.peek()? != b'"' {
            return None;
        }
        let start = self.position + 1;
        let rest = self.text.get(start..)?;
        let end = rest.bytes().position(|b| b == b'"' || b == b'\\' || b < 0x20)?;
        if rest.as_bytes().get(end) == Some(&b'"') {
            self.position = start + end + 1;
            return rest.get(..end).map(StringPart::Plain);
        }
        self.escaped_string(rest, end)
    }

    /// Escapes are rare; `serde_json` knows them all.
    fn escaped_string(&mut self, rest: &'t str, mut end: usize) -> Option<StringPart<'t>> {
        loop {
            match rest.as_bytes().get(end)? {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let start = self.position;
        let text = serde_json::from_str(self.text.get(start..start + end + 2)?).ok()?;
        self.position = start + end + 2;
        Some(StringPart::Unescaped(text))
    }

    /// Passes over a value and makes nothing of it.
    fn pass_over(&mut self) -> Option<()> {
        self.skip_space();
        let rest = self.text.as_bytes().get(self.position..)?;
        let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
        for (at, byte) in rest.iter().enumerate() {
            if is_text {
                (is_text, is_escaped) = (is_escaped || *byte != b'"', !is_escaped && *byte == b'\\');
                if is_text || depth > 0 {
                    continue;
                }
                self.position += at + 1;
                return Some(());
            }
            match byte {
                b'"' => is_text = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth > 1 => depth -= 1,
                b'}' | b']' if depth == 1 => {
                    self.position += at + 1;
                    return Some(());
                }
                b',' | b'}' | b']' if depth == 0 => {
                    self.position += at;
                    return (at > 0).then_some(());
                }
                _ => {}
            }
        }
        None
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        self.text.get(self.position..)?.starts_with(word).then(|| {
            self.position += word.len();
            value
        })
    }

    fn number(&mut self) -> Option<Value> {
        let rest = self.text.get(self.position..)?;
        let is_part = |b: u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
        let end = rest.bytes().position(|b| !is_part(b)).unwrap_or(rest.len());
        let digits = rest.get(..end)?;
        let number: serde_json::Number = serde_json::from_str(digits).ok()?;
        self.position += end;
        Some(Value::Number(number))
    }
}

/// A string's characters.
enum StringPart<'t> {
    Plain(&'t str),
    Unescaped(String),
}

impl StringPart<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Unescaped(text) => text,
        }
    }

    /// As a key.
    fn shared(self, keys: &KeyInterner) -> Arc<str> {
        match self {
            Self::Plain(key) => keys.share(key),
            Self::Unescaped(key) => key.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn both(text: &str) -> (Option<String>, Option<String>) {
        let ours = read(text, &KeyInterner::default()).ok().map(|v| v.to_json().unwrap().to_string());
        let theirs = serde_json::from_str::<serde_json::Value>(text).ok().map(|v| v.to_string());
        (ours, theirs)
    }

    #[test]
    fn it_reads_what_serde_json_reads_and_refuses_what_it_refuses() {
        let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
        let too_deep = "[".repeat(100_000);
        let cases = [
            r#"{"a":1,"b":[true,false,null],"c":{"d":"e"}}"#,
            r#" { "a" : [ ] , "b" : { } } "#,
            "-12.5e3",
            "\"\\u00e9\\n\\\"x\"",
            "\"a\\\\\"",
            "18446744073709551615",
            "{}",
            "[]",
            "\"über\"",
            r#"{"a\"b":1}"#,
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "01",
            "nul",
            "truex",
            "\"a",
            "\"a\nb\"",
            "\"\\x\"",
            "1 2",
            "{\"a\":1,}",
            "+1",
            "- 1",
            "\u{feff}{}",
            "{a:1}",
            "[1 2]",
            &deep,
            &too_deep,
        ];
        for text in cases {
            let (ours, theirs) = both(text);
            assert_eq!(ours, theirs, "{text:.60}");
        }
    }

    #[test]
    fn keys_are_shared_between_objects() {
        let keys = KeyInterner::default();
        let [a, b] = [r#"{"metadata":1}"#, r#"{"metadata":2}"#].map(|text| match read(text, &keys) {
            Ok(Value::Dict(dict)) => dict.iter().next().unwrap().0.clone(),
            other => panic!("{other:?}"),
        });
        assert!(Arc::ptr_eq(&a, &b));
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                proptest::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|m| m.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn fields_are_those_of_the_whole(value in json(), wanted in proptest::collection::vec(any::<String>(), 0..3)) {
            let text = value.to_string();
            // As it is read: the last digit of a number may be another one than was written.
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let known = value.as_object().into_iter().flat_map(|fields| fields.keys().cloned()).step_by(2);
            let wanted: BTreeSet<String> = known.chain(wanted).collect();
            let found = read_fields(&text, &wanted.iter().map(String::as_str).collect::<Vec<_>>(), &KeyInterner::default());
            let expected = value.as_object().map(|fields| {
                let some = fields.iter().filter(|(key, _)| wanted.contains(*key));
                serde_json::Value::Object(some.map(|(key, value)| (key.clone(), value.clone())).collect())
            });
            prop_assert_eq!(found.map(|found| found.to_json().unwrap()), expected);
        }

        #[test]
        fn any_json_comes_back(value in json()) {
            let (ours, theirs) = both(&value.to_string());
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn no_text_panics(text in "[\\[\\]{}\",:\\\\0-9a-z.eE+ \\-]{0,40}") {
            read_fields(&format!("{{\"a\":{text}"), &["b"], &KeyInterner::default());
            let (ours, theirs) = both(&text);
            prop_assert_eq!(ours, theirs);
        }
    }
}
