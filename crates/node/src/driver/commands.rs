//! Edits of the state, changes of the block mode, and the minimum gas price of the operator.

use silica_chain::{
    Edit, EngineError, GasPriceError,
    consensus::{Engine, Input},
};
use silica_protocol::GasPrice;

use super::{
    error::DriverError,
    event::Edited,
    step::failed,
    worker::{Driver, first_tick},
};
use crate::block_mode::BlockMode;

impl<E: Engine> Driver<E> {
    /// Makes a block with an edit of the state.
    pub(super) fn edit(&mut self, edit: Edit) -> Result<Edited, DriverError> {
        self.node.require_no_pause()?;
        self.recover()?;
        match self.advance(Input::Edit { at: self.time(), edit }) {
            Ok(_) => {
                let block = self.node.context().head();
                // The edit may have changed a nonce, so that a pending transaction is executable. The edit is
                // committed already, so its reply does not depend on the block of such a transaction.
                self.flush_pool();
                Ok(Ok(block))
            }
            Err(EngineError::Edit(refused)) => Ok(Err(refused)),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Changes the block mode, and makes blocks for pending transactions if the new mode is instant.
    pub(super) fn set_mode(&mut self, mode: BlockMode) {
        self.node.publish_mode(mode);
        self.next_tick = first_tick(mode);
        // Empty the pool before the nonce policy changes. Otherwise the chain rejects a transaction behind a pending
        // one as a nonce gap.
        self.flush_pool();
        self.producer.set_nonce_policy(mode.nonces(self.node.chain().config().policy.nonces));
        self.producer.set_numbering(mode.numbering());
        // Include the transactions that entered the pool after the first flush.
        self.flush_pool();
    }

    /// Sets the minimum gas price, and stores it for the next start of the node.
    pub(super) fn set_minimum_gas_price(&mut self, price: GasPrice) -> Result<(), GasPriceError> {
        self.producer.set_minimum_gas_price(price)?;
        self.keep_gas_price(Some(price));
        Ok(())
    }

    /// Stores the minimum gas price for the next start of the node. Logs a failure.
    pub(super) fn keep_gas_price(&self, price: Option<GasPrice>) {
        if let Some(Err(error)) = self.data_dir.as_ref().map(|data_dir| data_dir.keep_gas_price(price)) {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "failed to store the minimum gas price; a restart resets it"
            );
        }
    }
}
