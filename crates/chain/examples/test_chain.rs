//! A chain in a test: accounts, a contract, a revert, and a second node that verifies all blocks.

use std::error::Error;

use silica_chain::TestChain;
use silica_protocol::{InitData, Qa, TransitionCall};

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
    let alice = chain.funded_account(Qa::parse("1000 ZIL")?)?;
    let bob = chain.funded_account(Qa::parse("50 ZIL")?)?;
    chain.pay(&alice, bob.address(), Qa::parse("1.5 ZIL")?)?;
    assert_eq!(chain.balance(&bob.address()), Qa::parse("51.5 ZIL")?);

    let owner = format!("0x{}", alice.address());
    let counter = chain.deploy(&alice, CODE, &InitData::builder().param("owner", "ByStr20", owner).build())?.address;
    let before = chain.snapshot()?;
    let set = TransitionCall::new("Set").param("value", "Uint32", "5");
    assert!(chain.call(&bob, counter, &set)?.receipt.success);
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
