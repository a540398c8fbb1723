//! Listening Unix sockets: one per path, whose queue all cores accept from.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use super::listener::LOOK_EVERY;
use crate::limits;

/// A listening socket and its file, which goes when this is dropped, unless another has taken its place.
#[derive(Debug)]
pub struct UnixListener {
    socket: OwnedFd,
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

/// Listens at `path`, with permissions `mode`. A socket's file that nobody serves any more is replaced; see
/// [`ensure_free`].
///
/// # Errors
/// As [`ensure_free`], or the file cannot be made.
pub fn bind(path: &Path, mode: u32) -> io::Result<UnixListener> {
    ensure_free(path, Duration::ZERO)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // The file is made with what the socket has, less the umask: nobody can connect in between who may not later.
    set_mode(&socket, mode)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let identity = identity(&fs::symlink_metadata(path)?);
    let listener = UnixListener { socket: socket.into(), path: path.to_owned(), identity };
    listener.set_mode(mode)?;
    SockRef::from(&listener.socket).listen(limits::LISTEN_BACKLOG)?;
    Ok(listener)
}

/// Fails if something else is at `path`, or a socket that a process serves. One that is ending has `patience` for it.
///
/// # Errors
/// [`ErrorKind::AddrInUse`] if it is served, [`ErrorKind::AlreadyExists`], with what is there, if it is nothing to take the
/// place of; or it cannot be looked at.
pub fn ensure_free(path: &Path, patience: Duration) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    loop {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
            Ok(there) => no_socket(path, &there).map_or(Ok(()), |what| Err(in_the_way(what)))?,
        }
        match is_served(path)? {
            false => return Ok(()),
            true if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
            true => return Err(ErrorKind::AddrInUse.into()),
        }
    }
}

/// What is there, unless it is a socket.
fn no_socket(path: &Path, there: &Metadata) -> Option<String> {
    let kind = there.file_type();
    match () {
        () if kind.is_socket() => None,
        () if kind.is_symlink() => {
            let to = fs::read_link(path).map(|to| format!(" to {}", to.display())).unwrap_or_default();
            Some(format!("a symbolic link{to} is there"))
        }
        () if kind.is_dir() => Some("a folder is there".to_owned()),
        () if kind.is_fifo() => Some("a FIFO is there".to_owned()),
        () if kind.is_file() => Some("a file is there".to_owned()),
        () => Some("a device is there".to_owned()),
    }
}

fn in_the_way(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::AlreadyExists, what.into())
}

/// Whether a process listens there. One that hangs, with a full queue, does too: it is not waited for.
fn is_served(path: &Path) -> io::Result<bool> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Ok(()) => Ok(true),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN) => Ok(true),
            Some(libc::ECONNREFUSED | libc::ENOENT) => Ok(false),
            Some(libc::EACCES) => Err(in_the_way("a socket that this user may not connect to is there")),
            Some(libc::EPROTOTYPE) => Err(in_the_way("a socket of another type is there")),
            _ => Err(error),
        },
    }
}

fn set_mode(socket: &Socket, mode: u32) -> io::Result<()> {
    fs::File::from(socket.as_fd().try_clone_to_owned()?).set_permissions(Permissions::from_mode(mode))
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

impl UnixListener {
    /// The socket for one more core.
    ///
    /// # Errors
    /// No descriptor left.
    pub fn socket(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone()
    }

    /// Whether who connects to the path comes here: the file may have been removed, or another put in its place.
    pub fn is_in_place(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|there| identity(&there) == self.identity)
    }

    /// Changes who may connect, and returns the mode before. A file that has it already is left alone.
    ///
    /// # Errors
    /// The file is not [in place](Self::is_in_place), or this user may not change it.
    pub fn set_mode(&self, mode: u32) -> io::Result<u32> {
        let there = fs::symlink_metadata(&self.path)?;
        if identity(&there) != self.identity {
            return Err(ErrorKind::NotFound.into());
        }
        let before = there.permissions().mode() & 0o777;
        if before != mode {
            fs::set_permissions(&self.path, Permissions::from_mode(mode))?;
        }
        Ok(before)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for UnixListener {
    fn drop(&mut self) {
        if self.is_in_place() {
            // Whoever comes next replaces what cannot be removed.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failed unwrap is a failed test
    use super::*;

    #[test]
    fn stale_files_are_replaced_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edge.sock");
        // Left by a process that was killed.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let mine = bind(&path, 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::os::unix::net::UnixStream::connect(&path).unwrap();
        assert_eq!(bind(&path, 0o600).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(mine);
        assert!(!path.exists());
        let is_left = |what: &str| {
            let before = fs::symlink_metadata(&path).unwrap();
            let error = bind(&path, 0o600).unwrap_err();
            assert_eq!(
                (error.kind(), error.to_string()),
                (ErrorKind::AlreadyExists, format!("{what} is there"))
            );
            assert_eq!(identity(&fs::symlink_metadata(&path).unwrap()), identity(&before));
        };
        fs::write(&path, "precious").unwrap();
        is_left("a file");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/nowhere", &path).unwrap();
        is_left("a symbolic link to /nowhere");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        is_left("a folder");
        fs::remove_dir(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        is_left("a FIFO");
        fs::remove_file(&path).unwrap();
        let _datagrams = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        is_left("a socket of another type");
    }

    #[test]
    fn another_s_file_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("edge.sock");
        let mine = bind(&path, 0o666).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!mine.is_in_place());
        let other = bind(&path, 0o666).unwrap();
        assert!(!mine.is_in_place() && other.is_in_place());
        assert_eq!(mine.set_mode(0o600).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!((other.set_mode(0o660).unwrap(), other.set_mode(0o660).unwrap()), (0o666, 0o660));
        drop(mine);
        assert!(path.exists());
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn a_process_that_hangs_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("full.sock");
        let socket = || Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        let (hanging, address) = (socket(), SockAddr::unix(&path).unwrap());
        hanging.bind(&address).unwrap();
        hanging.listen(0).unwrap();
        let connected = || {
            let client = socket();
            client.set_nonblocking(true).unwrap();
            client.connect(&address).is_ok().then_some(client)
        };
        let queue: Vec<Socket> = std::iter::from_fn(connected).take(100).collect();
        assert!(queue.len() < 100, "the queue is never full");
        assert_eq!(ensure_free(&path, Duration::ZERO).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop((hanging, queue));
        ensure_free(&path, Duration::ZERO).unwrap();
    }
}
