//! Arguments of HAProxy's command line. Each is checked: nothing that an order contains can end a command or begin another.

use haptic_model::map_entry::LONGEST_FILE;

/// HAProxy's rule for names of proxies and servers (configuration manual, 2.2: letters, digits, `-`, `_`, `.`, `:`).
pub(super) fn name(name: &str) -> Result<&str, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if name.is_empty() || name.len() > 255 || !name.chars().all(fits) {
        return Err(format!("{name:?} is not a name that HAProxy takes (letters, digits, - _ . :)"));
    }
    Ok(name)
}

/// A file's name as a word that cannot be taken for an entry's address (`#1`) or a version (`@1`).
pub(super) fn file(path: &str) -> Result<String, String> {
    if path.starts_with(['#', '@', '*', '-']) || path.contains([' ', '\\', ':']) || path.len() > LONGEST_FILE
    {
        return Err(format!("the file {path:?} cannot be named at run time"));
    }
    parameter(path)
}

/// A map's key or an ACL's pattern. With `#` HAProxy takes an address of memory.
pub(super) fn key(key: &str) -> Result<String, String> {
    if key.starts_with(['#', '@']) {
        return Err(format!("{key:?} cannot be named at run time: it begins like an address or a version"));
    }
    text(key)
}

/// Any text as one word.
pub(super) fn text(value: &str) -> Result<String, String> {
    if value.is_empty() {
        return Err("an empty word cannot be given at run time".to_owned());
    }
    if value.len() > 8000 || value.chars().any(|c| c.is_control() && c != '\t') || value.starts_with("<<") {
        return Err(
            "it cannot be given at run time: too long, a control character, or << at its start".to_owned()
        );
    }
    let mut word = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | ' ' | '\t' | ';') {
            word.push('\\');
        }
        word.push(c);
    }
    Ok(word)
}

/// One word of a server's parameters: spaces and backslashes escaped (management guide, 9.3).
pub(super) fn parameter(word: &str) -> Result<String, String> {
    if word.is_empty() {
        return Err("an empty parameter cannot be given at run time".to_owned());
    }
    if word.contains(';')
        || word.chars().any(char::is_control)
        || word.starts_with("<<")
        || word.starts_with('#')
    {
        return Err(format!("the parameter {word:?} cannot be given at run time"));
    }
    Ok(word.replace('\\', "\\\\").replace(' ', "\\ "))
}

/// Text for a message: without control characters, and not too long.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
