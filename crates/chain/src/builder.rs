//! Building a block: a step of block production (Reference: execution#block-production). A verifier uses the same code
//! for the blocks of other nodes.
//!
//! ```text
//! head ─▶ Builder ─┬─ DS block, when one is due
//!                  ├─ for each shard, then the DS committee: execute ─▶ micro block
//!                  │  (a vacuous block executes nothing and pays the reward instead)
//!                  └─ state root, header ─▶ ExecutedBlock
//! ```
//!
//! Shards execute one after another on the same running state. The transactions come from the pool or from a given
//! list. From the pool, the builder takes the transaction with the best rank among the transactions without a nonce
//! gap. From a list, the builder takes all transactions in order, and rejects the block if one of them is dropped or
//! postponed.

use std::{collections::BTreeMap, sync::Arc};

use silica_protocol::{
    Account, Address, BlockNumber, CoSignatures, CodeHash, CommitteeHash, DsBlock, DsBlockHeader, DsBlockNumber, Gas,
    GasPrice, MbInfo, MbInfoHash, MicroBlock, MicroBlockHeader, Peer, PublicKey, Qa, Receipt, ReceiptsHash, Reserved,
    ShardId, ShardMember, ShardingHash, StateDeltaHash, StateRoot, SwInfo, Timestamp, TransactionKind, TxBlock,
    TxBlockHeader, TxHash, TxRoot,
};
use silica_scilla::work::{PER_BLOCK, TRANSACTION, Work};
use silica_state::{RangeTemplate, Snapshot, StateDiff, StateError, Store};

use crate::{
    admission::{InvalidTransaction, VerifiedTransaction},
    committee::Committee,
    config::ChainConfig,
    difficulty::Adjustment,
    epoch::Epochs,
    executor::{self, Change, Context, ContractCache, Executed, LoadedContract, Outcome, Overlay, Recorded},
    network::{Head, Network},
    pool::{DropReason, Line, Postponed},
    reward::Settlement,
    room::Room,
    stage::{Blocks, BuildError, ExecutedBlock, InvalidBlock},
    state_delta::{delta_hash, state_diff},
};

/// A block before it is complete.
pub(crate) struct Builder<'a> {
    config: &'a ChainConfig,
    contract_cache: ContractCache,
    epochs: Epochs,
    head: &'a Head,
    /// The members of the DS epoch of the block.
    committee: &'a Committee,
    committee_hash: CommitteeHash,
    /// The hash of the committee that signs a DS block before this block, and the number of its members.
    ds_signers: (CommitteeHash, usize),
    /// The leader of the DS epoch of the block.
    leader: PublicKey,
    minimum_price: Option<GasPrice>,
    number: BlockNumber,
    timestamp: Timestamp,
    ds_block: Option<DsBlock>,
    ds_number: DsBlockNumber,
    overlay: Overlay<Snapshot>,
    micro_blocks: Vec<MicroBlock>,
    transactions: Vec<(VerifiedTransaction, Receipt)>,
    /// The edits, which come before all transactions.
    edits: StateDiff,
    repeats_number: bool,
    dropped: Vec<(VerifiedTransaction, DropReason)>,
    postponed: Vec<(VerifiedTransaction, Postponed)>,
    /// The work of the transactions in the block, in nanoseconds.
    work: u64,
    /// The bytes of the transactions in the block, if the policy limits them.
    bytes: usize,
    /// Nanoseconds of work without a result in the block: the work of dropped transactions, and the work limit of each
    /// attempt that reached its limit. A verifier does not do this work.
    wasted: u64,
    /// The contracts that transactions of the block have called.
    loaded: BTreeMap<CodeHash, LoadedContract>,
    /// The text of the latest receipt that has only the members of a payment receipt, and the gas of this receipt. In a
    /// block of payments, all receipts have this text.
    totals_text: Option<(Gas, Arc<str>)>,
}

/// A micro block before it is complete.
struct Draft {
    shard: ShardId,
    gas_limit: Gas,
    gas_used: Gas,
    rewards: Qa,
    tx_hashes: Vec<TxHash>,
    receipts: Vec<Arc<str>>,
}

