//! The check of the engine's log before the engine reads it.
//!
//! The log has the votes of the member at the current height, and the messages that led to them. The engine flushes the
//! log before it sends a vote. At a damaged entry, the engine truncates the log. At a damaged length, it treats the
//! rest as an incomplete entry. In both cases, the member would vote a second time in rounds in which it has voted. So
//! this check is before the start of the engine, and damage is an error.
//!
//! ```text
//! version (4)  sequence: a height (8)
//! then entries: 0 for "not compressed" (1)  length of the data (8)  CRC-32 of the data (4)  data
//! data of a timeout: 2 (1)  step (1)  round (8)
//! other data: kind (1)  length of the content (8)  content
//! ```
//!
//! Numbers are in big endian. A crash can leave:
//!
//! - An incomplete last entry. The engine writes an entry in four parts, so a process can end between them. A vote is
//!   sent after the flush of its entry, so no vote of an incomplete entry was sent.
//! - Zeros after the last flushed entry, or in place of the end of an entry that was not flushed. The length of a file
//!   can grow before its bytes are on disk. The check removes such an entry if it ends in at least 8 zeros. If a block
//!   of the disk ends 1 to 7 bytes before the end of the entry, fewer zeros are left, and the log counts as damaged.
//! - Entries of the height before: the engine writes the sequence of the next height, and then removes the entries.
//!
//! Any other complete entry with a false checksum is damage, also at the end of the log. After a loss of power, some
//! file systems can leave such an entry without a flush. The log does not show whether the entry was flushed. A wrong
//! guess could lead to two different votes.
//!
//! Damage in the log of a decided height is not an error, because the member needs no votes of that height. An
//! undamaged entry before the damage must prove that the header has the true height.
//!
//! While a member with new files waits, it adds no new vote of its own to the log. But another member can send a vote
//! that this member signed before the loss of its files, and the engine logs this vote. At a later start, the engine
//! would derive another vote from the other messages in the log, and stop. So the start of a member that waits removes
//! all entries.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
};

use arc_malachitebft_app::consensus::Input;
use arc_malachitebft_engine::wal::decode_entry;
use silica_council::Height;

use crate::{codec::EngineCodec, context::Ctx, first_start::REMEDY};

const VERSION: [u8; 4] = 1_u32.to_be_bytes();
/// Bytes of the header.
const HEAD: usize = 4 + 8;
/// Bytes of an entry before its data.
const FRAME: usize = 1 + 8 + 4;
/// Smallest data: a timeout.
const LEAST: usize = 1 + 1 + 8;
/// Largest data. The largest entry is the certificate of 64 prevotes, with less than 10 KiB.
const MOST: usize = 64 * 1024;
/// Number of zeros at the end of an entry which prove that the entry was not flushed.
const UNWRITTEN: usize = 8;

/// Reason why the engine's log cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A read or write failed.
    #[error("cannot read or write the agreement log {}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The log has damage that a crash alone cannot cause.
    #[error("agreement log {}: expected {expected} at byte {offset}, got other bytes; {REMEDY}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the damage.
        offset: usize,
        /// What an undamaged log has at this offset.
        expected: &'static str,
    },
    /// The log belongs to another height than the chain and the journal. One of them is an old copy.
    #[error(
        "agreement log {}: expected the votes at height {expected}, the next one of the chain, got those at height {got}; \
         {REMEDY}",
        path.display()
    )]
    Height {
        /// Path of the file.
        path: PathBuf,
        /// The next height.
        expected: Height,
        /// Height of the log.
        got: u64,
    },
}

/// The bytes after the last complete entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// Nothing, or bytes that a crash can leave.
    Cut,
    /// Damage. The text names what an undamaged log has at this offset.
    Damaged(&'static str),
}

/// Returns whether the engine can have begun a height: the log has a header.
pub(crate) fn has_header(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.len() >= u64::try_from(HEAD).unwrap_or(u64::MAX))
}

/// Checks the log of a member whose next height is `next`, and truncates the log before bytes that a crash can leave.
/// `is_new`: whether no vote can be in the log.
///
/// # Errors
///
/// [`LogError`] names the damage.
pub(crate) fn check(path: &Path, next: Height, is_new: bool) -> Result<(), LogError> {
    let failed = |source| LogError::Io { path: path.to_owned(), source };
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    // The engine flushes the header before its first height.
    let end = if is_new && bytes.len() < HEAD { 0 } else { whole(path, &bytes, next)? };
    if end < bytes.len() {
        file.set_len(u64::try_from(end).unwrap_or(u64::MAX)).map_err(failed)?;
        file.sync_all().map_err(failed)?;
    }
    Ok(())
}

