//! Receipts that are not those of a payment: their text, without the white space of its layout.
//!
//! The text that is hashed is laid out again from what is read (formats page, section 6.6).

use silica_protocol::Receipt;

use crate::codec::{Malformed, Reader, Writer};

/// Writes a receipt.
pub(super) fn write(receipt: &Receipt, out: &mut Writer) {
    out.bytes(compact(&receipt.to_styled_json()).as_bytes());
}

/// Reads a receipt.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Receipt, Malformed> {
    let text = std::str::from_utf8(reader.bytes("receipt")?).map_err(|_| Malformed("receipt"))?;
    Receipt::from_json(text).map_err(|_| Malformed("receipt"))
}

/// Takes the white space between the tokens out of JSON text.
fn compact(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let keep = |character: &char| {
        let space = !in_string && character.is_ascii_whitespace();
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        !space
    };
    text.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_inside_strings_stays() {
        let check = |text: &str, expected: &str| assert_eq!(compact(text), expected);
        check("{\n\t\"a b\" : [ 1, 2 ]\n}", "{\"a b\":[1,2]}");
        check(r#"{ "a\" b" : "\\" , "c" : " " }"#, r#"{"a\" b":"\\","c":" "}"#);
        check(r#"[ "\\\" x" ]"#, r#"["\\\" x"]"#);
    }
}
