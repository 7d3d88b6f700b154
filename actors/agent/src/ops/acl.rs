//! Files of patterns (`-f` of an ACL): `add acl` and `del acl`.

use super::{
    argument::{file, key},
    exchange::{CommandReply, Exchange, Preparation, PreparedOperation},
    read_back::{Expectation, ReadBack, shown_entry},
};
use crate::haproxy::answer::SocketAnswer;

/// Deleting comes first: an order that is carried out again makes no second pattern.
pub(super) fn add<'o>(acl: &'o str, pattern: &'o str) -> Preparation<'o> {
    let (path, word) = (file(acl)?, key(pattern)?);
    let commands = ["del", "add"].map(|verb| format!("{verb} acl {path} {word}")).into();
    let last_accepted = |replies: &[CommandReply<'_>], _: &_| {
        replies.last().map_or(Ok(None), |reply| reply.accepted().map(|()| None))
    };
    let add =
        PreparedOperation::new(commands).sent_as(move |commands| Exchange::new(commands, last_accepted));
    Ok(add.expecting(move |all| *all.patterns.of(acl, pattern.to_owned()) = true))
}

pub(super) fn delete<'o>(acl: &'o str, pattern: &'o str) -> Preparation<'o> {
    let delete = PreparedOperation::one(format!("del acl {} {}", file(acl)?, key(pattern)?));
    Ok(delete
        .or(SocketAnswer::is_missing)
        .expecting(move |all| *all.patterns.of(acl, pattern.to_owned()) = false))
}

pub(super) fn questions<'e>(all: &'e Expectation<'_>) -> impl Iterator<Item = ReadBack<'e>> {
    all.patterns.questions("acl", "show acl", |answer| {
        answer.lines().filter_map(shown_entry).map(str::to_owned).collect()
    })
}
