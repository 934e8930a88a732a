//! Finds empty block ranges (runs) in the record, and reads their blocks.
//!
//! ```text
//! 15  first Tx block (8)  00  part (4)    the run
//! 16  first DS block (8)                  number of its first Tx block, CRC-32C; of runs with DS blocks
//! ```

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use silica_protocol::{
    BlockHash, BlockNumber, CoSignatures, DsBlock, DsBlockHeader, DsBlockNumber, MicroBlock, MicroBlockHeader,
    Timestamp, TxBlock,
};

use super::{
    Archive, ArchiveReport, Written,
    entry::Entry,
    error::{AppendError, ArchiveError},
    format_of,
    run::{BlockRun, Seal, StoredRun},
    section::{Kind, Place, Section, framed_parts},
    write_head,
};
use crate::{
    codec::{Reader, Writer, seal, unseal},
    db::Batch,
};

const BY_DS_BLOCK: u8 = 0x16;
/// Runs that are kept decoded.
const KEPT: usize = 8;

/// A DS block that was made in a run: that, its header, and the Tx block with which it was made.
type InRun = (Arc<StoredRun>, DsBlockHeader, BlockNumber);

/// The empty block ranges that were read last, and the signer of their blocks.
#[derive(Debug, Default)]
pub(super) struct Runs {
    kept: Mutex<VecDeque<Arc<StoredRun>>>,
    seal: OnceLock<Arc<dyn Seal>>,
    /// Whether the record may have runs.
    any: AtomicBool,
}

impl Runs {
    /// None that were read, signed by the same.
    pub(super) fn like(other: &Self) -> Self {
        let any = AtomicBool::new(other.any.load(Ordering::Acquire));
        Self { kept: Mutex::default(), seal: other.seal.clone(), any }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<StoredRun>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, run: Arc<StoredRun>) {
        let mut kept = self.kept();
        kept.push_front(run);
        kept.truncate(KEPT);
    }

    fn find(&self, number: BlockNumber) -> Option<Arc<StoredRun>> {
        let mut kept = self.kept();
        let at = kept.iter().position(|run| run.run.covers(number))?;
        let run = kept.remove(at)?;
        kept.push_front(Arc::clone(&run));
        Some(run)
    }

    /// Signs headers of a run.
    fn sealer<'a>(
        &'a self,
        run: &BlockRun,
        number: BlockNumber,
    ) -> impl Fn(&[u8]) -> Result<CoSignatures, ArchiveError> + 'a {
        let member = run.member();
        let seal = self.seal.get().filter(|seal| seal.public() == member);
        move |header| {
            let signed = seal.and_then(|seal| seal.seal(header));
            signed.ok_or(ArchiveError::NoSeal { number, member })
        }
    }
}

impl Archive {
    /// Sets the signer of the blocks of empty block ranges. Only the first call has an effect.
    pub(crate) fn seal_with(&self, seal: Arc<dyn Seal>) {
        self.runs.seal.get_or_init(|| seal);
    }

    /// Returns the signer of the blocks of empty block ranges.
    pub(crate) fn seal(&self) -> Option<Arc<dyn Seal>> {
        self.runs.seal.get().map(Arc::clone)
    }

