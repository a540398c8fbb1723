//! The codec against tables, models and every split.
