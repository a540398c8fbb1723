//! Writes the body front to back: octets to the file, a CRC32C for each block, never a step back.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use rkyv::{
    rancor::{ResultExt, Source},
    ser::{Positional, Writer},
};

use super::{
    error::BuildError,
    format::{BLOCK_OCTETS, Column},
};

pub(crate) struct BlockWriter<W> {
    out: W,
    path: PathBuf,
    position: usize,
    crc: u32,
    checksums: Vec<u32>,
}

impl<W: Write> BlockWriter<W> {
    /// `path` is only named in errors.
    pub(crate) fn new(out: W, path: &Path) -> Self {
        Self { out, path: path.to_owned(), position: 0, crc: 0, checksums: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn put(&mut self, mut octets: &[u8]) -> Result<(), BuildError> {
        while !octets.is_empty() {
            let room = BLOCK_OCTETS - self.position % BLOCK_OCTETS;
            let (now, later) = octets.split_at(room.min(octets.len()));
            self.out.write_all(now).map_err(|source| self.error(source))?;
            self.crc = crc32c::crc32c_append(self.crc, now);
            self.position += now.len();
            if self.position.is_multiple_of(BLOCK_OCTETS) {
                self.checksums.push(std::mem::take(&mut self.crc));
            }
            octets = later;
        }
        Ok(())
    }

    /// The column of the last `octets` written.
    pub(crate) fn column(&self, octets: usize) -> Column {
        Column { position: (self.position - octets) as u64, octets: octets as u64 }
    }

    /// Ends the body and puts the table of checksums behind it. Gives the body's length and the table's
    /// checksum.
    pub(crate) fn finish(mut self) -> Result<(u64, u32), BuildError> {
        if !self.position.is_multiple_of(BLOCK_OCTETS) {
            self.checksums.push(self.crc);
        }
        let table: Vec<u8> = self.checksums.iter().flat_map(|crc| crc.to_le_bytes()).collect();
        self.out.write_all(&table).and_then(|()| self.out.flush()).map_err(|source| self.error(source))?;
        Ok((self.position as u64, crc32c::crc32c(&table)))
    }

    fn error(&self, source: std::io::Error) -> BuildError {
        BuildError::Io { action: "write", path: self.path.clone(), source }
    }
}

impl<W> Positional for BlockWriter<W> {
    fn pos(&self) -> usize {
        self.position
    }
}

impl<W: Write, E: Source> Writer<E> for BlockWriter<W> {
    fn write(&mut self, octets: &[u8]) -> Result<(), E> {
        self.put(octets).into_error()
    }
}
