//! Disturbs a network of four validators under load.
//!
//! The seed determines the trials. After each trial, all members have the same blocks and the same answers. Every
//! acknowledged transaction is in its block, the committee has signed each block, and the sum of all money is constant.
//! While a quorum is connected, the network makes blocks. Without a quorum, it makes none.

mod check;
mod namespaces;
mod plan;
mod relay;
mod senders;
mod topology;
mod validators;

use std::{
    collections::BTreeMap,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use silica_tests::{Dice, root::is_root};

use self::{
    check::Checked,
    namespaces::Namespaces,
    plan::{Kind, Mix, Trial, plan},
    relay::Relays,
    senders::send_during,
    topology::{State, Topology},
    validators::{Addresses, Validators, height},
};
use crate::load::{Kept, SENDERS};

/// Number of members.
const MEMBERS: usize = 4;
/// Number of Tx blocks in a DS epoch.
const EPOCH: u64 = 20;
/// Time after which all messages from before a partition have their effect.
const SETTLE: Duration = Duration::from_secs(2);
/// Time for which a slow member runs, and then time for which it stops. The command `kill` prolongs both times.
const SLOW: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(95)];

/// Runs the trials of a seed with relays between the members.
///
/// # Panics
///
/// If a check fails.
pub(crate) fn run_with_relays(trials: u64, seed: u64) {
    run(trials, seed, &relay::MIX, |first| Box::new(Relays::start(first)));
}

/// Runs the trials of a seed with a network namespace for each member. The process continues in a network namespace of
/// its own, so the network of the machine does not change.
///
/// # Errors
///
/// What the system lacks.
///
/// # Panics
///
/// If a check fails.
pub(crate) fn run_with_namespaces(trials: u64, seed: u64) -> Result<(), String> {
    namespaces::enter()?;
    run(trials, seed, &namespaces::MIX, |first| Box::new(Namespaces::make(first)));
    Ok(())
}

fn run(trials: u64, seed: u64, mix: &Mix, topology: fn(u16) -> Box<dyn Topology>) {
    let is_on_demand = seed.is_multiple_of(2);
    let timing = if is_on_demand {
        "blocks = \"on-demand\"\nmin-gap = \"100ms\""
    } else {
        "blocks = \"interval\"\ninterval = \"300ms\""
    };
    let changes = [("blocks = \"interval\"\ninterval = \"1s\"", timing), ("ds-epoch = 100", "ds-epoch = 20")];
    let addresses = Addresses::default();
    let has_disk = mix.once.contains(&Kind::FullDisk) && is_root("limit the size of a disk");
    let mut validators = Validators::start(&addresses, topology, &changes, has_disk);
    println!("{trials} trials, seed {seed}, {}, files in {}", timing.replace('\n', ", "), validators.path().display());
    let (mut kept, mut checked, mut dice) = (Kept::default(), Checked::default(), Dice::new(seed));
    let mut next = [1; SENDERS];
    let mut counts = BTreeMap::<&str, u64>::new();
    let mut slowest = BTreeMap::<&str, Duration>::new();
    for (turn, trial) in (1..).zip(plan(trials, seed, mix)) {
        let state = if trial.closes { State::Closed } else { State::Delayed };
        let side = trial.side();
        let cut = if side.is_empty() { "" } else { validators.topology().cut(&side, state) };
        println!("trial {turn}: {trial} {cut}");
        if trial.kind == Kind::FullDisk && validators.disk.is_none() {
            println!("trial {turn}: SKIPPED: only root can limit the size of a disk");
            *counts.entry("SKIPPED").or_default() += 1;
            continue;
        }
        let begun = Instant::now();
        let mut recovery = Duration::ZERO;
        let sent = send_during(&addresses, &mut next, || recovery = disturb(&mut validators, &trial, state));
        let acknowledged = kept.extend(sent.acknowledged);
        checked.check(&validators, &kept, &mut dice);
        println!(
            "trial {turn}: {:.1?}, next block after {recovery:.1?}, {acknowledged} acknowledged, longest {:.1?}, {} \
             requests without a response, {} blocks, refusals {:?}",
            begun.elapsed(),
            sent.longest,
            sent.broken,
            checked.blocks(),
            sent.refusals
        );
        *counts.entry(trial.kind.name()).or_default() += 1;
        let longest = slowest.entry(trial.kind.name()).or_default();
        *longest = recovery.max(*longest);
    }
    kept.check_all(validators.node(0));
    checked.verify_independently(validators.path());
    println!("longest time from the end of a fault to the next block: {slowest:.1?}");
    println!("{}", validators.topology().summary());
    validators.finish();
    println!(
        "{counts:?} with seed {seed}: {} acknowledged transactions, none lost; {} equal blocks, all signed",
        kept.len(),
        checked.blocks()
    );
}

