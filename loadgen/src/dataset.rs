//! The standard data set: the one generator that every measurement uses (design section 4).
//!
//! Nothing is stored: host `i` and service `s` are functions of their numbers and the seed, so that router,
//! generator and tests agree on them without a file between them. Host numbers are ranks: requests draw them
//! by [`Zipf`], 0 most often.

use std::net::{Ipv4Addr, SocketAddr};

use ringway_state::{
    hash::splitmix64,
    id::{HostName, OwnerId, Region, ServiceId},
    record::{Change, Class, Endpoint, EndpointSet, EndpointState, HostValue, Record, Service, Version},
};

/// Host names of the standard size.
pub const STANDARD_HOSTS: u64 = 4_000_000;
/// Services of the standard size.
pub const STANDARD_SERVICES: u64 = 1_000_000;

const CUSTOM_PERCENT: u64 = 30;
const OTHER_REGIONS: [&str; 2] = ["oregon", "frankfurt"];
const VERSION: Version = Version::new(1, 1);

const WORDS: [&str; 32] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "island", "juniper", "kestrel",
    "lagoon", "maple", "north", "orchid", "pebble", "quartz", "river", "summit", "timber", "umber", "valley",
    "willow", "xenon", "yarrow", "zephyr", "acorn", "breeze", "copper", "dune", "echo", "frost",
];
const TOP_LEVELS: [&str; 4] = [".com", ".net", ".io", ".shop"];

/// What to generate; two equal ones generate the same.
#[derive(Debug, Clone)]
pub struct Dataset {
    hosts: u64,
    services: u64,
    seed: u64,
    local: Region,
    origins: Vec<SocketAddr>,
}

impl Dataset {
    /// Seed 1. Every service has endpoints in `local`, and they are all among `origins`.
    ///
    /// # Panics
    /// If there is no service, or fewer hosts than services, or no origin.
    pub fn new(hosts: u64, services: u64, local: Region, origins: Vec<SocketAddr>) -> Self {
        assert!(services > 0 && hosts >= services, "each service has a host");
        assert!(!origins.is_empty(), "each service has an endpoint");
        Self { hosts, services, seed: 1, local, origins }
    }

    /// The same numbers with other names and mappings.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// 4,000,000 host names, 1,000,000 services, 64 loopback origins.
    pub fn standard(local: Region) -> Self {
        Self::new(STANDARD_HOSTS, STANDARD_SERVICES, local, standard_origins())
    }

    pub fn hosts(&self) -> u64 {
        self.hosts
    }

    pub fn services(&self) -> u64 {
        self.services
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The region in which every service has endpoints.
    pub fn local(&self) -> &Region {
        &self.local
    }

    pub fn origins(&self) -> &[SocketAddr] {
        &self.origins
    }

    /// The host name of that rank, for ranks below [`Dataset::hosts`]. 70 in 100 are `WORD-ID.apps.example`.
    pub fn host(&self, rank: u64) -> String {
        let mut random = self.random("host", rank);
        let (is_custom, word) = (self.class(rank) == Class::Custom, pick(&WORDS, &mut random));
        let id = self.scrambled(rank);
        if is_custom {
            let front = pick(&["www.", ""], &mut random);
            let second = pick(&WORDS, &mut random);
            format!("{front}{word}{second}-{id}{}", pick(&TOP_LEVELS, &mut random))
        } else {
            format!("{word}-{id}.apps.example")
        }
    }

    pub fn class(&self, rank: u64) -> Class {
        if self.random("class", rank) % 100 < CUSTOM_PERCENT { Class::Custom } else { Class::Platform }
    }

    /// The number of the service that the host of that rank is mapped to. Each service has at least one host.
    pub fn service_of(&self, rank: u64) -> u64 {
        if rank < self.services { rank } else { self.random("mapping", rank) % self.services }
    }

    pub fn service_id(&self, service: u64) -> String {
        format!("svc_{service:07x}")
    }

    /// The endpoints of a service, by region, the local one first: 1 to 3 regions, 1 to 4 endpoints each, 2
    /// on average.
    pub fn endpoints(&self, service: u64) -> Vec<(&str, Vec<SocketAddr>)> {
        let mut random = self.random("endpoints", service);
        let others = splitmix64(&mut random) % (OTHER_REGIONS.len() as u64 + 1);
        let regions = std::iter::once(self.local.as_str()).chain(OTHER_REGIONS);
        let regions = regions.zip(0..=others);
        regions.map(|(region, _)| (region, self.some_origins(&mut random))).collect()
    }

    /// The whole data set as changes: services, their endpoint sets, then host names.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        let services = (0..self.services).flat_map(|service| {
            let endpoints = self.endpoints(service);
            let sets = endpoints
                .iter()
                .map(|(region, set)| self.endpoint_set(service, well_formed(Region::parse(region)), set))
                .collect::<Vec<_>>();
            std::iter::once(self.service_change(service, &endpoints)).chain(sets)
        });
        let hosts = (0..self.hosts).map(|rank| self.mapped(rank, self.service_of(rank)));
        services.chain(hosts).map(|record| Change { version: VERSION, record })
    }

    fn service_change(&self, service: u64, endpoints: &[(&str, Vec<SocketAddr>)]) -> Record {
        let share = u16::try_from(100 / endpoints.len()).unwrap_or(100);
        let mut regions: Vec<_> =
            endpoints.iter().map(|(region, _)| (well_formed(Region::parse(region)), share)).collect();
        regions.sort_unstable();
        let owner = well_formed(OwnerId::parse(&format!("usr_{:x}", service / 4)));
        let value = Service { owner, home_region: self.local.clone(), regions, policy: None };
        Record::Service(well_formed(ServiceId::parse(&self.service_id(service))), Some(value))
    }

    /// The endpoints of a service in a region, all healthy.
    pub fn endpoint_set(&self, service: u64, region: Region, addresses: &[SocketAddr]) -> Record {
        let state = EndpointState::Healthy;
        let set = EndpointSet::new(addresses.iter().map(|&address| Endpoint { address, state }));
        let id = well_formed(ServiceId::parse(&self.service_id(service)));
        Record::Endpoints(id, region, Some(well_formed(set)))
    }

    /// The host of a rank, mapped to a service.
    pub fn mapped(&self, rank: u64, service: u64) -> Record {
        let service = well_formed(ServiceId::parse(&self.service_id(service)));
        self.host_record(rank, Some(HostValue::Mapped { service, class: self.class(rank) }))
    }

    /// The host of a rank, with any value.
    pub fn host_record(&self, rank: u64, value: Option<HostValue>) -> Record {
        Record::Host(well_formed(HostName::parse(&self.host(rank))), value)
    }

    /// 1 to 4 neighbours in the list of origins, with chances 40, 30, 20 and 10 in 100.
    pub fn some_origins(&self, random: &mut u64) -> Vec<SocketAddr> {
        let count = match splitmix64(random) % 10 {
            0..4 => 1,
            4..7 => 2,
            7..9 => 3,
            _ => 4,
        };
        let origins = self.origins.len();
        let first = below(origins, random);
        (0..origins.min(count)).map(|step| self.origins[(first + step) % origins]).collect()
    }

    /// `rank` in base 32, digits in an order that shows nothing; unlike for unlike ranks below 2^25, or below
    /// the hosts.
    #[allow(clippy::cast_possible_truncation)] // five bits are taken
    fn scrambled(&self, rank: u64) -> String {
        const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let digits = (u64::BITS - (self.hosts - 1).leading_zeros()).div_ceil(5).max(5);
        // An odd factor permutes the residues of a power of two.
        let number = rank.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (self.seed << 1);
        (0..digits).map(|digit| char::from(DIGITS[usize::from((number >> (5 * digit)) as u8 % 32)])).collect()
    }

    /// A random state of its own for each use of each number.
    fn random(&self, what: &str, number: u64) -> u64 {
        let mut state = ringway_state::hash::hash64(self.seed, what.as_bytes()) ^ number;
        splitmix64(&mut state)
    }
}

