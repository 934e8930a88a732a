//! Scenarios of the contract with a greeting.

use crate::world::{Scenario, World, check_scenarios};

const SCENARIOS: &[Scenario] = &[("Greet", greet), ("SetGreeting", set_greeting)];

fn prepare() -> World {
    let mut world = World::with(&["alice", "bob"]);
    world.deploy("hello", "hello_world", &[("owner", "alice")]);
    world
}

fn greet(world: &mut World) {
    world
        .call("bob", "hello", "Greet", &[])
        .gives(&[r#"hello: event Greeting(to: bob, text: "Hello, world")"#, "hello.visits[bob] = 1"])
        .costs(160);
    world
        .call("bob", "hello", "Greet", &[])
        .gives(&[r#"hello: event Greeting(to: bob, text: "Hello, world")"#, "hello.visits[bob] = 2"])
        .costs(166);
}

fn set_greeting(world: &mut World) {
    world.call("bob", "hello", "SetGreeting", &[("text", "Go away")]).fails("NotTheOwner(caller: bob)");
    world
        .call("alice", "hello", "SetGreeting", &[("text", "Good day")])
        .gives(&[r#"hello.greeting = "Good day""#])
        .costs(49);
    let expected = [r#"hello: event Greeting(to: alice, text: "Good day")"#, "hello.visits[alice] = 1"];
    world.call("alice", "hello", "Greet", &[]).gives(&expected);
}

#[test]
fn every_transition_runs() {
    check_scenarios("hello_world", prepare, SCENARIOS);
}

#[test]
fn money_is_not_taken() {
    let expected = [r#"hello: event Greeting(to: bob, text: "Hello, world")"#, "hello.visits[bob] = 1"];
    prepare().pay("bob", 5, "hello", "Greet", &[]).gives(&expected);
}
