//! Transfers of random chains: after every block, the sum of the transfers of every account is its balance. The lists
//! in pages have the transfers of the whole chain.

use std::collections::{BTreeMap, BTreeSet};

use silica_chain::{
    BalanceAtError, BalanceError, Edit, Genesis, HistoryOrder, MINING_RESERVE, Snapshot, Transfer, TransferAmount,
    TransferKind, TransferPlace, TransferRequest, check_balances, consensus::Input,
};
use silica_protocol::{Address, BlockNumber, Nonce, Qa, SimulationRequest};
use silica_state::{IndexKinds, Store, StoreOptions};

use super::{accounts, number, rules, scenario::Scenario};
use crate::{
    harness::{FUNDS, Net, config, genesis, memory, node, user},
    indexed,
};

/// Number of seeds, unless the environment sets another number.
const SEEDS: u64 = 4;
/// Number of actions of each chain.
const ACTIONS: usize = 20;

/// Balances that only transfers have changed.
#[derive(Default)]
struct Ledger {
    balances: BTreeMap<Address, Qa>,
    /// The balances after each block.
    history: Vec<BTreeMap<Address, Qa>>,
    /// The next block whose transfers are applied.
    next: u64,
    kinds: BTreeSet<&'static str>,
}

impl Ledger {
    /// Applies the transfers of all new blocks, and compares all balances after each block whose state is known.
    fn follow(&mut self, net: &Net, dice: &mut Scenario) {
        let at = net.snapshot();
        let (earliest, head) = at.kept();
        while self.next <= head.get() {
            let block = BlockNumber::new(self.next);
            let limit = dice.choose(&[1, 2, 1_000]);
            let request = TransferRequest { limit, ..whole(block, block) };
            for transfer in all(&at, &request) {
                assert_eq!(transfer.place.block, block);
                self.apply(&transfer);
            }
            if block >= earliest {
                for (address, balance) in &self.balances {
                    let account = at.account_at(address, block).unwrap().unwrap_or_default();
                    assert_eq!(account.balance, *balance, "{address} after block {block}");
                }
            }
            self.history.push(self.balances.clone());
            self.next += 1;
        }
        self.check_history(net, dice);
        let state = accounts(net).into_iter().filter(|(_, balance, _)| *balance > 0);
        let state: BTreeMap<_, _> = state.map(|(address, balance, _)| (address, Qa::new(balance))).collect();
        let sums: BTreeMap<_, _> =
            self.balances.clone().into_iter().filter(|(_, balance)| !balance.is_zero()).collect();
        assert_eq!(sums, state, "all balances after block {head}");
    }

    /// Compares balances after some blocks with those of the history index. The index can be behind the chain.
    fn check_history(&self, net: &Net, dice: &mut Scenario) {
        let at = net.snapshot();
        let (earliest, head) = at.kept();
        let has_index = at.index_progress().is_some();
        if has_index && dice.below(2) == 0 {
            indexed::settle(net);
        }
        for _ in 0..3 {
            let block = BlockNumber::new(dice.below(head.get() + 1));
            let covered = at.index_progress().map_or(0, |index| index.blocks);
            for (address, expected) in &self.history[usize::try_from(block.get()).unwrap()] {
                match at.balance_at(address, block) {
                    Ok(balance) => assert_eq!(balance, *expected, "{address} after block {block}"),
                    Err(BalanceAtError::NoIndex { .. }) => assert!(!has_index && block < earliest),
                    Err(BalanceAtError::NotIndexed { .. }) => assert!(block.get() >= covered && block < earliest),
                    Err(error) => panic!("{error}"),
                }
            }
            let stranger = at.balance_at(&Address::new([0xee; 20]), block);
            assert!(stranger.is_err() || stranger.is_ok_and(Qa::is_zero));
        }
        let missing = at.balance_at(&user(1), head.next().unwrap());
        assert!(matches!(missing, Err(BalanceAtError::NotMined { .. })));
    }

