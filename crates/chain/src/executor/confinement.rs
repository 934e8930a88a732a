//! Tests of panics during a run: a panic ends only its own transaction.

use serde_json::json;
use silica_protocol::{Address, Gas, Nonce, Qa, SimulationRequest, StorageKey, TxHash, UnsignedTransaction};

use crate::{
    ChainConfig, SimulationError, TestChain,
    config::NoncePolicy,
    pool::DropReason,
    testing::{address, key, payment, signed},
};

/// A contract that counts its calls. The test host panics when the contract reads a certain field.
const FRAGILE: &str = r#"scilla_version 0
library Fragile
let one = Uint32 1
let nil = Nil {Message}
let one_message = fun (m : Message) => Cons {Message} m nil
contract Fragile ()
field count : Uint32 = Uint32 0
field panics_when_read : Uint32 = Uint32 0
procedure Count ()
  n <- count;
  m = builtin add n one;
  count := m
end
transition Work ()
  accept;
  Count
end
transition Break ()
  accept;
  Count;
  n <- panics_when_read;
  count := n
end
transition Pass (to : ByStr20)
  accept;
  Count;
  m = { _tag : "Break"; _recipient : to; _amount : _amount };
  messages = one_message m;
  send messages
end
"#;

/// A contract that panics during its deployment.
const STILLBORN: &str = "scilla_version 0\ncontract Stillborn ()\nfield a : Uint32 = Uint32 1\n\
                         field panics_when_written : Uint32 = Uint32 0\n";

const FUNDS: u128 = 1_000 * Qa::PER_ZIL;

/// A chain in which a test puts several transactions into a block.
struct Net(TestChain);

impl Net {
    /// Returns a chain with two contracts that can panic, at [`contract`] 0 and 1.
    fn new() -> Self {
        let mut config = ChainConfig::isolated();
        config.policy.nonces = NoncePolicy::Queue;
        let chain = TestChain::builder().config(config).node_key(key(9));
        let chain = (1..=6).fold(chain, |chain, number| chain.genesis_account(address(number), Qa::new(FUNDS)));
        let mut net = Self(chain.build().unwrap());
        for nonce in 1..=2 {
            net.send(1, deployment(nonce, FRAGILE));
        }
        net.tick();
        net
    }

    fn send(&self, from: u8, transaction: UnsignedTransaction) -> TxHash {
        let chain = self.0.chain();
        let verified = chain.admit(signed(from, transaction), false).unwrap();
        chain.submit(verified, self.0.next_time()).unwrap().hash
    }

    fn tick(&mut self) {
        self.0.mine(1).unwrap();
    }

    /// Returns the status code of a transaction.
    fn status(&self, hash: &TxHash) -> u8 {
        self.0.chain().snapshot().status(hash).unwrap().unwrap().status.code()
    }

    fn count(&self, contract: &Address) -> Option<String> {
        let key = StorageKey::field(contract, "count").variable_hash();
        let value = self.0.producer().store().snapshot().storage_value(contract, &key).unwrap();
        value.map(|value| String::from_utf8(value).unwrap())
    }

    fn account(&self, address: &Address) -> Option<(u128, u64)> {
        let account = self.0.chain().snapshot().account(address).unwrap();
        account.map(|account| (account.balance.get(), account.nonce.get()))
    }
}

fn contract(number: u64) -> Address {
    Address::of_contract(&address(1), Nonce::new(number))
}

fn deployment(nonce: u64, code: &str) -> UnsignedTransaction {
    let init = json!([{"vname": "_scilla_version", "type": "Uint32", "value": "0"}]).to_string();
    let (nonce, gas_limit) = (Nonce::new(nonce), Gas::new(9_000));
    UnsignedTransaction { nonce, gas_limit, code: code.to_owned(), data: init, ..payment(1, Address::ZERO) }
}

