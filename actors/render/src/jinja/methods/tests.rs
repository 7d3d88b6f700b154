//! The tables of methods are sorted: they are searched so.

use super::{JinjaMethod, dicts, lists, texts};

fn is_sorted<R>(methods: &[JinjaMethod<R>]) -> bool {
    methods.is_sorted_by_key(|method| method.name)
}

#[test]
fn tables_are_sorted_by_name() {
    assert!(is_sorted(lists::CHANGING));
    assert!(is_sorted(lists::READING));
    assert!(is_sorted(dicts::CHANGING));
    assert!(is_sorted(dicts::READING));
    assert!(is_sorted(texts::METHODS));
}
