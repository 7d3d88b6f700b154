//! Calls: of macros, of functions, and what is asked of watched resources.

use super::{
    evaluate::JinjaEvaluator,
    expression::source,
    keys::{DictKey, Entries},
    looping,
    node::{CallArgument, ExpressionKind, JinjaExpression},
    operand::{Closure, Operand, Turns},
    operators,
};
use crate::{
    block_cache::captured::Uncacheable,
    evaluation::{EvaluationFailure, EvaluationResult},
    functions::{self, Role},
    output::framing,
    value::Value,
};
use haptic_text::suggest::did_you_mean;
use std::{cell::Cell, rc::Rc, sync::Arc};

/// Arguments by name.
pub(super) type NamedArguments<'p> = Vec<(Arc<str>, Operand<'p>)>;

/// The names that this language has beside the function library.
pub(super) const GLOBALS: [&str; 8] =
    ["range", "dict", "namespace", "cycler", "joiner", "register_error", "list", "super"];

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn arguments(
        &mut self,
        arguments: &'p [CallArgument],
    ) -> EvaluationResult<(Vec<Operand<'p>>, NamedArguments<'p>)> {
        let (mut positional, mut named) = (Vec::with_capacity(arguments.len()), Vec::new());
        for argument in arguments {
            match argument {
                CallArgument::One(expression) => positional.push(self.evaluate(expression)?),
                CallArgument::Named(name, expression) => {
                    named.push((name.clone(), self.evaluate(expression)?))
                }
                CallArgument::Spread(expression) => {
                    let list = self.there(expression)?;
                    positional.extend(self.items(&list)?);
                }
                CallArgument::SpreadNamed(expression) => {
                    let dict = self.there(expression)?;
                    for (key, value) in self.pairs(&dict)? {
                        named.push((key.text()?, value));
                    }
                }
            }
        }
        Ok((positional, named))
    }

    /// Keys and values of a dict.
    pub fn pairs(&mut self, of: &Operand<'p>) -> EvaluationResult<Vec<(DictKey, Operand<'p>)>> {
        match of {
            Operand::Dict(dict) => Ok(dict.entries.borrow().iter().cloned().collect()),
            Operand::Value(value) => match value.as_dict()? {
                Some(dict) => Ok(dict
                    .iter()
                    .map(|(k, v)| (DictKey::Text(k.clone()), Operand::Value(v.clone())))
                    .collect()),
                None => Err(format!("{} is no dict", of.describe()).into()),
            },
            other => Err(format!("{} is no dict", other.describe()).into()),
        }
    }

    /// Keys and values of a dict, or of a list of them.
    pub fn given_pairs(&mut self, of: &Operand<'p>) -> EvaluationResult<Vec<(DictKey, Operand<'p>)>> {
        if operators::length(of).is_none() {
            return self.pairs(of);
        }
        let mut pairs = Vec::new();
        for item in self.items(of)? {
            match <[Operand<'p>; 2]>::try_from(self.items(&item)?) {
                Ok([key, value]) => pairs.push((DictKey::of(&key)?, value)),
                Err(_) => return Err(format!("{} is no key with a value", item.describe()).into()),
            }
        }
        Ok(pairs)
    }

    /// The result of a call; `caller` is the text of a `{% call %}` block.
    pub fn call_with(
        &mut self,
        call: &'p JinjaExpression,
        caller: Option<Closure<'p>>,
    ) -> EvaluationResult<Operand<'p>> {
        let ExpressionKind::Call(callee, arguments) = &call.kind else { return self.evaluate(call) };
        match &callee.kind {
            ExpressionKind::Name(name) if &**name == "super" => self.outer_block(),
            ExpressionKind::Name(name) => match self.frames.lookup(name, None)? {
                Some(found) => self.call_operand(&found, callee, arguments, caller),
                None => self.call_function(name, callee, arguments),
            },
            ExpressionKind::Field(of, name) => {
                if matches!(&of.kind, ExpressionKind::Name(of) if &**of == "self") {
                    let text = self.capture(|me| me.block(name, 0))?;
                    return Ok(Operand::Markup(text.into()));
                }
                if let ExpressionKind::Name(of) = &of.kind
                    && let Some(found) = self.frames.lookup(of, Some(name))?
                    && matches!(found, Operand::Macro(_))
                {
                    return self.call_operand(&found, callee, arguments, caller);
                }
                let value = self.there(of)?;
                let (positional, named) = self.arguments(arguments)?;
                self.method(&value, name, positional, named)
            }
            _ => {
                let value = self.there(callee)?;
                self.call_operand(&value, callee, arguments, caller)
            }
        }
    }

    fn call_operand(
        &mut self,
        callee: &Operand<'p>,
        expression: &JinjaExpression,
        arguments: &'p [CallArgument],
        caller: Option<Closure<'p>>,
    ) -> EvaluationResult<Operand<'p>> {
        let (positional, named) = self.arguments(arguments)?;
        match (callee, positional.first()) {
            (Operand::Macro(closure), _) => self.run_macro(closure, positional, named, caller),
            (Operand::Loop(state), Some(items)) => match state.recursive {
                Some((code, at)) => {
                    let (items, depth) = (self.loop_items(items)?, state.depth + 1);
                    self.machine.enter_snippet(&"loop".into())?;
                    let text = self.capture(|me| me.for_items(code, items, at, depth))?;
                    self.machine.leave_snippet();
                    Ok(Operand::Markup(text.into()))
                }
                None => Err(EvaluationFailure::with_help(
                    "the loop is not recursive".into(),
                    "Write {% for … in … recursive %}",
                )),
            },
            (Operand::Joiner(turns), _) => {
                self.frames.changes(turns.born);
                let first = turns.next.replace(1) == 0;
                let separator = turns.items.first().cloned().unwrap_or(Operand::NONE);
                Ok(if first { Operand::Markup("".into()) } else { separator })
            }
            (other, _) => {
                Err(format!("{} is {}, which cannot be called", source(expression), other.describe()).into())
            }
        }
    }

    /// The text of a macro for those arguments.
    pub fn run_macro(
        &mut self,
        closure: &Closure<'p>,
        positional: Vec<Operand<'p>>,
        mut named: NamedArguments<'p>,
        caller: Option<Closure<'p>>,
    ) -> EvaluationResult<Operand<'p>> {
        let code = closure.code;
        let too_many = positional.len().saturating_sub(code.parameters.len());
        if too_many > 0 && !code.takes.more {
            let (name, most) = (&code.name, code.parameters.len());
            return Err(format!(
                "the macro {name:?} takes {most} argument(s), here are {}",
                positional.len()
            )
            .into());
        }
        self.machine.enter_snippet(&code.name)?;
        let length = self.frames.len();
        self.frames.enter_macro(&closure.home)?;
        let mut positional = positional.into_iter();
        let mut missing = Vec::new();
        for parameter in &code.parameters {
            let by_name =
                named.iter().position(|(name, _)| *name == parameter.name).map(|i| named.remove(i).1);
            let by_place = positional.next();
            if by_place.is_some() && by_name.is_some() {
                return Err(format!("the macro {:?} is given {:?} twice", code.name, parameter.name).into());
            }
            match by_place.or(by_name) {
                Some(value) => self.frames.set(&parameter.name, value),
                None => missing.push(parameter),
            }
        }
        for parameter in missing {
            let value = match &parameter.default {
                Some(default) => self.evaluate(default)?,
                None => Operand::UNDEFINED,
            };
            self.frames.set(&parameter.name, value);
        }
        if let Some((name, _)) = named.first()
            && !code.takes.named
        {
            return Err(format!("the macro {:?} takes no argument {name:?}", code.name).into());
        }
        if code.takes.more {
            self.frames.set("varargs", Operand::Tuple(positional.collect()));
        }
        if code.takes.named {
            let born = self.frames.now();
            let entries = named.into_iter().map(|(name, value)| (DictKey::Text(name), value)).collect();
            self.frames.set("kwargs", Operand::dict(born, entries));
        }
        match caller {
            Some(caller) if code.takes.caller => self.frames.set("caller", Operand::Macro(caller)),
            Some(_) => return Err(format!("the macro {:?} does not call caller()", code.name).into()),
            None => {}
        }
        let text = self.capture(|me| me.body(&code.body));
        self.frames.leave_to(length);
        let text = text?;
        self.machine.leave_snippet();
        Ok(Operand::Markup(text.into()))
    }

    /// `super()`: the same block of the template that is extended.
    fn outer_block(&mut self) -> EvaluationResult<Operand<'p>> {
        let Some((name, further)) = self.printing.last().copied() else {
            return Err("super() is called outside of all blocks".to_owned().into());
        };
        let text = self.capture(|me| me.block(name, further + 1))?;
        Ok(Operand::Markup(text.into()))
    }

    fn call_function(
        &mut self,
        name: &str,
        callee: &JinjaExpression,
        arguments: &'p [CallArgument],
    ) -> EvaluationResult<Operand<'p>> {
        let (positional, named) = self.arguments(arguments)?;
        let born = self.frames.now();
        match name {
            "range" => self.range(&positional),
            "dict" | "namespace" => {
                let mut entries = Entries::default();
                if let Some(first) = positional.first() {
                    self.given_pairs(first)?.into_iter().for_each(|(key, value)| entries.set(key, value));
                }
                named.into_iter().for_each(|(key, value)| entries.set(DictKey::Text(key), value));
                self.machine.made(entries.len() * size_of::<(DictKey, Operand<'_>)>())?;
                let is_namespace = name == "namespace";
                let entries = entries.into();
                Ok(Operand::Dict(Rc::new(super::operand::MutableDict { born, is_namespace, entries })))
            }
            "cycler" => Ok(Operand::Cycler(Rc::new(Turns { born, next: Cell::new(0), items: positional }))),
            "joiner" => {
                let items =
                    if positional.is_empty() { vec![Operand::Markup(", ".into())] } else { positional };
                Ok(Operand::Joiner(Rc::new(Turns { born, next: Cell::new(0), items })))
            }
            "list" if positional.first().is_some_and(|first| !first.is_text()) => {
                let items = self.items(positional.first().unwrap_or(&Operand::UNDEFINED))?;
                self.new_list(items)
            }
            "register_error" if positional.first().is_some_and(Operand::is_text) => {
                self.register_error(&positional)
            }
            _ => self.library(name, positional, named, Some(callee)),
        }
    }

    /// A function of the library. Its parameters must be defined where it says so.
    pub fn library(
        &mut self,
        name: &str,
        positional: Vec<Operand<'p>>,
        named: NamedArguments<'p>,
        callee: Option<&JinjaExpression>,
    ) -> EvaluationResult<Operand<'p>> {
        let Some(function) = functions::find(name).filter(|f| matches!(f.role, Role::Value | Role::Effect))
        else {
            let hint = did_you_mean(name, functions::names().chain(GLOBALS));
            let message = format!("there is no function {name:?}{hint}");
            let help = "`haptic functions` lists them";
            let failure = EvaluationFailure::with_help(message, help);
            return Err(callee.map_or(failure, |callee| {
                let ExpressionKind::Name(_) = &callee.kind else {
                    return EvaluationFailure::with_help(String::new(), help);
                };
                EvaluationFailure::with_help(format!("there is no function or macro {name:?}{hint}"), help)
                    .at(callee.at)
            }));
        };
        function.check_count(positional.len(), named.iter().map(|(name, _)| &**name))?;
        let mut values = Vec::with_capacity(positional.len());
        for (index, operand) in positional.iter().enumerate() {
            if operand.is_undefined() && !function.accepts_missing(index) {
                return Err(EvaluationFailure::with_help(
                    format!("{name}: argument {} is undefined", index + 1),
                    "Write … | default(…) if it may be absent",
                ));
            }
            values.push(operand.value()?);
        }
        let mut by_name = Vec::with_capacity(named.len());
        for (name, operand) in named {
            by_name.push((name, operand.value()?));
        }
        if name == "once" {
            self.frames.refuse(Uncacheable::Once);
        }
        let value = self.machine.call(function, values, &by_name)?;
        Ok(match (function.frame, value) {
            (_, Value::Missing) if function.role == Role::Effect => Operand::NONE,
            (framing::VALUE, value) => Operand::Value(value),
            // What it has encoded for its place is framed so, wherever it is printed.
            (frame, value) => match value.printed() {
                Some(text) => {
                    framing::check_value(&text)?;
                    let secret = if matches!(value, Value::Secret(_)) { "\u{E007}" } else { "" };
                    Operand::Markup(format!("{secret}{frame}{text}{}", framing::END).into())
                }
                None => Operand::Value(value),
            },
        })
    }

    fn range(&mut self, bounds: &[Operand<'p>]) -> EvaluationResult<Operand<'p>> {
        let mut numbers = Vec::new();
        for bound in bounds {
            let whole = bound
                .whole()
                .ok_or_else(|| format!("range takes whole numbers, this is {}", bound.describe()))?;
            numbers.push(whole);
        }
        let (start, stop, step) = match *numbers.as_slice() {
            [stop] => (0, stop, 1),
            [start, stop] => (start, stop, 1),
            [start, stop, step] if step != 0 => (start, stop, step),
            _ => return Err("range takes a start, a stop and a step that is not 0".to_owned().into()),
        };
        let span = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
        let count =
            usize::try_from(span.max(0).unsigned_abs().div_ceil(step.unsigned_abs())).unwrap_or(usize::MAX);
        if count > functions::LONGEST_LIST {
            return Err(format!("range: the result has more than {} items", functions::LONGEST_LIST).into());
        }
        let items = (0..count).map_while(|n| {
            let number = i64::try_from(n).ok()?.checked_mul(step)?.checked_add(start)?;
            Some(Operand::Value(Value::integer(number)))
        });
        self.new_list(items.collect())
    }

    /// `register_error("ingresses", uid, text)`.
    fn register_error(&mut self, arguments: &[Operand<'p>]) -> EvaluationResult<Operand<'p>> {
        let [resource, uid, sentence @ ..] = arguments else {
            return Err("register_error takes a resource, the uid of an object of it, and a text"
                .to_owned()
                .into());
        };
        let resource: Arc<str> = resource.printed().unwrap_or_default();
        let uid = uid.printed().unwrap_or_default();
        let object = self.object_with(&resource, &uid)?;
        let mut values = vec![object];
        for operand in sentence {
            values.push(operand.value()?);
        }
        let function =
            functions::find("register_error").ok_or_else(|| "there is no register_error".to_owned())?;
        self.machine.call(function, values, &[])?;
        Ok(Operand::NONE)
    }

    /// The object whose block is being printed, if the uid is its own; else that of the store.
    fn object_with(&self, resource: &Arc<str>, uid: &str) -> Result<Value, String> {
        let session = &self.machine.session;
        let owner = session.owner();
        let has_uid = |value: &Value| {
            let metadata = value.field("metadata").ok().flatten();
            let own = metadata.and_then(|metadata| metadata.field("uid").ok().flatten());
            own.and_then(Value::printed).is_some_and(|own| *own == *uid)
        };
        if let Some(owner) = &owner {
            let own = session.object(resource, &owner.namespace, &owner.name)?;
            if has_uid(&own) {
                return Ok(own);
            }
        }
        let Value::List(all) = session.objects(resource, [].into())? else { return Ok(Value::Missing) };
        let found = all.iter().map(Value::unread).find(|object| has_uid(object));
        found.ok_or_else(|| format!("register_error: no object of {resource:?} has the uid {uid:?}"))
    }

    /// The result of a method of all watched resources, or of one.
    pub fn resource_method(
        &mut self,
        of: &Operand<'p>,
        method: &str,
        arguments: &[Operand<'p>],
    ) -> EvaluationResult<Operand<'p>> {
        let input = *self.machine.session.input();
        let watched = &input.config.spec.watched_resources;
        let name = match (of, method) {
            (Operand::Resources, "get") => {
                let name = arguments.first().and_then(Operand::printed).unwrap_or_default();
                return Ok(match watched.contains_key(&*name) {
                    true => Operand::Store(name),
                    false => arguments.get(1).cloned().unwrap_or(Operand::NONE),
                });
            }
            (Operand::Resources, "keys") => {
                return self.new_list(watched.keys().map(Operand::text).collect());
            }
            (Operand::Resources, "items") => {
                let pair = |name: &String| {
                    Operand::Tuple([Operand::text(name), Operand::Store(name.as_str().into())].into())
                };
                return self.new_list(watched.keys().map(pair).collect());
            }
            (Operand::Store(name), _) => name.clone(),
            _ => return Err(no_method(of, method)),
        };
        let mut key = Vec::new();
        for part in arguments {
            key.push(
                part.printed().ok_or_else(|| format!("{method}: {} is no part of a key", part.describe()))?,
            );
        }
        let session = &self.machine.session;
        let objects = match method {
            "GetSingle" | "get_single" => {
                let [namespace, name_of] = key.as_slice() else {
                    return Err(format!("{method} takes a namespace and a name").into());
                };
                return Ok(Operand::Value(session.object(&name, namespace, name_of)?));
            }
            "Fetch" | "fetch" | "get_indexed" if key.is_empty() => {
                return Err(format!("{method} takes the parts of a key, at least one").into());
            }
            "Fetch" | "fetch" | "get_indexed" => session.objects(&name, key.into())?,
            "List" | "list" | "items" | "values" | "keys" => session.objects(&name, [].into())?,
            _ => return Err(no_method(of, method)),
        };
        self.machine.output.hold(self.machine.session.take_held());
        let (Value::List(all), "items" | "keys") = (&objects, method) else {
            return Ok(Operand::Value(objects));
        };
        let mut items = Vec::with_capacity(all.len());
        for object in all.iter() {
            items.push(if method == "keys" { looping::key_of(object) } else { looping::pair(object) });
        }
        self.new_list(items)
    }
}

pub(super) fn no_method(of: &Operand<'_>, method: &str) -> Box<EvaluationFailure> {
    format!("{} has no method {method:?}", of.describe()).into()
}
