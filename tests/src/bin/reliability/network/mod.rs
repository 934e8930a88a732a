//! Disturbs a network of four validators under load.
//!
//! The seed determines the trials. After each trial, all members have the same blocks and the same answers. Every
//! acknowledged transaction is in its block, the committee has signed each block, and the sum of all money is constant.
//! While a quorum is connected, the network makes blocks. Without a quorum, it makes none.

mod check;
mod plan;
mod relay;
mod senders;
mod validators;

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use silica_tests::{Dice, root::is_root};

use self::{
    check::Checked,
    plan::{Kind, Trial, plan},
    relay::State,
    senders::send_during,
    validators::{Addresses, Validators, height},
};
use crate::load::{Kept, SENDERS};

/// Number of members.
const MEMBERS: usize = 4;
/// Number of Tx blocks in a DS epoch.
const EPOCH: u64 = 20;
/// Time after which all messages from before a partition have their effect.
const SETTLE: Duration = Duration::from_secs(2);

/// Runs the trials of a seed.
///
/// # Panics
///
/// If a check fails.
pub(crate) fn run(trials: u64, seed: u64) {
    let is_on_demand = seed.is_multiple_of(2);
    let timing = if is_on_demand {
        "blocks = \"on-demand\"\nmin-gap = \"100ms\""
    } else {
        "blocks = \"interval\"\ninterval = \"300ms\""
    };
    let changes = [("blocks = \"interval\"\ninterval = \"1s\"", timing), ("ds-epoch = 100", "ds-epoch = 20")];
    let addresses = Addresses::default();
    let mut validators = Validators::start(&addresses, &changes, is_root("limit the size of a disk"));
    println!("{trials} trials, seed {seed}, {}, files in {}", timing.replace('\n', ", "), validators.path().display());
    let (mut kept, mut checked, mut dice) = (Kept::default(), Checked::default(), Dice::new(seed));
    let mut next = [1; SENDERS];
    let mut counts = BTreeMap::<&str, u64>::new();
    for (turn, trial) in (1..).zip(plan(trials, seed)) {
        println!("trial {turn}: {trial}");
        if trial.kind == Kind::FullDisk && validators.disk.is_none() {
            println!("trial {turn}: SKIPPED: only root can limit the size of a disk");
            *counts.entry("SKIPPED").or_default() += 1;
            continue;
        }
        let begun = Instant::now();
        let sent = send_during(&addresses, &mut next, || disturb(&mut validators, &trial));
        let acknowledged = kept.extend(sent.acknowledged);
        checked.check(&validators, &kept, &mut dice);
        println!(
            "trial {turn}: {:.1?}, {acknowledged} acknowledged, longest {:.1?}, {} requests without a response, {} \
             blocks, refusals {:?}",
            begun.elapsed(),
            sent.longest,
            sent.broken,
            checked.blocks(),
            sent.refusals
        );
        *counts.entry(trial.kind.name()).or_default() += 1;
    }
    kept.check_all(validators.node(0));
    checked.verify_independently(validators.path());
    validators.finish();
    println!(
        "{counts:?} with seed {seed}: {} acknowledged transactions, none lost; {} equal blocks, all signed",
        kept.len(),
        checked.blocks()
    );
}

/// Disturbs members, and returns when all members have the head again.
fn disturb(validators: &mut Validators<'_>, trial: &Trial) {
    let Trial { kind, member, before, away, again, closes } = *trial;
    let all: Vec<usize> = (0..MEMBERS).collect();
    let others: Vec<usize> = all.iter().copied().filter(|it| *it != member).collect();
    let state = if closes { State::Closed } else { State::Delayed };
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
            let side = [member, (member + 1) % MEMBERS];
            validators.separate(&side, state);
            thread::sleep(SETTLE);
            let heights = || validators.nodes().map(height).max();
            let head = heights();
            thread::sleep(away);
            assert_eq!(heights(), head, "a block without a quorum");
            validators.separate(&side, State::Open);
        }
        Kind::Alone => {
            validators.separate(&[member], state);
            thread::sleep(SETTLE);
            let head = height(validators.node(member));
            validators.wait_for_blocks(&others, 2);
            thread::sleep(away);
            assert_eq!(height(validators.node(member)), head, "a block of a member without connections");
            validators.separate(&[member], State::Open);
        }
        Kind::FullDisk => {
            let disk = validators.disk.as_ref().expect("the caller has a disk");
            disk.fill();
            validators.node(member).wait_for("No space left on device");
            validators.wait_for_blocks(&others, 3);
            thread::sleep(away);
            disk.free();
        }
        Kind::Slow => {
            validators.node(member).signal("STOP");
            validators.wait_for_blocks(&others, 2);
            thread::sleep(away);
            validators.node(member).signal("CONT");
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
    }
    if let Some(again) = again {
        thread::sleep(again);
        validators.kill(&[member]);
        validators.start_member(member);
    }
    // The affected members have all blocks of the others, and all members make further blocks.
    validators.wait_for_blocks(&all, 2);
}
