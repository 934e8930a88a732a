//! The balances of the null account before the vacuous blocks.
//!
//! A vacuous block pays at most the balance of the null account. The record does not have this balance. So the node
//! computes it from the genesis on: each vacuous block adds the fees of its DS epoch and subtracts the paid reward. The
//! log keeps the balance at every [`STRIDE`]th DS epoch, so that a later request computes only a few DS epochs.

use parking_lot::Mutex;
use silica_protocol::Qa;

/// Number of DS epochs between two kept balances.
const STRIDE: u64 = 256;

/// The kept balances of the null account.
#[derive(Debug)]
pub(crate) struct ReserveLog(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    /// Number of reverts of the chain at which the balances are correct.
    reverts: u64,
    /// The balances before DS epoch 0, [`STRIDE`], 2 × [`STRIDE`], and so on. The first one is the balance at genesis.
    balances: Vec<Qa>,
}

/// The balances of the null account before consecutive DS epochs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reserves {
    /// The DS epoch of the first balance.
    first: u64,
    balances: Vec<Qa>,
}

impl Reserves {
    /// Returns the balance before the vacuous block of a DS epoch, or `None` if there is no balance for this DS epoch.
    pub(crate) fn before(&self, epoch: u64) -> Option<Qa> {
        let place = usize::try_from(epoch.checked_sub(self.first)?).ok()?;
        self.balances.get(place).copied()
    }
}

impl ReserveLog {
    /// Creates the log of a chain whose null account has the balance `genesis` at genesis.
    pub(crate) fn new(genesis: Qa) -> Self {
        Self(Mutex::new(Kept { reverts: 0, balances: vec![genesis] }))
    }

    /// Prepares the log for a chain with this number of reverts. `complete` gets the number of reverts that the log
    /// has, and returns the number of DS epochs that no later revert has removed. Returns whether the log has `reverts`
    /// reverts now. If another thread has prepared the log after a later revert, the log has more reverts.
    pub(crate) fn follow(&self, reverts: u64, complete: impl FnOnce(u64) -> u64) -> bool {
        let mut kept = self.0.lock();
        if kept.reverts < reverts {
            let still = usize::try_from(complete(kept.reverts) / STRIDE).unwrap_or(usize::MAX);
            kept.balances.truncate(still.saturating_add(1));
            kept.reverts = reverts;
        }
        kept.reverts == reverts
    }

    /// Returns the balances before some DS epochs up to `epoch`. `after` computes the balance after a DS epoch from the
    /// balance before the DS epoch. Before each step, the function calls `may_go_on` with the number of DS epochs in
    /// the step. If `may_go_on` returns false, the function returns `None`, and a repeated call continues at this step.
    /// The function also returns `None` if the number of reverts in the log is not `reverts`.
    pub(crate) fn up_to<E>(
        &self,
        epoch: u64,
        reverts: u64,
        mut may_go_on: impl FnMut(u64) -> bool,
        mut after: impl FnMut(u64, Qa) -> Result<Qa, E>,
    ) -> Result<Option<Reserves>, E> {
        loop {
            let Some((first, mut balance)) = self.nearest(epoch, reverts) else { return Ok(None) };
            let end = first.saturating_add(STRIDE);
            if epoch < end {
                let mut balances = vec![balance];
                for before in first..epoch {
                    balance = after(before, balance)?;
                    balances.push(balance);
                }
                return Ok(Some(Reserves { first, balances }));
            }
            if !may_go_on(STRIDE) {
                return Ok(None);
            }
            for before in first..end {
                balance = after(before, balance)?;
            }
            if !self.keep(end, reverts, balance) {
                return Ok(None);
            }
        }
    }

    /// Returns the last DS epoch up to `epoch` with a balance in the log, and this balance. Returns `None` if the
    /// number of reverts in the log is not `reverts`.
    fn nearest(&self, epoch: u64, reverts: u64) -> Option<(u64, Qa)> {
        let kept = self.0.lock();
        let last = kept.balances.len().checked_sub(1)?;
        let at = usize::try_from(epoch / STRIDE).unwrap_or(usize::MAX).min(last);
        let first = u64::try_from(at).ok()?.checked_mul(STRIDE)?;
        kept.balances.get(at).filter(|_| kept.reverts == reverts).map(|balance| (first, *balance))
    }

    /// Adds the balance before a DS epoch to the log, if it is the next balance of the log. Returns false if the number
    /// of reverts in the log is not `reverts`.
    fn keep(&self, epoch: u64, reverts: u64, balance: Qa) -> bool {
        let mut kept = self.0.lock();
        if kept.reverts == reverts && u64::try_from(kept.balances.len()).ok() == Some(epoch / STRIDE) {
            kept.balances.push(balance);
        }
        kept.reverts == reverts
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Returns the balance after a DS epoch. In this model of a chain, each balance depends on the previous balance.
    fn after(epoch: u64, balance: Qa) -> Qa {
        Qa::new(balance.get() / 2 + u128::from(epoch % 7))
    }

    fn expected(epoch: u64) -> Qa {
        (0..epoch).fold(Qa::new(1_000), |balance, epoch| after(epoch, balance))
    }

    /// Returns the balances up to a DS epoch. `may_go_on` is as in [`ReserveLog::up_to`].
    fn up_to(log: &ReserveLog, epoch: u64, reverts: u64, may_go_on: impl FnMut(u64) -> bool) -> Option<Reserves> {
        log.up_to(epoch, reverts, may_go_on, |epoch, balance| Ok::<_, Infallible>(after(epoch, balance))).unwrap()
    }

    #[test]
    fn balances_are_those_of_a_computation_from_genesis() {
        let log = ReserveLog::new(Qa::new(1_000));
        for epoch in [0, 5, 255, 256, 2_000, 700, 1_023, 3] {
            let reserves = up_to(&log, epoch, 0, |_| true).unwrap();
            for known in epoch / STRIDE * STRIDE..=epoch {
                assert_eq!(reserves.before(known), Some(expected(known)), "{epoch} {known}");
            }
            assert_eq!(reserves.before(epoch + 1), None);
        }
    }

    #[test]
    fn interrupted_computation_continues() {
        let log = ReserveLog::new(Qa::new(1_000));
        let mut calls = 0;
        loop {
            let mut first = true;
            let once = |_| std::mem::take(&mut first);
            calls += 1;
            if let Some(reserves) = up_to(&log, 1_500, 0, once) {
                assert_eq!(reserves.before(1_500), Some(expected(1_500)));
                break;
            }
        }
        assert_eq!(calls, 5, "each call computes 256 DS epochs");
    }

    #[test]
    fn revert_removes_the_balances_of_removed_epochs() {
        let log = ReserveLog::new(Qa::new(1_000));
        log.up_to(2_000, 0, |_| true, |_, _| Ok::<_, Infallible>(Qa::new(7))).unwrap().unwrap();
        assert!(log.follow(1, |_| 600));
        assert!(!log.follow(0, |_| 600), "the log has more reverts");
        assert_eq!(up_to(&log, 2_000, 0, |_| true), None);
        let reserves = up_to(&log, 513, 1, |_| true).unwrap();
        assert_eq!((reserves.before(512), reserves.before(513)), (Some(Qa::new(7)), Some(after(512, Qa::new(7)))));
        let mut computed = 0;
        log.up_to(
            1_300,
            1,
            |_| true,
            |_, balance| {
                computed += 1;
                Ok::<_, Infallible>(balance)
            },
        )
        .unwrap();
        assert_eq!(computed, 1_300 - 512, "the balances from epoch 512 on were removed, except the first");
    }
}
