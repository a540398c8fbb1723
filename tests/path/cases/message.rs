//! A second parser of HTTP/1.1, as strict as RFC 9112 allows and no kin of the router's: what either side is sent
//! through the router has to stand up to it.

use super::script::latin1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Request,
    Response { to_head: bool },
}

/// One message. Texts hold a character for each octet.
#[derive(Clone, Debug, Default)]
pub struct Message {
    pub start: String,
    pub fields: Vec<(String, String)>,
    pub body: String,
    pub trailers: Vec<(String, String)>,
    /// Whether all of it is there.
    pub whole: bool,
}

/// How a message's body ends.
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

/// The message at the start of `octets`, and how many of them it takes; `None` until its head is there. `ended` if no
/// more octets will come.
///
/// # Errors
/// What is wrong with it.
pub fn read(kind: Kind, octets: &[u8], ended: bool) -> Result<Option<(Message, usize)>, String> {
    let Some(end) = octets.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let head = latin1(&octets[..end]);
    let mut lines = head.split("\r\n");
    let start = lines.next().unwrap_or_default().to_owned();
    match kind {
        Kind::Request => request_line(&start)?,
        Kind::Response { .. } => status_line(&start)?,
    }
    let fields = lines.map(field).collect::<Result<Vec<_>, _>>()?;
    let mut message = Message { start, fields, ..Message::default() };
    if kind == Kind::Request && message.all("host").len() != 1 {
        return Err(format!("{} Host fields", message.all("host").len()));
    }
    let rest = &octets[end + 4..];
    let used = match framing(kind, &message)? {
        Framing::Length(length) => {
            message.whole = rest.len() >= length;
            let used = rest.len().min(length);
            message.body = latin1(&rest[..used]);
            used
        }
        Framing::Chunked => chunks(rest, &mut message)?,
        Framing::UntilClose => {
            message.whole = ended;
            message.body = latin1(rest);
            rest.len()
        }
    };
    Ok(Some((message, end + 4 + used)))
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

/// RFC 9112, 3. Octets that no URI holds are refused, but for those that clients send and all servers take.
fn request_line(line: &str) -> Result<(), String> {
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else { return Err(format!("request line {line:?}")) };
    let sound = !target.is_empty() && target.chars().all(|c| c.is_ascii_graphic() && c != '#');
    if is_token(method) && sound && ["HTTP/1.1", "HTTP/1.0"].contains(&version) {
        return Ok(());
    }
    Err(format!("request line {line:?}"))
}

/// RFC 9112, 4.
fn status_line(line: &str) -> Result<(), String> {
    let rest = line.strip_prefix("HTTP/1.1 ").or(line.strip_prefix("HTTP/1.0 "));
    let (code, reason) = rest.and_then(|rest| rest.split_once(' ')).ok_or(format!("status line {line:?}"))?;
    let sound = code.len() == 3 && code.chars().all(|c| c.is_ascii_digit()) && reason.chars().all(in_value);
    if sound { Ok(()) } else { Err(format!("status line {line:?}")) }
}

/// RFC 9112, 5, without folding.
fn field(line: &str) -> Result<(String, String), String> {
    let (name, value) = line.split_once(':').ok_or(format!("field line {line:?}"))?;
    let value = value.trim_matches([' ', '\t']);
    if is_token(name) && value.chars().all(in_value) {
        return Ok((name.to_owned(), value.to_owned()));
    }
    Err(format!("field line {line:?}"))
}

fn in_value(c: char) -> bool {
    c == '\t' || !c.is_control() || ('\u{80}'..='\u{9f}').contains(&c)
}

/// RFC 9112, 6.3; what it would have repaired is refused.
fn framing(kind: Kind, message: &Message) -> Result<Framing, String> {
    let bare = match kind {
        Kind::Request => false,
        Kind::Response { to_head } => {
            let status = message.status();
            let never = status < 200 || status == 204;
            if never
                && !(message.all("content-length").is_empty() && message.all("transfer-encoding").is_empty())
            {
                return Err(format!("{status} with a field that frames a body"));
            }
            never || status == 304 || to_head
        }
    };
    let framing = match (&message.all("content-length")[..], &message.all("transfer-encoding")[..]) {
        ([], []) if kind == Kind::Request => Framing::Length(0),
        ([], []) => Framing::UntilClose,
        ([length], []) if !length.is_empty() && length.chars().all(|c| c.is_ascii_digit()) => {
            Framing::Length(length.parse().map_err(|_| format!("Content-Length {length}"))?)
        }
        ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => Framing::Chunked,
        (lengths, codings) => {
            return Err(format!("Content-Length {lengths:?}, Transfer-Encoding {codings:?}"));
        }
    };
    Ok(if bare { Framing::Length(0) } else { framing })
}

/// RFC 9112, 7.1. Tells how many octets there are of the body.
fn chunks(octets: &[u8], message: &mut Message) -> Result<usize, String> {
    let mut at = 0;
    loop {
        let Some((line, next)) = line(octets, at)? else { return Ok(octets.len()) };
        let (digits, extension) = line.split_once(';').unwrap_or((&line, ""));
        let digits = digits.trim_end_matches([' ', '\t']);
        let hexadecimal = (1..=16).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_hexdigit());
        if !hexadecimal || !extension.chars().all(in_value) {
            return Err(format!("chunk size {line:?}"));
        }
        let size = usize::from_str_radix(digits, 16).map_err(|_| format!("chunk size {line:?}"))?;
        if size == 0 {
            return trailers(octets, next, message);
        }
        let data = &octets[next..octets.len().min(next.saturating_add(size))];
        message.body.push_str(&latin1(data));
        let behind = octets.get(next + data.len()..).unwrap_or_default();
        if data.len() < size || behind.len() < 2 {
            return Ok(octets.len());
        }
        if !behind.starts_with(b"\r\n") {
            return Err(format!("chunk data followed by {:?}", latin1(&behind[..2])));
        }
        at = next + size + 2;
    }
}

