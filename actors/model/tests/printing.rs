//! Nothing that may hold a key or a Secret can be printed, whatever prints it: a log, a panic, an assertion.

use haptic_model::{Bundle, BundleFile, FileKey, FileKind, Object, ObjectRef, config::Credentials};
use haptic_text::{
    Sensitive, Text,
    patch::{Content, Piece},
};
use std::sync::Arc;

const SECRET: &str = "planted-in-memory";

#[test]
fn what_may_hold_secrets_prints_none() {
    let key = BundleFile::new(FileKey::new(FileKind::Certificate, "a"), "ssl/a", Text::plain(SECRET));
    let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(SECRET)), [key]);
    let object = Object {
        reference: Arc::new(ObjectRef::new("secrets", "shop", "tls")),
        version: 1,
        json: SECRET.as_bytes().into(),
    };
    let sensitive = Sensitive::new(SECRET.to_owned());
    let printed = [
        format!("{bundle:?}"),
        format!("{object:?}"),
        format!("{:?}", Content::Whole(SECRET.to_owned())),
        format!("{:?}", Piece::Put(SECRET.to_owned())),
        format!("{:?}", Credentials { username: "admin".to_owned(), password: sensitive }),
    ];
    for text in printed {
        assert!(!text.contains(SECRET) && !text.contains(&format!("{:?}", SECRET.as_bytes())), "{text}");
    }
}
