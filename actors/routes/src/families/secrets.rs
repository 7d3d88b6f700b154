//! The Secrets that annotations may name.

/// The name in `NAME` or `NAMESPACE/NAME`, if the Secret is one of this namespace.
#[must_use]
pub fn own_secret<'t>(text: &'t str, namespace: &str) -> Option<&'t str> {
    let (of, name) = text.split_once('/').unwrap_or((namespace, text));
    let is_name = !name.is_empty() && !name.contains([':', '/']);
    (of == namespace && is_name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::own_secret;

    #[test]
    fn only_secrets_of_the_same_namespace_are_named() {
        assert_eq!([own_secret("a", "shop"), own_secret("shop/a", "shop")], [Some("a"); 2]);
        for other in ["edge/a", "file:///a", "file://a", "shop/", "", "shop/a/b"] {
            assert_eq!(own_secret(other, "shop"), None, "{other}");
        }
    }
}
