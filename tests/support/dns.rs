//! A DNS server whose answers change as a test says.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{RData, Record, RecordType};

/// Serves until the test ends.
pub struct Dns {
    pub address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    queries: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Zone {
    /// Addresses by name, and for how many seconds they hold.
    names: HashMap<String, (Vec<IpAddr>, u32)>,
    /// The ends of names that are not answered at all.
    silent: Vec<String>,
    mood: Mood,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Answers,
    /// SERVFAIL.
    Fails,
    Silent,
}

impl Dns {
    pub fn start() -> Dns {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let address = socket.local_addr().expect("an address");
        let (zone, queries) = (Arc::<Mutex<Zone>>::default(), Arc::new(AtomicUsize::new(0)));
        let (asked, count) = (Arc::clone(&zone), Arc::clone(&queries));
        thread::spawn(move || {
            let mut room = [0; 4096];
            while let Ok((octets, peer)) = socket.recv_from(&mut room) {
                count.fetch_add(1, Ordering::AcqRel);
                let answer = asked.lock().expect("no test panics with it").answer(&room[..octets]);
                if let Some(answer) = answer {
                    let _ = socket.send_to(&answer, peer);
                }
            }
        });
        Dns { address, zone, queries }
    }

    /// From now on `name` has these addresses, for so many seconds.
    pub fn set(&self, name: &str, addresses: &[IpAddr], ttl: u32) {
        let mut zone = self.zone.lock().expect("no test panics with it");
        zone.names.insert(format!("{name}."), (addresses.to_vec(), ttl));
    }

    /// From now on nothing below `domain` is answered.
    pub fn silence(&self, domain: &str) {
        self.zone.lock().expect("no test panics with it").silent.push(format!(".{domain}."));
    }

    pub fn mood(&self, mood: Mood) {
        self.zone.lock().expect("no test panics with it").mood = mood;
    }

    pub fn queries(&self) -> usize {
        self.queries.load(Ordering::Acquire)
    }
}

impl Zone {
    fn answer(&self, query: &[u8]) -> Option<Vec<u8>> {
        let mut message = Message::from_vec(query).ok()?.into_response();
        let question = message.queries.first()?.clone();
        let name = question.name().to_ascii().to_ascii_lowercase();
        if self.silent.iter().any(|end| name.ends_with(end)) {
            return None;
        }
        match (self.mood, self.names.get(&name)) {
            (Mood::Silent, _) => return None,
            (Mood::Fails, _) => message.metadata.response_code = ResponseCode::ServFail,
            (Mood::Answers, None) => message.metadata.response_code = ResponseCode::NXDomain,
            (Mood::Answers, Some((addresses, ttl))) => {
                for address in addresses {
                    let data = match (address, question.query_type()) {
                        (IpAddr::V4(ip), RecordType::A) => RData::A((*ip).into()),
                        (IpAddr::V6(ip), RecordType::AAAA) => RData::AAAA((*ip).into()),
                        _ => continue,
                    };
                    message.add_answer(Record::from_rdata(question.name().clone(), *ttl, data));
                }
            }
        }
        message.to_vec().ok()
    }
}
