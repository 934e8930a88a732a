//! The only writer of a chain, which proposes, verifies and commits blocks.

use std::{collections::BTreeSet, num::NonZeroUsize, ops::RangeInclusive, sync::Arc};

use parking_lot::Mutex;
use silica_protocol::{BlockNumber, DsBlockHeader, GasPrice, Timestamp, Transaction, TxBlock};
use silica_state::{Append, BlockRecord, StateDiff, Store};

use crate::{
    builder::Builder,
    config::{NoncePolicy, Numbering},
    consensus::{Application, Cause, CommitError, PassError, ProposeError},
    edit::Edit,
    epoch_accounting::{FullBlockCounter, Prices, price_by_rules, uncredited_fees},
    executor::EditError,
    gas_price::GasPriceError,
    load::OpenError,
    network::Head,
    pool::{self, Pool, PoolLine, Settlement},
    range::{Paid, ParentState, RangeLength},
    replay,
    room::Room,
    shared::{Published, Shared, Times},
    stage::{Blocks, BuildError, CommittedBlock, ExecutedBlock, InvalidBlock, Proposal, SealedBlock, WrittenBlock},
    verifier::BlockVerifier,
};

/// The only writer of a chain. Opening a chain returns one producer, which cannot be cloned.
#[derive(Debug)]
pub struct Producer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) store: Store,
    pub(crate) full_blocks: FullBlockCounter,
    pub(crate) written: Written,
    /// Whether the producer has failed and has not recovered. Two events are failures: a failed write, and too little
    /// room on the disk when the chain is opened.
    pub(crate) failed: bool,
}

/// Written blocks that are not flushed.
#[derive(Debug, Default)]
pub(crate) struct Written {
    blocks: Vec<WrittenBlock>,
    /// Number and timestamp of the first empty block after `blocks`. The store has these empty blocks as ranges.
    passed: Option<(BlockNumber, Timestamp)>,
    /// The account that gets the rewards of the ranges, in its state after the ranges.
    paid: Option<Paid>,
    /// The head that is published after the flush, or `None` if all blocks are flushed.
    published: Option<Arc<Published>>,
}

impl Producer {
    /// Returns the store of this producer.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Ends block production, and returns the store so that the caller can close it.
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Sets the minimum gas price. The price applies at once to admission and execution. All DS blocks from the next
    /// one on have this price too.
    ///
    /// The store does not keep the price. To keep it over a restart, the caller passes it as
    /// [`Policy::operator_price`](crate::config::Policy::operator_price) when it opens the chain again.
    ///
    /// # Errors
    ///
    /// [`GasPriceError`]: the price is 0, or this network does not permit operators to set it.
    pub fn set_minimum_gas_price(&mut self, price: GasPrice) -> Result<(), GasPriceError> {
        if !self.shared.network.config.operator_price {
            return Err(GasPriceError::NotAllowed);
        }
        if price.get().is_zero() {
            return Err(GasPriceError::Zero);
        }
        let published = self.shared.published();
        self.shared.publish(Arc::new(Published { operator_price: Some(price), ..Published::clone(&published) }));
        Ok(())
    }

    /// Sets the nonces that admission accepts, in place of the [policy](crate::config::Policy::nonces) of the
    /// configuration.
    pub fn set_nonce_policy(&mut self, nonces: NoncePolicy) {
        let published = self.shared.published();
        self.shared.publish(Arc::new(Published { nonces, ..Published::clone(&published) }));
    }

    /// Sets the blocks that increase the logical block number, in place of the
    /// [policy](crate::config::Policy::numbering) of the configuration.
    pub fn set_numbering(&mut self, numbering: Numbering) {
        let published = self.shared.published();
        let numbering = self.shared.network.config.numbering(numbering);
        self.shared.publish(Arc::new(Published { numbering, ..Published::clone(&published) }));
    }

