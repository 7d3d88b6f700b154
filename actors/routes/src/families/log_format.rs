//! Texts of HAProxy's log-format, as far as they are texts and variables of ours.

/// Expressions, and our variables for them.
const VARIABLES: [(&str, &str); 18] = [
    ("%[hdr(host)]", "host"),
    ("%[method]", "method"),
    ("%[path]", "path"),
    ("%[query]", "query"),
    ("%[req.fhdr(host)]", "host"),
    ("%[req.hdr(Host)]", "host"),
    ("%[req.hdr(host)]", "host"),
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

/// The text that HAProxy makes of it, with variables of ours: `%%` is `%`.
///
/// # Errors
/// The first expression in it that is none of them.
pub fn text(format: &str) -> Result<String, String> {
    let mut read = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (before, expression) = rest.split_at(at);
        read.push_str(before);
        let known = VARIABLES.iter().find_map(|(name, ours)| Some((ours, expression.strip_prefix(name)?)));
        rest = if let Some((ours, behind)) = known {
            read.push_str(&format!("${{{ours}}}"));
            behind
        } else if let Some(behind) = expression.strip_prefix("%%") {
            read.push('%');
            behind
        } else if begins_expression(expression) {
            let end = expression.find([']', ' ']).map_or(expression.len(), |end| end + 1);
            return Err(expression.get(..end).unwrap_or(expression).trim_end().to_owned());
        } else {
            read.push('%');
            expression.get(1..).unwrap_or_default()
        };
    }
    read.push_str(rest);
    Ok(read)
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
        assert_eq!(text("a %[env(X)] b"), Err("%[env(X)]".to_owned()));
        assert_eq!(text("%ci:%bi"), Err("%bi".to_owned()));
        assert_eq!(text("%{+Q}[ssl_c_s_dn]x"), Err("%{+Q}[ssl_c_s_dn]".to_owned()));
    }
}
