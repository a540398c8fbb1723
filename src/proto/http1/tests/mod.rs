//! The codec against tables, plain models and every split of its input.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod accepted;
mod bodies;
mod refused;
mod responses;
mod rewriting;
mod smuggling;
mod splits;

use super::{HeadError, Parsed, RequestHead};

/// Parses a whole request head.
fn request(octets: &[u8]) -> Result<RequestHead, HeadError> {
    let mut head = RequestHead::new();
    match head.parse(octets)? {
        Parsed::Complete { .. } => Ok(head),
        Parsed::Partial => panic!("partial: {}", octets.escape_ascii()),
    }
}

/// A GET for `/` with these field lines, each ended by CRLF, behind Host.
fn get_with(lines: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: a.example\r\n{lines}\r\n").into_bytes()
}
