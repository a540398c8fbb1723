//! What an origin does to those who ask, as a plan file says: how long answers take, how they end, and when none come.
//! Pure, but for reading the file; loadgen/plans/origins/README.md is its reference.

use std::path::Path;
use std::time::Duration;

use ringway::yaml::{self, Field, Form, Mistakes, Node, Report, Section, Setting, word};

use crate::draw::written::{delay, sizes, weight, weighted};
use crate::draw::{Delay, Sizes, Weighted};
use crate::limits;

/// A whole script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub about: String,
    pub seed: u64,
    pub answers: Weighted<Act>,
    pub times: Vec<Window>,
}

/// One kind of answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    pub latency: Delay,
    pub status: u16,
    /// Octets of the body; `None` for the origin's fixed one.
    pub size: Option<Sizes>,
    pub does: Does,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Sends the whole of it.
    Answer,
    /// Resets the connection when half of the body has been sent.
    Reset,
    /// Closes the connection without a word.
    Close,
    /// Says nothing for as long as the client waits.
    Never,
    /// Sends one octet at a time, with a pause after each.
    Trickle(Duration),
}

/// A time at which the origin is not as usual, counted from the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub at: Duration,
    pub length: Duration,
    /// From one begin to the next.
    pub every: Option<Duration>,
    pub does: Trouble,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Answers wait for its end.
    Stall,
    /// Nobody listens: who connects is refused.
    Refuse,
}

impl Window {
    /// Its end, if `now` lies within.
    fn end_if_within(&self, now: Duration) -> Option<Duration> {
        let since = now.checked_sub(self.at)?;
        let nanos = |time: Duration| time.as_nanos();
        let before = self.every.map_or(0, |every| nanos(since) / nanos(every).max(1) * nanos(every));
        let begin = self.at + Duration::from_nanos(u64::try_from(before).unwrap_or(u64::MAX));
        let end = begin.saturating_add(self.length);
        (now < end).then_some(end)
    }

    /// When it comes next, or is under way: its begin and its end.
    pub(super) fn nth(&self, count: u32) -> Option<(Duration, Duration)> {
        let begin = match (count, self.every) {
            (0, _) => self.at,
            (_, Some(every)) => self.at.checked_add(every.checked_mul(count)?)?,
            (_, None) => return None,
        };
        Some((begin, begin.checked_add(self.length)?))
    }
}

impl Script {
    /// When the answer to a request that came at `now` begins: a stall keeps the request waiting before it is worked on,
    /// and its answer before it is sent.
    #[must_use]
    pub fn answer_at(&self, now: Duration, latency: Duration) -> Duration {
        self.after_stalls(self.after_stalls(now).saturating_add(latency))
    }

    fn after_stalls(&self, mut time: Duration) -> Duration {
        let stalls = || self.times.iter().filter(|window| window.does == Trouble::Stall);
        // One stall may end within another; each can keep it once, or they are one endless stall.
        for _ in 0..=self.times.len() {
            match stalls().filter_map(|stall| stall.end_if_within(time)).max() {
                Some(end) => time = end,
                None => break,
            }
        }
        time
    }
}

const FORM: Form = Form { example: "loadgen/plans/origins/README.md", too_large: "a plan is a page of text" };

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
const MS: Duration = Duration::from_millis(1);
const SEED: Setting<u64> = Setting { name: "seed", default: 1, least: 0, most: u64::MAX };
const STATUS: Setting<u64> = Setting { name: "status", default: 200, least: 200, most: 599 };
const PAUSE: Setting<Duration> = Setting { name: "pause", default: MS, least: MS, most: MINUTE };
const AT: Setting<Duration> = Setting { name: "at", default: MS, least: Duration::ZERO, most: DAY };
const FOR: Setting<Duration> = Setting { name: "for", default: MS, least: MS, most: DAY };
const EVERY: Setting<Duration> = Setting { name: "every", default: MS, least: MS, most: DAY };

