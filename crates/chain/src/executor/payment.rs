//! Payments (Reference: execution#payments): transfers without a run of a contract.

use silica_protocol::{Account, Qa, Receipt};

use super::{Context, DropOrFatal, Overlay, Recorded};
use crate::{accounts::StateReader, admission::VerifiedTransaction, pool::DropReason};

/// Executes a payment. The checks have the order of the reference: if several checks fail, the first failed check is
/// the reason of the drop. All values are computed before the first write.
pub(super) fn execute<W: StateReader>(
    transaction: &VerifiedTransaction,
    context: Context<'_>,
    overlay: &mut Overlay<W>,
) -> Result<Recorded, DropOrFatal> {
    let tx = transaction.transaction();
    let gas = context.rules.payment_gas;
    let deposit = tx.gas_limit.checked_cost(tx.gas_price).ok_or(DropReason::Arithmetic)?;
    let recipient = overlay.account(&tx.to)?;
    if recipient.is_some_and(|account| account.contract.is_some()) {
        return Err(DropReason::InvalidRecipient.into());
    }
    let sender = overlay.account(&transaction.sender())?.ok_or(DropReason::InvalidSender)?;
    if tx.gas_limit < gas {
        return Err(DropReason::InsufficientGasLimit.into());
    }
    let needed = tx.amount.checked_add(deposit).ok_or(DropReason::InsufficientBalance)?;
    if sender.balance < needed {
        return Err(DropReason::InsufficientBalance.into());
    }

    let fee = gas.checked_cost(tx.gas_price).ok_or(DropReason::Arithmetic)?;
    let charged = charge(sender, fee).ok_or(DropReason::Arithmetic)?;
    if tx.to == transaction.sender() {
        overlay.set(&tx.to, charged)?;
    } else {
        let paid = debit(charged, tx.amount).ok_or(DropReason::Arithmetic)?;
        let credited = credit(recipient.unwrap_or_default(), tx.amount).ok_or(DropReason::Arithmetic)?;
        overlay.set(&transaction.sender(), paid)?;
        // An amount of zero does not create an account.
        if !tx.amount.is_zero() {
            overlay.set(&tx.to, credited)?;
        }
    }
    Ok(Recorded { receipt: Receipt::payment(gas, context.block), fee })
}

/// Returns the account after the payment of the fee, with the next nonce. Returns `None` if the balance or the nonce is
/// out of range.
fn charge(account: Account, fee: Qa) -> Option<Account> {
    Some(Account { balance: account.balance.checked_sub(fee)?, nonce: account.nonce.next()?, ..account })
}

fn debit(account: Account, amount: Qa) -> Option<Account> {
    Some(Account { balance: account.balance.checked_sub(amount)?, ..account })
}

