//! The objects' blocks that may have to be printed in every render: how templates of this language are walked.

mod expression;

use super::{
    lines::{self, NextText},
    node::{ExpressionKind, For, JinjaExpression, JinjaNode, Kind, Macro, NamedBlock, Target},
    possible::{Callable, Possible, PossibleScope},
};
use crate::{
    block_cache::captured::Uncacheable,
    engine::{
        position::At,
        program::{CompiledTemplate, Snippet},
    },
    evaluation::cacheability::{CacheabilityWalk, DEEPEST, Holds, LinePosition, PartPlace, join},
};
use std::{rc::Rc, sync::Arc};

/// A walk over templates of this language.
struct BlockWalk<'w, 'p> {
    all: &'w mut CacheabilityWalk<'p>,
    frame: Rc<PossibleScope<'p>>,
    /// The outermost object's block that is being walked.
    block: Option<At>,
    /// Whether a `break` ends the loop of that block.
    breaks_block: bool,
    line: LinePosition,
    /// Whether the line end that a block begins with may not have come yet.
    awaits: bool,
    /// The text behind the node that is being walked.
    next: NextText,
    /// Branches of the innermost scope that are being walked: what they declare may be declared or not.
    branches: usize,
    /// Snippets and macros that are being walked.
    depth: usize,
    /// The bodies that are printed in place of blocks, innermost first.
    blocks: Vec<(&'p str, Vec<&'p NamedBlock>)>,
    printing: Vec<(&'p str, usize)>,
    /// Whether the template that is being walked extends another one, so that its blocks are not printed where they stand.
    is_extending: bool,
}

/// Walks a file, behind which stands `next`.
pub(crate) fn walk_file(all: &mut CacheabilityWalk<'_>, number: u16, next: NextText) {
    let place = PartPlace { block: None, line: LinePosition::Between, depth: 0 };
    let mut walk = BlockWalk::new(all, place);
    walk.next = next;
    walk.template(number, 0);
    walk.frame.end();
}

/// Walks a part, which sees `inputs`.
pub(crate) fn walk_part<'p>(
    all: &mut CacheabilityWalk<'p>,
    number: u16,
    inputs: Vec<(&'p Arc<str>, Holds)>,
    place: PartPlace,
) -> LinePosition {
    if place.depth >= DEEPEST {
        return LinePosition::Inside;
    }
    let mut walk = BlockWalk::new(all, place);
    for (name, holds) in inputs {
        walk.declare(name, Possible::holding(holds));
    }
    walk.template(number, 0);
    walk.frame.end();
    walk.line
}

impl<'w, 'p> BlockWalk<'w, 'p> {
    fn new(all: &'w mut CacheabilityWalk<'p>, place: PartPlace) -> Self {
        Self {
            all,
            frame: Rc::new(PossibleScope::new(None, place.block.is_some())),
            block: place.block,
            breaks_block: false,
            line: place.line,
            awaits: false,
            next: NextText::Other,
            branches: 0,
            depth: place.depth,
            blocks: Vec::new(),
            printing: Vec::new(),
            is_extending: false,
        }
    }

    fn report(&mut self, why: Uncacheable) {
        if let Some(block) = self.block {
            self.all.report(block, why);
        }
    }

    /// A template, or what it extends with its blocks in place.
    fn template(&mut self, number: u16, extended: usize) {
        let Some(tree) = self.all.program.tree(number).filter(|_| extended < DEEPEST) else { return };
        for (name, block) in &tree.blocks {
            match self.blocks.iter_mut().find(|(known, _)| *known == &**name) {
                Some((_, bodies)) => bodies.push(block),
                None => self.blocks.push((name, vec![block])),
            }
        }
        let extending = tree.extending();
        let Some((before, rest @ [JinjaNode { kind: Kind::Extends(outer), .. }, ..])) = extending else {
            return self.last_body(&tree.body);
        };
        self.body(before);
        self.is_extending = true;
        self.captured(|me| me.body(rest));
        self.is_extending = false;
        for snippet in self.snippets(outer) {
            let blocks = self.blocks.clone();
            self.template(snippet.number, extended + 1);
            self.blocks = blocks;
        }
    }

    /// A template of its own in another one.
    fn inner_template(&mut self, number: u16) {
        let (blocks, printing) = (std::mem::take(&mut self.blocks), std::mem::take(&mut self.printing));
        let is_extending = std::mem::take(&mut self.is_extending);
        self.template(number, 0);
        (self.blocks, self.printing, self.is_extending) = (blocks, printing, is_extending);
    }

