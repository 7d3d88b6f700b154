//! Walks a template's nodes and prints.

use super::{
    node::{Block, CallNode, Expression, Frame, Include, NodeKind, SnippetName, TemplateNode},
    path::{Path, PathStart},
    scope::{BlockScope, Loop},
};
use crate::{
    block_cache::captured::Boundary,
    engine::{
        position::At,
        program::{CompiledTemplate, PartInputs, Program, Snippet, SnippetUse},
    },
    evaluation::{BlockId, EvaluationFailure, EvaluationResult, LanguageEvaluator, Machine, object_block},
    value::{Value, watched::Watched},
};
use haptic_text::suggest::did_you_mean;
use std::sync::Arc;

/// Renders one file.
struct TemplateEvaluator<'m, 'p> {
    program: &'p Program,
    machine: &'m mut Machine<'p>,
}

/// The part that a tag prints: one of this language, inline or not, or one of another.
#[derive(Clone, Copy)]
enum Printed<'p> {
    Block(&'p Block),
    Foreign(Snippet<'p>),
}

impl<'p> From<Snippet<'p>> for Printed<'p> {
    fn from(snippet: Snippet<'p>) -> Self {
        match snippet.part {
            CompiledTemplate::Handlebars(block) => Self::Block(block),
            CompiledTemplate::Jinja2(_) => Self::Foreign(snippet),
        }
    }
}

impl<'p> LanguageEvaluator<'p> for TemplateEvaluator<'_, 'p> {
    fn machine(&mut self) -> &mut Machine<'p> {
        self.machine
    }
}

/// Prints a template, which sees `inputs` and the top of the context.
pub(crate) fn print<'p>(
    program: &'p Program,
    machine: &mut Machine<'p>,
    block: &'p Block,
    inputs: PartInputs<'p>,
) -> EvaluationResult {
    let mut scope = BlockScope::top(machine.session.input().context.clone());
    scope.parameters.extend(inputs.into_iter().map(|(name, value)| (name.clone(), value)));
    TemplateEvaluator { program, machine }.block(block, &scope)
}

