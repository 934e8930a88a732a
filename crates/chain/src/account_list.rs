//! The lists of all accounts and of all contracts, in the order of their addresses.

use silica_protocol::{Account, Address, BlockNumber, InitData, TxHash};
use silica_state::StateError;

use crate::{executor::InitFacts, snapshot::Snapshot, transaction_search::HistoryPlace};

/// A page of a list in the order of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressPage<T> {
    /// The page has the list after this block.
    pub block: BlockNumber,
    /// The elements in the order of their addresses.
    pub elements: Vec<T>,
    /// The last address of the page, or `None` on the last page.
    pub next: Option<Address>,
}

/// A deployed contract or library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractRow {
    /// Address of the contract.
    pub address: Address,
    /// Address of the sender of the deployment.
    pub creator: Address,
    /// Hash of the deployment.
    pub hash: TxHash,
    /// Place of the deployment in the record.
    pub place: HistoryPlace,
    /// Whether it is a library.
    pub is_library: bool,
}

/// Bytes of code and init data after which a page of contracts ends.
const PAGE_BYTES: usize = 4 << 20;

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

    /// Returns a page of at most `limit` contracts and libraries after the address `after`. A `limit` of 0 means 1. The
    /// page ends early when the code and the init data that it reads have 4 MiB.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the record could not be read.
    pub fn contract_list(&self, after: Option<Address>, limit: usize) -> Result<AddressPage<ContractRow>, StateError> {
        let block = self.latest_tx_block().header.number;
        let limit = limit.max(1);
        let rows = self.state().deployments(after.as_ref(), limit.saturating_add(1))?;
        let (mut elements, mut bytes) = (Vec::new(), 0_usize);
        for (address, block_of, position) in rows {
            if elements.len() >= limit || bytes >= PAGE_BYTES {
                let next = elements.last().map(|row: &ContractRow| row.address);
                return Ok(AddressPage { block, elements, next });
            }
            let found = self.state().transactions(block_of, position..position.saturating_add(1))?.unwrap_or_default();
            let Some((transaction, _)) = found.first() else { continue };
            bytes = bytes.saturating_add(transaction.code.len()).saturating_add(transaction.data.len());
            elements.push(ContractRow {
                address,
                creator: transaction.sender(),
                hash: transaction.hash(),
                place: HistoryPlace { block: block_of, position },
                is_library: self.has_library_init(&transaction.data),
            });
        }
        Ok(AddressPage { block, elements, next: None })
    }

    /// Returns whether the init data of a deployment declare a library.
    pub(crate) fn has_library_init(&self, init_data: &str) -> bool {
        let rules = self.shared().network.config.rules.scilla;
        let init = InitData::parse(init_data).ok();
        init.and_then(|init| InitFacts::of(&init, rules)).is_some_and(|facts| facts.is_library)
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
