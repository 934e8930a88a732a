//! Keeps an account on disk, and proves its balance to a client that trusts the state root.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use silica_state::{
    BlockRecord, StateDiff, Store, StoreOptions,
    protocol::{Account, Address, PublicKey, Qa, Timestamp},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let store = Store::open(directory.path(), StoreOptions::default())?;
    let address = Address::parse("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7")?;
    let diff = StateDiff::from_iter([(address, Account::with_balance(Qa::new(1_000)))]);
    let state = store.extend(store.prepare(), &diff)?;
    let genesis = BlockRecord::genesis(state.root(), PublicKey::new([2; 33]), Timestamp::new(0));
    let view = store.commit(&genesis, state)?.state().clone();
    let proof = view.account_proof(&address)?;
    println!("state root {} proves {:?}", view.root(), proof.verify_account(&view.root(), &address)?);
    Ok(())
}
