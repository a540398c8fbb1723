//! What can end a request early, by whose fault, and what the client is told of it.

use super::relay::Broken;
use crate::observe::Reason;
use crate::proto::http1::{BodyError, HeadError};
use crate::proto::path::PathError;
use crate::proto::problem::ProblemKind;
use crate::runtime::Fault;

/// A request's early end. Never tells a client what is behind the router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub(super) reason: Reason,
    /// What was wrong with the request, for the client to mend.
    pub(super) detail: Option<Detail>,
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(super) enum Detail {
    /// What follows the head cannot be framed either.
    #[error(transparent)]
    Head(HeadError),
    #[error(transparent)]
    Body(BodyError),
    #[error(transparent)]
    Path(PathError),
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Failure {
        Failure { reason, detail: None }
    }
}

impl Failure {
    /// A request head that was refused.
    pub(super) fn of_head(error: HeadError) -> Failure {
        let reason = match error {
            HeadError::TooLarge | HeadError::TooManyFields => Reason::HeadTooLarge,
            HeadError::TargetTooLong => Reason::TargetTooLong,
            HeadError::Expectation => Reason::ExpectationFailed,
            HeadError::MethodNotAllowed => Reason::MethodNotAllowed,
            HeadError::MethodUnknown | HeadError::CodingUnknown => Reason::NotImplemented,
            HeadError::Version => Reason::VersionNotSupported,
            HeadError::Loop => Reason::LoopDetected,
            HeadError::Control
            | HeadError::RequestLine
            | HeadError::StatusLine
            | HeadError::Target
            | HeadError::Scheme
            | HeadError::MaxForwards
            | HeadError::FieldLine
            | HeadError::HostMissing
            | HeadError::HostRepeated
            | HeadError::HostMalformed
            | HeadError::LengthMalformed
            | HeadError::LengthRepeated
            | HeadError::LengthWithCoding
            | HeadError::CodingInHttp10
            | HeadError::NameLookalike
            | HeadError::Connection => Reason::MalformedRequest,
        };
        Failure { reason, detail: Some(Detail::Head(error)) }
    }

    /// A path that its service does not take.
    pub(super) fn of_path(error: PathError) -> Failure {
        Failure { reason: Reason::AmbiguousPath, detail: Some(Detail::Path(error)) }
    }

    /// A request body that broke off between client and origin.
    pub(super) fn of_upload(broken: Broken) -> Failure {
        Failure::from(match broken {
            Broken::Malformed(error @ BodyError::TrailersTooLarge) => {
                return Failure { reason: Reason::HeadTooLarge, detail: Some(Detail::Body(error)) };
            }
            Broken::Malformed(error) => {
                return Failure { reason: Reason::BodyMalformed, detail: Some(Detail::Body(error)) };
            }
            Broken::TooLarge => Reason::ContentTooLarge,
            Broken::Cut | Broken::From(Fault::Os(_)) => Reason::ClientGone,
            Broken::From(Fault::TimedOut) => Reason::BodyStalled,
            Broken::FromSlow => Reason::BodySlow,
            Broken::To(fault) => Self::of_origin(fault).reason,
            Broken::ToSlow => Reason::OriginBodySlow,
        })
    }

    /// A response body that broke off between origin and client.
    pub(super) fn of_download(broken: Broken) -> Failure {
        Failure::from(match broken {
            Broken::Malformed(_) | Broken::TooLarge => Reason::OriginMalformed,
            Broken::Cut | Broken::From(Fault::Os(_)) => Reason::OriginBodyCut,
            Broken::From(Fault::TimedOut) => Reason::OriginBodyStalled,
            Broken::FromSlow => Reason::OriginBodySlow,
            Broken::To(Fault::Os(_)) => Reason::ClientGone,
            Broken::To(Fault::TimedOut) => Reason::BodyStalled,
            Broken::ToSlow => Reason::BodySlow,
        })
    }

    /// The origin's stream broke before it answered.
    pub(super) fn of_origin(fault: Fault) -> Failure {
        Failure::from(match fault {
            Fault::TimedOut => Reason::OriginTimeout,
            Fault::Os(_) => Reason::OriginReset,
        })
    }

    /// No connection to an endpoint came about.
    pub(super) fn of_connect(fault: Fault) -> Failure {
        Failure::from(match fault {
            Fault::TimedOut => Reason::ConnectTimeout,
            Fault::Os(libc::ECONNREFUSED) => Reason::ConnectRefused,
            Fault::Os(_) => Reason::ConnectFailed,
        })
    }

    /// What the client is answered; `None` if nobody is left to read it.
    pub(super) fn problem(&self) -> Option<ProblemKind> {
        Some(match self.reason {
            Reason::ClientGone | Reason::HostTaken => return None,
            Reason::MalformedRequest | Reason::AmbiguousPath | Reason::BodyMalformed => {
                ProblemKind::MalformedRequest
            }
            Reason::HeadTooLarge => ProblemKind::HeadTooLarge,
            Reason::TargetTooLong => ProblemKind::TargetTooLong,
            Reason::LengthRequired => ProblemKind::LengthRequired,
            Reason::ExpectationFailed => ProblemKind::ExpectationFailed,
            Reason::ContentTooLarge => ProblemKind::ContentTooLarge,
            Reason::MethodNotAllowed => ProblemKind::MethodNotAllowed,
            Reason::NotImplemented => ProblemKind::NotImplemented,
            Reason::VersionNotSupported => ProblemKind::VersionNotSupported,
            Reason::LoopDetected => ProblemKind::LoopDetected,
            Reason::RequestTimeout | Reason::BodyStalled | Reason::BodySlow => ProblemKind::RequestTimeout,
            Reason::UnknownHost | Reason::Tombstoned => ProblemKind::UnknownHost,
            Reason::NoHealthyEndpoints | Reason::EndpointNotAllowed => ProblemKind::NoHealthyEndpoints,
            Reason::ConnectRefused | Reason::ConnectFailed => ProblemKind::OriginUnreachable,
            Reason::OriginReset
            | Reason::OriginClosed
            | Reason::OriginMalformed
            | Reason::OriginBodyCut
            | Reason::OriginBodyStalled => ProblemKind::BadOriginAnswer,
            Reason::ConnectTimeout | Reason::OriginTimeout | Reason::OriginBodySlow => {
                ProblemKind::OriginTimeout
            }
            Reason::ServiceFull | Reason::TurnTimeout | Reason::Overloaded | Reason::Draining => {
                ProblemKind::Overloaded
            }
            Reason::Internal => ProblemKind::Internal,
        })
    }
}
