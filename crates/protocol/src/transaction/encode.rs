//! The exact bytes of a transaction: the bytes that are signed and hashed, and the bytes that are stored and relayed.
//!
//! A node hashes and checks thousands of transactions. So this module writes the bytes directly, without the copies of
//! a protobuf message. A test compares the bytes with the bytes of the message in `proto`.

use alloc::vec::Vec;

use prost::{bytes::BufMut, encoding::encode_varint};

use crate::{
    address::Address,
    amount::Qa,
    error::DecodeError,
    gas::{Gas, GasPrice},
    hash::{TxHash, sha256},
    key::{PublicKey, Signature},
    number::Nonce,
    proto::{
        ProtoTransaction, ProtoTransactionCoreInfo, decode, expect_bytes, expect_canonical, expect_present,
        expect_text, expect_value, expect_wrapped,
    },
    transaction::{Transaction, UnsignedTransaction},
    version::Version,
};

/// Largest number of bytes before `code`: 6 of version, 11 of nonce, 22 of address, 37 of key, 20 of amount, 20 of gas
/// price, and 11 of gas limit.
const HEAD_MAX: usize = 127;
/// Largest number of bytes of a tag with a length or number.
const PREFIX_MAX: usize = 11;
/// Largest number of bytes around the core information: the hash, a tag with a length, and the signature.
const FRAME_MAX: usize = 34 + PREFIX_MAX + 68;

impl UnsignedTransaction {
    /// Returns the core information. The sender signs these bytes, and their SHA-256 is the hash of the transaction.
    ///
    /// A caller that needs both the bytes and the hash computes [`sha256`] of the bytes.
    pub fn signing_payload(&self) -> Vec<u8> {
        self.with_core(|parts| parts.concat())
    }

    /// Returns the hash of the transaction. It does not cover the signature.
    pub fn hash(&self) -> TxHash {
        self.with_core(|parts| TxHash::new(sha256(parts)))
    }

    fn from_core(info: ProtoTransactionCoreInfo) -> Result<Self, DecodeError> {
        Ok(Self {
            version: Version::from_packed(info.version),
            nonce: Nonce::new(expect_present("CoreInfo.nonce", info.nonce)?),
            to: Address::new(expect_bytes("CoreInfo.toaddr", &info.toaddr)?),
            amount: Qa::from_be_bytes(expect_wrapped("CoreInfo.amount", info.amount.as_ref())?),
            gas_price: GasPrice::new(Qa::from_be_bytes(expect_wrapped("CoreInfo.gasprice", info.gasprice.as_ref())?)),
            gas_limit: Gas::new(info.gaslimit),
            code: expect_text("CoreInfo.code", info.code.unwrap_or_default())?,
            data: expect_text("CoreInfo.data", info.data.unwrap_or_default())?,
            sender_key: PublicKey::new(expect_wrapped("CoreInfo.senderpubkey", info.senderpubkey.as_ref())?),
        })
    }

    /// Calls `read` with the core information in consecutive parts. Code and data are not copied.
    fn with_core<R>(&self, read: impl FnOnce(&[&[u8]]) -> R) -> R {
        let mut head = [0; HEAD_MAX];
        let mut code_prefix = [0; PREFIX_MAX];
        let mut data_prefix = [0; PREFIX_MAX];
        read(&[
            written(&mut head, |out| self.put_head(out)),
            written(&mut code_prefix, |out| put_text_prefix(out, 0x42, &self.code)),
            self.code.as_bytes(),
            written(&mut data_prefix, |out| put_text_prefix(out, 0x4a, &self.data)),
            self.data.as_bytes(),
        ])
    }

    /// Writes the fields before `code`. A version or gas limit of zero is omitted, but nonce, amount and gas price are
    /// always written.
    fn put_head(&self, out: &mut Room<'_>) {
        // The first byte of each field is its tag: the field number times 8, plus the wire type.
        if self.version.packed() != 0 {
            put_number(out, 0x08, self.version.packed().into());
        }
        put_number(out, 0x10, self.nonce.get());
        out.put_slice(&[0x1a, 20]);
        out.put_slice(self.to.as_bytes());
        out.put_slice(&[0x22, 35, 0x0a, 33]);
        out.put_slice(self.sender_key.as_bytes());
        out.put_slice(&[0x2a, 18, 0x0a, 16]);
        out.put_slice(&self.amount.to_be_bytes());
        out.put_slice(&[0x32, 18, 0x0a, 16]);
        out.put_slice(&self.gas_price.get().to_be_bytes());
        if self.gas_limit != Gas::ZERO {
            put_number(out, 0x38, self.gas_limit.get());
        }
    }
}

