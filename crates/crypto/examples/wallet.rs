//! A wallet without a network: reads a key and a recipient, signs a payment, and prints the request for a node.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use silica_crypto::{
    KeyPair, VerifySignature,
    protocol::{Address, ChainId, Qa, Transaction},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = KeyPair::from_hex("e53d1c3edaffc7a7bab5418eb836cf75819a82872b4a1a0f1c7fcf5c3e020b89")?;
    let to = Address::parse("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7")?;
    let amount = Qa::parse("1.5 ZIL")?;
    let payment = Transaction::payment(to, amount).chain_id(ChainId::ISOLATED).nonce(1).sign(&key)?;
    payment.verify_signature()?;
    println!("{} pays {} to {}", key.address().to_bech32(), amount.display_zil(), to.to_bech32());
    println!("transaction {}", payment.hash());
    println!("CreateTransaction {}", payment.to_request_json());
    Ok(())
}