impl<'p> TemplateEvaluator<'_, 'p> {
    fn block(&mut self, block: &'p Block, scope: &BlockScope<'_, 'p>) -> EvaluationResult {
        for node in &block.nodes {
            match &node.kind {
                NodeKind::Text(segments) => self.machine.text(segments),
                _ => self.node(node, scope).map_err(|failure| self.machine.failed(failure, node.at))?,
            }
        }
        self.machine.tick()
    }

    fn node(&mut self, node: &'p TemplateNode, scope: &BlockScope<'_, 'p>) -> EvaluationResult {
        match &node.kind {
            NodeKind::Text(segments) => self.machine.text(segments),
            NodeKind::Print { expression, frame } => {
                let value = self.evaluate(expression, scope)?;
                self.print(&value, expression, *frame, node.at, scope)?;
            }
            NodeKind::Run(expression) => {
                let before = self.machine.session.said();
                let result = self.evaluate(expression, scope);
                self.machine.place_said(before, node.at);
                result?;
            }
            NodeKind::Assign { declare, values } => self.assign(*declare, values, scope)?,
            NodeKind::Push { variable, values } => self.push(variable, values, scope)?,
            NodeKind::If { test, wanted, zero_counts, body, otherwise } => {
                let value = self.evaluate(test, scope)?;
                let is_true = value.is_true() || (*zero_counts && matches!(value, Value::Number(_)));
                self.block(if is_true == *wanted { body } else { otherwise }, scope)?;
            }
            NodeKind::Each { over, item, index, body, otherwise } => {
                let list = self.evaluate(over, scope)?;
                self.each(&list, over, (item.as_ref(), index.as_ref()), (body, otherwise), node.at, scope)?;
            }
            NodeKind::With { of, name, body, otherwise } => {
                let value = self.evaluate(of, scope)?;
                self.with(value, of, name.as_ref(), (body, otherwise.as_ref()), node.at, scope)?;
            }
            NodeKind::Include(include) => self.include(include, scope)?,
            NodeKind::Slot => match scope.slot() {
                Some((block, outer)) => self.block(block, outer)?,
                None => {
                    return Err(EvaluationFailure::with_help(
                        "there is no @partial-block here".into(),
                        "Include this snippet with {{#> snippet}}…{{/snippet}}",
                    ));
                }
            },
            NodeKind::Glob { pattern, indent, alone } => self.glob(pattern, indent, *alone, scope)?,
            NodeKind::Inline { name, body } => scope.define_inline(name, body),
        }
        Ok(())
    }

    fn print(
        &mut self,
        value: &Value,
        expression: &Expression,
        frame: Frame,
        at: At,
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult {
        let printed = match frame {
            Frame::Framed(mark) => self.machine.print(value, mark, at)?,
            Frame::Raw => self.machine.print_raw(value, at, || expression.source())?,
        };
        if printed { Ok(()) } else { Err(unprintable(value, expression, scope)) }
    }

    fn each(
        &mut self,
        list: &Value,
        over: &Expression,
        (item_name, index_name): (Option<&Arc<str>>, Option<&Arc<str>>),
        (body, otherwise): (&'p Block, &'p Block),
        at: At,
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult {
        let mut inner = scope.block(Value::Missing);
        let block = BlockId::of(body, at);
        // With a name for the index, each step may see something else around it.
        let objects = match list {
            Value::List(items) if index_name.is_none() => {
                self.machine.objects_of(block, Some(items), items.iter().map(Value::as_object))
            }
            _ => None,
        };
        let objects = objects.as_ref().map_or(&[] as &[usize], |all| all.as_slice());
        // How many steps that was.
        let mut step = |this: &mut Self, value: Value, state: Loop| -> EvaluationResult<usize> {
            let number = state.index;
            if let Some(name) = item_name {
                let index = index_name.map(|n| {
                    (n.clone(), state.key.clone().map_or_else(|| Value::count(state.index), Value::Text))
                });
                inner.parameters.clear();
                inner.parameters.push((name.clone(), value.clone()));
                inner.parameters.extend(index);
            }
            inner.forget_variables();
            inner.loop_state = Some(state);
            match &value {
                Value::Object(object) => {
                    let finds = |lookup: &_, found: &_, alike: &_| inner.finds(lookup, found, alike);
                    let rest = objects.get(number..).unwrap_or_default();
                    if let Some(steps) = this.machine.group_hit(rest, block, finds) {
                        return Ok(steps);
                    }
                    if this.machine.is_cache_hit(object, block, finds) {
                        return Ok(1);
                    }
                    let fresh = this.machine.session.recent(object);
                    inner.this = Value::Object(fresh.clone());
                    if let Some(parameter) = inner.parameters.first_mut() {
                        parameter.1 = inner.this.clone();
                    }
                    this.object_block(&fresh, body, at, &mut inner)?;
                }
                _ => {
                    (inner.this, inner.boundary) = (value, None);
                    this.block(body, &inner)?;
                }
            }
            Ok(1)
        };
        match list {
            Value::List(items) if !items.is_empty() => {
                let mut index = 0;
                while let Some(value) = items.get(index) {
                    let state = Loop { index, last: index + 1 == items.len(), key: None };
                    index += step(self, value.clone(), state)?;
                }
                Ok(())
            }
            Value::Dict(dict) if !dict.is_empty() => {
                for (index, (key, value)) in dict.iter().enumerate() {
                    let state = Loop { index, last: index + 1 == dict.len(), key: Some(key.clone()) };
                    step(self, value.clone(), state)?;
                }
                Ok(())
            }
            Value::List(_) | Value::Dict(_) | Value::Null => self.block(otherwise, scope),
            Value::Missing => {
                Err(missing(over, scope, "Write (default … (array)) around it if it may be absent"))
            }
            other => Err(EvaluationFailure::with_help(
                format!("{} is {}, which has no items", over.source(), other.describe()),
                "{{#each}} takes a list or a dict",
            )),
        }
    }

    fn is_cache_hit(&mut self, object: &Watched, body: BlockId, scope: &BlockScope<'_, 'p>) -> bool {
        let finds = |lookup: &_, found: &_, alike: &_| scope.finds(lookup, found, alike);
        self.machine.is_cache_hit(object, body, finds)
    }

    fn object_block(
        &mut self,
        object: &Watched,
        body: &'p Block,
        at: At,
        scope: &mut BlockScope<'_, 'p>,
    ) -> EvaluationResult {
        let site = self.machine.site(object, BlockId::of(body, at));
        scope.boundary = site.as_ref().map(|_| Boundary::default());
        let scope = &*scope;
        object_block(self, object, site.zip(scope.boundary.as_ref()), |me| me.block(body, scope))
    }

    fn with(
        &mut self,
        value: Value,
        of: &Expression,
        name: Option<&Arc<str>>,
        (body, otherwise): (&'p Block, Option<&'p Block>),
        at: At,
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult {
        if !value.is_true() {
            return match otherwise {
                Some(block) => self.block(block, scope),
                None if matches!(value, Value::Missing) => {
                    Err(missing(of, scope, "Give {{#with}} an {{else}} if it may be absent"))
                }
                None => Ok(()),
            };
        }
        let mut inner = scope.block(value.clone());
        inner.parameters.extend(name.map(|n| (n.clone(), value.clone())));
        match &value {
            Value::Object(object) if self.is_cache_hit(object, BlockId::of(body, at), &inner) => Ok(()),
            Value::Object(object) => self.object_block(object, body, at, &mut inner),
            _ => self.block(body, &inner),
        }
    }

    fn include(&mut self, include: &'p Include, scope: &BlockScope<'_, 'p>) -> EvaluationResult {
        let name: Arc<str> = match &include.name {
            SnippetName::Fixed(name) => name.clone(),
            SnippetName::Computed(expression) => match self.evaluate(expression, scope)? {
                Value::Text(name) => name,
                other => {
                    return Err(format!(
                        "a snippet's name is a text; {} is {}",
                        expression.source(),
                        other.describe()
                    )
                    .into());
                }
            },
        };
        let program = self.program;
        let snippet = || program.snippet(&name).map(Printed::from);
        let printed = match (scope.inline(&name).map(Printed::Block).or_else(snippet), &include.block) {
            (Some(Printed::Foreign(snippet)), Some(_)) => {
                return snippet.refuse(SnippetUse::GiveBlock).map_or(Ok(()), Err);
            }
            (Some(printed), _) => printed,
            (None, Some(fallback)) => return self.block(fallback, scope),
            (None, None) => return Err(program.unknown(&name)),
        };
        let this = match &include.context {
            Some(expression) => self.argument(expression, scope)?,
            None => scope.this.clone(),
        };
        let values = self.named(&include.values, scope)?;
        let slot = include.block.as_ref().map(|b| (b, scope));
        let mut inner = scope.partial(this, slot);
        inner.parameters = values;
        if let Some(own) = &include.block {
            // {{#> layout}}{{#*inline "part"}}…: parts defined in the block are seen by the snippet.
            own.nodes.iter().for_each(|node| {
                if let NodeKind::Inline { name, body } = &node.kind {
                    inner.define_inline(name, body);
                }
            });
        }
        self.partial(&name, printed, &include.indent, include.alone, &inner)
    }

    fn partial(
        &mut self,
        name: &Arc<str>,
        printed: Printed<'p>,
        indent: &str,
        alone: bool,
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult {
        self.machine.enter_snippet(name)?;
        let before = self.machine.output.indent(indent);
        let (result, is_empty) = match printed {
            Printed::Block(block) => (self.block(block, scope), block.nodes.is_empty()),
            Printed::Foreign(snippet) => (self.foreign(snippet, scope), false),
        };
        self.machine.output.dedent(before, alone && result.is_ok() && !is_empty);
        self.machine.leave_snippet();
        result
    }

    fn glob(
        &mut self,
        pattern: &'p Expression,
        indent: &str,
        alone: bool,
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult {
        let Value::Text(pattern) = self.argument(pattern, scope)? else {
            return Err("render_glob takes a pattern of snippet names, such as \"backend-*\""
                .to_owned()
                .into());
        };
        let program = self.program;
        for snippet in program.snippets_like(&pattern) {
            let inner = scope.partial(scope.this.clone(), None);
            self.partial(snippet.name, snippet.into(), indent, alone, &inner)?;
        }
        Ok(())
    }

    /// Prints a part of another language with the values of the names that it looks up.
    fn foreign(&mut self, snippet: Snippet<'p>, scope: &BlockScope<'_, 'p>) -> EvaluationResult {
        let mut inputs = Vec::new();
        for name in snippet.inputs {
            match scope.visible(name)? {
                Value::Missing => {}
                value => inputs.push((name, value)),
            }
        }
        self.machine.foreign(self.program, snippet, inputs)
    }

    fn assign(
        &mut self,
        declare: bool,
        values: &'p [(Arc<str>, Expression)],
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult {
        for (name, expression) in values {
            let value = self.argument(expression, scope)?;
            if declare {
                scope.declare(name, value);
            } else if !scope.change(name, |old| *old = value) {
                return Err(undeclared(name));
            }
        }
        Ok(())
    }

    fn push(
        &mut self,
        name: &Arc<str>,
        values: &'p [Expression],
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult {
        let values = values.iter().map(|v| self.argument(v, scope)).collect::<EvaluationResult<Vec<_>>>()?;
        let mut is_list = true;
        let found = scope.change(name, |variable| match variable {
            Value::List(list) => Arc::make_mut(list).extend(values),
            _ => is_list = false,
        });
        if !found {
            return Err(undeclared(name));
        }
        if is_list { Ok(()) } else { Err(format!("push: {name} is not a list").into()) }
    }

    fn evaluate(
        &mut self,
        expression: &'p Expression,
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult<Value> {
        match expression {
            Expression::Literal(value) => Ok(value.clone()),
            Expression::Path(path) => scope.lookup(path).map_err(Into::into),
            Expression::Call(call) => self.call(call, scope),
        }
    }

    /// The value of an expression that must be there.
    fn argument(
        &mut self,
        expression: &'p Expression,
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult<Value> {
        match self.evaluate(expression, scope)? {
            Value::Missing => Err(missing(expression, scope, "")),
            value => Ok(value),
        }
    }

    fn named(
        &mut self,
        values: &'p [(Arc<str>, Expression)],
        scope: &BlockScope<'_, 'p>,
    ) -> EvaluationResult<Vec<(Arc<str>, Value)>> {
        values.iter().map(|(name, e)| Ok((name.clone(), self.argument(e, scope)?))).collect()
    }

    fn call(&mut self, call: &'p CallNode, scope: &BlockScope<'_, 'p>) -> EvaluationResult<Value> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for (i, expression) in call.arguments.iter().enumerate() {
            let value = self.evaluate(expression, scope)?;
            if matches!(value, Value::Missing) && !call.function.accepts_missing(i) {
                let mut failure = missing(expression, scope, "");
                failure.message = format!("{}: {}", call.function.name, failure.message);
                if failure.help.as_deref().is_none_or(str::is_empty) {
                    failure.help = Some("Write (default … \"value\") around it if it may be absent".into());
                }
                return Err(failure);
            }
            arguments.push(value);
        }
        let named = self.named(&call.named, scope)?;
        self.machine.call(call.function, arguments, &named)
    }
}

fn undeclared(name: &str) -> Box<EvaluationFailure> {
    EvaluationFailure::with_help(
        format!("there is no variable {name:?} here"),
        format!("Declare it in this block or one around it: {{{{let {name}=…}}}}"),
    )
}

fn unprintable(value: &Value, expression: &Expression, scope: &BlockScope<'_, '_>) -> Box<EvaluationFailure> {
    let source = expression.source();
    match value {
        Value::Missing => missing(expression, scope, ""),
        Value::Null => EvaluationFailure::with_help(
            format!("{source} is null, which prints nothing"),
            format!("Write {{{{default {source} \"value\"}}}} if it may be null"),
        ),
        other => EvaluationFailure::with_help(
            format!("{source} is {}, which cannot be printed as text", other.describe()),
            "Print one of its fields, or its JSON with {{json …}}",
        ),
    }
}

/// Says how far a path leads, and what could be meant.
fn missing(expression: &Expression, scope: &BlockScope<'_, '_>, help: &str) -> Box<EvaluationFailure> {
    let Expression::Path(path) = expression else {
        return EvaluationFailure::with_help(format!("{} gives nothing", expression.source()), help);
    };
    let raw = &path.raw;
    let Some((last, before)) = path.keys.split_last() else {
        return EvaluationFailure::with_help(format!("{raw} is missing"), help);
    };
    if path.start == PathStart::Name && before.is_empty() {
        let names = scope.names();
        let hint = did_you_mean(last, names.iter().map(|n| &**n));
        let help = if scope.root_has(last) {
            format!("Inside a block, names at the top of the context are reached as @root.{raw}")
        } else {
            help.to_owned()
        };
        return EvaluationFailure::with_help(format!("{raw} is missing{hint}"), help);
    }
    // The first key that leads nowhere.
    for length in 0..path.keys.len() {
        let (Some(known), Some(next)) = (path.keys.get(..length), path.keys.get(length)) else { break };
        let prefix = Path { raw: raw.clone(), start: path.start.clone(), keys: known.to_vec() };
        let Ok(value) = scope.lookup(&prefix) else { break };
        if value.field(next).ok().flatten().is_some() || (length == 0 && scope.named(next).is_some()) {
            continue;
        }
        let what = if length == 0 {
            "the value here".to_owned()
        } else {
            known.iter().map(|k| &**k).collect::<Vec<_>>().join(".")
        };
        let hint = match value.as_dict() {
            Ok(Some(dict)) => did_you_mean(next, dict.iter().map(|(k, _)| &**k)),
            _ => String::new(),
        };
        let help = if path.start == PathStart::Name && length == 0 && scope.root_has(next) {
            format!("Inside a block, names at the top of the context are reached as @root.{raw}")
        } else {
            help.to_owned()
        };
        return EvaluationFailure::with_help(
            format!("{raw} is missing: {what} is {}, without {next:?}{hint}", value.describe()),
            help,
        );
    }
    EvaluationFailure::with_help(format!("{raw} is missing"), help)
}
