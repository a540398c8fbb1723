//! What every replica of the route table must agree on. No runtime, no Kafka, no clock: bytes and values in,
//! values out.
//!
//! ```text
//! JSON line ── change::parse ──▶ Change ── Table::apply ──▶ Table ── publish ──▶ View ── host ──▶ HostHit
//!                                                             │ base: one Snapshot, mapped, shared
//!                                                             │ overlay: what changed since
//! ```
//!
//! The request path:
//! ```text
//! match view.host(b"shop.example.com") {                       // lower case, no port, no trailing dot
//!     Some(HostHit::Service(service)) => {
//!         let endpoints = service.endpoints(view.local());     // len(), get(index), iter()
//!     }
//!     Some(HostHit::Tombstone { .. }) | None => { /* 404 */ }
//! }
//! ```
//!
//! A base: `snapshot::build(changes, path, &BuildOptions::default(), &mut |_| ())?` writes one,
//! `Table::with_base(Arc::new(Snapshot::open(path)?), &region)` starts from it.
//!
//! An inline feed:
//! ```text
//! let mut table = Table::new(&Region::parse("local")?);
//! let (version, service) = (Version::new(0, 1), ServiceId::parse("svc_hello")?);
//! let value = HostValue::Mapped { service: service.clone(), class: Class::Custom };
//! table.apply(Change { version, record: Record::Host(HostName::parse("hello.localhost")?, Some(value)) });
//! let endpoint = Endpoint { address: "127.0.0.1:9000".parse()?, state: EndpointState::Healthy };
//! let set = EndpointSet::new([endpoint])?;
//! table.apply(Change { version, record: Record::Endpoints(service, region, Some(set)) });
//! let view: View = table.publish();                            // cheap to clone: one for each core
//! ```
pub mod change;
mod codec;
mod digest;
pub mod hash;
pub mod id;
mod json;
pub mod limits;
#[cfg(any(test, feature = "model"))]
pub mod model;
mod overlay;
mod prefetch;
pub mod record;
mod region;
pub mod snapshot;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod wire;

pub use digest::Digest;
pub use region::RegionKey;
pub use table::{Outcome, Refusal, Table};
pub use view::{Endpoints, Expected, HostHit, ServiceRef, View};
