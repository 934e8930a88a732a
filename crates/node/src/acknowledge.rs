//! The setting for the acknowledgement of a transaction by a member of a network (`--acknowledge`).

/// The event after which a member of a network acknowledges a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Acknowledge {
    /// When a third of the other members, rounded down, have confirmed the transaction, or after 250 ms.
    Relayed,
    /// When the pool of this member has the transaction.
    Pool,
    /// When this member has committed the block of the transaction, or after 30 s.
    Block,
}

#[cfg(test)]
#[cfg(feature = "network")]
mod tests {
    use std::{future::Future, sync::Arc, time::Duration};

    use silica_chain::{
        ChainConfig, DropReason, Genesis, PUBLISHED_ACCOUNTS, TxStatus,
        consensus::{Solo, range_signer},
    };
    use silica_council::MAX_TRANSACTION;
    use silica_crypto::KeyPair;
    use silica_protocol::{Address, Gas, GasPrice, Qa, Transaction};
    use silica_state::{Store, StoreOptions};
    use tokio::time::{Instant, sleep, timeout};

    use super::*;
    use crate::{
        block_mode::BlockMode,
        clock::{self, Clock},
        data_dir::draw_key,
        driver::{self, MemberRelay, NodeHandle, RunningDriver, SubmitError},
        relay::{self, Relay},
    };

    /// A member without connections: the other members neither confirm its transactions nor make blocks. The test can
    /// make blocks.
    struct Alone {
        node: NodeHandle,
        driver: RunningDriver,
    }

    impl Alone {
        fn new(acknowledge: Acknowledge) -> Self {
            let (store, key) = (Store::ephemeral(StoreOptions::default()), draw_key().unwrap());
            store.set_signer(range_signer(&key));
            let config = ChainConfig::isolated();
            let (chain, producer) =
                silica_chain::open(store, config, &Genesis::default(), key.public_key(), clock::now()).unwrap();
            let relay = Relay::start(chain.clone(), 4).unwrap();
            let (engine, mode) = (Solo::new(key), BlockMode::Manual);
            let (node, driver) = driver::start(chain, producer, engine, mode, Clock::default(), None).unwrap();
            node.join(MemberRelay {
                relay: Arc::clone(&relay),
                acknowledge,
                faults: 1,
                stale: Duration::from_secs(10),
            });
            Self { node, driver }
        }

        /// Returns a payment of the first published account. Its gas price exceeds the minimum by `above` Qa.
        fn payment(&self, above: u128) -> Transaction {
            let chain = self.node.chain();
            let price = chain.snapshot().minimum_gas_price().get().get() + above;
            let payment = Transaction::payment(Address::new([7; 20]), Qa::new(1)).chain_id(chain.config().chain_id);
            payment.nonce(1).gas_price(GasPrice::new(Qa::new(price))).sign(&key()).unwrap()
        }

        /// Submits a transaction as `CreateTransaction` does.
        fn submit(&self, transaction: Transaction) -> impl Future<Output = Result<(), SubmitError>> + Send + 'static {
            let node = self.node.clone();
            async move {
                let verified = node.chain().admit(transaction, false).unwrap();
                node.submit(verified).await.map(drop)
            }
        }

        /// Submits a payment, and returns the time until the response.
        async fn time_of_a_payment(self) -> Duration {
            let begun = Instant::now();
            self.submit(self.payment(0)).await.unwrap();
            let time = begun.elapsed();
            assert_eq!(self.node.chain().waiting(), 1);
            drop(self.driver.stop().unwrap());
            time
        }
    }

    fn key() -> KeyPair {
        KeyPair::from_hex(PUBLISHED_ACCOUNTS[0].secret_key()).unwrap()
    }

    /// Checks that a time is at most 2 ms longer than the expected time. The timer of the runtime has steps of 1 ms.
    #[track_caller]
    fn check_time(time: Duration, expected: Duration) {
        assert!(time >= expected && time <= expected + Duration::from_millis(2), "{time:?}, not {expected:?}");
    }

    /// Waits until a condition holds. Panics after one minute.
    async fn wait(holds: impl Fn() -> bool) {
        let poll = async {
            while !holds() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_mins(1), poll).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn response_without_confirmations_comes_after_a_limit() {
        let time = Alone::new(Acknowledge::Relayed).time_of_a_payment().await;
        check_time(time, Duration::from_millis(250));
    }

    #[tokio::test(start_paused = true)]
    async fn response_of_the_pool_waits_for_no_member() {
        check_time(Alone::new(Acknowledge::Pool).time_of_a_payment().await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn response_without_a_block_comes_after_a_limit() {
        check_time(Alone::new(Acknowledge::Block).time_of_a_payment().await, Duration::from_secs(30));
    }

    #[tokio::test]
    async fn response_with_block_has_the_outcome_of_the_transaction() {
        let alone = Alone::new(Acknowledge::Block);
        let (first, second) = (alone.payment(0), alone.payment(1));
        let [hash, hash_of_second] = [&first, &second].map(|transaction| transaction.hash());
        let first = tokio::spawn(alone.submit(first));
        wait(|| alone.node.chain().waiting() > 0).await;
        // The second payment has the same nonce and a higher price, so the pool drops the first.
        let second = tokio::spawn(alone.submit(second));
        wait(|| relay::outcome(alone.node.chain(), &hash).is_some()).await;
        assert!(matches!(relay::outcome(alone.node.chain(), &hash), Some(TxStatus::Dropped(_))));
        alone.node.mine(1).await.unwrap();
        let dropped = first.await.unwrap().unwrap_err();
        assert!(matches!(dropped, SubmitError::Dropped(DropReason::Outbid)), "{dropped}");
        second.await.unwrap().unwrap();
        let snapshot = alone.node.chain().snapshot();
        let in_blocks = [hash, hash_of_second].map(|hash| snapshot.transaction(&hash).unwrap().is_some());
        assert_eq!(in_blocks, [false, true]);
        drop(alone.driver.stop().unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn transaction_above_a_message_is_rejected_before_the_pool() {
        let alone = Alone::new(Acknowledge::Pool);
        let mut large = alone.payment(0).into_unsigned();
        (large.to, large.amount) = (Address::ZERO, Qa::new(0));
        (large.code, large.data) = ("scilla_version 0".to_owned(), " ".repeat(MAX_TRANSACTION));
        large.gas_limit = Gas::new(200_000);
        let large = large.sign(&key()).unwrap();
        let len = large.encode().len();
        let rejected = alone.submit(large).await.unwrap_err();
        assert!(matches!(rejected, SubmitError::TooLarge { most: MAX_TRANSACTION, got } if got == len), "{rejected}");
        assert_eq!(alone.node.chain().waiting(), 0);
        drop(alone.driver.stop().unwrap());
    }
}
