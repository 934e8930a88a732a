//! Receipts of deployments and calls: their text, without the white space of its layout.
//!
//! A read restores the layout, because the hash covers the styled text (Reference: formats#styled-json).

use silica_protocol::Receipt;

use crate::codec::{Malformed, Reader, Writer};

/// Writes a receipt.
pub(super) fn write(receipt: &Receipt, out: &mut Writer) {
    out.bytes(receipt.to_compact_json().as_bytes());
}

/// Reads a receipt.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Receipt, Malformed> {
    let text = std::str::from_utf8(reader.bytes("receipt")?).map_err(|_| Malformed("receipt"))?;
    Receipt::from_json(text).map_err(|_| Malformed("receipt"))
}
