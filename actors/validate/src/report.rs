//! Reads what `haproxy -c` prints and points at the template and object behind each line.

use crate::{folder::below, rendered_name};
use haptic_haproxy::messages;
use haptic_model::{Bundle, BundleFile, Diagnostic, FileKind, ObjectRef, Severity};
use std::sync::Arc;

/// How many errors are worth showing; HAProxy itself stops at some of them.
const SHOWN: usize = 50;

/// The diagnostics in HAProxy's output about `bundle`.
#[must_use]
pub fn diagnostics(output: &str, bundle: &Bundle) -> Vec<Diagnostic> {
    let messages = messages::of_check(output);
    let diagnosed = messages.iter().filter_map(|message| diagnose(message.severity, &message.text, bundle));
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for diagnostic in diagnosed {
        // A file that each section names is wrong once.
        if !diagnostics.contains(&diagnostic) {
            diagnostics.push(diagnostic);
        }
        if diagnostics.len() == SHOWN {
            break;
        }
    }
    bundle.redact(&mut diagnostics);
    diagnostics
}

/// Whether HAProxy says that it was given too little memory. Whatever line it names by then is nobody's fault.
#[must_use]
pub fn is_out_of_memory(output: &str) -> bool {
    const WORDS: [&str; 9] = [
        "out of memory",
        "no more memory",
        "not enough memory",
        "cannot allocate",
        "failed to allocate",
        "allocation fail",
        "memory allocation error",
        "memory error",
        // Each thread's part of a server is allocated there, and nothing else is done.
        "error during per-thread init",
    ];
    output.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        WORDS.iter().any(|words| line.contains(words))
    })
}

fn diagnose(severity: Severity, text: &str, bundle: &Bundle) -> Option<Diagnostic> {
    if messages::is_summary(text) {
        return None;
    }
    let place = place(text, bundle);
    let words = place.as_ref().map_or(text, |p| p.message).trim().trim_end_matches('.');
    let diagnostic = Diagnostic { severity, ..Diagnostic::error("haproxy", format!("HAProxy: {words}")) };
    let place = place_within(text, bundle).or_else(|| place.map(|place| (place.file, place.line)));
    let hint = hint(text).map(str::to_owned).or_else(|| hint_of_quoted_file(text, bundle));
    let diagnostic = match hint {
        Some(hint) => diagnostic.help(hint),
        None => diagnostic,
    };
    let diagnostic = match place {
        Some((file, line)) => at_line(diagnostic, &file, line),
        None => diagnostic,
    };
    let object = diagnostic.object.clone().or_else(|| owner_of_quoted_file(text, bundle));
    Some(diagnostic.of_object(object))
}

/// Whose file is named, as in `Couldn't open the ca-file 'files/ca.pem' (header too long)`.
fn owner_of_quoted_file(text: &str, bundle: &Bundle) -> Option<Arc<ObjectRef>> {
    // Words have apostrophes, too.
    let quoted = text.split('\'');
    let mut files = quoted.filter_map(|path| named(path, bundle));
    files.find_map(|file| {
        let is_whole = matches!(file.key.kind, FileKind::Certificate | FileKind::General);
        is_whole.then(|| file.text.blamed(1)).flatten()
    })
}

/// What to write for an absolute path that is named, as in `unable to stat SSL certificate from file '/etc/ssl/a.pem'`.
fn hint_of_quoted_file(text: &str, bundle: &Bundle) -> Option<String> {
    let is_path = |quoted: &&str| quoted.starts_with('/') && !quoted.contains(char::is_whitespace);
    let path = text.split('\'').skip(1).step_by(2).find(is_path)?;
    named(path, bundle).is_none().then(|| rendered_name::instead_of(path, bundle))
}

/// What to do where the check's sandbox is the reason.
fn hint(text: &str) -> Option<&'static str> {
    let unresolved = text.contains("could not resolve address") || text.contains("invalid address");
    (unresolved && !text.contains("disabling server")).then_some(
        "Write an IP address, or add HostNames to spec.allow.features: checks resolve no names otherwise, so that they need no network",
    )
}

/// The line of a list that a line of haproxy.cfg names: `error processing line 3 in file 'ssl/certificates.txt'`, or
/// `parsing [ssl/certificates.txt:3]`. It leads to the object; the line of haproxy.cfg is the same for all of them.
fn place_within(text: &str, bundle: &Bundle) -> Option<(Arc<BundleFile>, u32)> {
    let in_brackets = places(text, bundle).filter(|place| place.file.key.kind != FileKind::Config).last();
    in_brackets
        .map(|place| (place.file, place.line))
        .or_else(|| place_in_file(text, bundle))
        .or_else(|| error_file(text, bundle))
}

/// `errorfile : 'general/503.http': unable to parse headers`: what is wrong is in that file, not where it is named.
fn error_file(text: &str, bundle: &Bundle) -> Option<(Arc<BundleFile>, u32)> {
    let (_, quoted) = text.split_once("errorfile : '")?;
    Some((named(quoted.split_once('\'')?.0, bundle)?, 1))
}

