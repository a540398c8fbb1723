//! Why a command ended without doing its work, by whose fault it is.

use std::process::ExitCode;

/// Each message names the place and the mending.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a target: exit code 1.
    #[error("{0}")]
    Input(String),
    /// The command line: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// A limit, a permission, a kernel feature: exit code 3.
    #[error("{0}")]
    Machine(String),
    /// Nobody reads standard output to its end: exit code 141, as a shell tells of a program that SIGPIPE has ended.
    #[error("standard output is not read to its end")]
    Unread,
}

impl Error {
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Input(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::Machine(_) => ExitCode::from(3),
            Self::Unread => ExitCode::from(141),
        }
    }
}