    fn apply(&mut self, transfer: &Transfer) {
        self.kinds.insert(name(transfer.kind));
        match transfer.amount {
            TransferAmount::Moved(amount) => {
                assert!(!amount.is_zero(), "{transfer:?}");
                if let Some(from) = transfer.from {
                    let balance = self.balances.entry(from).or_default();
                    *balance = balance.checked_sub(amount).unwrap_or_else(|| panic!("{transfer:?}, of {balance}"));
                }
                if let Some(to) = transfer.to {
                    let balance = self.balances.entry(to).or_default();
                    *balance = balance.checked_add(amount).unwrap();
                }
            }
            TransferAmount::SetTo(balance) => {
                assert_eq!((transfer.kind, transfer.from), (TransferKind::Edit, None));
                self.balances.insert(transfer.to.unwrap(), balance);
            }
        }
    }
}

const fn name(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::Genesis => "genesis",
        TransferKind::Edit => "edit",
        TransferKind::Fee => "fee",
        TransferKind::Payment => "payment",
        TransferKind::Deployment => "deployment",
        TransferKind::Call => "call",
        TransferKind::Transition => "transition",
        TransferKind::Fees => "fees",
        TransferKind::Reward => "reward",
    }
}

/// Returns a request for all transfers of some blocks, on one page.
const fn whole(first: BlockNumber, last: BlockNumber) -> TransferRequest<'static> {
    let (order, most) = (HistoryOrder::OldestFirst, usize::MAX);
    TransferRequest { addresses: None, first, last, order, from: None, limit: most, effort: most }
}

