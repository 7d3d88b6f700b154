//! Text of nginx as statements.

/// Blocks stand in no more blocks than these.
const DEEPEST: usize = 2;

/// A statement: its words, and what stands in its block.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NginxStatement {
    /// Without quotes.
    pub words: Vec<String>,
    /// `None` where a semicolon ends it.
    pub block: Option<Vec<NginxStatement>>,
}

/// The statements of a text; `None` where quotes, braces or semicolons are missing, or blocks stand too deep.
pub fn statements(text: &str) -> Option<Vec<NginxStatement>> {
    let (mut all, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), None::<String>, None::<char>);
    let mut enclosing: Vec<(Vec<String>, Vec<NginxStatement>)> = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), '\\') => word.get_or_insert_default().push_str(&escaped(characters.next()?)),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') if word.is_none() => (quote, word) = (Some(c), Some(String::new())),
            (None, '{') => {
                // Of `${name}` it begins no block.
                if word.as_ref().is_some_and(|word| word.ends_with('$')) || enclosing.len() == DEEPEST {
                    return None;
                }
                words.extend(word.take());
                enclosing.push((std::mem::take(&mut words), std::mem::take(&mut all)));
            }
            (None, '}') => {
                if word.is_some() || !words.is_empty() {
                    return None;
                }
                let (of_block, before) = enclosing.pop()?;
                let block = std::mem::replace(&mut all, before);
                all.push(NginxStatement { words: of_block, block: Some(block) });
            }
            (None, '#') if word.is_none() => while characters.next_if(|c| *c != '\n').is_some() {},
            (None, ';') => {
                words.extend(word.take());
                if !words.is_empty() {
                    all.push(NginxStatement { words: std::mem::take(&mut words), block: None });
                }
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    let is_whole = quote.is_none() && word.is_none() && words.is_empty() && enclosing.is_empty();
    is_whole.then_some(all)
}

/// A text with what `of` says of each variable in its place; `None` where that says nothing of one.
pub fn with_variables(text: &str, of: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (mut read, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('$') {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, after) = match behind.strip_prefix('{') {
            Some(inner) => inner.split_once('}')?,
            None => behind.split_at(behind.find(|c| !is_of_name(c)).unwrap_or(behind.len())),
        };
        read.push_str(before);
        read.push_str(&of(name)?);
        rest = after;
    }
    read.push_str(rest);
    Some(read)
}

/// The text of a backslash and a character between quotes: with most the backslash stays, for it is one of an expression.
fn escaped(c: char) -> String {
    match c {
        '"' | '\'' | '\\' => c.to_string(),
        other => format!("\\{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(all: &[NginxStatement]) -> Vec<String> {
        let one = |statement: &NginxStatement| {
            let block = statement.block.as_ref().map(|block| format!("{{{}}}", shown(block).concat()));
            format!("{}{}", statement.words.join("|"), block.unwrap_or_default())
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn statements_are_words_up_to_a_semicolon_or_a_block() {
        let read = |text: &str| statements(text).map(|all| shown(&all));
        assert_eq!(
            read("# a\nmore_set_headers \"X-A: 1; 2\" 'X-B: \\'3';\nreturn 403;"),
            Some(vec!["more_set_headers|X-A: 1; 2|X-B: '3".to_owned(), "return|403".to_owned()])
        );
        assert_eq!(
            read(
                "if ($http_x != \"a b\") {\n  return 403;\n}\nlocation = /x { deny all; } rewrite ^/a\\.b$ /c;"
            ),
            Some(vec![
                "if|($http_x|!=|a b){return|403}".to_owned(),
                "location|=|/x{deny|all}".to_owned(),
                "rewrite|^/a\\.b$|/c".to_owned()
            ])
        );
        assert_eq!(read("rewrite '^/a\\.b' \"/c\";"), Some(vec!["rewrite|^/a\\.b|/c".to_owned()]));
    }

    #[test]
    fn what_has_no_end_is_none() {
        let deep = "a { b { c { d; } } }";
        for text in
            ["add_header \"X", "return 403", "if ($a) { return 403; ", "a; }", "a { b }", "a ${b};", deep]
        {
            assert_eq!(statements(text), None, "{text}");
        }
    }
}
