//! Where a file goes that is put in its place when it is whole.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// What speaks against a file at `to`, made of `from`. A rename would take the place of whatever is there: of a device, for
/// the whole machine.
pub(super) fn refused(to: &Path, from: &Path) -> Option<String> {
    let there = fs::symlink_metadata(to).ok()?;
    let kind = there.file_type();
    let what = match () {
        () if kind.is_dir() => "is a folder",
        () if kind.is_symlink() => "is a symbolic link",
        () if kind.is_block_device() || kind.is_char_device() => "is a device",
        () if !kind.is_file() => "is no regular file",
        () if is_same(&there, from) => "is what it is to be made of",
        () => return None,
    };
    Some(format!("{}: {what}; give --out another place", to.display()))
}

fn is_same(there: &fs::Metadata, from: &Path) -> bool {
    fs::metadata(from).is_ok_and(|from| (from.dev(), from.ino()) == (there.dev(), there.ino()))
}
