//! Writes answers: the fixed one from octets prepared beforehand, others field by field.

use std::time::{Duration, Instant, SystemTime};

use ringway::proto::date::HttpDate;
use ringway::proto::http1::Framing;

/// Fields behind Date and the one that frames, in this order; beyond these, numbered ones.
const FIELDS: [&str; 6] = [
    "Server: ringway-loadgen\r\n",
    "Content-Type: application/octet-stream\r\n",
    "Cache-Control: no-store\r\n",
    "ETag: \"5d8c72a5edda8d6a\"\r\n",
    "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
    "Vary: Accept-Encoding\r\n",
];
const DATE: &str = "Date: ";
const DATE_OCTETS: usize = 29;

/// The origin's answers. The Date in them is at most a second old.
pub(super) struct Answers {
    /// Fields of every answer but the first line, Date and the one that frames.
    fields: String,
    /// `200 OK` with the fixed body, whole.
    fixed: Vec<u8>,
    fixed_head: usize,
    date: HttpDate,
    date_until: Instant,
}

impl Answers {
    /// A fixed answer with that body, and heads with `fields` field lines.
    pub(super) fn new(body: &[u8], fields: usize, now: Instant) -> Self {
        let numbered = (0..).map(|n| format!("X-Filler-{n}: 0123456789abcdef\r\n"));
        let named = FIELDS.iter().map(|field| (*field).to_owned());
        let date = HttpDate::from_unix_seconds(0);
        let mut answers = Self {
            fields: named.chain(numbered).take(fields.saturating_sub(2)).collect(),
            fixed: Vec::new(),
            fixed_head: 0,
            date,
            date_until: now,
        };
        let mut fixed = Vec::new();
        answers.write_head(&mut fixed, 200, Framing::Length(body.len() as u64), true, &[]);
        answers.fixed_head = fixed.len();
        fixed.extend_from_slice(body);
        answers.fixed = fixed;
        answers.refresh(now);
        answers
    }

    /// Brings the Date up to date, if `now` is a second after it.
    pub(super) fn refresh(&mut self, now: Instant) {
        if now < self.date_until {
            return;
        }
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.date = HttpDate::from_unix_seconds(clock.as_secs());
        let rest = Duration::from_secs(1) - Duration::from_nanos(u64::from(clock.subsec_nanos()));
        self.date_until = now + rest;
        let at = "HTTP/1.1 200 OK\r\n".len() + DATE.len();
        self.fixed[at..at + DATE_OCTETS].copy_from_slice(self.date.as_octets());
    }

    /// The fixed answer, whole.
    pub(super) fn fixed(&self) -> &[u8] {
        &self.fixed
    }

    pub(super) fn fixed_head(&self) -> &[u8] {
        &self.fixed[..self.fixed_head]
    }

    pub(super) fn fixed_body(&self) -> &[u8] {
        &self.fixed[self.fixed_head..]
    }

    /// Appends a head; `more` are further fields, name and value.
    pub(super) fn write_head(
        &self,
        out: &mut Vec<u8>,
        status: u16,
        framing: Framing,
        keep_alive: bool,
        more: &[(&str, &str)],
    ) {
        let reason = if status == 200 { "OK" } else { "" };
        out.extend_from_slice(format!("HTTP/1.1 {status} {reason}\r\n{DATE}").as_bytes());
        out.extend_from_slice(self.date.as_octets());
        out.extend_from_slice(b"\r\n");
        match framing {
            Framing::Length(octets) => {
                out.extend_from_slice(format!("Content-Length: {octets}\r\n").as_bytes())
            }
            Framing::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Framing::None | Framing::UntilClose => {}
        }
        out.extend_from_slice(self.fields.as_bytes());
        for (name, value) in more {
            out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if !keep_alive {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;
    use ringway::proto::http1::{Method, Parsed, ResponseHead};

    #[test]
    fn the_fixed_answer_has_its_fields_and_body() {
        let now = Instant::now();
        for fields in [2, 8, 12] {
            let answers = Answers::new(&[7; 1024], fields, now);
            let octets = answers.fixed();
            let mut head = ResponseHead::new();
            let Parsed::Complete { len } = head.parse(octets, Method::Get).unwrap() else {
                unreachable!("the head is whole")
            };
            assert_eq!(octets[..len].iter().filter(|octet| **octet == b'\n').count(), 1 + fields + 1);
            assert_eq!((head.status(), head.framing()), (200, Framing::Length(1024)));
            assert_eq!(answers.fixed_body(), [7; 1024]);
            assert_eq!([answers.fixed_head(), &[7; 1024]].concat(), octets);
        }
    }

    #[test]
    fn dates_are_renewed_by_the_second() {
        let now = Instant::now();
        let mut answers = Answers::new(b"", 8, now);
        assert!(answers.date_until > now && answers.date_until <= now + Duration::from_secs(1));
        assert!(!answers.fixed().windows(4).any(|year| year == b"1970"));
        let (before, until) = (answers.fixed.clone(), answers.date_until);
        answers.refresh(until - Duration::from_nanos(1));
        assert_eq!((&answers.fixed, answers.date_until), (&before, until));
        answers.refresh(until + Duration::from_secs(5));
        assert!(answers.date_until > until);
    }
}