impl<'a> Builder<'a> {
    /// Begins the block after `head`. `state` is the state after `head`. `minimum_price` is the lowest gas price that
    /// the execution accepts, if there is a minimum.
    pub(crate) fn new(
        network: &'a Network,
        head: &'a Head,
        state: Snapshot,
        timestamp: Timestamp,
        minimum_price: Option<GasPrice>,
    ) -> Result<Self, BuildError> {
        let Network { config, epochs, committees, contract_cache } = network;
        let number = head.tx_block.header.number.next().ok_or(BuildError::End)?;
        let ds_number = epochs.ds_block_of(number);
        let (committee, ds_signers) = (committees.of(ds_number), committees.signers_of(ds_number));
        let leader = match ds_number.get() {
            _ if !epochs.starts_with(number) => head.ds_block.header.leader,
            0 | 1 => committee.first(),
            _ => committee.leader(&head.ds_hash),
        };
        Ok(Self {
            config,
            contract_cache: contract_cache.with_rules(config.scilla_rules(number)),
            epochs: *epochs,
            head,
            committee,
            committee_hash: CommitteeHash::of(committee.keys()),
            ds_signers: (CommitteeHash::of(ds_signers.keys()), ds_signers.len()),
            leader,
            minimum_price,
            number,
            timestamp,
            ds_block: None,
            ds_number,
            overlay: Overlay::new(state),
            micro_blocks: Vec::new(),
            transactions: Vec::new(),
            edits: StateDiff::default(),
            repeats_number: false,
            dropped: Vec::new(),
            postponed: Vec::new(),
            work: 0,
            bytes: 0,
            wasted: 0,
            loaded: BTreeMap::new(),
            totals_text: None,
        })
    }

    pub(crate) fn number(&self) -> BlockNumber {
        self.number
    }

    /// Returns whether a DS block comes before this block.
    pub(crate) fn is_ds_block_due(&self) -> bool {
        self.epochs.starts_with(self.number)
    }

    /// Returns whether this block is vacuous.
    pub(crate) fn is_vacuous(&self) -> bool {
        self.epochs.is_vacuous(self.number)
    }

    /// Returns the committees in the order of execution: the shards, then the DS committee.
    pub(crate) fn committees(&self) -> impl Iterator<Item = ShardId> + use<> {
        (0..=self.config.shards).map(ShardId::new)
    }

    /// Makes the DS block before this block. `gas_price` is the new minimum gas price.
    pub(crate) fn make_ds_block(&mut self, gas_price: GasPrice) {
        let header = self.ds_header(gas_price);
        self.minimum_price = self.minimum_price.map(|_| gas_price);
        let cosignatures = CoSignatures::unsigned(self.ds_signers.1);
        self.ds_block = Some(DsBlock { header, cosignatures, timestamp: self.timestamp });
    }

    fn ds_header(&self, gas_price: GasPrice) -> DsBlockHeader {
        let (ds_difficulty, difficulty) = ds_difficulties(&self.head.ds_block.header);
        DsBlockHeader {
            version: DsBlockHeader::VERSION,
            committee_hash: self.ds_signers.0,
            prev_hash: self.head.ds_hash,
            ds_difficulty,
            difficulty,
            leader: self.leader,
            number: self.ds_number,
            epoch: self.number,
            gas_price,
            software: SwInfo::default(),
            pow_winners: BTreeMap::new(),
            sharding_hash: sharding_hash(self.config.shards, self.committee),
            reserved: Reserved::ZERO,
            removed: Vec::new(),
            proposals: BTreeMap::new(),
        }
    }

    /// Returns the header members that all empty blocks after the head share. `state_root` is the state root in their
    /// headers.
    pub(crate) fn template(mut self, state_root: StateRoot) -> Result<RangeTemplate, BuildError> {
        let ds_block = DsBlockHeader {
            number: self.head.ds_block.header.number.next().ok_or(BuildError::End)?,
            ..self.ds_header(self.head.ds_block.header.gas_price)
        };
        for committee in self.committees() {
            let draft = self.draft(committee);
            self.close(draft)?;
        }
        let tx_block = self.header(&[], state_root)?;
        let micro_blocks = self.micro_blocks.into_iter().map(|block| block.header).collect();
        Ok(RangeTemplate { tx_block, micro_blocks, ds_block, timestamp: self.timestamp })
    }

    /// Applies the edits. They come before all micro blocks, and belong to none of them.
    pub(crate) fn edit(&mut self, edits: &StateDiff) -> Result<(), BuildError> {
        self.overlay.edit(edits)?;
        self.edits = edits.clone();
        Ok(())
    }

