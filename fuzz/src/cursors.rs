//! The cursors of lists: each accepted text names a place, the text of the place names it again, and no list accepts
//! the cursor of a list with other places.

use std::{fmt::Debug, str::FromStr};

use silica_protocol::rpc::cursor::{
    AddressCursor, BlockCursor, EventCursor, KeyCursor, NumberCursor, PlaceCursor, TransferCursor,
};

/// Parses text as a cursor of each type.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let place = read::<PlaceCursor>(text);
    let event = read::<EventCursor>(text);
    let transfer = read::<TransferCursor>(text);
    let block = read::<BlockCursor>(text);
    let number = read::<NumberCursor>(text);
    let address = read::<AddressCursor>(text);
    let key = read::<KeyCursor>(text);

    // A cursor of transactions is also a cursor of events, after all events of the transaction.
    if let Some(place) = place {
        assert_eq!(event, Some(EventCursor { place, index: None }));
    }
    assert_eq!(block.map(|BlockCursor(block)| block.get()), number.map(|NumberCursor(number)| number));
    let is_hexadecimal = address.is_some() || key.is_some();
    for (one, other) in [
        (event.is_some(), transfer.is_some()),
        (event.is_some(), block.is_some()),
        (event.is_some(), is_hexadecimal),
        (transfer.is_some(), block.is_some()),
        (transfer.is_some(), is_hexadecimal),
        (block.is_some(), address.is_some()),
    ] {
        assert!(!(one && other), "{text:?} is a cursor of two lists");
    }
}

/// Returns the cursor of a text. Checks that the cursor writes a text that is not longer, and that is read as the same
/// cursor.
fn read<T: FromStr + ToString + Debug + PartialEq>(text: &str) -> Option<T> {
    let cursor: T = text.parse().ok()?;
    let written = cursor.to_string();
    assert!(written.len() <= text.len() && written.parse().is_ok_and(|again: T| again == cursor), "{text:?}");
    Some(cursor)
}

/// Returns cursors of each type, and texts that are almost cursors.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "113:0",
        "113:0:1",
        "18446744073709551615:4294967295:4294967295",
        "113-0-1",
        "113-start-0",
        "113-end-4294967295",
        "112",
        "007",
        "381f4008505e940ad7681ec3468a719060caf796",
        "0x381F4008505e940ad7681ec3468a719060caf796",
        "62616c616e6365731622307831221600",
        "",
        "113:+0",
        "113::1",
        "113-End-0",
        "18446744073709551616:0",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