impl Transaction {
    /// Returns the serialised transaction, which is stored and relayed: hash, core information and signature
    /// (`ProtoTransaction`).
    pub fn encode(&self) -> Vec<u8> {
        self.with_core(|parts| {
            let len: usize = parts.iter().map(|part| part.len()).sum();
            let mut out = Vec::with_capacity(len.saturating_add(FRAME_MAX));
            // Field 1, with the 32 bytes of the hash.
            out.put_slice(&[0x0a, 32]);
            out.put_slice(&sha256(parts));
            put_length(&mut out, 0x12, len);
            for part in parts {
                out.put_slice(part);
            }
            // Field 3, a message that has the 64 bytes of the signature in its field 1.
            out.put_slice(&[0x1a, 66, 0x0a, 64]);
            out.put_slice(self.signature.as_bytes());
            out
        })
    }

    /// Reads a serialised transaction.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for the first missing, invalid or not canonical field. The field `tranid` is invalid if it is
    /// not the hash of the core information.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoTransaction";
        let message: ProtoTransaction = decode(NAME, bytes)?;
        let info = expect_present("ProtoTransaction.info", message.info)?;
        let signature = expect_wrapped("ProtoTransaction.signature", message.signature.as_ref())?;
        let transaction = UnsignedTransaction::from_core(info)?.with_signature(Signature::new(signature));
        // The serialised form contains the hash. If all bytes are equal, the given hash is correct.
        let canonical = transaction.encode();
        if canonical != bytes {
            let hash = TxHash::new(expect_bytes("ProtoTransaction.tranid", &message.tranid)?);
            expect_value("ProtoTransaction.tranid", &transaction.hash(), &hash)?;
            expect_canonical(NAME, &canonical, bytes)?;
        }
        Ok(transaction)
    }
}

/// The free rest of a buffer with a fixed size.
type Room<'a> = &'a mut [u8];

