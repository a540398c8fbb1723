//! YAML as written: text, lists and mappings, each with its line, before any meaning.
//!
//! The subset is the plain one: a single document of block or flow collections and scalars. Anchors, aliases
//! and tags are refused, so no file can say more than its own bytes (no alias bombs), and a key occurs once.
use std::collections::HashMap;

use serde_saphyr::granit_parser::{self, ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::report::{Report, Shown};
use crate::limits::{CONFIG_BYTES_MAX, CONFIG_NESTING_MAX, CONFIG_NODES_MAX};

#[derive(Debug)]
pub struct Node {
    pub line: usize,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    /// Nothing was written where a value belongs (or `~`, `null`).
    Empty,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Something that the subset has not; reported already.
    Refused,
}

#[derive(Debug)]
pub struct Entry {
    pub key: String,
    pub line: usize,
    pub value: Node,
}

impl Entry {
    /// An empty value is placed where the next token begins, which may be lines below its key; a list or a map, where its
    /// first item is.
    pub fn line_of_value(&self) -> usize {
        if matches!(self.value.kind, Kind::Text(_)) { self.value.line } else { self.line }
    }
}

/// Reads the one document of `bytes`. `None` when nothing can be made of it, with the reason in `report`.
pub fn read(bytes: &[u8], report: &Report) -> Option<Node> {
    let text = decode(bytes, report)?;
    let options = granit_parser::options! {
        emit_comments: false,
        disallow_directives: true,
        emit_unresolved_aliases: true,
        flow_nesting_limit: CONFIG_NESTING_MAX,
        block_nesting_limit: CONFIG_NESTING_MAX,
    };
    let mut builder = Builder { parser: Parser::new_from_str_with_options(text, options), report, nodes: 0 };
    builder.document().ok()
}

fn decode<'t>(bytes: &'t [u8], report: &Report) -> Option<&'t str> {
    if bytes.len() > CONFIG_BYTES_MAX {
        let mend = report.form.too_large;
        report.mistake(1, format!("the file has more than {CONFIG_BYTES_MAX} bytes; {mend}"));
        return None;
    }
    let wrong = match std::str::from_utf8(bytes) {
        Ok(text) => return Some(text),
        Err(wrong) => wrong,
    };
    let line = 1 + bytes.iter().take(wrong.valid_up_to()).filter(|b| **b == b'\n').count();
    report.mistake(line, "not UTF-8; save the file as UTF-8");
    None
}

/// Reading cannot go on; the reason is in the report.
struct Stop;

struct Builder<'t, 'r> {
    parser: Parser<'t, StrInput<'t>>,
    report: &'r Report,
    nodes: usize,
}

impl<'t> Builder<'t, '_> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Stop> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                self.report.mistake(error.marker().line().max(1), syntax(&error));
                Err(Stop)
            }
            None => Err(Stop),
        }
    }

    fn document(&mut self) -> Result<Node, Stop> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(is_marked, _) if root.is_some() => {
                    let what = match is_marked {
                        true => "a second document begins; keep one and remove this ---",
                        false => {
                            "a second document begins, since ... has ended the first; keep one and remove the ..."
                        }
                    };
                    self.report.mistake(span.start.line(), what);
                    return Err(Stop);
                }
                Event::DocumentStart(..) => {
                    let (event, span) = self.next()?;
                    root = Some(self.node(event, &span)?);
                }
                Event::StreamEnd => break,
                _ => return Err(Stop),
            }
        }
        let empty = Node { line: 1, kind: Kind::Empty };
        Ok(root.unwrap_or(empty))
    }

    /// The node that begins with `event`. Depth is bounded by the parser's nesting limits.
    fn node(&mut self, event: Event<'t>, span: &Span) -> Result<Node, Stop> {
        let line = span.start.line();
        self.nodes += 1;
        if self.nodes > CONFIG_NODES_MAX {
            let mend = self.report.form.too_large;
            self.report.mistake(line, format!("more than {CONFIG_NODES_MAX} values; {mend}"));
            return Err(Stop);
        }
        if event.anchor_id().is_some() {
            self.report
                .mistake(line, "anchors (&name) are not accepted; write the value out where it is needed");
        }
        if let Some(tag) = event.tag() {
            self.report.mistake(line, format!("tags are not accepted; remove {}", Shown(&tag.original())));
        }
        let kind = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if matches!(&*text, "" | "~" | "null") => Kind::Empty,
            Event::Scalar(text, ..) => Kind::Text(text.into_owned()),
            Event::SequenceStart(..) => Kind::List(self.list()?),
            Event::MappingStart(..) => Kind::Map(self.map()?),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.report.mistake(line, "aliases (*name) are not accepted; write the value out");
                Kind::Refused
            }
            _ => return Err(Stop),
        };
        Ok(Node { line, kind })
    }

    fn list(&mut self) -> Result<Vec<Node>, Stop> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, &span)?),
            }
        }
    }

    fn map(&mut self) -> Result<Vec<Entry>, Stop> {
        let mut entries = Vec::new();
        let mut lines: HashMap<String, usize> = HashMap::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(entries);
            }
            let key = self.node(event, &span)?;
            let (event, span) = self.next()?;
            let value = self.node(event, &span)?;
            let line = key.line;
            match key.kind {
                Kind::Text(key) => {
                    if let Some(first) = lines.get(&key) {
                        let key = Shown(&key);
                        self.report.mistake(
                            line,
                            format!("{key} occurs twice here, first on line {first}; remove one"),
                        );
                        continue;
                    }
                    lines.insert(key.clone(), line);
                    entries.push(Entry { key, line, value });
                }
                Kind::Refused => {}
                _ => self.report.mistake(line, "a field's name must be plain text, as in name: value"),
            }
        }
    }
}

fn syntax(error: &ScanError) -> String {
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => {
            format!(
                "nested deeper than {CONFIG_NESTING_MAX}; no field is, see whether a bracket is left open"
            )
        }
        ErrorKind::TabInIndentation
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabNotAllowed => "a tab here or on the next line; indent with spaces".to_owned(),
        ErrorKind::DirectiveDisallowed => "directives (%…) are not accepted; remove this line".to_owned(),
        _ => format!(
            "not valid YAML: {}; check indentation, quotes and brackets here and just above",
            error.info()
        ),
    }
}