fn place_in_file(text: &str, bundle: &Bundle) -> Option<(Arc<BundleFile>, u32)> {
    let (_, rest) = text.split_once("line ")?;
    let (line, rest) = rest.split_once(" in file '")?;
    let file = named(rest.split_once('\'')?.0, bundle)?;
    Some((file, line.parse().ok()?))
}

/// The bundle's file that HAProxy calls `path`, by its own path or with that of a private folder before it.
fn named(path: &str, bundle: &Bundle) -> Option<Arc<BundleFile>> {
    let is_it = |file: &&Arc<BundleFile>| {
        let own = below(&file.path);
        path.strip_suffix(own).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    bundle.all().find(is_it).cloned()
}

/// Points `diagnostic` at a line of a bundle's file, and through it at template and object.
#[must_use]
pub fn at_line(diagnostic: Diagnostic, file: &BundleFile, line: u32) -> Diagnostic {
    let diagnostic = diagnostic.at_output(file.key.clone(), line, file.text.line(line).unwrap_or_default());
    match file.text.origin(line) {
        Some(origin) => diagnostic.at_template(&origin.template, origin.line, 0).of_object(origin.object),
        None => diagnostic,
    }
}

struct ReportedPosition<'a> {
    file: Arc<BundleFile>,
    line: u32,
    message: &'a str,
}

/// The first `[PATH:LINE]` that names one of the bundle's files, and what follows it.
fn place<'a>(text: &'a str, bundle: &Bundle) -> Option<ReportedPosition<'a>> {
    places(text, bundle).next()
}

