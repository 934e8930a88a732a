//! The limits on bytes of a transaction. Values share their parts in memory, but receipts and entries of storage do not
//! share text.

use serde_json::json;
use silica_protocol::{Address, Gas, Receipt, UnsignedTransaction};

use crate::contracts::{World, errors, init};

/// A contract that emits the same number many times, and writes entries whose keys consist of the same few texts.
const BULK: &str = r#"scilla_version 0
library Bulk
type Three = | Three of String String String
let one = Uint32 1
let none = Nil {Nat}
let nowhere = Nil {Three}
let repeat = fun (number : Nat) => fun (times : Nat) =>
  let add = fun (rest : List Nat) => fun (left : Nat) => Cons {Nat} number rest in
  let fold = @nat_fold (List Nat) in
  fold add none times
let places = fun (names : List String) =>
  let fold = @list_foldr String (List Three) in
  let first = fun (a : String) => fun (rest : List Three) =>
    let second = fun (b : String) => fun (rest : List Three) =>
      let third = fun (c : String) => fun (rest : List Three) =>
        let place = Three a b c in
        Cons {Three} place rest in
      fold third rest names in
    fold second rest names in
  fold first nowhere names
contract Bulk ()
field wide : Map String (Map String (Map String Uint32)) = Emp String (Map String (Map String Uint32))
field deep : Map String (Map String (Map String (Map String Uint32))) =
  Emp String (Map String (Map String (Map String Uint32)))
field kept : List Nat = Nil {Nat}
procedure Put (place : Three)
  match place with
  | Three a b c => wide[a][b][c] := one
  end
end
procedure Find (place : Three)
  match place with
  | Three a b c =>
    there <- exists deep[a][b][c][a];
    match there with
    | True => accept
    | False =>
    end
  end
end
procedure Cut (place : Three)
  match place with
  | Three a b c => delete deep[a][b][c][a]
  end
end
procedure TellOnce (number : Uint32)
  list <- kept;
  e = { _eventname : "Many"; list : list };
  event e
end
transition Tell (levels : Uint32, times : Uint32, events : List Uint32)
  number = builtin to_nat levels;
  many = builtin to_nat times;
  list = repeat number many;
  kept := list;
  forall events TellOnce
end
transition Spread (names : List String)
  all = places names;
  forall all Put
end
transition Search (names : List String)
  all = places names;
  forall all Find
end
transition Clear (names : List String)
  all = places names;
  forall all Cut
end
"#;

struct Bulk {
    world: World,
    contract: Address,
}

impl Bulk {
    fn new() -> Self {
        // From revision 2 on, a transaction reaches the work limit before these limits.
        let mut world = World::with_rules("0.13/1".parse().unwrap());
        let contract = world.deployed(1, BULK, &init(&[]));
        Self { world, contract }
    }

    fn call(&mut self, from: u8, tag: &str, params: &serde_json::Value) -> Receipt {
        let data = json!({ "_tag": tag, "params": params }).to_string();
        let gas_limit = Gas::new(400_000);
        let transaction = UnsignedTransaction { to: self.contract, data, gas_limit, ..self.world.transaction(from) };
        self.world.run(from, transaction).unwrap()
    }

    /// Emits `events` events. Each has a list with `times` values of 45 levels. Returns the receipt, and the bytes of
    /// the values.
    fn emit(&mut self, times: u32, events: u32) -> (Receipt, usize) {
        let number = |name: &str, value: u32| json!({"vname": name, "type": "Uint32", "value": value.to_string()});
        let list: Vec<String> = (0..events).map(|number| number.to_string()).collect();
        let events = json!({"vname": "events", "type": "List Uint32", "value": list});
        let receipt = self.call(2, "Tell", &json!([number("levels", 45), number("times", times), events]));
        let bytes = receipt.event_logs.iter().map(|event| event.params[0].value.to_string().len()).sum();
        (receipt, bytes)
    }

    /// Calls a transition that acts on each combination of three of `names` texts.
    fn each(&mut self, from: u8, tag: &str, names: usize, length: usize) -> Receipt {
        let names: Vec<String> = (0..names).map(|number| number.to_string().repeat(length)).collect();
        self.call(from, tag, &json!([{"vname": "names", "type": "List String", "value": names}]))
    }

    /// Returns the number of entries of the contract.
    fn entries(&self) -> usize {
        let state = self.world.net.test.producer().store().snapshot();
        state.state().storage(&self.contract).unwrap().count()
    }
}

#[test]
fn emitted_bytes_are_proportional_to_the_gas() {
    let mut bulk = Bulk::new();
    let (receipt, bytes) = bulk.emit(400, 1);
    assert!(receipt.success, "{receipt:?}");
    assert!(bytes > 900_000);
    // A second event of the same size is too much: the limit holds for all events together.
    let (receipt, _) = bulk.emit(400, 2);
    assert_eq!(errors(&receipt), [(0, vec![9])]);
    assert!(receipt.exceptions.is_empty() && receipt.event_logs.is_empty(), "{receipt:?}");
    assert!(2 * bytes > 1_000 * usize::try_from(receipt.cumulative_gas.get()).unwrap(), "{receipt:?}");
}

#[test]
fn written_data_have_a_limit() {
    let mut bulk = Bulk::new();
    let before = bulk.entries();
    // Each of 1,000 keys has three of ten texts. Together they have 75 MB.
    let receipt = bulk.each(2, "Spread", 10, 25_000);
    assert_eq!(errors(&receipt), [(0, vec![7])]);
    assert_eq!(receipt.exceptions[0].message, "Data of more than 64000000 bytes for the state");
    assert_eq!(bulk.entries(), before);
    assert!(bulk.each(3, "Spread", 5, 10).success);
    // The map has entries, so its marker is gone.
    assert_eq!(bulk.entries(), before - 1 + 125);
}

#[test]
fn searched_keys_have_a_limit() {
    let mut bulk = Bulk::new();
    let before = bulk.entries();
    // The first call searches under 1,000 paths. Each path has four of the ten names, of 18,000 bytes each, so the keys
    // have 72 MB together. Each other call has one key above the limit for one place.
    for (from, tag, (names, length), message) in [
        (2, "Search", (10, 18_000), "Keys of more than 64000000 bytes"),
        (4, "Search", (1, 25_001), "Keys of more than 100000 bytes to one place"),
        (5, "Clear", (1, 25_001), "Keys of more than 100000 bytes to one place"),
        (6, "Spread", (1, 33_333), "Keys of more than 100000 bytes to one place"),
    ] {
        let receipt = bulk.each(from, tag, names, length);
        assert_eq!(errors(&receipt), [(0, vec![7])], "{tag}");
        assert_eq!(receipt.exceptions[0].message, message, "{tag}");
        assert_eq!(bulk.entries(), before);
    }
    assert!(bulk.each(7, "Search", 10, 10).success);
    assert_eq!(bulk.entries(), before);
    // The removal of a missing entry creates an empty map around it.
    assert!(bulk.each(8, "Clear", 2, 24_000).success);
    assert_eq!(bulk.entries(), before + 8);
}
