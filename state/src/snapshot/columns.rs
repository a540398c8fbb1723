//! Where the parts of a body are, in either format that is read.

use std::ops::Range;

use rkyv::rancor::Error;

use super::format::{ArchivedBody, ArchivedBodyBefore, ArchivedColumn, FORMAT_BEFORE, Header};
use crate::id::Region;

/// Places in the file.
#[derive(Default)]
pub(crate) struct Columns {
    pub(crate) heap: Range<usize>,
    pub(crate) directory: Range<usize>,
    pub(crate) index: Range<usize>,
    pub(crate) documents: Range<usize>,
    pub(crate) documents_directory: Range<usize>,
    pub(crate) filter: Range<usize>,
    pub(crate) regions: Vec<Region>,
}

impl Columns {
    /// # Errors
    /// What of the root makes no sense.
    pub(crate) fn of(header: &Header, body: &[u8]) -> Result<Self, String> {
        let place = |column: &ArchivedColumn| {
            column.place(body.len()).ok_or_else(|| "a column lies outside the body".to_owned())
        };
        if header.format == FORMAT_BEFORE {
            let root = rkyv::access::<ArchivedBodyBefore, Error>(body).map_err(|error| error.to_string())?;
            return Ok(Self {
                heap: place(&root.heap)?,
                directory: place(&root.directory)?,
                index: place(&root.index)?,
                regions: root.regions.iter().map(|name| Region::trusted(name)).collect(),
                ..Self::default()
            });
        }
        let root = rkyv::access::<ArchivedBody, Error>(body).map_err(|error| error.to_string())?;
        Ok(Self {
            heap: place(&root.heap)?,
            directory: place(&root.directory)?,
            index: place(&root.index)?,
            documents: place(&root.documents)?,
            documents_directory: place(&root.documents_directory)?,
            filter: place(&root.filter)?,
            regions: root.regions.iter().map(|name| Region::trusted(name)).collect(),
        })
    }
}
