//! What the admin listener answers.

use super::host::{self, IsLoopback};
use super::{Reloaded, Shown, TellJson, state};
use crate::feed::{DeskError, Meant, Rule};
use crate::limits::{ADMIN_BODY_OCTETS, ADMIN_RELOAD_MS, GUARD_RECORDED_MS};
use crate::observe::process_log::{self, Level};
use crate::observe::registry::CONTENT_TYPE;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE as CONTENT_TYPE_FIELD, HeaderValue, ORIGIN};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use ringway_state::id::ServiceId;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

pub(super) fn router(shown: Shown, is_loopback: IsLoopback) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .route("/v1/state", get(state))
        .route("/v1/slow", get(slow))
        .route("/v1/top", get(top))
        .route("/v1/explain", get(explain))
        .route("/v1/guards", get(guards))
        .route("/v1/guards/{rule}/acknowledge", post(acknowledge_rule))
        .route("/v1/guards/services/{service}/acknowledge", post(acknowledge_service))
        .route("/v1/routes", get(routes))
        .route("/v1/drain", post(drain))
        .route("/v1/reload", post(reload))
        .route("/v1/log-level", get(log_level).put(set_log_level))
        .layer(DefaultBodyLimit::max(ADMIN_BODY_OCTETS))
        .with_state(Arc::new(shown))
        .layer(from_fn_with_state(is_loopback, host::check))
        .layer(map_response(close))
}