/// Removes all entries of a log that has passed the check.
///
/// # Errors
///
/// [`LogError::Io`] if a write fails.
pub(crate) fn clear(path: &Path) -> Result<(), LogError> {
    let failed = |source| LogError::Io { path: path.to_owned(), source };
    // A new log has no header.
    if has_header(path).map_err(failed)? {
        let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        file.set_len(u64::try_from(HEAD).unwrap_or(u64::MAX)).map_err(failed)?;
        file.sync_all().map_err(failed)?;
    }
    Ok(())
}

/// Returns the number of bytes of the header and the whole entries at the height of the log.
fn whole(path: &Path, bytes: &[u8], next: Height) -> Result<usize, LogError> {
    let damaged = |offset, expected| LogError::Damaged { path: path.to_owned(), offset, expected };
    let header = || damaged(0, "the header of a log of version 1");
    let (header, mut rest) =
        bytes.strip_prefix(&VERSION).and_then(|rest| rest.split_first_chunk::<8>()).ok_or_else(header)?;
    // The log begins a height when the decision of the height before is durable, so it is at most one height behind,
    // and never ahead.
    let height = u64::from_be_bytes(*header);
    if height != next.get() && height.checked_add(1) != Some(next.get()) {
        return Err(LogError::Height { path: path.to_owned(), expected: next, got: height });
    }
    let mut of = None;
    loop {
        let offset = bytes.len().saturating_sub(rest.len());
        match read_one(rest) {
            Ok((entry, after)) => {
                let is_near = |at: u64| at == height || at.checked_add(1) == Some(height);
                if let Some(at) = height_of(&entry)
                    && (!is_near(at) || *of.get_or_insert(at) != at)
                {
                    return Err(damaged(offset, "an entry of the height in the header"));
                }
                rest = after;
            }
            // The entries are those of the height before.
            Err(Rest::Cut) if of.is_some_and(|at| at != height) => return Ok(HEAD),
            Err(Rest::Cut) => return Ok(offset),
            // The height of the log is decided. The engine removes the entries, durably, before it votes at the next
            // one.
            Err(Rest::Damaged(_)) if height != next.get() && of == Some(height) => return Ok(HEAD),
            Err(Rest::Damaged(expected)) => return Err(damaged(offset, expected)),
        }
    }
}

/// Reads the first entry of `bytes`. Returns the entry and the bytes after it.
fn read_one(bytes: &[u8]) -> Result<(Input<Ctx>, &[u8]), Rest> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Err(Rest::Cut);
    }
    let (frame, rest) = bytes.split_first_chunk::<FRAME>().ok_or(Rest::Cut)?;
    let [compressed, len @ .., crc1, crc2, crc3, crc4] = frame;
    let len = usize::try_from(u64::from_be_bytes(*len)).ok().filter(|len| (LEAST..=MOST).contains(len));
    let (0, Some(len)) = (*compressed, len) else {
        return Err(Rest::Damaged("the length of an entry"));
    };
    let Some((data, after)) = rest.split_at_checked(len) else {
        // No entry fits into a shorter rest. In a longer rest, a damaged length could hide entries.
        let is_cut = rest.len() < LEAST || len_of(rest) == Some(len);
        return Err(if is_cut { Rest::Cut } else { Rest::Damaged("the length of an entry") });
    };
    if crc32fast::hash(data) != u32::from_be_bytes([*crc1, *crc2, *crc3, *crc4]) {
        // A flushed entry with a vote ends in a signature, or in an id and a byte, and never in 8 zeros. Only the
        // timeout of round 0 ends like this. A vote after it would be an entry of its own.
        let is_unwritten = data.iter().rev().take(UNWRITTEN).chain(after).all(|byte| *byte == 0);
        return Err(if is_unwritten { Rest::Cut } else { Rest::Damaged("an entry with its checksum") });
    }
    let entry = decode_entry(&EngineCodec, data).map_err(|_| Rest::Damaged("an entry of the engine"))?;
    Ok((entry, after))
}

/// Returns the length of the data of an entry from its first bytes.
fn len_of(data: &[u8]) -> Option<usize> {
    match data.split_first()? {
        (2, _) => Some(LEAST),
        (1 | 4 | 8, rest) => {
            let content = usize::try_from(u64::from_be_bytes(*rest.first_chunk::<8>()?)).ok()?;
            content.checked_add(1 + 8)
        }
        _ => None,
    }
}

