//! Keeps an account on disk, and proves its balance to a client that trusts the state root.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use silica_state::{
    BlockRecord, StateDiff, Store, StoreOptions,
    proof::StateProof,
    protocol::{Account, Address, PublicKey, Qa, Timestamp},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let store = Store::open(directory.path(), StoreOptions::default())?;
    let address = Address::parse("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7")?;
    let account = Account { balance: Qa::new(1_000), ..Account::default() };
    let state =
        store.extend(store.prepare(), &StateDiff { accounts: [(address, account)].into(), ..StateDiff::default() })?;
    let root = state.root();
    let snapshot = store.commit(&BlockRecord::genesis(root, PublicKey::new([2; 33]), Timestamp::new(0)), state)?;
    let proof = StateProof { account: snapshot.state().account_proof(&address)?, state: Vec::new() };
    println!("state root {root} proves {:?}", proof.verify_account(&root, &address)?);
    Ok(())
}
