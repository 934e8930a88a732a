//! Lists of blocks, transactions, contracts, accounts and tokens. All pages together are equal to a read of the whole
//! chain: in both orders, with each limit, and if blocks arrive between two pages.

use proptest::{collection::vec, prelude::*};
use serde_json::json;
use silica_chain::{
    BlockRow, ContractRow, Edit, HistoryOrder, HistoryPlace, Snapshot, TokenStandard, TransactionListRequest,
    TransactionSummary,
};
use silica_protocol::{Account, Address, BlockNumber, Qa, TransactionKind, UnsignedTransaction};

use crate::{
    contracts::{World, address_param, init, text_param},
    harness::{Net, config, user},
};

const ORDERS: [HistoryOrder; 2] = [HistoryOrder::NewestFirst, HistoryOrder::OldestFirst];

/// An event of a random chain.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Payments in one block.
    Payments(u8),
    /// Requested blocks, most of them in empty block ranges.
    Demand(u8),
    /// An empty block, which is stored separately.
    Tick,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (1..70_u8).prop_map(Event::Payments),
        2 => (1..90_u8).prop_map(Event::Demand),
        1 => Just(Event::Tick),
    ]
}

fn happen(net: &mut Net, event: Event) {
    match event {
        Event::Payments(count) => {
            for number in 0..count {
                net.pay_next(1 + number % 5, user(1 + number % 8), number.into());
            }
            net.tick();
        }
        Event::Demand(blocks) => drop(net.demand(blocks.into())),
        Event::Tick => drop(net.tick()),
    }
}

fn net(events: &[Event]) -> Net {
    let mut net = Net::new(config(2, 30));
    for event in events {
        happen(&mut net, *event);
    }
    net
}

/// Returns the rows from a read of all blocks from `first` to `last`, the oldest first.
fn rows(at: &Snapshot, first: u64, last: u64) -> Vec<BlockRow> {
    let mut rows: Vec<BlockRow> = Vec::new();
    for number in (first..=last).map(BlockNumber::new) {
        let block = at.tx_block(number).unwrap().unwrap();
        let row = BlockRow {
            first: number,
            last: number,
            hash: block.header.hash(),
            timestamp: block.timestamp,
            ds_block: block.header.ds_block,
            transactions: block.header.tx_count,
            gas_used: block.header.gas_used,
            fees: if at.is_vacuous(number) { Qa::ZERO } else { block.header.rewards },
        };
        match rows.last_mut() {
            Some(before) if before.transactions == 0 && row.transactions == 0 => {
                *before = BlockRow { first: before.first, ..row };
            }
            _ => rows.push(row),
        }
    }
    rows
}

/// Returns the rows of all pages. Calls `between` after each page.
fn block_pages(
    net: &mut Net,
    order: HistoryOrder,
    mut from: Option<BlockNumber>,
    limit: usize,
    mut between: impl FnMut(&mut Net),
) -> Vec<BlockRow> {
    let mut all = Vec::new();
    loop {
        let page = net.snapshot().block_list(order, from, limit).unwrap();
        assert!(page.rows.len() <= limit);
        all.extend(page.rows);
        if page.next.is_none() {
            return all;
        }
        from = page.next;
        between(net);
    }
}

/// Returns all transactions from a read of all blocks, the oldest first.
fn transactions(at: &Snapshot) -> Vec<TransactionSummary> {
    let mut all = Vec::new();
    for block in (0..=at.latest_tx_block().header.number.get()).map(BlockNumber::new) {
        let timestamp = at.tx_block(block).unwrap().unwrap().timestamp;
        for ((transaction, receipt), position) in at.block_bodies(block, 0..u32::MAX).unwrap().into_iter().zip(0..) {
            let kind = transaction.kind();
            let data: serde_json::Value = serde_json::from_str(&transaction.data).unwrap_or_default();
            all.push(TransactionSummary {
                place: HistoryPlace { block, position },
                hash: transaction.hash(),
                timestamp,
                sender: transaction.sender(),
                recipient: transaction.to,
                contract: transaction.contract_address(),
                amount: transaction.amount,
                kind,
                tag: (kind == Some(TransactionKind::Call)).then(|| data["_tag"].as_str().unwrap().to_owned()),
                success: receipt.success,
                fee: receipt.cumulative_gas.checked_cost(transaction.gas_price).unwrap(),
            });
        }
    }
    all
}

