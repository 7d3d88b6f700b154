//! Refusals of values: where, why, and how to write it instead.

use super::{
    framed::{FramedValue, PrintPosition},
    proof::Breach,
};
use crate::{output::framing::FramedText, value::UNSAID};
use haptic_attribution::faults::{Fault, FaultKind, MOST_OF_ONE};
use haptic_model::Diagnostic;
use haptic_text::shortened;
use std::collections::HashMap;

/// At most this many refusals are reported for what a file prints outside of all objects' blocks.
pub const MAX_REFUSALS: usize = 100;

/// Where a value stands, in the words of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuePosition {
    Word,
    Weak,
    Strong,
    Comment,
    MapKey,
    MapValue,
    Pattern,
    CertificateList,
    Certificate,
    ResponseHead,
    Response,
    Format,
    Code,
}

/// Why a value is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueRefusal {
    Control(char),
    Directive,
    SectionName(char),
    Preprocessor,
    EmptyWord,
    Punctuation(String),
    Flag,
    Negation,
    Fetch,
    Quantity,
    Operator,
    AddressCharacter(char),
    ArgumentCharacter(char),
    BrokenArgument,
    OutsideArguments,
    Percent,
    BrokenLogFormat,
    LogFormatName,
    AfterBackslash,
    EnvironmentVariable,
    KeyHasBlank,
    KeyIsComment,
    KeyEmpty,
    EdgeBlank,
    LeadingBlank,
    PatternEmpty,
    LineTooLong(usize),
    /// HAProxy refuses the file.
    TooLong(usize),
    TooManyWords(usize),
    WordTooLong(usize),
    ResponseTooLong(usize),
    Unquotable(char),
    EveryHost,
    Executed,
}

/// The first character that no text of a configuration may have.
pub(super) fn control(text: &str) -> Option<char> {
    // Bytes first: it is asked for every value, and the answer is nearly always no.
    let found = text.bytes().any(|b| b.is_ascii_control());
    if found { text.chars().find(char::is_ascii_control) } else { None }
}

/// All refusals of a file, up to a bound for each object.
pub(super) struct Refusals<'m> {
    framed: &'m FramedText,
    faults: Vec<Fault>,
    /// How many there are of each outermost block.
    counts: HashMap<Option<u32>, usize>,
    count: usize,
}

impl<'m> Refusals<'m> {
    pub fn new(framed: &'m FramedText) -> Self {
        Self { framed, faults: Vec::new(), counts: HashMap::new(), count: 0 }
    }

    pub fn add(&mut self, value: &FramedValue<'_>, place: ValuePosition, refusal: ValueRefusal) {
        let message = format!("the value {} cannot stand {place}: {refusal}", shown(value));
        self.fault(value, Diagnostic::error("structure", message).help(refusal.help()));
    }

    /// Refuses a value by the proof: the pass was about to let it be more than a value.
    pub fn breach(&mut self, value: &FramedValue<'_>, breach: Breach) {
        let message = format!("internal error: the value {} would change {breach}", shown(value));
        tracing::error!("{message}");
        self.fault(
            value,
            Diagnostic::error("structure", message).help(
                "It is held back. This is a defect of HAPTIC, neither of your templates nor of the object: please report it \
                 with this sentence and the template's line",
            ),
        );
    }

    fn fault(&mut self, value: &FramedValue<'_>, diagnostic: Diagnostic) {
        self.count += 1;
        let (block, known) = (value.site.block, self.counts.entry(value.site.block).or_default());
        if *known >= block.map_or(MAX_REFUSALS, |_| MOST_OF_ONE) {
            return;
        }
        *known += 1;
        let object = block.and_then(|block| self.framed.objects.get(block as usize)).cloned();
        let diagnostic = self.at(diagnostic, value.site);
        self.faults.push(Fault { object, kind: FaultKind::Value, diagnostic, reads: None });
    }

