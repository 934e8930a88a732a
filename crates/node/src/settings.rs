//! Settings of a running node that clients can read, and that the driver and the chain do not have.

/// Settings of the start that a client can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PublicSettings {
    /// Whether the node serves methods for developers.
    pub(crate) developer: bool,
    /// Whether the node serves the studio.
    pub(crate) studio: bool,
    /// Name of the profile.
    pub(crate) profile: &'static str,
    /// Maximum size of the body of a request, in bytes.
    pub(crate) request_bytes: usize,
    /// Maximum size of the response to one call, in bytes.
    pub(crate) result_bytes: usize,
    /// Maximum size of the response to a batch, in bytes.
    pub(crate) batch_result_bytes: usize,
    /// Maximum number of calls in a batch.
    pub(crate) batch_calls: usize,
    /// Units of the rate limit of a client per second; `None` for no rate limit.
    pub(crate) units_per_second: Option<u32>,
}
