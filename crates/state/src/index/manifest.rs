//! The manifest: the list of runs, and the blocks whose entries they have.

use silica_protocol::BlockHash;

use super::{
    entry::{IndexKinds, KEY, Key},
    run::Run,
};
use crate::{
    archive::ArchiveError,
    codec::{Malformed, Reader, Writer, seal, unseal},
    db::Db,
};

/// Database key of the manifest.
const MANIFEST: [u8; 1] = [0x00];
/// Format of the index. The indexer removes an index of another format, and makes the index again.
const FORMAT: u8 = 2;
const WHAT: &str = "manifest of the history index";

/// The first blocks of the chain, from block 0 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Number of blocks.
    pub(super) blocks: u64,
    /// Hash of the newest block, or `None` for an empty extent.
    pub(super) newest: Option<BlockHash>,
}

/// The contents of the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) stored: Extent,
    pub(super) next_run: u32,
    pub(super) runs: Vec<Run>,
}

/// Writes the manifest. The caller flushes.
pub(super) fn write(db: &Db, kinds: IndexKinds, manifest: &Manifest) -> Result<(), ArchiveError> {
    let Manifest { stored, next_run, runs } = manifest;
    let mut out = Writer::new();
    out.byte(FORMAT);
    out.byte(kinds.bits());
    out.number(stored.blocks);
    out.raw(stored.newest.unwrap_or(BlockHash::ZERO).as_bytes());
    out.number(*next_run);
    out.len(runs.len());
    for run in runs {
        out.number(run.id);
        out.raw(&run.first.to_bytes());
        out.number(run.entries);
        out.number(run.newest_block);
    }
    Ok(db.insert(&MANIFEST, &seal(&MANIFEST, out.as_slice()))?)
}

/// Returns the manifest. Returns `None` if it is missing, damaged, of another format, or of an index with other kinds.
pub(super) fn read(db: &Db, kinds: IndexKinds) -> Result<Option<Manifest>, ArchiveError> {
    let value = db.get(&MANIFEST)?;
    let payload = value.as_ref().and_then(|value| unseal(&MANIFEST, value));
    Ok(payload.and_then(|payload| decode(payload).ok()).filter(|(of, _)| *of == kinds.bits()).map(|(_, read)| read))
}

/// Returns the kinds of the stored index, or `None` if the index has no valid manifest.
pub(super) fn kinds(db: &Db) -> Result<Option<IndexKinds>, ArchiveError> {
    let value = db.get(&MANIFEST)?;
    let payload = value.as_ref().and_then(|value| unseal(&MANIFEST, value));
    Ok(payload.and_then(|payload| decode(payload).ok()).map(|(bits, _)| IndexKinds::of_bits(bits)))
}

fn decode(payload: &[u8]) -> Result<(u8, Manifest), Malformed> {
    let mut reader = Reader::new(payload);
    if reader.byte(WHAT)? != FORMAT {
        return Err(Malformed(WHAT));
    }
    let kinds = reader.byte(WHAT)?;
    let blocks: u64 = reader.number(WHAT)?;
    let newest = BlockHash::new(reader.array(WHAT)?);
    let next_run = reader.number(WHAT)?;
    let count: u32 = reader.number(WHAT)?;
    let mut runs = Vec::new();
    for _ in 0..count {
        let id = reader.number(WHAT)?;
        let first = Key::from_bytes(reader.array::<KEY>(WHAT)?);
        runs.push(Run { id, first, entries: reader.number(WHAT)?, newest_block: reader.number(WHAT)? });
    }
    reader.finish(WHAT)?;
    Ok((kinds, Manifest { stored: Extent { blocks, newest: (blocks > 0).then_some(newest) }, next_run, runs }))
}