    /// Returns whether the last write or flush failed, or the disk had too little room when the chain was opened. In
    /// this state, the producer makes no block until it has [recovered](Self::recover).
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Recovers from a failed write of a block, such as on a full disk, and continues from the published head. The
    /// function removes later data, which no reader has read. The pool and the [savepoints](Self::save) stay. Without a
    /// failure, the function does nothing.
    ///
    /// A snapshot from before the call returns data that it has in memory. Other queries to this snapshot can return an
    /// error.
    ///
    /// # Errors
    ///
    /// [`RecoverError`]: the store or the chain could not recover, for example because the disk is full. The caller can
    /// try again.
    pub fn recover(&mut self) -> Result<(), RecoverError> {
        if !self.failed {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let published = shared.published();
        self.store.recover(published.head.number(), &published.head.hash)?;
        replay::catch_up(&self.store, &shared.network, &shared.genesis, &mut |_, _| {})
            .map_err(|error| RecoverError::Open(error.into()))?;
        self.full_blocks = FullBlockCounter::uncounted(&published.head);
        let state = self.store.snapshot();
        // Older snapshots can return errors after a recovery. So a recovery counts as a revert, after which a follower
        // of the chain reads again.
        let reverts = Arc::new(published.reverts.after(published.head.number()));
        shared.publish(Arc::new(Published { state, reverts, ..Published::clone(&published) }));
        self.failed = false;
        Ok(())
    }

    /// Records a failure of the store, and discards the written blocks: the chain ends at the published head again.
    fn fail(&mut self, number: BlockNumber, source: silica_state::CommitError) -> CommitError {
        self.written = Written::default();
        self.failed = true;
        CommitError::Store { number, source }
    }

    /// Rejects the call if the producer [has failed](Self::has_failed), because the head may not be on disk.
    const fn require_store(&self) -> Result<(), BuildError> {
        if self.failed { Err(BuildError::Failed) } else { Ok(()) }
    }

    /// Returns the head on which the next block is built: the last written head, or the published head if all blocks
    /// are flushed.
    fn tip(&self) -> Arc<Published> {
        self.written.published.clone().unwrap_or_else(|| self.shared.published())
    }

    /// Builds the next block, with transactions from the pool or with an edit.
    fn build(&mut self, at: Timestamp, cause: Cause, edits: Option<&StateDiff>) -> Result<ExecutedBlock, BuildError> {
        self.require_store()?;
        let shared = Arc::clone(&self.shared);
        let published = self.tip();
        let timestamp = at.max(published.head.tx_block.timestamp.next().ok_or(BuildError::End)?);
        let price = published.minimum_gas_price();
        let mut builder =
            Builder::new(&shared.network, &published.head, published.state.clone(), timestamp, Some(price))?;
        if cause == Cause::Event && published.numbering == Numbering::OnDemand {
            builder.repeat_number();
        }
        if builder.is_ds_block_due() {
            let price = match published.operator_price {
                Some(price) => price,
                None => price_by_rules(&shared.network, &published.head, &published.state, &mut self.full_blocks)?,
            };
            builder.make_ds_block(price);
        }
        if builder.is_vacuous() {
            builder.pay_reward(uncredited_fees(builder.number(), shared.network.epochs, &published.state))?;
        } else if let Some(edits) = edits {
            builder.edit(edits)?;
            for committee in builder.committees() {
                builder.leave_empty(committee)?;
            }
        } else {
            Self::fill(&mut builder, &shared.pool)?;
        }
        builder.finish(&self.store)
    }

    /// Fills a block with transactions of the pool. Committees with transactions share the room of the block. Without
    /// shares, an earlier committee could use the room of the later ones.
    fn fill(builder: &mut Builder<'_>, pool: &Mutex<Pool>) -> Result<(), BuildError> {
        let committees: Vec<_> = builder.committees().collect();
        let (first, mut waiting) = {
            let pool = pool::lock(pool);
            let waiting = committees.iter().filter(|committee| pool.has_candidates_of(**committee));
            (pool.left_out(), waiting.copied().collect::<BTreeSet<_>>())
        };
        for committee in committees {
            let later = first.as_ref().filter(|it| it.committee() > committee);
            let reserve = later.map_or(Room::default(), |it| builder.need_of(it));
            let first = first.clone().filter(|it| it.committee() == committee);
            let mut line = PoolLine::new(pool, committee, first);
            let sharers = NonZeroUsize::new(waiting.len()).unwrap_or(NonZeroUsize::MIN);
            let share = builder.room().without(reserve).share(sharers);
            builder.fill(committee, &mut line, share, reserve)?;
            waiting.remove(&committee);
        }
        Ok(())
    }

    /// Writes this number of empty blocks after the last written block.
    fn write_ranges(&mut self, at: Timestamp, blocks: u64) -> Result<(), PassError> {
        let mut left = blocks;
        while left > 0 {
            left = left.saturating_sub(self.write_range(at, left)?);
        }
        Ok(())
    }

    /// Writes a range of at most `blocks` empty blocks after the last written block. Returns the number of written
    /// blocks.
    fn write_range(&mut self, at: Timestamp, blocks: u64) -> Result<u64, PassError> {
        self.require_store()?;
        let shared = Arc::clone(&self.shared);
        let (network, published) = (&shared.network, self.tip());
        let Published { head, state, operator_price, .. } = &*published;
        let timestamp = at.max(head.tx_block.timestamp.next().ok_or(BuildError::End)?);
        let parent_state = ParentState { network, head, state, timestamp };
        let mut prices = match operator_price {
            Some(_) => None,
            None => Some(Prices::after(network, head, state, &mut self.full_blocks).map_err(BuildError::from)?),
        };
        let mut price = |number, last: &DsBlockHeader| {
            let by_rules = prices.as_mut().map(|prices| prices.next(number, last));
            Ok(operator_price.or(by_rules).unwrap_or(last.gas_price))
        };
        let (range, states, paid) = parent_state.plan(&self.store, RangeLength::UpTo(blocks), &mut price)?;
        let (number, last, count) = (range.first(), range.last(), range.blocks());
        let state = self.store.append(Append::EmptyRange(range), states).map_err(|source| self.fail(number, source))?;
        self.written.passed.get_or_insert((number, timestamp));
        self.written.paid = Some(paid);
        let time_before = || if count > 1 { state.time_of(last.previous().unwrap_or(last)) } else { Ok(None) };
        let read = Head::read(&state, last).and_then(|head| Ok((head, time_before()?)));
        // The range is on disk, but no reader can read it without its head. So a failed read counts as a failed write.
        let (head, before) = read.map_err(|error| self.fail(number, silica_state::CommitError::Archive(error)))?;
        let head = head.ok_or(BuildError::End)?;
        let times = Times {
            first_tx: published.times.first_tx.or(Some(timestamp)),
            previous_tx: before.or(Some(published.head.tx_block.timestamp)),
            first_ds: published.times.first_ds.or(Some(timestamp)),
        };
        self.full_blocks.pass(&head.tx_block.header, network.epochs);
        self.written.published = Some(Arc::new(Published { head, state, times, ..Published::clone(&published) }));
        Ok(count)
    }
}

impl Application for Producer {
    fn head(&self) -> Arc<TxBlock> {
        Arc::clone(&self.tip().head.tx_block)
    }

