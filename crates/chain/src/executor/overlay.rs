//! The running state of a block: what its transactions wrote, over the state before it.

use std::collections::BTreeMap;

use silica_protocol::{Account, Address};
use silica_state::StateError;

use crate::accounts::Accounts;

/// Accounts as they are while a block is being built.
///
/// The work of one micro block after the other is told apart by phases, since each has a hash of its own changes.
#[derive(Debug)]
pub(crate) struct Overlay<A> {
    base: A,
    slots: BTreeMap<Address, Slot>,
    phase: u32,
}

/// An account that was read or written.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Before the block.
    initial: Option<Account>,
    /// Before the latest phase that wrote it.
    before_phase: Option<Account>,
    /// The latest phase that wrote it.
    phase: u32,
    /// Now.
    current: Option<Account>,
}

/// An account that differs from what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) address: Address,
    pub(crate) before: Option<Account>,
    pub(crate) after: Account,
}

impl<A: Accounts> Overlay<A> {
    /// The state `base`, without writes, in the first phase.
    pub(crate) fn new(base: A) -> Self {
        Self { base, slots: BTreeMap::new(), phase: 1 }
    }

    /// The account at `address`, or `None` when there is none.
    pub(crate) fn account(&mut self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.slot(address)?.current)
    }

    /// Writes the account at `address`.
    pub(crate) fn set(&mut self, address: &Address, account: Account) -> Result<(), StateError> {
        let phase = self.phase;
        let slot = self.slot(address)?;
        if slot.phase != phase {
            slot.before_phase = slot.current;
            slot.phase = phase;
        }
        slot.current = Some(account);
        Ok(())
    }

    /// Begins the work of the next micro block.
    pub(crate) fn next_phase(&mut self) {
        self.phase = self.phase.saturating_add(1);
    }

    /// What the present phase changed, ascending by address.
    pub(crate) fn phase_changes(&self) -> Vec<Change> {
        let written = self.slots.iter().filter(|(_, slot)| slot.phase == self.phase);
        written.filter_map(|(address, slot)| change(*address, slot.before_phase, slot.current)).collect()
    }

    /// What the whole block changed, ascending by address.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.slots.iter().filter_map(|(address, slot)| change(*address, slot.initial, slot.current)).collect()
    }

    fn slot(&mut self, address: &Address) -> Result<&mut Slot, StateError> {
        use std::collections::btree_map::Entry::{Occupied, Vacant};
        match self.slots.entry(*address) {
            Occupied(slot) => Ok(slot.into_mut()),
            Vacant(vacant) => {
                let initial = self.base.account(address)?;
                Ok(vacant.insert(Slot { initial, before_phase: initial, phase: 0, current: initial }))
            }
        }
    }
}

fn change(address: Address, before: Option<Account>, after: Option<Account>) -> Option<Change> {
    (before != after).then_some(Change { address, before, after: after? })
}

#[cfg(test)]
mod tests {
    use silica_protocol::Qa;

    use super::*;

    fn account(balance: u128) -> Account {
        Account { balance: Qa::new(balance), ..Account::default() }
    }

    fn address(byte: u8) -> Address {
        Address::new([byte; 20])
    }

    fn overlay() -> Overlay<BTreeMap<Address, Account>> {
        Overlay::new(BTreeMap::from([(address(1), account(10)), (address(2), account(20))]))
    }

    #[test]
    fn reads_see_writes_and_then_the_state_below() {
        let mut overlay = overlay();
        overlay.set(&address(1), account(11)).unwrap();
        assert_eq!(overlay.account(&address(1)).unwrap(), Some(account(11)));
        assert_eq!(overlay.account(&address(2)).unwrap(), Some(account(20)));
        assert_eq!(overlay.account(&address(3)).unwrap(), None);
    }

    #[test]
    fn what_was_only_read_or_written_back_is_no_change() {
        let mut overlay = overlay();
        overlay.account(&address(1)).unwrap();
        overlay.set(&address(2), account(21)).unwrap();
        overlay.set(&address(2), account(20)).unwrap();
        assert_eq!(overlay.changes(), []);
    }

    #[test]
    fn phases_count_from_what_the_phase_before_left() {
        let mut overlay = overlay();
        overlay.set(&address(1), account(11)).unwrap();
        overlay.set(&address(2), account(21)).unwrap();
        overlay.next_phase();
        assert_eq!(overlay.phase_changes(), []);
        overlay.set(&address(2), account(20)).unwrap();
        overlay.set(&address(3), account(1)).unwrap();
        let second = |byte, before, after| Change { address: address(byte), before, after };
        assert_eq!(overlay.phase_changes(), [second(2, Some(account(21)), account(20)), second(3, None, account(1))]);
        assert_eq!(
            overlay.changes(),
            [second(1, Some(account(10)), account(11)), second(3, None, account(1))],
            "the second account is again what it was"
        );
    }
}