/// Returns the height of an entry. A timeout has none.
fn height_of(entry: &Input<Ctx>) -> Option<u64> {
    let height = match entry {
        Input::Vote(vote) => vote.message.height,
        Input::Proposal(proposal) => proposal.message.height,
        Input::ProposedValue(value, _) => value.height,
        Input::PolkaCertificate(certificate) => certificate.height,
        Input::StartHeight(..)
        | Input::Propose(_)
        | Input::TimeoutElapsed(_)
        | Input::RoundCertificate(_)
        | Input::SyncValueResponse(_) => return None,
    };
    Some(height.0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use arc_malachitebft_app::{
        consensus::ProposedValue,
        types::core::{NilOrVal, Round, SignedMessage, Timeout, TimeoutKind, Validity, ValueOrigin, VoteType},
    };
    use arc_malachitebft_engine::wal::encode_entry;
    use tempfile::TempDir;

    use super::*;
    use crate::types::{EngineHeight, EngineSignature, EngineVote, MemberIndex, ValueId};

    fn vote(height: u64, member: u16) -> Input<Ctx> {
        let (height, member) = (EngineHeight(height), MemberIndex(member));
        let value = NilOrVal::Val(ValueId([7; 32]));
        let vote = EngineVote { kind: VoteType::Prevote, height, round: Round::new(0), value, member };
        Input::Vote(SignedMessage::new(vote, EngineSignature([5; 64])))
    }

    fn value(height: u64) -> Input<Ctx> {
        let value = ProposedValue {
            height: EngineHeight(height),
            round: Round::new(0),
            valid_round: Round::Nil,
            proposer: MemberIndex(1),
            value: ValueId([7; 32]),
            validity: Validity::Valid,
        };
        Input::ProposedValue(value, ValueOrigin::Consensus)
    }

    fn timeout() -> Input<Ctx> {
        Input::TimeoutElapsed(Timeout::new(Round::new(0), TimeoutKind::Propose))
    }

    /// Returns the bytes of an entry as the engine writes them.
    fn entry(input: Input<Ctx>) -> Vec<u8> {
        let mut data = Vec::new();
        encode_entry(input, &EngineCodec, &mut data).unwrap();
        let len = u64::try_from(data.len()).unwrap();
        [&[0], &len.to_be_bytes()[..], &crc32fast::hash(&data).to_be_bytes(), &data].concat()
    }

    /// Returns a log of a height, and the ends of its header and its entries.
    fn log(height: u64, entries: Vec<Input<Ctx>>) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = [&VERSION[..], &height.to_be_bytes()].concat();
        let mut ends = vec![bytes.len()];
        for input in entries {
            bytes.extend(entry(input));
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn filled() -> (Vec<u8>, Vec<usize>) {
        log(5, vec![value(5), vote(5, 0), timeout(), vote(5, 1)])
    }

    /// Checks a log before height 5. Returns the bytes after the check.
    fn check(bytes: &[u8], is_new: bool) -> Result<Vec<u8>, LogError> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("wal");
        fs::write(&path, bytes).unwrap();
        let checked = super::check(&path, Height::new(5).unwrap(), is_new);
        let after = fs::read(&path).unwrap();
        if checked.is_err() {
            assert_eq!(after, bytes, "damage stays as it is");
        }
        checked.map(|()| after)
    }

    fn error(bytes: &[u8]) -> String {
        let error = check(bytes, false).unwrap_err().to_string();
        error.split_once("wal: ").unwrap().1.to_owned()
    }

    #[test]
    fn whole_log_stays_as_it_is() {
        for height in [4, 5] {
            let (bytes, _) = log(height, vec![value(height), vote(height, 0), timeout(), vote(height, 1)]);
            assert_eq!(check(&bytes, false).unwrap(), bytes);
        }
    }

    #[test]
    fn every_cut_of_the_last_entry_is_removed() {
        let (bytes, ends) = filled();
        for len in HEAD..=bytes.len() {
            let end = *ends.iter().rev().find(|end| **end <= len).unwrap();
            assert_eq!(check(&bytes[..len], false).unwrap(), bytes[..end], "{len}");
            // The file has grown before its bytes were on disk.
            let grown = [&bytes[..end], &vec![0; len]].concat();
            assert_eq!(check(&grown, false).unwrap(), bytes[..end], "{len}");
        }
    }

    /// Each changed bit is an error that names the entry, or the header.
    #[test]
    fn every_changed_bit_is_an_error() {
        let (bytes, ends) = filled();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let start = ends.iter().rev().find(|end| **end <= at).copied().unwrap_or(0);
                let error = check(&changed, false).unwrap_err();
                let is_named = match error {
                    LogError::Damaged { offset, .. } => at < HEAD || offset == start,
                    LogError::Height { .. } => at < HEAD,
                    LogError::Io { .. } => false,
                };
                assert!(is_named, "{at}: {error}");
            }
        }
    }

    #[test]
    fn damage_is_an_error_that_names_the_remedy() {
        let (bytes, ends) = filled();
        let mut changed = bytes.clone();
        changed[ends[0] + FRAME + 3] ^= 1;
        assert_eq!(
            error(&changed),
            "expected an entry with its checksum at byte 12, got other bytes; the member has no record of its votes; once \
             the first block is older than twice the drift, start the member with its keys in a new data directory"
        );
        // Zeros in place of an entry that another entry follows.
        let mut changed = bytes.clone();
        changed[ends[1]..ends[2]].fill(0);
        assert!(error(&changed).starts_with("expected the length of an entry at byte "));
        // Zeros in place of the end of an entry that another entry follows.
        let mut changed = bytes.clone();
        changed[ends[2] - 20..ends[2]].fill(0);
        assert!(error(&changed).starts_with("expected an entry with its checksum at byte "));
        // Too few zeros at the end to prove a loss of power.
        let mut changed = bytes;
        let len = changed.len();
        changed[len - 7..].fill(0);
        assert!(error(&changed).starts_with("expected an entry with its checksum at byte "));
    }

    /// A loss of power can leave zeros in place of the end of the last entry, and after it.
    #[test]
    fn last_entry_that_ends_in_zeros_is_removed() {
        for last in [value(5), vote(5, 1), timeout()] {
            let (bytes, ends) = log(5, vec![value(5), vote(5, 0), last]);
            let first_zeros = ends[2]..ends[3] - 8;
            for (from, grown) in first_zeros.flat_map(|from| [(from, 0), (from, 500)]) {
                let mut changed = bytes.clone();
                changed[from..].fill(0);
                // If the entry has these zeros itself, it is undamaged.
                let end = if changed == bytes { ends[3] } else { ends[2] };
                changed.resize(bytes.len() + grown, 0);
                assert_eq!(check(&changed, false).unwrap(), bytes[..end], "{from}");
            }
        }
    }

    #[test]
    fn log_without_its_header_is_an_error_after_the_first_height() {
        let (bytes, _) = filled();
        for len in 0..HEAD {
            assert!(error(&bytes[..len]).starts_with("expected the header of a log of version 1 at byte 0, got "));
            assert_eq!(check(&bytes[..len], true).unwrap(), [0_u8; 0]);
        }
    }

    #[test]
    fn log_of_another_height_is_an_error() {
        for height in [0, 3, 6] {
            let (bytes, _) = log(height, Vec::new());
            let expected =
                format!("expected the votes at height 5, the next one of the chain, got those at height {height}; ");
            assert!(error(&bytes).starts_with(&expected), "{}", error(&bytes));
        }
    }

    /// A member needs no votes at a decided height. The first entry proves that the header is not damaged.
    #[test]
    fn damage_in_the_log_of_a_decided_height_is_removed() {
        let (bytes, ends) = log(4, vec![value(4), vote(4, 0), timeout(), vote(4, 1)]);
        for at in HEAD..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            if at < ends[1] {
                assert!(check(&changed, false).is_err(), "{at}");
            } else {
                assert_eq!(check(&changed, false).unwrap(), bytes[..HEAD], "{at}");
            }
        }
        // A damaged header makes the log look like one of the height before.
        let (mut bytes, ends) = filled();
        bytes[HEAD - 1] ^= 1;
        bytes[ends[3] + FRAME] ^= 1;
        assert!(error(&bytes).starts_with("expected an entry of the height in the header at byte 12, "));
    }

    #[test]
    fn entries_of_the_height_before_are_removed() {
        // The engine has written the next height, and has not removed the entries.
        let (bytes, _) = log(5, vec![value(4), timeout(), vote(4, 0)]);
        assert_eq!(check(&bytes, false).unwrap(), bytes[..HEAD]);
        // No crash leaves the entries of two heights, or those of a later one.
        for entries in [vec![vote(4, 0), vote(5, 0)], vec![vote(5, 0), vote(4, 0)], vec![vote(3, 0)], vec![vote(6, 0)]]
        {
            let (bytes, _) = log(5, entries);
            assert!(error(&bytes).starts_with("expected an entry of the height in the header at byte "));
        }
    }
}
