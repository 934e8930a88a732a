//! The progress of `silica db check`, in the file `check/progress` of the data directory. A later check can continue
//! from it.
//!
//! The file has two lines: a JSON object, and the SHA-256 of the first line in hexadecimal. The hash of the newest
//! verified block binds the file to the chain. The progress of the execution is not in the file, but is the newest
//! block of the store in `check/store`.

use serde::{Deserialize, Serialize};
use silica_protocol::{BlockHash, BlockNumber, hex, sha256};
use silica_state::{ArchiveReport, CheckedBlocks, Store};

use super::error::MaintenanceError;
use crate::data_dir::DataDir;

/// Version of the file and of the checks. A check does not continue from a file with another version.
const VERSION: u32 = 1;

/// The verified part of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CheckProgress {
    /// The blocks whose data were verified.
    pub(super) record: CheckedBlocks,
    /// The newest block of the last check without a fault, or `None` without such a check. That check also executed the
    /// blocks up to this block, and compared the balances and the history index with the blocks.
    pub(super) clean: Option<BlockNumber>,
}

/// The first line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    version: u32,
    /// Number of verified blocks.
    blocks: u64,
    /// Hash of the newest verified block.
    hash: BlockHash,
    rows: u64,
    tx_blocks: u64,
    ds_blocks: u64,
    transactions: u64,
    diffs: u64,
    clean: Option<BlockNumber>,
}

impl CheckProgress {
    /// Writes the file.
    pub(super) fn write(&self, data_dir: &DataDir, store: &Store) -> Result<(), MaintenanceError> {
        let Self { record: CheckedBlocks { blocks, rows, report }, clean } = *self;
        let Some(hash) = newest_hash(&self.record, store)? else { return Ok(()) };
        let ArchiveReport { tx_blocks, ds_blocks, transactions, diffs } = report;
        let version = VERSION;
        let file = File { version, blocks, hash, rows, tx_blocks, ds_blocks, transactions, diffs, clean };
        let line = serde_json::to_string(&file).expect("the fields are numbers and texts");
        let digest = hex::encode(sha256(&[line.as_bytes()]));
        Ok(data_dir.write_check_progress(&format!("{line}\n{digest}\n"))?)
    }

    /// Reads the file. The outer result is the error of a read of the store. The inner result is the reason why no
    /// check can continue.
    pub(super) fn read(data_dir: &DataDir, store: &Store) -> Result<Result<Self, String>, MaintenanceError> {
        let text = match data_dir.read_check_progress() {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Err("no check was interrupted, and none was continued".to_owned())),
            Err(error) => return Ok(Err(error.to_string())),
        };
        let file = match parse(&text) {
            Ok(parsed) => parsed,
            Err(reason) => return Ok(Err(format!("the file check/progress is damaged: {reason}"))),
        };
        let File { version, blocks, hash, rows, tx_blocks, ds_blocks, transactions, diffs, clean } = file;
        if version != VERSION {
            return Ok(Err(format!("the file check/progress has version {version}, expected {VERSION}")));
        }
        let report = ArchiveReport { tx_blocks, ds_blocks, transactions, diffs };
        let record = CheckedBlocks { blocks, rows, report };
        if newest_hash(&record, store)? != Some(hash) {
            return Ok(Err(
                "the newest verified block is not in the chain, after a revert or in another chain".to_owned()
            ));
        }
        Ok(Ok(Self { record, clean }))
    }
}

fn parse(text: &str) -> Result<File, String> {
    let (line, digest) = text.split_once('\n').ok_or("it has no second line")?;
    if digest.trim_end() != hex::encode(sha256(&[line.as_bytes()])) {
        return Err("its digest is wrong".to_owned());
    }
    serde_json::from_str(line).map_err(|error| error.to_string())
}

/// Returns the hash of the newest verified block. Returns `None` if no block is verified, or if the chain does not have
/// the newest verified block.
fn newest_hash(record: &CheckedBlocks, store: &Store) -> Result<Option<BlockHash>, MaintenanceError> {
    let Some(last) = record.last() else { return Ok(None) };
    store.snapshot().hash_of(last).map_err(|error| MaintenanceError::Check(error.into()))
}
