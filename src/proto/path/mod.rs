//! Paths as rules see them (RFC 3986, 6.2.2; R-195). An origin may read a path in more than one way: `/a/..;/b` is three
//! segments to one and `/b` to another. A rule that is matched against one reading would be passed by with the other, so a
//! path is brought into a form in which all of them agree, and refused where none is.
//!
//! Two forms come of it. *Matched* is for rules: no dot segments, no empty segments, no parameters (`;…`), and nothing
//! encoded that need not be. *Resolved* is for the origin: the octets that the client sent, less dot segments, so that the
//! origin finds no way back out of what was matched. A path without any goes on as it came.

#[cfg(test)]
mod tests;

use crate::limits::PATH_LAYERS_MAX;

/// Why a path can be read in more than one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// RFC 3986, 2.1.
    #[error("the path holds a % without two hexadecimal digits behind it")]
    Escape,
    /// `%2F`, `%5C`, and `\`, which some take for `/`.
    #[error("the path holds an encoded slash, or a backslash, plain or encoded")]
    Separator,
    /// `%00`, where some end the path.
    #[error("the path holds an encoded NUL")]
    Nul,
    /// `%252E` and the like, which mean something else to whoever decodes twice.
    #[error("the path holds a dot, slash, backslash or NUL that is encoded twice")]
    TwiceEncoded,
    /// `%C0%AE` and the like (RFC 3629, 3).
    #[error("the path holds a dot, slash, backslash or NUL in UTF-8 that is longer than it must be")]
    Overlong,
    /// `..;`, a name to some, and the way up to those that drop parameters or blanks first.
    #[error("the path holds a dot segment with parameters or blanks behind it")]
    DotParameters,
    /// More `..` than there is above.
    #[error("the path leads out of the root")]
    AboveRoot,
    /// Not in normal form, where nothing else is taken.
    #[error("the path is not in its normal form")]
    NotNormal,
}

/// A path's forms, in buffers that are used again.
#[derive(Debug, Default)]
pub struct NormalPath {
    form: Form,
    matched: Vec<u8>,
    resolved: Vec<u8>,
    /// One segment, decoded.
    segment: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Both forms are the path as sent.
    #[default]
    Plain,
    Written {
        has_dots: bool,
    },
    Refused(PathError),
}

impl NormalPath {
    /// Reads a path, which begins with `/`; `*` is left alone.
    pub fn read(&mut self, path: &[u8]) {
        self.form = match is_plain(path) {
            true => Form::Plain,
            false => match self.write(path) {
                Ok(has_dots) => Form::Written { has_dots },
                Err(error) => Form::Refused(error),
            },
        };
    }

    /// What is wrong with the path, if anything.
    #[must_use]
    pub fn error(&self) -> Option<PathError> {
        match self.form {
            Form::Refused(error) => Some(error),
            Form::Plain | Form::Written { .. } => None,
        }
    }

    /// Whether `path`, which is what was read, is its own normal form.
    #[must_use]
    pub fn is_normal(&self, path: &[u8]) -> bool {
        self.error().is_none() && self.matched(path) == path
    }

    /// The form for rules. `path` is what was read, and the answer where the path was refused.
    #[must_use]
    pub fn matched<'a>(&'a self, path: &'a [u8]) -> &'a [u8] {
        match self.form {
            Form::Written { .. } => &self.matched,
            Form::Plain | Form::Refused(_) => path,
        }
    }

    /// The form for the origin, where it is another than the path as sent.
    #[must_use]
    pub fn resolved(&self) -> Option<&[u8]> {
        matches!(self.form, Form::Written { has_dots: true }).then_some(&self.resolved)
    }

    /// Writes both forms, without dot segments (RFC 3986, 5.2.4); true if there were any.
    fn write(&mut self, path: &[u8]) -> Result<bool, PathError> {
        self.resolved.clear();
        self.matched.clear();
        let mut has_dots = false;
        let mut segments = path.split(|&octet| octet == b'/').skip(1).peekable();
        while let Some(sent) = segments.next() {
            decode(sent, &mut self.segment)?;
            let name = name(&self.segment);
            let up = match name {
                b"." => false,
                b".." => true,
                _ => {
                    append(&mut self.resolved, sent);
                    append(&mut self.matched, name);
                    continue;
                }
            };
            if name.len() < self.segment.len() {
                return Err(PathError::DotParameters);
            }
            has_dots = true;
            if up {
                go_up(&mut self.resolved)?;
                go_up(&mut self.matched)?;
            }
            // What ends in a dot segment names a folder.
            if segments.peek().is_none() {
                append(&mut self.resolved, b"");
                append(&mut self.matched, b"");
            }
        }
        // Only now: the way up from an empty segment leads to the one before it.
        self.matched.dedup_by(|octet, before| (*octet, *before) == (b'/', b'/'));
        Ok(has_dots)
    }
}

fn append(form: &mut Vec<u8>, segment: &[u8]) {
    form.push(b'/');
    form.extend_from_slice(segment);
}

fn go_up(form: &mut Vec<u8>) -> Result<(), PathError> {
    let slash = form.iter().rposition(|&octet| octet == b'/').ok_or(PathError::AboveRoot)?;
    form.truncate(slash);
    Ok(())
}

