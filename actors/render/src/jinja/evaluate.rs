//! Walks a template's nodes and prints.

use super::{
    lines::{self, NextText},
    looping::{LoopItems, LoopState, watched},
    node::{
        CallArgument, ExpressionKind, For, IncludeOptions, JinjaExpression, JinjaNode, Kind, NamedBlock,
        Target,
    },
    operand::{Closure, Grown, Module, Operand},
    scope::ScopeStack,
};
use crate::{
    block_cache::captured::{Boundary, Uncacheable},
    engine::{
        position::{At, Segment},
        program::{CompiledTemplate, Program, Snippet, SnippetUse},
    },
    evaluation::{self, EvaluationFailure, EvaluationResult, LanguageEvaluator, Machine, object_block},
    output::framing,
    value::{Value, watched::Watched},
};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

/// Renders one file.
pub(super) struct JinjaEvaluator<'m, 'p> {
    program: &'p Program,
    pub machine: &'m mut Machine<'p>,
    pub frames: ScopeStack<'p>,
    /// The bodies that are printed in place of blocks: for each name those of the templates that have it, innermost first.
    blocks: Vec<(&'p str, Vec<&'p NamedBlock>)>,
    /// The block being printed, and how many templates further out `super()` has led.
    pub printing: Vec<(&'p str, usize)>,
    /// The template that the one being printed extends.
    extended: Option<u16>,
    /// The value that a filter without a subject is applied to.
    pub subject: Operand<'p>,
    /// Line ends that are printed by another than their own text.
    line_ends: LineEnds,
    grown: Grown<'p>,
}

/// A loop over objects whose blocks begin with a line end prints it before the first one, and each block the next one's,
/// the last one that of the text behind the loop: then blocks are whole lines, which can be kept.
#[derive(Clone, Copy, Debug, Default)]
struct LineEnds {
    /// The next text begins with one that the loop before it has printed.
    printed: bool,
    /// The block being printed has not come to its own.
    awaited: bool,
    /// The text behind the node being printed.
    next: NextText,
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    Break,
    Continue,
}

impl<'p> LanguageEvaluator<'p> for JinjaEvaluator<'_, 'p> {
    fn machine(&mut self) -> &mut Machine<'p> {
        self.machine
    }
}

impl<'m, 'p> JinjaEvaluator<'m, 'p> {
    pub fn new(program: &'p Program, machine: &'m mut Machine<'p>) -> Self {
        let (frames, blocks, printing) = (ScopeStack::new(), Vec::new(), Vec::new());
        Self {
            program,
            machine,
            frames,
            blocks,
            printing,
            extended: None,
            subject: Operand::UNDEFINED,
            line_ends: LineEnds::default(),
            grown: Grown::default(),
        }
    }

    /// `item` is put into `of`.
    pub fn keep(&mut self, item: &Operand<'p>, of: &Operand<'p>) {
        self.grown.note(item, of);
    }

    /// Prints a file's template, behind which stands `next`.
    pub fn file(&mut self, number: u16, next: NextText) -> EvaluationResult {
        self.line_ends.next = next;
        self.template(number)
    }

    /// Prints a template, or what it extends with its blocks in place.
    pub fn template(&mut self, number: u16) -> EvaluationResult {
        let mut next = Some(number);
        let mut extends = 0;
        while let Some(number) = next {
            extends += 1;
            let Some(tree) = self.program.tree(number) else { break };
            let extending = tree.extending();
            if extends > self.machine.limits.depth {
                let failure = "templates extend one another without an end".to_owned().into();
                return Err(match extending.and_then(|(_, rest)| rest.first()) {
                    Some(node) => self.machine.failed(failure, node.at),
                    None => failure,
                });
            }
            for (name, block) in &tree.blocks {
                match self.blocks.iter_mut().find(|(known, _)| *known == &**name) {
                    Some((_, bodies)) => bodies.push(block),
                    None => self.blocks.push((name, vec![block])),
                }
            }
            self.extended = None;
            if let Some((before, rest)) = extending {
                self.body(before)?;
                self.capture(|me| me.body(rest))?;
            } else {
                self.last_body(&tree.body)?;
            }
            next = self.extended.take();
        }
        Ok(())
    }

