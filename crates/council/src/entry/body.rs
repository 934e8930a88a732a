//! The body of a Tx block: everything except co-signatures.

use silica_chain::{Proposal, config::RuleChange, scilla::rules::Rules, state::StateDiff};
use silica_protocol::{
    BlockNumber, CoSignatures, DecodeError, DsBlock, DsBlockHeader, MbInfo, MicroBlock, MicroBlockHeader, Timestamp,
    Transaction, TxBlock, TxBlockHeader, TxHash,
};

use super::{EntryKind, Height};
use crate::{
    network::Parameters,
    wire::{Reader, Writer, value},
};

/// Lowest gas of a transaction (`NORMAL_TRAN_GAS`).
const PAYMENT_GAS: u64 = 50;

/// Largest size of the header of a Tx block or of a DS block in a body, in bytes. The length in front of the header is
/// included.
const HEADER: usize = 1_024;

/// Largest size of the header of a micro block in a body, in bytes. The length in front of the header is included.
const MICRO_HEADER: usize = 512;

/// Largest length of the name of Scilla rules, in bytes.
const MAX_RULES: usize = 32;

/// The body of a Tx block.
///
/// The type has each fact once. The list of micro blocks and the transaction hashes follow from the micro block headers
/// and the transactions. All blocks of a body have one timestamp. A body has no edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Creation time of all blocks of the body.
    pub timestamp: Timestamp,
    /// Header of the DS block before the Tx block, if one is due.
    pub ds_header: Option<DsBlockHeader>,
    /// Header of the Tx block.
    pub header: TxBlockHeader,
    /// Headers of the micro blocks, ascending by shard.
    pub micro_headers: Vec<MicroBlockHeader>,
    /// The transactions of all micro blocks in order. `tx_count` of each header is the number of its transactions.
    pub transactions: Vec<Transaction>,
    /// The Scilla rules of the block; `None` for those of block 1. So a member with another network file rejects the
    /// first block whose rules change, although the result of the block can be the same.
    pub scilla_rules: Option<Rules>,
}

/// Reason why a proposal has no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlocksError {
    /// A block has another timestamp than the Tx block.
    #[error("timestamp: expected {expected} in each block, got {got}")]
    Timestamp {
        /// Timestamp of the Tx block.
        expected: Timestamp,
        /// The other timestamp.
        got: Timestamp,
    },
    /// The list of micro blocks in the Tx block does not match the headers of the micro blocks.
    #[error("list of micro blocks: expected the micro blocks in their order, got another list")]
    MicroBlocks,
    /// The transaction hashes of the micro blocks are not the hashes of the transactions.
    #[error("transaction hashes: expected the hashes of the transactions in their order, got other hashes")]
    Transactions,
    /// The block has edits.
    #[error("edits: expected none on a network, got at least one")]
    Edits,
    /// The block repeats the logical block number.
    #[error("logical block number: expected an increase with each block, got a repeated number")]
    RepeatedNumber,
}

/// Largest sizes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// Largest number of bytes.
    pub bytes: usize,
    /// Largest number of micro blocks.
    pub micro_blocks: usize,
    /// Largest number of transactions.
    pub transactions: usize,
}

impl Parameters {
    /// Returns the largest sizes of a body on this network. A transaction uses at least 50 gas.
    pub fn body_limits(&self) -> BodyLimits {
        let gas =
            u64::from(self.shards).saturating_mul(self.shard_gas_limit.get()).saturating_add(self.ds_gas_limit.get());
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        BodyLimits {
            bytes: size(self.max_body.into()),
            micro_blocks: size(u64::from(self.shards).saturating_add(1)),
            transactions: size(gas / PAYMENT_GAS),
        }
    }

    /// Returns the Scilla rules that the body of a Tx block names; `None` for the rules of block 1.
    pub fn named_rules(&self, block: BlockNumber) -> Option<Rules> {
        let rules = RuleChange::rules_at(self.scilla_rules, &self.rule_changes, block);
        (rules != self.scilla_rules).then_some(rules)
    }

    /// Returns the number of bytes that a body has for its transactions and their lengths. The largest headers and the
    /// name of the rules fit into the rest.
    pub(crate) fn transaction_bytes(&self) -> usize {
        let BodyLimits { bytes, micro_blocks, .. } = self.body_limits();
        bytes.saturating_sub(2 * HEADER).saturating_sub(MICRO_HEADER.saturating_mul(micro_blocks))
    }
}