fn credit(account: Account, amount: Qa) -> Option<Account> {
    Some(Account { balance: account.balance.checked_add(amount)?, ..account })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use silica_protocol::{Address, BlockNumber, ChainId, Gas, GasPrice, Nonce, ShardId, UnsignedTransaction};

    use silica_scilla::work::{EVALUATION_PER_GAS, TRANSACTION};

    use crate::executor::{Executed, NOTHING_LOADED};

    use super::*;
    use crate::{
        config::Rules,
        executor::{self, ContractCache, Outcome},
        testing::{PRICE, account, address, contract, payment, unchecked},
    };

    const ZIL: u128 = Qa::PER_ZIL;
    const CONTRACT: Address = Address::new([0xc0; 20]);
    const SENDER: u8 = 1;

    struct Run {
        outcome: Outcome,
        work: u64,
        overlay: Overlay<BTreeMap<Address, Account>>,
    }

    fn run_at(price: Option<u128>, accounts: &[(Address, Account)], transaction: UnsignedTransaction) -> Run {
        let mut overlay = Overlay::new(accounts.iter().copied().collect::<BTreeMap<_, _>>());
        let rules = Rules { contracts: false, ..Rules::V8_1 };
        let context = Context {
            work_limit: u64::MAX,
            loaded: &NOTHING_LOADED,
            block: BlockNumber::new(7),
            chain_id: ChainId::new(222),
            contract_cache: &ContractCache::new(rules.scilla),
            tracer: None,
            gas_limit: Gas::new(1_000),
            minimum_price: price.map(|qa| GasPrice::new(Qa::new(qa))),
            rules: &rules,
        };
        let transaction = unchecked(transaction, ShardId::new(0));
        let Executed { outcome, work, .. } = executor::execute(&transaction, context, &mut overlay).unwrap();
        Run { outcome, work, overlay }
    }

    fn run(accounts: &[(Address, Account)], transaction: UnsignedTransaction) -> Run {
        run_at(Some(PRICE), accounts, transaction)
    }

    /// Returns the sender with a balance, and a contract.
    fn with(balance: u128) -> [(Address, Account); 2] {
        [(address(SENDER), account(balance, 0)), (CONTRACT, contract())]
    }

    fn good() -> UnsignedTransaction {
        payment(SENDER, address(2))
    }

    fn check_dropped(accounts: &[(Address, Account)], transaction: UnsignedTransaction, expected: DropReason) {
        let Run { outcome, mut overlay, .. } = run(accounts, transaction);
        assert_eq!(outcome, Outcome::Dropped(expected));
        assert_eq!(overlay.changes().unwrap(), [], "what is dropped leaves no trace");
    }

    fn balance(run: &mut Run, of: &Address) -> Option<u128> {
        run.overlay.account(of).unwrap().map(|account| account.balance.get())
    }

    #[test]
    fn the_worked_example() {
        let transaction = UnsignedTransaction { amount: Qa::new(5 * ZIL), gas_limit: Gas::new(70), ..good() };
        let mut run = run(&with(100 * ZIL), transaction);
        assert_eq!(balance(&mut run, &address(SENDER)), Some(100 * ZIL - 5 * ZIL - ZIL / 10));
        assert_eq!(balance(&mut run, &address(2)), Some(5 * ZIL));
        assert_eq!(run.overlay.account(&address(SENDER)).unwrap().unwrap().nonce, Nonce::new(1));
        let receipt = Receipt::payment(Gas::new(50), BlockNumber::new(7));
        assert_eq!(run.outcome, Outcome::Recorded(Recorded { receipt, fee: Qa::new(ZIL / 10) }));
        assert_eq!(run.work, TRANSACTION + 50 * EVALUATION_PER_GAS);
    }

    #[test]
    fn the_example_of_the_reference() {
        let transaction = UnsignedTransaction { amount: Qa::new(10_u128.pow(12)), ..good() };
        let mut run = run(&with(10_u128.pow(14)), transaction);
        assert_eq!(balance(&mut run, &address(SENDER)), Some(10_u128.pow(14) - 10_u128.pow(12) - 10_u128.pow(11)));
    }

    #[test]
    fn the_receipt_has_three_members() {
        let Outcome::Recorded(recorded) = run(&with(ZIL), good()).outcome else { panic!("dropped") };
        assert_eq!(
            recorded.receipt.to_styled_json(),
            "{\n\t\"cumulative_gas\" : \"50\",\n\t\"epoch_num\" : \"7\",\n\t\"success\" : true\n}"
        );
    }

    #[test]
    fn paying_oneself_costs_the_fee() {
        let transaction = UnsignedTransaction { to: address(SENDER), amount: Qa::new(ZIL / 2), ..good() };
        let mut run = run(&with(ZIL), transaction);
        assert_eq!(balance(&mut run, &address(SENDER)), Some(ZIL - ZIL / 10));
        assert_eq!(run.overlay.account(&address(SENDER)).unwrap().unwrap().nonce, Nonce::new(1));
    }

    #[test]
    fn payment_of_zero_does_not_create_an_account() {
        let mut run = run(&with(ZIL), UnsignedTransaction { amount: Qa::ZERO, ..good() });
        assert!(matches!(run.outcome, Outcome::Recorded(_)));
        assert_eq!(balance(&mut run, &address(2)), None);
        assert_eq!(run.overlay.changes().unwrap().len(), 1);
    }

    #[test]
    fn the_whole_balance_can_be_spent() {
        let transaction = UnsignedTransaction { amount: Qa::new(ZIL - ZIL / 10), ..good() };
        let mut run = run(&with(ZIL), transaction);
        assert_eq!(balance(&mut run, &address(SENDER)), Some(0));
    }

    #[test]
    fn step_1_deposit_overflow() {
        let gas_price = GasPrice::new(Qa::MAX);
        check_dropped(&with(ZIL), UnsignedTransaction { gas_price, ..good() }, DropReason::Arithmetic);
    }

    #[test]
    fn step_2_recipients_with_code() {
        check_dropped(&with(ZIL), UnsignedTransaction { to: CONTRACT, ..good() }, DropReason::InvalidRecipient);
        let unknown = [(CONTRACT, contract())];
        check_dropped(&unknown, UnsignedTransaction { to: CONTRACT, ..good() }, DropReason::InvalidRecipient);
    }

    #[test]
    fn step_3_unknown_sender() {
        check_dropped(&[], good(), DropReason::InvalidSender);
        check_dropped(&[], UnsignedTransaction { gas_limit: Gas::new(1), ..good() }, DropReason::InvalidSender);
    }

    #[test]
    fn step_4_gas_limit() {
        let low = UnsignedTransaction { gas_limit: Gas::new(49), ..good() };
        check_dropped(&with(ZIL), low.clone(), DropReason::InsufficientGasLimit);
        check_dropped(&with(0), low, DropReason::InsufficientGasLimit);
    }

    #[test]
    fn step_5_funds() {
        check_dropped(&with(ZIL / 10), good(), DropReason::InsufficientBalance);
        check_dropped(&with(ZIL), UnsignedTransaction { amount: Qa::MAX, ..good() }, DropReason::InsufficientBalance);
        let deposit_counts = UnsignedTransaction { gas_limit: Gas::new(1_000), ..good() };
        check_dropped(&with(ZIL), deposit_counts, DropReason::InsufficientBalance);
    }

    #[test]
    fn step_7_recipient_overflow() {
        let accounts = [(address(SENDER), account(ZIL, 0)), (address(2), account(u128::MAX, 0))];
        check_dropped(&accounts, good(), DropReason::Arithmetic);
    }

    #[test]
    fn step_9_nonce_overflow() {
        let accounts = [(address(SENDER), account(ZIL, u64::MAX))];
        check_dropped(&accounts, good(), DropReason::Arithmetic);
    }

    #[test]
    fn before_execution_gas_limit_and_price_are_checked_again() {
        check_dropped(
            &with(ZIL),
            UnsignedTransaction { gas_limit: Gas::new(1_001), ..good() },
            DropReason::HighGasLimit,
        );
        let gas_price = GasPrice::new(Qa::new(PRICE - 1));
        let cheap = UnsignedTransaction { gas_price, ..good() };
        check_dropped(&with(ZIL), cheap.clone(), DropReason::InsufficientGas);
        assert!(matches!(run_at(None, &with(ZIL), cheap).outcome, Outcome::Recorded(_)));
    }

    #[test]
    fn without_contracts_the_other_kinds_are_no_transactions() {
        let call = UnsignedTransaction { data: "{}".to_owned(), to: CONTRACT, ..good() };
        check_dropped(&with(ZIL), call, DropReason::IncorrectType);
        let deployment = UnsignedTransaction { code: "x".to_owned(), to: Address::ZERO, ..good() };
        check_dropped(&with(ZIL), deployment, DropReason::IncorrectType);
    }
}