/// Returns the transactions of all pages. Calls `between` after each page.
fn transaction_pages(
    net: &mut Net,
    mut request: TransactionListRequest,
    mut between: impl FnMut(&mut Net),
) -> Vec<TransactionSummary> {
    let mut all = Vec::new();
    loop {
        let page = net.snapshot().transaction_list(&request).unwrap();
        assert!(page.transactions.len() <= request.limit);
        all.extend(page.transactions);
        if page.next.is_none() {
            return all;
        }
        request.after = page.next;
        between(net);
    }
}

fn request(order: HistoryOrder, limit: usize) -> TransactionListRequest {
    TransactionListRequest { block: None, order, after: None, limit, effort: usize::MAX }
}

fn in_order<T>(mut oldest_first: Vec<T>, order: HistoryOrder) -> Vec<T> {
    if order == HistoryOrder::NewestFirst {
        oldest_first.reverse();
    }
    oldest_first
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn rows_of_all_pages_are_the_blocks_of_the_chain(events in vec(event(), 1..14), limit in 1..6_usize) {
        let mut net = net(&events);
        let (at, head) = (net.snapshot(), net.height());
        for order in ORDERS {
            let expected = in_order(rows(&at, 0, head), order);
            prop_assert_eq!(&block_pages(&mut net, order, None, limit, |_| ()), &expected);
            prop_assert_eq!(&block_pages(&mut net, order, None, usize::MAX, |_| ()), &expected);
        }
        for from in (0..=head).step_by(7) {
            let newest = block_pages(&mut net, HistoryOrder::NewestFirst, Some(BlockNumber::new(from)), limit, |_| ());
            prop_assert_eq!(newest, in_order(rows(&at, 0, from), HistoryOrder::NewestFirst));
            let oldest = block_pages(&mut net, HistoryOrder::OldestFirst, Some(BlockNumber::new(from)), limit, |_| ());
            prop_assert_eq!(oldest, rows(&at, from, head));
        }
        let after = Some(BlockNumber::new(head + 1));
        prop_assert!(net.snapshot().block_list(HistoryOrder::OldestFirst, after, 5).unwrap().rows.is_empty());
        let last = net.snapshot().block_list(HistoryOrder::NewestFirst, after, 5).unwrap();
        prop_assert_eq!(last, net.snapshot().block_list(HistoryOrder::NewestFirst, None, 5).unwrap());
    }

    #[test]
    fn new_blocks_between_pages_repeat_and_skip_no_block(
        before in vec(event(), 1..10), between in vec(event(), 1..6), limit in 1..4_usize,
    ) {
        for order in ORDERS {
            let mut net = net(&before);
            let head = net.height();
            let mut events = between.iter();
            let found = block_pages(&mut net, order, None, limit, |net| {
                if let Some(event) = events.next() {
                    happen(net, *event);
                }
            });
            let found = in_order(found, order);
            let ends: Vec<_> = found.windows(2).map(|rows| (rows[0].last.next(), Some(rows[1].first))).collect();
            prop_assert!(ends.iter().all(|(end, first)| end == first), "{:?}", found);
            prop_assert_eq!(found.first().unwrap().first, BlockNumber::new(0));
            prop_assert!(found.last().unwrap().last >= BlockNumber::new(head));
        }
    }

    #[test]
    fn transactions_of_all_pages_are_those_of_the_chain(
        events in vec(event(), 1..10), limit in 1..80_usize, effort in 1..90_usize,
    ) {
        let mut net = net(&events);
        let all = transactions(&net.snapshot());
        for order in ORDERS {
            let expected = in_order(all.clone(), order);
            prop_assert_eq!(&transaction_pages(&mut net, request(order, limit), |_| ()), &expected);
            let bounded = TransactionListRequest { effort, ..request(order, limit) };
            prop_assert_eq!(&transaction_pages(&mut net, bounded, |_| ()), &expected);
            for block in (0..=net.height()).map(BlockNumber::new) {
                let own = expected.iter().filter(|of| of.place.block == block).cloned().collect::<Vec<_>>();
                let request = TransactionListRequest { block: Some(block), ..bounded };
                prop_assert_eq!(transaction_pages(&mut net, request, |_| ()), own);
            }
        }
    }
}