impl Body {
    /// Creates the body of a proposal. Co-signatures are left out. `scilla_rules` are the
    /// [named rules](Parameters::named_rules) of the block.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] if the blocks repeat a fact with another value, or have a feature that networks do not permit.
    pub fn of_proposal(proposal: Proposal, scilla_rules: Option<Rules>) -> Result<Self, BlocksError> {
        let Proposal { tx_block, micro_blocks, ds_block, transactions, edits, repeats_number } = proposal;
        if !edits.is_empty() {
            return Err(BlocksError::Edits);
        }
        if repeats_number {
            return Err(BlocksError::RepeatedNumber);
        }
        let ds_time = ds_block.iter().map(|block| block.timestamp);
        let mut timestamps = ds_time.chain(micro_blocks.iter().map(|block| block.timestamp));
        if let Some(got) = timestamps.find(|timestamp| *timestamp != tx_block.timestamp) {
            return Err(BlocksError::Timestamp { expected: tx_block.timestamp, got });
        }
        let (micro_headers, hashes): (Vec<_>, Vec<_>) =
            micro_blocks.into_iter().map(|block| (block.header, block.tx_hashes)).unzip();
        let (timestamp, ds_header) = (tx_block.timestamp, ds_block.map(|block| block.header));
        let header = tx_block.header;
        let body = Self { timestamp, ds_header, header, micro_headers, transactions, scilla_rules };
        if body.micro_block_infos() != tx_block.micro_blocks {
            return Err(BlocksError::MicroBlocks);
        }
        let count = hashes.iter().map(Vec::len).fold(0, usize::saturating_add);
        if body.tx_hashes() != hashes || count != body.transactions.len() {
            return Err(BlocksError::Transactions);
        }
        Ok(body)
    }

    /// Returns the proposal with this body, without co-signatures.
    pub fn into_proposal(self) -> Proposal {
        let unsigned = || CoSignatures::unsigned(1);
        let (timestamp, infos, hashes) = (self.timestamp, self.micro_block_infos(), self.tx_hashes());
        let micro_blocks = self.micro_headers.into_iter().zip(hashes).map(|(header, tx_hashes)| MicroBlock {
            header,
            tx_hashes,
            cosignatures: unsigned(),
            timestamp,
        });
        Proposal {
            tx_block: TxBlock { header: self.header, micro_blocks: infos, cosignatures: unsigned(), timestamp },
            micro_blocks: micro_blocks.collect(),
            ds_block: self.ds_header.map(|header| DsBlock { header, cosignatures: unsigned(), timestamp }),
            transactions: self.transactions,
            edits: StateDiff::default(),
            repeats_number: false,
        }
    }

    /// Returns the list of micro blocks in the Tx block.
    fn micro_block_infos(&self) -> Vec<MbInfo> {
        let info =
            |header: &MicroBlockHeader| MbInfo { hash: header.hash(), tx_root: header.tx_root, shard: header.shard };
        self.micro_headers.iter().map(info).collect()
    }

    /// Returns the transaction hashes of each micro block.
    fn tx_hashes(&self) -> Vec<Vec<TxHash>> {
        let mut rest = self.transactions.iter();
        let of_block = |header: &MicroBlockHeader| {
            rest.by_ref().take(count(header.tx_count)).map(|transaction| transaction.hash()).collect()
        };
        self.micro_headers.iter().map(of_block).collect()
    }

    /// Returns what the committee signs: the serialised headers of the DS block, the micro blocks and the Tx block, in
    /// this order.
    pub fn items(&self) -> Vec<Vec<u8>> {
        let ds = self.ds_header.iter().map(DsBlockHeader::encode);
        let micro = self.micro_headers.iter().map(MicroBlockHeader::encode);
        ds.chain(micro).chain([self.header.encode()]).collect()
    }