fn places<'a>(text: &'a str, bundle: &Bundle) -> impl Iterator<Item = ReportedPosition<'a>> {
    text.match_indices('[').filter_map(move |(open, _)| {
        let (inside, after) = text.get(open + 1..)?.split_once(']')?;
        let (path, line) = inside.rsplit_once(':')?;
        let line = line.parse().ok()?;
        let file = named(path, bundle)?;
        // `parsing [FILE:LINE] : WORDS`, or a sentence with the place somewhere in it.
        let message = if open <= "parsing ".len() { after.trim_start_matches([' ', ':']) } else { text };
        Some(ReportedPosition { file, line, message })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::FileKey;
    use haptic_text::{Blame, Fragment, LineBlame, Text};

    #[test]
    fn each_of_haproxys_words_for_too_little_memory_is_known() {
        for said in [
            "[ALERT]    (7) : config : parsing [haproxy.cfg:9] : failed to allocate per-thread lists for server 'S0'.",
            "[ALERT]    (7) : config : Proxy 'b': no more memory when trying to allocate the management task",
            "[ALERT]    (7) : (null)httpclient: cannot initialize: out of memory.",
            "[ALERT]    (7) : memory allocation error initializing the ring for nameserver.",
            "[ALERT]    (7) : error during per-thread init for b/10.75.2.57_8080 server",
            "[ALERT]    (7) : memory error while setting up shared counters for b/10.83.0.244_8080 server : memory error, calloc failed",
        ] {
            assert!(is_out_of_memory(said), "{said}");
        }
        assert!(!is_out_of_memory(
            "[ALERT]    (7) : config : parsing [haproxy.cfg:9] : unknown keyword 'memory'"
        ));
    }

    fn bundle() -> Bundle {
        let blame = Blame {
            templates: vec!["haproxyConfig".into()],
            objects: vec![Arc::new(ObjectRef::new("ingresses", "default", "shop"))],
            lines: vec![
                LineBlame { template: 0, object: None, line: 1 },
                LineBlame { template: 0, object: Some(0), line: 7 },
            ],
            block: None,
            ..Blame::default()
        };
        let text = Text::new(vec![Fragment::new("frontend f\n  foo bar\n", Arc::new(blame))]);
        let map = BundleFile::new(FileKey::new(FileKind::Map, "a.map"), "maps/a.map", Text::plain("x y\n"));
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), [map])
    }

    #[test]
    fn an_error_file_that_many_sections_name_is_wrong_once_and_in_itself() {
        let page = BundleFile::new(
            FileKey::new(FileKind::General, "503.http"),
            "general/503.http",
            Text::plain("oops\n"),
        );
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("a\nb\n"));
        let line = |number: u32| {
            format!(
                "[ALERT]    (1) : config : parsing [haproxy.cfg:{number}] : errorfile : 'general/503.http': unable to parse headers (error offset: 0).\n"
            )
        };
        let found = diagnostics(&(line(1) + &line(2)), &Bundle::new(config, [page]));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "HAProxy: errorfile : 'general/503.http': unable to parse headers (error offset: 0); file 503.http:1 `oops`"
            ]
        );
    }

    #[test]
    fn a_file_that_is_not_rendered_leads_to_the_nearest_one() {
        let said = "[ALERT]    (1) : config : parsing [haproxy.cfg:2] : unable to stat SSL certificate from file '/etc/ssl/b.map' : No such file\n";
        let help = diagnostics(said, &bundle())[0].help.clone().unwrap_or_default();
        assert!(help.contains("{{file_path \"a.map\" \"map\"}}"), "{help}");
        let there = said.replace("/etc/ssl/b.map", "/private/maps/a.map");
        assert_eq!(diagnostics(&there, &bundle())[0].help, None);
    }

    #[test]
    fn an_alert_leads_to_line_template_and_object() {
        let said = "[NOTICE]   (1) : haproxy version is 3.4.7-1\n\
            [ALERT]    (1) : config : parsing [haproxy.cfg:2] : unknown keyword 'foo' in 'frontend' section\n\
            [ALERT]    (1) : config : Error(s) found in configuration file : haproxy.cfg\n";
        let found = diagnostics(said, &bundle());
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "HAProxy: unknown keyword 'foo' in 'frontend' section; object ingresses default/shop; \
             template haproxyConfig:7; haproxy.cfg:2 `foo bar`"
        );
    }

    #[test]
    fn a_message_without_a_place_is_kept_and_a_warning_is_no_error() {
        let found = diagnostics("[WARNING]  (1) : config : missing timeouts for proxy 'x'.\n", &bundle());
        assert_eq!((found[0].severity, found[0].output.is_none()), (Severity::Warning, true));
    }

    #[test]
    fn a_sentence_with_its_place_in_the_middle_is_kept_whole() {
        let said = "[WARNING] (1) : config : Proxy 'f': no certificate for bind ':443' at [haproxy.cfg:2], it will fail.\n";
        let found = diagnostics(said, &bundle());
        assert!(found[0].message.starts_with("HAProxy: Proxy 'f': no certificate for bind"), "{}", found[0]);
        assert_eq!(found[0].output.as_ref().map(|o| o.line), Some(2));
    }

    #[test]
    fn a_cause_in_the_lines_below_is_told_and_leads_to_the_line_of_the_list() {
        let said = "[ALERT]    (1) : config : parsing [haproxy.cfg:1] : 'bind :443' in section 'frontend' : \n  \
            'crt-list' : error processing line 1 in file 'maps/a.map' : unable to load certificate from file 'x.pem': no start line.\n  \
            unable to load SSL private key.\n\
            [ALERT]    (1) : config : Error(s) found in configuration file : haproxy.cfg\n";
        let found = diagnostics(said, &bundle());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].message.contains("x.pem': no start line. unable to load SSL private key"),
            "{}",
            found[0]
        );
        assert_eq!(found[0].output.as_ref().map(|o| o.file.to_string()).as_deref(), Some("map a.map"));
    }

    #[test]
    fn a_file_that_is_named_and_a_line_of_a_list_lead_to_their_objects() {
        let of = |name: &str, text: &str| {
            let block = Some(Arc::new(ObjectRef::new("ingresses", "default", name)));
            let lines = vec![LineBlame { template: 0, object: None, line: 1 }; text.lines().count()];
            Fragment::new(text, Arc::new(Blame { lines, block, ..Blame::default() }))
        };
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("frontend f\n bind :1\n"));
        let file =
            |kind, name: &str, text| BundleFile::new(FileKey::new(kind, name), &format!("ssl/{name}"), text);
        let files = [
            file(FileKind::General, "ca.pem", Text::new(vec![of("authority", "x\n")])),
            file(FileKind::CrtList, "list.txt", Text::new(vec![of("one", "a\n"), of("other", "b\n")])),
        ];
        let bundle = Bundle::new(config, files);
        let said = "[ALERT] (1) : config : Couldn't open the ca-file 'ssl/ca.pem' (header too long).\n\
            [ALERT] (1) : config : parsing [haproxy.cfg:2] : 'bind :1' in section 'frontend' : 'crt-list' : parsing \
            [ssl/list.txt:2]: line too long, limit is 65535 characters\n";
        let found = diagnostics(said, &bundle);
        assert_eq!(found[0].object.as_ref().map(|of| &*of.name), Some("authority"), "{}", found[0]);
        let place = found[1].output.as_ref().unwrap();
        assert_eq!((place.file.to_string().as_str(), place.line), ("crt-list list.txt", 2));
    }

    #[test]
    fn what_haproxy_quotes_of_a_secret_is_not_told_and_leads_to_its_line_all_the_same() {
        let blame = Blame { secrets: std::iter::once(19..31).collect(), ..Blame::default() };
        let text = Text::new(vec![Fragment::new("backend b\n balance planted-name\n", Arc::new(blame))]);
        let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), []);
        let said =
            "[ALERT] (1) : config : parsing [haproxy.cfg:2] : 'balance' does not know 'planted-name'.\n";
        let found = diagnostics(said, &bundle);
        let told = "HAProxy: 'balance' does not know '[redacted]'; haproxy.cfg:2 `balance [redacted]`";
        assert_eq!(found[0].to_string(), told);
    }

    #[test]
    fn the_place_may_be_in_another_file() {
        let found = diagnostics("[ALERT] (1) : parsing [/tmp/x/maps/a.map:1] : broken\n", &bundle());
        assert_eq!(found[0].output.as_ref().map(|o| o.file.to_string()).as_deref(), Some("map a.map"));
    }
}
