//! What every replica of the route table must agree on. No runtime, no Kafka, no clock: bytes and values in,
//! values out.
//!
//! ```text
//! JSON line ── change::parse ──▶ Change ── Table::apply ──▶ Table ── publish ──▶ View ── host ──▶ HostHit
//!                                                             │ overlay: what changed lately
//!                                                             │ levels: at most 4 files of what changed before that
//!                                                             │ base: one Snapshot, mapped, shared
//! ```
//! The newest layer that has a key answers. [`Layer`] names the one, [`View::stored`] tells it.
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
//! Chores: the overlay is flushed to levels, levels are merged, the base is made anew (S3). The writer's thread takes
//! the [`Work`], any other does it, as slowly as `pace` wants, and the writer's installs what comes of it. Neither
//! step takes longer than a change; readers find the same before and after.
//! ```text
//! match table.due() {                                          // a flush at half the overlay's bound; merges by size
//!     Some(Due::Flush) => work = table.flush(offsets)?,        // of the log behind it; frozen, Send; changes go on
//!     Some(Due::Merge(levels)) => work = table.merge(levels)?, // neighbours, 0 the newest
//!     None if an_hour_has_passed => work = table.rebuild(Forget::KnownTo(three_days_old)),
//!     None => …
//! }
//! let built = work.build(&path, &mut |progress| throttle.pace(progress))?;            // elsewhere
//! let retired = table.install(&built)?;                        // Refusal::Levels: merge, then install again
//! publish(table.publish());                                    // one swap for each core
//! waiting.push(retired);                                       // keep until all cores have it; then drop it on a
//!                                                              // thread that may take its time, and remove the files
//! ```
//! After a restart: `Table::with_layers(base, levels, &region)?`, newest level first, then the log from the offsets of
//! the newest file. A [`Refusal`] loses nothing: the change, or the file, is to be offered again later.
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
mod filter;
#[cfg(any(test, feature = "model"))]
pub mod forge;
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
mod writers;

pub use digest::Digest;
pub use region::RegionKey;
pub use table::{Built, Due, Forget, Outcome, Refusal, Retired, Table, Work, WorkError};
pub use view::{By, DocumentRef, Endpoints, Expected, HostHit, Layer, ServiceRef, Stored, View};
pub use writers::{NotItsWriter, Writers};