    /// Returns the canonical bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u64(self.timestamp.get());
        writer.u8(u8::from(self.ds_header.is_some()));
        if let Some(header) = &self.ds_header {
            writer.bytes(&header.encode());
        }
        writer.bytes(&self.header.encode());
        writer.count(self.micro_headers.len());
        for header in &self.micro_headers {
            writer.bytes(&header.encode());
        }
        writer.count(self.transactions.len());
        for transaction in &self.transactions {
            writer.bytes(&transaction.encode());
        }
        if let Some(rules) = self.scilla_rules {
            writer.bytes(rules.to_string().as_bytes());
        }
        writer.finish()
    }

    /// Reads the canonical bytes of the body at a height. Encoding the result returns the same bytes.
    ///
    /// Of the values in the headers, the function checks only the block number and the sum of the transaction counts.
    /// The caller compares the rules with its network file.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] in these cases:
    ///
    /// - `bytes` are not canonical, or exceed a limit.
    /// - The height is that of a seal or of another Tx block.
    /// - The sum of the transaction counts of the micro blocks is not the number of transactions.
    /// - This program does not support the Scilla rules.
    pub fn decode(height: Height, bytes: &[u8], limits: &BodyLimits) -> Result<Self, DecodeError> {
        if height.kind() != EntryKind::Body {
            return Err(value("Body.height", "an odd height".to_owned(), height));
        }
        if bytes.len() > limits.bytes {
            return Err(value("Body", format!("at most {} bytes", limits.bytes), bytes.len()));
        }
        let mut reader = Reader::new(bytes);
        let timestamp = Timestamp::new(reader.u64("Body.timestamp")?);
        let ds_header = match reader.u8("Body.has_ds_header")? {
            0 => None,
            1 => Some(DsBlockHeader::decode(reader.bytes("Body.ds_header", limits.bytes)?)?),
            got => return Err(value("Body.has_ds_header", "0 or 1".to_owned(), got)),
        };
        let header = TxBlockHeader::decode(reader.bytes("Body.header", limits.bytes)?)?;
        if header.number != height.block() {
            return Err(value("Body.header.blocknum", height.block().to_string(), header.number));
        }
        let micro_headers = (0..reader.count("Body.micro_headers", limits.micro_blocks)?)
            .map(|_| MicroBlockHeader::decode(reader.bytes("Body.micro_headers", limits.bytes)?))
            .collect::<Result<Vec<_>, _>>()?;
        let transactions = (0..reader.count("Body.transactions", limits.transactions)?)
            .map(|_| Transaction::decode(reader.bytes("Body.transactions", limits.bytes)?))
            .collect::<Result<Vec<_>, _>>()?;
        let scilla_rules =
            if reader.is_empty() { None } else { Some(rules(reader.bytes("Body.scilla_rules", MAX_RULES)?)?) };
        reader.finish("Body")?;
        let counted = micro_headers.iter().fold(0_u64, |sum, header| sum.saturating_add(header.tx_count.into()));
        if u64::try_from(transactions.len()) != Ok(counted) {
            let expected = format!("{counted}, the sum of the micro blocks");
            return Err(value("Body.transactions", expected, transactions.len()));
        }
        Ok(Self { timestamp, ds_header, header, micro_headers, transactions, scilla_rules })
    }
}