#[test]
fn new_transactions_between_pages_repeat_and_skip_none() {
    let events = [Event::Payments(60), Event::Demand(80), Event::Payments(3), Event::Payments(30)];
    let arrive = |net: &mut Net| happen(net, Event::Payments(2));
    let mut net = net(&events);
    let before = transactions(&net.snapshot());
    let newest = transaction_pages(&mut net, request(HistoryOrder::NewestFirst, 7), arrive);
    assert_eq!(newest, in_order(before, HistoryOrder::NewestFirst));
    let mut arrivals = 5;
    let oldest = transaction_pages(&mut net, request(HistoryOrder::OldestFirst, 20), |net| {
        if arrivals > 0 {
            arrivals -= 1;
            arrive(net);
        }
    });
    assert_eq!(oldest, transactions(&net.snapshot()), "new transactions are at the end");
}

#[test]
fn summaries_have_kind_tag_contract_and_fee() {
    let mut world = World::new();
    let relay = world.relay();
    world.library();
    let params = [
        address_param("to", &user(4)),
        text_param("tag", ""),
        json!({"vname": "amount", "type": "Uint128", "value": "0"}),
    ];
    world.call(2, relay, "Forward", &params, 5);
    world.call(2, relay, "Missing", &[], 0);
    let to = user(3);
    let payment = UnsignedTransaction { to, amount: Qa::new(9), ..world.transaction(1) };
    world.run(1, payment).unwrap();
    let expected = transactions(&world.net.snapshot());
    let found = transaction_pages(&mut world.net, request(HistoryOrder::OldestFirst, 2), |_| ());
    assert_eq!(found, expected);
    let kinds: Vec<_> = found.iter().map(|of| (of.kind.unwrap(), of.tag.as_deref(), of.success)).collect();
    let (deployment, call) = (TransactionKind::Deployment, TransactionKind::Call);
    let calls = [(call, Some("Forward"), found[2].success), (call, Some("Missing"), false)];
    let rest = [(deployment, None, true), (deployment, None, true)];
    assert_eq!(kinds, [&rest[..], &calls, &[(TransactionKind::Payment, None, true)]].concat());
    assert_eq!(found[0].contract, Some(relay));
}

/// Returns all accounts in pages of `limit`. Calls `between` after each page.
fn account_pages(net: &mut Net, limit: usize, mut between: impl FnMut(&mut Net)) -> Vec<(Address, Account)> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = net.snapshot().account_list(after, limit).unwrap();
        assert!(page.elements.len() <= limit);
        all.extend(page.elements);
        after = page.next;
        if after.is_none() {
            return all;
        }
        between(net);
    }
}

#[test]
fn accounts_of_all_pages_are_the_accounts_of_the_state() {
    let mut net = Net::new(config(1, 50));
    for number in 0..200_u32 {
        let to = Address::new(silica_protocol::sha256(&[&number.to_be_bytes()])[..20].try_into().unwrap());
        net.pay_next(1 + u8::try_from(number % 5).unwrap(), to, 1);
        if number % 60 == 59 {
            net.tick();
        }
    }
    net.tick();
    let store = net.test.producer().store().snapshot();
    let expected: Vec<_> = store.state().accounts().map(Result::unwrap).collect();
    assert!(expected.len() > 200 && expected.is_sorted_by_key(|(address, _)| *address));
    for limit in [1, 2, 7, 64, expected.len() - 1, expected.len(), 1000] {
        assert_eq!(account_pages(&mut net, limit, |_| ()), expected, "{limit}");
    }
    let last = net.snapshot().account_list(Some(Address::new([0xff; 20])), 5).unwrap();
    assert_eq!((last.elements, last.next), (Vec::new(), None));
    let mut count = 0;
    let found = account_pages(&mut net, 9, |net| {
        count += 1;
        net.pay_next(1, Address::new([count; 20]), 1);
        net.tick();
    });
    let addresses: Vec<_> = found.iter().map(|(address, _)| *address).collect();
    assert!(addresses.is_sorted_by(|left, right| left < right), "no account appears twice");
    assert!(expected.iter().all(|(address, _)| addresses.contains(address)), "no earlier account is missing");
}

