//! ringway-loadgen: an origin that answers anything cheaply, and a generator that asks, on the router's own
//! runtime.
//!
//! A run, in the order of the modules: [`cli`] reads what was typed, [`plan`] decides what will happen (pure, from a file
//! or from options; [`draw`] holds the laws that it draws by), [`run`] acts on it: for each turn of each target [`window`]
//! opens connections, [`work`] hands out the requests' intended starts, which [`arrivals`] computes, [`client`] sends what
//! [`mix`] draws and reads it with [`answer`], [`record`] keeps the figures and [`intervals`] those of each moment, of which
//! [`report`] makes the table and the JSON document, [`html`] a page, and [`hdr`] a log.
//!
//! [`origin`] answers, by a script if it is given one. [`deltas`] writes the data set as changes and more of them as time
//! goes on; [`verify`] judges what a router answers meanwhile.
pub mod alarm;
pub mod answer;
pub mod arrivals;
pub mod cli;
pub mod client;
pub mod dataset;
pub mod deltas;
pub mod draw;
pub mod error;
pub mod hdr;
pub mod hold;
pub mod html;
pub mod intervals;
pub mod latch;
pub mod limits;
pub mod mix;
pub mod origin;
pub mod output;
pub mod pattern;
pub mod plan;
pub mod progress;
pub mod record;
pub mod report;
pub mod run;
pub mod verify;
pub mod window;
pub mod work;