    /// How many there were, told or not.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    fn at(&self, diagnostic: Diagnostic, site: PrintPosition) -> Diagnostic {
        let object = site.owner.and_then(|o| self.framed.objects.get(o as usize)).cloned();
        let diagnostic = diagnostic.of_object(object);
        let template =
            site.position.and_then(|p| Some((self.framed.templates.get(p.template as usize)?, p.line)));
        match template {
            Some((template, line)) => diagnostic.at_template(template, line, 0),
            None => diagnostic,
        }
    }
}

/// A value in quotes, printable and not too long for a message; nothing of one from a Secret.
fn shown(value: &FramedValue<'_>) -> String {
    const LONGEST: usize = 60;
    if value.secret {
        return UNSAID.to_owned();
    }
    let mut shown = String::from('"');
    for (count, c) in value.text.chars().enumerate() {
        if count == LONGEST {
            shown.push('…');
            break;
        }
        shown.extend(c.escape_debug());
    }
    shown.push('"');
    shown
}

impl std::fmt::Display for ValuePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Word => "in this word",
            Self::Weak => "between double quotes here",
            Self::Strong => "between single quotes here",
            Self::Comment => "in a comment",
            Self::MapKey => "in a map's key",
            Self::MapValue => "in a map's value",
            Self::Pattern => "in a file of patterns",
            Self::CertificateList => "in a crt-list",
            Self::Certificate => "in a certificate",
            Self::Response => "in a response",
            Self::ResponseHead => "in the status line or a header of a response",
            Self::Format => "in a file that HAProxy reads as a log-format (lf-file)",
            Self::Code => "in a file that HAProxy executes",
        })
    }
}

impl std::fmt::Display for ValueRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Control(c) => write!(f, "it has the control character {}", c.escape_debug()),
            Self::Directive => f.write_str("a value may not choose what a line does"),
            Self::SectionName(c) => write!(f, "`{c}` is not allowed in the name of a section"),
            Self::Preprocessor => f.write_str("a value may not decide over parts of the configuration"),
            Self::EmptyWord => {
                f.write_str("the word would be empty, and HAProxy ignores all that follows an empty word")
            }
            Self::Punctuation(word) => {
                write!(f, "the word would be `{}`, which is HAProxy's own punctuation", shortened(word, 60))
            }
            Self::Flag => f.write_str("a pattern that begins with `-` is a flag to HAProxy"),
            Self::Negation => f.write_str("a leading `!` would turn the meaning around"),
            Self::Fetch => f.write_str("a value may not name a fetch or converter"),
            Self::Quantity => {
                f.write_str("here HAProxy takes anything but a number or a time for an expression")
            }
            Self::Operator => f.write_str("a fetch of a number takes it for an operator"),
            Self::AddressCharacter(c) => write!(f, "`{c}` is not allowed in an address"),
            Self::ArgumentCharacter(c) => {
                write!(f, "`{c}` is special in the arguments of a fetch or converter")
            }
            Self::BrokenArgument => f.write_str("its quotes do not make it one argument"),
            Self::OutsideArguments => f.write_str("`arg` is for the arguments of a fetch or converter"),
            Self::Percent => f.write_str("`%` is special in a log-format"),
            Self::BrokenLogFormat => f.write_str("not all its `%` are doubled"),
            Self::LogFormatName => f.write_str("it would change what the `%` before it means"),
            Self::AfterBackslash => f.write_str("the backslash before it would escape its first character"),
            Self::EnvironmentVariable => {
                f.write_str("it would become part of the environment variable before it")
            }
            Self::KeyHasBlank => f.write_str("a key ends at its first blank"),
            Self::KeyIsComment => f.write_str("a line that begins with `#` is a comment"),
            Self::KeyEmpty => f.write_str("the key would be empty"),
            Self::EdgeBlank => f.write_str("HAProxy cuts blanks off both ends of a map's value"),
            Self::LeadingBlank => f.write_str("HAProxy cuts blanks off a pattern's start"),
            Self::PatternEmpty => f.write_str("the pattern would be empty, and HAProxy ignores the line"),
            Self::LineTooLong(most) => {
                write!(f, "its line is longer than {most} bytes, and HAProxy would read it as two")
            }
            Self::TooLong(most) => {
                write!(f, "its line is longer than {most} bytes, and HAProxy would refuse the file")
            }
            Self::TooManyWords(most) => {
                write!(f, "its line has more than {most} words, and HAProxy would refuse the file")
            }
            Self::WordTooLong(most) => {
                write!(f, "its word is longer than {most} bytes, and HAProxy could not use it")
            }
            Self::ResponseTooLong(most) => {
                write!(f, "the response is longer than {most} bytes, and HAProxy would not load it")
            }
            Self::Unquotable(c) => write!(f, "`{c}` is special there, and a crt-list has no quotes"),
            Self::EveryHost => f.write_str("the filter would be `*`, which is every host's"),
            Self::Executed => f.write_str("nothing but a number is sure to be no code there"),
        }
    }
}