#[test]
fn contracts_of_all_pages_are_the_deployments_of_the_chain() {
    let mut world = World::new();
    for round in 0..4 {
        world.hello();
        world.relay();
        if round % 2 == 0 {
            world.library();
        }
        // A deployment that fails.
        let receipt = world.deploy(1, "contract", &init(&[]), 0).unwrap();
        assert!(!receipt.success);
    }
    let mut expected = Vec::new();
    let at = world.net.snapshot();
    for summary in transactions(&at).into_iter().filter(|of| of.success) {
        let Some(address) = summary.contract else { continue };
        let code = at.contract(&address).unwrap().unwrap().code;
        let is_library = code.contains("library Numbers");
        let head = |name: &str| code.contains(&format!("contract {name}")) || is_library && name == "Numbers";
        let name = ["Numbers", "HelloWorld", "Relay"].into_iter().find(|name| head(name)).map(str::to_owned);
        assert!(name.is_some(), "{code}");
        let TransactionSummary { sender: creator, hash, place, .. } = summary;
        expected.push(ContractRow { address, creator, hash, place, is_library, name, token: None });
    }
    expected.sort_unstable_by_key(|row| row.address);
    assert_eq!((expected.len(), expected.iter().filter(|row| row.is_library).count()), (10, 2));
    for limit in [1, 3, 9, 10, 1000] {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = world.net.snapshot().contract_list(after, limit).unwrap();
            assert!(page.elements.len() <= limit);
            all.extend(page.elements);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(all, expected, "{limit}");
    }
    for (text, most) in [("hello", 9), ("HELLOWORLD", 3), ("Relay", 4), ("numbers", 1), ("n", 20), ("elay", 5)] {
        let is_named = |row: &&ContractRow| row.name.as_ref().unwrap().to_lowercase().starts_with(&text.to_lowercase());
        let named: Vec<_> = expected.iter().filter(is_named).cloned().collect();
        let found = world.net.snapshot().contracts_named(text, most).unwrap();
        assert_eq!(found.elements, named[..named.len().min(most)], "{text}");
        assert!(found.next.is_none() || named.len() >= most, "{text}: the search has not read all contracts");
        assert!(found.next.is_some() || named.len() <= most, "{text}: contracts are missing");
    }
    // An earlier snapshot does not have later contracts.
    world.hello();
    assert_eq!(at.contract_list(None, 1000).unwrap().elements, expected);
}

#[test]
fn hashes_with_a_prefix_are_found_as_by_a_scan() {
    let mut net = net(&[Event::Payments(69), Event::Demand(9), Event::Payments(69), Event::Payments(60)]);
    let at = net.snapshot();
    let all = transactions(&at);
    let mut by_hash: Vec<_> = all.iter().map(|of| (of.hash.to_string(), of.place)).collect();
    by_hash.sort_unstable();
    let check = |at: &Snapshot, by_hash: &[(String, HistoryPlace)], digits: &str, most: usize| {
        let expected: Vec<_> =
            by_hash.iter().filter(|(hash, _)| hash.starts_with(digits)).take(most).cloned().collect();
        let found = at.transactions_with_prefix(digits, most).unwrap();
        let found: Vec<_> = found.into_iter().map(|(hash, place)| (hash.to_string(), place)).collect();
        assert_eq!(found, expected, "{digits} {most}");
    };
    for digit in "0123456789abcdef".chars() {
        for most in [0, 1, 5, 1000] {
            check(&at, &by_hash, &digit.to_string(), most);
        }
        for (hash, _) in &by_hash {
            check(&at, &by_hash, &format!("{}{digit}", &hash[..2]), 1000);
        }
    }
    for (hash, _) in &by_hash {
        for length in [6, 15, 16, 17, 40, 63, 64] {
            check(&at, &by_hash, &hash[..length], 21);
        }
        let other = if hash.ends_with('0') { "1" } else { "0" };
        assert!(at.transactions_with_prefix(&format!("{}{other}", &hash[..63]), 21).unwrap().is_empty());
    }
    for wrong in ["", "g", "+1", "0x1", "FF é", "é"] {
        assert!(at.transactions_with_prefix(wrong, 21).unwrap().is_empty(), "{wrong}");
    }
    // An earlier snapshot does not have later transactions.
    happen(&mut net, Event::Payments(69));
    for digit in "0123456789abcdef".chars() {
        check(&at, &by_hash, &digit.to_string(), 1000);
    }
}