    /// Records that the next block has the logical block number of this block. The logical number of this block stays
    /// the same.
    pub(crate) fn repeat_number(&mut self) {
        self.repeats_number = true;
    }

    /// Leaves the micro block of a committee empty.
    pub(crate) fn leave_empty(&mut self, committee: ShardId) -> Result<(), BuildError> {
        let draft = self.draft(committee);
        self.close(draft)
    }

    /// Returns the room that is left in the block.
    pub(crate) fn room(&self) -> Room {
        let most = self.config.policy.block_bytes.unwrap_or(usize::MAX);
        Room { work: self.work_limit(), bytes: most.saturating_sub(self.bytes) }
    }

    /// Returns the room that a transaction can need.
    pub(crate) fn need_of(&self, transaction: &VerifiedTransaction) -> Room {
        Room { work: most_work(transaction), bytes: self.size_of(transaction) }
    }

    /// Returns the work that is left in the block.
    fn work_limit(&self) -> u64 {
        if !self.contract_cache.rules().limits_work() {
            return u64::MAX;
        }
        PER_BLOCK.saturating_sub(self.work)
    }

    /// Returns the bytes that a transaction counts towards the limit of bytes, or 0 without a limit.
    fn size_of(&self, transaction: &VerifiedTransaction) -> usize {
        let encoded = || transaction.transaction().encode().len().saturating_add(size_of::<u32>());
        self.config.policy.block_bytes.map_or(0, |_| encoded())
    }

    /// Executes the transactions of `line`. Ends when no transaction is left, when the micro block has used its gas
    /// limit, or when the committee has used its `share` of the room. It also ends at the first transaction that would
    /// exceed the limit of bytes, and when the work of the block and of its failed attempts reaches its limit. The last
    /// transaction may exceed the share, but must leave the room `reserve` for later committees.
    pub(crate) fn fill(
        &mut self,
        committee: ShardId,
        line: &mut impl Line,
        share: Room,
        reserve: Room,
    ) -> Result<(), BuildError> {
        let mut draft = self.draft(committee);
        let start = Room { work: self.work, bytes: self.bytes };
        while draft.gas_used < draft.gas_limit
            && self.work.saturating_sub(start.work) < share.work
            && self.bytes.saturating_sub(start.bytes) < share.bytes
            && !self.is_spent()
        {
            let Some(transaction) = line.next() else { break };
            let size = self.size_of(&transaction);
            if size > self.room().bytes.saturating_sub(reserve.bytes) {
                self.postponed.push((transaction, Postponed::NoRoom));
                break;
            }
            let Some(work_limit) = self.room_for(&transaction, reserve.work) else {
                self.postponed.push((transaction, Postponed::NoRoom));
                continue;
            };
            match self.try_execute(&transaction, &mut draft, work_limit)? {
                Tried::Recorded(recorded) => {
                    line.advance(&transaction);
                    self.bytes = self.bytes.saturating_add(size);
                    self.record(&mut draft, transaction, recorded)?;
                }
                Tried::Dropped(reason) => {
                    line.advance(&transaction);
                    self.dropped.push((transaction, reason));
                }
                Tried::Postponed(why) => self.postponed.push((transaction, why)),
            }
        }
        self.close(draft)?;
        Ok(())
    }

    /// Returns whether the work of the block and of its failed attempts has reached the common limit: [`PER_BLOCK`]
    /// plus [`MOST_WASTED`].
    fn is_spent(&self) -> bool {
        let most = PER_BLOCK.saturating_add(MOST_WASTED);
        self.contract_cache.rules().limits_work() && self.work.saturating_add(self.wasted) >= most
    }

    /// Returns the work limit for an attempt, or `None` if the transaction is left for the next block. A transaction
    /// that needs more work than the limit wastes the whole limit. The total work that a block wastes is limited,
    /// because the senders do not pay for this work.
    fn room_for(&self, transaction: &VerifiedTransaction, reserve: u64) -> Option<u64> {
        let work_limit = self.work_limit().saturating_sub(reserve);
        if most_work(transaction) <= work_limit {
            return Some(work_limit);
        }
        let work_limit = work_limit.min(MOST_WASTED.saturating_sub(self.wasted));
        (work_limit > TRANSACTION).then_some(work_limit)
    }