    /// Nodes, whatever stands behind them.
    fn body(&mut self, body: &'p [JinjaNode]) {
        self.in_front_of(NextText::Other, |me| me.last_body(body));
    }

    fn in_front_of(&mut self, next: NextText, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.next, next);
        walk(self);
        self.next = before;
    }

    /// Nodes behind which stands what stands behind the node that is being walked.
    fn last_body(&mut self, body: &'p [JinjaNode]) {
        if !self.all.goes_on(body.len()) {
            self.line = LinePosition::Inside;
            return;
        }
        let last = self.next;
        for (number, node) in body.iter().enumerate() {
            let next = body.get(number + 1).map_or(last, NextText::of);
            self.in_front_of(next, |me| me.node(node));
        }
    }

    fn node(&mut self, node: &'p JinjaNode) {
        match &node.kind {
            Kind::Text(segments) => {
                if let Some(last) = segments.iter().rev().find(|segment| !segment.text.is_empty()) {
                    let is_whole = last.text.ends_with('\n');
                    self.line = if is_whole { LinePosition::Between } else { LinePosition::Inside };
                    self.awaits = false;
                }
            }
            Kind::Print(expression) => {
                self.reads(expression);
                self.line = LinePosition::Inside;
            }
            Kind::Glob { pattern, .. } => self.glob(pattern),
            Kind::Do(expression) => _ = self.reads(expression),
            Kind::If { test, body, otherwise } => {
                self.reads(test);
                self.branches += 1;
                self.either(|me| me.last_body(body), |me| me.last_body(otherwise));
                self.branches -= 1;
            }
            Kind::For(code) => {
                let over = self.reads(&code.over);
                self.for_items(code, node.at, &over);
            }
            Kind::With { values, body } => {
                let values: Vec<_> =
                    values.iter().map(|(target, value)| (target, self.reads(value))).collect();
                self.scoped(|me| {
                    values.into_iter().for_each(|(target, value)| me.assign(target, value));
                    me.last_body(body);
                });
            }
            Kind::Set { target, value } => {
                let value = self.reads(value);
                self.assign(target, value);
            }
            Kind::SetBlock { target, filter, body } => {
                self.captured(|me| me.scoped(|me| me.body(body)));
                filter.iter().for_each(|filter| _ = self.reads(filter));
                self.assign(target, Possible::default());
            }
            Kind::Filter { filter, body } => {
                self.captured(|me| me.scoped(|me| me.body(body)));
                self.reads(filter);
                self.line = LinePosition::Inside;
            }
            Kind::Macro(code) => {
                let callable = self.callable(code);
                self.declare(&code.name, Possible::of_macro(callable));
            }
            Kind::Call { call, caller } => {
                let caller = self.callable(caller);
                self.call(call, Some(caller));
                self.line = LinePosition::Inside;
            }
            Kind::Include { name, options } => {
                let before = self.line;
                let mut ends = Vec::new();
                for snippet in self.snippets(name) {
                    self.line = before;
                    self.snippet(snippet, options.with_context);
                    ends.push(self.line);
                }
                self.line = if ends.is_empty() { before } else { join(ends) };
            }
            Kind::Import { template, name, with_context } => {
                let module = self.module(template, *with_context);
                self.declare(name, module);
            }
            Kind::From { template, names, with_context } => {
                let module = self.module(template, *with_context);
                for (name, other) in names {
                    self.declare(other, module.field(name));
                }
            }
            Kind::Block(name) if !self.is_extending => self.named_block(name, 0),
            Kind::Block(_) | Kind::Extends(_) | Kind::Continue => {}
            Kind::Break if self.breaks_block => self.report(Uncacheable::OuterVariable),
            Kind::Break => {}
        }
    }

    /// The one or the other.
    fn either(&mut self, one: impl FnOnce(&mut Self), other: impl FnOnce(&mut Self)) {
        let before = (self.line, self.awaits);
        one(self);
        let after = (self.line, self.awaits);
        (self.line, self.awaits) = before;
        other(self);
        (self.line, self.awaits) = (join([self.line, after.0]), self.awaits || after.1);
    }

    fn in_frame<T>(&mut self, frame: Rc<PossibleScope<'p>>, inside: impl FnOnce(&mut Self) -> T) -> T {
        let frame = std::mem::replace(&mut self.frame, frame);
        let branches = std::mem::take(&mut self.branches);
        let result = inside(self);
        (self.frame, self.branches) = (frame, branches);
        result
    }

