//! `wordwrap` and `filesizeformat`, as Python's have them.

/// How a text is cut into lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrapRules<'t> {
    pub width: usize,
    /// Whether words longer than a line are cut.
    pub cuts_words: bool,
    /// Whether a line may end behind a hyphen.
    pub at_hyphens: bool,
    /// The text between two lines.
    pub between: &'t str,
}

/// The lines of `text`, each cut into lines that are no longer than the width.
pub(super) fn wrapped(text: &str, rules: WrapRules<'_>) -> String {
    let lines = text.lines().map(|line| wrapped_line(line, rules).join(rules.between));
    lines.collect::<Vec<_>>().join(rules.between)
}

fn wrapped_line(text: &str, rules: WrapRules<'_>) -> Vec<String> {
    let mut left: Vec<&str> = chunks(text, rules.at_hyphens);
    left.reverse();
    let (mut lines, mut line, mut length): (Vec<String>, Vec<&str>, usize) = (Vec::new(), Vec::new(), 0);
    while let Some(chunk) = left.pop() {
        // No further than it matters: what is left of a long word comes again for each line.
        let size = chunk.chars().take(rules.width.saturating_add(1)).count();
        if line.is_empty() && !lines.is_empty() && is_blank(chunk) {
            continue;
        }
        if length + size <= rules.width {
            length += size;
            line.push(chunk);
            continue;
        }
        if size > rules.width && (rules.cuts_words || line.is_empty()) {
            let room = rules.width.saturating_sub(length).max(usize::from(rules.width == 0));
            let (head, rest) = if rules.cuts_words { cut(chunk, room, rules) } else { (chunk, "") };
            line.push(head);
            left.extend((!rest.is_empty()).then_some(rest));
        } else {
            left.push(chunk);
        }
        end_line(&mut line, &mut lines);
        length = 0;
    }
    end_line(&mut line, &mut lines);
    lines
}

/// A line without the white space at its end.
fn end_line(line: &mut Vec<&str>, lines: &mut Vec<String>) {
    if line.last().is_some_and(|last| is_blank(last)) {
        line.pop();
    }
    if !line.is_empty() {
        lines.push(line.concat());
    }
    line.clear();
}

/// The first `room` characters of a word, or those until a hyphen among them, and the rest.
fn cut<'t>(word: &'t str, room: usize, rules: WrapRules<'_>) -> (&'t str, &'t str) {
    let end_of = |count: usize| word.char_indices().nth(count).map_or(word.len(), |(at, _)| at);
    let end = end_of(room);
    let hyphen = word.get(..end).and_then(|head| head.rfind('-')).filter(|at| *at > 0 && rules.at_hyphens);
    let has_more = |at: &usize| word.get(..*at).is_some_and(|head| head.contains(|c| c != '-'));
    let end = hyphen.filter(has_more).map_or(end, |at| at + 1);
    word.split_at_checked(end).unwrap_or((word, ""))
}

/// Words and the white space between them; words that a hyphen joins apart, if lines may end there.
fn chunks(text: &str, at_hyphens: bool) -> Vec<&str> {
    let mut chunks = Vec::new();
    // Letters are counted as they come: to look at the chunk again for each of its characters takes a long word forever.
    let (mut start, mut letters) = (0, 0);
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    for pair in characters.windows(2) {
        let [(_, one), (at, next)] = pair else { continue };
        let behind =
            || text.get(*at..).unwrap_or_default().chars().take(2).filter(|c| c.is_alphabetic()).count() == 2;
        let hyphenated = at_hyphens && *one == '-' && letters >= 2 && behind();
        letters += usize::from(one.is_alphabetic());
        if one.is_whitespace() != next.is_whitespace() || hyphenated {
            chunks.extend(text.get(start..*at));
            (start, letters) = (*at, 0);
        }
    }
    chunks.extend(text.get(start..).filter(|last| !last.is_empty()));
    chunks
}

fn is_blank(chunk: &str) -> bool {
    chunk.chars().all(char::is_whitespace)
}

/// A number of bytes in words, by 1000 or by 1024.
pub(super) fn file_size(bytes: f64, binary: bool) -> String {
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    if (bytes - 1.0).abs() < f64::EPSILON {
        return "1 Byte".to_owned();
    }
    if bytes < base {
        return format!("{} Bytes", bytes.trunc());
    }
    let units = if binary { "KiB MiB GiB TiB PiB EiB ZiB YiB" } else { "kB MB GB TB PB EB ZB YB" };
    let mut size = bytes / base;
    let mut units = units.split(' ').peekable();
    while let Some(unit) = units.next() {
        if size < base || units.peek().is_none() {
            return format!("{size:.1} {unit}");
        }
        size /= base;
    }
    String::new()
}
