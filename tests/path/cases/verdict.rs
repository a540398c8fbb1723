//! Whether what was seen is what was wanted.

use std::fmt;

use super::corpus::{End, Reply, Want};
use super::message::Message;
use super::play::{Ended, Seen};
use super::recorder::Asked;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// As the case says.
    Exact,
    /// As others are judged: any error answer, or none before the end, will do where one is due, and a reset is an end.
    Lenient,
}

pub fn fits(reply: &Reply, message: &Message, strictness: Strictness) -> bool {
    let (wanted, status) = (reply.status, message.status());
    let refused = strictness == Strictness::Lenient && wanted >= 400 && status >= 400;
    (wanted == status || refused)
        && reply.cut != message.whole
        && reply.body.as_ref().is_none_or(|body| *body == message.body)
}

/// Whether all that has to reach the origin has.
pub fn reached(want: &Want, seen: &Seen) -> bool {
    want.origin == seen.asked.iter().map(shown).collect::<Vec<_>>()
        && (!want.origin_closed || seen.asked.last().is_some_and(|asked| asked.closed))
}

/// A request as the corpus writes it.
fn shown(asked: &Asked) -> String {
    let message = &asked.message;
    let origin = if asked.second { "b " } else { "" };
    let cut = if message.whole { "" } else { " cut" };
    let space = if message.body.is_empty() { "" } else { " " };
    format!("{origin}{}{space}{}{cut}", message.asked(), message.body)
}

/// Why a case has failed.
#[derive(Debug)]
pub struct Mismatch {
    pub wanted: String,
    /// What happened instead.
    pub told: String,
}

impl Mismatch {
    fn new(wanted: impl fmt::Display, told: impl Into<String>) -> Mismatch {
        Mismatch { wanted: wanted.to_string(), told: told.into() }
    }
}

/// `None` if one of the wants has been met, else what is not as the first wants it.
pub fn mismatch(wants: &[&Want], seen: &Seen, strictness: Strictness) -> Option<Mismatch> {
    let fault = seen.faults.first().map(|fault| Mismatch::new("no fault", fault));
    let of = |want: &Want| client(want, seen, strictness).or(origin(want, seen));
    let first = of(wants[0]);
    let none_met = wants.iter().all(|want| of(want).is_some());
    fault.or(first.filter(|_| none_met))
}

/// What was seen, in short.
fn summary(seen: &Seen) -> String {
    let replies: Vec<String> = seen.replies.iter().map(told).collect();
    let asked: Vec<String> = seen.asked.iter().map(shown).collect();
    let or_nothing = |list: Vec<String>| if list.is_empty() { "nothing".to_owned() } else { list.join(", ") };
    // Nothing came, or what came was not waited for any longer.
    let end = match seen.end {
        Ended::Silent => String::new(),
        end => format!(", {end:?}").to_lowercase(),
    };
    format!("client: {}{end}; origin: {}", or_nothing(replies), or_nothing(asked))
}

fn told(message: &Message) -> String {
    let cut = if message.whole { "" } else { " cut" };
    let body: String = message.body.chars().take(40).collect();
    let own = message.status() >= 400;
    if own || body.is_empty() {
        format!("{}{cut}", message.status())
    } else {
        format!("{} {body}{cut}", message.status())
    }
}

fn client(want: &Want, seen: &Seen, strictness: Strictness) -> Option<Mismatch> {
    let lenient = strictness == Strictness::Lenient;
    let dropped = lenient && seen.replies.is_empty() && want.replies.iter().all(|reply| reply.status >= 400);
    let fit = want.replies.len() == seen.replies.len()
        && want.replies.iter().zip(&seen.replies).all(|(reply, message)| fits(reply, message, strictness));
    if !fit && !dropped {
        return Some(Mismatch::new(format!("client {:?}", want.replies), summary(seen)));
    }
    let cut = want.replies.last().is_some_and(|reply| reply.cut);
    let ended = match (want.end, seen.end) {
        (_, end) if cut => end != Ended::Open && end != Ended::Silent,
        (End::Open, end) => end == Ended::Open,
        (End::Closed, Ended::Closed) => true,
        (End::Closed, end) => lenient && end == Ended::Reset,
    };
    if !ended {
        return Some(Mismatch::new(format!("client's connection {:?}", want.end), summary(seen)));
    }
    let last = seen.replies.last()?;
    // What else an error says is everybody's own matter.
    let has = if lenient && last.status() >= 400 { &[] } else { &want.client_has[..] };
    fields("client", last, has, &want.client_lacks)
}

fn origin(want: &Want, seen: &Seen) -> Option<Mismatch> {
    if !reached(want, seen) {
        let closed = if want.origin_closed { ", then closed" } else { "" };
        return Some(Mismatch::new(format!("origin {:?}{closed}", want.origin), summary(seen)));
    }
    fields("origin", &seen.asked.last()?.message, &want.origin_has, &want.origin_lacks)
}

/// `has`: `Name: value`, with ` | ` between values of several lines, or `Name` once with any value; behind `trailer ` in
/// the trailers.
fn fields(side: &str, message: &Message, has: &[String], lacks: &[String]) -> Option<Mismatch> {
    let values = |list: &[(String, String)], name: &str| {
        let named = list.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    for wanted in has {
        let (list, field) = match wanted.strip_prefix("trailer ") {
            Some(field) => (&message.trailers, field),
            None => (&message.fields, wanted.as_str()),
        };
        let (name, value) = field.split_once(": ").map_or((field, None), |(name, value)| (name, Some(value)));
        let got = values(list, name);
        if got.is_empty() || value.map_or(got.len() > 1, |value| value != got.join(" | ")) {
            return Some(Mismatch::new(
                format!("{side} gets {wanted}"),
                format!("{side} gets {name} {got:?}"),
            ));
        }
    }
    let both = [&message.fields[..], &message.trailers[..]].concat();
    let present = lacks.iter().find(|name| !values(&both, name).is_empty())?;
    let got = values(&both, present);
    Some(Mismatch::new(format!("{side} does not get {present}"), format!("{side} gets {present} {got:?}")))
}