/// Reads the script in the file at `path`.
///
/// # Errors
/// Every mistake in it, or why it cannot be read.
pub fn load(path: &Path) -> Result<Script, Mistakes> {
    parse(&path.display().to_string(), &yaml::bytes_of(path, "--plan")?)
}

/// The same of a file's content. `file` is its name in messages.
///
/// # Errors
/// Every mistake in it.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Script, Mistakes> {
    yaml::parse(file, bytes, FORM, script).map(|(script, _)| script)
}

fn script(root: &Node, report: &Report) -> Option<Script> {
    let mut top = Section::top(root, report)?;
    let about = top.required("about", "What it stands for").and_then(|f| f.text());
    let seed = top.setting(&SEED);
    let answers = match top.field("answers") {
        Some(field) => weighted(&field, limits::KINDS_MAX, act),
        None => {
            Some(Weighted::one(Act { latency: Delay::NONE, status: 200, size: None, does: Does::Answer }))
        }
    };
    let times = match top.field("times") {
        Some(field) => windows(&field),
        None => Some(Vec::new()),
    };
    top.end();
    Some(Script { about: about?.trim().to_owned(), seed, answers: answers?, times: times? })
}

#[allow(clippy::cast_possible_truncation)] // at most 599
fn act(item: &Field<'_>) -> Option<(Act, u32)> {
    let words = [
        ("answer", Does::Answer),
        ("reset", Does::Reset),
        ("close", Does::Close),
        ("never", Does::Never),
        ("trickle", Does::Trickle(PAUSE.default)),
    ];
    let mut section = item.section()?;
    let weight = weight(&mut section);
    let latency = section.field("latency").map_or(Some(Delay::NONE), |field| delay(&field));
    let status = section.setting(&STATUS) as u16;
    let size = section.field("size").map(|field| sizes(&field));
    let choices = "answer, reset, close, never or trickle";
    let mut does = section.parse_or("does", |text| word(text, &words, choices), Does::Answer);
    let pause = section.field(PAUSE.name);
    section.end();
    match (&mut does, pause) {
        (Does::Trickle(between), Some(pause)) => *between = pause.parse(|text| PAUSE.parse(text))?,
        (_, Some(pause)) => {
            pause.mistake("is between the octets of a trickle; add does: trickle, or remove it")
        }
        (_, None) => {}
    }
    let size = match size {
        Some(size) => Some(size?),
        None => None,
    };
    Some((Act { latency: latency?, status, size, does }, weight))
}

fn windows(field: &Field<'_>) -> Option<Vec<Window>> {
    let items = field.items()?;
    if items.len() > limits::KINDS_MAX {
        field.mistake(&format!("has {} items; list at most {}", items.len(), limits::KINDS_MAX));
    }
    let read: Vec<Option<Window>> = items.iter().map(window).collect();
    read.into_iter().collect()
}

