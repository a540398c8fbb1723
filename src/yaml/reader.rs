//! Typed reading of the tree. Each question that fails leaves a mistake and answers `None` or the default, so
//! that the reading goes on; what was made of it may not be used once a mistake was left.
use super::quantity::{Quantity, Setting};
use super::report::{Report, Shown};
use super::suggest::nearest;
use super::tree::{Entry, Kind, Node};

/// The fields of one mapping. Remembers which it was asked for; [`Section::end`] reports all others.
pub struct Section<'a> {
    report: &'a Report,
    /// As `services[0].timeouts`; empty at the top.
    path: String,
    pub line: usize,
    entries: &'a [Entry],
    known: Vec<&'static str>,
}

/// A value and where it stands.
#[derive(Clone)]
pub struct Field<'a> {
    report: &'a Report,
    path: String,
    pub line: usize,
    node: &'a Node,
}

impl<'a> Section<'a> {
    pub fn top(node: &'a Node, report: &'a Report) -> Option<Self> {
        Field { report, path: String::new(), line: node.line, node }.section()
    }

    pub fn field(&mut self, name: &'static str) -> Option<Field<'a>> {
        self.known.push(name);
        let entry = self.entries.iter().find(|e| e.key == name)?;
        let line = entry.line_of_value();
        Some(Field { report: self.report, path: self.path_of(name), line, node: &entry.value })
    }

    pub fn required(&mut self, name: &'static str, example: &str) -> Option<Field<'a>> {
        let field = self.field(name);
        if field.is_none() {
            let path = self.path_of(name);
            self.report.mistake(self.line, format!("{path} is missing; add it, as in {name}: {example}"));
        }
        field
    }

    /// A section that may be absent.
    pub fn section(&mut self, name: &'static str) -> Option<Section<'a>> {
        self.field(name)?.section()
    }

    pub fn parse_or<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
        default: T,
    ) -> T {
        self.field(name).and_then(|field| field.parse(parse)).unwrap_or(default)
    }

    /// The value of a setting within its range, or else its default.
    pub fn setting<T: Quantity>(&mut self, setting: &Setting<T>) -> T {
        self.setting_or(setting, setting.default)
    }

    /// The same with a default that comes from elsewhere.
    pub fn setting_or<T: Quantity>(&mut self, setting: &Setting<T>, default: T) -> T {
        self.parse_or(setting.name, |text| setting.parse(text), default)
    }

    /// Reports every field that nobody asked for.
    pub fn end(self) {
        self.end_except(&[], "");
    }

    /// The same, with a better answer for fields that belong `elsewhere`.
    pub fn end_except(self, elsewhere: &[&str], mend_elsewhere: &str) {
        let path = if self.path.is_empty() { String::new() } else { format!("{}: ", self.path) };
        for Entry { key, line, .. } in self.entries {
            if self.known.contains(&key.as_str()) {
                continue;
            }
            let mend = match nearest(key, &self.known) {
                _ if elsewhere.contains(&key.as_str()) => mend_elsewhere.to_owned(),
                Some(near) => format!("did you mean {near}?"),
                None => format!("the fields here are {}", self.known.join(", ")),
            };
            self.report.mistake(*line, format!("{path}unknown field {}; {mend}", Shown(key)));
        }
    }

    pub fn warning(&self, text: &str) {
        self.report.warning(self.line, text);
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

impl<'a> Field<'a> {
    pub fn section(&self) -> Option<Section<'a>> {
        match &self.node.kind {
            Kind::Map(entries) => {
                let (report, path) = (self.report, self.path.clone());
                Some(Section { report, path, line: self.line, entries, known: Vec::new() })
            }
            other => self.wrong_kind("fields (name: value)", other),
        }
    }

    pub fn items(&self) -> Option<Vec<Field<'a>>> {
        match &self.node.kind {
            Kind::List(items) => {
                let item = |(i, node): (usize, &'a Node)| Field {
                    report: self.report,
                    path: format!("{}[{i}]", self.path),
                    line: node.line,
                    node,
                };
                Some(items.iter().enumerate().map(item).collect())
            }
            other => self.wrong_kind("a list, as in [a, b]", other),
        }
    }

    pub fn text(&self) -> Option<&'a str> {
        match &self.node.kind {
            Kind::Text(text) => Some(text),
            other => self.wrong_kind("a single value", other),
        }
    }

    /// Whether a list was written, for fields that take either a list or a word.
    pub fn is_list(&self) -> bool {
        matches!(self.node.kind, Kind::List(_))
    }

    /// The same for fields that take either a single value or fields.
    #[must_use]
    pub fn is_section(&self) -> bool {
        matches!(self.node.kind, Kind::Map(_))
    }

    pub fn parse<T>(&self, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        match parse(self.text()?) {
            Ok(value) => Some(value),
            Err(text) => {
                self.mistake(&text);
                None
            }
        }
    }

    /// Every item parsed; those that fail are reported and left out.
    pub fn parse_items<T>(&self, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        self.items().unwrap_or_default().iter().filter_map(|item| item.parse(&parse)).collect()
    }

    pub fn mistake(&self, text: &str) {
        self.report.mistake(self.line, format!("{}: {text}", self.path));
    }

    pub fn warning(&self, text: &str) {
        self.report.warning(self.line, &format!("{}: {text}", self.path));
    }

    fn wrong_kind<T>(&self, expected: &str, found: &Kind) -> Option<T> {
        let found = match found {
            Kind::Empty => "nothing",
            Kind::Text(_) => "a single value",
            Kind::List(_) => "a list",
            Kind::Map(_) => "fields",
            Kind::Refused => return None,
        };
        if self.path.is_empty() {
            let example = self.report.form.example;
            let text = format!("expected {expected}, found {found}; {example} shows the form");
            self.report.mistake(self.line, text);
        } else {
            self.mistake(&format!("expected {expected}, found {found}"));
        }
        None
    }
}
