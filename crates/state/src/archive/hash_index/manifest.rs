//! The manifest: the list of segments, and the blocks that they cover.

use silica_protocol::BlockHash;

use super::{Extent, State, segment::Segment};
use crate::codec::{Malformed, Reader, Writer, seal};

/// Table of the manifest in the derived database. The index has this table and all tables with higher numbers.
pub(super) const MANIFEST: u8 = 0xf0;
/// Format of the index. An index with a different format is built again from the record.
pub(super) const FORMAT: u64 = 1;

pub(super) fn write_manifest(segments: &[Segment], covered: Extent, next_segment: u32) -> Vec<u8> {
    let mut out = Writer::new();
    out.number(FORMAT);
    out.number(next_segment);
    out.number(covered.blocks);
    out.raw(covered.newest.unwrap_or(BlockHash::ZERO).as_bytes());
    out.len(segments.len());
    for segment in segments {
        out.number(segment.id);
        out.number(segment.bits);
        out.number(segment.entries);
    }
    seal(&[MANIFEST], out.as_slice())
}

pub(super) fn read_manifest(payload: &[u8]) -> Result<(State, u32), Malformed> {
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
        let segment = Segment { id: reader.number(WHAT)?, bits: reader.number(WHAT)?, entries: reader.number(WHAT)? };
        if segment.bits > 31 {
            return Err(Malformed(WHAT));
        }
        segments.push(segment);
    }
    reader.finish(WHAT)?;
    Ok((State { segments, covered: Extent { blocks, newest }, ..State::default() }, next_segment))
}
