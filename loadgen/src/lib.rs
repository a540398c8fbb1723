//! ringway-loadgen: plan, mix, client, origin, record, report.
pub mod dataset;
