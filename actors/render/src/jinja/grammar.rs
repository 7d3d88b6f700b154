//! From minijinja's tree to nodes. Nothing else knows that crate: its tree has no stable interface.

use super::{
    checks, filters,
    node::{
        Body, CallArgument, Comparison, ExpressionKind, For, IncludeOptions, JinjaExpression, JinjaNode,
        Kind, Macro, MacroParameter, NamedBlock, Operator, Takes, Target, Tree,
    },
};
use crate::{
    engine::{
        position::{At, Segment, TemplateLine},
        program::{SnippetNeed, SnippetUse, TemplateNotes},
    },
    functions,
    value::Value,
};
use minijinja::{
    machinery::{
        Span, Token,
        ast::{self, BinOpKind, CallArg, CompareOpKind, Expr, Stmt, UnaryOpKind},
        parse, tokenize,
    },
    syntax::SyntaxConfig,
    value::ValueKind,
};
use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

/// The function that prints snippets.
const GLOB: &str = "render_glob";

/// Positions are counted to here in the tree.
const MOST_LINES: usize = u16::MAX as usize;

/// The tree of a tag grows by one level with each operator, `.field`, filter or bracket in it. The parser, and whatever
/// walks or drops the tree, calls itself for each level, and a stack that is over ends the whole program.
const DEEPEST_TAG: usize = 500;

/// The most blocks in one another; an `elif` stands in the `if`, as the parser takes it.
const DEEPEST_BLOCK: usize = 300;

/// The fault of a template, from line and column 1.
#[derive(Debug)]
pub(super) struct SyntaxProblem {
    pub line: u32,
    pub column: u32,
    pub message: String,
    pub help: Option<&'static str>,
}

type ReadResult<T> = Result<T, SyntaxProblem>;

/// Reads one template.
pub(super) fn read(source: &str, number: u16, syntax: TagSpacing) -> ReadResult<(Tree, Noted)> {
    if let Some((line, why)) = too_long(source) {
        return Err(SyntaxProblem { line, column: 1, message: why, help: Some("Cut it into snippets") });
    }
    let config =
        syntax.config().map_err(|message| SyntaxProblem { line: 1, column: 1, message, help: None })?;
    if let Some(problem) = too_deep(source) {
        return Err(problem);
    }
    let tree = parse(source, "", config).map_err(|error| unreadable(source, &error))?;
    let mut reader = TemplateReader { source, number, blocks: BTreeMap::new(), noted: RefCell::default() };
    let Stmt::Template(template) = tree else { return Ok((Tree::default(), Noted::default())) };
    let body = reader.body(&template.children)?;
    Ok((Tree { body, blocks: reader.blocks }, reader.noted.into_inner()))
}

/// The facts about a template beside its nodes.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// The faults of names that it uses.
    pub troubles: Vec<SyntaxProblem>,
    pub notes: TemplateNotes,
}

/// How white space around tags is treated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TagSpacing {
    /// The first line end behind a tag goes with it.
    pub trim_blocks: bool,
    /// White space before a tag, from the line's start, goes with it.
    pub lstrip_blocks: bool,
}

impl TagSpacing {
    fn config(self) -> Result<SyntaxConfig, String> {
        let mut builder = SyntaxConfig::builder();
        builder.trim_blocks(self.trim_blocks).lstrip_blocks(self.lstrip_blocks);
        builder.build().map_err(|e| e.to_string())
    }
}

fn too_long(source: &str) -> Option<(u32, String)> {
    let mut last = 1;
    for (line, text) in (1..).zip(source.lines()) {
        last = line;
        if text.len() > MOST_LINES {
            return Some((line, format!("this line is longer than {MOST_LINES} bytes")));
        }
    }
    (last as usize > MOST_LINES).then(|| (1, format!("it has more than {MOST_LINES} lines")))
}