fn well_formed<T, E: std::fmt::Debug>(generated: Result<T, E>) -> T {
    generated.expect("what this file generates is well-formed")
}

/// 127.0.1.1 to 127.0.1.8, ports 9001 to 9008.
pub fn standard_origins() -> Vec<SocketAddr> {
    let addresses = (1..=8).map(|last| Ipv4Addr::new(127, 0, 1, last));
    addresses.flat_map(|address| (9001..=9008).map(move |port| SocketAddr::from((address, port)))).collect()
}

fn pick<'a>(from: &[&'a str], random: &mut u64) -> &'a str {
    from[below(from.len(), random)]
}

#[allow(clippy::cast_possible_truncation)] // below `bound`, a usize
fn below(bound: usize, random: &mut u64) -> usize {
    (splitmix64(random) % bound as u64) as usize
}

/// Draws ranks below `hosts`, rank `r` in proportion to 1 / (r + 1): Zipf's law with s = 1, by
/// rejection-inversion (Hörmann and Derflinger 1996), in constant time and memory.
#[derive(Debug, Clone)]
pub struct Zipf {
    state: u64,
    hosts: f64,
    /// The integral of 1/x to where the last rank's bar ends, and from where the first one's area begins.
    highest: f64,
    lowest: f64,
    /// Within this of its rank, a draw is accepted without computing.
    close: f64,
}

impl Zipf {
    #[allow(clippy::cast_precision_loss)] // ranks are far below 2^53
    pub fn new(hosts: u64, seed: u64) -> Self {
        let hosts = hosts.max(1) as f64;
        // In terms of the hat function ln: a bar of height 1/k from k - 1/2 to k + 1/2.
        let lowest = 1.5_f64.ln() - 1.0;
        let close = 2.0 - (2.5_f64.ln() - 0.5).exp();
        Self { state: seed, hosts, highest: (hosts + 0.5).ln(), lowest, close }
    }

    /// The next rank, from 0.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped to 1 ..= hosts
    pub fn draw(&mut self) -> u64 {
        // More than nine in ten draws are accepted, so this ends.
        loop {
            let area = self.highest + unit(&mut self.state) * (self.lowest - self.highest);
            let point = area.exp();
            let rank = point.round().clamp(1.0, self.hosts);
            if rank - point <= self.close || area >= (rank + 0.5).ln() - 1.0 / rank {
                return rank as u64 - 1;
            }
        }
    }
}

/// Uniform in [0, 1).
#[allow(clippy::cast_precision_loss)] // 53 bits are what a double holds
fn unit(state: &mut u64) -> f64 {
    (splitmix64(state) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
#[path = "dataset/tests.rs"] // also where an example includes this file
mod tests;
