//! Messages that no correct member sends, and peers that are no members.

use std::{fs, iter, thread, time::Duration};

use arc_malachitebft_app::types::core::VoteType;
use arc_malachitebft_network::Channel;
use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};

use crate::{
    hostile::{ANSWERS, Habit, Hostile, Part},
    members::{FalseSettings, Member, Network, pay, peer_key, wait, wait_for_blocks, wait_for_height},
};

/// If one member proposes nothing, each fourth height takes longer by the `propose-timeout`.
const TIMING: &str = "interval = \"20ms\"\npropose-timeout = \"500ms\"";

/// The topics, each with the largest message on it in bytes.
const TOPICS: [(Channel, usize); 3] =
    [(Channel::Consensus, 16 << 10), (Channel::ProposalParts, 160 << 10), (Channel::Liveness, 64 << 10)];

/// Starts three members and a hostile one, and waits until a payment is in a block of all members.
fn attacked(habit: Habit) -> (Network, Vec<Member>, Hostile) {
    let network = Network::new(4, TIMING);
    let hostile = Hostile::start(&network, 3, habit);
    let members: Vec<_> = (0..3).map(|index| network.start(index)).collect();
    hostile.wait_for_members(3);
    wait_for_height(&members, 1);
    pay(&members, 1, 10);
    for member in &members {
        member.wait_for_payments(1);
    }
    (network, members, hostile)
}

/// Checks that the members make equal blocks, and returns the number of messages that each of them has dropped.
#[track_caller]
fn go_on(network: &Network, members: &[Member]) -> Vec<u64> {
    let target = wait_for_blocks(members, 2);
    network.check_equal(members, target);
    members.iter().map(|member| member.status().dropped).collect()
}

/// Calls [`go_on`] until the members have processed all earlier messages. Returns the result of the last call.
#[track_caller]
fn settle(network: &Network, members: &[Member]) -> Vec<u64> {
    let mut before = go_on(network, members);
    loop {
        let dropped = go_on(network, members);
        if dropped == before {
            return dropped;
        }
        before = dropped;
    }
}

fn random(random: &mut ChaCha8Rng, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random.fill_bytes(&mut bytes);
    bytes
}

#[test]
fn a_member_sends_old_changed_random_and_large_messages() {
    let (network, members, hostile) = attacked(Habit::Silent);
    wait_for_height(&members, 3);
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let before = go_on(&network, &members);

    let old = hostile.messages();
    for topic in [Channel::Consensus, Channel::ProposalParts, Channel::Sync] {
        assert!(old.iter().filter(|(channel, _)| *channel == topic).count() > 3, "{topic}");
    }
    for (channel, bytes) in &old {
        hostile.send_bytes(*channel, bytes.clone());
    }
    // A co-signature message has another publisher than its sender.
    wait("drop", || members.iter().zip(&before).all(|(member, before)| member.status().dropped > *before));
    let before = go_on(&network, &members);
    assert!(members.iter().all(|member| member.payments() == 1), "an old batch pays nothing");

    for (channel, mut bytes) in old {
        let at = usize::try_from(rng.next_u32()).unwrap() % bytes.len();
        bytes[at] ^= 1 << (rng.next_u32() % 8);
        hostile.send_bytes(channel, bytes);
    }
    wait("drop", || members.iter().zip(&before).all(|(member, before)| member.status().dropped > *before));
    let before = go_on(&network, &members);

    for (channel, most) in TOPICS.into_iter().chain([(Channel::Sync, 1 << 20)]) {
        for len in [1, 7, 100, 1_000, most] {
            hostile.send_bytes(channel, random(rng, len));
            hostile.send_bytes(channel, vec![0xff; len]);
        }
    }
    for stream in 0..20 {
        let bytes = random(rng, 100 << (stream % 10));
        hostile.send(&Part::Transactions(bytes.clone()), stream);
        hostile.send(&Part::Confirmed { batch: [1; 32], except: (0..9_999).collect() }, stream);
        hostile.send(&Part::CoSign { to: None, message: bytes }, stream);
    }
    wait("drop", || members.iter().zip(&before).all(|(member, before)| member.status().dropped >= *before + 20));
    let before = settle(&network, &members);

    // Only the message within the limit arrives.
    for (channel, most) in TOPICS {
        hostile.send_bytes(channel, random(rng, most + 1));
    }
    let message = |len| Part::CoSign { to: None, message: vec![1; len] };
    for len in [160 << 10, 1 << 20, 3 << 20, (160 << 10) - 100] {
        hostile.send(&message(len), 1);
    }
    wait("drop", || members.iter().zip(&before).all(|(member, before)| member.status().dropped > *before));
    let after = settle(&network, &members);
    assert!(after.iter().zip(&before).all(|(after, before)| *after == before + 1), "{before:?}, {after:?}");

    // The connections of the topics have messages of at most 4 MiB.
    hostile.send(&message(5 << 20), 1);
    go_on(&network, &members);
    hostile.check_votes();
}