    fn propose(&mut self, at: Timestamp, cause: Cause) -> Result<ExecutedBlock, ProposeError> {
        let block = self.build(at, cause, None)?;
        if block.transactions.is_empty() && self.written.published.is_none() {
            // The dropped and postponed transactions depend only on the head, not on the commit of this block. If the
            // last block is not durable, they depend on that block too, and the pool waits for the flush.
            self.shared.lock_pool().settle(&Settlement {
                block: block.tx_block().header.number,
                at: block.tx_block().timestamp,
                included: &[],
                dropped: &block.dropped,
                postponed: &block.postponed,
                accounts: &[],
            });
        }
        Ok(block)
    }

    fn propose_edit(&mut self, at: Timestamp, edit: &Edit) -> Result<ExecutedBlock, EditError> {
        let (shared, published) = (Arc::clone(&self.shared), self.tip());
        let edits = edit.plan(&shared.network, &published.state)?;
        // A vacuous block pays a reward, which can change the balance that the edit sets. So the edit follows in the
        // next block.
        let edits = Some(&edits).filter(|_| !shared.network.epochs.is_vacuous(published.epoch()));
        Ok(self.build(at, Cause::Event, edits)?)
    }

    fn verify(&mut self, proposal: &Proposal) -> Result<ExecutedBlock, InvalidBlock> {
        self.require_store()?;
        let published = self.tip();
        let verifier = BlockVerifier {
            network: &self.shared.network,
            head: &published.head,
            state: &published.state,
            price: published.minimum_gas_price(),
            pool: Some(&self.shared.pool),
        };
        verifier.verify_block(proposal, &self.store, &mut self.full_blocks)
    }

    fn commit(&mut self, sealed: SealedBlock) -> Result<Arc<CommittedBlock>, CommitError> {
        self.write(sealed)?;
        Ok(self.flush()?.pop().expect("a block was just written"))
    }

