//! Which objects' blocks may have to be printed in every render, told from the templates alone.
//!
//! The evaluator watches what a block really does; this says beforehand what it may do. It errs on the side of
//! telling too much: what is not reported here is never found at render time, except for resources on demand.

use super::{
    Program,
    node::{At, Block, Call, Expression, Include, Kind, Name, Node},
    path::{Path, Start},
};
use crate::{
    engine::{ImpureBlock, Untracked},
    functions::{Group, glob_matches},
    value::Value,
};
use std::{cell::Cell, collections::BTreeSet, rc::Rc, sync::Arc};

/// Snippets nested deeper than this are taken for recursive.
const DEEPEST: usize = 12;

/// So many nodes are looked at: snippets that include any of many others could take forever. What is found until then
/// is told.
const MOST_STEPS: usize = 200_000;

/// Watched objects that a value may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    Nothing,
    /// It may be one.
    Object,
    /// It may be a list of them.
    List,
    /// They may be anywhere in it.
    Deep,
}

/// Where a line stands when a node is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Between,
    /// Inside one, or nobody knows.
    Inside,
}

/// What names mean. Blocks inside take a copy; what a variable holds is shared.
#[derive(Clone)]
struct Scope<'p> {
    names: Vec<(Arc<str>, Rc<Cell<Holds>>)>,
    /// What `this` holds, innermost last.
    these: Vec<Holds>,
    inline: Vec<(Arc<str>, &'p Block)>,
    /// The outermost object's block, if any.
    border: Option<Border>,
    /// The block given to the innermost snippet, with the scope it was given in.
    given: Option<(&'p Block, Rc<Scope<'p>>)>,
    /// Whether that snippet was included inside the object's block.
    given_inside: bool,
    depth: usize,
}

#[derive(Clone, Copy)]
struct Border {
    at: At,
    names: usize,
    these: usize,
}

struct Walk<'p> {
    program: &'p Program,
    found: BTreeSet<ImpureBlock>,
    steps: usize,
}

/// The blocks of all files of `program`.
pub(super) fn impure_blocks(program: &Program) -> Vec<ImpureBlock> {
    let mut walk = Walk { program, found: BTreeSet::new(), steps: 0 };
    for number in program.files.values() {
        if let Some(block) = program.blocks.get(usize::from(*number)) {
            walk.block(block, &mut Scope::top(), Line::Between);
        }
    }
    walk.found.into_iter().collect()
}

impl<'p> Walk<'p> {
    fn block(&mut self, block: &'p Block, scope: &mut Scope<'p>, line: Line) -> Line {
        self.steps += block.nodes.len() + 1;
        if self.steps > MOST_STEPS {
            return Line::Inside;
        }
        block.nodes.iter().fold(line, |line, node| self.node(node, scope, line))
    }

