//! The corpus in `tests/cases`: its files, and the cases that their tables come to. The README there tells the format.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::script::{Step, plain, script};

/// What one client does, and what must come of it.
#[derive(Clone, Debug)]
pub struct Case {
    pub family: String,
    pub group: String,
    /// Where in its table it stands.
    pub row: String,
    /// Sections of RFCs, and rows of the requirements (R-…).
    pub rule: String,
    pub why: String,
    pub send: Vec<Step>,
    /// What the origin does, by the request's target; `""` for any but `/next`.
    pub answers: BTreeMap<String, Vec<Step>>,
    /// The client comes from a trusted proxy.
    pub trusted: bool,
    /// Others would have to be configured for it.
    pub own: bool,
    /// What the router must do.
    pub want: Want,
    /// What others may do as well.
    pub allowed: Vec<Want>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Want {
    pub replies: Vec<Reply>,
    pub end: End,
    pub client_has: Vec<String>,
    pub client_lacks: Vec<String>,
    /// What reaches the origin: `METHOD TARGET`, and the body behind a space if there is one.
    pub origin: Vec<String>,
    /// The router ends the connection on which the last request reached the origin.
    pub origin_closed: bool,
    pub origin_has: Vec<String>,
    pub origin_lacks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub to_head: bool,
    pub status: u16,
    /// `None` for any.
    pub body: Option<String>,
    /// The connection ends before the body does.
    pub cut: bool,
}

/// What becomes of the client's connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It carries another request.
    #[default]
    Open,
    /// FIN.
    Closed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    family: String,
    groups: Vec<Entry>,
}

/// A group, or a row, which takes from its group what it does not say.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    title: Option<String>,
    rule: Option<String>,
    why: Option<String>,
    send: Option<String>,
    /// Stands wherever the group says `«»`.
    with: Option<String>,
    answer: Option<String>,
    answers: Option<BTreeMap<String, String>>,
    trusted: Option<bool>,
    own: Option<bool>,
    client: Option<Vec<String>>,
    client_has: Option<Vec<String>>,
    client_lacks: Option<Vec<String>>,
    origin: Option<Vec<String>>,
    origin_has: Option<Vec<String>>,
    origin_lacks: Option<Vec<String>>,
    allowed: Option<Vec<Other>>,
    rows: Vec<Row>,
}

#[derive(Clone)]
enum Row {
    With(String),
    Entry(Box<Entry>),
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Row, D::Error> {
        deserializer.deserialize_any(TextOrEntry)
    }
}

struct TextOrEntry;

impl<'de> Visitor<'de> for TextOrEntry {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or fields")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Row, E> {
        Ok(Row::With(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Row, A::Error> {
        Ok(Row::Entry(Box::new(Entry::deserialize(MapAccessDeserializer::new(fields))?)))
    }
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    client: Vec<String>,
    origin: Vec<String>,
}

/// All cases, by file and place in it.
///
/// # Panics
/// A file is not what the README says.
pub fn read() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let entries = std::fs::read_dir(&folder).expect("the corpus").map(|entry| entry.expect("a file").path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    files.sort();
    files.iter().flat_map(|path| in_file(path)).collect()
}

fn in_file(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).expect("a file");
    let file: File = serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut cases = Vec::new();
    for group in file.groups {
        let rows = if group.rows.is_empty() { vec![Row::With(String::new())] } else { group.rows.clone() };
        for row in rows {
            let entry = match row {
                Row::With(text) => Entry { with: Some(text), ..Entry::default() }.within(&group),
                Row::Entry(entry) => entry.within(&group),
            };
            let title = group.title.clone().unwrap_or_default();
            let place = format!("{}: {title}: {:?}", path.display(), entry.with.clone().unwrap_or_default());
            cases.push(entry.case(&file.family, title).unwrap_or_else(|e| panic!("{place}: {e}")));
        }
    }
    cases
}

impl Entry {
    fn within(self, group: &Entry) -> Entry {
        let group = group.clone();
        Entry {
            title: self.title,
            rule: self.rule.or(group.rule),
            why: self.why.or(group.why),
            send: self.send.or(group.send),
            with: self.with,
            answer: self.answer.or(group.answer),
            answers: self.answers.or(group.answers),
            trusted: self.trusted.or(group.trusted),
            own: self.own.or(group.own),
            client: self.client.or(group.client),
            client_has: self.client_has.or(group.client_has),
            client_lacks: self.client_lacks.or(group.client_lacks),
            origin: self.origin.or(group.origin),
            origin_has: self.origin_has.or(group.origin_has),
            origin_lacks: self.origin_lacks.or(group.origin_lacks),
            allowed: self.allowed.or(group.allowed),
            rows: Vec::new(),
        }
    }

