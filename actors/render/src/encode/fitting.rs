//! Fits what templates say to how HAProxy runs on a pod: a literal path of a file that the configuration renders becomes where the
//! file is, and beside the agent directives that say how the process runs are made comments.
//!
//! A line is looked at with a placeholder for each value: what is a path, and which line is a directive, is the template's word alone.

use super::framed::LineSpan;
use crate::{functions::path_of, output::framing};
use haptic_haproxy::{SectionKind, views::with_files_renamed};
use haptic_model::{ActiveConfig, Diagnostic, FileKey, FileKind, TransportKind};
use std::collections::BTreeMap;

/// Stands for a value: to HAProxy it is a letter, and no template has it.
const VALUE: char = framing::VALUE;

/// The lines of `global` about the process, for which the agent or the pod has its own.
const OF_PROCESS: [&str; 6] = ["chroot", "daemon", "gid", "group", "uid", "user"];

/// How one configuration's files are fitted. The default changes nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fitting {
    /// Where files are, by their literal paths, where that is somewhere else.
    paths: BTreeMap<String, String>,
    /// The beginning of all literal paths.
    beginning: String,
    /// Whether the agent runs HAProxy.
    by_agent: bool,
}

/// A line that was fitted.
pub(super) struct Fitted {
    pub line: String,
    /// The line that is left out.
    pub ignored: Option<String>,
}

impl Fitting {
    /// That of `config`.
    pub fn of(config: &ActiveConfig) -> Self {
        let mut paths = BTreeMap::new();
        for (key, literal) in literals(config) {
            if let Ok(path) = path_of(config, &key)
                && path != literal
            {
                paths.entry(literal).or_insert(path);
            }
        }
        let dataplane = &config.spec.dataplane;
        let folder = dataplane.ssl_certs_dir.trim_end_matches('/');
        let certificates = &config.layout.certificates;
        if !folder.is_empty() && !certificates.is_empty() && certificates != folder {
            paths.entry(folder.to_owned()).or_insert_with(|| certificates.clone());
        }
        let beginning = common_beginning(paths.keys().map(String::as_str));
        Self { paths, beginning, by_agent: dataplane.transport == TransportKind::Agent }
    }