/// Disturbs members, and returns when all members have the head again. Returns the time from the end of the fault to
/// the next block of the affected member.
fn disturb(validators: &mut Validators<'_>, trial: &Trial, state: State) -> Duration {
    let Trial { kind, member, before, away, again, .. } = *trial;
    let all: Vec<usize> = (0..MEMBERS).collect();
    let others: Vec<usize> = all.iter().copied().filter(|it| *it != member).collect();
    let side = trial.side();
    thread::sleep(before);
    match kind {
        Kind::Kill => {
            validators.kill(&[member]);
            thread::sleep(away);
            validators.start_member(member);
        }
        Kind::KillAll => {
            validators.kill(&all);
            for start in 0..MEMBERS {
                thread::sleep(away / 5);
                validators.start_member((member + start) % MEMBERS);
            }
        }
        Kind::Halves => {
            validators.separate(&side, state);
            thread::sleep(SETTLE);
            let heights = || validators.nodes().map(height).max();
            let head = heights();
            thread::sleep(away);
            assert_eq!(heights(), head, "a block without a quorum");
            validators.separate(&side, State::Open);
        }
        Kind::Alone => {
            validators.separate(&side, state);
            thread::sleep(SETTLE);
            let head = height(validators.node(member));
            validators.wait_for_blocks(&others, 2);
            thread::sleep(away);
            assert_eq!(height(validators.node(member)), head, "a block of a member without connections");
            validators.separate(&side, State::Open);
        }
        Kind::FullDisk => {
            let disk = validators.disk.as_ref().expect("the caller has a disk");
            disk.fill();
            validators.node(member).wait_for("No space left on device");
            validators.wait_for_blocks(&others, 3);
            thread::sleep(away);
            disk.free();
        }
        Kind::Frozen => {
            validators.node(member).signal("STOP");
            validators.wait_for_blocks(&others, 2);
            thread::sleep(away);
            validators.node(member).signal("CONT");
        }
        Kind::Slow => {
            let (node, [runs, stops]) = (validators.node(member), SLOW);
            thread::scope(|scope| {
                // The drop of the sender is the end of the fault, also if a check fails.
                let (_sender, end) = mpsc::channel::<()>();
                scope.spawn(move || {
                    while end.recv_timeout(runs) == Err(RecvTimeoutError::Timeout) {
                        node.signal("STOP");
                        thread::sleep(stops);
                        node.signal("CONT");
                    }
                });
                validators.wait_for_blocks(&others, 5);
                thread::sleep(away);
            });
        }
        Kind::Rolling => {
            for restarted in 0..MEMBERS {
                let restarted = (member + restarted) % MEMBERS;
                validators.stop(restarted);
                thread::sleep(away / 10);
                validators.start_member(restarted);
                validators.wait_for_blocks(&all, 1);
            }
        }
        Kind::PowerLoss => {
            validators.topology().power(member, false);
            validators.kill(&[member]);
            validators.wait_for_blocks(&others, 2);
            thread::sleep(away);
            validators.topology().power(member, true);
            validators.start_member(member);
        }
        Kind::Narrow => {
            validators.topology().narrow(member, true);
            validators.wait_for_blocks(&others, 3);
            thread::sleep(away);
            validators.topology().narrow(member, false);
        }
    }
    let ended = Instant::now();
    validators.wait_for_blocks(&[member], 1);
    let recovery = ended.elapsed();
    if let Some(again) = again {
        thread::sleep(again);
        validators.kill(&[member]);
        validators.start_member(member);
    }
    // The affected members have all blocks of the others, and all members make further blocks.
    validators.wait_for_blocks(&all, 2);
    recovery
}
