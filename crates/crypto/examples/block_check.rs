//! Checks that a committee signed a Tx block, and prints the state root that it signed.
//!
//! The arguments are the result of `GetRawTxBlock` and the public keys of the committee, all as hexadecimal digits.
//! Without arguments, the program makes and checks a block of one member.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use silica_crypto::{
    KeyPair, cosign,
    protocol::{PublicKey, Timestamp, TxBlock, TxBlockHeader, hex},
    verify_tx_block,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (block, committee) = match arguments.next() {
        Some(block) => {
            (TxBlock::decode(&hex::decode(&block)?)?, arguments.map(|key| key.parse()).collect::<Result<_, _>>()?)
        }
        None => own_block()?,
    };
    let root = verify_tx_block(&block, &committee)?;
    println!("block {}: {} members signed the state root {root}", block.header.number, committee.len());
    Ok(())
}

fn own_block() -> Result<(TxBlock, Vec<PublicKey>), Box<dyn std::error::Error>> {
    let member = KeyPair::from_hex(&"01".repeat(32))?;
    let header = TxBlockHeader::genesis(member.public_key());
    let cosignatures = cosign::cosign_alone(&header.encode(), &member)?;
    let block = TxBlock { header, micro_blocks: Vec::new(), cosignatures, timestamp: Timestamp::new(0) };
    Ok((block, vec![member.public_key()]))
}
