//! Export of the blocks, transactions and events of a data directory as JSON lines.
//!
//! The page `docs/export.md` defines the members and types of the lines. All lines of one type have the same members,
//! so that a program can load these lines into a table.

use std::{
    fmt, fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;
use silica_chain::{ConfigError, Epochs};
use silica_protocol::{
    Address, BlockHash, BlockNumber, GasPrice, PublicKey, Qa, Receipt, Signature, StateRoot, Transaction,
    TransactionKind, TxHash,
    rpc::{
        list::TransactionKindJson,
        receipt::{EventLogJson, ReceiptJson},
        text::{Dec, Hex},
    },
};
use silica_state::{ArchiveError, Snapshot};

use crate::{
    dump::{draft_of, give_name},
    files::{self, parent_of, sync_directory},
    maintenance::{ChainFiles, MaintenanceError},
    progress::Progress,
};

/// Number of transactions in one read. The number bounds memory, because a transaction and its receipt can have 10 MB
/// together.
const READ_AT_ONCE: u32 = 4;

/// Reason why a chain was not exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The data directory cannot be used.
    #[error(transparent)]
    Source(Box<MaintenanceError>),
    /// The parameters of the chain are invalid.
    #[error("the parameters of the chain are invalid")]
    Config(#[from] ConfigError),
    /// The chain has no block.
    #[error("the chain has no block yet")]
    Empty,
    /// The first block is not in the chain.
    #[error("from: expected a block up to {head}, got {got}")]
    From {
        /// Number of the latest block.
        head: BlockNumber,
        /// The requested block.
        got: BlockNumber,
    },
    /// The last block is not in the chain, or is before the first block.
    #[error("to: expected a block from {from} to {head}, got {got}")]
    To {
        /// The first block.
        from: BlockNumber,
        /// Number of the latest block.
        head: BlockNumber,
        /// The requested block.
        got: BlockNumber,
    },
    /// A file with this name exists.
    #[error("{} exists already", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// A read of the record failed.
    #[error("the record of blocks cannot be read")]
    Record(#[from] ArchiveError),
    /// The record lacks a block before the latest block.
    #[error("the record has no block {number}")]
    Missing {
        /// Number of the block.
        number: BlockNumber,
    },
    /// A write to the file failed.
    #[error("cannot write {}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A write to standard output failed.
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
}

impl ExportError {
    /// Returns whether the reader of standard output has closed it, for example `head`.
    pub fn is_closed_output(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<MaintenanceError> for ExportError {
    fn from(error: MaintenanceError) -> Self {
        Self::Source(Box::new(error))
    }
}

/// The blocks of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportRange {
    /// The first block.
    pub from: BlockNumber,
    /// The last block; `None` for the latest block.
    pub to: Option<BlockNumber>,
}

/// The summary of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportReport {
    /// The file; `None` for standard output.
    pub file: Option<PathBuf>,
    /// The first block.
    pub from: BlockNumber,
    /// The last block.
    pub to: BlockNumber,
    /// Number of lines of blocks.
    pub blocks: u64,
    /// Number of lines of transactions.
    pub transactions: u64,
    /// Number of lines of events.
    pub events: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl fmt::Display for ExportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, from, to, blocks, transactions, events, bytes } = self;
        match file {
            Some(file) => write!(f, "{}", file.display())?,
            None => f.write_str("standard output")?,
        }
        write!(
            f,
            ": blocks {from} to {to}, {blocks} blocks, {transactions} transactions, {events} events, {bytes} bytes"
        )
    }
}

/// Writes the blocks, transactions and events of a data directory as JSON lines to a new file. If `file` is `None`,
/// writes to standard output. Fails if a node uses the directory.
///
/// The file gets its name after it is complete and on the disk. Memory does not depend on the number of blocks.
///
/// # Errors
///
/// [`ExportError`]. The function then leaves no new file, unless the flush of the parent directory failed.
pub fn export_db(data_dir: &Path, range: ExportRange, file: Option<&Path>) -> Result<ExportReport, ExportError> {
    let existing = file.filter(|path| path.symlink_metadata().is_ok());
    if let Some(path) = existing {
        return Err(ExportError::Exists { path: path.to_owned() });
    }
    let chain = ChainFiles::open(data_dir)?;
    let store = chain.open_whole_store()?;
    let epochs = chain.manifest.chain_config().epochs()?;
    let snapshot = store.snapshot();
    let head = snapshot.head().ok_or(ExportError::Empty)?.number;
    let from = range.from;
    if from > head {
        return Err(ExportError::From { head, got: from });
    }
    let to = range.to.unwrap_or(head);
    if to < from || to > head {
        return Err(ExportError::To { from, head, got: to });
    }
    let export = Export { snapshot, epochs, from, to };
    match file {
        Some(path) => export.write_file(path),
        None => export.write(io::stdout().lock(), ExportError::Output).map(|(_, report)| report),
    }
}