    fn write(&mut self, sealed: SealedBlock) -> Result<(), CommitError> {
        let ExecutedBlock {
            blocks,
            transactions,
            edits,
            repeats_number,
            accounts,
            state,
            vacuous: _,
            dropped,
            postponed,
            work: _,
        } = sealed.block;
        let Blocks { tx: tx_block, micro: micro_blocks, ds: ds_block } = blocks;
        let published = self.tip();
        let number = tx_block.header.number;
        if tx_block.header.prev_hash != published.head.hash {
            return Err(CommitError::NotNext { number, head: published.head.number() });
        }
        let bodies = transactions
            .iter()
            .map(|(transaction, receipt)| (Transaction::clone(transaction.transaction()), receipt.clone()));
        let record =
            BlockRecord { tx_block, micro_blocks, ds_block, transactions: bodies.collect(), edits, repeats_number };
        let state = self.store.append(Append::Block(&record), state).map_err(|source| self.fail(number, source))?;

        let BlockRecord { tx_block, micro_blocks, ds_block, .. } = record;
        let tx_block = Arc::new(tx_block);
        let ds_block = ds_block.map(Arc::new);
        self.full_blocks.add(&tx_block.header);
        let published = published.after(&tx_block, ds_block.as_ref(), &transactions, repeats_number, state);
        let hash = published.head.hash;
        self.written.published = Some(Arc::new(published));
        let block = CommittedBlock { hash, tx_block, ds_block, micro_blocks, transactions, dropped };
        self.written.blocks.push(WrittenBlock { block, postponed, accounts });
        Ok(())
    }

    fn flush(&mut self) -> Result<Vec<Arc<CommittedBlock>>, CommitError> {
        let Some(published) = &self.written.published else { return Ok(Vec::new()) };
        let number = published.head.number();
        self.store.flush().map_err(|source| self.fail(number, source))?;
        let Written { blocks, passed, paid, published } = std::mem::take(&mut self.written);
        // The pool is locked before the head is published. So a submission reads the head and the pool either both
        // before these blocks, or both after them.
        let _previous;
        let mut pool = self.shared.lock_pool();
        _previous = self.shared.publish(published.unwrap_or_else(|| self.shared.published()));
        let settle = |WrittenBlock { block, postponed, accounts }| {
            let CommittedBlock { tx_block, transactions, dropped, .. } = &block;
            pool.settle(&Settlement {
                block: tx_block.header.number,
                at: tx_block.timestamp,
                included: transactions,
                dropped,
                postponed: &postponed,
                accounts: &accounts,
            });
            Arc::new(block)
        };
        let blocks = blocks.into_iter().map(settle).collect();
        if let Some((first, at)) = passed {
            pool.note_empty(first..=number, at);
            if let Some((address, account)) = paid {
                pool.update(&address, &account, number, at);
            }
        }
        Ok(blocks)
    }

    fn pass(&mut self, at: Timestamp, blocks: u64) -> Result<Option<RangeInclusive<BlockNumber>>, PassError> {
        let first = self.tip().epoch();
        // Several members sign each block, so there is no range.
        let is_alone = self.shared.network.committees.only_member().is_some();
        if !is_alone || self.store.seal().is_none() || blocks == 0 {
            return Ok(None);
        }
        let written = self.write_ranges(at, blocks);
        // Flush before the error returns: the blocks before the failed one are valid.
        self.flush()?;
        written?;
        Ok(Some(first..=self.tip().head.number()))
    }

