use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};
use silica_protocol::sha256;

use super::{layer::hashed, *};
use crate::db::Disk;

const CONTRACT: Address = Address::new([7; 20]);
const OTHER: Address = Address::new([8; 20]);

fn all(contract: &Address) -> Span<'_> {
    Span { contract, prefix: "", from: "" }
}

/// Generates keys, many of which have several slices in common.
fn key() -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![Just("a".to_owned()), Just("b\u{16}".to_owned()), Just("ä".repeat(99)), Just("c".repeat(200))];
    vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

fn found(rows: Rows<'_>, span: Span<'_>) -> Vec<String> {
    rows.scan(span).map(|row| row.unwrap().0).collect()
}

fn on_pages(pages: Pages<'_>, span: Span<'_>) -> Vec<String> {
    let (mut scan, mut keys) = (pages.scan(span).unwrap(), Vec::new());
    while let Some(key) = scan.next_key().unwrap() {
        keys.push(key.to_owned());
    }
    keys
}

const TABLES: Tables = Tables { top: 5, deep: 6 };

/// Generates changes of many keys: whether to add or remove them, and the keys.
fn edits() -> impl Strategy<Value = Vec<(bool, Vec<String>)>> {
    let many = (0..40_u32, 1..400_u32).prop_map(|(first, count)| {
        (first * 100..first * 100 + count)
            .map(|number| format!("\u{16}balances\u{16}\"0x{number:040}\"\u{16}"))
            .collect()
    });
    vec((prop::bool::weighted(0.7), prop_oneof![many, vec(key(), 0..9)]), 1..12)
}