    /// Executes all of `transactions` in order. Rejects the block if one of them is dropped or postponed.
    pub(crate) fn replay(
        &mut self,
        committee: ShardId,
        transactions: &[VerifiedTransaction],
    ) -> Result<(), InvalidBlock> {
        let mut draft = self.draft(committee);
        for transaction in transactions {
            let reason =
                match self.try_execute(transaction, &mut draft, self.work_limit()).map_err(BuildError::State)? {
                    Tried::Recorded(recorded) => {
                        self.record(&mut draft, transaction.clone(), recorded)?;
                        continue;
                    }
                    Tried::Dropped(reason) => InvalidTransaction::Dropped { status: reason.code() },
                    Tried::Postponed(Postponed::NonceHigh) => InvalidTransaction::NonceGap,
                    Tried::Postponed(Postponed::GasExceeded | Postponed::NoRoom) => InvalidTransaction::GasExceeded,
                };
            return Err(InvalidBlock::Transaction { hash: transaction.hash(), reason });
        }
        self.close(draft)?;
        Ok(())
    }

    /// Closes the micro blocks of a vacuous block. The fees of the DS epoch return to the null account, which pays the
    /// reward to the members of the committee.
    pub(crate) fn pay_reward(&mut self, fees: Qa) -> Result<(), BuildError> {
        for committee in self.committees() {
            let mut draft = self.draft(committee);
            if committee.get() == self.config.shards {
                self.settle(fees)?;
                draft.rewards = self.config.coinbase_reward;
            }
            self.close(draft)?;
        }
        Ok(())
    }

    fn settle(&mut self, fees: Qa) -> Result<(), BuildError> {
        let null = self.overlay.account(&Address::ZERO)?.unwrap_or_default();
        let settled = Settlement::new(null.balance, fees, self.config.coinbase_reward, self.committee.len());
        let settled = settled.ok_or(BuildError::Supply)?;
        self.overlay.set(&Address::ZERO, Account { balance: settled.reserve, ..null })?;
        for (address, paid) in self.committee.accounts().iter().zip(settled.payments()) {
            let member = self.overlay.account(address)?;
            if let Some(member) = after_payment(member, paid).ok_or(BuildError::Supply)? {
                self.overlay.set(address, member)?;
            }
        }
        Ok(())
    }

    fn draft(&self, shard: ShardId) -> Draft {
        let ds = shard.get() == self.config.shards;
        let gas_limit = if ds { self.config.ds_gas_limit } else { self.config.shard_gas_limit };
        Draft { shard, gas_limit, gas_used: Gas::ZERO, rewards: Qa::ZERO, tx_hashes: Vec::new(), receipts: Vec::new() }
    }

    fn try_execute(
        &mut self,
        transaction: &VerifiedTransaction,
        draft: &mut Draft,
        work_limit: u64,
    ) -> Result<Tried, StateError> {
        let tx = transaction.transaction();
        let Some(sender) = self.overlay.account(&transaction.sender())? else {
            return Ok(Tried::Dropped(DropReason::InvalidSender));
        };
        match sender.nonce.next() {
            Some(due) if tx.nonce > due => return Ok(Tried::Postponed(Postponed::NonceHigh)),
            Some(due) if tx.nonce == due => {}
            Some(_) | None => return Ok(Tried::Dropped(DropReason::NonceTooLow)),
        }
        let fits = draft.gas_used.checked_add(tx.gas_limit).is_some_and(|gas| gas <= draft.gas_limit);
        if !fits && tx.gas_limit <= draft.gas_limit {
            return Ok(Tried::Postponed(Postponed::GasExceeded));
        }
        let context = Context {
            work_limit,
            loaded: &self.loaded,
            block: self.head.next_logical_number,
            gas_limit: draft.gas_limit,
            minimum_price: self.minimum_price,
            chain_id: self.config.chain_id,
            rules: &self.config.rules,
            contract_cache: &self.contract_cache,
            tracer: None,
        };
        let Executed { outcome, work, loaded } = executor::execute(transaction, context, &mut self.overlay)?;
        // Only recorded transactions count for the work and the loaded contracts of the block, because a verifier
        // executes no others.
        Ok(match outcome {
            Outcome::Recorded(recorded) => {
                self.work = self.work.saturating_add(work);
                self.loaded.extend(loaded);
                Tried::Recorded(recorded)
            }
            Outcome::Dropped(reason) => {
                self.wasted = self.wasted.saturating_add(work);
                Tried::Dropped(reason)
            }
            Outcome::Full => {
                self.wasted = self.wasted.saturating_add(work_limit);
                Tried::Postponed(Postponed::NoRoom)
            }
        })
    }

