//! The certificates of decided entries, which prove a decision to members that lack the entry.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use arc_malachitebft_app::types::{codec::Codec as _, core::CommitCertificate};
use parking_lot::Mutex;

use crate::{codec::EngineCodec, context::Ctx, types::EngineHeight};

/// Key of the lowest height of the newest certificates without a gap. The keys of certificates are heights in 8 bytes.
/// Earlier programs wrote a wrong height to the key `lowest`.
const FIRST: &[u8] = b"first";

/// Memory for cached pages, in bytes.
const CACHE: u64 = 4 * 1024 * 1024;

/// The certificates of all heights. The member removes none of them, because a member with a new directory needs the
/// certificates of all blocks. A crash can lose the newest certificates of bodies, which are also in the journal.
#[derive(Debug)]
pub(crate) struct Certificates {
    path: PathBuf,
    stored: Mutex<Stored>,
}

#[derive(Debug)]
struct Stored {
    /// `None` after a failed write. The database accepts no writes after a failure, so the next flush opens it again.
    db: Option<sled::Db>,
    /// The certificates since the last flush. They are the newest ones.
    unflushed: BTreeMap<u64, Vec<u8>>,
    /// The heights of the newest certificates, without a gap; `None` without a certificate.
    newest: Option<RangeInclusive<u64>>,
}

impl Certificates {
    pub(crate) fn open(path: &Path) -> sled::Result<Self> {
        let db = open(path)?;
        let newest = newest(&db)?;
        let stored = Stored { db: Some(db), unflushed: BTreeMap::new(), newest };
        Ok(Self { path: path.to_owned(), stored: Mutex::new(stored) })
    }

    /// Adds a certificate. The next flush stores it.
    pub(crate) fn add(&self, certificate: &CommitCertificate<Ctx>) {
        let (height, encoded) = (certificate.height.0, EngineCodec.encode(certificate).unwrap_or_default());
        let mut stored = self.stored.lock();
        stored.unflushed.insert(height, encoded.to_vec());
        stored.newest = match stored.newest.take() {
            Some(newest) if height <= *newest.end() => Some(newest),
            Some(newest) if height == newest.end().saturating_add(1) => Some(*newest.start()..=height),
            _ => Some(height..=height),
        };
    }

    /// Makes all certificates durable. After a failure, the next call tries again.
    ///
    /// A member that has committed a block no longer votes for its seal. If too few members have committed the block,
    /// the others need its certificate. So a member commits a block only after the certificate is on disk.
    pub(crate) fn flush(&self) -> sled::Result<()> {
        // Other threads read during the flush.
        let (db, unflushed, newest) = {
            let stored = self.stored.lock();
            (stored.db.clone(), stored.unflushed.clone(), stored.newest.clone())
        };
        let written = guarded(|| {
            let db = db.map_or_else(|| open(&self.path), Ok)?;
            let mut batch = sled::Batch::default();
            for (height, encoded) in &unflushed {
                batch.insert(&height.to_be_bytes(), &**encoded);
            }
            if let Some(newest) = &newest {
                batch.insert(FIRST, &newest.start().to_be_bytes());
            }
            db.apply_batch(batch)?;
            db.flush()?;
            Ok(db)
        });
        let mut stored = self.stored.lock();
        match written {
            Ok(db) => {
                stored.unflushed.retain(|height, _| !unflushed.contains_key(height));
                stored.db = Some(db);
                Ok(())
            }
            Err(error) => {
                let failed = stored.db.take();
                drop(stored);
                // The close of the database writes too, and can fail. Its error does not matter, because memory has the
                // unflushed certificates.
                let _: sled::Result<()> = guarded(|| {
                    drop(failed);
                    Ok(())
                });
                Err(error)
            }
        }
    }

    /// Returns the certificate of a height; `None` if this member does not have it, or cannot read it.
    pub(crate) fn get(&self, height: u64) -> Option<CommitCertificate<Ctx>> {
        let stored = self.stored.lock();
        let bytes = match stored.unflushed.get(&height) {
            Some(bytes) => bytes.clone(),
            None => stored.db.as_ref()?.get(height.to_be_bytes()).ok()??.to_vec(),
        };
        EngineCodec.decode(bytes.into()).ok()
    }

    /// Returns the lowest height for which this member has all certificates up to `tip`. Without the certificate of
    /// `tip`, returns the height after `tip`.
    pub(crate) fn from(&self, tip: u64) -> EngineHeight {
        let stored = self.stored.lock();
        let newest = stored.newest.as_ref().filter(|newest| newest.contains(&tip));
        EngineHeight(newest.map_or(tip.saturating_add(1), |newest| *newest.start()))
    }
}

fn open(path: &Path) -> sled::Result<sled::Db> {
    sled::Config::new().path(path).cache_capacity(CACHE).flush_every_ms(None).open()
}

/// Returns the heights of the newest certificates of a database, without a gap.
fn newest(db: &sled::Db) -> sled::Result<Option<RangeInclusive<u64>>> {
    let mut heights = heights(db);
    let Some(last) = heights.next().transpose()? else { return Ok(None) };
    if let Some(first) = db.get(FIRST)?.and_then(|first| first.as_ref().try_into().ok()) {
        return Ok(Some(u64::from_be_bytes(first)..=last));
    }
    let mut first = last;
    for height in heights {
        if height? != first.saturating_sub(1) {
            break;
        }
        first = first.saturating_sub(1);
    }
    Ok(Some(first..=last))
}

