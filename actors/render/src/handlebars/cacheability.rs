//! The objects' blocks that may have to be printed in every render: how templates of this language are walked.

use super::{
    node::{Block, CallNode, Expression, Include, NodeKind, SnippetName, TemplateNode},
    path::{Path, PathStart},
};
use crate::{
    block_cache::captured::Uncacheable,
    engine::{
        position::At,
        program::{CompiledTemplate, Snippet},
    },
    evaluation::cacheability::{CacheabilityWalk, DEEPEST, Holds, LinePosition, PartPlace, join},
    value::Value,
};
use std::{cell::Cell, rc::Rc, sync::Arc};

/// The meaning of names. Blocks inside take a copy; the value of a variable is shared.
#[derive(Clone)]
struct NameScope<'p> {
    names: Vec<(Arc<str>, Rc<Cell<Holds>>)>,
    /// The objects that `this` holds, innermost last.
    these: Vec<Holds>,
    inline: Vec<(Arc<str>, &'p Block)>,
    /// The outermost object's block, if any.
    boundary: Option<ScopeBoundary>,
    /// The block given to the innermost snippet, with the scope it was given in.
    given: Option<(&'p Block, Rc<NameScope<'p>>)>,
    /// Whether that snippet was included inside the object's block.
    given_inside: bool,
    depth: usize,
}

#[derive(Clone, Copy)]
struct ScopeBoundary {
    at: At,
    names: usize,
    these: usize,
}

/// A walk over templates of this language.
struct PurityWalk<'w, 'p> {
    all: &'w mut CacheabilityWalk<'p>,
}

/// Walks a part, which sees `inputs`.
pub(crate) fn walk_part<'p>(
    all: &mut CacheabilityWalk<'p>,
    block: &'p Block,
    inputs: Vec<(&'p Arc<str>, Holds)>,
    place: PartPlace,
) -> LinePosition {
    let mut scope = NameScope::top();
    scope.boundary = place.block.map(|at| ScopeBoundary { at, names: 0, these: 0 });
    scope.depth = place.depth;
    let named = |(name, holds): (&Arc<str>, Holds)| (name.clone(), Rc::new(Cell::new(holds)));
    scope.names.extend(inputs.into_iter().map(named));
    PurityWalk { all }.block(block, &mut scope, place.line)
}

fn own_block(snippet: Snippet<'_>) -> Option<&Block> {
    match snippet.part {
        CompiledTemplate::Handlebars(block) => Some(block),
        CompiledTemplate::Jinja2(_) => None,
    }
}

