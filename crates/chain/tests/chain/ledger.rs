//! An independent model of balances: the changes that each block must make.

use std::collections::BTreeMap;

use silica_chain::CommittedBlock;
use silica_protocol::Address;

use crate::harness::{FUNDS, Net, USERS, node, user};

/// Balances and nonces by address, and the uncredited fees of the DS epoch.
pub(crate) struct Ledger {
    pub(crate) accounts: BTreeMap<Address, (u128, u64)>,
    pub(crate) fees: u128,
    reward: u128,
    total: u128,
}

impl Ledger {
    pub(crate) fn new(reward: u128) -> Self {
        let mut accounts: BTreeMap<_, _> = (1..=USERS).map(|number| (user(number), (FUNDS, 0))).collect();
        accounts.insert(Address::ZERO, (8_400_000_000_000_000_000_000, 0));
        let total = accounts.values().map(|(balance, _)| balance).sum();
        Self { accounts, fees: 0, reward, total }
    }

    /// Applies the transactions of a block to the model.
    pub(crate) fn apply(&mut self, block: &CommittedBlock, vacuous: bool) {
        for (transaction, receipt) in block.transactions() {
            let tx = transaction.transaction();
            assert!(receipt.success, "payments succeed or are not recorded");
            let fee = u128::from(receipt.cumulative_gas.get()) * tx.gas_price.get().get();
            let sender = self.accounts.get_mut(&transaction.sender()).unwrap();
            assert_eq!(tx.nonce.get(), sender.1 + 1, "nonces are executed in order");
            sender.0 -= tx.amount.get() + fee;
            sender.1 += 1;
            if !tx.amount.is_zero() {
                self.accounts.entry(tx.to).or_default().0 += tx.amount.get();
            }
            self.fees += fee;
        }
        if vacuous {
            let reserve = self.accounts.get_mut(&Address::ZERO).unwrap();
            reserve.0 += self.fees;
            let paid = self.reward.min(reserve.0);
            reserve.0 -= paid;
            self.fees = 0;
            if paid > 0 {
                self.accounts.entry(Address::from_public_key(&node())).or_default().0 += paid;
            }
        }
    }

    /// Compares every account of the model with the chain, and checks that the sum of all money is constant.
    pub(crate) fn check(&self, net: &Net) {
        let snapshot = net.snapshot();
        for (address, (balance, nonce)) in &self.accounts {
            let account = snapshot.account(address).unwrap().unwrap();
            assert_eq!((account.balance.get(), account.nonce.get()), (*balance, *nonce), "account {address}");
        }
        let sum: u128 = self.accounts.values().map(|(balance, _)| balance).sum();
        assert_eq!(sum + self.fees, self.total, "money is conserved");
    }
}
