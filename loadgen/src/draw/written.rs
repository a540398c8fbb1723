//! Sizes, delays and weights as files of plans write them.

use std::time::Duration;

use ringway::yaml::{Field, Quantity, Section, Setting, Shown};

use super::{Delay, Size, Sizes, Weighted};
use crate::limits;

const WEIGHT: Setting<u64> = Setting { name: "weight", default: 1, least: 1, most: limits::WEIGHT_MAX };

/// The weight of an item, 1 when it has none.
#[allow(clippy::cast_possible_truncation)] // at most WEIGHT_MAX
pub fn weight(section: &mut Section<'_>) -> u32 {
    section.setting(&WEIGHT) as u32
}

/// Items by weight, at least one and at most `most`; `item` reads one and its weight.
pub fn weighted<T>(
    field: &Field<'_>,
    most: usize,
    item: impl Fn(&Field<'_>) -> Option<(T, u32)>,
) -> Option<Weighted<T>> {
    let items = field.items()?;
    if items.is_empty() || items.len() > most {
        field.mistake(&format!("has {} items; list 1 to {most}", items.len()));
        return None;
    }
    // All are read, so that all mistakes are told.
    let read: Vec<Option<(T, u32)>> = items.iter().map(item).collect();
    Weighted::new(read.into_iter().collect::<Option<Vec<_>>>()?)
}

/// `16KiB`, `1KiB..1MiB`, or a list of `{ size: 16KiB, weight: 3 }`.
pub fn sizes(field: &Field<'_>) -> Option<Sizes> {
    if !field.is_list() {
        return field.parse(Size::parse).map(Weighted::one);
    }
    weighted(field, limits::KINDS_MAX, |item| {
        let mut section = item.section()?;
        let size = section.required("size", "16KiB").and_then(|f| f.parse(Size::parse));
        let weight = weight(&mut section);
        section.end();
        Some((size?, weight))
    })
}

/// `5ms`, `5ms..20ms`, or `{ median: 5ms, p99: 50ms }` of a lognormal law.
pub fn delay(field: &Field<'_>) -> Option<Delay> {
    if !field.is_section() {
        return field.parse(span);
    }
    let mut section = field.section()?;
    let median = section.required("median", "5ms").and_then(|f| f.parse(time));
    let p99 = section.required("p99", "50ms").and_then(|f| f.parse(time));
    section.end();
    let (median, p99) = (median?, p99?);
    if median.is_zero() || median > p99 {
        field.mistake("give a median above 0 and a p99 that is not below it");
        return None;
    }
    Some(Delay::lognormal(median, p99))
}

/// A time that an answer or a thought may take.
///
/// # Errors
/// What is wrong with `text` and how to mend it.
pub fn time(text: &str) -> Result<Duration, String> {
    let time = Duration::parse(text)?;
    let most = Duration::from_millis(limits::DELAY_MS_MAX);
    if time <= most { Ok(time) } else { Err(format!("{} is too long; at most {}", Shown(text), most.show())) }
}

fn span(text: &str) -> Result<Delay, String> {
    let Some((least, most)) = text.split_once("..") else { return time(text).map(Delay::Constant) };
    let (least, most) = (time(least)?, time(most)?);
    if least > most {
        return Err(format!("{} begins above its end; write the shorter time first", Shown(text)));
    }
    Ok(Delay::Uniform(least, most))
}
