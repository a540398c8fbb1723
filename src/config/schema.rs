//! The configuration as JSON Schema (draft 2020-12), for editors.
use serde_json::{Map, Value, json};

use super::table::{REQUIRED, Row, rows};

/// The schema of a configuration's file. It takes every file that is right; of those that are wrong, `ringway check` finds
/// more.
pub fn schema() -> Value {
    let mut root = object();
    for row in rows() {
        place(&mut root, &row.field, &row);
        if row.per_service {
            place(&mut root, &format!("services[].{}", row.field), &row);
        }
    }
    require(&mut root, "listeners");
    root["properties"]["listeners"]["minItems"] = json!(1);
    let feed = &mut root["properties"]["state"]["properties"]["feed"];
    require(feed, "kind");
    feed["if"] = json!({ "properties": { "kind": { "const": "file" } } });
    feed["then"] = json!({ "required": ["path"] });
    feed["else"] = json!({ "properties": { "path": false } });
    let of_file = json!({ "required": ["kind"], "properties": { "kind": { "const": "file" } } });
    let has_file = json!({ "required": ["feed"], "properties": { "feed": of_file } });
    root["if"] = json!({ "required": ["state"], "properties": { "state": has_file } });
    root["then"] = json!({ "properties": { "services": { "maxItems": 0 } } });
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Configuration of ringway");
    let version = env!("CARGO_PKG_VERSION");
    root["description"] =
        json!(format!("Of version {version}. `ringway check` finds mistakes that this cannot."));
    root
}

/// A mapping that takes no fields but those that are added.
fn object() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": {} })
}

/// Adds a field under its path, and the sections on the way there.
fn place(root: &mut Value, field: &str, row: &Row) {
    let (sections, name) = field.rsplit_once('.').unwrap_or(("", field));
    let mut at = root;
    for section in sections.split('.').filter(|section| !section.is_empty()) {
        let (section, is_list) = match section.strip_suffix("[]") {
            Some(section) => (section, true),
            None => (section, false),
        };
        let list = || json!({ "type": "array", "items": object() });
        let entry = properties(at).entry(section).or_insert_with(|| if is_list { list() } else { object() });
        at = if is_list { &mut entry["items"] } else { entry };
    }
    if row.default == REQUIRED {
        require(at, name);
    }
    let is_inherited = row.per_service && field.starts_with("services[]");
    let leaf = properties(at).entry(name).or_insert_with(|| leaf(row, is_inherited));
    // A section that its fields have made before.
    leaf["description"] = json!(description(row));
}

fn leaf(row: &Row, is_inherited: bool) -> Value {
    if row.values.schema == json!({ "type": "object" }) {
        return object();
    }
    let mut leaf = row.values.schema.clone();
    if !is_inherited && let Some(default) = default(row) {
        leaf["default"] = default;
    }
    leaf
}

/// As JSON has it; `None` of a remark.
fn default(row: &Row) -> Option<Value> {
    let text = row.default.as_str();
    if text.starts_with('(') {
        return None;
    }
    if let Some(items) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Some(items.split(", ").collect());
    }
    let number = serde_json::from_str(text).ok().filter(Value::is_number);
    Some(number.unwrap_or_else(|| json!(text)))
}

fn description(row: &Row) -> String {
    let meaning = without_links(row.meaning);
    let told = without_links(&row.values.told);
    match told.as_str() {
        "fields" | "as above" => meaning,
        _ => format!("{meaning}. Values: {told}"),
    }
}

/// Links lead nowhere from an editor.
fn without_links(markdown: &str) -> String {
    let mut out = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        let (text, shown) = before.rsplit_once('[').unwrap_or((before, ""));
        out.push_str(text);
        out.push_str(shown);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    out + rest
}

fn properties(object: &mut Value) -> &mut Map<String, Value> {
    object["properties"].as_object_mut().expect("made by object()")
}

fn require(object: &mut Value, name: &str) {
    let required = object.as_object_mut().expect("made by object()").entry("required");
    let names = required.or_insert_with(|| json!([])).as_array_mut().expect("made here");
    if !names.iter().any(|known| known == name) {
        names.push(json!(name));
    }
}

#[cfg(test)]
mod tests {
    use jsonschema::Validator;

    use super::*;
    use crate::config::{parse, wrong_files::WRONG};

    fn validator() -> Validator {
        jsonschema::draft202012::new(&schema()).unwrap()
    }

    /// As an editor reads it.
    fn yaml(text: &str) -> Option<Value> {
        serde_saphyr::from_str(text).ok()
    }

    #[track_caller]
    fn assert_right(text: &str) {
        assert!(parse("f", text.as_bytes(), "host").is_ok(), "the reader refuses {text}");
        let file = yaml(text).unwrap();
        let errors: Vec<String> = validator().iter_errors(&file).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{text}");
    }

    #[test]
    fn it_is_a_schema() {
        jsonschema::draft202012::meta::validate(&schema()).unwrap();
    }

