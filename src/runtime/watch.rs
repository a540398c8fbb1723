//! Waiting for a file: the kernel tells when it changes, and since the kernel cannot tell of every file (a folder that is
//! not there yet, a network's file system), whoever waits looks again after a while in any case.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

/// What of a file's folder may mean that the file is another.
const OF_FOLDER: WatchFlags =
    WatchFlags::CREATE.union(WatchFlags::MOVED_TO).union(WatchFlags::MOVED_FROM).union(WatchFlags::DELETE);
const OF_FILE: WatchFlags = WatchFlags::MODIFY.union(WatchFlags::MOVE_SELF).union(WatchFlags::DELETE_SELF);

/// A thread's wait for a file to change, or for a [`Waker`].
pub struct FileWatch {
    path: PathBuf,
    inotify: File,
    waker: Arc<File>,
    /// The watch on the file itself.
    on_file: Option<i32>,
}

/// Ends the wait of a [`FileWatch`], now or when it next begins.
#[derive(Clone)]
pub struct Waker(Arc<File>);

impl Waker {
    pub fn wake(&self) {
        // It fails only if so many wakes are pending that the wait ends anyhow.
        let _ = (&*self.0).write(&1u64.to_ne_bytes());
    }
}

impl FileWatch {
    /// Begins to watch a file, which need not be there.
    ///
    /// # Errors
    /// No descriptor left, or as many inotify instances as this user may have.
    pub fn new(path: &Path) -> io::Result<(FileWatch, Waker)> {
        let inotify: OwnedFd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let waker: OwnedFd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let waker = Arc::new(File::from(waker));
        let mut watch = FileWatch {
            path: path.to_owned(),
            inotify: inotify.into(),
            waker: Arc::clone(&waker),
            on_file: None,
        };
        watch.arm();
        Ok((watch, Waker(waker)))
    }

    /// Watches the file that is there now, and its folder. Call it before the file is opened, so that no change lies
    /// between.
    pub fn arm(&mut self) {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // What cannot be watched is looked at from time to time.
        let _ = inotify::add_watch(&self.inotify, folder.unwrap_or(Path::new(".")), OF_FOLDER);
        let new = inotify::add_watch(&self.inotify, &*self.path, OF_FILE).ok();
        if let Some(old) = self.on_file
            && new.is_some_and(|new| new != old)
        {
            // It is gone already if its file is.
            let _ = inotify::remove_watch(&self.inotify, old);
        }
        self.on_file = new.or(self.on_file);
    }

    /// Waits until something happened to the file since the last wait, a waker was used, or `at_most` has passed.
    pub fn wait(&mut self, at_most: Duration) {
        let events = PollFlags::IN;
        let mut polled = [
            PollFd::from_borrowed_fd(self.inotify.as_fd(), events),
            PollFd::from_borrowed_fd(self.waker.as_fd(), events),
        ];
        let timeout = Timespec::try_from(at_most).ok();
        // An interrupted wait is one that ended early.
        let _ = poll(&mut polled, timeout.as_ref());
        self.forget();
    }

    /// What the kernel told is not read: the file itself says more.
    fn forget(&mut self) {
        let mut octets = [0; 4096];
        while self.inotify.read(&mut octets).is_ok_and(|read| read == octets.len()) {}
        let _ = (&*self.waker).read(&mut octets[..8]);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Whether the wait ends long before its time.
    fn is_told(watch: &mut FileWatch) -> bool {
        let began = Instant::now();
        watch.wait(LONG);
        began.elapsed() < LONG / 2
    }

    #[test]
    fn a_file_that_comes_grows_and_is_replaced_is_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a"), dir.path().join("b"));
        let (mut watch, waker) = FileWatch::new(&path).unwrap();
        std::fs::write(&path, "1").unwrap();
        assert!(is_told(&mut watch));
        watch.arm();
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"2").unwrap();
        assert!(is_told(&mut watch));
        watch.wait(Duration::from_millis(1));
        std::fs::write(&other, "3").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(is_told(&mut watch));
        watch.arm();
        watch.wait(Duration::from_millis(1));
        let began = Instant::now();
        file.write_all(b"nobody waits for the one that was replaced").unwrap();
        watch.wait(Duration::from_millis(20));
        assert!(began.elapsed() >= Duration::from_millis(20));
        waker.wake();
        assert!(is_told(&mut watch));
        std::fs::remove_file(&path).unwrap();
        assert!(is_told(&mut watch));
    }

    #[test]
    fn a_folder_may_come_later() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("later/a");
        let (mut watch, _) = FileWatch::new(&path).unwrap();
        watch.wait(Duration::from_millis(1));
        std::fs::create_dir(dir.path().join("later")).unwrap();
        watch.arm();
        std::fs::write(&path, "1").unwrap();
        assert!(is_told(&mut watch));
    }
}
