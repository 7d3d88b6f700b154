//! What each node of minijinja's tree becomes here: fails when another version of the crate reads templates differently.

use super::grammar::{TagSpacing, read};

fn nodes(source: &str) -> String {
    let (tree, noted) = read(source, 0, TagSpacing::default()).unwrap();
    assert!(noted.troubles.is_empty(), "{:?}", noted.troubles);
    format!("{tree:?}")
}

#[test]
fn each_construct_is_read_to_the_nodes_it_had() {
    for (source, expected) in [
        (
            "a\n{{ b.c[0] }}",
            "Field(JinjaExpression { at: At { template: 0, line: 2, column: 4 }, kind: Name(\"b\") }, \"c\")",
        ),
        ("{{ 'x' ~ 1.0 }}", "Binary(Join"),
        ("x {{   a < 1 }}", "At { template: 0, line: 1, column: 8 }, kind: Compare("),
        ("{% include 'x' without context %}", "with_context: false"),
        ("{% include 'x' ignore missing %}", "ignores_missing: true, with_context: true"),
        ("{% import 'x' as y with context %}", "with_context: true"),
    ] {
        let nodes = nodes(source);
        assert!(nodes.contains(expected), "{source}: {nodes}");
    }
}