    #[test]
    fn it_takes_the_examples() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "yaml") {
                assert_right(&std::fs::read_to_string(&path).unwrap());
                seen += 1;
            }
        }
        assert!(seen > 0);
    }

    #[test]
    fn it_takes_every_field_and_every_form() {
        assert_right(EVERYTHING);
        assert_right(FED_BY_A_FILE);
        assert_right("listeners: [{ address: \"[::]:80\", protocol: http }]\ncores: auto\nidle: spin\n");
        let written = [yaml(EVERYTHING).unwrap(), yaml(FED_BY_A_FILE).unwrap()];
        let mut unwritten = Vec::new();
        for row in rows() {
            let per_service = row.per_service.then(|| format!("services[].{}", row.field));
            unwritten.extend([Some(row.field), per_service].into_iter().flatten().filter(|field| {
                let pointer = format!("/{}", field.replace("[]", "/0").replace('.', "/"));
                written.iter().all(|file| file.pointer(&pointer).is_none())
            }));
        }
        assert_eq!(unwritten, [""; 0], "add it to EVERYTHING");
    }

    /// Of mistakes that only the reader finds: what needs more than one field, arithmetic, or YAML's own marks.
    const BEYOND: [&str; 11] = [
        "anchors (&name) are not accepted",
        "tags are not accepted",
        "ms\" is out of range",
        "h\" is out of range",
        "is not on loopback",
        "is taken by a listener",
        "is the id of another service",
        "is given already",
        "is above the router's",
        "is this router's own listener",
        "is no single host's address",
    ];

    #[test]
    fn it_refuses_what_the_reader_refuses() {
        let validator = validator();
        let is_missed = |text: &str| {
            let text = format!("listeners: [{{ address: \"127.0.0.1:8080\", protocol: http }}]\n{text}\n");
            yaml(&text).is_some_and(|file| validator.is_valid(&file))
        };
        let missed: Vec<&str> =
            WRONG.iter().filter(|(text, _)| is_missed(text)).map(|(_, said)| *said).collect();
        let is_beyond = |said: &&&str| BEYOND.iter().any(|beyond| said.contains(beyond));
        assert_eq!(missed.iter().filter(|said| !is_beyond(said)).collect::<Vec<_>>(), [&""; 0]);
        let unused = BEYOND.iter().filter(|beyond| !missed.iter().any(|said| said.contains(*beyond)));
        assert_eq!(unused.collect::<Vec<_>>(), [&""; 0], "the schema finds it");
    }

    #[test]
    fn defaults_are_those_of_the_table() {
        let schema = schema();
        let of = |pointer: &str| schema.pointer(&format!("/properties/{pointer}/default")).cloned();
        assert_eq!(of("timeouts/properties/connect"), Some(json!("3s")));
        assert_eq!(of("limits/properties/head_fields"), Some(json!(100)));
        assert_eq!(of("access_log/properties/success_sample"), Some(json!(0.05)));
        assert_eq!(of("retry/properties/on"), Some(json!(["connect_failure", "closed", "http_503"])));
        assert_eq!(of("node/properties/id"), None, "a remark is no default");
        assert_eq!(of("services/items/properties/timeouts/properties/connect"), None, "the router's is");
    }

    #[test]
    fn descriptions_have_no_links() {
        assert_eq!(without_links("see [below](#a) and [b](c.md)."), "see below and b.");
        assert_eq!(without_links("as in `[0, 1]`"), "as in `[0, 1]`");
        for row in rows() {
            assert!(!description(&row).contains("]("), "{}", description(&row));
        }
    }

    const FED_BY_A_FILE: &str = r#"
listeners: [{ address: "127.0.0.1:8080", protocol: http }]
state: { feed: { kind: file, path: ./changes.jsonl } }
services: []
"#;

    const EVERYTHING: &str = r#"
node: { id: 7, region: eu-west.1, pop: pop_1 }
cores: [0, 1]
idle: park
listeners:
  - address: "unix:/run/edge.sock"
    mode: 660
    protocol: http
    trusted_proxies: [unix]
    internal_from: []
  - { address: "127.0.0.1:8080", protocol: http, trusted_proxies: [10.0.0.0/8, "fd00::/8"] }
admin: { address: "[::1]:9180" }
state:
  dir: ./var
  snapshot: /srv/base.snap
  feed: { kind: inline }
resolver: { servers: ["10.0.0.53:53", "[fd00::53]:53"] }
timeouts:
  request_head: 5s
  idle: 1m
  drain: 1h
  connect: 250ms
  response_head: 5s
  body_progress: 5s
  upstream_idle: 5s
  upstream_wait: 5s
retry: { on: [] }
limits:
  request_head_bytes: 16384
  response_head_bytes: 16384
  head_fields: "50"
  target_bytes: 1024
  request_body_bytes: 0
  client_min_bytes_per_second: 0
  origin_min_bytes_per_second: 1
  connections_per_core: 1000
  upstream_idle_connections: 0
  upstream_connections: 10
  upstream_requests: 10
  upstream_waiting: 0
paths: raw
reuse: endpoint
services:
  - id: svc_A.b-9
    hostnames: [Shop.example, xn--bcher-kva.de, "1.2"]
    endpoints: ["127.0.0.1:9000", "[fd00::1]:80", "app.internal:81", "unix:/run/app.sock"]
    timeouts: { connect: 20ms, response_head: 1s, body_progress: 1s, upstream_idle: 1s, upstream_wait: 1s }
    retry: { on: [connect_failure, timeout] }
    limits:
      request_head_bytes: 2048
      head_fields: 20
      target_bytes: 64
      request_body_bytes: 1
      client_min_bytes_per_second: 1
      origin_min_bytes_per_second: 1
      upstream_idle_connections: 1
      upstream_connections: 1
      upstream_requests: 1
      upstream_waiting: 1
    paths: strict
    reuse: service
access_log: { path: ./access.log, success_sample: 0.5, slow: 1ms, fields: [url.path] }
process_log: { level: debug }
"#;
}