#[test]
fn pool_is_listed_in_the_order_of_arrival() {
    let mut net = Net::new(config(2, 50));
    let mut arrived = Vec::new();
    for number in 0..60_u8 {
        let from = 1 + number % 7 % 5;
        arrived.push((user(from), net.pay_next(from, user(8), 1)));
    }
    let pages = |net: &Net, sender: Option<Address>, limit: usize| {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = net.snapshot().pool_page(after, sender.as_ref(), limit);
            assert!(page.transactions.len() <= limit);
            all.extend(page.transactions.into_iter().map(|of| (of.sender, of.hash)));
            after = page.next;
            if after.is_none() {
                return all;
            }
        }
    };
    for limit in [1, 7, 59, 60, 1000] {
        assert_eq!(pages(&net, None, limit), arrived, "{limit}");
        for from in 1..=6 {
            let own: Vec<_> = arrived.iter().filter(|(sender, _)| *sender == user(from)).copied().collect();
            assert_eq!(pages(&net, Some(user(from)), limit), own, "{from} {limit}");
        }
    }
    // Transactions that leave the pool and that arrive between two pages do not shift the others.
    let first = net.snapshot().pool_page(None, None, 20);
    let at = net.now();
    assert!(net.test.chain().withdraw(&arrived[19].1, at) && net.test.chain().withdraw(&arrived[30].1, at));
    arrived.push((user(1), net.pay_next(1, user(8), 2)));
    let rest = net.snapshot().pool_page(first.next, None, 1000);
    let rest: Vec<_> = rest.transactions.into_iter().map(|of| (of.sender, of.hash)).collect();
    assert_eq!(rest, [&arrived[20..30], &arrived[31..]].concat());
}

/// Sources of contracts with one map of balances: its name, the type of its values, whether the contract also has the
/// owners of tokens, and the standard.
const BALANCES: [(&str, &str, bool, Option<TokenStandard>); 6] = [
    ("balances", "Uint128", false, Some(TokenStandard::Zrc2)),
    ("balances", "Uint128", true, Some(TokenStandard::Zrc2)),
    ("balances", "Uint256", true, Some(TokenStandard::Zrc6)),
    ("owned_token_count", "Uint256", true, Some(TokenStandard::Zrc1)),
    ("balances", "Uint256", false, None),
    ("amounts", "Uint128", false, None),
];

/// A change of a balance: the contract, the holder, and the new balance; `None` removes the entry.
type Change = (usize, u8, Option<u32>);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn tokens_of_all_pages_are_those_of_a_simple_model(
        changes in vec((0..2 * BALANCES.len(), 1..5_u8, proptest::option::of(0..3_u32)), 1..40),
    ) {
        let mut world = World::new();
        let contracts: Vec<_> = BALANCES.iter().cycle().take(2 * BALANCES.len()).map(|(field, ty, has_owners, standard)| {
            let owners = if *has_owners { "field token_owners : Map Uint256 ByStr20 = Emp Uint256 ByStr20" } else { "" };
            let code = format!("scilla_version 0\ncontract T ()\nfield {field} : Map ByStr20 {ty} = Emp ByStr20 {ty}\n{owners}");
            (world.deployed(1, &code, &init(&[])), *field, *standard)
        }).collect();
        let mut model: std::collections::BTreeMap<(u8, Address), u32> = std::collections::BTreeMap::new();
        for (contract, holder, balance) in changes as Vec<Change> {
            let (contract, field, _) = contracts[contract];
            let value = balance.map(|balance| format!("\"{balance}\""));
            let keys = vec![format!("0x{}", user(holder))];
            world.net.edit(Edit::Field { contract, field: field.to_owned(), keys, value });
            match balance {
                Some(balance) => drop(model.insert((holder, contract), balance)),
                None => drop(model.remove(&(holder, contract))),
            }
        }
        let snapshot = world.net.snapshot();
        for holder in 1..6 {
            let expected: Vec<_> = model.iter().filter(|((of, _), balance)| *of == holder && **balance > 0).filter_map(|((_, contract), balance)| {
                let standard = contracts.iter().find(|(address, _, _)| address == contract).unwrap().2?;
                Some((*contract, standard, balance.to_string()))
            }).collect();
            for limit in [0, 1, 2, 5, 100] {
                let (mut found, mut after) = (Vec::new(), None);
                loop {
                    let page = snapshot.tokens_of(&user(holder), after, limit).unwrap();
                    prop_assert!(page.tokens.len() <= limit.max(1));
                    found.extend(page.tokens.into_iter().map(|token| (token.contract, token.token.standard, token.balance)));
                    after = page.next;
                    if after.is_none() {
                        break;
                    }
                }
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