    /// Appends a run with the changes of state that its blocks make, as [`Archive::write`] does a block.
    pub(crate) fn write_run(&self, run: BlockRun, diffs: &[(BlockNumber, Vec<u8>)]) -> Result<(), AppendError> {
        let mut written = self.begin()?;
        let last = written.last().map(|written| Arc::clone(&written.entry)).or_else(|| self.newest());
        let last = last.ok_or(AppendError::NoDsBlock)?;
        let first = run.first();
        let expected = last.number().next().unwrap_or(BlockNumber::MISSING);
        if first != expected {
            return Err(AppendError::Number { expected, got: first });
        }
        if run.prev_hash() != last.head.hash {
            return Err(AppendError::PrevHash { expected: last.head.hash, got: run.prev_hash() });
        }
        let (ds_number, _) = run.ds_block_before();
        if ds_number != last.head.ds_number {
            return Err(AppendError::DsNumber { expected: last.head.ds_number, got: ds_number });
        }
        if !run.closings().map(|(number, _)| number).eq(diffs.iter().map(|(number, _)| *number)) {
            return Err(AppendError::RunChanges { first });
        }
        if run.is_too_long() {
            return Err(AppendError::TooLarge { what: "stretches" });
        }
        let newest_with_transactions = last.newest_with_transactions;
        let stored = Arc::new(StoredRun { run, before: last.head.totals, newest_with_transactions });
        let entry = stored.entry(stored.run.last()).ok_or_else(|| damaged_run(&stored))?;
        let mut batch = Batch::default();
        if !Section::new(Kind::Run, first.get()).write_framed(&stored.encode(), &mut batch) {
            return Err(AppendError::TooLarge { what: "bytes" });
        }
        if let Some(ds_block) = stored.run.first_ds_block() {
            let (key, mut out) = (ds_key(ds_block), Writer::new());
            out.number(first.get());
            let value = seal(&key, out.as_slice());
            batch.insert(key, value);
        }
        write_head(entry.number(), &entry.head.hash, format_of(&entry.head), &mut batch);
        for ((number, hash), (_, diff)) in stored.run.closings().zip(diffs) {
            self.changes.append(number, hash, diff).map_err(AppendError::Changes)?;
        }
        self.broken.store(true, Ordering::Release);
        self.db.apply(batch).map_err(ArchiveError::from)?;
        let blocks = stored.run.blocks();
        self.runs.any.store(true, Ordering::Release);
        self.runs.keep(stored);
        written.push(Written { entry: Arc::new(entry), blocks, index: Vec::new() });
        self.broken.store(false, Ordering::Release);
        Ok(())
    }

    /// Returns the run that has a block, if one has.
    pub(super) fn run_at(&self, number: BlockNumber) -> Result<Option<Arc<StoredRun>>, ArchiveError> {
        if !self.runs.any.load(Ordering::Acquire) {
            return Ok(None);
        }
        if let Some(run) = self.runs.find(number) {
            return Ok(Some(run));
        }
        let Some(first) = Section::newest_up_to(Kind::Run, number.get(), &self.db)? else { return Ok(None) };
        Ok(Some(self.run_from(first)?).filter(|run| run.run.covers(number)))
    }

    /// Returns the run under a number. It is asked for again and again with the blocks after it.
    fn run_from(&self, first: u64) -> Result<Arc<StoredRun>, ArchiveError> {
        if let Some(run) = self.runs.find(BlockNumber::new(first)) {
            return Ok(run);
        }
        let run = Arc::new(self.read_run(Section::new(Kind::Run, first))?);
        self.runs.keep(Arc::clone(&run));
        Ok(run)
    }

    /// Returns the hash of a block, which is cheaper than its entry.
    pub(super) fn hash_at(&self, number: BlockNumber) -> Result<BlockHash, ArchiveError> {
        self.known_of(number, |entry| entry.head.hash, |run| run.run.hash_of(number))
    }

    /// Returns the timestamp of a block, which is cheaper than its entry.
    pub(super) fn time_at(&self, number: BlockNumber) -> Result<Timestamp, ArchiveError> {
        self.known_of(number, |entry| entry.head.timestamp, |run| Some(run.run.time_of(number)))
    }

    /// Returns the number of transactions up to a block, which is cheaper than its entry.
    pub(super) fn transactions_up_to(&self, number: BlockNumber) -> Result<u64, ArchiveError> {
        self.known_of(number, |entry| entry.head.totals.transactions, |run| Some(run.before.transactions))
    }

    /// Returns the sum of repeats up to a block, which is cheaper than its entry.
    pub(super) fn repeats_up_to(&self, number: BlockNumber) -> Result<u64, ArchiveError> {
        self.known_of(number, |entry| entry.head.totals.repeats, |run| Some(run.before.repeats))
    }

    /// Returns the newest block with transactions, among the blocks up to this one; it is cheaper than the entry.
    pub(super) fn newest_with_transactions_at(&self, number: BlockNumber) -> Result<Option<BlockNumber>, ArchiveError> {
        self.known_of(number, |entry| entry.newest_with_transactions, |run| Some(run.newest_with_transactions))
    }

    /// Returns what the entry of a block says, or its run, of which the block need not be made then.
    fn known_of<T>(
        &self,
        number: BlockNumber,
        of_entry: impl FnOnce(&Entry) -> T,
        of_run: impl FnOnce(&StoredRun) -> Option<T>,
    ) -> Result<T, ArchiveError> {
        if let Some(entry) = self.entries.get(number.get()) {
            return Ok(of_entry(&entry));
        }
        match self.run_at(number)? {
            Some(run) => of_run(&run).ok_or_else(|| damaged_run(&run)),
            None => Ok(of_entry(&*self.entry(number)?)),
        }
    }

