//! Addresses in each form: parsed text has the right value, and the address writes the same text again.

use silica_protocol::Address;

/// Parses text as an address in each form.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let digits = text.strip_prefix("0x").unwrap_or(text);

    if let Ok(address) = text.parse::<Address>() {
        assert_eq!(address.to_string(), digits.to_ascii_lowercase());
        assert_eq!(Address::from_bech32(&address.to_bech32()), Ok(address));
        assert_eq!(Address::from_checksum(&address.to_checksum()), Ok(address));
    }
    if let Ok(address) = Address::from_checksum(text) {
        assert_eq!(address.to_checksum(), digits);
    }
    if let Ok(address) = Address::from_bech32(text) {
        assert_eq!(address.to_bech32(), text, "one address has one bech32 form");
    }
}

/// Returns the texts of the address vectors that have at most 130 bytes.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for case in crate::cases(include_str!("../../tests/data/vectors/addresses.json")) {
        crate::texts(&case, &mut found);
    }
    found.into_iter().filter(|text| text.len() <= 130).map(String::into_bytes).collect()
}