proptest! {
    #[test]
    fn rows_are_a_sorted_set(ops in vec((any::<bool>(), any::<bool>(), key()), 0..60), prefix in key(), from in key()) {
        let db = Db::in_memory();
        let rows = Rows { db: &db, tables: TABLES };
        let mut model = [BTreeSet::new(), BTreeSet::new()];
        for (insert, other, key) in ops {
            let contract = if other { &OTHER } else { &CONTRACT };
            let model = &mut model[usize::from(other)];
            if insert {
                let mut batch = Batch::default();
                rows.insert(&mut batch, contract, &key, key.as_bytes().first_chunk::<1>().unwrap_or(b"-"));
                rows.db.apply(batch).unwrap();
                model.insert(key);
            } else {
                rows.remove(contract, &key).unwrap();
                model.remove(&key);
            }
        }
        for (contract, model) in [&CONTRACT, &OTHER].into_iter().zip(&model) {
            prop_assert_eq!(&found(rows, all(contract)), &model.iter().cloned().collect::<Vec<_>>());
            let span = Span { contract, prefix: &prefix, from: &from };
            let expected = model.iter().filter(|key| key.starts_with(&prefix) && **key >= from);
            prop_assert_eq!(found(rows, span), expected.cloned().collect::<Vec<_>>());
        }
        let every: Vec<_> = rows.all().map(Result::unwrap).collect();
        let expected = model.iter().zip([CONTRACT, OTHER]).flat_map(|(model, contract)| {
            model.iter().map(move |key| (contract, key.clone(), vec![*key.as_bytes().first().unwrap_or(&b'-')]))
        });
        prop_assert_eq!(&every, &expected.collect::<Vec<_>>());
        for (contract, key, _) in every {
            rows.remove(&contract, &key).unwrap();
        }
        prop_assert_eq!(db.scan(vec![]..vec![0xff]).count(), 0, "rows that lead nowhere are removed");
    }

    #[test]
    fn pages_are_a_sorted_set(edits in edits(), prefix in key(), from in key()) {
        let db = Db::in_memory();
        let pages = Pages { db: &db, tables: TABLES };
        let mut model = BTreeSet::new();
        pages.insert([(&OTHER, "other")].into_iter()).unwrap();
        for (is_added, keys) in edits {
            let changed = keys.iter().map(|key| (&CONTRACT, key.as_str()));
            if is_added {
                pages.insert(changed).unwrap();
                model.extend(keys);
            } else {
                pages.remove(changed).unwrap();
                model.retain(|key| !keys.contains(key));
            }
            prop_assert_eq!(&on_pages(pages, all(&CONTRACT)), &model.iter().cloned().collect::<Vec<_>>());
        }
        for from in [from.as_str(), "\u{16}balances\u{16}\"0x0000000000000000000000000000000000000301"] {
            let span = Span { contract: &CONTRACT, prefix: &prefix, from };
            let expected = model.iter().filter(|key| key.starts_with(&prefix) && key.as_str() >= from);
            prop_assert_eq!(on_pages(pages, span), expected.cloned().collect::<Vec<_>>());
        }
        prop_assert_eq!(on_pages(pages, all(&OTHER)), ["other"]);
        pages.remove(model.iter().map(|key| (&CONTRACT, key.as_str()))).unwrap();
        prop_assert_eq!(db.scan(vec![]..vec![0xff]).count(), 1, "what leads nowhere is removed");
    }

    /// After an interruption at any write, all unchanged keys exist, and no other keys. The next attempt completes the
    /// change.
    #[test]
    fn pages_are_whole_after_they_were_cut_off(edits in edits(), after in 0..30_u64) {
        let disk = Disk::default();
        let mut model = BTreeSet::new();
        for (round, (is_added, keys)) in edits.into_iter().enumerate() {
            let edit = |db: &Db| {
                let pages = Pages { db, tables: TABLES };
                let keys = keys.iter().map(|key| (&CONTRACT, key.as_str()));
                if is_added { pages.insert(keys) } else { pages.remove(keys) }
            };
            let there = || -> BTreeSet<_> {
                on_pages(Pages { db: &Db::on_disk(&disk), tables: TABLES }, all(&CONTRACT)).into_iter().collect()
            };
            let before = model.clone();
            if is_added {
                model.extend(keys.iter().cloned());
            } else {
                model.retain(|key| !keys.contains(key));
            }
            disk.fail_after(after + round as u64);
            let cut = edit(&Db::on_disk(&disk)).is_err();
            disk.crash(usize::MAX);
            if cut {
                let there = there();
                prop_assert!(there.is_superset(&before.intersection(&model).cloned().collect()));
                prop_assert!(there.is_subset(&before.union(&model).cloned().collect()));
                let db = Db::on_disk(&disk);
                edit(&db).unwrap();
                db.flush().unwrap();
            }
            prop_assert_eq!(&there(), &model);
        }
    }

    #[test]
    fn candidates_come_in_portions(
        written in vec(key(), 0..20),
        recent in vec(key(), 0..20),
        older in vec(key(), 0..20),
        prefix in key(),
        limit in 1..9_usize,
    ) {
        let keys = Keys::new(Db::in_memory());
        let changes = |keys: &[String]| KeyChanges {
            added: keys.iter().map(|key| (CONTRACT, key.as_str().into())).collect(),
            gone: Vec::new(),
        };
        keys.note(1, changes(&written));
        keys.write_checkpoint(1, 1).unwrap();
        prop_assert_eq!(keys.recent.take(all(&CONTRACT), None, PORTION).keys.len(), 0);
        keys.note(2, changes(&recent));
        let others = Recent::default();
        others.note_added(1, changes(&older));
        let mut seen = Vec::new();
        let mut from = Some(String::new());
        while let Some(start) = from {
            let span = Span { contract: &CONTRACT, prefix: &prefix, from: &start };
            let portion = keys.candidates(span, 2, Some(&others), Limit { keys: limit, bytes: 400 }).unwrap();
            prop_assert!(portion.next.is_none() || portion.keys.len() > 0);
            prop_assert!(portion.keys.len() / 3 <= limit);
            seen.extend(portion.keys.to_vec());
            from = portion.next;
        }
        let every: BTreeSet<_> = [written, recent, older].concat().into_iter().collect();
        prop_assert_eq!(seen, every.into_iter().filter(|key| key.starts_with(&prefix)).collect::<Vec<_>>());
    }
}

proptest! {
    #[test]
    fn reverted_changes_leave_no_keys(
        versions in vec(vec((any::<bool>(), 0..12_u8), 0..8), 1..12),
        held in any::<prop::sample::Index>(),
        reverts in vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let changes = |ops: &[(bool, u8)]| {
            let keys = |is_added| {
                let of_kind = ops.iter().filter(move |(added, _)| *added == is_added);
                of_kind.map(|(_, key)| (if *key < 6 { CONTRACT } else { OTHER }, format!("{key}").into())).collect()
            };
            KeyChanges { added: keys(true), gone: keys(false) }
        };
        let note = |recent: &Recent, from: usize, to: usize| {
            for (version, ops) in (1..).zip(&versions).skip(from).take(to - from) {
                recent.note(version, changes(ops));
            }
        };
        let content = |recent: &Recent| {
            let due = (0..=versions.len() as u64).map(|version| format!("{:?}", recent.due(version, None, PORTION)));
            let keys = [CONTRACT, OTHER].map(|contract| recent.take(all(&contract), None, PORTION).keys.to_vec());
            (due.collect::<Vec<_>>(), keys)
        };
        let (recent, held) = (Recent::default(), held.index(versions.len()));
        note(&recent, 0, held);
        prop_assert!(!recent.undo_after(held as u64), "no caller called `remember`");
        recent.remember(held as u64);
        note(&recent, held, versions.len());
        recent.remember(versions.len() as u64);
        let mut end = versions.len();
        for to in reverts {
            end = held + to.index(end - held + 1);
            prop_assert!(recent.undo_after(end as u64));
            let fresh = Recent::default();
            note(&fresh, 0, end);
            prop_assert_eq!(content(&recent), content(&fresh));
        }
        prop_assert!(held == 0 || !recent.undo_after(held as u64 - 1));
        note(&recent, end, versions.len());
        recent.release(0);
        prop_assert!(!recent.undo_after(end as u64), "a checkpoint comes between");
    }
}

