//! The logical block number: the blocks that increase it, and the results that contain it.

use serde_json::json;
use silica_chain::{
    ChainConfig, InvalidBlock,
    config::Numbering,
    consensus::{Application, Cause},
};
use silica_protocol::{BlockNumber, SimulationRequest, Timestamp, UnsignedTransaction};

use crate::{
    contracts::{World, init},
    edits::fund,
    harness::{Net, config, memory, signed, user},
    replay::check_replay,
    simulation::request,
};

fn on_demand(blocks_per_ds_epoch: u64) -> Net {
    let mut config = config(1, blocks_per_ds_epoch);
    config.policy.numbering = Numbering::OnDemand;
    Net::new(config)
}

/// Returns the number and the logical number of the next block.
fn next(net: &Net) -> (u64, u64) {
    (net.snapshot().current_epoch().get(), net.snapshot().next_logical_number().get())
}

/// Makes the block of a payment, and returns the number in its receipt.
fn pay(net: &mut Net) -> u64 {
    let hash = net.pay(1, user(9), 1, 0);
    net.arrival();
    net.snapshot().transaction(&hash).unwrap().unwrap().receipt.epoch.get()
}

#[test]
fn only_demanded_blocks_move_the_number() {
    let mut net = on_demand(7);
    assert_eq!(next(&net), (1, 1));
    assert_eq!([pay(&mut net), pay(&mut net), pay(&mut net)], [1, 1, 1]);
    assert_eq!(next(&net), (4, 1));
    net.edit(fund(20, 5));
    assert_eq!(next(&net), (5, 1));
    assert_eq!([pay(&mut net), pay(&mut net)], [1, 1]);
    assert_eq!(next(&net), (8, 1), "block 6 is vacuous");
    net.demand(1);
    assert_eq!((next(&net), pay(&mut net)), ((9, 2), 2));
    // The last of these blocks are an empty block range with vacuous blocks.
    net.pay(1, user(9), 1, 0);
    net.demand(100);
    assert_eq!(next(&net), (110, 102));
    assert_eq!((pay(&mut net), next(&net)), (102, (111, 102)));
    check_replay(&net);
    let config = net.test.chain().config().clone();
    let mut net = net.reopen(config);
    assert_eq!((next(&net), pay(&mut net)), ((111, 102), 102));
    assert_eq!(next(&net), (113, 102), "block 111 is vacuous");
}

#[test]
fn block_number_continues_if_each_block_changes_it() {
    let mut net = on_demand(100);
    pay(&mut net);
    pay(&mut net);
    net.test.producer_mut().set_numbering(Numbering::EveryBlock);
    assert_eq!([pay(&mut net), pay(&mut net)], [1, 2]);
    net.edit(fund(20, 5));
    net.test.producer_mut().set_numbering(Numbering::OnDemand);
    assert_eq!([pay(&mut net), pay(&mut net)], [4, 4]);
    assert_eq!(next(&net), (8, 4));
    // The configuration of the next start has another policy.
    let mut config = net.test.chain().config().clone();
    config.policy.numbering = Numbering::EveryBlock;
    let mut net = net.reopen(config);
    assert_eq!([pay(&mut net), pay(&mut net)], [4, 5]);
    check_replay(&net);
}

/// A contract that emits the block number, and the timestamp of an earlier block.
const CLOCK: &str = r#"scilla_version 0
library Clock
contract Clock ()
transition Read (at : BNum)
  n <- & BLOCKNUMBER;
  t <- & TIMESTAMP(at);
  e = { _eventname : "Read"; n : n; t : t };
  event e
end
"#;

#[test]
fn contracts_read_the_logical_number_and_the_time_of_its_end() {
    let mut world = World::new();
    world.net.test.producer_mut().set_numbering(Numbering::OnDemand);
    world.net.demand(2);
    let clock = world.deployed(1, CLOCK, &init(&[]));
    let stored = world.net.snapshot().contract(&clock).unwrap().unwrap();
    let stored: Vec<serde_json::Value> = serde_json::from_str(&stored.init_data).unwrap();
    let creation = stored.iter().find(|param| param["vname"] == "_creation_block");
    assert_eq!(creation.map(|param| &param["value"]), Some(&json!("3")));
    let read = |world: &mut World, of: u64| {
        let params = json!([{"vname": "at", "type": "BNum", "value": of.to_string()}]);
        let data = json!({"_tag": "Read", "params": params}).to_string();
        let request = SimulationRequest { data: data.clone(), ..request(1, clock) };
        let simulated = world.net.test.chain().simulate(&request).unwrap().receipt;
        let transaction = signed(1, UnsignedTransaction { to: clock, data, ..world.transaction(1) });
        let hash = transaction.hash();
        let receipt = world.run(1, transaction.into_unsigned()).unwrap();
        assert_eq!((&simulated, &world.net.snapshot().trace(&hash).unwrap().receipt), (&receipt, &receipt));
        let event: Vec<_> = receipt.event_logs[0].params.iter().map(|param| param.value.to_string()).collect();
        (receipt.epoch.get(), event)
    };
    let event = |number: u64, time: Option<u64>| {
        let time = match time {
            Some(time) => format!(r#"{{"argtypes":["Uint64"],"arguments":["{time}"],"constructor":"Some"}}"#),
            None => r#"{"argtypes":["Uint64"],"arguments":[],"constructor":"None"}"#.to_owned(),
        };
        (number, vec![format!("\"{number}\""), time])
    };
    let time = |world: &World, number: u64| {
        let state = world.net.test.producer().store().snapshot();
        state.time_of(BlockNumber::new(number)).unwrap().map(Timestamp::get)
    };
    assert_eq!(read(&mut world, 2), event(3, time(&world, 2)));
    assert_eq!(read(&mut world, 3), event(3, None), "it has not ended");
    world.net.demand(1);
    let end = world.net.height();
    assert_eq!(read(&mut world, 3), event(4, time(&world, end)));
    world.net.demand(60);
    assert_eq!(read(&mut world, 3), event(64, time(&world, end)));
    assert_eq!(read(&mut world, 63), event(64, time(&world, end + 61)));
    assert_eq!(read(&mut world, 0), event(64, time(&world, 0)));
    check_replay(&world.net);
}

#[test]
fn number_of_another_node_is_repeated_only_where_that_is_allowed() {
    let mut net = on_demand(10);
    net.pay(1, user(9), 1, 0);
    let at = net.later();
    let proposal = net.test.producer_mut().propose(at, Cause::Event).unwrap().to_proposal();
    assert!(proposal.repeats_number && !net.test.producer_mut().propose(at, Cause::Demand).unwrap().repeats_number());
    let mut judge = Net::over(memory(), config(1, 10));
    assert_eq!(judge.test.producer_mut().verify(&proposal).unwrap().to_proposal(), proposal);
    let mut strict = Net::over(memory(), ChainConfig { edits: false, ..config(1, 10) });
    let refused = strict.test.producer_mut().verify(&proposal).unwrap_err();
    assert!(matches!(refused, InvalidBlock::RepeatedNumber), "{refused}");
    strict.test.producer_mut().set_numbering(Numbering::OnDemand);
    assert_eq!((pay(&mut strict), next(&strict)), (1, (2, 2)));
}