    /// In a scope that is over behind it.
    fn in_ending<T>(&mut self, frame: Rc<PossibleScope<'p>>, inside: impl FnOnce(&mut Self) -> T) -> T {
        let result = self.in_frame(frame.clone(), inside);
        frame.end();
        result
    }

    fn inner_frame(&self) -> Rc<PossibleScope<'p>> {
        Rc::new(PossibleScope::new(Some(self.frame.clone()), self.block.is_some()))
    }

    fn scoped(&mut self, inside: impl FnOnce(&mut Self)) {
        self.in_ending(self.inner_frame(), inside);
    }

    fn captured(&mut self, print: impl FnOnce(&mut Self)) {
        let before = (self.line, self.awaits, self.breaks_block);
        (self.line, self.awaits, self.breaks_block) = (LinePosition::Between, false, false);
        self.all.captures += 1;
        self.in_front_of(NextText::Other, print);
        self.all.captures -= 1;
        (self.line, self.awaits, self.breaks_block) = before;
    }

    fn callable(&self, code: &'p Macro) -> Callable<'p> {
        Callable::new(code, &self.frame)
    }

    fn declare(&mut self, name: &'p str, value: Possible<'p>) {
        self.frame.declare(name, value, self.branches == 0);
    }

    fn assign(&mut self, target: &'p Target, value: Possible<'p>) {
        match target {
            Target::Name(name) => self.declare(name, value),
            Target::Field(name, _) => {
                let namespace = self.lookup(name, None);
                self.changes(&namespace);
                namespace.takes_in(value.holds());
            }
            Target::Each(targets) => {
                let holds = value.holds();
                for (place, target) in targets.iter().enumerate() {
                    let part = match holds {
                        Holds::Pair | Holds::Group if place == 0 => Possible::default(),
                        Holds::Pair | Holds::Group => Possible::holding(holds.behind_key()),
                        _ => value.item(),
                    };
                    self.assign(target, part);
                }
            }
        }
    }

    /// Something that a template made is changed.
    fn changes(&mut self, what: &Possible<'p>) {
        if what.is_outer {
            self.report(Uncacheable::OuterVariable);
        }
    }

    fn for_items(&mut self, code: &'p For, at: At, over: &Possible<'p>) {
        let item = over.item();
        if let Some(test) = &code.test {
            self.scoped(|me| {
                me.assign(&code.target, item.clone());
                me.reads(test);
            });
        }
        let is_outermost = self.block.is_none() && item.holds().may_be_object();
        let may_be_plain = !is_outermost || item.holds() == Holds::Deep;
        let is_before_line_end = self.next == NextText::LineEnd && !self.awaits;
        let moves = is_outermost && is_before_line_end && lines::lead(self.all.program, &code.body);
        let before = self.line;
        // Twice: what one step leaves behind is what the next one finds.
        for _ in 0..2 {
            if is_outermost {
                self.object_step(code, at, item.holds(), moves);
            }
            if may_be_plain {
                let awaits = self.awaits;
                self.awaits |= moves;
                self.step(code, at, item.clone());
                self.awaits &= awaits;
            }
        }
        let after = self.line;
        self.line = before;
        self.scoped(|me| me.body(&code.otherwise));
        // Where line ends move, the loop prints its own, and what follows begins with one.
        self.line = if moves && !may_be_plain { LinePosition::Between } else { join([self.line, after]) };
    }

    /// One step of a loop, for what is no watched object or not the outermost one.
    fn step(&mut self, code: &'p For, at: At, item: Possible<'p>) {
        let (before, breaks) = (self.line, std::mem::take(&mut self.breaks_block));
        self.loop_frame(code, at, item, |me| me.body(&code.body));
        (self.line, self.breaks_block) = (join([before, self.line]), breaks);
    }

    /// One step of a loop for an outermost object.
    fn object_step(&mut self, code: &'p For, at: At, item: Holds, moves: bool) {
        let item = match (&code.target, item) {
            (Target::Each(_), Holds::Deep) => Holds::Pair,
            (_, Holds::Deep) => Holds::Object,
            (_, item) => item,
        };
        let before = if moves { LinePosition::Between } else { self.line };
        let awaited = self.awaits;
        let end = self.loop_frame(code, at, Possible::holding(item), |me| {
            (me.block, me.breaks_block, me.line, me.awaits) = (Some(at), true, before, awaited || moves);
            me.scoped(|me| me.body(&code.body));
            let end = if moves { LinePosition::Between } else { me.line };
            if me.all.captures > 0 || awaited || join([before, end]) == LinePosition::Inside {
                me.report(Uncacheable::InsideLine);
            }
            (me.block, me.breaks_block, me.awaits) = (None, false, awaited);
            end
        });
        self.line = join([self.line, end]);
    }

    fn loop_frame<T>(
        &mut self,
        code: &'p For,
        at: At,
        item: Possible<'p>,
        inside: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.in_ending(self.inner_frame(), |me| {
            me.declare("loop", Possible::of_loop(item.holds(), code.recursive.then_some((code, at))));
            me.assign(&code.target, item);
            inside(me)
        })
    }

    /// The snippets that an expression may name.
    fn snippets(&mut self, name: &'p JinjaExpression) -> Vec<Snippet<'p>> {
        self.reads(name);
        let program = self.all.program;
        let literal = |name: &JinjaExpression| match &name.kind {
            ExpressionKind::Text(text) => Some(program.snippet(text)),
            _ => None,
        };
        let named = match &name.kind {
            ExpressionKind::List(names) | ExpressionKind::Tuple(names) => {
                names.iter().map(literal).collect::<Option<Vec<_>>>()
            }
            _ => literal(name).map(|one| vec![one]),
        };
        match named {
            Some(named) => named.into_iter().flatten().take(1).collect(),
            None => program.snippets_like("*").collect(),
        }
    }

    fn snippet(&mut self, snippet: Snippet<'p>, with_context: bool) {
        if self.depth >= DEEPEST {
            self.line = LinePosition::Inside;
            return;
        }
        self.depth += 1;
        match snippet.part {
            CompiledTemplate::Jinja2(_) => {
                self.in_ending(self.template_frame(with_context), |me| me.inner_template(snippet.number));
            }
            CompiledTemplate::Handlebars(_) => {
                let names = snippet.inputs.iter().filter(|_| with_context);
                let inputs = names.map(|name| (name, self.lookup(name, None).holds())).collect();
                let place = PartPlace { block: self.block, line: self.line, depth: self.depth };
                self.line = self.all.foreign(snippet, inputs, place);
            }
        }
        self.depth -= 1;
    }

    fn template_frame(&self, with_context: bool) -> Rc<PossibleScope<'p>> {
        let outer = with_context.then(|| self.frame.clone());
        Rc::new(PossibleScope::of_template(outer, self.block.is_some()))
    }

    fn glob(&mut self, pattern: &'p JinjaExpression) {
        self.reads(pattern);
        let pattern = match &pattern.kind {
            ExpressionKind::Text(pattern) => pattern,
            _ => "*",
        };
        for snippet in self.all.program.snippets_like(pattern) {
            self.in_front_of(NextText::Other, |me| me.snippet(snippet, true));
            if self.depth < DEEPEST {
                self.line = LinePosition::Between;
            }
        }
    }

    fn module(&mut self, template: &'p JinjaExpression, with_context: bool) -> Possible<'p> {
        let mut modules = Possible::default();
        for snippet in self.snippets(template) {
            if self.depth >= DEEPEST {
                break;
            }
            let frame = self.template_frame(with_context);
            self.depth += 1;
            self.captured(|me| me.in_frame(frame.clone(), |me| me.inner_template(snippet.number)));
            self.depth -= 1;
            modules = modules.or(Possible::of_module(frame));
        }
        modules
    }

    /// A block of a template, `further` templates out from the innermost that has it.
    fn named_block(&mut self, name: &'p str, further: usize) {
        let bodies = self.blocks.iter().find(|(known, _)| *known == name);
        let Some(block) = bodies.and_then(|(_, bodies)| bodies.get(further)).copied() else { return };
        if self.printing.len() >= DEEPEST {
            self.line = LinePosition::Inside;
            return;
        }
        self.printing.push((name, further));
        self.scoped(|me| me.body(&block.body));
        self.printing.pop();
    }

    /// The value that a name, or a field of what it names, may have.
    fn lookup(&mut self, name: &str, field: Option<&str>) -> Possible<'p> {
        let (found, whys) = self.frame.lookup(name, field, self.block.is_some());
        whys.into_iter().for_each(|why| self.report(why));
        found.unwrap_or_else(|| Possible::of_resources(name))
    }
}