/// Returns the transfers of all pages.
fn all(at: &Snapshot, request: &TransferRequest<'_>) -> Vec<Transfer> {
    let (mut found, mut from) = (Vec::new(), None::<TransferPlace>);
    for pages in 0.. {
        let page = at.transfers(&TransferRequest { from, ..*request }).unwrap();
        assert!(page.transfers.len() <= request.limit);
        assert!(pages < 100_000_000, "the list comes to an end");
        assert!(page.next != from || from.is_none(), "a page continues");
        found.extend(page.transfers);
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    found
}

/// Compares lists in pages with the list of the whole chain on one page.
fn check_lists(net: &Net, dice: &mut Scenario) {
    let at = net.snapshot();
    let head = at.latest_tx_block().header.number;
    let expected = all(&at, &whole(BlockNumber::new(0), head));
    assert!(expected.is_sorted_by(|left, right| left.place < right.place), "one place, one transfer");
    let mut everyone: BTreeSet<Address> = expected.iter().flat_map(|it| [it.from, it.to]).flatten().collect();
    everyone.insert(Address::new([0xee; 20]));
    let everyone: Vec<Address> = everyone.into_iter().collect();
    for _ in 0..12 {
        let some: BTreeSet<Address> = (0..dice.choose(&[1, 3])).map(|_| dice.choose(&everyone)).collect();
        let addresses = dice.choose(&[None, Some(&some), Some(&some)]);
        let number = |dice: &mut Scenario| BlockNumber::new(dice.below(head.get() + 3));
        let (one, other) = (number(dice), number(dice));
        let (first, last) = (one.min(other), one.max(other));
        let order = dice.choose(&[HistoryOrder::NewestFirst, HistoryOrder::OldestFirst]);
        let (limit, effort) = (dice.choose(&[1, 7, 1_000]), dice.choose(&[0, 1, 30, 100_000]));
        let request = TransferRequest { addresses, first, last, order, from: None, limit, effort };
        let has_one = |it: &&Transfer| {
            addresses.is_none_or(|of| {
                it.from.is_some_and(|from| of.contains(&from)) || it.to.is_some_and(|to| of.contains(&to))
            })
        };
        let within = expected.iter().filter(|it| (first..=last).contains(&it.place.block));
        let mut within: Vec<Transfer> = within.filter(has_one).cloned().collect();
        if order == HistoryOrder::NewestFirst {
            within.reverse();
        }
        assert_eq!(all(&at, &request), within, "{request:?}");
    }
    check_outlines(net);
    for transfer in &expected {
        let block = at.tx_block(transfer.place.block).unwrap().unwrap();
        assert_eq!(transfer.timestamp, block.timestamp);
    }
}

/// Compares the values of the record that need no computed block with those of the blocks.
fn check_outlines(net: &Net) {
    let state = net.test.producer().store().snapshot();
    let head = state.head().unwrap().number.get();
    for number in (0..=head).map(BlockNumber::new) {
        let (header, totals) = (state.tx_header(number).unwrap().unwrap(), state.totals(number).unwrap().unwrap());
        let (outline, rewards) = (state.outline(number).unwrap().unwrap(), state.rewards_of(number).unwrap().unwrap());
        assert_eq!((rewards.in_header, rewards.ds_epoch_fees), (header.rewards, totals.ds_epoch_fees), "{number}");
        assert_eq!(outline.transactions, header.tx_count, "{number}");
        assert_eq!(outline.has_edits, !state.edits_of(number).unwrap().unwrap().is_empty(), "{number}");
        assert!(outline.empty_range.is_none_or(|range| range.contains(&number) && range.end().get() <= head));
    }
    let missing = BlockNumber::new(head + 1);
    assert_eq!((state.outline(missing).unwrap(), state.rewards_of(missing).unwrap()), (None, None));
}

/// Edits the state at random. The node can reject the edit.
fn edit(net: &mut Net, dice: &mut Scenario) {
    let contracts = dice.contracts().to_vec();
    let contract = if contracts.is_empty() { user(1) } else { dice.choose(&contracts) };
    let account = dice.choose(&[user(1), user(2), user(20), contract, Address::from_public_key(&node())]);
    let amount = u128::from(dice.below(1 << 50));
    let edit = match dice.below(6) {
        0 => Edit::Balance { address: contract, balance: Qa::new(amount) },
        1 | 2 => Edit::Balance { address: account, balance: Qa::new(1 << 80).checked_add(Qa::new(amount)).unwrap() },
        3 => Edit::Nonce { address: account, nonce: Nonce::new(net.nonce(&account) + 3) },
        4 => Edit::Field { contract, field: "count".to_owned(), keys: Vec::new(), value: Some("\"7\"".to_owned()) },
        _ => Edit::Fund { address: account, amount: Qa::new(amount) },
    };
    let at = net.later();
    let _ = net.test.step(Input::Edit { at, edit });
}

/// Sends a payment of a contract or a user without a signature. The node can reject it.
fn impersonate(net: &mut Net, dice: &mut Scenario) {
    let contracts = dice.contracts().to_vec();
    let sender = if contracts.is_empty() { user(3) } else { dice.choose(&contracts) };
    let request = SimulationRequest {
        sender,
        to: user(2),
        amount: Qa::new(u128::from(dice.below(3))),
        gas_price: None,
        gas_limit: None,
        code: String::new(),
        data: String::new(),
        priority: false,
    };
    let chain = net.test.chain();
    if let Ok(transaction) = chain.impersonate(&request)
        && let Ok(submitted) = chain.submit(transaction, net.now())
    {
        dice.note(submitted.hash);
    }
}

fn run(seed: u64) -> BTreeSet<&'static str> {
    let mut scenario = Scenario::new(seed);
    let mut config = config(scenario.choose(&[1, 2, 3]), scenario.choose(&[2, 3, 7, 30]));
    config.rules.scilla = rules(seed);
    let reserve = MINING_RESERVE.get();
    config.coinbase_reward = Qa::new(scenario.choose(&[0, 1_000, 176_000 * Qa::PER_ZIL, reserve / 5, reserve - 5]));
    // One of three chains has no history index.
    let indexed = StoreOptions { index: IndexKinds::ALL, ..StoreOptions::default() };
    let store = if seed % 3 == 1 { memory() } else { Store::ephemeral(indexed) };
    let mut net = if seed.is_multiple_of(3) { Net::unsealed(store, config) } else { Net::over(store, config) };
    let mut ledger = Ledger::default();
    ledger.follow(&net, &mut scenario);
    let mut saved = None;
    for action in 0..ACTIONS {
        match scenario.below(12) {
            0 => drop(net.demand(1)),
            1 => drop(net.demand(scenario.choose(&[3, 40, 700]))),
            2 | 3 => edit(&mut net, &mut scenario),
            4 => impersonate(&mut net, &mut scenario),
            _ => {
                scenario.submit(&mut net);
                let block = net.tick();
                scenario.settle(&block);
            }
        }
        ledger.follow(&net, &mut scenario);
        if action == ACTIONS / 4 {
            saved = Some(net.test.snapshot().unwrap());
        }
        if action == ACTIONS / 2
            && let Some(saved) = saved.take()
        {
            check_lists(&net, &mut scenario);
            net.test.revert(&saved).unwrap();
            net.test.chain().withdraw_all(net.now());
            scenario = Scenario::new(seed + 1_000_000);
            ledger = Ledger { kinds: ledger.kinds, ..Ledger::default() };
            ledger.follow(&net, &mut scenario);
        }
    }
    check_lists(&net, &mut scenario);
    if net.snapshot().index_progress().is_some() {
        indexed::settle(&net);
        check_lists(&net, &mut scenario);
        ledger.check_history(&net, &mut scenario);
    }
    let (store, config) = (net.test.producer().store(), net.test.chain().config());
    check_balances(store, config, &genesis(), node(), None, &mut |_, _| {}).unwrap();
    ledger.kinds
}