    fn record(
        &mut self,
        draft: &mut Draft,
        transaction: VerifiedTransaction,
        recorded: Recorded,
    ) -> Result<(), BuildError> {
        let Recorded { receipt, fee } = recorded;
        draft.gas_used = draft.gas_used.checked_add(receipt.cumulative_gas).ok_or(BuildError::Gas)?;
        draft.rewards = draft.rewards.checked_add(fee).ok_or(BuildError::Supply)?;
        draft.tx_hashes.push(transaction.hash());
        let text = self.text_of(&receipt);
        draft.receipts.push(text);
        self.transactions.push((transaction, receipt));
        Ok(())
    }

    fn text_of(&mut self, receipt: &Receipt) -> Arc<str> {
        let gas = receipt.cumulative_gas;
        let has_only_totals = *receipt == Receipt::payment(gas, self.head.next_logical_number);
        if let Some((known, text)) = &self.totals_text
            && has_only_totals
            && *known == gas
        {
            return Arc::clone(text);
        }
        let text: Arc<str> = receipt.to_styled_json().into();
        if has_only_totals {
            self.totals_text = Some((gas, Arc::clone(&text)));
        }
        text
    }

    fn close(&mut self, draft: Draft) -> Result<(), BuildError> {
        let Draft { shard, gas_limit, gas_used, rewards, tx_hashes, receipts } = draft;
        let header = MicroBlockHeader {
            version: MicroBlockHeader::VERSION,
            committee_hash: self.committee_hash,
            prev_hash: self.head.hash,
            shard,
            gas_limit,
            gas_used,
            rewards,
            epoch: self.number,
            tx_root: TxRoot::of(&tx_hashes),
            tx_count: u32::try_from(tx_hashes.len()).expect("gas limits keep micro blocks far below 2^32 transactions"),
            miner: self.miner_of(shard),
            ds_block: self.ds_number,
            state_delta_hash: delta_hash(&self.overlay.phase_changes()?),
            receipts_hash: ReceiptsHash::of(&receipts),
        };
        self.overlay.next_phase();
        self.micro_blocks.push(MicroBlock {
            header,
            tx_hashes,
            cosignatures: CoSignatures::unsigned(self.committee.len()),
            timestamp: self.timestamp,
        });
        Ok(())
    }

    /// Returns the miner of a micro block: the leader of the DS epoch for the DS committee, and a member that the
    /// latest block hash selects for a shard. At the start of a DS epoch, the DS block is the latest block.
    fn miner_of(&self, shard: ShardId) -> PublicKey {
        if shard.get() == self.config.shards {
            return self.leader;
        }
        let ds_hash = self.ds_block.as_ref().map(|block| block.header.hash());
        self.committee.leader(&ds_hash.unwrap_or(self.head.hash))
    }

    /// Computes the state root and the header, and returns the executed block.
    pub(crate) fn finish(mut self, store: &Store) -> Result<ExecutedBlock, BuildError> {
        let vacuous = self.is_vacuous();
        let changes = self.overlay.changes()?;
        let accounts = changes.iter().map(|change| (change.address, change.after)).collect();
        let state = store.extend(store.prepare(), &state_diff(&changes))?;
        let header = self.header(&changes, state.root())?;
        let infos = self.infos();
        let cosignatures = CoSignatures::unsigned(self.committee.len());
        let tx_block = TxBlock { header, micro_blocks: infos, cosignatures, timestamp: self.timestamp };
        Ok(ExecutedBlock {
            blocks: Blocks { tx: tx_block, micro: self.micro_blocks, ds: self.ds_block },
            transactions: self.transactions,
            edits: self.edits,
            repeats_number: self.repeats_number,
            accounts,
            state,
            vacuous,
            dropped: self.dropped,
            postponed: self.postponed,
            work: self.work,
        })
    }

    fn infos(&self) -> Vec<MbInfo> {
        self.micro_blocks.iter().map(micro_block_info).collect()
    }