fn call(nonce: u64, to: Address, tag: &str) -> UnsignedTransaction {
    let params = match tag {
        "Pass" => json!([{"vname": "to", "type": "ByStr20", "value": format!("0x{}", contract(1))}]),
        _ => json!([]),
    };
    let data = json!({"_tag": tag, "params": params}).to_string();
    let (nonce, gas_limit, amount) = (Nonce::new(nonce), Gas::new(5_000), Qa::new(3));
    UnsignedTransaction { nonce, gas_limit, amount, data, ..payment(1, to) }
}

#[test]
fn a_panic_ends_its_own_transaction_and_nothing_else() {
    let (mut net, mut twin) = (Net::new(), Net::new());
    let broken = [
        net.send(2, call(1, contract(0), "Break")),
        net.send(3, call(1, contract(0), "Pass")),
        net.send(1, deployment(3, STILLBORN)),
    ];
    for net in [&mut net, &mut twin] {
        let good = [
            net.send(4, call(1, contract(0), "Work")),
            net.send(5, UnsignedTransaction { nonce: Nonce::new(1), ..payment(5, address(8)) }),
            net.send(6, call(1, contract(1), "Work")),
        ];
        net.tick();
        assert_eq!(good.map(|hash| net.status(&hash)), [3; 3], "the others are in the block");
    }
    assert_eq!(broken.map(|hash| net.status(&hash)), [255; 3]);
    let head = |net: &Net| net.0.chain().snapshot().latest_tx_block_hash();
    assert_eq!(head(&net), head(&twin), "the block is that of a chain on which they were never sent");
    assert_eq!([2, 3].map(|number| net.account(&address(number))), [Some((FUNDS, 0)); 2]);
    // One of the 4 Qa is the amount of the deployment.
    assert_eq!([0, 1].map(|number| net.account(&contract(number))), [Some((4, 0)); 2]);
    assert_eq!([0, 1].map(|number| net.count(&contract(number))), [Some("\"1\"".to_owned()), Some("\"1\"".to_owned())]);
    assert_eq!(net.account(&contract(2)), None);

    // The nonces are unused, and the contracts run as before.
    let again = [
        net.send(2, call(1, contract(0), "Work")),
        net.send(3, call(1, contract(1), "Work")),
        net.send(1, deployment(3, FRAGILE)),
    ];
    net.tick();
    assert_eq!(again.map(|hash| net.status(&hash)), [3; 3]);
    assert_eq!([0, 1].map(|number| net.count(&contract(number))), [Some("\"2\"".to_owned()), Some("\"2\"".to_owned())]);
    assert_eq!(net.count(&contract(2)).as_deref(), Some("\"0\""));
}

#[test]
fn a_block_of_nothing_but_panics_is_empty() {
    let (mut net, mut twin) = (Net::new(), Net::new());
    let broken = [2, 3, 4].map(|from| net.send(from, call(1, contract(1), "Break")));
    net.tick();
    twin.tick();
    assert_eq!(broken.map(|hash| net.status(&hash)), [255; 3]);
    let head = |net: &Net| net.0.chain().snapshot().latest_tx_block_hash();
    assert_eq!(head(&net), head(&twin));
    assert_eq!(net.0.chain().waiting(), 0);
}

#[test]
fn a_panic_of_a_simulation_is_its_own() {
    let net = Net::new();
    let request = |tag: &str| {
        let UnsignedTransaction { to, amount, data, .. } = call(1, contract(0), tag);
        SimulationRequest {
            sender: address(2),
            to,
            amount,
            gas_price: None,
            gas_limit: None,
            code: String::new(),
            data,
            priority: false,
        }
    };
    for tag in ["Break", "Pass"] {
        let error = net.0.chain().simulate(&request(tag)).unwrap_err();
        assert!(matches!(error, SimulationError::Dropped { reason: DropReason::Internal, .. }), "{error}");
        assert!(net.0.chain().estimate_gas(&request(tag)).is_err());
    }
    assert!(net.0.chain().simulate(&request("Work")).unwrap().receipt.success);
    assert!(net.0.chain().estimate_gas(&request("Work")).unwrap().used > Gas::ZERO);
}