    fn case(self, family: &str, group: String) -> Result<Case, String> {
        let with = self.with.unwrap_or_default();
        let filled = |text: String| script(&text.replace("«»", &with));
        let all = |list: Vec<String>| list.iter().map(|text| text.replace("«»", &with)).collect::<Vec<_>>();
        let fields = |list: Option<Vec<String>>| {
            all(list.unwrap_or_default()).iter().map(|text| plain(text)).collect::<Result<Vec<_>, _>>()
        };
        let mut answers = BTreeMap::new();
        for (target, answer) in self.answers.unwrap_or_default() {
            answers.insert(target, filled(answer)?);
        }
        if let Some(answer) = self.answer {
            answers.insert(String::new(), filled(answer)?);
        }
        let row = [self.title, Some(with.clone())].into_iter().flatten().find(|text| !text.is_empty());
        let want = Want {
            client_has: fields(self.client_has)?,
            client_lacks: fields(self.client_lacks)?,
            origin_has: fields(self.origin_has)?,
            origin_lacks: fields(self.origin_lacks)?,
            ..Want::of(&all(self.client.ok_or("no `client`")?), &all(self.origin.ok_or("no `origin`")?))?
        };
        let others = self.allowed.unwrap_or_default();
        Ok(Case {
            family: family.to_owned(),
            group,
            row: row.unwrap_or_default(),
            rule: self.rule.ok_or("no `rule`")?,
            why: self.why.unwrap_or_default(),
            send: filled(self.send.ok_or("no `send`")?)?,
            answers,
            trusted: self.trusted.unwrap_or_default(),
            own: self.own.unwrap_or_default(),
            want,
            allowed: others
                .into_iter()
                .map(|other| Want::of(&all(other.client), &all(other.origin)))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl Want {
    /// Of `client` and `origin` alone.
    fn of(client: &[String], origin: &[String]) -> Result<Want, String> {
        let (client, closed) = without_closed(client);
        let (origin, origin_closed) = without_closed(origin);
        Ok(Want {
            replies: client.iter().map(|text| Reply::read(text)).collect::<Result<_, _>>()?,
            end: if closed { End::Closed } else { End::Open },
            client_has: Vec::new(),
            client_lacks: Vec::new(),
            origin: origin.iter().map(|text| plain(text)).collect::<Result<_, _>>()?,
            origin_closed,
            origin_has: Vec::new(),
            origin_lacks: Vec::new(),
        })
    }
}

fn without_closed(list: &[String]) -> (&[String], bool) {
    match list {
        [rest @ .., last] if last == "closed" => (rest, true),
        _ => (list, false),
    }
}

impl Reply {
    /// `[HEAD] STATUS [BODY|empty|cut]`.
    fn read(text: &str) -> Result<Reply, String> {
        let (to_head, rest) = text.strip_prefix("HEAD ").map_or((false, text), |rest| (true, rest));
        let (status, body) = rest.split_once(' ').map_or((rest, None), |(status, body)| (status, Some(body)));
        let body = match body {
            Some("empty") => Some(String::new()),
            Some("cut") | None => None,
            Some(body) => Some(plain(body)?),
        };
        let status = status.parse().map_err(|_| format!("{text:?} does not begin with a status"))?;
        Ok(Reply { to_head, status, body, cut: rest.ends_with(" cut") })
    }
}

impl Case {
    /// Whether others are asked, too: the rule is one of HTTP and needs no configuration.
    pub fn is_of_http(&self) -> bool {
        self.rule.contains("RFC") && !self.own
    }

    pub fn name(&self) -> String {
        format!("{}: {}: {:?}", self.family, self.group, self.row)
    }
}
