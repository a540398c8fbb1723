//! The harness's own client: one kept-alive connection, one request after the other. For counting, not for
//! load.
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::limits::{BODY_BYTES, PROBE_MILLIS};

/// The comparison's request: GET with 12 fields.
pub fn request(host: &str) -> String {
    format!(
        "GET /api/v1/catalogue/items?page=3&sort=price HTTP/1.1\r\n\
         Host: {host}\r\n\
         User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
         Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
         Accept-Language: en-GB,en;q=0.7,de;q=0.3\r\n\
         Accept-Encoding: gzip, deflate, br\r\n\
         Referer: https://{host}/catalogue/index.html\r\n\
         Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=1\r\n\
         Cache-Control: no-cache\r\n\
         Pragma: no-cache\r\n\
         DNT: 1\r\n\
         Sec-Fetch-Mode: navigate\r\n\
         X-Client-Version: 4.18.2 (build 20261101)\r\n\r\n"
    )
}

pub struct Client {
    stream: TcpStream,
    request: String,
    answer: Vec<u8>,
}

impl Client {
    /// Connects; every request will be for `host`. An answer that takes longer than `patience` is an error.
    pub fn connect(address: SocketAddr, host: &str, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_millis(PROBE_MILLIS))?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, request: request(host), answer: Vec::new() })
    }

    /// Sends the request and reads its answer whole; anything but a 200 with the origin's body is an error.
    pub fn ask(&mut self) -> io::Result<()> {
        self.stream.write_all(self.request.as_bytes())?;
        self.answer.clear();
        let mut piece = [0; 4096];
        while !is_whole(&self.answer) {
            match self.stream.read(&mut piece)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                len => self.answer.extend_from_slice(&piece[..len]),
            }
        }
        Ok(())
    }

    /// The connection alone, without what was kept for asking.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }
}

/// Whether `answer` is a 200 with all of its body; one of another status never becomes whole.
pub fn is_whole(answer: &[u8]) -> bool {
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
    answer.starts_with(b"HTTP/1.1 200") && head.is_some_and(|head| answer.len() == head + 4 + BODY_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_200_counts_as_an_answer() {
        let body = "x".repeat(BODY_BYTES);
        assert!(is_whole(format!("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{body}").as_bytes()));
        assert!(!is_whole(format!("HTTP/1.1 502 Bad Gateway\r\nA: b\r\n\r\n{body}").as_bytes()));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nx"));
    }

    #[test]
    fn the_request_has_12_fields_in_about_600_octets() {
        let text = request("shop-000001.tenants.example");
        assert_eq!(text.lines().count(), 1 + 12 + 1);
        assert!((550..=650).contains(&text.len()), "{} octets", text.len());
    }
}