#[test]
fn sum_of_the_transfers_of_an_account_is_its_balance() {
    let first = number("SILICA_SEED").unwrap_or(1);
    let seeds = number("SILICA_SEEDS").unwrap_or(SEEDS);
    let mut kinds = BTreeSet::new();
    for seed in first..first + seeds {
        println!("seed {seed}");
        kinds.extend(run(seed));
    }
    if seeds >= SEEDS {
        let every = ["call", "deployment", "edit", "fee", "fees", "genesis", "payment", "reward", "transition"]
            .map(str::to_owned);
        assert!(kinds.iter().copied().eq(every.iter().map(String::as_str)), "{kinds:?}");
    }
}

#[test]
fn balance_that_differs_from_its_transfers_is_reported_with_both() {
    let mut net = Net::new(config(2, 5));
    net.pay(1, user(2), 7, 0);
    net.demand(12);
    let (store, config) = (net.test.producer().store(), net.test.chain().config());
    check_balances(store, config, &genesis(), node(), None, &mut |_, _| {}).unwrap();
    let mut accounts = genesis().accounts().clone();
    accounts.get_mut(&user(3)).unwrap().balance = Qa::new(FUNDS - 1);
    let other = Genesis::new(accounts.clone()).unwrap();
    let error = check_balances(store, config, &other, node(), None, &mut |_, _| {}).unwrap_err();
    assert!(
        matches!(error, BalanceError::Differs { address, expected, got, .. }
            if (address, expected.get(), got.get()) == (user(3), FUNDS - 1, FUNDS)),
        "{error}"
    );
    accounts.insert(user(1), silica_protocol::Account::default());
    let poor = Genesis::new(accounts).unwrap();
    let error = check_balances(store, config, &poor, node(), None, &mut |_, _| {}).unwrap_err();
    assert!(
        error.to_string().starts_with("block 1, transaction 0, transfer 0: expected balances from 0 to"),
        "{error}"
    );
}

/// A check from an earlier state finds a balance that the transfers after this state do not give.
#[test]
fn balance_that_differs_from_the_transfers_since_a_state_is_reported() {
    let mut nets = [7, 8].map(|amount| {
        let mut net = Net::new(config(2, 5));
        net.pay(1, user(2), amount, 0);
        net.demand(12);
        net
    });
    let [own, other] = nets.each_ref().map(Net::snapshot);
    let net = &mut nets[0];
    net.pay(1, user(2), 9, 1);
    net.demand(13);
    let (store, config) = (net.test.producer().store(), net.test.chain().config());
    let check = |since| check_balances(store, config, &genesis(), node(), Some(since), &mut |_, _| {});
    check(own.state()).unwrap();
    let error = check(other.state()).unwrap_err();
    assert!(
        matches!(error, BalanceError::Differs { address, expected, got, .. }
            if (address == user(1) && expected.get() + 1 == got.get())
                || (address == user(2) && expected.get() == got.get() + 1)),
        "{error}"
    );
}
