//! Entries of committed blocks, from the record of the store.

use silica_chain::{
    Proposal,
    state::{ArchiveError, Snapshot},
};

use crate::{
    entry::{BlocksError, Body, EntryKind, Height, Seal},
    network::Parameters,
};

/// Reason why a committed block has no entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record could not be read.
    #[error("failed to read the record")]
    Archive(#[from] ArchiveError),
    /// The block has no body, because no committee of several members decided it.
    #[error("the block has no body")]
    Body(#[from] BlocksError),
    /// The block has no seal, because no committee of several members decided it.
    #[error("signers: expected the same signers in all blocks of the body and in both rounds, got different signers")]
    Seal,
}

/// Returns the canonical bytes of the entry at a height, from the record. They are the bytes that the committee
/// decided. `parameters` are those of the network file. Returns `None` if the block of the height is not committed.
///
/// # Errors
///
/// [`RecordError`]: the record could not be read, or no committee of several members decided the block.
pub fn entry_bytes(
    snapshot: &Snapshot,
    height: Height,
    parameters: &Parameters,
) -> Result<Option<Vec<u8>>, RecordError> {
    let Some(record) = snapshot.record(height.block())? else { return Ok(None) };
    let proposal = Proposal::from(record);
    let bytes = match height.kind() {
        EntryKind::Body => Body::of_proposal(proposal, parameters.named_rules(height.block()))?.encode(),
        EntryKind::Seal => Seal::of_proposal(&proposal).ok_or(RecordError::Seal)?.encode(),
    };
    Ok(Some(bytes))
}
