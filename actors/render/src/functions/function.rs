//! One function: what it takes, what it does, and what it is for.

use super::call::Call;
use crate::{output::framing, quotations::SENTENCE, session::Session, value::Value};
use haptic_text::{shortened, suggest::did_you_mean};
use std::sync::Arc;

/// The longest list a function may give.
pub const LONGEST_LIST: usize = 1_000_000;

/// The longest text that a function makes of more than one.
pub(crate) const LONGEST_TEXT: usize = 16 << 20;

/// Whether a text of that length may be made: known before it is.
pub(super) fn check_length(bytes: usize) -> Result<(), String> {
    if bytes > LONGEST_TEXT {
        return Err(format!("the result would be longer than {LONGEST_TEXT} bytes"));
    }
    Ok(())
}

/// One function.
#[derive(Debug)]
pub struct Function {
    /// As templates call it.
    pub name: &'static str,
    /// The subject of it.
    pub group: Group,
    /// The arguments that it takes.
    pub arguments: &'static [Argument],
    /// The effect of it, in a sentence or two.
    pub doc: &'static str,
    /// A template, and what it prints.
    pub example: (&'static str, &'static str),
    /// The role of a call of it.
    pub role: Role,
    /// How a printed result is framed.
    pub frame: char,
    run: Run,
}

type Run = fn(&Call<'_>) -> Result<Value, String>;

/// The role of a call of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Gives a value.
    Value,
    /// Called for its effect; prints nothing.
    Effect,
    /// Declares variables.
    Declare,
    /// Changes variables.
    Assign,
    /// Appends to the list in a variable.
    Push,
    /// Prints snippets.
    Glob,
}

/// The subjects of functions, in the order they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Reading values.
    Access,
    /// Building and ordering lists and dicts.
    Lists,
    /// Variables.
    Variables,
    /// Comparing.
    Comparison,
    /// Texts.
    Strings,
    /// Numbers.
    Arithmetic,
    /// HAProxy's language.
    Haproxy,
    /// Watched objects.
    Resources,
    /// The render itself.
    Control,
}

/// One argument.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name in the documentation and in errors.
    pub name: &'static str,
    /// The kind that it must be.
    pub kind: Kind,
    /// How often it may stand there.
    pub count: Count,
}

/// The kind that an argument must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything but missing.
    Any,
    /// Anything, also missing.
    Optional,
    /// A text; numbers and booleans are taken as they print.
    Text,
    /// A number, or a text that spells one.
    Number,
    /// A whole number.
    Integer,
    /// A list; null counts as an empty one.
    List,
    /// A dict or a watched object; null counts as an empty one.
    Dict,
    /// A watched object.
    Object,
    /// The name of a variable.
    Variable,
}

/// How often an argument may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Exactly once.
    Once,
    /// Once or not at all.
    Maybe,
    /// Any number of times; the last argument only.
    Many,
    /// By name, any name: `key=value`.
    Named,
}

pub(super) const fn arg(name: &'static str, kind: Kind) -> Argument {
    Argument { name, kind, count: Count::Once }
}

pub(super) const fn maybe(name: &'static str, kind: Kind) -> Argument {
    Argument { name, kind, count: Count::Maybe }
}

pub(super) const fn many(name: &'static str, kind: Kind) -> Argument {
    Argument { name, kind, count: Count::Many }
}

pub(super) const fn named(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Any, count: Count::Named }
}

pub(super) const fn function(
    name: &'static str,
    group: Group,
    arguments: &'static [Argument],
    doc: &'static str,
    example: (&'static str, &'static str),
    run: Run,
) -> Function {
    Function { name, group, arguments, doc, example, role: Role::Value, frame: framing::VALUE, run }
}

pub(super) const fn statement(role: Role, function: Function) -> Function {
    Function { role, ..function }
}

/// A function that encodes what it gives for its place, which is framed as such.
pub(super) const fn framed(frame: char, function: Function) -> Function {
    Function { frame, ..function }
}

impl Function {
    /// `(sort_by list path [order])`.
    #[must_use]
    pub fn usage(&self) -> String {
        let mut usage = format!("({}", self.name);
        for argument in self.arguments {
            let name = argument.name;
            usage.push_str(&match argument.count {
                Count::Once => format!(" {name}"),
                Count::Maybe => format!(" [{name}]"),
                Count::Many => format!(" [{name}…]"),
                Count::Named => format!(" [{name}=…]"),
            });
        }
        usage + ")"
    }

    /// Whether a call may have that many arguments and those named ones.
    ///
    /// # Errors
    /// A sentence saying what is missing or too much.
    pub fn check_count<'a>(
        &self,
        given: usize,
        mut named: impl Iterator<Item = &'a str>,
    ) -> Result<(), String> {
        let counted = |count| self.arguments.iter().filter(|a| a.count == count).count();
        let (least, open) = (counted(Count::Once), counted(Count::Many) > 0);
        let most = least + counted(Count::Maybe);
        if given < least && counted(Count::Named) == 0 {
            let absent = self.arguments.get(given).map_or("", |a| a.name);
            return Err(format!(
                "{} needs {least} argument(s), here are {given}: {absent} is missing",
                self.name
            ));
        }
        if given > most && !open {
            return Err(format!("{} takes at most {most} argument(s), here are {given}", self.name));
        }
        match named.next() {
            Some(name) if counted(Count::Named) == 0 => {
                let hint = did_you_mean(name, self.arguments.iter().map(|a| a.name));
                Err(format!("{} takes no argument by name, here is {name}={hint}", self.name))
            }
            _ => Ok(()),
        }
    }

    /// The argument that stands at `index`.
    pub(super) fn argument(&self, index: usize) -> Option<&'static Argument> {
        self.arguments.get(index).or_else(|| self.arguments.iter().rev().find(|a| a.count == Count::Many))
    }

    /// Whether that argument may be missing.
    #[must_use]
    pub fn accepts_missing(&self, index: usize) -> bool {
        self.argument(index).is_some_and(|a| a.kind == Kind::Optional)
    }

    /// Calls it.
    ///
    /// # Errors
    /// A sentence that names the function, the argument, and what it got.
    pub fn call(
        &'static self,
        arguments: Vec<Value>,
        named: &[(Arc<str>, Value)],
        session: &Session<'_>,
    ) -> Result<Value, String> {
        let call = Call { function: self, arguments, named, session };
        call.check()?;
        let result = (self.run)(&call).map(|result| call.result(result));
        result.map_err(|e| match self.name {
            "fail" | "register_error" => e,
            name => format!("{name}: {}", shortened(&e, SENTENCE)),
        })
    }
}