/// Returns the part of `buffer` that `write` fills.
fn written(buffer: &mut [u8], write: impl FnOnce(&mut Room<'_>)) -> &[u8] {
    let mut rest = &mut *buffer;
    write(&mut rest);
    let free = rest.len();
    let end = buffer.len().saturating_sub(free);
    buffer.split_at(end).0
}

fn put_number(out: &mut impl BufMut, tag: u8, number: u64) {
    out.put_u8(tag);
    encode_varint(number, out);
}

fn put_length(out: &mut impl BufMut, tag: u8, len: usize) {
    put_number(out, tag, u64::try_from(len).expect("no machine has lengths beyond 64 bits"));
}

/// Writes tag and length of a text, or nothing for an empty text, because an empty text is omitted.
fn put_text_prefix(out: &mut impl BufMut, tag: u8, text: &str) {
    if !text.is_empty() {
        put_length(out, tag, text.len());
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::{
        arbitrary::{any_transaction, check_refused, codec_properties, wrong_length},
        proto::ByteArray,
    };

    const SIGNATURE: Signature = Signature::new([7; 64]);

    codec_properties!(codec, Transaction, any_transaction());

    proptest::proptest! {
        #[test]
        fn parts_are_the_message(transaction in any_transaction()) {
            let core_message = to_message(&transaction);
            let core = core_message.encode_to_vec();
            proptest::prop_assert_eq!(&transaction.signing_payload(), &core);
            proptest::prop_assert_eq!(transaction.hash().to_bytes(), sha256(&[&core]));
            proptest::prop_assert_eq!(transaction.encode(), seal(core_message, transaction.signature()).encode_to_vec());
        }
    }

    /// Returns the core information as a protobuf message.
    fn to_message(transaction: &UnsignedTransaction) -> ProtoTransactionCoreInfo {
        let text = |text: &str| Some(text.as_bytes().to_vec()).filter(|bytes| !bytes.is_empty());
        ProtoTransactionCoreInfo {
            version: transaction.version.packed(),
            nonce: Some(transaction.nonce.get()),
            toaddr: transaction.to.as_bytes().to_vec(),
            senderpubkey: Some(ByteArray::wrap(transaction.sender_key)),
            amount: Some(ByteArray::wrap(transaction.amount.to_be_bytes())),
            gasprice: Some(ByteArray::wrap(transaction.gas_price.get().to_be_bytes())),
            gaslimit: transaction.gas_limit.get(),
            code: text(&transaction.code),
            data: text(&transaction.data),
        }
    }

    /// Returns a protobuf message with this core information, the hash of this information, and a signature.
    fn seal(info: ProtoTransactionCoreInfo, signature: Signature) -> ProtoTransaction {
        ProtoTransaction {
            tranid: sha256(&[&info.encode_to_vec()]).to_vec(),
            info: Some(info),
            signature: Some(ByteArray::wrap(signature)),
        }
    }

    fn transaction() -> UnsignedTransaction {
        UnsignedTransaction {
            version: Version::from_packed(65_537),
            nonce: Nonce::new(1),
            to: Address::new([1; 20]),
            amount: Qa::new(5),
            gas_price: GasPrice::new(Qa::new(2_000_000_000)),
            gas_limit: Gas::new(50),
            code: String::new(),
            data: String::from("{}"),
            sender_key: PublicKey::new([2; 33]),
        }
    }

    /// Changes the core information, and checks the error of the decoder.
    #[track_caller]
    fn check_core(edit: impl FnOnce(&mut ProtoTransactionCoreInfo), expected: &DecodeError) {
        let mut info = to_message(&transaction());
        edit(&mut info);
        check_refused(&Transaction::decode(&seal(info, SIGNATURE).encode_to_vec()), expected);
    }

    #[test]
    fn longest_head_fits() {
        let longest = UnsignedTransaction {
            version: Version::from_packed(u32::MAX),
            nonce: Nonce::new(u64::MAX),
            amount: Qa::MAX,
            gas_price: GasPrice::new(Qa::MAX),
            gas_limit: Gas::new(u64::MAX),
            data: String::new(),
            ..transaction()
        };
        assert_eq!(longest.signing_payload().len(), HEAD_MAX);
        let longest = longest.with_signature(SIGNATURE);
        assert_eq!(Transaction::decode(&longest.encode()), Ok(longest));
    }

    #[test]
    fn wrong_lengths_name_the_field() {
        check_core(|info| info.toaddr.truncate(19), &wrong_length("CoreInfo.toaddr", 20, 19));
        check_core(|info| info.toaddr.clear(), &wrong_length("CoreInfo.toaddr", 20, 0));
        let wrapped = |len| Some(ByteArray::wrap(vec![1; len]));
        check_core(|info| info.senderpubkey = wrapped(65), &wrong_length("CoreInfo.senderpubkey", 33, 65));
        check_core(|info| info.amount = wrapped(17), &wrong_length("CoreInfo.amount", 16, 17));
        check_core(|info| info.gasprice = wrapped(0), &wrong_length("CoreInfo.gasprice", 16, 0));
        let mut message = seal(to_message(&transaction()), SIGNATURE);
        message.signature = wrapped(65);
        check_refused(
            &Transaction::decode(&message.encode_to_vec()),
            &wrong_length("ProtoTransaction.signature", 64, 65),
        );
        message = seal(to_message(&transaction()), SIGNATURE);
        message.tranid.push(0);
        check_refused(&Transaction::decode(&message.encode_to_vec()), &wrong_length("ProtoTransaction.tranid", 32, 33));
    }

    #[test]
    fn missing_fields_are_named() {
        check_core(|info| info.nonce = None, &DecodeError::Missing { field: "CoreInfo.nonce" });
        check_core(|info| info.senderpubkey = None, &DecodeError::Missing { field: "CoreInfo.senderpubkey" });
        check_core(|info| info.amount = None, &DecodeError::Missing { field: "CoreInfo.amount" });
        check_core(|info| info.gasprice = None, &DecodeError::Missing { field: "CoreInfo.gasprice" });
        check_refused(&Transaction::decode(&[]), &DecodeError::Missing { field: "ProtoTransaction.info" });
    }

    #[test]
    fn text_must_be_utf8() {
        let invalid = || Some(vec![b'a', 0xff]);
        check_core(|info| info.code = invalid(), &DecodeError::Text { field: "CoreInfo.code", position: 1 });
        check_core(|info| info.data = invalid(), &DecodeError::Text { field: "CoreInfo.data", position: 1 });
    }

    #[test]
    fn hash_must_be_that_of_the_core() {
        let mut message = seal(to_message(&transaction()), SIGNATURE);
        message.tranid = vec![0; 32];
        let expected = DecodeError::Value {
            field: "ProtoTransaction.tranid",
            expected: transaction().hash().to_string(),
            got: TxHash::ZERO.to_string(),
        };
        check_refused(&Transaction::decode(&message.encode_to_vec()), &expected);
    }

    #[test]
    fn written_empty_text_is_not_canonical() {
        // The hash covers the written empty text, so it differs from the hash of the canonical form.
        let mut info = to_message(&transaction());
        info.code = Some(Vec::new());
        let refused = Transaction::decode(&seal(info, SIGNATURE).encode_to_vec());
        assert!(matches!(refused, Err(DecodeError::Value { field: "ProtoTransaction.tranid", .. })), "{refused:?}");
    }

    #[test]
    fn fields_of_later_nodes_are_refused() {
        // Version 9 of the reference appends an access list as field 10 of another type of transaction.
        let core = [to_message(&transaction()).encode_to_vec(), vec![0x52, 0]].concat();
        let len = u8::try_from(core.len()).unwrap();
        let hash = sha256(&[&core]);
        let bytes = [&[0x0a, 32], &hash[..], &[0x12, len, 1], &core, &[0x1a, 66, 0x0a, 64], &[7; 64]].concat();
        assert!(Transaction::decode(&bytes).is_err());
    }
}
