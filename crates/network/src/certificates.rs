//! The certificates of decided entries: who decided an entry, for members that lack it.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use arc_malachitebft_app::types::{codec::Codec as _, core::CommitCertificate};
use parking_lot::Mutex;

use crate::{codec::EngineCodec, context::Ctx, types::EngineHeight};

/// Number of blocks for which the certificates of bodies are kept. The certificates of seals are kept for ever.
const BODIES: u64 = 4_096;

/// Memory for cached pages, in bytes.
const CACHE: u64 = 4 * 1024 * 1024;

/// The certificates by height. A crash can lose the newest certificates of bodies, which the journal has.
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
}

impl Certificates {
    pub(crate) fn open(path: &Path) -> sled::Result<Self> {
        let stored = Stored { db: Some(open(path)?), unflushed: BTreeMap::new() };
        Ok(Self { path: path.to_owned(), stored: Mutex::new(stored) })
    }

    /// Adds a certificate. The next flush stores it.
    pub(crate) fn add(&self, certificate: &CommitCertificate<Ctx>) {
        let encoded = EngineCodec.encode(certificate).unwrap_or_default();
        self.stored.lock().unflushed.insert(certificate.height.0, encoded.to_vec());
    }

    /// Makes all certificates durable. After a failure, the next call tries again.
    ///
    /// A member that has committed a block votes for its seal no more. If too few members have committed it, the others
    /// need its certificate to follow. So no member commits a block before it has the certificate on disk.
    pub(crate) fn flush(&self) -> sled::Result<()> {
        // Other threads read during the flush.
        let (db, unflushed) = {
            let stored = self.stored.lock();
            (stored.db.clone(), stored.unflushed.clone())
        };
        let written = guarded(|| {
            let db = db.map_or_else(|| open(&self.path), Ok)?;
            db.apply_batch(batch(&unflushed))?;
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
                // Closing writes too. The certificates since the last flush are in memory.
                let _: sled::Result<()> = guarded(|| {
                    drop(failed);
                    Ok(())
                });
                Err(error)
            }
        }
    }

    /// Returns the certificate of a height, if it is stored.
    pub(crate) fn get(&self, height: u64) -> Option<CommitCertificate<Ctx>> {
        let stored = self.stored.lock();
        let bytes = match stored.unflushed.get(&height) {
            Some(bytes) => bytes.clone(),
            None => stored.db.as_ref()?.get(height.to_be_bytes()).ok()??.to_vec(),
        };
        EngineCodec.decode(bytes.into()).ok()
    }

    /// Returns the lowest height from which on this member has all certificates up to `tip`. Both halves of a block are
    /// needed, so this is the body after the latest gap.
    pub(crate) fn from(&self, tip: u64) -> EngineHeight {
        let first = tip.saturating_sub(2 * BODIES).max(1);
        let stored = self.stored.lock();
        // A range of a map must not begin above its end, and the first tip is 0.
        let unflushed = stored.unflushed.range(..=tip).rev().map(|(height, _)| *height);
        let unflushed = unflushed.take_while(|height| *height >= first);
        let lowest = without_gap(tip.saturating_add(1), unflushed);
        let Some(db) = &stored.db else { return EngineHeight(lowest) };
        let keys = db.range(first.to_be_bytes()..lowest.to_be_bytes()).keys().rev().map_while(Result::ok);
        let heights = keys.map_while(|key| key.as_ref().try_into().map(u64::from_be_bytes).ok());
        EngineHeight(without_gap(lowest, heights))
    }
}

fn open(path: &Path) -> sled::Result<sled::Db> {
    sled::Config::new().path(path).cache_capacity(CACHE).flush_every_ms(None).open()
}

/// Returns the writes that store certificates, and that remove old certificates of bodies.
fn batch(certificates: &BTreeMap<u64, Vec<u8>>) -> sled::Batch {
    let mut batch = sled::Batch::default();
    for (height, encoded) in certificates {
        batch.insert(&height.to_be_bytes(), &**encoded);
        // Bodies have odd heights.
        if let Some(old) = height.checked_sub(2 * BODIES).filter(|old| old % 2 == 1) {
            batch.remove(&old.to_be_bytes());
        }
    }
    batch
}

/// Returns the lowest height below `end` from which on the heights, the highest first, have no gap.
fn without_gap(end: u64, heights: impl Iterator<Item = u64>) -> u64 {
    heights.zip((0..end).rev()).take_while(|(height, expected)| height == expected).last().map_or(end, |(it, _)| it)
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
            assert_eq!([6, 5, 3, 4, 0].map(|tip| certificates.from(tip).0), [5, 5, 1, 5, 1]);
        }
    }

    #[test]
    fn old_certificates_of_bodies_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let certificates = Certificates::open(directory.path()).unwrap();
        for height in [1, 2, 1 + 2 * BODIES, 2 + 2 * BODIES] {
            certificates.add(&certificate(height));
        }
        certificates.flush().unwrap();
        assert_eq!(certificates.get(1), None);
        assert_eq!(certificates.get(2), Some(certificate(2)));
    }
    #[test]
    fn failed_flush_succeeds_later() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("certificates");
        let certificates = Certificates::open(&path).unwrap();
        certificates.add(&certificate(1));
        certificates.flush().unwrap();
        // As after a failed write: the database is closed, and a file in its place lets the opening fail.
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
        assert_eq!(Certificates::open(&path).unwrap().from(2), EngineHeight(1));
    }
}