    /// Returns the header of the Tx block over all closed micro blocks. `changes` has the changes of all micro blocks.
    fn header(&self, changes: &[Change], state_root: StateRoot) -> Result<TxBlockHeader, BuildError> {
        Ok(TxBlockHeader {
            version: TxBlockHeader::VERSION,
            committee_hash: self.committee_hash,
            prev_hash: self.head.hash,
            gas_limit: self.sum_gas(|header| header.gas_limit)?,
            gas_used: self.sum_gas(|header| header.gas_used)?,
            rewards: self.sum_rewards()?,
            number: self.number,
            state_root,
            state_delta_hash: self.merged_delta_hash(changes),
            mb_info_hash: MbInfoHash::of(&self.infos()),
            tx_count: u32::try_from(self.transactions.len()).map_err(|_| BuildError::Gas)?,
            miner: self.leader,
            ds_block: self.ds_number,
        })
    }

    /// Returns the hash of all changes. If a single micro block has changes, and the block has no edits, this is the
    /// hash of that micro block.
    fn merged_delta_hash(&self, changes: &[Change]) -> StateDeltaHash {
        if !self.edits.is_empty() {
            return delta_hash(changes);
        }
        let hashes = self.micro_blocks.iter().map(|block| block.header.state_delta_hash);
        let mut changed = hashes.filter(|hash| !hash.is_zero());
        match (changed.next(), changed.next()) {
            (Some(only), None) => only,
            (Some(_), Some(_)) => delta_hash(changes),
            (None, _) => StateDeltaHash::ZERO,
        }
    }

    fn sum_gas(&self, read: impl Fn(&MicroBlockHeader) -> Gas) -> Result<Gas, BuildError> {
        let gas = self.micro_blocks.iter().map(|block| read(&block.header));
        gas.into_iter().try_fold(Gas::ZERO, Gas::checked_add).ok_or(BuildError::Gas)
    }

    fn sum_rewards(&self) -> Result<Qa, BuildError> {
        let rewards = self.micro_blocks.iter().map(|block| block.header.rewards);
        rewards.into_iter().try_fold(Qa::ZERO, Qa::checked_add).ok_or(BuildError::Supply)
    }
}

/// Returns the difficulties of the DS committee and of the shards in the DS block after `last`.
pub(crate) fn ds_difficulties(last: &DsBlockHeader) -> (u8, u8) {
    if last.number.get() == 0 {
        return (last.ds_difficulty, last.difficulty);
    }
    // The committee does not change, so there are no solutions of the proof of work.
    (Adjustment::DS.next(last.ds_difficulty, 0), Adjustment::SHARD.next(last.difficulty, 0))
}

/// Returns the account of a member after a vacuous block pays it, or `Some(None)` if the block pays nothing. Returns
/// `None` if the balance exceeds 128 bits.
#[expect(clippy::option_option, reason = "an error, no change, or the changed account")]
pub(crate) fn after_payment(member: Option<Account>, paid: Qa) -> Option<Option<Account>> {
    if paid.is_zero() {
        return Some(None);
    }
    let member = member.unwrap_or_default();
    let balance = member.balance.checked_add(paid)?;
    Some(Some(Account { balance, ..member }))
}

/// Maximum work that failed attempts may add to a block, in nanoseconds. It is a quarter of the maximum work of a
/// block.
const MOST_WASTED: u64 = PER_BLOCK / 4;

/// Returns the maximum work that a transaction can need, in nanoseconds.
fn most_work(transaction: &VerifiedTransaction) -> u64 {
    match transaction.kind() {
        TransactionKind::Payment => Work::payment(transaction.transaction().gas_limit.get()),
        TransactionKind::Deployment | TransactionKind::Call => Work::most(transaction.transaction().gas_limit.get()),
    }
}

/// The result of an attempt to execute a transaction.
enum Tried {
    Recorded(Recorded),
    Dropped(DropReason),
    Postponed(Postponed),
}

/// Returns the hash of the sharding structure. Each virtual shard has the members of the committee.
pub(crate) fn sharding_hash(shards: u32, committee: &Committee) -> ShardingHash {
    let members = || committee.keys().iter().copied().map(shard_member).collect();
    ShardingHash::of(&(0..shards).map(|_| members()).collect::<Vec<_>>())
}

/// Returns a member of the committee as a member of a virtual shard, without a network address.
pub(crate) fn shard_member(member: PublicKey) -> ShardMember {
    ShardMember { key: member, peer: Peer::default(), reputation: 0 }
}

fn micro_block_info(block: &MicroBlock) -> MbInfo {
    MbInfo { hash: block.header.hash(), tx_root: block.header.tx_root, shard: block.header.shard }
}