fn rules(bytes: &[u8]) -> Result<Rules, DecodeError> {
    let text = std::str::from_utf8(bytes).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let expected = "Scilla rules that this program supports".to_owned();
        value("Body.scilla_rules", expected, String::from_utf8_lossy(bytes))
    })
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use silica_protocol::{
        Account, Address, BlockHash, BlockNumber, DsBlockNumber, Gas, GasPrice, Qa, ShardId, Signature,
    };

    use super::*;
    use crate::{
        EntryId, NetworkFile, NetworkId,
        batch::MAX_BATCH,
        bounds::{MAX_MEMBERS, MIN_MAX_BODY, max_shards},
        testing,
    };

    const LIMITS: BodyLimits = BodyLimits { bytes: 1 << 20, micro_blocks: 3, transactions: 100 };

    fn height(block: u64) -> Height {
        Height::of_body(BlockNumber::new(block)).unwrap()
    }

    fn id(body: &Body) -> EntryId {
        EntryId::of_body(&NetworkId::new([7; 32]), height(1), &body.encode())
    }

    fn decode(bytes: &[u8]) -> Result<Body, String> {
        Body::decode(height(9), bytes, &LIMITS).map_err(|error| error.to_string())
    }

    #[test]
    fn bodies_round_trip() {
        for (with_ds, transactions) in [(false, 0), (false, 3), (true, 0), (true, 5)] {
            let body = testing::body(9, with_ds, transactions);
            assert_eq!(decode(&body.encode()), Ok(body.clone()));
            assert_eq!(Body::of_proposal(body.clone().into_proposal(), None), Ok(body.clone()));
            let scilla_rules = Some("latest/3".parse().unwrap());
            let changed = Body { scilla_rules, ..body.clone() };
            assert_eq!(decode(&changed.encode()), Ok(changed.clone()));
            assert_eq!(Body::of_proposal(changed.clone().into_proposal(), scilla_rules), Ok(changed));
            for text in ["", "latest/9", "latest", &"9".repeat(33)] {
                let length = u32::try_from(text.len()).unwrap().to_be_bytes();
                let bytes = [&body.encode()[..], &length, text.as_bytes()].concat();
                let error = decode(&bytes).unwrap_err();
                assert!(error.starts_with("Body.scilla_rules: expected "), "{error}");
            }
        }
    }

    #[test]
    fn each_fact_changes_the_id() {
        let body = testing::body(9, true, 3);
        let mut bodies = vec![body; 11];
        bodies[1].timestamp = Timestamp::new(1);
        bodies[2].ds_header = None;
        bodies[3].ds_header.as_mut().unwrap().prev_hash = BlockHash::new([1; 32]);
        bodies[4].header.tx_count += 1;
        bodies[5].micro_headers[0].tx_count += 1;
        bodies[6].micro_headers.swap(0, 1);
        bodies[7].transactions.swap(0, 1);
        bodies[8].transactions.pop();
        // The signature is not a part of the transaction hash.
        let transaction = bodies[9].transactions.pop().unwrap();
        bodies[9].transactions.push(transaction.into_unsigned().with_signature(Signature::new([9; 64])));
        bodies[10].scilla_rules = Some(Rules::V0_13_3);
        let mut ids: Vec<_> = bodies.iter().map(id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), bodies.len());
    }

    #[test]
    fn items_are_the_headers_in_the_order_of_signing() {
        let body = testing::body(9, true, 0);
        let blocks = body.clone().into_proposal();
        let micro = blocks.micro_blocks.iter().map(|block| block.header.encode());
        let ds = [blocks.ds_block.unwrap().header.encode()];
        let expected: Vec<_> = ds.into_iter().chain(micro).chain([blocks.tx_block.header.encode()]).collect();
        assert_eq!(body.items(), expected);
        assert_eq!(testing::body(9, false, 0).items().len(), expected.len() - 1);
    }

    #[test]
    fn blocks_that_contradict_each_other_have_no_body() {
        let body = testing::body(9, true, 3);
        let make = |change: &dyn Fn(&mut Proposal)| {
            let mut blocks = body.clone().into_proposal();
            change(&mut blocks);
            Body::of_proposal(blocks, None)
        };
        let timestamp = Err(BlocksError::Timestamp { expected: body.timestamp, got: Timestamp::new(1) });
        assert_eq!(make(&|blocks| blocks.ds_block.as_mut().unwrap().timestamp = Timestamp::new(1)), timestamp);
        assert_eq!(make(&|blocks| blocks.micro_blocks[1].timestamp = Timestamp::new(1)), timestamp);
        assert_eq!(make(&|blocks| blocks.tx_block.micro_blocks.swap(0, 1)), Err(BlocksError::MicroBlocks));
        assert_eq!(
            make(&|blocks| blocks.tx_block.micro_blocks[0].shard = ShardId::new(7)),
            Err(BlocksError::MicroBlocks)
        );
        assert_eq!(make(&|blocks| blocks.micro_blocks[0].tx_hashes.swap(0, 1)), Err(BlocksError::Transactions));
        assert_eq!(make(&|blocks| blocks.transactions.truncate(2)), Err(BlocksError::Transactions));
        let first = body.transactions[0].clone();
        assert_eq!(make(&|blocks| blocks.transactions.push(first.clone())), Err(BlocksError::Transactions));
    }

    #[test]
    fn a_body_has_no_edits_and_repeats_no_number() {
        let blocks = testing::body(9, true, 3).into_proposal();
        let repeats = Proposal { repeats_number: true, ..blocks.clone() };
        assert_eq!(Body::of_proposal(repeats, None), Err(BlocksError::RepeatedNumber));
        let accounts = [(Address::new([1; 20]), Account::default())].into();
        let edits = Proposal { edits: StateDiff { accounts, ..StateDiff::default() }, ..blocks };
        assert_eq!(Body::of_proposal(edits, None), Err(BlocksError::Edits));
    }

    #[test]
    fn limits_are_kept() {
        let body = testing::body(9, true, 3);
        let bytes = body.encode();
        let check = |limits: BodyLimits, expected: &str| {
            assert_eq!(Body::decode(height(9), &bytes, &limits).unwrap_err().to_string(), expected);
        };
        let len = bytes.len();
        assert!(Body::decode(height(9), &bytes, &BodyLimits { bytes: len, ..LIMITS }).is_ok());
        check(BodyLimits { bytes: len - 1, ..LIMITS }, &format!("Body: expected at most {} bytes, got {len}", len - 1));
        check(BodyLimits { micro_blocks: 1, ..LIMITS }, "Body.micro_headers: expected at most 1, got 2");
        check(BodyLimits { transactions: 2, ..LIMITS }, "Body.transactions: expected at most 2, got 3");
    }

    #[test]
    fn limits_follow_from_the_network_file() {
        let file = NetworkFile::parse(&testing::network_file(4)).unwrap();
        let expected = BodyLimits { bytes: 4 << 20, micro_blocks: 2, transactions: 18_000 };
        assert_eq!(file.parameters().body_limits(), expected);
    }

    #[test]
    fn largest_headers_leave_room_for_the_transactions() {
        let body = testing::body(9, true, 0);
        let most = Gas::new(u64::MAX);
        let (rewards, number) = (Qa::new(u128::MAX), BlockNumber::new(u64::MAX));
        let micro = MicroBlockHeader {
            version: u32::MAX,
            shard: ShardId::new(u32::MAX),
            gas_limit: most,
            gas_used: most,
            rewards,
            epoch: number,
            tx_count: 0,
            ds_block: DsBlockNumber::new(u64::MAX),
            ..body.micro_headers[0].clone()
        };
        let header = TxBlockHeader {
            version: u32::MAX,
            gas_limit: most,
            gas_used: most,
            rewards,
            number,
            tx_count: u32::MAX,
            ds_block: DsBlockNumber::new(u64::MAX),
            ..body.header
        };
        let ds_header = DsBlockHeader {
            version: u32::MAX,
            ds_difficulty: u8::MAX,
            difficulty: u8::MAX,
            number: DsBlockNumber::new(u64::MAX),
            epoch: number,
            gas_price: GasPrice::new(rewards),
            ..body.ds_header.clone().unwrap()
        };
        let largest = |members: usize| {
            let shards = max_shards(members);
            let text = testing::network_file(2).replace("shards = 1", &format!("shards = {shards}"));
            let mut parameters = NetworkFile::parse(&text).unwrap().parameters().clone();
            parameters.max_body = MIN_MAX_BODY;
            let micro_headers = vec![micro.clone(); parameters.body_limits().micro_blocks];
            let (header, ds_header) = (header.clone(), Some(ds_header.clone()));
            let scilla_rules = Some("latest/3".parse().unwrap());
            let body = Body { ds_header, header, micro_headers, scilla_rules, ..body.clone() };
            (parameters, body.encode().len())
        };
        for members in 2..=MAX_MEMBERS {
            let (parameters, len) = largest(members);
            let room = parameters.transaction_bytes();
            assert!(len + room <= parameters.body_limits().bytes, "{members} members: {len} bytes of headers");
            // A batch has its count and the length of its transaction in addition to the transaction.
            assert!(room >= MAX_BATCH, "{members} members: {room} bytes for transactions");
        }
    }

    #[test]
    fn a_body_belongs_to_its_height() {
        let bytes = testing::body(9, false, 0).encode();
        let error = |height| Body::decode(height, &bytes, &LIMITS).unwrap_err().to_string();
        assert_eq!(error(height(8)), "Body.header.blocknum: expected 8, got 9");
        assert_eq!(error(height(9).next().unwrap()), "Body.height: expected an odd height, got 18");
    }

    #[test]
    fn other_spellings_are_rejected() {
        let body = testing::body(9, false, 2);
        let bytes = body.encode();
        let changed = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            decode(&bytes)
        };
        assert_eq!(changed(8, 2), Err("Body.has_ds_header: expected 0 or 1, got 2".to_owned()));
        assert_eq!(decode(&[&bytes[..], &[0]].concat()), Err("Body.scilla_rules: expected 4 bytes, got 1".to_owned()));
        let mut wrong = body.clone();
        wrong.micro_headers[0].tx_count += 1;
        assert_eq!(
            decode(&wrong.encode()),
            Err("Body.transactions: expected 3, the sum of the micro blocks, got 2".to_owned())
        );
        // The first header with its first field repeated: readable, but not canonical.
        let header = body.header.encode();
        let twice = [&header[..2 + usize::from(header[1])], &header].concat();
        let mut writer = Writer::default();
        writer.fixed(&bytes[..9]);
        writer.bytes(&twice);
        writer.fixed(&bytes[9 + 4 + header.len()..]);
        let error = decode(&writer.finish()).unwrap_err();
        assert!(error.starts_with("ProtoTxBlock.TxBlockHeader: expected the canonical form"), "{error}");
    }

    #[test]
    fn every_shorter_text_is_rejected() {
        let bytes = testing::body(9, true, 2).encode();
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{len} bytes");
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_changes_the_body_or_is_rejected(at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let body = testing::body(9, true, 2);
            let mut bytes = body.encode();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if let Ok(decoded) = decode(&bytes) {
                prop_assert_eq!(decoded.encode(), bytes);
                prop_assert_ne!(decoded, body);
            }
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(decode(&bytes).is_err());
        }
    }
}