/// Whether a path is its own normal form. One pass without a branch; a segment that begins with a dot is looked at more
/// closely elsewhere.
fn is_plain(path: &[u8]) -> bool {
    let special = |octet: u8| (octet == b'%') | (octet == b';') | (octet == b'\\');
    let (before, behind) = (path, path.get(1..).unwrap_or_default());
    let needs_care = before.iter().zip(behind).fold(false, |found, (&before, &octet)| {
        found | special(octet) | ((before == b'/') & ((octet == b'/') | (octet == b'.')))
    });
    !needs_care
}

/// A segment without its parameters (RFC 3986, 3.3).
fn name(segment: &[u8]) -> &[u8] {
    segment.split(|&octet| octet == b';').next().unwrap_or_default()
}

/// Writes a segment to `out` with what RFC 3986, 2.3 leaves unreserved decoded, and all other escapes in capitals.
fn decode(segment: &[u8], out: &mut Vec<u8>) -> Result<(), PathError> {
    out.clear();
    let mut rest = segment;
    while let Some((&octet, behind)) = rest.split_first() {
        rest = behind;
        match octet {
            b'\\' => return Err(PathError::Separator),
            b'%' => {
                let (digits, behind) = rest.split_first_chunk().ok_or(PathError::Escape)?;
                rest = behind;
                escape(*digits, out)?;
            }
            _ => out.push(octet),
        }
    }
    no_second_reading(out)
}

fn escape(digits: [u8; 2], out: &mut Vec<u8>) -> Result<(), PathError> {
    let octet = value(digits).ok_or(PathError::Escape)?;
    match octet {
        b'/' | b'\\' => return Err(PathError::Separator),
        0 => return Err(PathError::Nul),
        b'-' | b'.' | b'_' | b'~' => out.push(octet),
        _ if octet.is_ascii_alphanumeric() => out.push(octet),
        _ => out.extend([b'%', digits[0].to_ascii_uppercase(), digits[1].to_ascii_uppercase()]),
    }
    Ok(())
}

/// Whether a segment, all of it decoded, is a dot segment to those that drop parameters or blanks from its end.
fn is_dots_to_some(segment: &[u8]) -> bool {
    let dots = segment.iter().take_while(|&&octet| octet == b'.').count();
    let behind = &segment[dots..];
    matches!(dots, 1 | 2) && !behind.is_empty() && name(behind).iter().all(|&octet| octet <= b' ')
}

/// Refuses what a decoded segment may still hide from whoever decodes once more, or reads UTF-8 carelessly.
fn no_second_reading(segment: &[u8]) -> Result<(), PathError> {
    const WORTH_A_LOOK: [&[u8]; 8] =
        [b"%25", b"%C0", b"%C1", b"%E0%80", b"%E0%81", b"%F0%80", b"%F8%80", b"%FC%80"];
    let mut escapes =
        (0..segment.len()).filter(|&at| segment[at] == b'%').map(|at| &segment[at..]).peekable();
    let begins_with_dot = segment.starts_with(b".") && escapes.peek().is_some();
    if !begins_with_dot && !escapes.any(|escape| WORTH_A_LOOK.iter().any(|odd| escape.starts_with(odd))) {
        return Ok(());
    }
    let mut layer = segment.to_vec();
    for _ in 0..PATH_LAYERS_MAX {
        let Some(below) = peel(&layer)? else { return Ok(()) };
        if (0..below.len()).any(|at| is_overlong(&below[at..])) {
            return Err(PathError::Overlong);
        }
        if is_dots_to_some(&below) {
            return Err(PathError::DotParameters);
        }
        layer = below;
    }
    Err(PathError::TwiceEncoded)
}

/// Whether octets begin with U+002E, U+002F, U+005C or U+0000 in more than the one octet that UTF-8 has for it: in up to six,
/// as UTF-8 once had. A dot passes for the octet that it is the end of.
fn is_overlong(octets: &[u8]) -> bool {
    let Some((&lead, behind)) = octets.split_first() else { return false };
    let (bits, more) = match lead {
        0xc0 | 0xc1 => (lead & 1, 1),
        0xe0 => (0, 2),
        0xf0 => (0, 3),
        0xf8 => (0, 4),
        0xfc => (0, 5),
        _ => return false,
    };
    let Some(behind) = behind.get(..more) else { return false };
    let code = behind.iter().fold(u32::from(bits), |code, octet| code << 6 | u32::from(octet & 0x3f));
    behind.iter().all(|octet| matches!(octet, 0x80..=0xbf | b'.'))
        && [b'.', b'/', b'\\', 0].map(u32::from).contains(&code)
}

/// Decodes whatever is encoded, as a careless reader would; `None` if nothing is.
fn peel(layer: &[u8]) -> Result<Option<Vec<u8>>, PathError> {
    let (mut below, mut rest) = (Vec::with_capacity(layer.len()), layer);
    while let Some((&octet, behind)) = rest.split_first() {
        let digits = behind.split_first_chunk().filter(|_| octet == b'%');
        match digits.and_then(|(digits, behind)| Some((value(*digits)?, behind))) {
            Some((b'.' | b'/' | b'\\' | 0, _)) => return Err(PathError::TwiceEncoded),
            Some((octet, behind)) => {
                below.push(octet);
                rest = behind;
            }
            None => {
                below.push(octet);
                rest = behind;
            }
        }
    }
    Ok((below.len() < layer.len()).then_some(below))
}

/// Of two hexadecimal digits.
fn value(digits: [u8; 2]) -> Option<u8> {
    let [Some(high), Some(low)] = digits.map(|digit| char::from(digit).to_digit(16)) else { return None };
    u8::try_from(high << 4 | low).ok()
}
