//! HAProxy's own language: arguments, log-formats, names, paths of files.

use super::{
    call::Call,
    function::{Function, Group, Kind::*, arg, framed, function, many, maybe},
};
use crate::{output::framing, value::Value};
use haptic_model::{ActiveConfig, FileKey, FileKind, TransportKind};
use haptic_routes::{certificate, names, regex_cost};
use haptic_text::suggest::did_you_mean;
use std::{path::Path, sync::Arc};

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "certificate_problem",
        Group::Haproxy,
        &[arg("secret", Dict), maybe("entry", Text)],
        "Why HAProxy would refuse the certificate and key of a Secret (its entries tls.crt and tls.key), or with the name of an entry the certificates in that, of a Secret or a ConfigMap; missing when nothing is known to be wrong.",
        (r#"{{certificate_problem (dict data=(dict)) "ca.crt"}}"#, "it has no ca.crt"),
        |call| Ok(certificate_file(call).err().map_or(Value::Missing, Value::from)),
    ),
    function(
        "certificate_file",
        Group::Haproxy,
        &[arg("secret", Dict), maybe("entry", Text)],
        "A Secret's certificates and key (its entries tls.crt and tls.key), or with the name of an entry the certificates in that, written anew: what HAProxy has no use for is left out. Missing where there is a certificate_problem.",
        (r#"{{default (certificate_file (dict data=(dict)) "ca.crt") "none"}}"#, "none"),
        |call| Ok(certificate_file(call).map_or(Value::Missing, Value::Text)),
    ),
    framed(
        framing::ARGUMENT,
        function(
            "arg",
            Group::Haproxy,
            &[arg("text", Text)],
            "An argument of a sample fetch or converter, quoted so that every character in it is only itself. Only where it is printed, and not inside quotes.",
            (r#"{{arg "a,b"}} {{arg "say \"x\""}}"#, r#""a,b" "say \"x\"""#),
            // In the quotes of an argument \ and " are special (configuration manual, 2.2 "Quoting and escaping").
            |call| Ok(format!("\"{}\"", call.text(0).replace('\\', r"\\").replace('"', "\\\"")).into()),
        ),
    ),
    framed(
        framing::LOG_FORMAT,
        function(
            "lf",
            Group::Haproxy,
            &[arg("text", Text)],
            "A plain text inside a log-format (set-header, lf-string, log-format …): % is doubled. Only where it is printed.",
            (r#"{{lf "100%"}}"#, "100%%"),
            |call| Ok(call.text(0).replace('%', "%%").into()),
        ),
    ),
    function(
        "regex_quote",
        Group::Haproxy,
        &[arg("text", Text)],
        "A text as a part of a regular expression that matches exactly it.",
        (r#"{{regex_quote "/a.b(c)"}}"#, r"/a\.b\(c\)"),
        |call| {
            let special = |c| r"\.+*?()|[]{}^$".contains(c);
            let quoted = |c: char| if special(c) { vec!['\\', c] } else { vec![c] };
            Ok(call.text(0).chars().flat_map(quoted).collect::<String>().into())
        },
    ),
    function(
        "regex_problem",
        Group::Haproxy,
        &[arg("pattern", Text)],
        "Why HAProxy is not given a regular expression: what it would cost on a hostile path, or what HAProxy would read otherwise; missing where it is fine.",
        (
            r#"{{regex_problem "\\1"}} {{default (regex_problem "^/api/(.*)$") "none"}}"#,
            "must be a regular expression: backreferences are not supported none",
        ),
        |call| Ok(regex_cost::longest_path(&call.text(0)).err().map_or(Value::Missing, Value::from)),
    ),
    function(
        "regex_longest_path",
        Group::Haproxy,
        &[arg("pattern", Text)],
        "The longest path, in bytes, that HAProxy may be asked with about a regular expression, so that no request costs more than about a millisecond; missing where there is a regex_problem.",
        (r#"{{regex_longest_path "^/api/(.*)$"}} {{regex_longest_path "^/(.*)/a/(.*)/b$"}}"#, "16384 1024"),
        |call| Ok(regex_cost::longest_path(&call.text(0)).map_or(Value::Missing, Value::count)),
    ),
    function(
        "proxy_name",
        Group::Haproxy,
        &[many("part", Text)],
        "A name for a backend, frontend or server made of parts. Parts that could be confused, are long or hold other characters than HAProxy allows get a digest, so different parts never give the same name.",
        (
            r#"{{proxy_name "default" "shop" 80}} {{proxy_name "a_b" "c"}}"#,
            "default_shop_80 a_b_c-e587ecc667b6ac30",
        ),
        |call| names::name_of(&parts(call, 0), "").map(Value::from),
    ),
    function(
        "file_name",
        Group::Haproxy,
        &[arg("ending", Text), many("part", Text)],
        "A name for a file made of parts, in the same way: one that HAProxy and file systems take, whatever the parts are called.",
        (r#"{{file_name ".pem" "default" "shop-tls"}}"#, "default_shop-tls.pem"),
        |call| names::name_of(&parts(call, 1), &call.text(0)).map(Value::from),
    ),
    function(
        "file_path",
        Group::Haproxy,
        &[arg("name", Text), arg("kind", Text)],
        "The path of a file of this configuration as haproxy.cfg must name it; the kind is map, file, certificate or crt-list.",
        (r#"{{file_path "host.map" "map"}}"#, "maps/host.map"),
        file_path,
    ),
    function(
        "add_file",
        Group::Haproxy,
        &[arg("kind", Text), arg("name", Text), many("content", Text)],
        "Adds a file to the bundle and gives its path as haproxy.cfg must name it; the kind is certificate or file. Contents follow one another, each on lines of its own. For files whose number is not known beforehand, such as certificates from Secrets.",
        (r#"{{add_file "certificate" "shop.pem" "CERTIFICATE" "KEY"}}"#, "ssl/shop.pem"),
        add_file,
    ),
];

/// The file for HAProxy, or why there is none.
fn certificate_file(call: &Call<'_>) -> Result<Arc<str>, String> {
    let entry = call.text(1);
    match call.object(0) {
        Some(secret) => {
            call.session.certificate_file(secret, &entry, || read_certificates(call.value(0), &entry))
        }
        None => read_certificates(call.value(0), &entry).map(Arc::from),
    }
}

fn read_certificates(object: &Value, entry: &str) -> Result<String, String> {
    certificate::of_object(&object.to_json()?, entry)
}

fn parts(call: &Call<'_>, from: usize) -> Vec<Arc<str>> {
    call.rest(from).iter().filter_map(Value::printed).collect()
}

fn file_path(call: &Call<'_>) -> Result<Value, String> {
    let config = call.session.input().config;
    let (name, kind) = (call.text(0), call.text(1));
    let spec = &config.spec;
    let (kind, field, known): (_, _, Vec<&str>) = match &*kind {
        "map" => (FileKind::Map, "maps", spec.maps.keys().map(String::as_str).collect()),
        "file" => (FileKind::General, "files", spec.files.keys().map(String::as_str).collect()),
        "certificate" => (
            FileKind::Certificate,
            "sslCertificates",
            spec.ssl_certificates.keys().map(String::as_str).collect(),
        ),
        "crt-list" => (FileKind::CrtList, "crtLists", spec.crt_lists.keys().map(String::as_str).collect()),
        other => {
            return Err(format!(
                "{other:?} is no kind of file; there are map, file, certificate and crt-list"
            ));
        }
    };
    if !known.contains(&&*name) {
        return Err(format!("{field} has no {name:?}{}", did_you_mean(&name, known.iter().copied())));
    }
    path_of(config, &FileKey::new(kind, &name)).map(Value::from)
}

fn add_file(call: &Call<'_>) -> Result<Value, String> {
    let (kind, name) = (call.text(0), call.text(1));
    let kind = match &*kind {
        "certificate" => FileKind::Certificate,
        "file" => FileKind::General,
        other => return Err(format!("files of kind {other:?} cannot be added; certificate and file can")),
    };
    let key = FileKey::new(kind, &name);
    check_name(&key)?;
    let path = path_of(call.session.input().config, &key)?;
    let content = content(call);
    framing::check_value(&content)?;
    call.session.add_file(key, content, call.is_secret())?;
    Ok(path.into())
}

/// The content of an added file. One text that is whole already is not copied: many blocks may add the same.
fn content(call: &Call<'_>) -> Arc<str> {
    if let [_] = call.rest(2)
        && call.text(2).ends_with('\n')
    {
        return call.text(2);
    }
    let mut content = String::new();
    for index in 0..call.rest(2).len() {
        content.push_str(&call.text(index + 2));
        if !content.is_empty() && !content.ends_with('\n') {
            content.push('\n');
        }
    }
    content.into()
}

/// Checks the name of a file: it never leads out of its folder.
///
/// # Errors
/// The fault of the name.
pub fn check_name(key: &FileKey) -> Result<(), String> {
    let name = &*key.name;
    if key.kind == FileKind::Config {
        return Ok(());
    }
    if name.is_empty()
        || name == "."
        || name.contains("..")
        || name.contains('/')
        || name.contains(char::is_control)
    {
        return Err(format!(
            "{name:?} cannot be the name of a file: it must have no '/', no \"..\" and no control characters"
        ));
    }
    if name.len() > names::LONGEST_OF_FILES {
        return Err(format!(
            "the name of a file has {} bytes, of {} that it may have; file_name makes one that fits",
            name.len(),
            names::LONGEST_OF_FILES
        ));
    }
    Ok(())
}

/// Where a file of `config` lies, as haproxy.cfg names it.
///
/// # Errors
/// With the agent's transport, when `files.<name>.path` is not below the folder of `dataplane.configFile`.
pub fn path_of(config: &ActiveConfig, key: &FileKey) -> Result<String, String> {
    let own = match key.kind {
        FileKind::General => config.spec.files.get(&*key.name).and_then(|f| f.path.as_deref()),
        _ => None,
    };
    let Some(path) = own else { return Ok(config.layout.path(key.kind, &key.name)) };
    if config.spec.dataplane.transport != TransportKind::Agent || !path.starts_with('/') {
        return Ok(path.to_owned());
    }
    let root = Path::new(&config.spec.dataplane.config_file).parent().unwrap_or(Path::new("/"));
    match Path::new(path).strip_prefix(root) {
        Ok(relative) => Ok(relative.to_string_lossy().into_owned()),
        Err(_) => Err(format!("files.{}.path {path:?} must be below {}", key.name, root.display())),
    }
}