impl<'p> PurityWalk<'_, 'p> {
    fn block(&mut self, block: &'p Block, scope: &mut NameScope<'p>, line: LinePosition) -> LinePosition {
        if !self.all.goes_on(block.nodes.len()) {
            return LinePosition::Inside;
        }
        block.nodes.iter().fold(line, |line, node| self.node(node, scope, line))
    }

    fn node(
        &mut self,
        node: &'p TemplateNode,
        scope: &mut NameScope<'p>,
        line: LinePosition,
    ) -> LinePosition {
        match &node.kind {
            NodeKind::Text(segments) => match segments.iter().rev().find(|s| !s.text.is_empty()) {
                Some(last) if last.text.ends_with('\n') => LinePosition::Between,
                Some(_) => LinePosition::Inside,
                None => line,
            },
            NodeKind::Print { expression, .. } => {
                self.reads(expression, scope);
                LinePosition::Inside
            }
            NodeKind::Run(expression) => {
                self.reads(expression, scope);
                line
            }
            NodeKind::Assign { declare, values } => {
                for (name, expression) in values {
                    let holds = self.reads(expression, scope);
                    if *declare {
                        scope.names.push((name.clone(), Rc::new(Cell::new(holds))));
                    } else {
                        self.changes(name, holds, scope);
                    }
                }
                line
            }
            NodeKind::Push { variable, values } => {
                for value in values {
                    let holds = match self.reads(value, scope) {
                        Holds::Nothing => Holds::Nothing,
                        Holds::Object => Holds::List,
                        _ => Holds::Deep,
                    };
                    self.changes(variable, holds, scope);
                }
                line
            }
            NodeKind::If { test, body, otherwise, .. } => {
                self.reads(test, scope);
                let ends = [self.block(body, scope, line), self.block(otherwise, scope, line)];
                join(ends)
            }
            NodeKind::Each { over, item, index, body, otherwise } => {
                let holds = self.reads(over, scope);
                let item_holds = match holds {
                    Holds::List => Holds::Object,
                    other => other,
                };
                let named =
                    [item.as_ref().map(|n| (n, item_holds)), index.as_ref().map(|n| (n, Holds::Nothing))];
                let mut end = line;
                // Twice: what one step leaves behind is what the next one finds.
                for _ in 0..2 {
                    let step = self.step(body, &named, item_holds, node.at, scope, end);
                    end = join([end, step]);
                }
                let empty = self.block(otherwise, scope, line);
                join([end, empty])
            }
            NodeKind::With { of, name, body, otherwise } => {
                let holds = self.reads(of, scope);
                let end =
                    self.step(body, &[name.as_ref().map(|n| (n, holds)), None], holds, node.at, scope, line);
                let missing = otherwise.as_ref().map_or(line, |block| self.block(block, scope, line));
                join([end, missing])
            }
            NodeKind::Include(include) => self.include(include, scope, line),
            NodeKind::Slot => self.given(scope, line),
            NodeKind::Glob { pattern, alone, .. } => {
                self.reads(pattern, scope);
                self.glob(pattern, *alone, scope, line)
            }
            NodeKind::Inline { name, body } => {
                scope.inline.push((name.clone(), body));
                line
            }
        }
    }

    /// A block with an item of its own, which may be an object.
    fn step(
        &mut self,
        body: &'p Block,
        named: &[Option<(&Arc<str>, Holds)>; 2],
        item: Holds,
        at: At,
        scope: &NameScope<'p>,
        line: LinePosition,
    ) -> LinePosition {
        let bound = |object: bool| {
            let mut inner = scope.clone();
            let mut names =
                named.iter().flatten().map(|(n, holds)| ((*n).clone(), Rc::new(Cell::new(*holds))));
            inner.names.extend(names.next());
            if object {
                inner.boundary =
                    Some(ScopeBoundary { at, names: scope.names.len(), these: scope.these.len() });
                inner.given_inside = false;
            }
            inner.names.extend(names);
            inner.these.push(item);
            inner
        };
        let first = scope.boundary.is_none();
        let mut ends = Vec::new();
        if item == Holds::Nothing || item == Holds::Deep || !first {
            ends.push(self.block(body, &mut bound(false), line));
        }
        if first && item >= Holds::Object {
            let mut inner = bound(true);
            let end = self.block(body, &mut inner, line);
            if self.all.captures > 0 || [line, end].contains(&LinePosition::Inside) {
                self.report(&inner, Uncacheable::InsideLine);
            }
            ends.push(end);
        }
        join(ends)
    }

    fn include(
        &mut self,
        include: &'p Include,
        scope: &mut NameScope<'p>,
        line: LinePosition,
    ) -> LinePosition {
        let this = match &include.context {
            Some(context) => self.reads(context, scope),
            None => scope.these.last().copied().unwrap_or(Holds::Nothing),
        };
        let mut values = Vec::new();
        for (name, expression) in &include.values {
            values.push((name.clone(), Rc::new(Cell::new(self.reads(expression, scope)))));
        }
        let name = match &include.name {
            SnippetName::Fixed(name) => Some(name),
            SnippetName::Computed(expression) => {
                self.reads(expression, scope);
                None
            }
        };
        if scope.depth >= DEEPEST {
            return LinePosition::Inside;
        }
        // A snippet defined here or there, or any at all if the name is computed.
        let program = self.all.program;
        let fits = |known: &str| name.is_none_or(|name| **name == *known);
        let inline = scope.inline.iter().filter(|(known, _)| fits(known)).map(|(_, block)| *block);
        let shared = program.snippets_like("*").filter(|snippet| fits(snippet.name));
        let (shared, foreign): (Vec<_>, Vec<_>) = shared.partition(|snippet| own_block(*snippet).is_some());
        let shared = shared.into_iter().filter_map(own_block);
        let blocks: Vec<&'p Block> = inline.chain(shared).collect();
        let mut ends = Vec::new();
        for block in blocks {
            let mut inner = scope.partial(this, include.block.as_ref());
            inner.names.extend(values.iter().cloned());
            let own = include.block.iter().flat_map(|block| &block.nodes);
            inner.inline.extend(own.filter_map(|node| match &node.kind {
                NodeKind::Inline { name, body } => Some((name.clone(), body)),
                _ => None,
            }));
            let end = self.block(block, &mut inner, line);
            ends.push(if include.alone && !block.nodes.is_empty() { LinePosition::Between } else { end });
        }
        if let Some(fallback) = &include.block {
            ends.push(self.block(fallback, scope, line));
        }
        for snippet in foreign {
            let mut inner = scope.partial(this, None);
            inner.names.extend(values.iter().cloned());
            ends.push(self.foreign(snippet, include.alone, &inner, line));
        }
        join(ends)
    }

    /// A part of another language looks up its inputs here.
    fn foreign(
        &mut self,
        snippet: Snippet<'p>,
        alone: bool,
        scope: &NameScope<'p>,
        line: LinePosition,
    ) -> LinePosition {
        let mut inputs = Vec::new();
        for name in snippet.inputs {
            let path = Path { raw: name.clone(), start: PathStart::Name, keys: vec![name.clone()] };
            inputs.push((name, self.path(&path, scope)));
        }
        let block = scope.boundary.map(|boundary| boundary.at);
        let end = self.all.foreign(snippet, inputs, PartPlace { block, line, depth: scope.depth });
        if alone { LinePosition::Between } else { end }
    }

    fn glob(
        &mut self,
        pattern: &Expression,
        alone: bool,
        scope: &NameScope<'p>,
        line: LinePosition,
    ) -> LinePosition {
        if scope.depth >= DEEPEST {
            return LinePosition::Inside;
        }
        let program = self.all.program;
        let this = scope.these.last().copied().unwrap_or(Holds::Nothing);
        let mut line = line;
        let pattern = match pattern {
            Expression::Literal(Value::Text(pattern)) => pattern,
            _ => "*",
        };
        for snippet in program.snippets_like(pattern) {
            if let Some(block) = own_block(snippet) {
                let end = self.block(block, &mut scope.partial(this, None), line);
                line =
                    if alone && !block.nodes.is_empty() { LinePosition::Between } else { join([line, end]) };
            } else {
                line = self.foreign(snippet, alone, &scope.partial(this, None), line);
            }
        }
        line
    }

    fn given(&mut self, scope: &mut NameScope<'p>, line: LinePosition) -> LinePosition {
        if scope.boundary.is_some() && !scope.given_inside {
            self.report(scope, Uncacheable::GivenBlock);
        }
        let Some((block, outer)) = scope.given.clone().filter(|_| scope.depth < DEEPEST) else {
            return LinePosition::Inside;
        };
        let mut outer = (*outer).clone();
        outer.depth = scope.depth + 1;
        self.block(block, &mut outer, line)
    }

    fn changes(&mut self, name: &str, holds: Holds, scope: &NameScope<'p>) {
        for (number, (known, held)) in scope.names.iter().enumerate() {
            if **known == *name {
                held.set(held.get().max(holds));
                if scope.boundary.is_some_and(|boundary| number < boundary.names) {
                    self.report(scope, Uncacheable::OuterVariable);
                }
            }
        }
    }

    /// The objects that an expression may hold, after a look at all it reads.
    fn reads(&mut self, expression: &Expression, scope: &NameScope<'p>) -> Holds {
        match expression {
            Expression::Literal(_) => Holds::Nothing,
            Expression::Path(path) => self.path(path, scope),
            Expression::Call(call) => self.call(call, scope),
        }
    }

    fn path(&mut self, path: &Path, scope: &NameScope<'p>) -> Holds {
        let keys = path.keys.len();
        match &path.start {
            PathStart::Root | PathStart::Local { .. } => Holds::Nothing,
            PathStart::This { up } => {
                let number = scope.these.len().checked_sub(up + 1);
                let holds = number.and_then(|n| scope.these.get(n)).copied().unwrap_or(Holds::Deep);
                let beyond = scope.boundary.is_some_and(|boundary| number.is_none_or(|n| n < boundary.these));
                self.seen(holds, beyond, scope);
                below(holds, keys)
            }
            PathStart::Name => {
                let this = scope.these.last().copied().unwrap_or(Holds::Nothing);
                let Some(first) = path.keys.first() else { return this };
                let mut holds = below(this, keys);
                for (number, (name, held)) in scope.names.iter().enumerate() {
                    if name == first {
                        let beyond = scope.boundary.is_some_and(|boundary| number < boundary.names);
                        self.seen(held.get(), beyond, scope);
                        holds = holds.max(below(held.get(), keys - 1));
                    }
                }
                holds
            }
        }
    }

    fn seen(&mut self, holds: Holds, beyond: bool, scope: &NameScope<'p>) {
        if beyond && holds >= Holds::List {
            self.report(scope, Uncacheable::OuterObjects);
        }
    }

    fn call(&mut self, call: &CallNode, scope: &NameScope<'p>) -> Holds {
        let mut most = Holds::Nothing;
        let named = call.named.iter().map(|(_, expression)| expression);
        for expression in call.arguments.iter().chain(named) {
            most = most.max(self.reads(expression, scope));
        }
        if call.function.name == "once" {
            self.report(scope, Uncacheable::Once);
        }
        Holds::given_by(call.function, most)
    }

    fn report(&mut self, scope: &NameScope<'p>, why: Uncacheable) {
        if let Some(boundary) = scope.boundary {
            self.all.report(boundary.at, why);
        }
    }
}

impl<'p> NameScope<'p> {
    fn top() -> Self {
        Self {
            names: Vec::new(),
            these: vec![Holds::Nothing],
            inline: Vec::new(),
            boundary: None,
            given: None,
            given_inside: false,
            depth: 0,
        }
    }

    fn partial(&self, this: Holds, given: Option<&'p Block>) -> Self {
        let mut inner = self.clone();
        inner.these.push(this);
        inner.given = given.map(|block| (block, Rc::new(self.clone())));
        inner.given_inside = self.boundary.is_some();
        inner.depth += 1;
        inner
    }
}

fn below(holds: Holds, keys: usize) -> Holds {
    match (holds, keys) {
        (holds, 0) => holds,
        (Holds::List, 1) => Holds::Object,
        (Holds::Deep, _) => Holds::Deep,
        _ => Holds::Nothing,
    }
}
