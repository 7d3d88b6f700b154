//! Expressions, and the longest path that each may see.

use super::*;

/// Each with the longest path.
const FINE: &[(&str, usize)] = &[
    ("^/api/(.*)$", LONGEST_PATH),
    ("^/api/(.*)", LONGEST_PATH),
    ("^/(.*)/x$", LONGEST_PATH),
    ("^/([^/]+)/([^/]+)/(.*)$", LONGEST_PATH),
    ("^/([a-z]{2})/([0-9]+)/?(.*)", LONGEST_PATH),
    ("^/blog(/[^/]+)*/$", 1169),
    ("^/blog(?:/[^/]+/x)*/$", 3275),
    ("^/(?:v1|v2)/(.*)", LONGEST_PATH),
    ("(?i)^/Shop/(.*)", LONGEST_PATH),
    ("/old/", LONGEST_PATH),
    ("/old/(.*)", LONGEST_PATH),
    (r"\.php$", LONGEST_PATH),
    ("^/something(/|$)(.*)", LONGEST_PATH),
    ("^/[a-z]{3,20}x", LONGEST_PATH),
    ("[^/]+/(.*)", SHORTEST_PATH),
    ("^(.*)a(.*)b$", SHORTEST_PATH),
    (r"(.*)\.html", LONGEST_PATH),
    ("(.*)a(.*)b$", SHORTEST_PATH),
    (r"^/blog(/[^/]+)*\.html$", 1169),
];

/// What goes back and forth.
const ENDLESS: &[&str] = &[
    "(a+)+b",
    "^(a+)+$",
    "^(a*b?)+c",
    "^(a|a)+$",
    "^(a|ab|b)*c",
    "^(.*a)*b$",
    "^(.*,){11}P",
    "^(a?){30}a{30}b",
    "^(.*)(.*)(.*)x$",
    "([^ ]*)a(.*)b$",
    "(a*)*b",
    "^([a-zA-Z0-9])(([-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "^((a{1,100}){1,100}){1,100}b",
    "^(a{0,50}){0,50}b",
    "^(aa|aab?)*c",
    "^(/(?:[a-z]|[0-9]){1,3}_){1,300}",
];

/// What PCRE2 would read otherwise, or not at all.
const OTHER: &[&str] = &[
    "a++b",
    "a**",
    "a{2}{3}",
    "^*a",
    "a*+",
    "(?R)a",
    "(?u)a",
    "a(?i)b",
    "(?i:a)",
    "(?x) a",
    "(?U)a+",
    "[a&&b]",
    "[a--b]",
    "[a[b]]",
    "[[:alpha:]-[b]]",
    "[:alpha:]",
    "[.a.]",
    "[=a=]",
    r"\pL",
    r"\p{Greek}",
    r"\x{41}",
    r"\u0041",
    r"\t",
    r"\v",
    r"\<a",
    r"\b{start}a",
    r"(a)\1",
    "(?=a)b",
    "(?<n>a)",
    "(?P<n>a)",
    "(a",
    "a)",
    "[a",
    "{",
    "a{,5}",
    "(*UTF)a",
    r"\Qa\E",
    "é",
    "a\nb",
    "()*a",
    "(a?)*b",
    "(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)",
    "a{1001}",
    r"\Ka",
    r"\Ga",
    r"\8",
    "",
    "a*",
    "^",
    "^$",
    "x?|y",
];

#[test]
fn what_ends_where_the_next_begins_is_for_paths_of_every_length() {
    for (pattern, longest) in FINE {
        assert_eq!(longest_path(pattern), Ok(*longest), "{pattern}");
    }
}

#[test]
fn what_goes_back_and_forth_is_refused() {
    for pattern in ENDLESS {
        let why = longest_path(pattern).expect_err(pattern);
        assert!(why.contains("back and forth") || why.contains("repeat"), "{pattern}: {why}");
    }
}

#[test]
fn what_pcre2_has_no_room_for_is_too_long() {
    assert_eq!(longest_path("^/(a|b)*c"), Ok(682));
    let nested = "^/(((a|b)))*c$";
    let why = longest_path(nested).expect_err(nested);
    assert!(why.starts_with("must not repeat groups of so few characters"), "{why}");
    assert_eq!(cost_of_replaced(nested).map(|cost| cost.longest_path), Ok(LONGEST_PATH));
    for (pattern, longest) in
        [("^(a|b)*c", 682), ("^(?:ab|cd){1,20}$", LONGEST_PATH), ("^[ab]*c$", LONGEST_PATH)]
    {
        assert_eq!(cost(pattern, Compared::Value).map(|cost| cost.longest_path), Ok(longest), "{pattern}");
    }
}

#[test]
fn values_of_several_kilobytes_are_asked_for_words_and_between_delimiters() {
    for (pattern, asked, longest) in [
        (".*flagger-cookie.*abcdefghij.*", r"^(?>.*?flagger\x2dcookie)(?>.*?abcdefghij)", LONGEST_PATH),
        ("^(?:.*fc.*abc.*)$", "^(?>.*?fc)(?>.*?abc)", LONGEST_PATH),
        ("(?i)a=.*b[0-9;]", r"^(?>.*?[Aa]\x3d)(?>.*?[Bb][0-9\x3b])", LONGEST_PATH),
        ("^a.*b.*c$", "^a(?>.*?b).*c$", LONGEST_PATH),
        ("^(.*?; ?)?(canary=always)(;.*)?$", "^(.*?; ?)?(canary=always)(;.*)?$", LONGEST_PATH),
        ("^(?:^(.*?;)?(user=jason)(;.*)?$)$", "^(?:^(.*?;)?(user=jason)(;.*)?$)$", LONGEST_PATH),
        ("beta.*", "beta.*", LONGEST_PATH),
        (".*beta.*", ".*beta.*", LONGEST_PATH),
    ] {
        assert_eq!(cost(pattern, Compared::Value).map(|cost| cost.longest_path), Ok(longest), "{pattern}");
        assert_eq!(asked_of_values(pattern), asked, "{pattern}");
    }
    // Of what a value can have a class for paths has not all.
    assert!(cost("a[^ ]*$", Compared::Value).unwrap().longest_path < LONGEST_PATH);
    assert_eq!(cost("a[^ ]*$", Compared::Path).map(|cost| cost.longest_path), Ok(LONGEST_PATH));
}

#[test]
fn what_pcre2_reads_otherwise_is_refused() {
    for pattern in OTHER {
        assert!(longest_path(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn no_expression_takes_long_to_judge() {
    for (head, body, tail) in
        [("", "(", ""), ("(", "a*", ")*b"), ("", "(a|", "b"), ("[", "a-z", "]"), ("", "a{1000}", "")]
    {
        drop(longest_path(&format!("{head}{}{tail}", body.repeat(100_000))));
        drop(longest_path(&format!("{head}{}{tail}", body.repeat(60))));
    }
}
