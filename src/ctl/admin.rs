//! What a running router's admin listener answers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::limits;
use crate::proto::http1::{BodyReader, BodyStep, Method, Parsed, ResponseHead};

/// Where an admin listener is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AdminUrl {
    /// `HOST:PORT`
    authority: String,
    /// How long each step may take.
    patience: Duration,
}

const PATIENCE: Duration = Duration::from_millis(limits::ADMIN_CONNECTION_MS);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("{0:?} is no admin listener's address; write http://IP:PORT, as in http://127.0.0.1:9180")]
    Url(String),
    #[error(
        "no router answers at http://{authority}: {error}; see that it runs, and give the admin.address that it runs with"
    )]
    Unreachable { authority: String, error: io::Error },
    #[error(
        "http://{authority} gives no answer that is understood: {what}; see that it is ringway's admin listener"
    )]
    NotUnderstood { authority: String, what: String },
    #[error("the router at http://{authority} refuses: {why}")]
    Refused { authority: String, why: String },
}

impl From<SocketAddr> for AdminUrl {
    fn from(address: SocketAddr) -> AdminUrl {
        AdminUrl { authority: address.to_string(), patience: PATIENCE }
    }
}

impl AdminUrl {
    /// `http://HOST:PORT`
    ///
    /// # Errors
    /// [`AskError::Url`].
    pub(super) fn parse(text: &str) -> Result<AdminUrl, AskError> {
        let authority = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        let port = authority.rsplit_once(':').and_then(|(host, port)| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
            (!host.is_empty() && host.chars().all(plain)).then(|| port.parse::<u16>().ok())?
        });
        match port {
            Some(_) => Ok(AdminUrl { authority: authority.to_owned(), patience: PATIENCE }),
            None => Err(AskError::Url(text.to_owned())),
        }
    }

    /// The same, with so much patience.
    pub(super) fn within(self, patience: Duration) -> AdminUrl {
        AdminUrl { patience, ..self }
    }

    /// Asks for a path, and reads the JSON that is answered.
    ///
    /// # Errors
    /// Nobody answers, or not with this.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, AskError> {
        let (status, content) = self.exchange("GET", path)?;
        match status {
            200 => self.understood(&content),
            404 => {
                let what = format!("it has no {}", before_query(path));
                Err(AskError::NotUnderstood { authority: self.authority.clone(), what })
            }
            _ => Err(self.refused(status, &content)),
        }
    }

    /// Asks for something to be done, and reads the JSON that is answered.
    ///
    /// # Errors
    /// Nobody answers, or not with this, or it is refused.
    pub(super) fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, AskError> {
        let (status, content) = self.exchange("POST", path)?;
        if matches!(status, 200..=299) {
            return self.understood(&content);
        }
        Err(self.refused(status, &content))
    }

    fn understood<T: DeserializeOwned>(&self, content: &[u8]) -> Result<T, AskError> {
        let authority = self.authority.clone();
        serde_json::from_slice(content)
            .map_err(|error| AskError::NotUnderstood { authority, what: error.to_string() })
    }

    /// What the router has against it, in words.
    fn refused(&self, status: u16, content: &[u8]) -> AskError {
        let told = serde_json::from_slice::<Value>(content).ok();
        let why = told.as_ref().and_then(|told| told["error"].as_str());
        let why = why.map_or_else(|| format!("it answers {status}"), str::to_owned);
        AskError::Refused { authority: self.authority.clone(), why }
    }

    /// Status and content.
    fn exchange(&self, method: &str, path: &str) -> Result<(u16, Vec<u8>), AskError> {
        let authority = self.authority.clone();
        match self.octets(method, path) {
            Ok(octets) => read(&octets).map_err(|what| AskError::NotUnderstood { authority, what }),
            Err(error) => Err(AskError::Unreachable { authority, error }),
        }
    }

    fn octets(&self, method: &str, path: &str) -> io::Result<Vec<u8>> {
        let mut stream = self.connect()?;
        let authority = &self.authority;
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
        let length = if method == "GET" { "" } else { "Content-Length: 0\r\n" };
        stream.write_all(format!("{head}{length}\r\n").as_bytes())?;
        let mut octets = Vec::new();
        stream.take(limits::ADMIN_ANSWER_OCTETS as u64).read_to_end(&mut octets)?;
        Ok(octets)
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let patience = self.patience;
        let mut last = io::ErrorKind::NotFound.into();
        for address in self.authority.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, patience) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(patience))?;
                    stream.set_write_timeout(Some(patience))?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Status and content of a whole answer.
fn read(octets: &[u8]) -> Result<(u16, Vec<u8>), String> {
    let mut head = ResponseHead::new();
    let Parsed::Complete { len } = head.parse(octets, Method::Get).map_err(|error| error.to_string())? else {
        return Err("its head ends early".to_owned());
    };
    let (mut body, mut content, mut at) = (BodyReader::new(head.framing()), Vec::new(), len);
    loop {
        match body.next(&octets[at..]).map_err(|error| error.to_string())? {
            BodyStep::Data(data) => {
                content.extend_from_slice(&octets[at..][data.clone()]);
                at += data.end;
            }
            BodyStep::End { .. } => break,
            BodyStep::NeedMore => {
                body.close().map_err(|error| error.to_string())?;
                break;
            }
        }
    }
    Ok((head.status(), content))
}

fn before_query(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_right_and_wrong() {
        for right in ["http://127.0.0.1:9180", "http://[::1]:9180/", "localhost:9180"] {
            let authority = right.trim_start_matches("http://").trim_end_matches('/');
            assert_eq!(AdminUrl::parse(right).unwrap().authority, authority);
        }
        for wrong in
            ["", "http://", "https://127.0.0.1:9180", "127.0.0.1", "http://a b:1", ":9180", "http://a:b"]
        {
            assert!(AdminUrl::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_refused_is_told_in_the_routers_words() {
        let url = AdminUrl::parse("a:1").unwrap();
        let told = |status, content: &[u8]| url.refused(status, content).to_string();
        let refused = "the router at http://a:1 refuses: ";
        assert_eq!(
            told(422, br#"{"error":"host is missing; give it"}"#),
            format!("{refused}host is missing; give it")
        );
        for content in [&b""[..], b"busy", b"{}", br#"{"error":7}"#] {
            assert_eq!(told(503, content), format!("{refused}it answers 503"));
        }
    }

    #[test]
    fn answers_whole_and_not() {
        let fixed = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(read(fixed), Ok((200, b"{}".to_vec())));
        let chunked = b"HTTP/1.1 422 Not\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n";
        assert_eq!(read(chunked), Ok((422, b"{}".to_vec())));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\n\r\n{}"), Ok((200, b"{}".to_vec())));
        for wrong in [&b""[..], b"220 mail\r\n\r\n", b"HTTP/1.1 200 OK\r\n", &fixed[..fixed.len() - 1]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