fn trailers(octets: &[u8], mut at: usize, message: &mut Message) -> Result<usize, String> {
    loop {
        let Some((line, next)) = line(octets, at)? else { return Ok(octets.len()) };
        if line.is_empty() {
            message.whole = true;
            return Ok(next);
        }
        message.trailers.push(field(&line)?);
        at = next;
    }
}

/// The line at `at` without its CRLF, and where the next begins; `None` if it has not ended.
fn line(octets: &[u8], at: usize) -> Result<Option<(String, usize)>, String> {
    let rest = octets.get(at..).unwrap_or_default();
    let Some(end) = rest.iter().position(|&octet| octet == b'\n') else { return Ok(None) };
    let line = latin1(&rest[..end]);
    match line.strip_suffix('\r') {
        Some(line) if !line.contains('\r') => Ok(Some((line.to_owned(), at + end + 1))),
        _ => Err(format!("a line that ends in LF alone, or holds CR: {line:?}")),
    }
}

impl Message {
    /// Values of all fields of that name.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let named = self.fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// Of a response.
    pub fn status(&self) -> u16 {
        self.start.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default()
    }

    /// Of a request: `METHOD TARGET`.
    pub fn asked(&self) -> &str {
        self.start.rsplit_once(' ').map_or("", |(asked, _)| asked)
    }

    /// Of a request.
    pub fn target(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }
}

#[test]
fn it_is_strict() {
    let request = |text: &str| read(Kind::Request, text.as_bytes(), false);
    let head = "POST /a HTTP/1.1\r\nHost: a\r\n";
    let whole =
        request(&format!("{head}Transfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nT: 1\r\n\r\nmore"));
    let (message, used) = whole.unwrap().unwrap();
    assert_eq!((message.body.as_str(), message.whole, used), ("abc", true, 78));
    assert_eq!(message.trailers, [("T".to_owned(), "1".to_owned())]);
    assert!(request("GET / HTTP/1.1\r\nHost: a").unwrap().is_none());
    for bad in [
        "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "Content-Length: +1\r\n\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n",
        "A : 1\r\n\r\n",
        "A: 1\r\n 2\r\n\r\n",
        "A: 1\nB: 2\r\n\r\n",
        "Host: b\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n",
    ] {
        assert!(request(&format!("{head}{bad}")).is_err(), "{bad:?}");
    }
}