/// Returns the number of pages, and whether the change of keys succeeded.
fn change_pages(disk: &Disk, writes: u64, change: impl FnOnce(Pages<'_>) -> Result<(), StateError>) -> (usize, bool) {
    disk.fail_after(writes);
    let changed = change(Pages { db: &Db::on_disk(disk), tables: TABLES }).is_ok();
    disk.crash(usize::MAX);
    (disk.keys().len(), changed)
}

#[test]
fn removed_keys_do_not_come_back_from_a_division_that_was_cut_off() {
    let disk = Disk::default();
    let mut keys: Vec<String> = (0..120_u8).map(|number| hex::encode(sha256(&[&[number]]))).collect();
    keys.sort();
    let insert = |keys: &[String], writes| {
        change_pages(&disk, writes, |pages| pages.insert(keys.iter().map(|key| (&CONTRACT, key.as_str()))))
    };
    let remove = |keys: &[String]| {
        change_pages(&disk, u64::MAX, |pages| pages.remove(keys.iter().map(|key| (&CONTRACT, key.as_str()))))
    };
    assert_eq!(insert(&keys[..60], u64::MAX), (1, true));
    assert_eq!(insert(&keys[60..], 2), (3, false), "the second and third part were written, and the first was not");
    assert_eq!(insert(&keys[60..], u64::MAX), (3, true));
    let db = Db::on_disk(&disk);
    let second = db.scan(vec![]..vec![0xff]).nth(1).unwrap().unwrap().0;
    let (first, second) = keys.split_at(keys.partition_point(|key| key.as_bytes() < &second[21..]));
    assert!(first.len() < 60, "the first page has keys of the second");
    assert!(remove(second).1);
    assert_eq!(on_pages(Pages { db: &Db::on_disk(&disk), tables: TABLES }, all(&CONTRACT)), first);
    assert_eq!(remove(first), (0, true));
}

#[test]
fn long_key_is_hashed_once() {
    let db = Db::in_memory();
    let (pages, rows) = (Pages { db: &db, tables: TABLES }, Rows { db: &db, tables: Tables { top: 7, deep: 8 } });
    let key = "ä".repeat(50_000);
    let bound = key.len() + 200;
    let pair = [(&CONTRACT, key.as_str())];
    let span = Span { contract: &CONTRACT, prefix: &key[..70_000], from: &key[..90_000] };
    hashed::take();
    let cost = |name, bytes| assert!(bytes <= bound, "{name}: {bytes} bytes");
    pages.insert(pair.into_iter()).unwrap();
    cost("insert", hashed::take());
    assert_eq!(on_pages(pages, span), [&*key]);
    cost("scan", hashed::take());
    pages.remove(pair.into_iter()).unwrap();
    cost("remove", hashed::take());
    let mut batch = Batch::default();
    rows.insert(&mut batch, &CONTRACT, &key, b"-");
    cost("list", hashed::take());
    db.apply(batch).unwrap();
    assert_eq!(found(rows, span), [&*key]);
    cost("scan of the list", hashed::take());
    rows.remove(&CONTRACT, &key).unwrap();
    cost("removal from the list", hashed::take());
    assert_eq!(db.scan(vec![]..vec![0xff]).count(), 0);
}

#[test]
fn layer_is_named_by_all_slices_before_it() {
    let key = "0123456789".repeat(50);
    let way: Vec<_> = TABLES.way(&CONTRACT, key.as_bytes()).collect();
    let named = |slices: &str| {
        let hash = sha256(&[CONTRACT.as_bytes(), slices.as_bytes()]);
        [&[TABLES.deep], &hash[..20]].concat()
    };
    let top = [&[TABLES.top], &CONTRACT.as_bytes()[..]].concat();
    let expected = [
        (top, key.as_bytes()),
        (named(&key[..200]), &key.as_bytes()[200..]),
        (named(&key[..400]), &key.as_bytes()[400..]),
    ];
    assert_eq!(way, expected);
    assert_eq!(TABLES.way(&CONTRACT, &key.as_bytes()[..400]).count(), 2);
    assert_eq!(TABLES.way(&CONTRACT, b"").count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Readers of any version record ranges, and no reader of any version misses an entry.
    #[test]
    fn ranges_without_entries_hide_none(blocks in vec((vec(0..80_u8, 0..40), vec(0..80_u8, 0..80), 0..4_usize, any::<u8>()), 1..12)) {
        let keys = Keys::new(Db::in_memory());
        let name = |number: u8| -> Box<str> { format!("m{number:02}").into() };
        let mut versions = vec![BTreeSet::new()];
        for (version, (added, gone, behind, from)) in (1..).zip(blocks) {
            let before = versions.last().unwrap();
            let gone: BTreeSet<_> = gone.into_iter().map(name).filter(|key| before.contains(key)).collect();
            let added: BTreeSet<_> = added.into_iter().map(name).filter(|key| !before.contains(key)).collect();
            let owned = |keys: &BTreeSet<Box<str>>| keys.iter().map(|key| (CONTRACT, key.clone())).collect();
            keys.note(version, KeyChanges { added: owned(&added), gone: owned(&gone) });
            versions.push(before.difference(&gone).chain(&added).cloned().collect());
            for from in [String::from("m"), name(from % 80).into()] {
                // The first reader reads this version or an earlier version. Then one reader reads each version.
                let first = versions.len().saturating_sub(1 + behind);
                for version in [first].into_iter().chain(0..versions.len()) {
                    let there = read_entries(&keys, &from, version as u64, &versions[version]);
                    prop_assert_eq!(there, versions[version].range(Box::from(from.as_str())..).cloned().collect::<Vec<_>>());
                }
            }
        }
    }
}

/// Reads a map in batches, like a view, in a version that has the given entries.
fn read_entries(keys: &Keys, from: &str, version: Version, entries: &BTreeSet<Box<str>>) -> Vec<Box<str>> {
    let (mut there, mut gap, mut next) = (Vec::new(), Gap::new(from.to_owned()), Some(from.to_owned()));
    let mut limit = Limit { keys: 2, ..PORTION };
    while let Some(from) = next {
        let span = Span { contract: &CONTRACT, prefix: "m", from: &from };
        let window = keys.candidates(span, version, None, limit).unwrap();
        let has_entry = |at| entries.contains(window.keys.get(at).unwrap());
        gap.pass(&window.keys, has_entry, |from, end| keys.note_absent(&CONTRACT, from, end, version));
        there.extend((0..window.keys.len()).filter(|at| has_entry(*at)).map(|at| window.keys.get(at).unwrap().into()));
        limit.keys = limit.keys.saturating_mul(4);
        next = window.next;
    }
    there
}

#[test]
fn keys_that_are_gone_are_looked_up_once() {
    let keys = Keys::new(Db::in_memory());
    let name = |number: u32| -> Box<str> { format!("m{number:04}").into() };
    let all = || (0..3000).map(|number| (CONTRACT, name(number))).collect();
    keys.note(1, KeyChanges { added: all(), gone: Vec::new() });
    keys.write_checkpoint(1, 1).unwrap();
    keys.note(2, KeyChanges { added: vec![(CONTRACT, "n".into())], gone: all() });
    let candidates = |prefix, version| {
        let span = Span { contract: &CONTRACT, prefix, from: "" };
        keys.candidates(span, version, None, Limit { keys: 5000, ..PORTION }).unwrap().keys.len()
    };
    assert_eq!(candidates("m", 2), 3000);
    assert_eq!(read_entries(&keys, "m", 2, &BTreeSet::new()), []);
    assert_eq!([candidates("m", 2), candidates("m", 3), candidates("n", 2)], [0, 0, 1]);
    assert_eq!(candidates("m", 1), 3000, "the version before has them");
    keys.note(3, KeyChanges { added: vec![(CONTRACT, name(700))], gone: Vec::new() });
    let entries = BTreeSet::from([name(700)]);
    assert_eq!([candidates("m06", 3), candidates("m07", 3), candidates("m08", 3)], [0, 1, 0], "the rest is skipped");
    assert_eq!(read_entries(&keys, "m", 3, &entries), [name(700)]);
    assert_eq!(read_entries(&keys, "m", 2, &BTreeSet::new()), []);
}

#[test]
fn ranges_without_entries_are_bounded() {
    let absent = Absent::default();
    absent.note_added(7, &[]);
    for number in 0..5000 {
        let (from, end) = (format!("{number:04}a"), format!("{number:04}b"));
        absent.note(&CONTRACT, &from, &end, 7);
        assert_eq!(absent.skip(&CONTRACT, &from, 7).0, end);
        assert_eq!(absent.skip(&CONTRACT, &from, 6).0, from);
        assert_eq!(absent.skip(&OTHER, &from, 7), (from, None));
        assert!(absent.len() <= 1024);
    }
    let long = "x".repeat(5000);
    absent.note(&CONTRACT, &long, "y", 7);
    absent.note(&CONTRACT, "6", "7", 6);
    for from in [long, "6".to_owned()] {
        assert_eq!(absent.skip(&CONTRACT, &from, 7).0, from);
    }
}

fn changes(added: &[&str], gone: &[&str]) -> KeyChanges {
    let owned = |keys: &[&str]| keys.iter().map(|key| (CONTRACT, (*key).into())).collect();
    KeyChanges { added: owned(added), gone: owned(gone) }
}

fn candidates(keys: &Keys) -> Vec<String> {
    keys.candidates(all(&CONTRACT), 9, None, PORTION).unwrap().keys.to_vec()
}

#[test]
fn key_stays_until_no_state_that_can_be_read_has_it() {
    let keys = Keys::new(Db::in_memory());
    keys.note(1, changes(&["a", "b", "c"], &[]));
    keys.write_checkpoint(1, 1).unwrap();
    keys.note(2, changes(&[], &["a", "b"]));
    keys.note(3, changes(&["b", "d"], &[]));
    keys.begin_checkpoint(1, 1).unwrap();
    // The second version has neither `b` nor `d`. The third version has both.
    keys.write_checkpoint(2, 2).unwrap();
    assert_eq!(candidates(&keys), ["a", "b", "c", "d"]);
    keys.begin_checkpoint(2, 2).unwrap();
    assert_eq!(candidates(&keys), ["b", "c", "d"]);
    keys.write_checkpoint(3, 3).unwrap();
    assert_eq!(on_pages(keys.pages(), all(&CONTRACT)), ["b", "c", "d"]);
    assert_eq!(keys.listed().all().count(), 0);
}

#[test]
fn key_that_comes_and_goes_between_checkpoints_is_seen_in_between() {
    let keys = Keys::new(Db::in_memory());
    keys.note(1, changes(&["a"], &[]));
    keys.note(2, changes(&[], &["a"]));
    keys.write_checkpoint(1, 2).unwrap();
    assert_eq!(candidates(&keys), ["a"]);
    keys.begin_checkpoint(1, 2).unwrap();
    assert_eq!(candidates(&keys), [""; 0]);
    assert_eq!(on_pages(keys.pages(), all(&CONTRACT)), [""; 0]);
}

#[test]
fn list_of_an_unfinished_checkpoint_removes_nothing() {
    let keys = Keys::new(Db::in_memory());
    keys.note(1, changes(&["a"], &[]));
    keys.write_checkpoint(1, 1).unwrap();
    keys.note(2, changes(&[], &["a"]));
    keys.write_checkpoint(2, 2).unwrap();
    let next_process = Keys::new(keys.db);
    next_process.begin_checkpoint(1, 1).unwrap();
    assert_eq!(candidates(&next_process), ["a"]);
    assert_eq!(next_process.listed().all().count(), 0);
}

#[test]
fn damaged_page_is_found() {
    let disk = Disk::default();
    let keys = Keys::new(Db::on_disk(&disk));
    let long = "x".repeat(500);
    keys.note(1, changes(&["a", &long], &[]));
    keys.write_checkpoint(1, 1).unwrap();
    keys.db.flush().unwrap();
    let rows = disk.keys();
    assert_eq!(rows.len(), 3, "one page, and two more for the long key");
    for row in rows {
        disk.damage(&row, |value| value.map(|value| value.iter().map(|byte| byte ^ 1).collect()));
        let damaged = Keys::new(Db::on_disk(&disk)).candidates(all(&CONTRACT), 9, None, PORTION);
        assert!(matches!(damaged, Err(StateError::Damaged { .. })), "{damaged:?}");
        disk.damage(&row, |value| value.map(|value| value.iter().map(|byte| byte ^ 1).collect()));
    }
    assert_eq!(candidates(&Keys::new(Db::on_disk(&disk))), ["a", &long]);
}
