//! Edits of the state. Each edit has its own block, and each node reproduces this block.

use silica_chain::{
    ChainConfig, Edit, EditError, InvalidBlock, Proposal,
    consensus::{Application, Effect, Input},
};
use silica_protocol::{Address, BlockNumber, Nonce, Qa};

use crate::{
    harness::{FUNDS, Net, committed, config, memory, user},
    replay::check_replay,
};

impl Net {
    fn try_edit(&mut self, edit: Edit) -> Result<Vec<Effect>, String> {
        let at = self.later();
        let edited = self.test.step(Input::Edit { at, edit });
        edited.map_err(|error| error.to_string())
    }

    /// Edits the state, and returns the number of blocks that the node made for the edit.
    pub(crate) fn edit(&mut self, edit: Edit) -> usize {
        committed(&self.try_edit(edit).unwrap()).len()
    }
}

pub(crate) fn fund(number: u8, amount: u128) -> Edit {
    Edit::Fund { address: user(number), amount: Qa::new(amount) }
}

#[test]
fn edits_are_replayed_to_the_same_blocks() {
    let mut net = Net::new(config(2, 4));
    net.pay(1, user(9), 5, 0);
    assert_eq!(net.edit(Edit::Balance { address: user(20), balance: Qa::new(7) }), 1);
    assert_eq!((net.balance(&user(20)), net.balance(&user(9))), (Some(7), None), "a pending transaction stays pending");
    net.tick();
    assert_eq!(net.balance(&user(9)), Some(5));
    // Before some edits, a vacuous block pays the reward.
    for amount in 1..=9 {
        net.edit(fund(20, amount));
    }
    net.edit(Edit::Nonce { address: user(1), nonce: Nonce::new(40) });
    net.pay(1, user(9), 5, 0);
    net.tick();
    assert_eq!((net.balance(&user(20)), net.balance(&user(9)), net.nonce(&user(1))), (Some(52), Some(10), 41));
    check_replay(&net);
    let config = net.test.chain().config().clone();
    let net = net.reopen(config);
    assert_eq!(net.balance(&user(20)), Some(52));
}

#[test]
fn vacuous_block_that_is_due_comes_first() {
    let mut net = Net::new(config(1, 3));
    let beneficiary = Address::from_public_key(&crate::harness::node());
    net.tick();
    let fund = Edit::Fund { address: beneficiary, amount: Qa::new(1) };
    let made: Vec<_> = (0..4).map(|_| net.edit(fund.clone())).collect();
    assert_eq!(made.iter().sum::<usize>() as u64, net.height() - 1);
    assert!(made.contains(&2), "{made:?}");
    let reward = ChainConfig::isolated().coinbase_reward.get();
    let paid = net.balance(&beneficiary).unwrap() - 4;
    assert!(paid > 0 && paid.is_multiple_of(reward), "{paid}");
    check_replay(&net);
}

#[test]
fn edit_that_is_refused_makes_no_block() {
    let mut net = Net::new(config(1, 3));
    net.tick();
    // The same holds if a vacuous block is due.
    while !net.test.chain().config().epochs().unwrap().is_vacuous(BlockNumber::new(net.height() + 1)) {
        net.tick();
    }
    let height = net.height();
    let refused = |net: &mut Net, edit: Edit, expected: &str| assert_eq!(net.try_edit(edit).unwrap_err(), expected);
    let null = "the null account cannot be edited: it holds the reserve";
    refused(&mut net, Edit::Balance { address: Address::ZERO, balance: Qa::new(1) }, null);
    let most = Edit::MOST_BALANCE.get();
    let wrong = |got: u128| format!("amount: expected at most {} Qa for this account, got {got}", most - FUNDS);
    for amount in [most - FUNDS + 1, u128::MAX] {
        refused(&mut net, fund(1, amount), &wrong(amount));
    }
    let balance = Edit::Balance { address: user(1), balance: Qa::new(most + 1) };
    refused(&mut net, balance, &format!("balance: expected at most {most} Qa, got {}", most + 1));
    let (contract, keys) = (user(1), Vec::new());
    let field = Edit::Field { contract, field: "f".to_owned(), keys, value: None };
    refused(&mut net, field, &EditError::NotAContract.to_string());
    assert_eq!(net.height(), height);
    assert_eq!(net.edit(fund(1, Edit::MOST_BALANCE.get() - FUNDS)), 2);
}

/// Returns the block of an edit as a proposal, and a node with the configuration `judge` that can verify it.
fn proposal(judge: ChainConfig) -> (Net, Proposal) {
    let mut net = Net::new(config(1, 10));
    let at = net.later();
    let executed = net.test.producer_mut().propose_edit(at, &fund(20, 5)).unwrap();
    (Net::over(memory(), judge), executed.to_proposal())
}

#[test]
fn edits_of_others_are_judged() {
    let (mut judge, good) = proposal(config(1, 10));
    assert_eq!(judge.test.producer_mut().verify(&good).unwrap().to_proposal(), good);
    let mut other = good.clone();
    other.edits.accounts.values_mut().for_each(|account| account.balance = Qa::new(6));
    let error = judge.test.producer_mut().verify(&other).unwrap_err();
    assert!(matches!(error, InvalidBlock::Field { field: "state_root", .. }), "{error}");
    let (mut none, mut with_payment) = (good.clone(), good);
    none.edits = silica_state::StateDiff::default();
    assert!(matches!(judge.test.producer_mut().verify(&none).unwrap_err(), InvalidBlock::Field { .. }));
    with_payment.transactions.push(crate::harness::payment(1, 1, user(2), 1, crate::harness::PRICE));
    let refused = judge.test.producer_mut().verify(&with_payment).unwrap_err().to_string();
    assert_eq!(
        refused,
        "edits: expected a block that is not vacuous and has no transactions, got a block whose \
         number of transactions is 1"
    );
    let (mut strict, good) = proposal(ChainConfig { edits: false, ..config(1, 10) });
    let refused = strict.test.producer_mut().verify(&good).unwrap_err().to_string();
    assert_eq!(refused, "edits: expected none on this network, got at least one");
}
