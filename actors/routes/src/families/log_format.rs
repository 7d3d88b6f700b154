//! Texts of HAProxy's log-format, as far as they are texts and variables of ours.

/// Expressions, and our variables for them.
const VARIABLES: [(&str, &str); 14] = [
    ("%[method]", "method"),
    ("%[path]", "path"),
    ("%[query]", "query"),
    ("%[src]", "client-address"),
    ("%[src_port]", "client-port"),
    ("%[ssl_fc_cipher]", "tls-cipher"),
    ("%[ssl_fc_protocol]", "tls-version"),
    ("%[ssl_fc_sni]", "tls-name"),
    ("%[unique-id]", "request-id"),
    ("%ID", "request-id"),
    ("%HM", "method"),
    ("%HP", "path"),
    ("%ci", "client-address"),
    ("%cp", "client-port"),
];

/// The fetches that read a header of the request. Names of headers have no case.
const FETCHES: [&str; 4] = ["hdr", "req.hdr", "fhdr", "req.fhdr"];

/// An environment variable, which HAProxy puts in its place where it reads its configuration.
const ENVIRONMENT: &str = "${";

/// The text that HAProxy makes of it, with variables of ours: `%%` is `%`.
///
/// # Errors
/// The first expression in it that is none of them.
pub fn text(format: &str) -> Result<String, String> {
    read(format, &[])
}

/// The same, in which `%[service]` is the name of the Service.
///
/// # Errors
/// As [`text`].
pub fn text_of_service(format: &str) -> Result<String, String> {
    read(format, &[("%[service]", "service")])
}

fn read(format: &str, more: &[(&str, &'static str)]) -> Result<String, String> {
    if let Some(at) = format.find(ENVIRONMENT) {
        return Err(first_until(format.get(at..).unwrap_or(format), &['}', ' ']));
    }
    let mut read = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (before, expression) = rest.split_at(at);
        read.push_str(before);
        let known = VARIABLES
            .iter()
            .chain(more)
            .find_map(|(name, ours)| Some((*ours, expression.strip_prefix(name)?)));
        let known = known.or_else(|| Some(("host", behind_host(expression)?)));
        rest = if let Some((ours, behind)) = known {
            read.push_str(&format!("${{{ours}}}"));
            behind
        } else if let Some(behind) = expression.strip_prefix("%%") {
            read.push('%');
            behind
        } else if begins_expression(expression) {
            return Err(first_until(expression, &[']', ' ']));
        } else {
            read.push('%');
            expression.get(1..).unwrap_or_default()
        };
    }
    read.push_str(rest);
    Ok(read)
}

/// The text behind an expression for the host of the request.
fn behind_host(text: &str) -> Option<&str> {
    let (fetch, behind) = text.strip_prefix("%[")?.split_once(']')?;
    let (kind, name) = fetch.strip_suffix(')')?.split_once('(')?;
    (FETCHES.contains(&kind) && name.eq_ignore_ascii_case("host")).then_some(behind)
}

fn first_until(text: &str, ends: &[char]) -> String {
    let end = text.find(ends).map_or(text.len(), |end| end + 1);
    text.get(..end).unwrap_or(text).trim_end().to_owned()
}

fn begins_expression(text: &str) -> bool {
    text.chars().nth(1).is_some_and(|c| c.is_ascii_alphabetic() || "[{".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_and_an_expression_is_a_variable_or_named() {
        assert_eq!(text("max-age=1; 100%% a% b"), Ok("max-age=1; 100% a% b".to_owned()));
        assert_eq!(text("a %[src] %[hdr(host)]b"), Ok("a ${client-address} ${host}b".to_owned()));
        assert_eq!(text("%[req.fhdr(Host)]%[hdr(HOST)]"), Ok("${host}${host}".to_owned()));
        assert_eq!(text("%[req.hdr(Host2)]"), Err("%[req.hdr(Host2)]".to_owned()));
        assert_eq!(text_of_service("%[service].%[src]"), Ok("${service}.${client-address}".to_owned()));
        assert_eq!(text("%[service]"), Err("%[service]".to_owned()));
        assert_eq!(text("a ${host} b"), Err("${host}".to_owned()));
        assert_eq!(text("a %[env(X)] b"), Err("%[env(X)]".to_owned()));
        assert_eq!(text("%ci:%bi"), Err("%bi".to_owned()));
        assert_eq!(text("%{+Q}[ssl_c_s_dn]x"), Err("%{+Q}[ssl_c_s_dn]".to_owned()));
    }
}
