//! The format of a dump: sections in a fixed order. Each section has a digest over all bytes up to its end.
//!
//! ```text
//! silica dump\n  version (4)
//! section:  kind (1)  length (4)  content  digest (32)       numbers are big endian
//!
//! 1 head       JSON: chain, newest block, its hash, root of the state after it      once, first
//! 2 manifest   a piece of manifest.json
//! 3 identity   of node.key; of network.toml in version 4
//! 4 accounts   of accounts.json
//! 5 pool       of pool
//! 6 rows       of the record: length of the key (1), of the value (2), key, value; repeated
//! 7 end        number of rows (8), root of the state (32)                           once, last
//! ```
//!
//! The numbers in parentheses are sizes in bytes. The digest is the SHA-256 of the previous digest, kind, length and
//! content. The digest before the first section is the SHA-256 of the first line and the version. Therefore a reader
//! detects changed, missing, added and moved sections.

use std::io::{self, ErrorKind, Read, Write};

use serde::{Deserialize, Serialize};
use silica_protocol::{BlockHash, BlockNumber, StateRoot, sha256};
use silica_scilla::rules::Rules;
use silica_state::{Head, RecordRow};

use super::DumpFault;

const MAGIC: [u8; 12] = *b"silica dump\n";
/// Newest version of the format, for the chain of a network.
const VERSION: u32 = 4;
/// The version for the chain of a single node. Programs without support for [`VERSION`] can read such a dump.
const VERSION_WITHOUT_NETWORK: u32 = 3;
/// The version for a chain in which no block repeats the logical block number. Programs that do not support later
/// versions can read such a dump.
const VERSION_WITHOUT_REPEATS: u32 = 2;
/// The version for a chain whose Scilla rules have no identifier. Programs that do not support later versions can read
/// such a dump.
const VERSION_WITHOUT_RULES: u32 = 1;
/// Maximum size of the content of a section, in bytes.
const LONGEST: usize = 1 << 20;

/// The kind of a section. Sections are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Head = 1,
    Manifest,
    /// The key of a single node, or the network file of a network.
    Identity,
    Accounts,
    Pool,
    Rows,
    End,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::Head, Self::Manifest, Self::Identity, Self::Accounts, Self::Pool, Self::Rows, Self::End];

    fn of(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == code)
    }
}

/// The chain of a file, and the last block of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHead {
    pub(super) chain_id: u16,
    /// Number of the newest block.
    pub(super) block: BlockNumber,
    pub(super) block_hash: BlockHash,
    /// Root of the state after the newest block.
    pub(super) state_root: StateRoot,
}

/// The JSON form of the head. The head is text, so that a person who opens the file can read the head.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HeadText {
    chain_id: u16,
    block: u64,
    block_hash: String,
    state_root: String,
}

impl FileHead {
    pub(super) const fn new(chain_id: u16, head: &Head) -> Self {
        Self { chain_id, block: head.number, block_hash: head.hash, state_root: head.state_root }
    }

    pub(super) fn to_bytes(self) -> io::Result<Vec<u8>> {
        let Self { chain_id, block, block_hash, state_root } = self;
        let (block_hash, state_root) = (block_hash.to_string(), state_root.to_string());
        Ok(serde_json::to_vec(&HeadText { chain_id, block: block.get(), block_hash, state_root })?)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let HeadText { chain_id, block, block_hash, state_root } = serde_json::from_slice(bytes).ok()?;
        let (block_hash, state_root) = (block_hash.parse().ok()?, state_root.parse().ok()?);
        Some(Self { chain_id, block: BlockNumber::new(block), block_hash, state_root })
    }
}

type Digest = [u8; 32];

/// A writer of a dump, from its beginning to its end.
pub(super) struct FileWriter<W> {
    out: W,
    digest: Digest,
    bytes: u64,
    head: FileHead,
    rows: u64,
    pending: Vec<u8>,
}

