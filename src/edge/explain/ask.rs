//! A request that nobody has sent.

use ringway_state::id::HostName;

use crate::limits;
use crate::proto::http1::{Parsed, RequestHead};

/// What would come in on a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub method: String,
    /// As in `Host`, with a port or without.
    pub host: String,
    /// The request-target: a path, with a query or without.
    pub path: String,
    /// Names and values of further fields.
    pub fields: Vec<(String, String)>,
}

impl Ask {
    /// For the root of a host name.
    ///
    /// # Errors
    /// It stands on no line of a head.
    pub fn of_host(host: &str) -> Result<Ask, String> {
        Ask::of_query(&[("host".to_owned(), host.to_owned())])
    }

    /// From the pairs of a query: `host`, and if need be `path`, `method` and any number of `header`, as in `Name: value`.
    ///
    /// # Errors
    /// What is wrong with them and how to mend it.
    pub fn of_query(pairs: &[(String, String)]) -> Result<Ask, String> {
        let mut ask =
            Ask { method: "GET".to_owned(), host: String::new(), path: "/".to_owned(), fields: Vec::new() };
        for (name, value) in pairs {
            match name.as_str() {
                "host" => ask.host = plain(value)?,
                "path" => ask.path = plain(value)?,
                "method" => ask.method = plain(value)?,
                "header" => ask.fields.push(field(value)?),
                _ => return Err(format!("{name:?} is not asked here; give host, path, method or header")),
            }
        }
        if ask.host.is_empty() {
            return Err("host is missing; give it, as in ?host=shop.example.com&path=/".to_owned());
        }
        Ok(ask)
    }

    /// The host name that is looked up for it, if the head is right and it is one.
    pub fn name(&self) -> Option<HostName> {
        let (mut head, octets) = (RequestHead::new(), self.octets());
        let Ok(Parsed::Complete { .. }) = head.parse(&octets) else { return None };
        HostName::parse(std::str::from_utf8(head.host()).ok()?).ok()
    }

    /// The head of the request, as a client would send it.
    pub(super) fn octets(&self) -> Vec<u8> {
        let mut octets = format!("{} {} HTTP/1.1\r\nHost: {}\r\n", self.method, self.path, self.host);
        for (name, value) in &self.fields {
            octets.push_str(&format!("{name}: {value}\r\n"));
        }
        octets.push_str("\r\n");
        octets.into_bytes()
    }
}

/// Text that stands within a line of a head. Whether it is right there, the router's own reader says.
///
/// # Errors
/// It has a control character, which would end the line, or is longer than any head.
pub fn plain(text: &str) -> Result<String, String> {
    if text.len() > limits::HEAD_OCTETS_MAX {
        return Err(format!("has {} octets; a head has at most {}", text.len(), limits::HEAD_OCTETS_MAX));
    }
    match text.chars().find(|c| c.is_control()) {
        None => Ok(text.to_owned()),
        Some(control) => Err(format!("holds {control:?}; a line of a request has no control characters")),
    }
}

/// The host name that is asked for, with a port or without. Whether it is one, the router's own reader says.
///
/// # Errors
/// It is empty, or stands on no line of a head.
pub fn host(text: &str) -> Result<String, String> {
    match text.is_empty() {
        true => Err("is empty; give a host name, as in shop.example.com".to_owned()),
        false => plain(text),
    }
}

/// A field as it stands in a head: `Name: value`.
///
/// # Errors
/// It is none.
pub fn field(text: &str) -> Result<(String, String), String> {
    match plain(text)?.split_once(':') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.trim().to_owned())),
        _ => Err(format!("{text:?} is no field; write Name: value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_query_is_a_head() {
        let query = [("host", "a.test:80"), ("path", "/b?c"), ("method", "PUT"), ("header", "X-D:  e f ")];
        let ask = Ask::of_query(&pairs(&query)).unwrap();
        assert_eq!(ask.octets(), b"PUT /b?c HTTP/1.1\r\nHost: a.test:80\r\nX-D: e f\r\n\r\n");
        let ask = Ask::of_query(&pairs(&[("host", "a.test")])).unwrap();
        assert_eq!(ask.octets(), b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    }

    #[test]
    fn its_name_is_the_one_that_is_looked_up() {
        let name = |host: &str, path: &str| {
            let ask = Ask::of_query(&pairs(&[("host", host), ("path", path)])).unwrap();
            ask.name().map(|name| name.to_string())
        };
        assert_eq!(name("A.Test.:80", "/").as_deref(), Some("a.test"));
        assert_eq!(name("a.test", "http://b.test/").as_deref(), Some("b.test"), "RFC 9112, 3.2.2");
        for (host, path) in [("[::1]", "/"), ("a!b", "/"), ("a.test", "/a b"), ("a_b", "/")] {
            assert_eq!(name(host, path), None, "{host} {path}");
        }
    }

    #[test]
    fn no_query_becomes_more_than_one_head() {
        let long = "x".repeat(limits::HEAD_OCTETS_MAX + 1);
        for (name, value, told) in [
            ("host", "a.test\r\nX: y", "holds '\\r'; a line of a request has no control characters"),
            ("path", "/\n", "holds '\\n'; a line of a request has no control characters"),
            ("method", "GET\0", "holds '\\0'; a line of a request has no control characters"),
            ("header", "X: y\r\n\r\nGET /", "holds '\\r'; a line of a request has no control characters"),
            ("header", "X", "\"X\" is no field; write Name: value"),
            ("header", ": x", "\": x\" is no field; write Name: value"),
            ("path", &long, "has 32769 octets; a head has at most 32768"),
            ("hosts", "a", "\"hosts\" is not asked here; give host, path, method or header"),
            ("host", "", "host is missing; give it, as in ?host=shop.example.com&path=/"),
        ] {
            assert_eq!(Ask::of_query(&pairs(&[(name, value)])), Err(told.to_owned()), "{name}");
        }
    }
}
