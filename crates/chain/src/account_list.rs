//! The list of all accounts in the order of their addresses.

use silica_protocol::{Account, Address, BlockNumber};
use silica_state::StateError;

use crate::snapshot::Snapshot;

/// A page of a list in the order of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressPage<T> {
    /// Number of the Tx block. The page has the list after this block.
    pub block: BlockNumber,
    /// The elements in the order of their addresses.
    pub elements: Vec<T>,
    /// The last address of the page, or `None` on the last page. The next page begins after this address.
    pub next: Option<Address>,
}

impl Snapshot {
    /// Returns a page of at most `limit` accounts after the address `after`. A `limit` of 0 means 1.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the state could not be read.
    pub fn account_list(
        &self,
        after: Option<Address>,
        limit: usize,
    ) -> Result<AddressPage<(Address, Account)>, StateError> {
        let block = self.latest_tx_block().header.number;
        let first = after.map_or(Some(Address::ZERO), following);
        let mut elements = Vec::new();
        for account in first.into_iter().flat_map(|first| self.view().accounts_from(first)) {
            if elements.len() >= limit.max(1) {
                let next = elements.last().map(|(address, _)| *address);
                return Ok(AddressPage { block, elements, next });
            }
            elements.push(account?);
        }
        Ok(AddressPage { block, elements, next: None })
    }
}

/// Returns the address after `address`, or `None` after the last address.
fn following(address: Address) -> Option<Address> {
    let mut bytes = *address.as_bytes();
    for byte in bytes.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return Some(Address::new(bytes));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_after_an_address_is_the_next_number() {
        let address = |low: [u8; 2]| {
            let mut bytes = [7; 20];
            bytes[18..].copy_from_slice(&low);
            Address::new(bytes)
        };
        assert_eq!(following(address([1, 2])), Some(address([1, 3])));
        assert_eq!(following(address([1, 255])), Some(address([2, 0])));
        assert_eq!(following(Address::new([255; 20])), None);
    }
}