    /// A template of its own: its blocks are not those of the one that it is printed in.
    fn inner_template(&mut self, number: u16) -> EvaluationResult {
        let blocks = std::mem::take(&mut self.blocks);
        let printing = std::mem::take(&mut self.printing);
        let extended = self.extended.take();
        let result = self.template(number);
        (self.blocks, self.printing, self.extended) = (blocks, printing, extended);
        result
    }

    /// Prints nodes, whatever stands behind them.
    pub fn body(&mut self, body: &'p [JinjaNode]) -> EvaluationResult<Flow> {
        self.in_front_of(NextText::Other, |me| me.last_body(body))
    }

    /// Prints nodes behind which stands what stands behind the node being printed.
    fn last_body(&mut self, body: &'p [JinjaNode]) -> EvaluationResult<Flow> {
        let next = self.line_ends.next;
        self.in_front_of(next, |me| me.nodes(body, next))
    }

    fn in_front_of<T>(
        &mut self,
        next: NextText,
        print: impl FnOnce(&mut Self) -> EvaluationResult<T>,
    ) -> EvaluationResult<T> {
        let before = std::mem::replace(&mut self.line_ends.next, next);
        let result = print(self);
        self.line_ends.next = before;
        result
    }

    fn nodes(&mut self, body: &'p [JinjaNode], last: NextText) -> EvaluationResult<Flow> {
        for (number, node) in body.iter().enumerate() {
            if let Kind::Text(segments) = &node.kind {
                self.text(segments);
                continue;
            }
            self.line_ends.next = body.get(number + 1).map_or(last, NextText::of);
            match self.node(node).map_err(|failure| self.machine.failed(failure, node.at))? {
                Flow::On => {}
                flow => return Ok(flow),
            }
        }
        self.machine.tick()?;
        Ok(Flow::On)
    }

    fn text(&mut self, segments: &[Segment]) {
        if segments.is_empty() {
            return;
        }
        let ends = &mut self.line_ends;
        let is_elsewhere = std::mem::take(if ends.printed { &mut ends.printed } else { &mut ends.awaited });
        let (_, rest) = segments.split_at(usize::from(is_elsewhere));
        self.machine.text(rest);
    }

