//! The parent process of the node (`--exit-with-parent`).

use std::{os::unix::process::parent_id, str::FromStr, time::Duration};

use tokio::time::sleep;

/// Time between two checks of the parent process.
const PERIOD: Duration = Duration::from_millis(250);

/// Process id of the first process of a system or container. This process usually becomes the parent of a process whose
/// parent has ended.
const FIRST: u32 = 1;

/// The process that must be the parent of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// The parent process at the start of the node.
    Any,
    /// The process with this id.
    Process(u32),
}

impl FromStr for Parent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "any" => Ok(Self::Any),
            number => {
                number.parse().map(Self::Process).map_err(|_| "expected any, or the number of a process".to_owned())
            }
        }
    }
}

/// Reason why the node does not start, or stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ParentError {
    /// The parent is process 1. The previous parent has ended, or process 1 started the node.
    #[error(
        "exit-with-parent: expected the process that started the node as its parent, got process 1; if process 1 \
         started the node, use --exit-with-parent=1"
    )]
    Orphan,
    /// Another process is the parent.
    #[error(
        "exit-with-parent: expected process {expected} as the parent of the node, got process {got}; process {expected} has ended, or did not start the node itself"
    )]
    Other {
        /// The expected process id.
        expected: u32,
        /// The id of the parent process.
        got: u32,
    },
}

/// A parent process that was alive at the start of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LivingParent {
    id: u32,
}

impl LivingParent {
    /// Checks that the parent at the start of this process, with the id `at_start`, is the wanted process.
    ///
    /// # Errors
    ///
    /// [`ParentError`] if the parent has ended, or is another process.
    pub(crate) fn new(wanted: Parent, at_start: u32) -> Result<Self, ParentError> {
        match wanted {
            Parent::Any if at_start == FIRST => Err(ParentError::Orphan),
            Parent::Process(expected) if expected != at_start => Err(ParentError::Other { expected, got: at_start }),
            Parent::Any | Parent::Process(_) => Ok(Self { id: at_start }),
        }
    }

    /// Waits until the parent process has ended. This process then has another parent, which a check every 250 ms
    /// detects.
    pub(crate) async fn ended(self) {
        while parent_id() == self.id {
            sleep(PERIOD).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[test]
    fn parent_that_ended_before_the_start_is_noticed() {
        let check = |text: &str, at_start, expected| {
            assert_eq!(LivingParent::new(text.parse().unwrap(), at_start), expected, "{text}");
        };
        check("any", 77, Ok(LivingParent { id: 77 }));
        check("any", 1, Err(ParentError::Orphan));
        check("1", 1, Ok(LivingParent { id: 1 }));
        check("77", 77, Ok(LivingParent { id: 77 }));
        check("77", 1, Err(ParentError::Other { expected: 77, got: 1 }));
        for text in ["", "some", "-1", "1.5", "true"] {
            assert!(text.parse::<Parent>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn parent_is_waited_for_while_it_is_the_parent() {
        let living = LivingParent::new(Parent::Any, parent_id()).unwrap_or(LivingParent { id: parent_id() });
        assert!(timeout(Duration::from_millis(20), living.ended()).await.is_err());
        assert_eq!(timeout(Duration::from_mins(1), LivingParent { id: u32::MAX }.ended()).await, Ok(()));
    }
}
