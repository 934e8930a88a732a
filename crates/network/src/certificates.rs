//! The certificates of decided entries: who decided an entry, for members that lack it.

use std::path::Path;

use arc_malachitebft_app::types::{codec::Codec as _, core::CommitCertificate};

use crate::{codec::EngineCodec, context::Ctx, types::EngineHeight};

/// Number of blocks for which the certificates of bodies are kept. The certificates of seals are kept for ever.
const BODIES: u64 = 4_096;

/// Memory for cached pages, in bytes.
const CACHE: u64 = 4 * 1024 * 1024;

/// The certificates by height. A crash can lose the newest certificates of bodies, which the journal has.
#[derive(Clone, Debug)]
pub(crate) struct Certificates(sled::Db);

impl Certificates {
    pub(crate) fn open(path: &Path) -> sled::Result<Self> {
        sled::Config::new().path(path).cache_capacity(CACHE).flush_every_ms(Some(1_000)).open().map(Self)
    }

    /// Stores a certificate. A failure is in the log: the other members have the certificate.
    pub(crate) fn add(&self, certificate: &CommitCertificate<Ctx>) {
        let height = certificate.height.0;
        let encoded = EngineCodec.encode(certificate).unwrap_or_default();
        let stored = self.0.insert(height.to_be_bytes(), &*encoded).and_then(|_| {
            // Bodies have odd heights.
            match height.checked_sub(2 * BODIES).filter(|old| old % 2 == 1) {
                Some(old) => self.0.remove(old.to_be_bytes()).map(drop),
                None => Ok(()),
            }
        });
        if let Err(error) = stored {
            tracing::warn!(height, error = &error as &dyn std::error::Error, "failed to store a certificate");
        }
    }

    /// Makes all certificates durable.
    ///
    /// A member that has committed a block votes for its seal no more. If too few members have committed it, the others
    /// need its certificate to follow. So no member commits a block before it has the certificate on disk.
    pub(crate) fn flush(&self) -> sled::Result<()> {
        self.0.flush().map(drop)
    }

    /// Returns the certificate of a height, if it is stored.
    pub(crate) fn get(&self, height: u64) -> Option<CommitCertificate<Ctx>> {
        let bytes = self.0.get(height.to_be_bytes()).ok()??;
        EngineCodec.decode(bytes.to_vec().into()).ok()
    }

    /// Returns the lowest height from which on this member has all certificates up to `tip`. Both halves of a block are
    /// needed, so this is the body after the latest gap.
    pub(crate) fn from(&self, tip: u64) -> EngineHeight {
        let first = tip.saturating_sub(2 * BODIES).max(1);
        let keys = self.0.range(first.to_be_bytes()..).keys().rev();
        let mut lowest = tip.saturating_add(1);
        for key in keys.map_while(Result::ok) {
            let Ok(height) = key.as_ref().try_into().map(u64::from_be_bytes) else { break };
            if height > tip {
                continue;
            }
            if height.saturating_add(1) != lowest {
                break;
            }
            lowest = height;
        }
        EngineHeight(lowest)
    }
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
        let certificates = Certificates::open(directory.path()).unwrap();
        assert_eq!(certificates.from(0), EngineHeight(1));
        for height in [1, 2, 3, 5, 6] {
            certificates.add(&certificate(height));
        }
        assert_eq!(certificates.get(5), Some(certificate(5)));
        assert_eq!(certificates.get(4), None);
        assert_eq!([6, 5, 3, 4].map(|tip| certificates.from(tip).0), [5, 5, 1, 5]);
    }

    #[test]
    fn old_certificates_of_bodies_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let certificates = Certificates::open(directory.path()).unwrap();
        for height in [1, 2, 1 + 2 * BODIES, 2 + 2 * BODIES] {
            certificates.add(&certificate(height));
        }
        assert_eq!(certificates.get(1), None);
        assert_eq!(certificates.get(2), Some(certificate(2)));
    }
}