impl<W: Write> FileWriter<W> {
    pub(super) fn new(mut out: W, head: &FileHead, version: u32) -> io::Result<Self> {
        let begin = beginning(version);
        out.write_all(&begin)?;
        let bytes = u64::try_from(begin.len()).unwrap_or(u64::MAX);
        let mut file = Self { out, digest: sha256(&[&begin]), bytes, head: *head, rows: 0, pending: Vec::new() };
        file.section(Kind::Head, &head.to_bytes()?)?;
        Ok(file)
    }

    /// Writes a file of the data directory, in sections of at most [`LONGEST`] bytes.
    pub(super) fn file(&mut self, kind: Kind, content: &[u8]) -> io::Result<()> {
        content.chunks(LONGEST).try_for_each(|piece| self.section(kind, piece))
    }

    pub(super) fn row(&mut self, row: &RecordRow) -> io::Result<()> {
        let (key, value) = (row.key(), row.value());
        let too_long = |_| io::Error::new(ErrorKind::InvalidData, "a row of the record is too long");
        let key_len = u8::try_from(key.len()).map_err(too_long)?;
        let value_len = u16::try_from(value.len()).map_err(too_long)?;
        self.rows = self.rows.saturating_add(1);
        self.pending.push(key_len);
        self.pending.extend_from_slice(&value_len.to_be_bytes());
        self.pending.extend_from_slice(key);
        self.pending.extend_from_slice(value);
        if self.pending.len() > LONGEST / 2 { self.write_rows() } else { Ok(()) }
    }

    /// Writes the remaining rows and the last section. Returns the inner writer, and the size of the file in bytes.
    pub(super) fn end(mut self) -> io::Result<(W, u64)> {
        self.write_rows()?;
        let content = [&self.rows.to_be_bytes()[..], self.head.state_root.as_bytes()].concat();
        self.section(Kind::End, &content)?;
        self.out.flush()?;
        Ok((self.out, self.bytes))
    }

    fn write_rows(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.pending);
        self.section(Kind::Rows, &rows)?;
        // Reuse the memory of the vector for the next rows.
        self.pending = rows;
        self.pending.clear();
        Ok(())
    }

    fn section(&mut self, kind: Kind, content: &[u8]) -> io::Result<()> {
        let len = u32::try_from(content.len()).map_err(io::Error::other)?;
        let frame = frame(kind as u8, len);
        self.digest = sha256(&[&self.digest, &frame, content]);
        for part in [&frame[..], content, &self.digest] {
            self.out.write_all(part)?;
            self.bytes = self.bytes.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
        }
        Ok(())
    }
}

/// Returns the lowest version that supports the Scilla rules and the blocks of a chain of a single node or a network.
pub(super) fn version_of(rules: Rules, head: &Head, is_network: bool) -> u32 {
    match (head.totals.repeats, rules) {
        _ if is_network => VERSION,
        (0, Rules::UNNAMED) => VERSION_WITHOUT_RULES,
        (0, _) => VERSION_WITHOUT_REPEATS,
        _ => VERSION_WITHOUT_NETWORK,
    }
}

fn beginning(version: u32) -> [u8; 16] {
    let mut begin = [0; 16];
    let (magic, number) = begin.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    number.copy_from_slice(&version.to_be_bytes());
    begin
}

fn frame(kind: u8, len: u32) -> [u8; 5] {
    let [a, b, c, d] = len.to_be_bytes();
    [kind, a, b, c, d]
}

/// A section whose digest and order are valid.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) kind: Kind,
    pub(super) content: Vec<u8>,
}

/// A reader of a dump, from its beginning to its end. The digests detect accidental changes only, because they have no
/// key.
pub(super) struct FileReader<R> {
    input: R,
    digest: Digest,
    /// Whether the version is that of the chain of a network.
    is_network: bool,
    /// Number of bytes that were read.
    at: u64,
    last: Option<Kind>,
}

