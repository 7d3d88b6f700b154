//! Values that try everything: what is special to HAProxy anywhere, all of Unicode, control characters, long ones.

/// Values that mean something to HAProxy somewhere.
const SPECIAL: &[&str] = &[
    "plain",
    "two words",
    " leading",
    "trailing ",
    "  ",
    "\"",
    "'",
    "\\",
    "#",
    "$HOME",
    "${HOME}",
    "a\"b'c\\d#e$f g",
    "\\n",
    "\\x41",
    "\\ ",
    "\\\\",
    "\\\"",
    "'\\''",
    "%",
    "%%",
    "%[src]",
    "%ci",
    "50% off",
    "{",
    "}",
    "!",
    "or",
    "||",
    "if",
    "unless",
    "--",
    "-f",
    "-i",
    "(",
    ")",
    ",",
    "a),lower",
    "a,b",
    "]",
    "a]b",
    "[*]",
    "é☃",
    "\u{a0}",
    "\u{85}",
    "x\u{a0}y",
    "\u{2028}",
    "🦀",
    "=",
    ";",
    "x\n  http-request deny",
    "\t",
    "\0",
    "\r",
    "\u{7f}",
    "",
    "`id`",
    "$(id)",
    "|",
    "&",
    "<x>",
    "~",
    "^",
    "*",
    "?",
    "a:b@c/d",
    "OR",
    "!or",
    "!OR",
    "eq",
    "lt",
    "from",
    "lower",
    "src",
    "*",
    "!*",
    "x\" if TRUE #",
    "x' if TRUE #",
    "x if TRUE",
    "x\"\n  http-request deny\n#",
    "%{+Q}[env(HOME)]",
    "%(a)[env(HOME)]",
    "%[env(HOME)]",
    "%[path,map_str(/etc/passwd)]",
    "${HOME[*]}",
    "${.FILE}",
    "\\$HOME",
    "\u{feff}",
    "\u{fffd}",
    "\u{fdd0}",
    "\u{10ffff}",
    "\u{e010}",
    "\u{dfff7}",
    "\u{202e}abc",
    "e\u{301}",
];

/// All values, the same on every run, each once.
pub fn values() -> Vec<String> {
    let mut values: Vec<String> = SPECIAL.iter().map(|value| (*value).to_owned()).collect();
    values.extend((0..=0x20).chain([0x7f]).filter_map(char::from_u32).map(|c| format!("a{c}b")));
    values.extend(
        [300, 3000, 7000, 20000].map(|length| "long \"é' $\\#%".chars().cycle().take(length).collect()),
    );
    let mut random = Random(42);
    let special: Vec<char> = " \"'\\#$%(){}[],!|-nx0aé".chars().collect();
    values.extend((0..120).map(|_| {
        let length = 1 + random.below(8);
        (0..length).map(|_| special[random.below(special.len())]).collect()
    }));
    values.extend((0..80).map(|_| {
        let length = 1 + random.below(20);
        (0..length).map(|_| random.character()).collect()
    }));
    values.sort();
    values.dedup();
    values
}

/// A small generator of its own: what it gives never changes.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    /// Of any length in UTF-8, printable or not, but no control character of ASCII and no mark.
    fn character(&mut self) -> char {
        let ranges = [0x20..0x7f, 0x80..0x800, 0x800..0xd800, 0xe010..0x1_0000, 0x1_0000..0x11_0000];
        let range = &ranges[self.below(ranges.len())];
        let code = range.start + self.below(range.len());
        u32::try_from(code).ok().and_then(char::from_u32).unwrap_or('x')
    }
}