    fn node(&mut self, node: &'p JinjaNode) -> EvaluationResult<Flow> {
        match &node.kind {
            Kind::Text(segments) => self.text(segments),
            Kind::Print(expression) => {
                let value = self.evaluate(expression)?;
                self.print(&value, expression, node.at)?;
            }
            Kind::Glob { pattern, indent } => self.glob(pattern, indent)?,
            Kind::Do(expression) => _ = self.said_at(node.at, |me| me.evaluate(expression))?,
            Kind::If { test, body, otherwise } => {
                let is_true = self.evaluate(test)?.is_true();
                return self.last_body(if is_true { body } else { otherwise });
            }
            Kind::For(for_loop) => self.for_loop(for_loop, node.at)?,
            Kind::With { values, body } => {
                let mut evaluated = Vec::with_capacity(values.len());
                for (target, value) in values {
                    evaluated.push((target, self.evaluate(value)?));
                }
                return self.within(ScopeStack::enter, |me| {
                    for (target, value) in evaluated {
                        me.assign(target, value)?;
                    }
                    me.last_body(body)
                });
            }
            Kind::Set { target, value } => {
                let value = self.said_at(node.at, |me| me.evaluate(value))?;
                self.assign(target, value)?;
            }
            Kind::SetBlock { target, filter, body } => {
                let mut value = Operand::Markup(
                    self.capture(|me| me.within(ScopeStack::enter, |me| me.body(body)))?.into(),
                );
                if let Some(filter) = filter {
                    value = self.filtered(value, filter)?;
                }
                self.assign(target, value)?;
            }
            Kind::Filter { filter, body } => {
                let value = Operand::Markup(
                    self.capture(|me| me.within(ScopeStack::enter, |me| me.body(body)))?.into(),
                );
                let value = self.filtered(value, filter)?;
                self.print(&value, filter, node.at)?;
            }
            Kind::Macro(code) => {
                let closure = Closure { code, home: self.frames.home() };
                self.frames.set(&code.name, Operand::Macro(closure));
            }
            Kind::Call { call, caller } => {
                let caller = Closure { code: caller, home: self.frames.home() };
                let value = self.call_with(call, Some(caller))?;
                self.print(&value, call, node.at)?;
            }
            Kind::Include { name, options } => self.include(name, *options)?,
            Kind::Import { template, name, with_context } => {
                let module = self.import(template, *with_context)?;
                self.frames.set(name, Operand::Module(module));
            }
            Kind::From { template, names, with_context } => {
                let module = Operand::Module(self.import(template, *with_context)?);
                for (name, other) in names {
                    let value = module.field(name)?.unwrap_or(Operand::UNDEFINED);
                    self.frames.set(other, value);
                }
            }
            Kind::Extends(expression) => {
                self.extended = Some(self.extendable(expression)?.number);
            }
            Kind::Block(name) if self.extended.is_none() => self.block(name, 0)?,
            Kind::Block(_) => {}
            Kind::Break => return Ok(Flow::Break),
            Kind::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    /// Places warnings that are made meanwhile.
    fn said_at<T>(
        &mut self,
        at: At,
        say: impl FnOnce(&mut Self) -> EvaluationResult<T>,
    ) -> EvaluationResult<T> {
        let before = self.machine.session.said();
        let result = say(self);
        self.machine.place_said(before, at);
        result
    }

    /// In a scope that ends whatever happens.
    pub fn within<T>(
        &mut self,
        enter: impl FnOnce(&mut ScopeStack<'p>),
        inside: impl FnOnce(&mut Self) -> EvaluationResult<T>,
    ) -> EvaluationResult<T> {
        let length = self.frames.len();
        enter(&mut self.frames);
        let result = inside(self);
        self.frames.leave_to(length);
        result
    }

    /// The text that is printed meanwhile, framed.
    pub fn capture<T>(
        &mut self,
        print: impl FnOnce(&mut Self) -> EvaluationResult<T>,
    ) -> EvaluationResult<String> {
        let line_ends = std::mem::take(&mut self.line_ends);
        let before = self.machine.output.begin_capture();
        let result = print(self);
        let text = self.machine.output.end_capture(before);
        self.line_ends = line_ends;
        result?;
        self.machine.made(text.len())?;
        Ok(text)
    }

    fn filtered(&mut self, value: Operand<'p>, filter: &'p JinjaExpression) -> EvaluationResult<Operand<'p>> {
        let before = std::mem::replace(&mut self.subject, value);
        let result = self.evaluate(filter);
        self.subject = before;
        result
    }

    fn print(&mut self, value: &Operand<'p>, expression: &JinjaExpression, at: At) -> EvaluationResult {
        match value {
            Operand::Markup(text) => self.machine.output.markup(text, at.place()),
            Operand::Value(Value::Text(_) | Value::Secret(_)) => {
                let Operand::Value(value) = value else { return Ok(()) };
                self.machine.print(value, framing::VALUE, at)?;
            }
            other => match other.printed() {
                Some(text) => self.machine.output.value(&text, framing::VALUE, at.place())?,
                None => return Err(self.unprintable(other, expression)),
            },
        }
        Ok(())
    }

    pub fn assign(&mut self, target: &'p Target, value: Operand<'p>) -> EvaluationResult {
        match target {
            Target::Name(name) => self.frames.set(name, value),
            Target::Field(name, field) => match self.frames.lookup(name, None)? {
                Some(Operand::Dict(namespace)) if namespace.is_namespace => {
                    self.frames.changes(namespace.born);
                    self.keep(&value, &Operand::Dict(namespace.clone()));
                    namespace.entries.borrow_mut().set(super::keys::DictKey::of_text(field), value);
                    self.machine.made(32)?;
                }
                _ => {
                    return Err(EvaluationFailure::with_help(
                        format!("{name} is no namespace"),
                        format!("Declare it: {{% set {name} = namespace() %}}"),
                    ));
                }
            },
            Target::Each(targets) => {
                let items = self.items(&value)?;
                if items.len() != targets.len() {
                    let (has, wanted) = (items.len(), targets.len());
                    return Err(
                        format!("{} has {has} items, here {wanted} are named", value.describe()).into()
                    );
                }
                for (target, item) in targets.iter().zip(items) {
                    self.assign(target, item)?;
                }
            }
        }
        Ok(())
    }

    fn for_loop(&mut self, code: &'p For, at: At) -> EvaluationResult {
        let items = self.looped(&code.over)?;
        self.for_items(code, items, at, 0)
    }

    /// The items that a loop over an expression runs over.
    fn looped(&mut self, over: &'p JinjaExpression) -> EvaluationResult<LoopItems<'p>> {
        if let Some(of) = has_items(over)
            && let Operand::Store(name) = self.evaluate(of)?
        {
            let objects = self.machine.session.objects(&name, [].into());
            let objects = objects.map_err(|why| Box::<EvaluationFailure>::from(why).at(over.at))?;
            self.machine.output.hold(self.machine.session.take_held());
            if let Value::List(objects) = objects {
                return Ok(LoopItems::Pairs(objects));
            }
        }
        let value = self.evaluate(over)?;
        if value.is_undefined() {
            return Err(self.missing(over, "Write … | default([]) if it may be absent"));
        }
        self.loop_items(&value)
    }

    pub fn loop_items(&mut self, over: &Operand<'p>) -> EvaluationResult<LoopItems<'p>> {
        Ok(match over {
            Operand::Value(Value::List(values)) => {
                self.machine.made(values.len() * size_of::<Value>())?;
                LoopItems::Values(values.clone())
            }
            other => LoopItems::Operands(self.items(other)?),
        })
    }

    /// Runs a loop; `depth` counts the same loop around it.
    pub fn for_items(
        &mut self,
        code: &'p For,
        mut items: LoopItems<'p>,
        at: At,
        depth: usize,
    ) -> EvaluationResult {
        let home = code.recursive.then_some((code, at));
        if let Some(test) = &code.test {
            let mut kept = Vec::new();
            for item in (0..items.len()).filter_map(|index| items.get(index)) {
                self.machine.tick()?;
                // The list that all of them are in holds none of them parsed.
                let fresh = watched(&item).map(|object| object.fresh());
                let given = fresh.map_or_else(|| item.clone(), |fresh| with_object(item.clone(), fresh));
                let fits = self.within(ScopeStack::enter, |me| {
                    me.assign(&code.target, given)?;
                    Ok(me.evaluate(test)?.is_true())
                })?;
                if fits {
                    kept.push(item);
                }
            }
            items = LoopItems::Operands(kept);
        }
        if items.len() == 0 {
            self.within(ScopeStack::enter, |me| me.body(&code.otherwise))?;
            return Ok(());
        }
        let is_outermost =
            || self.machine.session.owner().is_none() && items.objects().any(|object| object.is_some());
        let moves_line_ends = self.line_ends.next == NextText::LineEnd
            && !self.line_ends.awaited
            && is_outermost()
            && lines::lead(self.program, &code.body);
        let last = RefCell::new(None);
        let state = Rc::new(LoopState { items, index: Cell::new(0), depth, last, recursive: home });
        if moves_line_ends {
            self.machine.output.line_end(at.place());
        }
        let body = evaluation::BlockId::of(&code.body, at);
        let objects = match code.target.is_local() {
            true => self.machine.objects_of(body, state.items.list(), state.items.objects()),
            false => None,
        };
        let objects = objects.as_ref().map_or(&[] as &[usize], |all| all.as_slice());
        self.within(ScopeStack::enter, |me| {
            let mut index = 0;
            while let Some(item) = state.items.get(index) {
                state.index.set(index);
                me.frames.forget();
                me.frames.set("loop", Operand::Loop(state.clone()));
                let rest = objects.get(index..).unwrap_or_default();
                if let Some(steps) = me.group_hit(code, &item, rest, body)? {
                    index += steps;
                    continue;
                }
                index += 1;
                if me.step(code, item, at, moves_line_ends)? == Flow::Break {
                    break;
                }
            }
            Ok(())
        })?;
        self.line_ends.printed |= moves_line_ends;
        Ok(())
    }

    /// The number of steps of a loop that are printed again at once.
    fn group_hit(
        &mut self,
        code: &'p For,
        item: &Operand<'p>,
        objects: &[usize],
        body: evaluation::BlockId,
    ) -> EvaluationResult<Option<usize>> {
        // What is printed may depend on what was printed before, if that had no line end yet.
        if objects.is_empty() || self.line_ends.awaited {
            return Ok(None);
        }
        self.assign(&code.target, item.clone())?;
        let frames = &self.frames;
        let finds = |lookup: &_, found: &_, alike: &_| frames.finds(lookup, found, alike);
        Ok(self.machine.group_hit(objects, body, finds))
    }

    fn step_body(&mut self, code: &'p For, at: At, moves_line_ends: bool) -> EvaluationResult<Flow> {
        if !moves_line_ends {
            return self.body(&code.body);
        }
        self.line_ends.awaited = true;
        let result = self.body(&code.body);
        let has_come = !std::mem::take(&mut self.line_ends.awaited);
        if has_come && result.is_ok() {
            self.machine.output.line_end(at.place());
        }
        result
    }

    /// One step of a loop; that of a watched object is a block of its own.
    fn step(&mut self, code: &'p For, item: Operand<'p>, at: At, moves: bool) -> EvaluationResult<Flow> {
        let Some(object) = watched(&item).cloned() else {
            self.assign(&code.target, item)?;
            return self.step_body(code, at, moves);
        };
        self.assign(&code.target, item.clone())?;
        let body = evaluation::BlockId::of(&code.body, at);
        let frames = &self.frames;
        // What it prints depends on what was printed before, if that had no line end yet.
        let awaits = self.line_ends.awaited;
        if !awaits
            && self
                .machine
                .is_cache_hit(&object, body, |lookup, found, alike| frames.finds(lookup, found, alike))
        {
            return Ok(Flow::On);
        }
        let fresh = self.machine.session.recent(&object);
        self.assign(&code.target, with_object(item, fresh.clone()))?;
        let site = self.machine.site(&object, body);
        let boundary = site.as_ref().map(|_| Rc::new(Boundary::default()));
        let mut flow = Flow::On;
        let length = self.frames.len();
        self.frames.enter_object(boundary.clone());
        // A block in another one's begins where that one does.
        if awaits && boundary.is_some() {
            self.frames.refuse(Uncacheable::InsideLine);
        }
        let result = object_block(self, &fresh, site.zip(boundary.as_deref()), |me| {
            flow = me.step_body(code, at, moves)?;
            if flow == Flow::Break {
                me.frames.refuse(Uncacheable::OuterVariable);
            }
            Ok(())
        });
        self.frames.leave_to(length);
        result?;
        Ok(flow)
    }

    /// The snippet of that name, or the first that is there of those in a list.
    fn snippet_of(
        &mut self,
        expression: &'p JinjaExpression,
    ) -> EvaluationResult<Result<Snippet<'p>, Arc<str>>> {
        let name = self.evaluate(expression)?;
        let names = match name.is_text() {
            true => vec![name],
            false => self.items(&name)?,
        };
        let mut last = None;
        for name in names {
            let Some(name) = name.printed().filter(|_| name.is_text()) else {
                return Err(format!("a snippet's name is a text, this is {}", name.describe()).into());
            };
            if let Some(snippet) = self.program.snippet(&name) {
                return Ok(Ok(snippet));
            }
            last = Some(name);
        }
        Ok(Err(last.unwrap_or_default()))
    }

    /// A snippet that can be extended or imported.
    fn extendable(&mut self, expression: &'p JinjaExpression) -> EvaluationResult<Snippet<'p>> {
        let snippet = self.snippet_of(expression)?.map_err(|name| self.program.unknown(&name))?;
        snippet.refuse(SnippetUse::Extend).map_or(Ok(snippet), Err)
    }

    fn include(&mut self, name: &'p JinjaExpression, options: IncludeOptions) -> EvaluationResult {
        let snippet = match self.snippet_of(name)? {
            Ok(snippet) => snippet,
            Err(_) if options.ignores_missing => return Ok(()),
            Err(name) => return Err(self.program.unknown(&name)),
        };
        self.snippet(snippet, options.with_context)
    }

    fn glob(&mut self, pattern: &'p JinjaExpression, indent: &str) -> EvaluationResult {
        let pattern = self.evaluate(pattern)?;
        let Some(pattern) = pattern.printed().filter(|_| pattern.is_text()) else {
            return Err("render_glob takes a pattern of snippet names, such as \"backend-*\""
                .to_owned()
                .into());
        };
        for snippet in self.program.snippets_like(&pattern) {
            let before = self.machine.output.indent(indent);
            let result = self.in_front_of(NextText::Other, |me| me.snippet(snippet, true));
            self.machine.output.dedent(before, result.is_ok());
            result?;
        }
        Ok(())
    }

    fn snippet(&mut self, snippet: Snippet<'p>, with_context: bool) -> EvaluationResult {
        self.machine.enter_snippet(snippet.name)?;
        match snippet.part {
            CompiledTemplate::Handlebars(_) => self.foreign(snippet, with_context)?,
            CompiledTemplate::Jinja2(_) => {
                self.within(entering(with_context), |me| me.inner_template(snippet.number))?;
            }
        }
        self.machine.leave_snippet();
        Ok(())
    }

    /// Prints a part of another language with the values of the names that it looks up.
    fn foreign(&mut self, snippet: Snippet<'p>, with_context: bool) -> EvaluationResult {
        let mut inputs = Vec::new();
        for name in snippet.inputs.iter().filter(|_| with_context) {
            if let Some(Ok(value)) = self.frames.lookup(name, None)?.map(|found| found.value()) {
                inputs.push((name, value));
            }
        }
        self.machine.foreign(self.program, snippet, inputs)
    }

    fn import(
        &mut self,
        template: &'p JinjaExpression,
        with_context: bool,
    ) -> EvaluationResult<Rc<Module<'p>>> {
        let Snippet { name, number, .. } = self.extendable(template)?;
        self.machine.enter_snippet(name)?;
        let mut names = Vec::new();
        self.capture(|me| {
            me.within(entering(with_context), |me| {
                me.inner_template(number)?;
                names = me.frames.take_names();
                Ok(())
            })
        })?;
        self.machine.leave_snippet();
        let home = with_context.then(|| self.frames.home());
        Ok(Rc::new(Module { template: number, names, home }))
    }

    /// Prints a block, `further` templates out from the innermost that has it.
    pub fn block(&mut self, name: &'p str, further: usize) -> EvaluationResult {
        let bodies = self.blocks.iter().find(|(known, _)| *known == name);
        let Some(block) = bodies.and_then(|(_, bodies)| bodies.get(further)).copied() else {
            return Err(format!("there is no block {name:?} further out").into());
        };
        if block.required {
            return Err(
                format!("the block {name:?} must be replaced by a template that extends this one").into()
            );
        }
        if self.printing.len() > self.machine.limits.depth {
            return Err(format!("the block {name:?} prints itself").into());
        }
        self.printing.push((name, further));
        let result = self.within(ScopeStack::enter, |me| me.body(&block.body));
        self.printing.pop();
        result?;
        Ok(())
    }
}

fn entering<'p>(with_context: bool) -> fn(&mut ScopeStack<'p>) {
    if with_context { ScopeStack::enter_template } else { ScopeStack::enter_alone }
}

/// The resource, if it is one, whose objects an expression asks for with their keys. It is asked only where that changes nothing.
fn has_items(over: &JinjaExpression) -> Option<&JinjaExpression> {
    let ExpressionKind::Call(callee, arguments) = &over.kind else { return None };
    let ExpressionKind::Field(of, method) = &callee.kind else { return None };
    (arguments.is_empty() && &**method == "items" && is_plain(of)).then_some(of)
}

/// Whether an expression only looks something up.
fn is_plain(of: &JinjaExpression) -> bool {
    match &of.kind {
        ExpressionKind::Text(_) | ExpressionKind::Literal(_) | ExpressionKind::Name(_) => true,
        ExpressionKind::Dict(pairs) => pairs.is_empty(),
        ExpressionKind::Field(of, _) => is_plain(of),
        ExpressionKind::Call(callee, arguments) => {
            let is_get = matches!(&callee.kind, ExpressionKind::Field(of, method) if &**method == "get" && is_plain(of));
            is_get
                && arguments.iter().all(|given| matches!(given, CallArgument::One(given) if is_plain(given)))
        }
        _ => false,
    }
}

/// The item with another handle of its object.
fn with_object<'p>(item: Operand<'p>, object: Arc<Watched>) -> Operand<'p> {
    match &item {
        Operand::Tuple(items) => match &**items {
            [first, _] => Operand::Tuple([first.clone(), Operand::Value(Value::Object(object))].into()),
            _ => item,
        },
        _ => Operand::Value(Value::Object(object)),
    }
}