/// Returns the heights of the certificates, the highest first.
fn heights(db: &sled::Db) -> impl Iterator<Item = sled::Result<u64>> {
    db.iter().keys().rev().filter_map(|key| match key {
        // Other keys have another length.
        Ok(key) => key.as_ref().try_into().ok().map(u64::from_be_bytes).map(Ok),
        Err(error) => Some(Err(error)),
    })
}

/// Runs an operation of the database. Returns a panic of the database as an error.
fn guarded<T>(operation: impl FnOnce() -> sled::Result<T>) -> sled::Result<T> {
    catch_unwind(AssertUnwindSafe(operation))
        .unwrap_or_else(|_| Err(sled::Error::ReportableBug("the database has panicked".to_owned())))
}

#[cfg(test)]
mod tests {
    use arc_malachitebft_app::types::core::{CommitSignature, Round};

    use super::*;
    use crate::types::{EngineSignature, MemberIndex, ValueId};

    fn certificate(height: u64) -> CommitCertificate<Ctx> {
        CommitCertificate {
            height: EngineHeight(height),
            round: Round::new(1),
            value_id: ValueId([3; 32]),
            commit_signatures: vec![CommitSignature::new(MemberIndex(2), EngineSignature([4; 64]))],
        }
    }

    #[test]
    fn certificates_are_kept_by_height() {
        let directory = tempfile::tempdir().unwrap();
        // The database has the first certificates, and memory has the others.
        for flushed in 0..=6 {
            let path = directory.path().join(flushed.to_string());
            let certificates = Certificates::open(&path).unwrap();
            assert_eq!(certificates.from(0), EngineHeight(1));
            for height in [1, 2, 3, 5, 6] {
                certificates.add(&certificate(height));
                if height <= flushed {
                    certificates.flush().unwrap();
                }
            }
            assert_eq!(certificates.get(5), Some(certificate(5)));
            assert_eq!(certificates.get(4), None);
            assert_eq!([6, 5, 0, 7].map(|tip| certificates.from(tip).0), [5, 5, 1, 8]);
        }
    }

    /// Opens a closed database. Its threads can hold its lock for a short time.
    fn open_again(path: &Path) -> Certificates {
        let opened = (0..500).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            Certificates::open(path).ok()
        });
        opened.unwrap()
    }

    /// A member that has lost its directory takes the blocks from the first one on.
    #[test]
    fn certificates_of_a_long_chain_are_kept() {
        const LAST: u64 = 20_000;
        let directory = tempfile::tempdir().unwrap();
        let certificates = Certificates::open(directory.path()).unwrap();
        for height in 1..=LAST {
            certificates.add(&certificate(height));
            if height % 5_000 == 0 {
                certificates.flush().unwrap();
            }
        }
        assert_eq!(certificates.from(LAST), EngineHeight(1));
        drop(certificates);
        let mut certificates = open_again(directory.path());
        assert_eq!(certificates.from(LAST), EngineHeight(1));
        assert_eq!([1, 2, LAST].map(|height| certificates.get(height).is_some()), [true; 3]);
        // A member that started again has the certificates of both processes.
        for tip in [LAST + 2, LAST + 4] {
            certificates.add(&certificate(tip - 1));
            certificates.add(&certificate(tip));
            certificates.flush().unwrap();
            assert_eq!(certificates.from(tip), EngineHeight(1));
            drop(certificates);
            certificates = open_again(directory.path());
            assert_eq!(certificates.from(tip), EngineHeight(1));
        }
        // After a gap, only the certificates after it are of use.
        certificates.add(&certificate(LAST + 9));
        certificates.flush().unwrap();
        assert_eq!(certificates.from(LAST + 9), EngineHeight(LAST + 9));
        drop(certificates);
        assert_eq!(open_again(directory.path()).from(LAST + 9), EngineHeight(LAST + 9));
    }

    #[test]
    fn lowest_height_of_an_earlier_database_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path()).unwrap();
        for height in [1_u64, 2, 4, 5, 6] {
            db.insert(height.to_be_bytes(), &*EngineCodec.encode(&certificate(height)).unwrap()).unwrap();
        }
        assert_eq!(newest(&db).unwrap(), Some(4..=6));
        db.insert("lowest", &6_u64.to_be_bytes()).unwrap();
        assert_eq!(newest(&db).unwrap(), Some(4..=6));
    }

    #[test]
    fn failed_flush_succeeds_later() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("certificates");
        let certificates = Certificates::open(&path).unwrap();
        certificates.add(&certificate(1));
        certificates.flush().unwrap();
        // As after a failed write, the database is closed. A file at its path makes the next opening fail.
        certificates.stored.lock().db = None;
        let moved = directory.path().join("moved");
        std::fs::rename(&path, &moved).unwrap();
        std::fs::write(&path, "").unwrap();
        certificates.add(&certificate(2));
        certificates.flush().unwrap_err();
        assert_eq!((certificates.get(1), certificates.get(2)), (None, Some(certificate(2))));
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(&moved, &path).unwrap();
        // Threads of the closed database can hold its lock for a short time.
        let flushed = (0..500).find(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            certificates.flush().is_ok()
        });
        assert!(flushed.is_some());
        assert_eq!([1, 2].map(|height| certificates.get(height)), [1, 2].map(|height| Some(certificate(height))));
        drop(certificates);
        assert_eq!(open_again(&path).from(2), EngineHeight(1));
    }
}