impl ValueRefusal {
    fn help(&self) -> &'static str {
        match self {
            Self::Control(_) => "Remove it from the object, or choose with {{#if}} what to print instead",
            Self::Directive => {
                "Write the keyword in the template, with {{#if}} where it depends on the object; a whole line from \
                 extraContext or config can be printed with {{{ }}}"
            }
            Self::SectionName(_) => "Use proxy_name, which makes a name of any text",
            Self::Preprocessor => "Decide with {{#if}} instead of .if",
            Self::EmptyWord => "Leave the word out with {{#if}}, or give it a default",
            Self::Punctuation(_) => "Change it in the object, or add something to the word in the template",
            Self::Flag => "Write -- before the patterns",
            Self::Negation => "Write the `!` in the template, with {{#if}} where it depends on the object",
            Self::Fetch => {
                "Write the fetch and its converters in the template; str(\"…\") with arg makes one of a text"
            }
            Self::Quantity => "Give the object a number, or check it with {{#if (matches …)}}",
            Self::Operator => "Say how patterns are compared, with -m str or the like in front of them",
            Self::AddressCharacter(_) => {
                "A value is a host or a port; write unix@ and the like in the template, or print all of it with {{{ }}} \
                 from extraContext"
            }
            Self::ArgumentCharacter(_) => {
                "Write {{arg VALUE}} instead of {{VALUE}}; in Jinja2 {{ VALUE | arg }}"
            }
            Self::BrokenArgument => "Print it with arg alone, outside quotes of the argument's own",
            Self::OutsideArguments => "Write {{VALUE}} instead of {{arg VALUE}}",
            Self::Percent => "Write {{lf VALUE}} instead of {{VALUE}}; in Jinja2 {{ VALUE | lf }}",
            Self::BrokenLogFormat => "Print it with lf alone",
            Self::LogFormatName => "Write the whole variable or fetch in the template",
            Self::AfterBackslash => "Remove the backslash: values are escaped by themselves",
            Self::EnvironmentVariable => "Write \"${NAME}\" with braces, and the value after it",
            Self::KeyHasBlank => {
                "Put the blank between key and value into the template, and change the object"
            }
            Self::KeyIsComment => "Change it in the object",
            Self::KeyEmpty | Self::PatternEmpty => "Leave the line out with {{#if}}",
            Self::EdgeBlank | Self::LeadingBlank => "Use trim",
            Self::LineTooLong(_) | Self::WordTooLong(_) | Self::ResponseTooLong(_) => {
                "Shorten it in the object"
            }
            Self::TooLong(_) | Self::TooManyWords(_) => {
                "Write several lines, with {{#each (chunks …)}}, or give the object fewer of what the line lists"
            }
            Self::Executed => {
                "Give it to the code in a variable, by http-request set-var in haproxy.cfg; what is from extraContext or \
                 config can be printed with {{{ }}}"
            }
            Self::EveryHost => "Give the object a host; a filter for every host belongs into the template",
            Self::Unquotable(_) => {
                "Change it in the object: file names and SNI filters have no such character"
            }
        }
    }
}