    fn read_run(&self, section: Section) -> Result<StoredRun, ArchiveError> {
        let bytes = section.read_framed(&self.db)?;
        let run = StoredRun::decode(&bytes).map_err(ArchiveError::malformed(section.place()))?;
        if Section::new(Kind::Run, run.run.first().get()) == section {
            Ok(run)
        } else {
            Err(ArchiveError::damaged(section.place(), "number is wrong"))
        }
    }

    /// Returns the signed Tx block of an entry.
    pub(super) fn tx_block(&self, entry: &Entry) -> Result<Arc<TxBlock>, ArchiveError> {
        let number = entry.number();
        if !entry.in_run {
            return Ok(Arc::clone(&entry.tx_block));
        }
        if let Some(block) = self.sealed.get(number.get()) {
            return Ok(block);
        }
        let run = self.run_of(entry)?;
        let cosignatures = self.runs.sealer(&run.run, number)(&entry.tx_block.header.encode())?;
        let block = Arc::new(TxBlock { cosignatures, ..TxBlock::clone(&entry.tx_block) });
        self.sealed.put(number.get(), &block);
        Ok(block)
    }

    /// Returns the signed micro blocks of an entry of a run.
    pub(super) fn micro_blocks_of_run(&self, entry: &Entry) -> Result<Vec<MicroBlock>, ArchiveError> {
        let run = self.run_of(entry)?;
        let (number, timestamp) = (entry.number(), entry.head.timestamp);
        let block = run.run.block(number).ok_or_else(|| damaged_run(&run))?;
        let seal = self.runs.sealer(&run.run, number);
        let signed = |header: MicroBlockHeader| {
            let cosignatures = seal(&header.encode())?;
            Ok(MicroBlock { header, tx_hashes: Vec::new(), cosignatures, timestamp })
        };
        block.micro_blocks.into_iter().map(signed).collect()
    }

    /// Returns a DS block that was made in a run, signed; `None` when it was made in none.
    pub(super) fn ds_block_of_run(&self, number: DsBlockNumber) -> Result<Option<DsBlock>, ArchiveError> {
        let Some((run, header, at)) = self.ds_block_in_run(number)? else { return Ok(None) };
        let cosignatures = self.runs.sealer(&run.run, at)(&header.encode())?;
        Ok(Some(DsBlock { header, cosignatures, timestamp: run.run.time_of(at) }))
    }

    /// Returns the header of a DS block without signing it.
    pub(super) fn ds_header(&self, number: DsBlockNumber) -> Result<DsBlockHeader, ArchiveError> {
        if let Some(block) = self.own_ds_block(number)? {
            return Ok(block.header.clone());
        }
        match self.ds_block_in_run(number)? {
            Some((_, header, _)) => Ok(header),
            None => Err(Section::new(Kind::DsBlock, number.get()).missing()),
        }
    }

    /// Returns the run in which a DS block was made, its header, and the Tx block with which it was made.
    fn ds_block_in_run(&self, number: DsBlockNumber) -> Result<Option<InRun>, ArchiveError> {
        let end = ds_key(DsBlockNumber::new(number.get().saturating_add(1)));
        let Some(found) = self.db.scan(vec![BY_DS_BLOCK]..end.to_vec()).next_back() else { return Ok(None) };
        let (key, value) = found?;
        let Some(run) = self.run_at(read_place(&key, &value)?)? else {
            return Err(ArchiveError::damaged(Place::KEYS, "a DS block names a run that is not there"));
        };
        if number > run.run.last_ds_block().0 {
            return Ok(None);
        }
        let (header, at) = run.run.ds_block(number).ok_or_else(|| damaged_run(&run))?;
        Ok(Some((run, header, at)))
    }

    fn run_of(&self, entry: &Entry) -> Result<Arc<StoredRun>, ArchiveError> {
        self.run_at(entry.number())?.ok_or_else(|| ArchiveError::damaged(entry.place(), "its run is missing"))
    }

    /// Returns the run that has a block, as it was built.
    pub(crate) fn block_run(&self, number: BlockNumber) -> Result<Option<BlockRun>, ArchiveError> {
        Ok(self.run_at(number)?.map(|run| run.run.clone()))
    }

