//! A histogram of the router's own, between two looks at its metrics.
use crate::failure::Failure;
use crate::peers::Running;

/// Values by size: ends of buckets in microseconds, ascending, and how many were at most as large.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram(Vec<(f64, f64)>);

impl Histogram {
    /// What `metric` (of seconds, without `_bucket`) has counted since the router's start, over all its labels.
    pub fn of(running: &Running, metric: &str) -> Result<Self, Failure> {
        let histogram = Self::read(&running.metrics()?, metric);
        if histogram.0.is_empty() { Err(running.lacks(metric)) } else { Ok(histogram) }
    }

    fn read(text: &str, metric: &str) -> Self {
        let mut histogram = Self::default();
        let rest = |line: &'_ str| Some(line.strip_prefix(metric)?.strip_prefix("_bucket{")?.to_owned());
        for line in text.lines().filter_map(rest) {
            let end = line.split_once("le=\"").and_then(|(_, rest)| rest.split_once('"'));
            let end = end.and_then(|(end, _)| end.parse::<f64>().ok()).map(|seconds| seconds * 1e6);
            let count = line.rsplit_once(' ').and_then(|(_, count)| count.parse().ok());
            if let (Some(end), Some(count)) = (end, count) {
                histogram.add_at(end, count);
            }
        }
        histogram.0.sort_by(|one, other| one.0.total_cmp(&other.0));
        histogram
    }

    fn add_at(&mut self, end: f64, count: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == end) {
            Some((_, sum)) => *sum += count,
            None => self.0.push((end, count)),
        }
    }

    /// Adds what was counted from `before` to `after`.
    pub fn add(&mut self, before: &Self, after: &Self) {
        before.0.iter().for_each(|(end, count)| self.add_at(*end, -count));
        after.0.iter().for_each(|(end, count)| self.add_at(*end, *count));
    }

    /// Microseconds that a share of the values stayed within, evenly spread within its bucket; `None` of none, or beyond
    /// the last end.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = self.0.last()?.1 * share;
        let mut below = (0.0, 0.0);
        for &(end, count) in &self.0 {
            if count >= wanted && count > 0.0 {
                let within = (wanted - below.1) / (count - below.1);
                return end.is_finite().then_some(below.0 + (end - below.0) * within);
            }
            below = (end, count);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is the test's failure
    use super::*;

    #[test]
    fn of_all_cores_between_two_looks() {
        let text = |scale: u32| {
            let line = |core: u32, end: &str, count: u32| {
                format!("lag_seconds_bucket{{le=\"{end}\",core=\"{core}\"}} {}\n", count * scale)
            };
            let of = |core| [line(core, "0.00002", 50), line(core, "0.0001", 99), line(core, "+Inf", 100)];
            [of(0).concat(), of(1).concat(), "lag_seconds_sum{core=\"0\"} 1\n".to_owned()].concat()
        };
        let read = |scale| Histogram::read(&text(scale), "lag_seconds");
        assert_eq!(read(1).0, [(20.0, 100.0), (100.0, 198.0), (f64::INFINITY, 200.0)]);
        let mut between = Histogram::default();
        between.add(&read(1), &read(3));
        assert_eq!(between.quantile(0.5), Some(20.0));
        assert_eq!(between.quantile(0.25), Some(10.0));
        assert_eq!(between.quantile(0.99), Some(100.0));
        assert_eq!(between.quantile(0.999), None, "beyond the last end");
        assert_eq!(Histogram::read(&text(1), "lag").quantile(0.5), None);
    }
}
