//! The values that expressions may give, and the things that they look at.

use super::BlockWalk;
use crate::{
    block_cache::captured::Uncacheable,
    evaluation::cacheability::{DEEPEST, Holds},
    functions,
    jinja::{
        node::{CallArgument, ExpressionKind, FilterName, JinjaExpression},
        possible::{Callable, Possible, PossibleScope, Resources},
    },
};
use std::rc::Rc;

/// The arguments of a call.
#[derive(Default)]
struct CallArguments<'p> {
    positional: Vec<Possible<'p>>,
    named: Vec<(&'p str, Possible<'p>)>,
    /// The values that `*` and `**` spread.
    spread: Possible<'p>,
}

impl<'p> BlockWalk<'_, 'p> {
    /// The value that an expression may give, after a look at all it reads.
    pub(super) fn reads(&mut self, expression: &'p JinjaExpression) -> Possible<'p> {
        match &expression.kind {
            ExpressionKind::Text(_) | ExpressionKind::Literal(_) => Possible::default(),
            ExpressionKind::Name(name) => self.lookup(name, None),
            ExpressionKind::List(items) => {
                let holds =
                    items.iter().fold(Holds::Nothing, |holds, item| holds.or(self.reads(item).holds()));
                Possible::holding(if holds == Holds::Object { Holds::List } else { holds.or_deep() })
            }
            ExpressionKind::Tuple(items) => {
                let holds: Vec<_> = items.iter().map(|item| self.reads(item).holds()).collect();
                Possible::holding(match holds.as_slice() {
                    [Holds::Nothing, Holds::Object] => Holds::Pair,
                    _ => holds.into_iter().fold(Holds::Nothing, Holds::or).or_deep(),
                })
            }
            ExpressionKind::Dict(pairs) => {
                let mut holds = Holds::Nothing;
                for (key, value) in pairs {
                    self.reads(key);
                    holds = holds.or(self.reads(value).holds());
                }
                Possible::holding(holds.or_deep())
            }
            ExpressionKind::Field(of, field) => match &of.kind {
                ExpressionKind::Name(name) => self.lookup(name, Some(field)),
                _ => self.reads(of).field(field),
            },
            ExpressionKind::Item(pair) => {
                self.reads(&pair.1);
                let of = self.reads(&pair.0);
                if of.holds() == Holds::Pair { Possible::holding(Holds::Object) } else { of.item() }
            }
            ExpressionKind::Slice(of, bounds) => {
                bounds.iter().flatten().for_each(|bound| _ = self.reads(bound));
                self.reads(of)
            }
            ExpressionKind::Not(of) | ExpressionKind::Negative(of) => {
                self.reads(of);
                Possible::default()
            }
            ExpressionKind::And(pair) | ExpressionKind::Or(pair) => {
                let first = self.reads(&pair.0);
                first.or(self.reads(&pair.1))
            }
            ExpressionKind::Binary(_, pair) => {
                let (left, right) = (self.reads(&pair.0), self.reads(&pair.1));
                // Of lists of objects and of others comes one whose items may be either.
                let is_same = left.holds() == right.holds();
                if is_same { left } else { Possible::holding(left.or(right).holds().or_deep()) }
            }
            ExpressionKind::Compare(first, steps) => {
                self.reads(first);
                steps.iter().for_each(|(_, step)| _ = self.reads(step));
                Possible::default()
            }
            ExpressionKind::If(parts) => {
                let (test, value, otherwise) = &**parts;
                self.reads(test);
                let value = self.reads(value);
                match otherwise {
                    Some(otherwise) => value.or(self.reads(otherwise)),
                    None => value,
                }
            }
            ExpressionKind::Filter(name, subject, arguments) => {
                let subject = subject.as_ref().map(|subject| self.reads(subject)).unwrap_or_default();
                let given = self.given(arguments);
                self.filter(name, subject, given)
            }
            ExpressionKind::Test(_, subject, arguments) => {
                self.reads(subject);
                self.given(arguments);
                Possible::default()
            }
            ExpressionKind::Call(..) => self.call(expression, None),
        }
    }

    fn given(&mut self, arguments: &'p [CallArgument]) -> CallArguments<'p> {
        let mut given = CallArguments::default();
        for argument in arguments {
            match argument {
                CallArgument::One(expression) => given.positional.push(self.reads(expression)),
                CallArgument::Named(name, expression) => given.named.push((name, self.reads(expression))),
                CallArgument::Spread(expression) | CallArgument::SpreadNamed(expression) => {
                    let spread = self.reads(expression).item();
                    given.spread = std::mem::take(&mut given.spread).or(spread);
                }
            }
        }
        given
    }

    pub(super) fn call(&mut self, call: &'p JinjaExpression, caller: Option<Callable<'p>>) -> Possible<'p> {
        let ExpressionKind::Call(callee, arguments) = &call.kind else { return self.reads(call) };
        match &callee.kind {
            ExpressionKind::Name(name) if &**name == "super" => {
                if let Some((name, further)) = self.printing.last().copied() {
                    self.captured(|me| me.named_block(name, further + 1));
                }
                Possible::default()
            }
            ExpressionKind::Name(name) => {
                let given = self.given(arguments);
                if self.frame.knows(name) {
                    let callee = self.lookup(name, None);
                    return self.invoke(&callee, given, caller);
                }
                self.function(name, arguments.first(), given)
            }
            ExpressionKind::Field(of, block) if is_name(of, "self") => {
                self.captured(|me| me.named_block(block, 0));
                Possible::default()
            }
            ExpressionKind::Field(of, method) => {
                let receiver = self.reads(of);
                let found = receiver.field(method);
                let given = self.given(arguments);
                if found.macros.is_empty() {
                    return self.method(&receiver, method, given);
                }
                self.invoke(&found, given, caller)
            }
            _ => {
                let callee = self.reads(callee);
                let given = self.given(arguments);
                self.invoke(&callee, given, caller)
            }
        }
    }

    /// A macro, a recursive loop or a joiner is called.
    fn invoke(
        &mut self,
        callee: &Possible<'p>,
        given: CallArguments<'p>,
        caller: Option<Callable<'p>>,
    ) -> Possible<'p> {
        if callee.turns {
            self.changes(callee);
        }
        if self.depth >= DEEPEST {
            return Possible::default();
        }
        self.depth += 1;
        if let Some((code, at)) = callee.recursion {
            let over = given.all();
            self.captured(|me| me.for_items(code, at, &over));
        }
        for callable in &callee.macros {
            self.run(callable, &given, caller.clone());
        }
        self.depth -= 1;
        Possible::default()
    }

    fn run(&mut self, callable: &Callable<'p>, given: &CallArguments<'p>, caller: Option<Callable<'p>>) {
        let Some(home) = callable.home() else { return };
        let frame = PossibleScope::new(Some(home), self.block.is_some());
        let code = callable.code;
        self.captured(|me| {
            me.in_ending(Rc::new(frame), |me| {
                for (place, parameter) in code.parameters.iter().enumerate() {
                    let by_name = given.named.iter().find(|(name, _)| **name == *parameter.name);
                    let value = given.positional.get(place).or(by_name.map(|(_, value)| value)).cloned();
                    let otherwise = parameter.default.as_ref().filter(|_| value.is_none());
                    let otherwise = otherwise.map(|default| me.reads(default));
                    let value = value.or(otherwise).unwrap_or_default().or(given.spread.clone());
                    me.declare(&parameter.name, value);
                }
                for name in ["varargs", "kwargs"] {
                    me.declare(name, given.all().deep());
                }
                caller.into_iter().for_each(|caller| me.declare("caller", Possible::of_macro(caller)));
                me.body(&code.body);
            });
        });
    }

    fn function(
        &mut self,
        name: &str,
        first: Option<&CallArgument>,
        given: CallArguments<'p>,
    ) -> Possible<'p> {
        let all = given.all();
        let is_resource =
            matches!(first, Some(CallArgument::One(JinjaExpression { kind: ExpressionKind::Text(_), .. })));
        match name {
            "cycler" | "joiner" => all.deep().turning(),
            "dict" | "namespace" => all.deep(),
            "list" if !is_resource => all.or(Possible::holding(Holds::List)),
            "range" | "register_error" => Possible::default(),
            _ => self.library(name, all),
        }
    }

    fn library(&mut self, name: &str, all: Possible<'p>) -> Possible<'p> {
        if name == "once" {
            self.report(Uncacheable::Once);
        }
        match functions::find(name) {
            Some(function) => Possible::holding(Holds::given_by(function, all.holds())),
            None => all.deep(),
        }
    }

    fn method(&mut self, of: &Possible<'p>, name: &str, given: CallArguments<'p>) -> Possible<'p> {
        let arguments = given.all();
        match name {
            "append" | "extend" | "insert" | "update" | "setdefault" | "pop" | "popitem" | "remove"
            | "clear" | "reverse" | "sort" => {
                self.changes(of);
                of.takes_in(arguments.holds());
                of.item().or(arguments)
            }
            "next" | "reset" | "cycle" | "changed" => {
                if of.turns {
                    self.changes(of);
                }
                arguments.or(of.item())
            }
            "List" | "list" | "Fetch" | "fetch" | "get_indexed" => Possible::holding(Holds::List),
            "GetSingle" | "get_single" => Possible::holding(Holds::Object),
            "values" if of.resources == Resources::One => Possible::holding(Holds::List),
            "items" if of.resources == Resources::One => Possible::holding(Holds::Pairs),
            "get" if of.resources == Resources::All => arguments.or(of.field(name)),
            "get" => of.field(name).or(arguments),
            "values" | "items" | "copy" => of.deep(),
            _ => Possible::default(),
        }
    }

    fn filter(
        &mut self,
        filter: &FilterName,
        subject: Possible<'p>,
        given: CallArguments<'p>,
    ) -> Possible<'p> {
        if filter.own.is_none() {
            return self.library(&filter.name, subject.or(given.all()));
        }
        let holds = subject.holds();
        match &*filter.name {
            "default" | "d" => subject.or(given.all()),
            "first" | "last" | "max" | "min" => subject.item(),
            "select" | "reject" | "selectattr" | "rejectattr" | "sort" | "unique" | "reverse" | "list" => {
                subject
            }
            "map" => {
                let is_field = given.named.iter().any(|(name, _)| *name == "attribute");
                match (is_field, holds) {
                    (true, Holds::List) => Possible::default(),
                    _ => subject.deep().or(given.all()),
                }
            }
            "groupby" if holds == Holds::List => Possible::holding(Holds::Groups),
            "items" if subject.resources == Resources::One => Possible::holding(Holds::Pairs),
            "groupby" | "batch" | "slice" | "dictsort" | "items" | "values" | "sum" => subject.deep(),
            "attr" => subject.field(""),
            _ => Possible::default(),
        }
    }
}

impl<'p> CallArguments<'p> {
    /// Whatever it is.
    fn all(&self) -> Possible<'p> {
        let named = self.named.iter().map(|(_, value)| value);
        let all = self.positional.iter().chain(named);
        all.fold(self.spread.clone(), |all, value| all.or(value.clone()))
    }
}

fn is_name(expression: &JinjaExpression, wanted: &str) -> bool {
    matches!(&expression.kind, ExpressionKind::Name(name) if &**name == wanted)
}
