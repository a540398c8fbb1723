//! A client's connection between and during requests.

use std::cell::OnceCell;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;

use super::asked::{Asked, Work};
use super::core::Edge;
use super::door::Door;
use super::reader::Reader;
use super::relay;
use crate::limits;
use crate::proto::http1::Scheme;
use crate::runtime::{Fault, Stream};

/// Kept small: an idle connection is this, its task and its slot.
pub(super) struct Client {
    pub(super) stream: Stream,
    pub(super) reader: Reader,
    pub(super) door: Rc<Door>,
    peer: OnceCell<Peer>,
    /// Whose request was the last.
    pub(super) work: Work,
}

/// Who is at the other end.
struct Peer {
    /// None on a Unix socket.
    address: Option<IpAddr>,
    text: [u8; ADDRESS_OCTETS],
    length: usize,
}

/// The longest IPv6 address as text.
const ADDRESS_OCTETS: usize = 39;

impl Peer {
    fn new(address: IpAddr) -> Peer {
        let mut text = [0; ADDRESS_OCTETS];
        let mut rest = &mut text[..];
        // A canonical address without a scope fits.
        let _ = write!(rest, "{address}");
        let left = rest.len();
        let length = ADDRESS_OCTETS - left;
        Peer { address: Some(address), text, length }
    }

    /// On a Unix socket.
    fn unix() -> Peer {
        let name = b"unix";
        let mut text = [0; ADDRESS_OCTETS];
        text[..name.len()].copy_from_slice(name);
        Peer { address: None, text, length: name.len() }
    }
}

/// What a wait for a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Octets have come.
    Request,
    /// None came in time.
    Nothing,
    /// None will: the client has left.
    End,
}

impl Client {
    pub(super) fn new(stream: Stream, door: Rc<Door>, asked: &Rc<Asked>) -> Client {
        let work = asked.begin(&stream);
        Client { stream, reader: Reader::default(), door, peer: OnceCell::new(), work }
    }

    /// Waits for the first octet of a request for as long as `within`, holding nothing meanwhile.
    pub(super) async fn next(&self, within: Duration) -> Next {
        if !self.reader.is_empty() {
            return Next::Request;
        }
        match self.stream.idle(within).await {
            Ok(true) => Next::Request,
            Err(Fault::TimedOut) => Next::Nothing,
            Ok(false) | Err(Fault::Os(_)) => Next::End,
        }
    }

    /// Waits until the answers that the client has yet to read leave room for more; false if it has stopped reading. Small
    /// ones are sent without a wait of their own, so a client that only asks is held back here.
    pub(super) async fn has_room(&self, edge: &Edge) -> bool {
        let most = limits::SEND_QUEUE_OCTETS;
        self.stream.queued_octets() <= most || self.takes_to(most / 2, edge).await
    }

    /// Waits until all answers are with the kernel; false if the client has stopped reading. A connection that closes before
    /// may cut the last one.
    pub(super) async fn has_taken_all(&self, edge: &Edge) -> bool {
        self.stream.queued_octets() == 0 || self.takes_to(0, edge).await
    }

    async fn takes_to(&self, left: usize, edge: &Edge) -> bool {
        let mut pace = edge.settings().of_services().paces().0;
        relay::taken(&self.stream, left, &mut pace).await.is_ok()
    }

    /// The peer's address, asked once; none on a Unix socket. A peer that is gone has 0.0.0.0, and will not read an answer.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.peer().address
    }

    /// [`address`](Self::address) as text, or `unix`.
    pub(super) fn address_text(&self) -> &[u8] {
        let peer = self.peer();
        &peer.text[..peer.length]
    }

    fn peer(&self) -> &Peer {
        self.peer.get_or_init(|| {
            if self.door.is_unix {
                return Peer::unix();
            }
            let peer = self.stream.peer();
            Peer::new(peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip().to_canonical()))
        })
    }

    /// How the client asks.
    #[allow(clippy::unused_self, reason = "no listener speaks TLS yet")]
    pub(super) fn scheme(&self) -> Scheme {
        Scheme::Http
    }

    /// The peer may say on whose behalf it asks.
    pub(super) fn is_trusted(&self) -> bool {
        self.door.trusts(|| self.address())
    }

    /// The peer may ask how the router is.
    pub(super) fn is_internal(&self) -> bool {
        self.door.is_internal(self.address())
    }
}
