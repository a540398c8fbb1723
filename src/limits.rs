//! Every bound of the process, unit in its name. A bound that can be hit has a metric beside it.
