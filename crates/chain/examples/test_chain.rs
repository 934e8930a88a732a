//! A chain in a test: accounts, a contract, a revert, and a second node that verifies all blocks.

use std::error::Error;

use serde_json::json;
use silica_chain::{TestChain, protocol::Qa};

const CODE: &str = r"
scilla_version 0
contract Counter (owner : ByStr20)
field count : Uint32 = Uint32 0
transition Set (value : Uint32)
  count := value
end
";

fn main() -> Result<(), Box<dyn Error>> {
    let mut chain = TestChain::new();
    let alice = chain.funded_account(Qa::from_zil(1_000)?)?;
    let bob = chain.funded_account(Qa::from_zil(50)?)?;
    chain.pay(&alice, bob.address(), Qa::parse("1.5 ZIL")?)?;
    assert_eq!(chain.balance(&bob.address()), Qa::parse("51.5 ZIL")?);

    let counter = chain.deploy(&alice, CODE, json!({ "owner": alice.address() }))?.address;
    let before = chain.snapshot()?;
    assert!(chain.call(&bob, counter, "Set", json!({ "value": 5 }))?.receipt.success);
    assert_eq!(chain.contract_field(&counter, "count"), Some("5".into()));

    chain.revert(&before)?;
    assert_eq!(chain.contract_field(&counter, "count"), Some("0".into()));
    assert_eq!(chain.replica()?.verify_all()?, chain.height().get());
    Ok(())
}

#[test]
fn example_runs() {
    assert!(main().is_ok());
}