async fn metrics(State(shown): State<Arc<Shown>>) -> Response {
    match shown.exposition.render() {
        Ok(text) => ([(CONTENT_TYPE_FIELD, CONTENT_TYPE)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn ready(State(shown): State<Arc<Shown>>) -> Response {
    let reasons = shown.admin.registry.readiness.reasons();
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let reasons: Vec<Value> = reasons.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
    json_answer(status, &json!({ "ready": reasons.is_empty(), "reasons": reasons }))
}

async fn state(State(shown): State<Arc<Shown>>) -> Response {
    json_answer(StatusCode::OK, &state::told(&shown.admin.registry, shown.started.elapsed()))
}

async fn guards(State(shown): State<Arc<Shown>>) -> Response {
    let (holdings, arrears) = shown.admin.guards.shown();
    let guards: Vec<Value> = holdings
        .iter()
        .map(|holding| {
            json!({
                "id": holding.rule.as_str(),
                "held": holding.held,
                "held_for_seconds": holding.since.map(|since| since.as_secs()),
                "expires_in_seconds": holding.expires.map(|left| left.as_secs()),
                "keys": holding.keys,
                "acknowledged_for_seconds": holding.acknowledged.map(|left| left.as_secs()),
            })
        })
        .collect();
    json_answer(StatusCode::OK, &json!({ "guards": guards, "octets_passed_over": arrears }))
}

async fn acknowledge_rule(
    State(shown): State<Arc<Shown>>,
    Path(id): Path<String>,
    fields: HeaderMap,
) -> Response {
    let rule = Rule::parse(&id).map(Meant::Rule);
    acknowledge(&shown, &fields, rule, &id, "there is no such guard; GET /v1/guards lists them").await
}

async fn acknowledge_service(
    State(shown): State<Arc<Shown>>,
    Path(id): Path<String>,
    fields: HeaderMap,
) -> Response {
    let service = ServiceId::parse(&id).ok().map(Meant::Service);
    acknowledge(&shown, &fields, service, &id, "this is no service's id, as svc_a is").await
}

/// Something that guards hold is meant; if there is such a thing. Answers when a restart keeps it, or would if the disk took
/// it.
async fn acknowledge(
    shown: &Shown,
    fields: &HeaderMap,
    meant: Option<Meant>,
    id: &str,
    unknown: &str,
) -> Response {
    if let Some(refusal) = refuse_pages(fields) {
        return refusal;
    }
    let error = |status, why: &str| json_answer(status, &json!({ "error": why }));
    let Some(meant) = meant else { return error(StatusCode::NOT_FOUND, unknown) };
    let service = match &meant {
        Meant::Service(service) => Some(service.clone()),
        Meant::Rule(_) => None,
    };
    match shown.admin.guards.acknowledge(meant) {
        Ok(ticket) => {
            let is_on_record = on_record(shown, ticket).await;
            let mut told = json!({ "acknowledged": id, "on_record": is_on_record });
            if let Some(service) = service {
                told["known"] = shown.admin.guards.knows(&service).into();
            }
            json_answer(StatusCode::ACCEPTED, &told)
        }
        Err(why @ DeskError::NoFeed) => error(StatusCode::CONFLICT, &why.to_string()),
        Err(why @ DeskError::TooMany) => error(StatusCode::TOO_MANY_REQUESTS, &why.to_string()),
    }
}

/// Waits until what was acknowledged is on record; not for ever, since a disk may be full.
async fn on_record(shown: &Shown, ticket: u64) -> bool {
    const LOOK: Duration = Duration::from_millis(5);
    let recorded = async {
        while !shown.admin.guards.has_on_record(ticket) {
            tokio::time::sleep(LOOK).await;
        }
    };
    timeout(Duration::from_millis(GUARD_RECORDED_MS), recorded).await.is_ok()
}

async fn drain(State(shown): State<Arc<Shown>>, fields: HeaderMap) -> Response {
    if let Some(refusal) = refuse_pages(&fields) {
        return refusal;
    }
    (shown.admin.drain)();
    json_answer(StatusCode::ACCEPTED, &json!({ "draining": true }))
}

async fn slow(State(shown): State<Arc<Shown>>) -> Response {
    let (requests, stalls) = shown.admin.registry.slow.last();
    json_answer(StatusCode::OK, &json!({ "requests": requests, "stalls": stalls }))
}

async fn top(State(shown): State<Arc<Shown>>) -> Response {
    let registry = &shown.admin.registry;
    json_answer(StatusCode::OK, &registry.top.told(&registry.cores))
}

async fn reload(State(shown): State<Arc<Shown>>, fields: HeaderMap) -> Response {
    if let Some(refusal) = refuse_pages(&fields) {
        return refusal;
    }
    let (tell, told) = oneshot::channel();
    (shown.admin.reload)(Box::new(move |outcome| drop(tell.send(outcome))));
    let Ok(Ok(outcome)) = timeout(Duration::from_millis(ADMIN_RELOAD_MS), told).await else {
        let why = json!({ "error": "not yet read again; the process log tells when it is" });
        return json_answer(StatusCode::SERVICE_UNAVAILABLE, &why);
    };
    let Reloaded { applied, changed, needs_restart, mistakes } = outcome;
    let status = if applied { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let outcome = json!({
        "applied": applied,
        "changed": changed,
        "needs_restart": needs_restart,
        "mistakes": mistakes,
    });
    json_answer(status, &outcome)
}

/// What becomes of the request that the query describes. Reading changes nothing, so a web page may ask; it cannot read the
/// answer of another origin.
async fn explain(State(shown): State<Arc<Shown>>, uri: Uri) -> Response {
    told(|tell| (shown.admin.explain)(&query(&uri), tell)).await
}

/// What serves the host name that the query has.
async fn routes(State(shown): State<Arc<Shown>>, uri: Uri) -> Response {
    told(|tell| match query(&uri).as_slice() {
        [(name, host)] if name == "host" => (shown.admin.routes)(host, tell),
        _ => Err("give one host name, as in ?host=shop.example.com".to_owned()),
    })
    .await
}

fn query(uri: &Uri) -> Vec<(String, String)> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect()
}

/// What the cores tell, if they do in time.
async fn told(ask: impl FnOnce(TellJson) -> Result<(), String>) -> Response {
    let (tell, told) = oneshot::channel();
    if let Err(wrong) = ask(Box::new(move |status, told| drop(tell.send((status, told))))) {
        return json_answer(StatusCode::UNPROCESSABLE_ENTITY, &json!({ "error": wrong }));
    }
    let Ok(Ok((status, told))) = timeout(Duration::from_millis(ADMIN_RELOAD_MS), told).await else {
        let why = json!({ "error": "the router is reloading, draining or busy; ask again" });
        return json_answer(StatusCode::SERVICE_UNAVAILABLE, &why);
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    answer(status, if status.is_success() { JSON } else { PROBLEM }, &told)
}

async fn log_level() -> Response {
    json_answer(StatusCode::OK, &json!({ "level": process_log::level().as_str() }))
}

/// Takes the level as plain text. It holds until the configuration is read again.
async fn set_log_level(fields: HeaderMap, body: String) -> Response {
    if let Some(refusal) = refuse_pages(&fields) {
        return refusal;
    }
    let Some(level) = Level::ALL.into_iter().find(|level| level.as_str() == body.trim()) else {
        let why = json!({ "error": "the body must be one of debug, info, warn and error" });
        return json_answer(StatusCode::UNPROCESSABLE_ENTITY, &why);
    };
    process_log::set_level(level);
    log_level().await
}

/// The answer to a request that a web page makes (only those carry Origin): a page from anywhere could otherwise post to
/// its reader's loopback.
fn refuse_pages(fields: &HeaderMap) -> Option<Response> {
    let why = json!({ "error": "requests from web pages are refused; use curl -X POST" });
    fields.contains_key(ORIGIN).then(|| json_answer(StatusCode::FORBIDDEN, &why))
}

/// One request a connection: requests are few here, and an idle connection would only take a place.
async fn close(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

pub(super) fn json_answer(status: StatusCode, value: &Value) -> Response {
    answer(status, JSON, value)
}

const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

fn answer(status: StatusCode, media: &'static str, value: &Value) -> Response {
    (status, [(CONTENT_TYPE_FIELD, media)], format!("{value}\n")).into_response()
}
