//! Receipts of deployments and calls: their JSON text without white space.
//!
//! A reader adds the white space again, because hashes cover the styled text (Reference: formats#styled-json).

use silica_protocol::Receipt;

use crate::codec::{Malformed, Reader, Writer};

/// Writes the compact JSON text of a receipt.
pub(super) fn write(receipt: &Receipt, out: &mut Writer) {
    out.bytes(receipt.to_compact_json().as_bytes());
}

/// Reads a receipt from its compact JSON text.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Receipt, Malformed> {
    let text = std::str::from_utf8(reader.bytes("receipt")?).map_err(|_| Malformed("receipt"))?;
    Receipt::from_json(text).map_err(|_| Malformed("receipt"))
}
