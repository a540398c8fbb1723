//! What is tried a second time: `retry`, at the top for all services and under `services[]` for one.
use super::check::word;
use super::reader::Section;
use crate::policy::RetryOn;

/// `retry: { on: [connect_failure, …] }`; what is not in the list is not tried again.
pub(super) fn retry(section: &mut Section<'_>, inherited: RetryOn) -> RetryOn {
    let Some(mut retry) = section.section("retry") else { return inherited };
    let on = retry.field("on").map(|field| {
        field.parse_items(occasion).into_iter().fold(RetryOn::NOTHING, |on, occasion| occasion(on))
    });
    retry.end();
    on.unwrap_or(inherited)
}

type Occasion = fn(RetryOn) -> RetryOn;

const OCCASIONS: [(&str, Occasion); 5] = [
    ("connect_failure", |on| RetryOn { connect_failure: true, ..on }),
    ("closed", |on| RetryOn { closed: true, ..on }),
    ("http_502", |on| RetryOn { http_502: true, ..on }),
    ("http_503", |on| RetryOn { http_503: true, ..on }),
    ("timeout", |on| RetryOn { timeout: true, ..on }),
];

fn occasion(text: &str) -> Result<Occasion, String> {
    word(text, &OCCASIONS, "connect_failure, closed, http_502, http_503 or timeout")
}

/// As one would write it: `[connect_failure, closed]`.
pub(super) fn words(on: RetryOn) -> String {
    let words: Vec<&str> =
        OCCASIONS.iter().filter(|(_, with)| with(on) == on).map(|(word, _)| *word).collect();
    format!("[{}]", words.join(", "))
}