/// The blocks to export.
struct Export {
    snapshot: Snapshot,
    epochs: Epochs,
    from: BlockNumber,
    to: BlockNumber,
}

impl Export {
    /// Writes a new file. A crash leaves either no file with this name or the complete file.
    fn write_file(&self, path: &Path) -> Result<ExportReport, ExportError> {
        let failed = |source| ExportError::Write { path: path.to_owned(), source };
        let draft = draft_of(path);
        let written = files::create(&draft).map_err(failed).and_then(|out| {
            let (out, report) = self.write(out, failed)?;
            out.sync_all().map_err(failed)?;
            match give_name(&draft, path).and_then(|()| sync_directory(parent_of(path))) {
                // Another process has created a file with this name since the first check.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(ExportError::Exists { path: path.to_owned() })
                }
                named => named.map_err(failed),
            }?;
            Ok(ExportReport { file: Some(path.to_owned()), ..report })
        });
        // Ignore the error: the draft may not exist.
        drop(fs::remove_file(&draft));
        written
    }

    /// Writes all lines. Returns the inner writer, and the report without a file.
    fn write<W: Write>(
        &self,
        out: W,
        failed: impl Fn(io::Error) -> ExportError,
    ) -> Result<(W, ExportReport), ExportError> {
        let Self { from, to, .. } = *self;
        let report = ExportReport { file: None, from, to, blocks: 0, transactions: 0, events: 0, bytes: 0 };
        let mut lines = Lines { out: BufWriter::new(out), line: Vec::new(), report };
        let all = to.get().saturating_sub(from.get()).saturating_add(1);
        let mut progress = Progress::new("exporting blocks");
        let mut next = Some(from);
        while let Some(number) = next {
            self.write_block(number, &mut lines, &failed)?;
            progress.log(lines.report.blocks, all);
            next = number.next().filter(|next| *next <= to);
        }
        let out = lines.out.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok((out, lines.report))
    }

    /// Writes the line of a block, and the lines of its transactions and their events.
    fn write_block<W: Write>(
        &self,
        number: BlockNumber,
        lines: &mut Lines<W>,
        failed: &impl Fn(io::Error) -> ExportError,
    ) -> Result<(), ExportError> {
        let Self { snapshot, epochs, .. } = self;
        let missing = || ExportError::Missing { number };
        // These reads sign no block, so that many empty blocks take little time.
        let header = snapshot.tx_header(number)?.ok_or_else(missing)?;
        let hash = snapshot.hash_of(number)?.ok_or_else(missing)?;
        let timestamp = snapshot.time_of(number)?.ok_or_else(missing)?.get();
        let (reward, fees) =
            if epochs.is_vacuous(number) { (header.rewards, Qa::ZERO) } else { (Qa::ZERO, header.rewards) };
        let line = Line::Block(BlockLine {
            number: number.get(),
            hash: hash.into(),
            previous_hash: header.prev_hash.into(),
            timestamp,
            ds_block: header.ds_block.get(),
            leader: header.miner.into(),
            gas_limit: header.gas_limit.get(),
            gas_used: header.gas_used.get(),
            fees: fees.into(),
            reward: reward.into(),
            state_root: header.state_root.into(),
            transactions: header.tx_count,
        });
        lines.write(&line).map_err(failed)?;
        lines.report.blocks = lines.report.blocks.saturating_add(1);
        let mut first = 0;
        while first < header.tx_count {
            let end = first.saturating_add(READ_AT_ONCE);
            let bodies = snapshot.transactions(number, first..end)?.ok_or_else(missing)?;
            for ((transaction, receipt), position) in bodies.into_iter().zip(first..) {
                let place = Place { block: number, timestamp, position };
                lines.write_transaction(place, &transaction, receipt).map_err(failed)?;
            }
            first = end;
        }
        Ok(())
    }
}

/// The place of a transaction.
#[derive(Clone, Copy)]
struct Place {
    block: BlockNumber,
    /// Timestamp of the block, in microseconds.
    timestamp: u64,
    /// Position of the transaction in the block.
    position: u32,
}

/// The output, and the counts of its lines.
struct Lines<W: Write> {
    out: BufWriter<W>,
    /// The buffer of the current line. All lines use the same memory.
    line: Vec<u8>,
    report: ExportReport,
}