/// Where tags or blocks are nested too deep, as far as the template can be read: the rest the parser tells.
fn too_deep(source: &str) -> Option<SyntaxProblem> {
    let (mut nesting, mut branches) = (TagNesting::default(), Vec::<usize>::new());
    let mut begins_tag = false;
    for (token, span) in tokenize(source, false, SyntaxConfig::default()).map_while(Result::ok) {
        match (&token, std::mem::take(&mut begins_tag)) {
            (Token::VariableStart | Token::BlockStart, _) => {
                nesting = TagNesting::default();
                begins_tag = matches!(token, Token::BlockStart);
            }
            (Token::Ident("if"), true) => branches.push(1),
            (Token::Ident("elif"), true) => {
                if let Some(count) = branches.last_mut() {
                    *count += 1;
                }
            }
            (Token::Ident("endif"), true) => _ = branches.pop(),
            _ => nesting.take(&token),
        }
        let (message, help) = match nesting.depth() > DEEPEST_TAG {
            true => (
                format!("this tag is nested deeper than {DEEPEST_TAG}"),
                "Compute parts of it with {% set %}",
            ),
            false if branches.iter().sum::<usize>() > DEEPEST_BLOCK => (
                format!("`if` and `elif` are nested deeper than {DEEPEST_BLOCK}"),
                "Look values up in a dict",
            ),
            false => continue,
        };
        let (line, column) = (u32::from(span.start_line.max(1)), u32::from(span.start_col) + 1);
        return Some(SyntaxProblem { line, column, message, help: Some(help) });
    }
    None
}

/// How deep the tree of a tag can be, by its tokens: the tag's own level, and one for each bracket that is open.
#[derive(Default)]
struct TagNesting {
    own: TagLevel,
    open: Vec<TagLevel>,
}

/// The text between two commas, and the most that stood there before, in one bracket.
#[derive(Clone, Copy, Default)]
struct TagLevel {
    now: usize,
    most: usize,
}

impl TagNesting {
    fn last(&mut self) -> &mut TagLevel {
        self.open.last_mut().unwrap_or(&mut self.own)
    }

    fn depth(&self) -> usize {
        self.own.now + self.open.iter().map(|level| level.now).sum::<usize>()
    }

    fn take(&mut self, token: &Token<'_>) {
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => {
                self.last().now += 1;
                self.open.push(TagLevel::default());
            }
            // What stands behind a bracket is laid around what is in it.
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                let inner = self.open.pop().map_or(0, |level| level.now.max(level.most));
                self.last().now += inner;
            }
            Token::Comma => {
                let last = self.last();
                *last = TagLevel { now: 0, most: last.most.max(last.now) };
            }
            Token::Ident("and" | "or" | "not" | "is" | "in" | "if" | "else")
            | Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::FloorDiv
            | Token::Pow
            | Token::Mod
            | Token::Dot
            | Token::Tilde
            | Token::Pipe
            | Token::Eq
            | Token::Ne
            | Token::Gt
            | Token::Gte
            | Token::Lt
            | Token::Lte => self.last().now += 1,
            _ => {}
        }
    }
}

fn unreadable(source: &str, error: &minijinja::Error) -> SyntaxProblem {
    let message = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    let line = error.line().and_then(|line| u32::try_from(line).ok()).unwrap_or(1);
    let start = error.range().map_or(0, |range| range.start).min(source.len());
    let before = source.get(..start).unwrap_or_default();
    let column = before.rsplit('\n').next().map_or(1, |text| text.chars().count() + 1);
    let text = source.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
    SyntaxProblem { line, column: u32::try_from(column).unwrap_or(1), message, help: foreign(text) }
}

