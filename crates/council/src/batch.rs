//! Batches of transactions that a member sends to the other members.

use silica_protocol::{DecodeError, Transaction};

use crate::wire::{Reader, Writer, value};

/// Largest batch, in bytes.
pub const MAX_BATCH: usize = 128 * 1024;

/// Largest encoding of a transaction for which an empty batch has room, in bytes.
pub const MAX_TRANSACTION: usize = MAX_BATCH - 2 * NUMBER;

/// Minimum size at which a member sends a batch at once, in bytes.
const FULL_BATCH: usize = 64 * 1024;

/// Length of a number, in bytes. The count of transactions is at the start of a batch, and a length is in front of each
/// transaction.
const NUMBER: usize = 4;

/// Transactions that a member has admitted, in the order of their admission.
///
/// # Examples
///
/// ```
/// use silica_council::TransactionBatch;
/// use silica_crypto::KeyPair;
/// use silica_protocol::{Address, ChainId, Qa, Transaction};
///
/// let key = KeyPair::from_hex(&"01".repeat(32))?;
/// let payment = Transaction::payment(Address::new([7; 20]), Qa::new(1)).chain_id(ChainId::new(333)).nonce(1);
/// let payment = payment.sign(&key)?;
/// let mut batch = TransactionBatch::default();
/// assert!(batch.push(&payment));
/// assert_eq!(batch.len(), 1);
/// assert_eq!(TransactionBatch::decode(&batch.take())?, [payment]);
/// assert!(batch.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionBatch {
    count: usize,
    transactions: Writer,
}

impl TransactionBatch {
    /// Adds a transaction. Returns `false` if the batch has no room for it. An empty batch has room for a transaction
    /// of [`MAX_TRANSACTION`] bytes.
    pub fn push(&mut self, transaction: &Transaction) -> bool {
        let encoded = transaction.encode();
        let len = self.transactions.len().saturating_add(encoded.len());
        if len > MAX_TRANSACTION {
            return false;
        }
        self.transactions.bytes(&encoded);
        self.count = self.count.saturating_add(1);
        true
    }

    /// Returns the number of transactions.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns whether the batch has no transaction.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns whether a member sends the batch at once.
    pub const fn is_full(&self) -> bool {
        self.transactions.len() >= FULL_BATCH
    }

    /// Returns the canonical bytes of the batch, and removes its transactions.
    pub fn take(&mut self) -> Vec<u8> {
        let Self { count, transactions } = std::mem::take(self);
        let mut writer = Writer::default();
        writer.count(count);
        writer.fixed(&transactions.finish());
        writer.finish()
    }

    /// Reads the canonical bytes of a batch. The function does not verify the signatures of the transactions.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if `bytes` are not canonical or exceed [`MAX_BATCH`].
    pub fn decode(bytes: &[u8]) -> Result<Vec<Transaction>, DecodeError> {
        if bytes.len() > MAX_BATCH {
            return Err(value("Batch", format!("at most {MAX_BATCH} bytes"), bytes.len()));
        }
        let mut reader = Reader::new(bytes);
        let transactions = (0..reader.count("Batch.transactions", MAX_BATCH / NUMBER)?)
            .map(|_| Transaction::decode(reader.bytes("Batch.transactions", MAX_BATCH)?))
            .collect::<Result<Vec<_>, _>>()?;
        reader.finish("Batch")?;
        Ok(transactions)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use silica_protocol::UnsignedTransaction;

    use super::*;
    use crate::testing;

    fn transactions(count: u64) -> Vec<Transaction> {
        testing::body(1, false, count).transactions
    }

    /// Returns a transaction whose encoding has `len` bytes.
    fn of_size(len: usize) -> Transaction {
        let transaction = |data: usize| {
            let [transaction] = transactions(1).try_into().unwrap();
            let signature = transaction.signature();
            UnsignedTransaction { data: "x".repeat(data), ..transaction.into_unsigned() }.with_signature(signature)
        };
        // The encoded lengths in front of the data have three bytes each at this size.
        let frame = transaction(100_000).encode().len() - 100_000;
        let made = transaction(len - frame);
        assert_eq!(made.encode().len(), len);
        made
    }

    #[test]
    fn a_batch_keeps_the_order() {
        let transactions = transactions(5);
        let mut batch = TransactionBatch::default();
        assert!(transactions.iter().all(|transaction| batch.push(transaction)));
        assert_eq!(TransactionBatch::decode(&batch.take()), Ok(transactions));
        assert_eq!(batch, TransactionBatch::default());
    }

    #[test]
    fn a_batch_has_a_largest_size() {
        let largest = of_size(MAX_TRANSACTION);
        let mut batch = TransactionBatch::default();
        assert!(batch.push(&largest) && batch.is_full() && !batch.push(&transactions(1)[0]));
        let bytes = batch.take();
        assert_eq!((bytes.len(), TransactionBatch::decode(&bytes)), (MAX_BATCH, Ok(vec![largest])));
        assert!(!TransactionBatch::default().push(&of_size(MAX_TRANSACTION + 1)));
        let error = TransactionBatch::decode(&[bytes, vec![0]].concat()).unwrap_err().to_string();
        assert_eq!(error, "Batch: expected at most 131072 bytes, got 131073");
    }

    #[test]
    fn other_spellings_are_rejected() {
        let error = |bytes: &[u8]| TransactionBatch::decode(bytes).unwrap_err().to_string();
        assert_eq!(error(&[0, 0, 0, 0, 0]), "Batch: expected no bytes after the last field, got 1 bytes");
        assert_eq!(error(&[0, 1, 0, 0]), "Batch.transactions: expected at most 32768, got 65536");
        let mut batch = TransactionBatch::default();
        batch.push(&transactions(1)[0]);
        let bytes = batch.take();
        for len in 0..bytes.len() {
            assert!(TransactionBatch::decode(&bytes[..len]).is_err(), "{len} bytes");
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_changes_the_batch_or_is_rejected(at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let mut batch = TransactionBatch::default();
            let transactions = transactions(2);
            prop_assert!(transactions.iter().all(|transaction| batch.push(transaction)));
            let mut bytes = batch.take();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Ok(decoded) = TransactionBatch::decode(&bytes) {
                prop_assert_ne!(&decoded, &transactions);
                let mut again = TransactionBatch::default();
                prop_assert!(decoded.iter().all(|transaction| again.push(transaction)));
                prop_assert_eq!(again.take(), bytes);
            }
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _result = TransactionBatch::decode(&bytes);
        }
    }
}
