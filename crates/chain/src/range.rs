//! Empty block ranges: empty blocks that are made and stored together.
//!
//! The head, the first timestamp and the gas prices determine the content of a range. The plan of a range has one step
//! for each DS epoch, and the store computes the headers. These headers equal the headers that the
//! [`builder`](crate::builder) makes.

use silica_protocol::{Account, Address, BlockNumber, DsBlockHeader, GasPrice, Qa, Timestamp};
use silica_state::{EmptyBlockRange, PreparedState, RangeBuilder, RangeDsBlock, RangeVacuousBlock, Snapshot, Store};

use crate::{
    builder::{Builder, after_payment, ds_difficulties},
    epoch_accounting::uncredited_fees,
    executor::Change,
    network::{Head, Network},
    reward::Settlement,
    stage::BuildError,
    state_delta::{delta_hash, state_diff},
};

/// The input of the plan of an empty block range.
#[derive(Clone, Copy)]
pub(crate) struct ParentState<'a> {
    pub(crate) network: &'a Network,
    /// The block before the range.
    pub(crate) head: &'a Head,
    /// The state after `head`.
    pub(crate) state: &'a Snapshot,
    /// Timestamp of the first block.
    pub(crate) timestamp: Timestamp,
}

/// The number of blocks in the plan of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeLength {
    /// This number of blocks, or the maximum for one range if the maximum is lower.
    UpTo(u64),
    /// Exactly this number of blocks.
    Exactly(u64),
}

/// A function that returns the gas price of a DS block, from the last Tx block and the last DS block before it.
pub(crate) type Price<'a> = &'a mut dyn FnMut(BlockNumber, &DsBlockHeader) -> Result<GasPrice, BuildError>;

/// The account of the only member of all committees, which vacuous blocks pay.
pub(crate) type Paid = (Address, Account);

impl ParentState<'_> {
    /// Plans the empty blocks after the head. Returns the range, the states after its blocks, and the account of the
    /// member after the last block.
    pub(crate) fn plan(
        self,
        store: &Store,
        length: RangeLength,
        price: Price<'_>,
    ) -> Result<(EmptyBlockRange, PreparedState, Paid), BuildError> {
        let Self { network, head, state, timestamp } = self;
        let epochs = network.epochs;
        let builder = Builder::new(network, head, state.clone(), timestamp, None)?;
        let number = builder.number();
        let mut reward_account = RewardAccount::new(network, state, uncredited_fees(number, epochs, state))?;
        let mut states = store.prepare();
        let mut range = RangeBuilder::new(builder.template(states.root())?);
        let mut left = self.possible(number, length);
        let mut last_ds = head.ds_block.header.clone();
        while left > 0 && !(range.is_full() && matches!(length, RangeLength::UpTo(_))) {
            let next = range.next_number();
            let mut ds_block = None;
            if epochs.starts_with(next) {
                let gas_price = price(next.previous().unwrap_or(next), &last_ds)?;
                let (ds_difficulty, difficulty) = ds_difficulties(&last_ds);
                ds_block = Some(RangeDsBlock { ds_difficulty, difficulty, gas_price });
            }
            let plain = epochs.before_vacuous(next).min(left).min(RangeBuilder::LONGEST);
            states.skip(plain);
            left = left.saturating_sub(plain);
            let mut closing = None;
            if left > 0 && epochs.is_vacuous(BlockNumber::new(next.get().saturating_add(plain))) {
                let vacuous;
                (states, vacuous) = reward_account.close(store, states)?;
                closing = Some(vacuous);
                left = left.saturating_sub(1);
            }
            range.push(ds_block, plain, closing);
            if ds_block.is_some() {
                last_ds = range.ds_block().clone();
            }
        }
        Ok((
            range.finish().ok_or(BuildError::End)?,
            states,
            (reward_account.beneficiary, reward_account.member.unwrap_or_default()),
        ))
    }

    /// Returns the number of blocks of a range with this length. The highest block number and the highest timestamp
    /// limit this number.
    fn possible(self, number: BlockNumber, length: RangeLength) -> u64 {
        let (RangeLength::UpTo(blocks) | RangeLength::Exactly(blocks)) = length;
        let end = BlockNumber::MISSING.get();
        blocks.min(end.saturating_sub(number.get())).min(u64::MAX.saturating_sub(self.timestamp.get()))
    }
}

/// The two accounts that vacuous blocks change.
struct RewardAccount {
    reward: Qa,
    /// Fees that the next vacuous block returns to the null account.
    fees: Qa,
    null: Option<Account>,
    beneficiary: Address,
    member: Option<Account>,
}

impl RewardAccount {
    fn new(network: &Network, state: &Snapshot, fees: Qa) -> Result<Self, BuildError> {
        let (_, beneficiary) = network.committees.only_member().ok_or(BuildError::EmptyRange)?;
        Ok(Self {
            reward: network.config.coinbase_reward,
            fees,
            null: state.account(&Address::ZERO)?,
            beneficiary,
            member: state.account(&beneficiary)?,
        })
    }

    /// Makes the changes of the next vacuous block.
    fn close(
        &mut self,
        store: &Store,
        states: PreparedState,
    ) -> Result<(PreparedState, RangeVacuousBlock), BuildError> {
        let fees = std::mem::take(&mut self.fees);
        let null = self.null.unwrap_or_default();
        let settled = Settlement::new(null.balance, fees, self.reward, 1).ok_or(BuildError::Supply)?;
        let paid = settled.payments().next().unwrap_or_default();
        let member = after_payment(self.member, paid).ok_or(BuildError::Supply)?;
        let null = Account { balance: settled.reserve, ..null };
        let accounts = [(Address::ZERO, self.null, Some(null)), (self.beneficiary, self.member, member)];
        let change = |(address, before, after): (Address, Option<Account>, Option<Account>)| {
            let after = after.filter(|after| before != Some(*after))?;
            Some(Change { address, before, after, deployed: None, storage: std::collections::BTreeMap::new() })
        };
        let changes: Vec<Change> = accounts.into_iter().filter_map(change).collect();
        self.null = Some(null);
        self.member = member.or(self.member);
        let states = store.extend(states, &state_diff(&changes))?;
        let state_root = states.root();
        Ok((states, RangeVacuousBlock { state_root, rewards: self.reward, state_delta_hash: delta_hash(&changes) }))
    }
}
