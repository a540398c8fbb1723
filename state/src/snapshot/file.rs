//! The file on disk: written beside its place and renamed into it; mapped read-only, verified before it is
//! read.
#![allow(unsafe_code)] // mapping a file

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use memmap2::Mmap;

use super::{
    error::{BuildError, OpenError},
    format::{BLOCK_OCTETS, FORMAT, HEADER_OCTETS, Header, HeaderError},
};
use crate::limits::VERIFY_THREADS_MAX;

/// A file being written. Removed again unless committed.
pub(crate) struct Partial {
    file: File,
    beside: PathBuf,
    place: PathBuf,
    committed: bool,
}

impl Partial {
    /// Leaves room for the header.
    pub(crate) fn create(place: &Path) -> Result<Self, BuildError> {
        let mut name = place.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        let beside = place.with_file_name(name);
        let error = |action| {
            let path = beside.clone();
            move |source| BuildError::Io { action, path, source }
        };
        let file = File::create(&beside).map_err(error("create"))?;
        // From here on, whatever fails, the file goes.
        let mut partial = Self { file, beside: beside.clone(), place: place.to_owned(), committed: false };
        partial.file.write_all(&[0; HEADER_OCTETS]).map_err(error("write"))?;
        Ok(partial)
    }

    pub(crate) fn body(&self) -> &File {
        &self.file
    }

    /// Writes the header, syncs, and puts the file in its place.
    pub(crate) fn commit(mut self, header: &Header) -> Result<(), BuildError> {
        let result = self.seal(header);
        self.committed = result.is_ok();
        result.map_err(|source| BuildError::Io { action: "put in place", path: self.place.clone(), source })
    }

    fn seal(&mut self, header: &Header) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header.encode())?;
        self.file.sync_all()?;
        fs::rename(&self.beside, &self.place)?;
        let folder = self.place.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing more can be done about a file that cannot be removed either.
            let _ = fs::remove_file(&self.beside);
        }
    }
}

/// A mapped file whose checksums hold.
pub(crate) struct Mapped {
    map: Mmap,
    pub(crate) header: Header,
}

impl Mapped {
    /// Maps `path` and verifies every octet on all cores, which also faults them in.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let error = |action| move |source| OpenError::Io { action, path: path.to_owned(), source };
        let file = File::open(path).map_err(error("open"))?;
        // SAFETY: `map` demands that nobody changes the file while it is mapped. Snapshots are never modified
        // in place: the only writer is `Partial`, which writes beside and renames, so that the mapped inode
        // keeps its octets to the end.
        let map = unsafe { Mmap::map(&file) }.map_err(error("map"))?;
        let header = header(&map, map.len() as u64, path)?;
        let mapped = Self { map, header };
        mapped.verify(path)?;
        Ok(mapped)
    }

    /// Keeps all pages of the file in memory.
    pub(crate) fn lock(&self) -> std::io::Result<()> {
        self.map.lock()
    }

    /// The body, page-aligned.
    pub(crate) fn body(&self) -> &[u8] {
        let end =
            HEADER_OCTETS + usize::try_from(self.header.body_octets).unwrap_or(usize::MAX - HEADER_OCTETS);
        self.octets(&(HEADER_OCTETS..end))
    }

    /// A range of the file; empty if it is not within.
    #[inline]
    pub(crate) fn octets(&self, range: &Range<usize>) -> &[u8] {
        self.map.get(range.clone()).unwrap_or_default()
    }

    fn verify(&self, path: &Path) -> Result<(), OpenError> {
        let table = self.map.get(HEADER_OCTETS + self.body().len()..).unwrap_or_default();
        if crc32c::crc32c(table) != self.header.checksums_crc {
            return Err(OpenError::ChecksumTable { path: path.to_owned() });
        }
        match first_damaged(self.body(), table.as_chunks().0) {
            None => Ok(()),
            Some(block) => {
                let from = (HEADER_OCTETS + block * BLOCK_OCTETS) as u64;
                let to = (from + BLOCK_OCTETS as u64).min((HEADER_OCTETS + self.body().len()) as u64);
                Err(OpenError::Block { path: path.to_owned(), block, from, to })
            }
        }
    }
}

/// Reads the header at the start of a file that has `octets` in all.
fn header(start: &[u8], octets: u64, path: &Path) -> Result<Header, OpenError> {
    let path = || path.to_owned();
    let Some(page) = start.first_chunk() else {
        return Err(OpenError::Foreign { path: path() });
    };
    let header = Header::decode(page).map_err(|error| match error {
        HeaderError::Foreign => OpenError::Foreign { path: path() },
        HeaderError::Format(found) => OpenError::Format { path: path(), found, known: FORMAT },
        HeaderError::Layout { found, known } => OpenError::Layout { path: path(), found, known },
        HeaderError::Damaged => OpenError::Header { path: path() },
    })?;
    if octets == header.file_octets() {
        Ok(header)
    } else {
        Err(OpenError::Length { path: path(), found: octets, expected: header.file_octets() })
    }
}

/// The first block whose checksum does not hold, by threads that take blocks in turn.
fn first_damaged(body: &[u8], checksums: &[[u8; 4]]) -> Option<usize> {
    let blocks: Vec<(&[u8], u32)> =
        body.chunks(BLOCK_OCTETS).zip(checksums.iter().map(|crc| u32::from_le_bytes(*crc))).collect();
    let (next, damaged) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let work = || {
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            let Some((octets, crc)) = blocks.get(block) else { break };
            if crc32c::crc32c(octets) != *crc {
                damaged.fetch_min(block, Ordering::Relaxed);
            }
        }
    };
    let threads =
        thread::available_parallelism().map_or(1, usize::from).min(VERIFY_THREADS_MAX).min(blocks.len());
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    Some(damaged.into_inner()).filter(|&block| block != usize::MAX)
}

/// Reads the header alone.
pub(crate) fn inspect(path: &Path) -> Result<Header, OpenError> {
    let error = |source| OpenError::Io { action: "read", path: path.to_owned(), source };
    let file = File::open(path).map_err(error)?;
    let octets = file.metadata().map_err(error)?.len();
    let mut page = Vec::new();
    (&file).take(HEADER_OCTETS as u64).read_to_end(&mut page).map_err(error)?;
    header(&page, octets, path)
}