impl<W: Write> Lines<W> {
    /// Writes a line with its end.
    fn write(&mut self, line: &Line) -> io::Result<()> {
        /// Largest capacity that stays allocated between two lines, in bytes.
        const KEPT: usize = 1 << 20;
        self.line.clear();
        self.line.shrink_to(KEPT);
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.report.bytes = self.report.bytes.saturating_add(u64::try_from(self.line.len()).unwrap_or(u64::MAX));
        self.out.write_all(&self.line)
    }

    /// Writes the lines of a transaction and its events.
    fn write_transaction(&mut self, place: Place, transaction: &Transaction, receipt: Receipt) -> io::Result<()> {
        let Place { block, timestamp, position } = place;
        let hash = transaction.hash();
        let gas_used = receipt.cumulative_gas;
        let receipt = ReceiptJson::from(receipt);
        let line = Line::Transaction(Box::new(TransactionLine {
            block: block.get(),
            position,
            hash: hash.into(),
            timestamp,
            sender: transaction.sender().into(),
            sender_key: transaction.sender_key.into(),
            nonce: transaction.nonce.get(),
            recipient: transaction.to.into(),
            kind: transaction.kind().map(kind),
            contract: transaction.contract_address().map(Into::into),
            amount: transaction.amount.into(),
            gas_limit: transaction.gas_limit.get(),
            gas_price: transaction.gas_price.into(),
            gas_used: gas_used.get(),
            fee: gas_used.checked_cost(transaction.gas_price).unwrap_or(Qa::MAX).into(),
            success: receipt.success,
            version: transaction.version.packed(),
            signature: transaction.signature().into(),
            code: (!transaction.code.is_empty()).then(|| transaction.code.clone()),
            data: (!transaction.data.is_empty()).then(|| transaction.data.clone()),
            receipt: serde_json::to_string(&receipt)?,
        }));
        self.write(&line)?;
        self.report.transactions = self.report.transactions.saturating_add(1);
        for (EventLogJson { name, address, params }, index) in receipt.event_logs.into_iter().zip(0_u32..) {
            self.write(&Line::Event(EventLine {
                block: block.get(),
                position,
                index,
                transaction: hash.into(),
                timestamp,
                contract: address.0.into(),
                name,
                params: serde_json::to_string(&params)?,
            }))?;
            self.report.events = self.report.events.saturating_add(1);
        }
        Ok(())
    }
}

const fn kind(kind: TransactionKind) -> TransactionKindJson {
    match kind {
        TransactionKind::Payment => TransactionKindJson::Payment,
        TransactionKind::Deployment => TransactionKindJson::Deployment,
        TransactionKind::Call => TransactionKindJson::Call,
    }
}

/// A line of an export.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Line {
    Block(BlockLine),
    Transaction(Box<TransactionLine>),
    Event(EventLine),
}

/// A Tx block.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BlockLine {
    number: u64,
    hash: Hex<BlockHash>,
    previous_hash: Hex<BlockHash>,
    /// Microseconds since 1970-01-01 UTC, as in all lines.
    timestamp: u64,
    ds_block: u64,
    leader: Hex<PublicKey>,
    gas_limit: u64,
    gas_used: u64,
    /// Fees and rewards are in Qa, as all amounts.
    fees: Dec<Qa>,
    reward: Dec<Qa>,
    state_root: Hex<StateRoot>,
    /// Number of transactions.
    transactions: u32,
}

/// A transaction with its receipt.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TransactionLine {
    block: u64,
    position: u32,
    hash: Hex<TxHash>,
    timestamp: u64,
    sender: Hex<Address>,
    sender_key: Hex<PublicKey>,
    nonce: u64,
    recipient: Hex<Address>,
    /// `None` only if the record is damaged, because admission rejects a transaction without a kind.
    kind: Option<TransactionKindJson>,
    /// Address of the contract of a deployment, which can have failed.
    contract: Option<Hex<Address>>,
    amount: Dec<Qa>,
    gas_limit: u64,
    gas_price: Dec<GasPrice>,
    gas_used: u64,
    fee: Dec<Qa>,
    success: bool,
    version: u32,
    signature: Hex<Signature>,
    code: Option<String>,
    data: Option<String>,
    /// The receipt of `GetTransaction`, as JSON text: its members differ from transaction to transaction.
    receipt: String,
}

/// An event of a contract.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventLine {
    block: u64,
    /// Position of the transaction in the block.
    position: u32,
    /// Position of the event in the receipt.
    index: u32,
    /// Hash of the transaction.
    transaction: Hex<TxHash>,
    timestamp: u64,
    contract: Hex<Address>,
    name: String,
    /// The parameters as JSON text: their values have different types.
    params: String,
}
