//! Verifies a value of a contract of the main network. The program trusts only the state root.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use silica_proof::{
    StateProof,
    protocol::{Address, MapKey, StateRoot, StorageKey},
};

/// A response to `GetStateProof`, from any node.
const RESPONSE: &str = include_str!("response.json");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root: StateRoot = "6142ce35237ba92eb734a5442f4d22dbc4f00c7acf88d0ab07333b60e83dd93e".parse()?;
    let contract = Address::parse("0x6d84363526a2d764835f8cf52dfeefe80a360fac")?;
    let proof: StateProof = RESPONSE.parse()?;
    let key = StorageKey::map_entry(&contract, "zilToPolyTxHashMap", [MapKey::uint(0)]);
    let value = proof.verify(&root, &key)?.value.ok_or("the map has no entry 0")?;
    println!("zilToPolyTxHashMap[0] is {value}");
    Ok(())
}