    /// Whether a line with these spans may have to be changed.
    pub(super) fn concerns(&self, spans: &[LineSpan<'_>]) -> bool {
        let mut texts = spans.iter().filter_map(|span| match span {
            LineSpan::Template(text) => Some(*text),
            LineSpan::Value(_) => None,
        });
        let first = spans.first().map_or("", LineSpan::text);
        (self.by_agent && of_process(first).is_some()) || texts.any(|text| self.concerns_text(text))
    }

    /// The same for a line without values.
    pub fn concerns_line(&self, line: &str) -> bool {
        self.concerns_text(line) || (self.by_agent && of_process(line).is_some())
    }

    fn concerns_text(&self, text: &str) -> bool {
        // Every literal path has a slash, and most texts have none: that is found sooner.
        !self.paths.is_empty() && text.as_bytes().contains(&b'/') && text.contains(&self.beginning)
    }

    /// A line of haproxy.cfg in a section of that kind.
    pub(super) fn config_line(&self, section: &SectionKind, line: &str) -> Option<Fitted> {
        if let Some(keyword) = of_process(line).filter(|_| self.by_agent && *section == SectionKind::Global) {
            let text = line.trim_start();
            let indent = line.strip_suffix(text).unwrap_or_default();
            return Some(Fitted { line: format!("{indent}# {text}"), ignored: Some(keyword.to_owned()) });
        }
        let line = with_files_renamed(section, line, |path| self.renamed(path))?;
        Some(Fitted { line, ignored: None })
    }

    /// A line of a crt-list: the certificate, and authorities in its brackets.
    pub(super) fn list_line(&self, line: &str) -> Option<Fitted> {
        let mut fitted = String::with_capacity(line.len());
        let (mut before, mut changed) = (None, false);
        for part in line.split_inclusive([' ', '\t', '[', ']', '\n', '\r']) {
            let word = part.trim_end_matches([' ', '\t', '[', ']', '\n', '\r']);
            let is_path = matches!(before, None | Some("ca-file" | "ca-verify-file" | "crl-file"));
            let renamed = is_path.then(|| self.renamed(word)).flatten();
            changed |= renamed.is_some();
            fitted.push_str(renamed.as_deref().unwrap_or(word));
            fitted.push_str(part.strip_prefix(word).unwrap_or_default());
            before = if word.is_empty() { before } else { Some(word) };
        }
        changed.then_some(Fitted { line: fitted, ignored: None })
    }

    fn renamed(&self, path: &str) -> Option<String> {
        self.paths.get(path.trim_end_matches('/')).cloned()
    }
}

impl Fitted {
    /// The spans of the line: what the templates say is new, the values are those of `before`.
    pub fn spans<'l>(&'l self, before: &[LineSpan<'l>]) -> Vec<LineSpan<'l>> {
        let mut values = before.iter().filter(|span| matches!(span, LineSpan::Value(_))).copied();
        let mut spans = Vec::with_capacity(before.len());
        for (number, text) in self.line.split(VALUE).enumerate() {
            if number > 0 {
                spans.extend(values.next());
            }
            spans.extend(Some(text).filter(|text| !text.is_empty()).map(LineSpan::Template));
        }
        spans
    }

    /// The notice about what is no longer said.
    pub fn notice(&self) -> Option<Diagnostic> {
        let keyword = self.ignored.as_ref()?;
        let why =
            "the agent runs HAProxy in the foreground, as the user and in the file system of its container";
        let help = "Remove the line, or set it by the pod's securityContext; it counts with dataplane.transport: dataplaneapi";
        Some(
            Diagnostic::warning("render", format!("'{keyword}' in global is ignored, because {why}"))
                .help(help),
        )
    }
}

/// The line with a placeholder for each value.
pub(super) fn with_placeholders(spans: &[LineSpan<'_>]) -> String {
    let mut line = String::new();
    for span in spans {
        match span {
            LineSpan::Template(text) => line.push_str(text),
            LineSpan::Value(_) => line.push(VALUE),
        }
    }
    line
}

/// The directive of the process that a line begins with.
fn of_process(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    // Few lines begin so, and all lines are asked.
    if !line.starts_with(['c', 'd', 'g', 'u']) {
        return None;
    }
    let word = line.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
    OF_PROCESS.into_iter().find(|keyword| *keyword == word)
}

/// The paths by which files with templates may be named literally, the nearest to their names first. Maps and certificates may
/// also have the ending that files in their folder usually have.
fn literals(config: &ActiveConfig) -> Vec<(FileKey, String)> {
    let spec = &config.spec;
    let dataplane = &spec.dataplane;
    let (certificates, general) = (&dataplane.ssl_certs_dir, &dataplane.general_storage_dir);
    let (mut exact, mut ended) = (Vec::new(), Vec::new());
    let mut add =
        |kind: FileKind, folder: &str, ending: Option<&str>, names: &mut dyn Iterator<Item = &String>| {
            let folder = folder.trim_end_matches('/');
            for name in names {
                let (key, path) = (FileKey::new(kind, name), format!("{folder}/{name}"));
                ended.extend(ending.map(|ending| (key.clone(), format!("{path}{ending}"))));
                exact.push((key, path));
            }
        };
    add(FileKind::Map, &dataplane.maps_dir, Some(".map"), &mut spec.maps.keys());
    add(FileKind::Certificate, certificates, Some(".pem"), &mut spec.ssl_certificates.keys());
    add(FileKind::CrtList, certificates, None, &mut spec.crt_lists.keys());
    add(FileKind::General, general, None, &mut spec.files.keys());
    let own = spec.files.iter().filter_map(|(name, file)| Some((name, file.path.clone()?)));
    exact.extend(own.map(|(name, path)| (FileKey::new(FileKind::General, name), path)));
    exact.append(&mut ended);
    exact
}

fn common_beginning<'p>(mut paths: impl Iterator<Item = &'p str>) -> String {
    let mut common = paths.next().unwrap_or_default();
    for path in paths {
        let same = common.char_indices().zip(path.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
        common = common.get(..same.unwrap_or(common.len().min(path.len()))).unwrap_or_default();
    }
    common.to_owned()
}