    /// Looks for runs, and lists what there is of them after the head, which was never acknowledged, for removal.
    pub(super) fn list_runs_after(&self, head: Option<BlockNumber>, batch: &mut Batch) -> Result<(), ArchiveError> {
        self.runs.any.store(Section::newest_up_to(Kind::Run, u64::MAX, &self.db)?.is_some(), Ordering::Release);
        let next = head.map_or(0, |head| head.get().saturating_add(1));
        for value in self.db.scan(Section::keys_from(Kind::Run, next)) {
            let (key, _) = value?;
            if head.is_none() || Section::number_of(&key) != Some(next) {
                return Err(ArchiveError::damaged(Place::HEAD, "there are blocks after the newest"));
            }
            batch.remove(&*key);
        }
        self.list_ds_blocks_after(next, batch)
    }

    /// Lists for removal which DS blocks are in runs from block `next` on.
    pub(super) fn list_ds_blocks_after(&self, next: u64, batch: &mut Batch) -> Result<(), ArchiveError> {
        let pointers = self.db.scan(vec![BY_DS_BLOCK]..vec![BY_DS_BLOCK.wrapping_add(1)]);
        for pointer in pointers.rev() {
            let (key, value) = pointer?;
            if read_place(&key, &value)?.get() < next {
                break;
            }
            batch.remove(&*key);
        }
        Ok(())
    }

    /// Checks a run and adds what it has to the report and to the number of values. Returns the entry of its last
    /// block.
    pub(super) fn check_run(
        &self,
        stored: &Arc<StoredRun>,
        before: Option<&Entry>,
        report: &mut ArchiveReport,
        values: &mut u64,
    ) -> Result<Entry, ArchiveError> {
        let StoredRun { run, before: totals, newest_with_transactions } = &**stored;
        let section = Section::new(Kind::Run, run.first().get());
        let damaged = |reason: &str| ArchiveError::damaged(section.place(), reason);
        let before = before.filter(|before| before.number().next() == Some(run.first()));
        let before = before.ok_or_else(|| damaged("it does not follow the block before"))?;
        let ds_hash = self.ds_header(before.head.ds_number)?.hash();
        if run.prev_hash() != before.head.hash || run.ds_block_before() != (before.head.ds_number, ds_hash) {
            return Err(damaged("it is not linked to the block before"));
        }
        if run.root_before_run() != before.head.state_root {
            return Err(damaged("it does not begin with the state before"));
        }
        if *totals != before.head.totals || *newest_with_transactions != before.newest_with_transactions {
            return Err(damaged("totals are wrong"));
        }
        if run.timestamp() <= before.head.timestamp || !run.is_whole() {
            return Err(damaged("its blocks are not those that it names"));
        }
        *values = values.saturating_add(u64::from(framed_parts(stored.encode().len())));
        if let Some(ds_block) = run.first_ds_block() {
            let key = ds_key(ds_block);
            let place = self.db.get(&key)?.map(|value| read_place(&key, &value)).transpose()?;
            if place != Some(run.first()) {
                return Err(damaged("its DS blocks do not name it"));
            }
            *values = values.saturating_add(1);
            let made = run.last_ds_block().0.get().saturating_sub(ds_block.get()).saturating_add(1);
            report.ds_blocks = report.ds_blocks.saturating_add(made);
        }
        for (number, hash) in run.closings() {
            let kept = self.changes.read(number, &hash).map_err(ArchiveError::Changes)?;
            report.diffs = report.diffs.saturating_add(u64::from(kept.is_some()));
        }
        report.tx_blocks = report.tx_blocks.saturating_add(run.blocks());
        stored.entry(run.last()).ok_or_else(|| damaged_run(stored))
    }
}

/// What is reported of a run of which a block cannot be made again.
pub(super) fn damaged_run(run: &StoredRun) -> ArchiveError {
    let place = Section::new(Kind::Run, run.run.first().get()).place();
    ArchiveError::damaged(place, "its blocks are not those that it names")
}

fn ds_key(number: DsBlockNumber) -> [u8; 9] {
    let mut key = [BY_DS_BLOCK; 9];
    let [_, rest @ ..] = &mut key;
    *rest = number.get().to_be_bytes();
    key
}

pub(super) fn read_place(key: &[u8], value: &[u8]) -> Result<BlockNumber, ArchiveError> {
    let payload = unseal(key, value).ok_or_else(|| ArchiveError::damaged(Place::KEYS, "checksum is wrong"))?;
    let mut reader = Reader::new(payload);
    let number = reader.number("number of block").map_err(ArchiveError::malformed(Place::KEYS))?;
    reader.finish("number of block").map_err(ArchiveError::malformed(Place::KEYS))?;
    Ok(BlockNumber::new(number))
}