fn window(item: &Field<'_>) -> Option<Window> {
    let words = [("stall", Trouble::Stall), ("refuse", Trouble::Refuse)];
    let mut section = item.section()?;
    let at = section.required(AT.name, "5s").and_then(|f| f.parse(|text| AT.parse(text)));
    let length = section.required(FOR.name, "1s").and_then(|f| f.parse(|text| FOR.parse(text)));
    let every = section.field(EVERY.name).map(|f| f.parse(|text| EVERY.parse(text)));
    let does =
        section.required("does", "stall").and_then(|f| f.parse(|text| word(text, &words, "stall or refuse")));
    section.end();
    let (at, length, does) = (at?, length?, does?);
    let every = match every {
        Some(every) => Some(every?),
        None => None,
    };
    if every.is_some_and(|every| every <= length) {
        item.mistake("comes again before it has ended; give an every above its for");
        return None;
    }
    Some(Window { at, length, every, does })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use crate::draw::Size;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Script {
        parse("o.yaml", text.as_bytes()).unwrap()
    }

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_script_says_what_it_means() {
        let script = parsed(
            "about: a\nseed: 4\nanswers:\n  - { weight: 3, latency: 5ms, size: 1KiB }\n  - { status: 503 }\n\
             \x20 - { latency: { median: 5ms, p99: 50ms }, does: trickle, pause: 2ms }\n  - { does: never }\n\
             times: [{ at: 5s, for: 1s, every: 30s, does: stall }, { at: 9s, for: 2s, does: refuse }]\n",
        );
        let [plain, status, trickle, never] = script.answers.items() else { unreachable!("four kinds") };
        assert_eq!(
            (plain.latency, &plain.size),
            (Delay::Constant(ms(5)), &Some(Weighted::one(Size::fixed(1024))))
        );
        assert_eq!((status.status, status.does, never.does), (503, Does::Answer, Does::Never));
        assert_eq!((trickle.latency, trickle.does), (Delay::lognormal(ms(5), ms(50)), Does::Trickle(ms(2))));
        assert_eq!((script.seed, script.answers.shares().next()), (4, Some(0.5)));
        assert_eq!(script.times[0].nth(2), Some((ms(65_000), ms(66_000))));
        assert_eq!((script.times[1].nth(0), script.times[1].nth(1)), (Some((ms(9_000), ms(11_000))), None));
    }

    #[test]
    fn mistakes_are_told_with_their_lines() {
        let wrong = "about: a\nanswers:\n  - { does: nothing }\n  - { pause: 1ms }\n  - { status: 100 }\n\
                     times:\n  - { at: 1s, for: 2s, every: 1s, does: stall }\n  - { at: 1s, dose: stall }\n";
        let told = parse("o", wrong.as_bytes()).unwrap_err().to_string();
        let lines: Vec<&str> = told.lines().collect();
        for (line, start) in lines.iter().zip([
            "o:3: answers[0].does: unknown value \"nothing\"; use answer, reset, close, never or trickle",
            "o:4: answers[1].pause: is between the octets of a trickle",
            "o:5: answers[2].status: \"100\" is out of range; give 200 to 599",
            "o:7: times[0]: comes again before it has ended",
            "o:8: times[1].for is missing",
            "o:8: times[1].does is missing",
            "o:8: times[1]: unknown field \"dose\"; did you mean does?",
        ]) {
            assert!(line.starts_with(start), "{line}");
        }
        assert_eq!(lines.len(), 7, "{told}");
    }

    proptest! {
        /// An answer comes no sooner than its latency, never within a stall, and as soon as both allow.
        #[test]
        fn answers_wait_for_stalls(
            now in 0u64..10_000,
            latency in 0u64..2_000,
            stalls in prop::collection::vec((0u64..8_000, 1u64..1_500, prop::option::of(1_600u64..4_000)), 0..4),
        ) {
            let mut script = parsed("about: a");
            script.times = stalls.iter().map(|&(at, length, every)| {
                Window { at: ms(at), length: ms(length), every: every.map(ms), does: Trouble::Stall }
            }).collect();
            let stalled = |time: u64| stalls.iter().any(|&(at, length, every)| {
                time >= at && every.map_or(time - at, |every| (time - at) % every) < length
            });
            let at = script.answer_at(ms(now), ms(latency));
            // The same millisecond by millisecond, which may come to no end where stalls overlap for ever.
            let wait = |from: u64| (from..from + 100_000).find(|time| !stalled(*time));
            if let Some(meant) = wait(now).and_then(|begin| wait(begin + latency)) {
                // Each window is passed once at each end: more overlapping would be an endless stall.
                prop_assert!(at <= ms(meant), "{at:?} {meant}");
                prop_assert!(at == ms(meant) || stalls.len() > 1, "{at:?} {meant}");
            }
            prop_assert!(at >= ms(now + latency));
        }

        #[test]
        fn no_octets_panic(octets: Vec<u8>, at in 0usize..200) {
            let _ = parse("o", &octets);
            let mut bent = b"{ about: a, answers: [{ latency: 1ms..2ms, does: trickle, pause: 1ms }], times: [{ at: 1s, for: 1s, every: 2s, does: stall }] }".to_vec();
            let at = at % bent.len();
            bent.splice(at..at, octets);
            let _ = parse("o", &bent);
        }
    }
}
