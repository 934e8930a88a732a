//! The manifest: the list of segments, and the blocks that they cover.

use silica_protocol::BlockHash;

use super::{
    Extent,
    segment::{MOST_BITS, Segment, Shape},
};
use crate::{
    codec::{Malformed, Reader, Writer, seal},
    layout::space,
};

/// Table of the manifest in the derived database.
pub(super) const MANIFEST: u8 = space::HASH_INDEX;
/// Format of the index. An index with a different format is built again from the record.
pub(super) const FORMAT: u64 = 2;

/// The content of a manifest.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) segments: Vec<Shape>,
    pub(super) covered: Extent,
    pub(super) next_segment: u32,
}

pub(super) fn write_manifest(segments: &[Segment], covered: Extent, next_segment: u32) -> Vec<u8> {
    let mut out = Writer::new();
    out.number(FORMAT);
    out.number(next_segment);
    out.number(covered.blocks);
    out.raw(covered.newest.unwrap_or(BlockHash::ZERO).as_bytes());
    out.len(segments.len());
    for Segment { shape, .. } in segments {
        out.number(shape.id);
        out.number(shape.bits);
        out.number(shape.entries);
        out.number(shape.position);
    }
    seal(&[MANIFEST], out.as_slice())
}

pub(super) fn read_manifest(payload: &[u8]) -> Result<Manifest, Malformed> {
    const WHAT: &str = "manifest of index";
    let mut reader = Reader::new(payload);
    if reader.number::<u64>(WHAT)? != FORMAT {
        return Err(Malformed(WHAT));
    }
    let next_segment = reader.number(WHAT)?;
    let blocks = reader.number(WHAT)?;
    let newest = Some(BlockHash::new(reader.array(WHAT)?)).filter(|_| blocks > 0);
    let count: usize = reader.number(WHAT)?;
    let mut segments = Vec::new();
    for _ in 0..count {
        let [id, bits] = [reader.number(WHAT)?, reader.number(WHAT)?];
        let shape = Shape { id, bits, entries: reader.number(WHAT)?, position: reader.number(WHAT)? };
        if shape.bits > MOST_BITS {
            return Err(Malformed(WHAT));
        }
        segments.push(shape);
    }
    reader.finish(WHAT)?;
    Ok(Manifest { segments, covered: Extent { blocks, newest }, next_segment })
}