    fn node(&mut self, node: &'p Node, scope: &mut Scope<'p>, line: Line) -> Line {
        match &node.kind {
            Kind::Text(segments) => match segments.iter().rev().find(|s| !s.text.is_empty()) {
                Some(last) if last.text.ends_with('\n') => Line::Between,
                Some(_) => Line::Inside,
                None => line,
            },
            Kind::Print { expression, .. } => {
                self.reads(expression, scope);
                Line::Inside
            }
            Kind::Run(expression) => {
                self.reads(expression, scope);
                line
            }
            Kind::Assign { declare, values } => {
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
            Kind::Push { variable, values } => {
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
            Kind::If { test, body, otherwise, .. } => {
                self.reads(test, scope);
                let ends = [self.block(body, scope, line), self.block(otherwise, scope, line)];
                join(ends)
            }
            Kind::Each { over, item, index, body, otherwise } => {
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
            Kind::With { of, name, body, otherwise } => {
                let holds = self.reads(of, scope);
                let end =
                    self.step(body, &[name.as_ref().map(|n| (n, holds)), None], holds, node.at, scope, line);
                let missing = otherwise.as_ref().map_or(line, |block| self.block(block, scope, line));
                join([end, missing])
            }
            Kind::Include(include) => self.include(include, scope, line),
            Kind::Slot => self.given(scope, line),
            Kind::Glob { pattern, alone, .. } => {
                self.reads(pattern, scope);
                self.glob(pattern, *alone, scope, line)
            }
            Kind::Inline { name, body } => {
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
        scope: &Scope<'p>,
        line: Line,
    ) -> Line {
        let bound = |object: bool| {
            let mut inner = scope.clone();
            let mut names =
                named.iter().flatten().map(|(n, holds)| ((*n).clone(), Rc::new(Cell::new(*holds))));
            inner.names.extend(names.next());
            if object {
                inner.border = Some(Border { at, names: scope.names.len(), these: scope.these.len() });
                inner.given_inside = false;
            }
            inner.names.extend(names);
            inner.these.push(item);
            inner
        };
        let first = scope.border.is_none();
        let mut ends = Vec::new();
        if item == Holds::Nothing || item == Holds::Deep || !first {
            ends.push(self.block(body, &mut bound(false), line));
        }
        if first && item >= Holds::Object {
            let mut inner = bound(true);
            let end = self.block(body, &mut inner, line);
            if [line, end].contains(&Line::Inside) {
                self.report(&inner, Untracked::InsideLine);
            }
            ends.push(end);
        }
        join(ends)
    }

    fn include(&mut self, include: &'p Include, scope: &mut Scope<'p>, line: Line) -> Line {
        let this = match &include.context {
            Some(context) => self.reads(context, scope),
            None => scope.these.last().copied().unwrap_or(Holds::Nothing),
        };
        let mut values = Vec::new();
        for (name, expression) in &include.values {
            values.push((name.clone(), Rc::new(Cell::new(self.reads(expression, scope)))));
        }
        let name = match &include.name {
            Name::Fixed(name) => Some(name),
            Name::Computed(expression) => {
                self.reads(expression, scope);
                None
            }
        };
        if scope.depth >= DEEPEST {
            return Line::Inside;
        }
        // A snippet defined here or there, or any at all if the name is computed.
        let program = self.program;
        let fits = |known: &str| name.is_none_or(|name| **name == *known);
        let inline = scope.inline.iter().filter(|(known, _)| fits(known)).map(|(_, block)| *block);
        let shared = program.snippets.iter().filter(|(known, _)| fits(known));
        let shared = shared.filter_map(|(_, number)| program.blocks.get(usize::from(*number)));
        let blocks: Vec<&'p Block> = inline.chain(shared).collect();
        let mut ends = Vec::new();
        for block in blocks {
            let mut inner = scope.partial(this, include.block.as_ref());
            inner.names.extend(values.iter().cloned());
            let own = include.block.iter().flat_map(|block| &block.nodes);
            inner.inline.extend(own.filter_map(|node| match &node.kind {
                Kind::Inline { name, body } => Some((name.clone(), body)),
                _ => None,
            }));
            let end = self.block(block, &mut inner, line);
            ends.push(if include.alone && !block.nodes.is_empty() { Line::Between } else { end });
        }
        if let Some(fallback) = &include.block {
            ends.push(self.block(fallback, scope, line));
        }
        join(ends)
    }

    fn glob(&mut self, pattern: &Expression, alone: bool, scope: &Scope<'p>, line: Line) -> Line {
        if scope.depth >= DEEPEST {
            return Line::Inside;
        }
        let program = self.program;
        let this = scope.these.last().copied().unwrap_or(Holds::Nothing);
        let mut line = line;
        for (name, number) in &program.snippets {
            let fits = match pattern {
                Expression::Literal(Value::Text(pattern)) => glob_matches(pattern, name),
                _ => true,
            };
            if let Some(block) = program.blocks.get(usize::from(*number)).filter(|_| fits) {
                let end = self.block(block, &mut scope.partial(this, None), line);
                line = if alone && !block.nodes.is_empty() { Line::Between } else { join([line, end]) };
            }
        }
        line
    }

    fn given(&mut self, scope: &mut Scope<'p>, line: Line) -> Line {
        if scope.border.is_some() && !scope.given_inside {
            self.report(scope, Untracked::GivenBlock);
        }
        let Some((block, around)) = scope.given.clone().filter(|_| scope.depth < DEEPEST) else {
            return Line::Inside;
        };
        let mut around = (*around).clone();
        around.depth = scope.depth + 1;
        self.block(block, &mut around, line)
    }

    fn changes(&mut self, name: &str, holds: Holds, scope: &Scope<'p>) {
        for (number, (known, held)) in scope.names.iter().enumerate() {
            if **known == *name {
                held.set(held.get().max(holds));
                if scope.border.is_some_and(|border| number < border.names) {
                    self.report(scope, Untracked::OuterVariable);
                }
            }
        }
    }

    /// What an expression may hold, after a look at all it reads.
    fn reads(&mut self, expression: &Expression, scope: &Scope<'p>) -> Holds {
        match expression {
            Expression::Literal(_) => Holds::Nothing,
            Expression::Path(path) => self.path(path, scope),
            Expression::Call(call) => self.call(call, scope),
        }
    }

    fn path(&mut self, path: &Path, scope: &Scope<'p>) -> Holds {
        let keys = path.keys.len();
        match &path.start {
            Start::Root | Start::Local { .. } => Holds::Nothing,
            Start::This { up } => {
                let number = scope.these.len().checked_sub(up + 1);
                let holds = number.and_then(|n| scope.these.get(n)).copied().unwrap_or(Holds::Deep);
                let beyond = scope.border.is_some_and(|border| number.is_none_or(|n| n < border.these));
                self.seen(holds, beyond, scope);
                below(holds, keys)
            }
            Start::Name => {
                let this = scope.these.last().copied().unwrap_or(Holds::Nothing);
                let Some(first) = path.keys.first() else { return this };
                let mut holds = below(this, keys);
                for (number, (name, held)) in scope.names.iter().enumerate() {
                    if name == first {
                        let beyond = scope.border.is_some_and(|border| number < border.names);
                        self.seen(held.get(), beyond, scope);
                        holds = holds.max(below(held.get(), keys - 1));
                    }
                }
                holds
            }
        }
    }

    fn seen(&mut self, holds: Holds, beyond: bool, scope: &Scope<'p>) {
        if beyond && holds >= Holds::List {
            self.report(scope, Untracked::OuterObjects);
        }
    }

    fn call(&mut self, call: &Call, scope: &Scope<'p>) -> Holds {
        let mut most = Holds::Nothing;
        let named = call.named.iter().map(|(_, expression)| expression);
        for expression in call.arguments.iter().chain(named) {
            most = most.max(self.reads(expression, scope));
        }
        let function = call.function;
        match function.name {
            "once" => {
                if scope.border.is_some() {
                    self.report(scope, Untracked::Once);
                }
                Holds::Nothing
            }
            "list" | "fetch" | "routes" | "userlists" => Holds::List,
            "get_single" | "default_certificate" => Holds::Object,
            "len" | "has" | "dict_keys" | "json" | "split" | "range" | "servers" => Holds::Nothing,
            "default" | "where" | "reject" | "sort_by" | "unique" | "reverse" | "slice" => most,
            "get" | "lookup" | "first" | "last" | "pluck" | "dict_values" => below(most, 1),
            _ if matches!(
                function.group,
                Group::Comparison | Group::Strings | Group::Arithmetic | Group::Haproxy
            ) =>
            {
                Holds::Nothing
            }
            _ if most == Holds::Nothing => Holds::Nothing,
            _ => Holds::Deep,
        }
    }

    fn report(&mut self, scope: &Scope<'p>, why: Untracked) {
        let Some(Border { at, .. }) = scope.border else { return };
        let template = self.program.names.get(usize::from(at.template)).cloned().unwrap_or_default();
        self.found.insert(ImpureBlock { template, line: at.line, column: at.column, why });
    }
}

impl<'p> Scope<'p> {
    fn top() -> Self {
        Self {
            names: Vec::new(),
            these: vec![Holds::Nothing],
            inline: Vec::new(),
            border: None,
            given: None,
            given_inside: false,
            depth: 0,
        }
    }

    fn partial(&self, this: Holds, given: Option<&'p Block>) -> Self {
        let mut inner = self.clone();
        inner.these.push(this);
        inner.given = given.map(|block| (block, Rc::new(self.clone())));
        inner.given_inside = self.border.is_some();
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

fn join(ends: impl IntoIterator<Item = Line>) -> Line {
    if ends.into_iter().any(|end| end == Line::Inside) { Line::Inside } else { Line::Between }
}