    fn has_candidates(&self) -> bool {
        self.shared.lock_pool().has_candidates()
    }
}

/// Reason why a chain did not recover from a failed write.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The store failed to recover.
    #[error("failed to recover the store")]
    Store(#[from] silica_state::RecoverError),
    /// The store recovered, but the repeated execution of its blocks failed.
    #[error("failed to open the chain after a recovery")]
    Open(#[from] OpenError),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use silica_crypto::Nonces;
    use silica_protocol::{Address, BlockHash, Nonce, ShardId, Signature, UnsignedTransaction};
    use silica_state::StoreOptions;

    use super::*;
    use crate::{
        ChainConfig, Genesis,
        admission::VerifiedTransaction,
        consensus::{range_signer, seal_alone},
        handle::Chain,
        open,
        pool::TxStatus,
        savepoint::RevertError,
        testing::{account, address, key, payment, signed},
    };

    const AT: Timestamp = Timestamp::new(1_700_000_000_000_000);

    /// Returns a chain without an engine, over a store in memory. These tests write and flush each block themselves.
    /// The account of the key number 1 has money.
    fn chain() -> (Chain, Producer) {
        let store = Store::ephemeral(StoreOptions::default());
        store.set_signer(range_signer(&key(9)));
        let mut config = ChainConfig { shards: 1, ..ChainConfig::isolated() };
        config.policy.nonces = NoncePolicy::Queue;
        let genesis = Genesis::new(BTreeMap::from([(address(1), account(1_000_000_000_000_000, 0))])).unwrap();
        open(store, config, &genesis, key(9).public_key(), AT).unwrap()
    }

    /// Submits payments of the key number 1 with these nonces.
    fn pay(chain: &Chain, nonces: RangeInclusive<u64>) {
        for nonce in nonces {
            let payment = UnsignedTransaction { nonce: Nonce::new(nonce), ..payment(1, Address::new([7; 20])) };
            chain.submit(chain.admit(signed(1, payment), false).unwrap(), AT).unwrap();
        }
    }

    fn seal(block: ExecutedBlock) -> SealedBlock {
        seal_alone(block, &key(9)).unwrap()
    }

    /// Makes a block, and returns its hash and the number of its transactions.
    fn make(producer: &mut Producer, at: Timestamp) -> (BlockHash, usize) {
        let block = producer.propose(at, Cause::Event).unwrap();
        let block = producer.commit(seal(block)).unwrap();
        (block.hash, block.transactions.len())
    }

    /// Puts the producer into the state after a failed flush, for example on a full disk.
    fn fail(producer: &mut Producer) {
        let number = producer.tip().head.number();
        let failed = producer.fail(number, silica_state::CommitError::NotReplaying);
        assert!(matches!(failed, CommitError::Store { .. }));
    }

    #[test]
    fn pending_transactions_get_the_same_block_after_a_failed_flush() {
        let later = AT.next().unwrap();
        let ((chain, mut producer), (reference, mut unfailing)) = (chain(), chain());
        pay(&chain, 1..=3);
        pay(&reference, 1..=3);
        for round in 0..3 {
            let block = producer.propose(AT, Cause::Event).unwrap();
            assert_eq!(block.transactions.len(), 3);
            producer.write(seal(block)).unwrap();
            fail(&mut producer);
            assert!(producer.has_failed());
            // The producer does not check transactions on a head that a crash can remove.
            assert!(matches!(producer.propose(AT, Cause::Event), Err(ProposeError(BuildError::Failed))));
            assert!(matches!(producer.pass(AT, 20), Err(PassError::Build(BuildError::Failed))));
            let edit = Edit::Nonce { address: address(1), nonce: Nonce::new(9) };
            assert!(matches!(producer.propose_edit(AT, &edit), Err(EditError::Build(BuildError::Failed))));
            assert!(matches!(producer.save(), Err(RevertError::Store(silica_state::RevertError::Busy))));
            assert!(producer.flush().unwrap().is_empty());
            assert_eq!((chain.waiting(), chain.snapshot().latest_tx_block().header.number.get()), (3, 0), "{round}");
            producer.recover().unwrap();
            assert!(!producer.has_failed());
            assert_eq!(producer.store().snapshot().head().map(|head| head.number.get()), Some(0));
        }
        let statuses: Vec<_> = chain.snapshot().pending().iter().map(|(_, status)| *status).collect();
        assert_eq!(statuses, [TxStatus::Dispatched; 3]);
        let made = make(&mut producer, later);
        assert_eq!((made, chain.waiting()), (make(&mut unfailing, later), 0));
        assert_eq!(made.1, 3);
        pay(&chain, 4..=5);
        pay(&reference, 4..=5);
        assert_eq!(make(&mut producer, later), make(&mut unfailing, later));
        let roots = [producer.store(), unfailing.store()].map(|store| store.snapshot().state().root());
        assert_eq!(roots[0], roots[1]);
    }

    /// Returns the payment number 1 of the key number 1 with this signature, as if admission had verified the
    /// signature.
    fn unchecked(signature: Signature) -> VerifiedTransaction {
        let payment = payment(1, Address::new([7; 20])).with_signature(signature);
        VerifiedTransaction::unchecked(payment, ShardId::new(0))
    }

    /// Returns two valid signatures of the payment number 1, and an invalid one.
    fn signatures() -> [Signature; 3] {
        let payment = payment(1, Address::new([7; 20]));
        let payload = payment.signing_payload();
        let other = key(1).sign_with(&payload, Nonces::zilliqa_js(&payload, &[1; 32], &[2; 32])).unwrap();
        [signed(1, payment).signature(), other, Signature::ZERO]
    }

    /// Proposes a block with the payment number 1 under `signature`, and verifies the block on a chain that admitted
    /// the payment under `admitted`. Returns the signature in the verified block.
    fn verify(signature: Signature, admitted: Option<Signature>) -> Result<Signature, String> {
        let ((proposing, mut proposer), (judging, mut judge)) = (chain(), chain());
        proposing.submit(unchecked(signature), AT).unwrap();
        let proposal = proposer.propose(AT, Cause::Event).unwrap().to_proposal();
        assert_eq!(proposal.transactions.len(), 1);
        if let Some(admitted) = admitted {
            judging.submit(unchecked(admitted), AT).unwrap();
        }
        let block = judge.verify(&proposal).map_err(|error| {
            assert!(matches!(error, InvalidBlock::Transaction { .. }));
            std::error::Error::source(&error).unwrap().to_string()
        })?;
        assert_eq!(block.to_proposal(), proposal);
        Ok(block.transactions[0].0.transaction().signature())
    }

    #[test]
    fn signature_that_admission_verified_is_not_verified_again() {
        let [good, _, bad] = signatures();
        assert_eq!(verify(good, None), Ok(good));
        assert_eq!(verify(bad, None), Err("admission rejects the transaction".to_owned()));
        // The invalid signature shows that the producer does not verify these bytes again.
        assert_eq!(verify(bad, Some(bad)), Ok(bad));
    }

    #[test]
    fn other_signature_under_the_same_hash_is_verified() {
        let [good, other, bad] = signatures();
        assert_ne!(good, other);
        assert_eq!(unchecked(good).hash(), unchecked(bad).hash());
        for admitted in [good, other] {
            assert_eq!(verify(bad, Some(admitted)), Err("admission rejects the transaction".to_owned()));
        }
        assert_eq!(verify(other, Some(good)), Ok(other));
        assert_eq!(verify(good, Some(bad)), Ok(good));
    }

    #[test]
    fn dropped_transaction_is_not_verified_again() {
        let [_, _, bad] = signatures();
        let ((proposing, mut proposer), (judging, mut judge)) = (chain(), chain());
        for chain in [&proposing, &judging] {
            chain.submit(unchecked(bad), AT).unwrap();
        }
        let proposal = proposer.propose(AT, Cause::Event).unwrap().to_proposal();
        assert!(judging.withdraw(&unchecked(bad).hash(), AT));
        assert_eq!(judging.waiting(), 0);
        assert_eq!(judge.verify(&proposal).unwrap().to_proposal(), proposal);
    }

    #[test]
    fn transaction_is_not_dropped_by_a_block_that_is_lost() {
        let (chain, mut producer) = chain();
        pay(&chain, 1..=2);
        let edit = Edit::Nonce { address: address(1), nonce: Nonce::new(2) };
        let block = producer.propose_edit(AT, &edit).unwrap();
        producer.write(seal(block)).unwrap();
        let block = producer.propose(AT, Cause::Event).unwrap();
        assert_eq!((block.transactions.len(), block.dropped.len()), (0, 2));
        producer.write(seal(block)).unwrap();
        assert_eq!(chain.waiting(), 2);
        fail(&mut producer);
        producer.recover().unwrap();
        assert_eq!((make(&mut producer, AT).1, chain.waiting()), (2, 0));
    }

    #[test]
    fn point_outlives_a_failure() {
        let (chain, mut producer) = chain();
        pay(&chain, 1..=1);
        let point = producer.save().unwrap();
        let head = producer.tip().head.hash;
        make(&mut producer, AT);
        pay(&chain, 2..=2);
        let block = producer.propose(AT, Cause::Event).unwrap();
        producer.write(seal(block)).unwrap();
        fail(&mut producer);
        assert!(matches!(producer.revert(&point), Err(error) if error.leaves_chain()));
        producer.recover().unwrap();
        producer.revert(&point).unwrap();
        assert_eq!((producer.tip().head.hash, chain.waiting()), (head, 1));
        assert_eq!(make(&mut producer, AT).1, 1);
    }
}
