//! HTTP/1.1 on a plain socket, read strictly: what is not a whole, well-formed message is an error.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any timeout under test: a peer that says nothing must fail the test, not hang it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A socket with what has been received on it and not yet used.
pub struct Wire {
    pub stream: TcpStream,
    at_hand: Vec<u8>,
}

/// The start line and fields of a message.
#[derive(Clone, Debug)]
pub struct Head {
    pub start: String,
    pub fields: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub head: Head,
    pub body: Vec<u8>,
}

/// How a message ended that did not come whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// FIN before the first octet.
    Closed,
    /// FIN inside the message.
    Short,
    /// A reset.
    Reset,
    /// Octets that are no HTTP/1.1.
    Malformed,
    /// Nothing came for [`PATIENCE`].
    Silent,
}

impl Wire {
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Wire {
        Wire::new(TcpStream::connect(address).unwrap_or_else(|e| panic!("{address}: {e}")))
    }

    pub fn new(stream: TcpStream) -> Wire {
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Wire { stream, at_hand: Vec::new() }
    }

    /// # Errors
    /// The peer has closed or reset.
    pub fn send(&mut self, octets: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(octets.as_ref())
    }

    pub fn finish_sending(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Closes so that the peer gets a reset.
    pub fn reset(self) {
        let _ = socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
    }

    /// Sends a request and reads its response.
    #[track_caller]
    pub fn ask(&mut self, request: impl AsRef<[u8]>) -> Response {
        self.send(request).expect("the router reads");
        self.response().expect("a whole response")
    }

    /// The next response to anything but HEAD.
    ///
    /// # Errors
    /// [`Cut`], if it does not come whole.
    pub fn response(&mut self) -> Result<Response, Cut> {
        let (status, head) = self.response_head()?;
        let bare = status < 200 || status == 204 || status == 304;
        let body = if bare { Vec::new() } else { self.body(&head, true)? };
        Ok(Response { status, head, body })
    }

    /// The next response's head alone, as after HEAD.
    ///
    /// # Errors
    /// [`Cut`], if it does not come whole.
    pub fn response_head(&mut self) -> Result<(u16, Head), Cut> {
        let head = self.head()?;
        let status = head.start.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        Ok((status.ok_or(Cut::Malformed)?, head))
    }

    /// The head of a message, up to its empty line.
    ///
    /// # Errors
    /// [`Cut`], if it does not come whole.
    pub fn head(&mut self) -> Result<Head, Cut> {
        let end = loop {
            match self.at_hand.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(at) => break at,
                None => self.more(Cut::Closed)?,
            }
        };
        let octets: Vec<u8> = self.at_hand.drain(..end + 4).collect();
        let text = String::from_utf8_lossy(&octets[..end]).into_owned();
        let mut lines = text.split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        let fields = lines.map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim().to_owned()))
        });
        Ok(Head { start, fields: fields.collect::<Option<_>>().ok_or(Cut::Malformed)? })
    }

    /// A body framed as `head` says; without framing none, or all until FIN if `until_close`.
    ///
    /// # Errors
    /// [`Cut`], if it does not come whole.
    pub fn body(&mut self, head: &Head, until_close: bool) -> Result<Vec<u8>, Cut> {
        match (head.get("content-length"), head.get("transfer-encoding")) {
            (Some(length), None) => self.exactly(length.parse().map_err(|_| Cut::Malformed)?),
            (None, Some("chunked")) => self.chunked(),
            (None, None) if until_close => self.rest(),
            (None, None) => Ok(Vec::new()),
            _ => Err(Cut::Malformed),
        }
    }

    fn chunked(&mut self) -> Result<Vec<u8>, Cut> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = usize::from_str_radix(&line, 16).map_err(|_| Cut::Malformed)?;
            if size == 0 {
                return self.trailers().map(|()| body);
            }
            body.extend(self.exactly(size)?);
            if !self.line()?.is_empty() {
                return Err(Cut::Malformed);
            }
        }
    }

    /// Past the trailers, which must be field lines.
    fn trailers(&mut self) -> Result<(), Cut> {
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(());
            }
            line.split_once(':').ok_or(Cut::Malformed)?;
        }
    }

    fn line(&mut self) -> Result<String, Cut> {
        loop {
            if let Some(at) = self.at_hand.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.at_hand.drain(..at + 2).collect();
                return String::from_utf8(line[..at].to_vec()).map_err(|_| Cut::Malformed);
            }
            self.more(Cut::Short)?;
        }
    }

    /// # Errors
    /// [`Cut`], if fewer come.
    pub fn exactly(&mut self, octets: usize) -> Result<Vec<u8>, Cut> {
        while self.at_hand.len() < octets {
            self.more(Cut::Short)?;
        }
        Ok(self.at_hand.drain(..octets).collect())
    }

    /// Everything until FIN.
    ///
    /// # Errors
    /// A reset, or a peer that does not close.
    pub fn rest(&mut self) -> Result<Vec<u8>, Cut> {
        loop {
            match self.more(Cut::Closed) {
                Ok(()) => {}
                Err(Cut::Closed | Cut::Short) => return Ok(std::mem::take(&mut self.at_hand)),
                Err(cut) => return Err(cut),
            }
        }
    }

    /// Receives once; `empty` says what a FIN means while nothing is at hand.
    fn more(&mut self, empty: Cut) -> Result<(), Cut> {
        let mut room = [0; 64 << 10];
        match self.stream.read(&mut room) {
            Ok(0) if self.at_hand.is_empty() => Err(empty),
            Ok(0) => Err(Cut::Short),
            Ok(octets) => {
                self.at_hand.extend_from_slice(&room[..octets]);
                Ok(())
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Err(Cut::Silent),
            Err(_) => Err(Cut::Reset),
        }
    }

    /// How the peer ended the connection, once what it sent has been read.
    ///
    /// # Panics
    /// It sends more, or leaves the connection open.
    #[track_caller]
    pub fn end(&mut self) -> Cut {
        match self.more(Cut::Closed) {
            Err(cut @ (Cut::Closed | Cut::Reset)) => cut,
            other => panic!("not the end: {other:?}, {:?}", String::from_utf8_lossy(&self.at_hand)),
        }
    }
}

impl Head {
    /// The first field of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).into_iter().next()
    }

    pub fn all(&self, name: &str) -> Vec<&str> {
        let named = self.fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// Of a request's start line.
    pub fn path(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }
}

impl Response {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("an answer in UTF-8")
    }

    /// # Panics
    /// The body is no JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a document in JSON")
    }

    /// The problem document that this response is (RFC 9457).
    ///
    /// # Panics
    /// It is none, or its status and request id are not those of the response.
    #[track_caller]
    pub fn problem(&self) -> serde_json::Value {
        assert_eq!(self.head.get("content-type"), Some("application/problem+json"), "{self:?}");
        let problem: serde_json::Value = serde_json::from_slice(&self.body).expect("a document in JSON");
        assert_eq!(problem["status"], self.status);
        assert_eq!(problem["request_id"].as_str(), self.head.get("x-request-id"));
        problem
    }
}