/// The tag of another language of templates, and how it is written here.
fn foreign(line: &str) -> Option<&'static str> {
    let has = |parts: &[&str]| parts.iter().any(|part| line.contains(part));
    if has(&["{{#", "{{/", "{{>", "{{~"]) {
        return Some("This looks like Handlebars: set templatingSettings.engine to handlebars");
    }
    if has(&[":=", "{{ range ", "{{- range "]) {
        return Some(
            "This looks like Go's templates: write {% set name = value %} and {% for item in list %}",
        );
    }
    if has(&["{% end %}", "{%- end %}", "{% end -%}", "{%- end -%}", "{{ end }}", "{{- end }}"]) {
        return Some(
            "This looks like Go's templates: a block is closed by its name, {% endfor %}, {% endif %}",
        );
    }
    if has(&["{{ .", "{{."]) {
        return Some("This looks like Go's templates: names have no dot before them");
    }
    None
}

struct TemplateReader<'s> {
    source: &'s str,
    number: u16,
    blocks: BTreeMap<Arc<str>, NamedBlock>,
    noted: RefCell<Noted>,
}

impl TemplateReader<'_> {
    fn at(&self, span: Span) -> At {
        At {
            template: self.number,
            line: u32::from(span.start_line.max(1)),
            column: u32::from(span.start_col) + 1,
        }
    }

    fn body(&mut self, statements: &[Stmt<'_>]) -> ReadResult<Body> {
        statements.iter().map(|statement| self.node(statement)).collect()
    }

    fn node(&mut self, statement: &Stmt<'_>) -> ReadResult<JinjaNode> {
        let (span, kind) = match statement {
            Stmt::Template(s) => (s.span(), Kind::Text(Vec::new())),
            Stmt::EmitRaw(s) => (s.span(), Kind::Text(self.segments(s.raw, s.span()))),
            Stmt::EmitExpr(s) => (s.span(), self.print(&s.expr, s.span())?),
            Stmt::Do(s) => (s.span(), Kind::Do(self.call(&s.call)?)),
            Stmt::IfCond(s) => {
                let (body, otherwise) = (self.body(&s.true_body)?, self.body(&s.false_body)?);
                (s.span(), Kind::If { test: self.expression(&s.expr)?, body, otherwise })
            }
            Stmt::ForLoop(s) => (s.span(), Kind::For(Box::new(self.for_loop(s)?))),
            Stmt::WithBlock(s) => {
                let pair = |(to, value): &(_, _)| Ok((self.target(to)?, self.expression(value)?));
                let values = s.assignments.iter().map(pair).collect::<ReadResult<_>>()?;
                (s.span(), Kind::With { values, body: self.body(&s.body)? })
            }
            Stmt::Set(s) => {
                let (target, value) = (self.target(&s.target)?, self.expression(&s.expr)?);
                (s.span(), Kind::Set { target, value })
            }
            Stmt::SetBlock(s) => {
                let filter = s.filter.as_ref().map(|filter| self.expression(filter)).transpose()?;
                let target = self.target(&s.target)?;
                (s.span(), Kind::SetBlock { target, filter, body: self.body(&s.body)? })
            }
            Stmt::FilterBlock(s) => {
                (s.span(), Kind::Filter { filter: self.expression(&s.filter)?, body: self.body(&s.body)? })
            }
            Stmt::Macro(s) => (s.span(), Kind::Macro(Box::new(self.macro_of(s, s.span())?))),
            Stmt::CallBlock(s) => {
                let caller = Box::new(self.macro_of(&s.macro_decl, s.span())?);
                (s.span(), Kind::Call { call: self.call(&s.call)?, caller })
            }
            Stmt::Include(s) => {
                let with_context = self.has_context(s.span(), true);
                let (name, ignores_missing) = (self.expression(&s.name)?, s.ignore_missing);
                self.includes(&name, (!ignores_missing).then_some(SnippetUse::Print));
                let options = IncludeOptions { ignores_missing, with_context };
                (s.span(), Kind::Include { name, options })
            }
            Stmt::Import(s) => {
                let with_context = self.has_context(s.span(), false);
                let (template, name) = (self.expression(&s.expr)?, self.name(&s.name)?);
                self.includes(&template, Some(SnippetUse::Extend));
                (s.span(), Kind::Import { template, name, with_context })
            }
            Stmt::FromImport(s) => {
                let named = |(name, other): &(_, Option<_>)| {
                    let name = self.name(name)?;
                    let other = other.as_ref().map_or_else(|| Ok(name.clone()), |o| self.name(o))?;
                    Ok((name, other))
                };
                let names = s.names.iter().map(named).collect::<ReadResult<_>>()?;
                let with_context = self.has_context(s.span(), false);
                let template = self.expression(&s.expr)?;
                self.includes(&template, Some(SnippetUse::Extend));
                (s.span(), Kind::From { template, names, with_context })
            }
            Stmt::Extends(s) => {
                let template = self.expression(&s.name)?;
                self.includes(&template, Some(SnippetUse::Extend));
                (s.span(), Kind::Extends(template))
            }
            Stmt::Block(s) => {
                let name: Arc<str> = s.name.into();
                let named = NamedBlock { body: self.body(&s.body)?, required: s.required };
                self.blocks.insert(name.clone(), named);
                (s.span(), Kind::Block(name))
            }
            Stmt::AutoEscape(s) => {
                let help = "Delete the tag: values are encoded for the place they stand in";
                return Err(self.trouble(s.span(), "there is no autoescape", Some(help)));
            }
            Stmt::Break(s) => (s.span(), Kind::Break),
            Stmt::Continue(s) => (s.span(), Kind::Continue),
        };
        Ok(JinjaNode { at: self.at(span), kind })
    }

    fn print(&self, expression: &Expr<'_>, span: Span) -> ReadResult<Kind> {
        let Expr::Call(call) = expression else { return Ok(Kind::Print(self.expression(expression)?)) };
        match (&call.expr, call.args.as_slice()) {
            (Expr::Var(name), [CallArg::Pos(pattern)]) if name.id == GLOB => {
                let pattern = self.expression(pattern)?;
                self.includes(&pattern, None);
                Ok(Kind::Glob { pattern, indent: self.indent(span).into() })
            }
            _ => Ok(Kind::Print(self.call(call)?)),
        }
    }

    /// White space before a tag, from the line's start.
    fn indent(&self, span: Span) -> &str {
        let before = self.source.get(..span.start_offset as usize).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let line = line.trim_end().strip_suffix("{{").unwrap_or_default();
        if line.trim().is_empty() { line } else { "" }
    }

    /// Notes a snippet that is named here; `how` it is needed, if it must be there.
    fn includes(&self, name: &JinjaExpression, how: Option<SnippetUse>) {
        let notes = &mut self.noted.borrow_mut().notes;
        match &name.kind {
            ExpressionKind::Text(text) => {
                notes.prints.insert(text.clone());
                let need = |how| SnippetNeed { name: text.clone(), at: name.at, how };
                notes.needs.extend(how.map(need));
            }
            _ => _ = notes.prints.insert("*".into()),
        }
    }

    fn calls(&self, name: &str) {
        let name = if name == "get_path" { "file_path" } else { name };
        self.noted.borrow_mut().notes.calls.extend(functions::find(name).map(|function| function.name));
    }

    fn check(&self, span: Span, found: Result<(), (String, Option<&'static str>)>) {
        if let Err((message, help)) = found {
            self.noted.borrow_mut().troubles.push(self.trouble(span, &message, help));
        }
    }

    /// Data has no such fields; in Python they lead to the program itself.
    fn check_field(&self, span: Span, name: &str) {
        if name.starts_with("__") {
            let message = format!("{name} is no field of data");
            self.check(span, Err((message, Some("Only what is in values can be read"))));
        }
    }

    fn trouble(&self, span: Span, message: &str, help: Option<&'static str>) -> SyntaxProblem {
        let At { line, column, .. } = self.at(span);
        SyntaxProblem { line, column, message: message.to_owned(), help }
    }

    fn segments(&self, text: &str, span: Span) -> Vec<Segment> {
        let lines = text.split_inclusive('\n').zip(u32::from(span.start_line.max(1))..);
        lines
            .map(|(text, line)| Segment {
                text: text.into(),
                place: TemplateLine { template: self.number, line },
            })
            .collect()
    }

    /// The tree forgets `with context` and `without context`; the tag still says it.
    fn has_context(&self, span: Span, unless_said: bool) -> bool {
        let tag = self.source.get(span.start_offset as usize..).unwrap_or_default();
        let tag = tag.split_once("%}").map_or(tag, |(tag, _)| tag);
        let words: Vec<&str> = tag.trim_end_matches(['-', '+']).split_whitespace().collect();
        let said = |word| words.windows(2).any(|pair| pair == [word, "context"]);
        if unless_said { !said("without") } else { said("with") }
    }

    fn for_loop(&mut self, s: &ast::ForLoop<'_>) -> ReadResult<For> {
        Ok(For {
            target: self.target(&s.target)?,
            over: self.expression(&s.iter)?,
            test: s.filter_expr.as_ref().map(|test| self.expression(test)).transpose()?,
            recursive: s.recursive,
            body: self.body(&s.body)?,
            otherwise: self.body(&s.else_body)?,
        })
    }

    fn macro_of(&mut self, s: &ast::Macro<'_>, span: Span) -> ReadResult<Macro> {
        let first_default = s.args.len().saturating_sub(s.defaults.len());
        let mut parameters = Vec::new();
        for (number, name) in s.args.iter().enumerate() {
            let default = number.checked_sub(first_default).and_then(|n| s.defaults.get(n));
            let default = default.map(|default| self.expression(default)).transpose()?;
            parameters.push(MacroParameter { name: self.name(name)?, default });
        }
        let body = self.body(&s.body)?;
        let text = self.source.get(span.start_offset as usize..span.end_offset as usize).unwrap_or_default();
        let takes = Takes {
            more: text.contains("varargs"),
            named: text.contains("kwargs"),
            caller: text.contains("caller"),
        };
        Ok(Macro { name: s.name.into(), parameters, body, takes })
    }

    fn name(&self, expression: &Expr<'_>) -> ReadResult<Arc<str>> {
        match expression {
            Expr::Var(name) => Ok(name.id.into()),
            other => Err(self.trouble(other.span(), "a name must stand here", None)),
        }
    }

    fn target(&self, expression: &Expr<'_>) -> ReadResult<Target> {
        match expression {
            Expr::Var(name) => Ok(Target::Name(name.id.into())),
            Expr::GetAttr(field) => Ok(Target::Field(self.name(&field.expr)?, field.name.into())),
            Expr::List(list) => self.targets(&list.items),
            Expr::Tuple(list) => self.targets(&list.items),
            other => Err(self.trouble(other.span(), "nothing can be assigned to this", None)),
        }
    }

    fn targets(&self, items: &[Expr<'_>]) -> ReadResult<Target> {
        Ok(Target::Each(items.iter().map(|item| self.target(item)).collect::<ReadResult<_>>()?))
    }

    fn expressions(&self, all: &[Expr<'_>]) -> ReadResult<Vec<JinjaExpression>> {
        all.iter().map(|expression| self.expression(expression)).collect()
    }

    fn boxed(&self, expression: &Expr<'_>) -> ReadResult<Box<JinjaExpression>> {
        Ok(Box::new(self.expression(expression)?))
    }

    fn pair(&self, a: &Expr<'_>, b: &Expr<'_>) -> ReadResult<Box<(JinjaExpression, JinjaExpression)>> {
        Ok(Box::new((self.expression(a)?, self.expression(b)?)))
    }

    fn expression(&self, expression: &Expr<'_>) -> ReadResult<JinjaExpression> {
        let kind = match expression {
            Expr::Var(e) => {
                let name: Arc<str> = e.id.into();
                self.noted.borrow_mut().notes.reads.insert(name.clone());
                ExpressionKind::Name(name)
            }
            Expr::Const(e) => self.constant(&e.value, e.span())?,
            Expr::Slice(e) => {
                let part =
                    |part: &Option<Expr<'_>>| part.as_ref().map(|part| self.expression(part)).transpose();
                let parts = [part(&e.start)?, part(&e.stop)?, part(&e.step)?];
                ExpressionKind::Slice(self.boxed(&e.expr)?, Box::new(parts))
            }
            Expr::UnaryOp(e) => match e.op {
                UnaryOpKind::Not => ExpressionKind::Not(self.boxed(&e.expr)?),
                UnaryOpKind::Neg => ExpressionKind::Negative(self.boxed(&e.expr)?),
            },
            Expr::BinOp(e) => self.binary(e)?,
            Expr::Compare(e) => {
                let step = |op: &ast::CompareOp<'_>| Ok((comparison(op.op), self.expression(&op.expr)?));
                let steps = e.ops.iter().map(step).collect::<ReadResult<_>>()?;
                ExpressionKind::Compare(self.boxed(&e.expr)?, steps)
            }
            Expr::IfExpr(e) => {
                let otherwise = e.false_expr.as_ref().map(|e| self.expression(e)).transpose()?;
                let (test, value) = (self.expression(&e.test_expr)?, self.expression(&e.true_expr)?);
                ExpressionKind::If(Box::new((test, value, otherwise)))
            }
            Expr::Filter(e) => {
                let subject = e.expr.as_ref().map(|subject| self.boxed(subject)).transpose()?;
                self.check(e.span(), filters::check(e.name));
                self.calls(e.name);
                ExpressionKind::Filter(filters::named(e.name), subject, self.arguments(&e.args)?)
            }
            Expr::Test(e) => {
                self.check(e.span(), checks::check(e.name).map_err(|message| (message, None)));
                ExpressionKind::Test(e.name.into(), self.boxed(&e.expr)?, self.arguments(&e.args)?)
            }
            Expr::GetAttr(e) => {
                self.check_field(e.span(), e.name);
                ExpressionKind::Field(self.boxed(&e.expr)?, e.name.into())
            }
            Expr::GetItem(e) => ExpressionKind::Item(self.pair(&e.expr, &e.subscript_expr)?),
            Expr::Call(e) => return self.call(e),
            Expr::List(e) => ExpressionKind::List(self.expressions(&e.items)?),
            Expr::Tuple(e) => ExpressionKind::Tuple(self.expressions(&e.items)?),
            Expr::Map(e) => {
                let pair = |(key, value)| Ok((self.expression(key)?, self.expression(value)?));
                ExpressionKind::Dict(e.keys.iter().zip(&e.values).map(pair).collect::<ReadResult<_>>()?)
            }
        };
        let span = match expression {
            // That of a comparison begins with the token before it.
            Expr::Compare(e) => e.expr.span(),
            Expr::BinOp(e) if is_comparison(e.op) => e.left.span(),
            other => other.span(),
        };
        Ok(JinjaExpression { at: self.at(span), kind })
    }

    fn call(&self, call: &ast::Spanned<ast::Call<'_>>) -> ReadResult<JinjaExpression> {
        let callee = match &call.expr {
            // The name of a function is none of a value.
            Expr::Var(name) => {
                if name.id == GLOB {
                    let message = format!("{GLOB} prints snippets, and gives no value");
                    let help =
                        "Write it as a tag of its own, with a pattern: {{ render_glob(\"backend-*\") }}";
                    return Err(self.trouble(call.span(), &message, Some(help)));
                }
                self.calls(name.id);
                let kind = ExpressionKind::Name(name.id.into());
                Box::new(JinjaExpression { at: self.at(name.span()), kind })
            }
            other => self.boxed(other)?,
        };
        let kind = ExpressionKind::Call(callee, self.arguments(&call.args)?);
        Ok(JinjaExpression { at: self.at(call.span()), kind })
    }

    fn arguments(&self, all: &[CallArg<'_>]) -> ReadResult<Vec<CallArgument>> {
        let one = |argument: &CallArg<'_>| {
            Ok(match argument {
                CallArg::Pos(e) => CallArgument::One(self.expression(e)?),
                CallArg::Kwarg(name, e) => CallArgument::Named((*name).into(), self.expression(e)?),
                CallArg::PosSplat(e) => CallArgument::Spread(self.expression(e)?),
                CallArg::KwargSplat(e) => CallArgument::SpreadNamed(self.expression(e)?),
            })
        };
        all.iter().map(one).collect()
    }

    fn binary(&self, e: &ast::BinOp<'_>) -> ReadResult<ExpressionKind> {
        let operator = match e.op {
            BinOpKind::ScAnd => return Ok(ExpressionKind::And(self.pair(&e.left, &e.right)?)),
            BinOpKind::ScOr => return Ok(ExpressionKind::Or(self.pair(&e.left, &e.right)?)),
            BinOpKind::Eq => return self.compared(e, Comparison::Equal),
            BinOpKind::Ne => return self.compared(e, Comparison::NotEqual),
            BinOpKind::Lt => return self.compared(e, Comparison::Less),
            BinOpKind::Lte => return self.compared(e, Comparison::LessOrEqual),
            BinOpKind::Gt => return self.compared(e, Comparison::Greater),
            BinOpKind::Gte => return self.compared(e, Comparison::GreaterOrEqual),
            BinOpKind::In => return self.compared(e, Comparison::In),
            BinOpKind::Add => Operator::Add,
            BinOpKind::Sub => Operator::Subtract,
            BinOpKind::Mul => Operator::Multiply,
            BinOpKind::Div => Operator::Divide,
            BinOpKind::FloorDiv => Operator::FloorDivide,
            BinOpKind::Rem => Operator::Modulo,
            BinOpKind::Pow => Operator::Power,
            BinOpKind::Concat => Operator::Join,
        };
        Ok(ExpressionKind::Binary(operator, self.pair(&e.left, &e.right)?))
    }

    fn compared(&self, e: &ast::BinOp<'_>, how: Comparison) -> ReadResult<ExpressionKind> {
        Ok(ExpressionKind::Compare(self.boxed(&e.left)?, vec![(how, self.expression(&e.right)?)]))
    }

    fn constant(&self, value: &minijinja::Value, span: Span) -> ReadResult<ExpressionKind> {
        if let Some(text) = value.as_str() {
            return Ok(ExpressionKind::Text(text.into()));
        }
        let literal = match value.kind() {
            ValueKind::None | ValueKind::Undefined => Value::Null,
            ValueKind::Bool => Value::Bool(value.is_true()),
            _ => match (value.is_integer(), i64::try_from(value.clone()), f64::try_from(value.clone())) {
                (true, Ok(whole), _) => Value::integer(whole),
                (false, _, Ok(number)) => {
                    let number = serde_json::Number::from_f64(number);
                    number.map(Value::Number).ok_or_else(|| self.trouble(span, "this is no number", None))?
                }
                _ => return Err(self.trouble(span, "this number has more than 64 bits", None)),
            },
        };
        Ok(ExpressionKind::Literal(literal))
    }
}

fn is_comparison(kind: BinOpKind) -> bool {
    use BinOpKind::{Eq, Gt, Gte, In, Lt, Lte, Ne};
    matches!(kind, Eq | Ne | Lt | Lte | Gt | Gte | In)
}

fn comparison(kind: CompareOpKind) -> Comparison {
    match kind {
        CompareOpKind::Eq => Comparison::Equal,
        CompareOpKind::Ne => Comparison::NotEqual,
        CompareOpKind::Lt => Comparison::Less,
        CompareOpKind::Lte => Comparison::LessOrEqual,
        CompareOpKind::Gt => Comparison::Greater,
        CompareOpKind::Gte => Comparison::GreaterOrEqual,
        CompareOpKind::In => Comparison::In,
        CompareOpKind::NotIn => Comparison::NotIn,
    }
}
