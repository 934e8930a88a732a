//! The two rounds of collective signatures under a block.

use crate::key::Signature;

/// The collective signatures of the committee that agreed on a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoSignatures {
    /// Signature of the first round, over the header.
    pub cs1: Signature,
    /// Who took part in the first round, in the order of the committee.
    pub b1: Vec<bool>,
    /// Signature of the second round, over the header and the result of the first.
    pub cs2: Signature,
    /// Who took part in the second round, in the order of the committee.
    pub b2: Vec<bool>,
}