#[test]
fn a_member_sends_false_answers_and_requests_for_decided_entries() {
    let (network, mut members, hostile) = attacked(Habit::FalseAnswers);
    hostile.request(&borsh::to_vec(&(1_u64, 2_u64)).unwrap());
    wait("decided entries", || hostile.entries().iter().any(|entries| entries.len() > 100));
    for (first, last) in [(1, 10_000), (u64::MAX, 0), (u64::MAX - 1, u64::MAX), (1, u64::MAX)] {
        hostile.announce(first, last);
        let answers = hostile.answers();
        go_on(&network, &members);
        // If the announced heights contain the next one, the members request its entry.
        assert!(first > 1 || hostile.answers() > answers, "{first} to {last}: no request");
    }
    hostile.announce(1, 10_000);
    wait("answers", || hostile.answers() >= 2 * ANSWERS);
    let ranges = [(1, u64::MAX), (u64::MAX, 0), (0, 0), (5, 2), (u64::MAX, u64::MAX)];
    let ranges = ranges.map(|range: (u64, u64)| borsh::to_vec(&range).unwrap());
    for bytes in ranges.iter().chain(&[Vec::new(), vec![1; 15]]).flat_map(|bytes| iter::repeat_n(bytes, 20)) {
        hostile.request(bytes);
    }
    hostile.request(&vec![0xff; 1 << 20]);
    hostile.request(&vec![1; (1 << 20) + 1]);
    go_on(&network, &members);
    hostile.check_votes();

    // A member without blocks takes them from the others.
    drop(members.pop().unwrap().stop());
    fs::remove_dir_all(network.directory_of(2)).unwrap();
    let (height, peer) = (members[0].height(), network.file.members()[2].peer.to_string());
    hostile.forget_requests();
    members.push(network.start(2));
    wait("request", || {
        hostile.announce(1, 10_000);
        thread::sleep(Duration::from_millis(200));
        hostile.has_request_of(&peer)
    });
    members[2].wait_for_height(height);
    network.check_equal(&members, height);
}

/// Checks that the members make blocks without the votes and the connections of another peer.
#[track_caller]
fn go_on_without(network: &Network, members: &[Member]) {
    let target = members[0].height() + 6;
    wait("block", || {
        members.iter().all(|member| {
            let (height, status) = (member.height(), member.status());
            assert_eq!((status.peers, status.failed), (2, None));
            // Each block has two decisions. The member counts the second one after the commit of the block.
            height >= target && status.absent["m3"] >= 2 * height
        })
    });
    network.check_equal(members, target);
}

/// The peer has the key of the votes of a member, and another key of its connections.
#[test]
fn a_peer_that_is_not_in_the_file_is_no_peer_and_has_no_votes() {
    let network = Network::new(4, TIMING);
    let members: Vec<_> = (0..3).map(|index| network.start(index)).collect();
    wait_for_height(&members, 1);
    let stranger = Hostile::start_as(&network, 3, Habit::Silent, peer_key(77));
    for _ in 0..2 {
        let next = 2 * members[0].height();
        for height in next..next + 20 {
            for (kind, value) in [VoteType::Prevote, VoteType::Precommit]
                .into_iter()
                .flat_map(|kind| [(kind, None), (kind, Some([1; 32])), (kind, Some([2; 32]))])
            {
                stranger.vote(kind, height, value);
            }
        }
        go_on_without(&network, &members);
    }
    // The peer has reached members before they closed its connections. Its votes contradict one another, and no member
    // has accepted two of them.
    stranger.wait_for_members(1);
    assert!(members.iter().all(|member| member.status().double_votes == 0));
}

/// The network id is part of the names of the protocols.
#[test]
fn a_member_with_another_network_file_does_not_connect() {
    let network = Network::new(4, TIMING);
    let members: Vec<_> = (0..3).map(|index| network.start(index)).collect();
    wait_for_height(&members, 1);
    let other = FalseSettings::of(3).file(|text| text.replace("max-body = \"4MiB\"", "max-body = \"5MiB\""));
    let other = network.start_with(3, other).unwrap();
    go_on_without(&network, &members);
    assert_eq!((other.status().peers, other.height(), other.status().height), (0, 0, 0));
}