impl<R: Read> FileReader<R> {
    /// Reads and checks the first line, the version and the head.
    pub(super) fn new(mut input: R) -> Result<(Self, FileHead), DumpFault> {
        let mut begin = [0; 16];
        let read = read_up_to(&mut input, &mut begin)?;
        let (magic, number) = begin.split_at(MAGIC.len());
        if magic != MAGIC {
            // A file that ends within the first line of a dump is truncated. Every other file is foreign.
            let cut = read < begin.len() && begin.get(..read.min(MAGIC.len())) == MAGIC.get(..read.min(MAGIC.len()));
            return Err(if cut && read > 0 { DumpFault::Cut { at: 0 } } else { DumpFault::Foreign });
        }
        if read < begin.len() {
            return Err(DumpFault::Cut { at: 0 });
        }
        let found = number.iter().fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
        if !(VERSION_WITHOUT_RULES..=VERSION).contains(&found) {
            return Err(DumpFault::Version { found, known: VERSION });
        }
        let at = u64::try_from(begin.len()).unwrap_or(u64::MAX);
        let mut file = Self { input, digest: sha256(&[&begin]), is_network: found == VERSION, at, last: None };
        let head = file.next()?;
        let head = FileHead::from_bytes(&head.content).ok_or(DumpFault::Damaged { at })?;
        Ok((file, head))
    }

    /// Returns whether the dump has the chain of a network, from its version.
    pub(super) fn is_network(&self) -> bool {
        self.is_network
    }

    /// Reads the next section, and checks its digest and its order. After the last section, the file must end.
    pub(super) fn next(&mut self) -> Result<Section, DumpFault> {
        let at = self.at;
        let mut frame = [0; 5];
        self.fill(&mut frame, at)?;
        let [code, len @ ..] = frame;
        let len = usize::try_from(u32::from_be_bytes(len)).unwrap_or(usize::MAX);
        let damaged = DumpFault::Damaged { at };
        if len > LONGEST {
            return Err(damaged);
        }
        let mut content = vec![0; len];
        self.fill(&mut content, at)?;
        let mut digest = Digest::default();
        self.fill(&mut digest, at)?;
        self.digest = sha256(&[&self.digest, &frame, &content]);
        let in_order = |kind: &Kind| match self.last {
            None => *kind == Kind::Head,
            Some(last) => *kind > last || (*kind == last && !matches!(kind, Kind::Head | Kind::End)),
        };
        let kind = Kind::of(code).filter(in_order);
        let (Some(kind), true) = (kind, digest == self.digest) else { return Err(damaged) };
        self.last = Some(kind);
        if kind == Kind::End && read_up_to(&mut self.input, &mut [0])? > 0 {
            return Err(DumpFault::Damaged { at: self.at });
        }
        Ok(Section { kind, content })
    }

    /// Fills `bytes` from the section that begins at `at`. Fails if the file ends earlier.
    fn fill(&mut self, bytes: &mut [u8], at: u64) -> Result<(), DumpFault> {
        if read_up_to(&mut self.input, bytes)? < bytes.len() {
            return Err(DumpFault::Cut { at });
        }
        self.at = self.at.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(())
    }
}

/// Reads until `bytes` is full or the input ends. Returns the number of bytes that were read.
fn read_up_to(input: &mut impl Read, bytes: &mut [u8]) -> Result<usize, DumpFault> {
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(more) => read = read.saturating_add(more),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(DumpFault::Read(error)),
        }
    }
    Ok(read)
}

/// Splits the content of a section into rows. An invalid row gives `None`, and ends the iteration.
pub(super) fn rows(mut content: &[u8]) -> impl Iterator<Item = Option<(&[u8], &[u8])>> {
    std::iter::from_fn(move || {
        if content.is_empty() {
            return None;
        }
        let row = take_row(content);
        content = row.map_or(&[], |(_, _, rest)| rest);
        Some(row.map(|(key, value, _)| (key, value)))
    })
}

fn take_row(content: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let ([key, a, b], rest) = content.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(usize::from(*key))?;
    let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([*a, *b])))?;
    Some((key, value, rest))
}
