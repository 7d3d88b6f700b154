//! How ingress-nginx reads texts: which characters each may have (`internal/ingress/annotations/parser/validators.go`).

use crate::families::values::{ForeignValue, SIZE, TEXT, ValueReader};

/// Paths, names, addresses.
pub const BASIC: ValueReader = ValueReader {
    expected: "letters, digits, and characters of / - . _ ~ :",
    read: |text| read(text, is_basic),
};

/// The same with what lists need.
pub const LIST: ValueReader = ValueReader {
    expected: "letters, digits, blanks, and characters of / - . _ ~ : ,",
    read: |text| read(&in_one_line(text), |c| is_basic(c) || ", ".contains(c)),
};

/// URLs.
pub const URL: ValueReader = ValueReader {
    expected: "a URL without variables",
    read: |text| read(text, |c| is_basic(c) || ",?&=".contains(c)),
};

/// URLs with variables.
pub const URL_WITH_VARIABLES: ValueReader = ValueReader {
    expected: "a URL, maybe with variables such as $host",
    read: |text| read(text, |c| is_basic(c) || ",?&=$ ".contains(c)),
};

/// A regular expression.
pub const EXPRESSION: ValueReader = ValueReader {
    expected: "letters, digits, and characters of regular expressions",
    read: |text| read(text, is_of_expression),
};

/// Ciphers of OpenSSL.
pub const CIPHERS: ValueReader = ValueReader {
    expected: "letters, digits, and characters of + : _ - !",
    read: |text| read(text, |c| c.is_ascii_alphanumeric() || "+:_-!".contains(c)),
};

/// Names of files or operations.
pub const PLAIN: ValueReader = ValueReader {
    expected: "letters, digits, and characters of . - _",
    read: |text| read(text, |c| c.is_ascii_alphanumeric() || ".-_".contains(c)),
};

/// Hosts, or expressions for them.
pub const HOSTS: ValueReader = ValueReader {
    expected: "hosts separated by commas",
    read: |text| read(&in_one_line(text), |c| is_of_expression(c) || ", ".contains(c)),
};

/// A path with groups.
pub const CAPTURE: ValueReader = ValueReader {
    expected: "a path, maybe with groups such as $1",
    read: |text| read(text, |c| is_basic(c) || c == '$'),
};

/// Names of headers or methods.
pub const NAMES: ValueReader = ValueReader {
    expected: "names separated by commas",
    read: |text| read(&in_one_line(text), |c| c.is_ascii_alphanumeric() || "-_, ".contains(c)),
};

/// A text with variables.
pub const VARIABLES: ValueReader = ValueReader {
    expected: "letters, digits, -, _ and variables such as $request_uri",
    read: |text| read(text, |c| c.is_ascii_alphanumeric() || "-_${}".contains(c)),
};

/// Any text; `off` is as good as nothing.
pub const TEXT_OR_OFF: ValueReader = ValueReader {
    expected: "a text, or off",
    read: |text| match text.trim() {
        "off" => Some(ForeignValue::Switch(false)),
        _ => (TEXT.read)(text),
    },
};

/// Digits and b, k, m or g; in bytes.
pub const BODY_SIZE: ValueReader = ValueReader {
    expected: SIZE.expected,
    read: |text| {
        let text = text.trim();
        let units = text.chars().filter(char::is_ascii_alphabetic).count();
        (SIZE.read)(text).filter(|_| units <= 1)
    },
};

/// A realm, as a browser shows it.
pub const REALM: ValueReader = ValueReader {
    expected: "letters, digits, blanks, and characters of / - . _ ~ :",
    read: |text| read(text, |c| is_basic(c) || c == ' '),
};

/// Statuses from 300 to 599.
pub const STATUSES: ValueReader = ValueReader {
    expected: "statuses from 300 to 599, separated by commas",
    read: |text| {
        let is_status = |one: &str| one.trim().parse().is_ok_and(|status: u16| (300..=599).contains(&status));
        text.split(',').all(is_status).then(|| ForeignValue::Text(text.to_owned()))
    },
};

/// Versions of TLS.
pub const VERSIONS: ValueReader = ValueReader {
    expected: "versions such as TLSv1.2 TLSv1.3",
    read: |text| {
        let known = ["SSLv2", "SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];
        let are_known = text.split_whitespace().all(|version| known.contains(&version));
        are_known.then(|| ForeignValue::Text(text.to_owned()))
    },
};

/// `CN=` and an expression.
pub const COMMON_NAME: ValueReader = ValueReader {
    expected: "CN= and a regular expression",
    read: |text| {
        let read = read(text, |c| is_of_expression(c) || " @,".contains(c))?;
        text.starts_with("CN=").then_some(read)
    },
};

/// `namespace/name`.
pub const FULL_NAME: ValueReader = ValueReader {
    expected: "NAMESPACE/NAME",
    read: |text| {
        let (namespace, name) = text.split_once('/')?;
        let is_whole = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
        read(text, is_basic).filter(|_| is_whole)
    },
};

/// Lists may have a line for each entry: entries are read without what stands around them.
fn in_one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

fn is_basic(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/-._~:".contains(c)
}

fn is_of_expression(c: char) -> bool {
    is_basic(c) || "^$[](){}*+?|&=\\".contains(c)
}

fn read(text: &str, is_good: impl Fn(char) -> bool) -> Option<ForeignValue> {
    let ForeignValue::Text(text) = (TEXT.read)(text)? else { return None };
    text.chars().all(is_good).then_some(ForeignValue::Text(text))
}

/// One of these words, in any case.
macro_rules! word {
    ($name:ident, $expected:literal, $($word:literal)|+) => {
        #[doc = $expected]
        pub const $name: ValueReader = ValueReader {
            expected: $expected,
            read: |text| {
                let lower = text.to_ascii_lowercase();
                matches!(&*lower, $($word)|+).then(|| ForeignValue::Text(lower))
            },
        };
    };
}

word!(
    PROTOCOL,
    "HTTP, HTTPS, AUTO_HTTP, GRPC, GRPCS or FCGI",
    "http" | "https" | "auto_http" | "grpc" | "grpcs" | "fcgi"
);
word!(VERIFY_CLIENT, "on, off, optional or optional_no_ca", "on" | "off" | "optional" | "optional_no_ca");
word!(SAME_SITE, "None, Lax or Strict", "none" | "lax" | "strict");
word!(COOKIE, "cookie", "cookie");
word!(SATISFY, "any or all", "any" | "all");
word!(CONNECTION, "close or keep-alive", "close" | "keep-alive");
word!(SECRET_TYPE, "auth-file or auth-map", "auth-file" | "auth-map");
word!(
    BALANCE,
    "round_robin or ewma",
    "round_robin" | "ewma" | "chash" | "chashsubset" | "sticky_balanced" | "sticky_persistent"
);
