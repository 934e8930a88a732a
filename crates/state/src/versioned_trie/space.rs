//! The space of the page file: where the trie pages are, and which parts of the file are free.
//!
//! The file is divided into regions, and a region into units. A page takes whole units that are adjacent. Each region
//! has a map with one bit for each unit.
//!
//! ```text
//!   region 0             region 1             region 2
//!   ██░░░░░█░░░░░░░░     ████░███████░███     ░░░░░░░░░░░░░░░░      █ unit of a page   ░ free unit
//! ```
//!
//! A checkpoint writes its pages into the free units of the emptiest regions, in ascending order. So most writes are
//! adjacent. It never overwrites a page of the previous checkpoint. It frees the pages that it replaces, and the next
//! checkpoint can use their units.

use std::{cmp::Reverse, fmt, io, ops::Range};

use super::pages::Manifest;
use crate::{
    codec::{Malformed, Reader, Writer, seal, unseal},
    db::{Db, DbError},
    error::StateError,
    layout::space,
};

/// Bytes of a unit.
const UNIT: u32 = 64;
/// Number of units of a region. A region has 1 MiB.
const REGION: u32 = 1 << 14;
/// Number of words of the map of a region.
const WORDS: usize = REGION as usize / 64;
/// Maximum number of regions: the number of a unit has 32 bits.
const MOST_REGIONS: usize = (u32::MAX / REGION) as usize;
/// A checkpoint fills a region only if at least this number of its units is free. Otherwise it extends the file. The
/// file has at most about three times the bytes of its pages, and about twice if the changed pages are random.
const WORTH_FILLING: u32 = REGION / 3 * 2;
/// A page with more units begins at a region without pages. So a page of 128 KiB and one byte can need a new region of
/// 1 MiB.
const LARGE: u32 = REGION / 8;
/// Pages with more units use the second cursor. Most pages are smaller.
const SMALL: u32 = 32;
/// Number of adjacent bytes that are written together. With fewer bytes, the tests interrupt more writes.
const BUFFER: usize = if cfg!(test) { 1 << 10 } else { 256 << 10 };

/// The place of a page in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PagePlace {
    /// Number of its first unit.
    unit: u32,
    /// Length of the page in bytes, without the rest of its last unit.
    len: u32,
}

impl PagePlace {
    /// The place of a page that does not exist.
    pub(crate) const NONE: Self = Self { unit: 0, len: 0 };

    /// Returns the position of the first byte.
    pub(crate) fn position(self) -> u64 {
        u64::from(self.unit).wrapping_mul(UNIT.into())
    }

    /// Returns the length of the page in bytes.
    pub(crate) const fn len(self) -> usize {
        self.len as usize
    }

    /// Returns the place as one number, which is 0 only for [`PagePlace::NONE`].
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.unit) << 32 | u64::from(self.len)
    }

    /// Returns the place of a number of [`PagePlace::to_bits`].
    pub(crate) fn from_bits(bits: u64) -> Self {
        let [a, b, c, d, rest @ ..] = bits.to_be_bytes();
        Self { unit: u32::from_be_bytes([a, b, c, d]), len: u32::from_be_bytes(rest) }
    }

    pub(crate) fn write(self, out: &mut Writer) {
        out.number(self.unit);
        out.number(self.len);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { unit: reader.number("place of a page")?, len: reader.number("length of a page")? })
    }

    /// Returns the units in each region: the number of the region, and a range of its units.
    fn parts(self) -> impl Iterator<Item = (usize, Range<u32>)> {
        let mut unit = self.unit;
        let end = unit.saturating_add(self.len.div_ceil(UNIT));
        std::iter::from_fn(move || {
            let (region, first) = (unit / REGION, unit % REGION);
            let len = end.saturating_sub(unit).min(REGION.saturating_sub(first));
            unit = unit.saturating_add(len);
            (len > 0).then_some((region as usize, first..first.saturating_add(len)))
        })
    }
}

/// A map with one bit for each unit of a region.
#[derive(Clone, PartialEq, Eq)]
struct Map(Box<[u64; WORDS]>);

impl Map {
    fn new() -> Self {
        Self(Box::new([0; WORDS]))
    }

    fn has(&self, unit: u32) -> bool {
        self.0.get(unit as usize / 64).is_some_and(|word| word >> (unit % 64) & 1 != 0)
    }

    fn set(&mut self, units: Range<u32>, to: bool) {
        for unit in units {
            if let Some(word) = self.0.get_mut(unit as usize / 64) {
                let bit = 1 << (unit % 64);
                *word = if to { *word | bit } else { *word & !bit };
            }
        }
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).fold(0, u32::saturating_add)
    }

    /// Writes the map without the zero bytes at its end.
    fn write(&self, out: &mut Writer) {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
        out.bytes(bytes.get(..end).unwrap_or_default());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let bytes = reader.bytes("map of a region")?;
        let mut map = Self::new();
        if bytes.len() > WORDS.saturating_mul(8) {
            return Err(Malformed("map of a region"));
        }
        for (word, bytes) in map.0.iter_mut().zip(bytes.chunks(8)) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        Ok(map)
    }
}

/// One region.
struct Region {
    /// The units of the newest finished checkpoint.
    live: Map,
    /// The units of the checkpoint in progress. `None` if these units and the row on disk are the same as `live`.
    next: Option<Map>,
}

impl Region {
    fn new() -> Self {
        Self { live: Map::new(), next: None }
    }

    fn next(&mut self) -> &mut Map {
        self.next.get_or_insert_with(|| self.live.clone())
    }

    fn is_free(&self, unit: u32) -> bool {
        !self.live.has(unit) && self.next.as_ref().is_none_or(|next| !next.has(unit))
    }

    fn is_blank(&self) -> bool {
        self.live.count() == 0 && self.next.as_ref().is_none_or(|next| next.count() == 0)
    }

    /// Returns the first of `count` adjacent free units, from a unit on.
    fn find(&self, from: u32, count: u32) -> Option<u32> {
        let mut first = from;
        for unit in from..REGION {
            if !self.is_free(unit) {
                first = unit.saturating_add(1);
            } else if unit.saturating_sub(first).saturating_add(1) == count {
                return Some(first);
            }
        }
        None
    }
}

/// The space of a page file.
pub(crate) struct Space {
    regions: Vec<Region>,
    /// Regions that the present checkpoint can fill, the best first.
    worth_filling: Vec<usize>,
    /// The places of the next small page and of the next long page of the present checkpoint. The cursor of long pages
    /// skips many free units.
    cursors: [Cursor; 2],
    /// Bytes to write, and their position.
    buffer: (u64, Vec<u8>),
}

/// Adds empty regions until there are `count` of them.
fn extend_to(regions: &mut Vec<Region>, count: usize) {
    if regions.len() < count {
        regions.resize_with(count, Region::new);
    }
}

/// The place of the next page of some length.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    /// Number of regions worth filling that this cursor has reached.
    reached: usize,
    /// The region that the checkpoint fills, and its first unit after the newest page.
    at: Option<(usize, u32)>,
}

/// Adjacent bytes to write: their position, and the bytes.
pub(crate) type Run = (u64, Vec<u8>);

impl Space {
    /// Reads the maps of the newest finished checkpoint.
    pub(crate) fn read(db: &Db, manifest: &Manifest) -> Result<Self, StateError> {
        let damaged = |Malformed(reason)| StateError::Damaged { what: "map of the page file".to_owned(), reason };
        let mut rows = 0_u32;
        let mut space = Self {
            regions: Vec::new(),
            worth_filling: Vec::new(),
            cursors: Default::default(),
            buffer: (0, Vec::new()),
        };
        for row in db.scan(vec![space::SPACE]..vec![space::SPACE.saturating_add(1)]) {
            let (key, value) = row?;
            let body = unseal(&key, &value).ok_or(Malformed("wrong checksum")).map_err(damaged)?;
            let (at, region) = read_row(&key, body, manifest.number()).map_err(damaged)?;
            // The next checkpoint writes the row of a region without a row.
            let missing = || Region { next: Some(Map::new()), ..Region::new() };
            if space.regions.len() <= at {
                space.regions.resize_with(at.saturating_add(1), missing);
            }
            if let Some(place) = space.regions.get_mut(at) {
                *place = region;
            }
            if at < manifest.regions as usize {
                rows = rows.saturating_add(1);
            }
        }
        if rows < manifest.regions {
            return Err(damaged(Malformed("a row is missing")));
        }
        Ok(space)
    }

    /// Returns the number of regions.
    pub(crate) fn regions(&self) -> u32 {
        u32::try_from(self.regions.len()).unwrap_or(u32::MAX)
    }

    /// Begins a checkpoint. Discards the maps of an unfinished checkpoint.
    pub(crate) fn begin(&mut self) {
        for region in &mut self.regions {
            // The row on disk can be the row of the unfinished checkpoint, so this checkpoint writes it again.
            region.next = region.next.take().map(|_| region.live.clone());
        }
        let free = |region: &Region| REGION.saturating_sub(region.live.count());
        let free = self.regions.iter().map(free).enumerate().filter(|(_, free)| *free >= WORTH_FILLING);
        let mut free: Vec<_> = free.map(|(at, free)| (Reverse(free), at)).collect();
        free.sort_unstable();
        self.worth_filling = free.into_iter().map(|(_, at)| at).collect();
        (self.cursors, self.buffer) = (Default::default(), (0, Vec::new()));
    }

    /// Reserves the place of a page, and adds the page to the buffer. Returns the place, and the earlier bytes of the
    /// buffer if the caller must write them now.
    pub(crate) fn add(&mut self, page: &[u8]) -> Result<(PagePlace, Option<Run>), StateError> {
        let too_large = || StateError::TooLarge { bytes: page.len() };
        let len = u32::try_from(page.len()).map_err(|_| too_large())?;
        let place = PagePlace { unit: self.reserve(len.div_ceil(UNIT))?, len };
        for (region, units) in place.parts() {
            if let Some(region) = self.regions.get_mut(region) {
                region.next().set(units, true);
            }
        }
        let end = self.buffer.0.saturating_add(self.buffer.1.len() as u64);
        let is_next = end == place.position() && self.buffer.1.len() < BUFFER;
        let run = if is_next { None } else { self.take_buffer() };
        if self.buffer.1.is_empty() {
            self.buffer.0 = place.position();
        }
        self.buffer.1.extend_from_slice(page);
        let padded = self.buffer.1.len().next_multiple_of(UNIT as usize);
        self.buffer.1.resize(padded, 0);
        Ok((place, run))
    }

    /// Returns the remaining bytes to write.
    pub(crate) fn take_buffer(&mut self) -> Option<Run> {
        let (position, bytes) = std::mem::take(&mut self.buffer);
        (!bytes.is_empty()).then_some((position, bytes))
    }

    /// Returns the first of `count` adjacent free units.
    fn reserve(&mut self, count: u32) -> Result<u32, StateError> {
        if count > LARGE {
            return self.reserve_regions(count.div_ceil(REGION) as usize);
        }
        let [small, long] = &mut self.cursors;
        let cursor = if count > SMALL { long } else { small };
        loop {
            let found = cursor.at.and_then(|(at, from)| Some((at, self.regions.get(at)?.find(from, count)?)));
            if let Some((at, unit)) = found {
                cursor.at = Some((at, unit.saturating_add(count)));
                return unit_of(at, unit);
            }
            let next = self.worth_filling.get(cursor.reached).copied().unwrap_or(self.regions.len());
            cursor.reached = cursor.reached.saturating_add(1);
            extend_to(&mut self.regions, next.saturating_add(1));
            unit_of(next, 0)?;
            cursor.at = Some((next, 0));
        }
    }

    /// Returns the first unit of `count` adjacent regions without pages.
    fn reserve_regions(&mut self, count: usize) -> Result<u32, StateError> {
        let blank = self.regions.windows(count).position(|regions| regions.iter().all(Region::is_blank));
        let first = blank.unwrap_or(self.regions.len());
        let end = first.saturating_add(count);
        unit_of(end.saturating_sub(1), 0)?;
        extend_to(&mut self.regions, end);
        unit_of(first, 0)
    }

    /// Frees the place of a page that the checkpoint in progress does not have.
    pub(crate) fn free(&mut self, place: PagePlace) {
        for (region, units) in place.parts() {
            if let Some(region) = self.regions.get_mut(region) {
                region.next().set(units, false);
            }
        }
    }

    /// Returns the rows of the regions that the checkpoint in progress changes. `number` is the number of this
    /// checkpoint.
    pub(crate) fn rows(&self, number: u64) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        (0_u32..).zip(&self.regions).filter_map(move |(at, region)| {
            let next = region.next.as_ref()?;
            let key = [&[space::SPACE], &at.to_be_bytes()[..]].concat();
            let mut value = Writer::new();
            value.number(number);
            next.write(&mut value);
            region.live.write(&mut value);
            Some((key.clone(), seal(&key, value.as_slice())))
        })
    }

    /// Ends a checkpoint whose manifest is durable.
    pub(crate) fn finish(&mut self) {
        for region in &mut self.regions {
            if let Some(next) = region.next.take() {
                region.live = next;
            }
        }
    }

    /// Compares the units of the newest checkpoint with the places of its pages. Returns the reason if they differ.
    pub(crate) fn check(&self, places: Vec<PagePlace>) -> Result<(), &'static str> {
        let mut maps = vec![Map::new(); self.regions.len()];
        for (at, units) in places.into_iter().flat_map(PagePlace::parts) {
            let map = maps.get_mut(at).ok_or("a page is after the end of the file")?;
            if units.clone().any(|unit| map.has(unit)) {
                return Err("two pages overlap");
            }
            map.set(units, true);
        }
        let same = maps.iter().zip(&self.regions).all(|(map, region)| *map == region.live);
        if same { Ok(()) } else { Err("its maps differ from the pages") }
    }

    /// Returns the bytes of the units of the newest checkpoint.
    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        let units = self.regions.iter().map(|region| u64::from(region.live.count())).sum::<u64>();
        units.saturating_mul(UNIT.into())
    }

    /// Returns the bytes of the file.
    #[cfg(test)]
    pub(crate) fn size(&self) -> u64 {
        (self.regions.len() as u64).saturating_mul(u64::from(REGION)).saturating_mul(UNIT.into())
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space").field("regions", &self.regions.len()).finish_non_exhaustive()
    }
}

/// Returns the number of a unit of a region in the file.
fn unit_of(region: usize, unit: u32) -> Result<u32, StateError> {
    let too_long = || StateError::Db(DbError::Io(io::ErrorKind::FileTooLarge.into()));
    let region = u32::try_from(region).ok().filter(|_| region < MOST_REGIONS).ok_or_else(too_long)?;
    region.checked_mul(REGION).and_then(|first| first.checked_add(unit)).ok_or_else(too_long)
}

/// Reads the row of a region. `number` is the number of the newest finished checkpoint.
fn read_row(key: &[u8], body: &[u8], number: u64) -> Result<(usize, Region), Malformed> {
    let at = key.get(1..).and_then(|at| at.try_into().ok()).map(u32::from_be_bytes).ok_or(Malformed("region"))?;
    let at = usize::try_from(at).ok().filter(|at| *at < MOST_REGIONS).ok_or(Malformed("region"))?;
    let mut reader = Reader::new(body);
    let written: u64 = reader.number("checkpoint")?;
    let (after, before) = (Map::read(&mut reader)?, Map::read(&mut reader)?);
    reader.finish("bytes after the end of a map")?;
    // A row of an unfinished checkpoint has the map of the finished checkpoint too.
    let region = if written > number {
        Region { next: Some(before.clone()), live: before }
    } else {
        Region { live: after, next: None }
    };
    Ok((at, region))
}

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "the numbers of the tests are small, and an overflow fails them"
)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*};
    use silica_proof::trie::EMPTY_ROOT;
    use silica_protocol::BlockNumber;

    use super::*;
    use crate::{
        db::{DataFile, Disk},
        versioned_trie::pages::{Checkpoint, RootPointer},
    };

    #[derive(Clone, Debug)]
    enum Op {
        /// Adds pages of these lengths, and frees the earlier pages with these numbers.
        Checkpoint { added: Vec<usize>, freed: Vec<usize> },
        /// Begins a checkpoint like `Checkpoint`, and ends the process before its manifest is durable. The disk keeps
        /// this number of writes.
        Crash { added: Vec<usize>, freed: Vec<usize>, kept: usize },
    }

    fn op() -> impl Strategy<Value = Op> {
        let unit = UNIT as usize;
        let len = move || prop_oneof![8 => 5..40 * unit, 2 => 5..300_000_usize, 1 => 200_000..2_500_000_usize];
        let (added, freed) = (move || vec(len(), 0..20), || vec(any::<usize>(), 0..25));
        prop_oneof![
            3 => (added(), freed()).prop_map(|(added, freed)| Op::Checkpoint { added, freed }),
            1 => (added(), freed(), 0..40_usize)
                .prop_map(|(added, freed, kept)| Op::Crash { added, freed, kept }),
        ]
    }

    /// The pages of a checkpoint, by their positions.
    type Pages = BTreeMap<u64, (PagePlace, Vec<u8>)>;

    fn manifest_of(number: u64, regions: u32) -> Manifest {
        let origin =
            RootPointer { checkpoint: number, root: EMPTY_ROOT, place: PagePlace::NONE, weight: 0, leaf: false };
        let current = (number > 0).then_some(Checkpoint { block: BlockNumber::new(number), origin });
        Manifest { current, previous: None, regions }
    }

    /// Adds and frees pages in a checkpoint, and returns its pages.
    fn change(space: &mut Space, db: &Db, pages: &Pages, added: &[usize], freed: &[usize], seed: u64) -> Pages {
        let mut next = pages.clone();
        let write = |run: Option<Run>| {
            if let Some((at, bytes)) = run {
                db.write_at(DataFile::Pages, at, &bytes).unwrap();
            }
        };
        space.begin();
        for (number, len) in added.iter().enumerate() {
            if let Some(at) = freed.get(number).and_then(|at| next.keys().nth(at % next.len().max(1)).copied()) {
                space.free(next.remove(&at).unwrap().0);
            }
            let page: Vec<u8> = (0..*len).map(|at| (at as u64 * 31 + number as u64 * 7 + seed) as u8).collect();
            let (place, run) = space.add(&page).unwrap();
            write(run);
            assert_eq!(place.len(), *len);
            let end = place.position() + page.len() as u64;
            for pages in [pages, &next] {
                let before = pages.range(..end).next_back();
                let end_before = before.map_or(0, |(at, (_, page))| at + page.len() as u64);
                assert!(end_before <= place.position(), "a page in use is overwritten");
            }
            next.insert(place.position(), (place, page));
        }
        write(space.take_buffer());
        next
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, ..ProptestConfig::default() })]

        #[test]
        fn pages_of_readable_checkpoints_are_never_overwritten(ops in vec(op(), 1..20)) {
            let disk = Disk::default();
            let mut db = Db::on_disk(&disk);
            let (mut pages, mut number) = (Pages::new(), 0);
            let mut space = Space::read(&db, &Manifest::default()).unwrap();
            let mut regions = 0;
            for (op, seed) in ops.into_iter().zip(1..) {
                match op {
                    Op::Checkpoint { added, freed } => {
                        let next = change(&mut space, &db, &pages, &added, &freed, seed);
                        number += 1;
                        for (key, value) in space.rows(number) {
                            db.insert(&key, &value).unwrap();
                        }
                        db.flush().unwrap();
                        // Readers use the pages of the previous checkpoint until the next checkpoint begins.
                        for (at, (_, page)) in pages.iter().chain(&next) {
                            prop_assert!(db.read_at(DataFile::Pages, *at, page.len()).unwrap().as_ref() == Some(page), "page at {at}");
                        }
                        pages = next;
                        space.finish();
                        regions = space.regions();
                    }
                    Op::Crash { added, freed, kept } => {
                        change(&mut space, &db, &pages, &added, &freed, seed);
                        for (key, value) in space.rows(number + 1) {
                            db.insert(&key, &value).unwrap();
                        }
                        disk.crash(kept);
                        db = Db::on_disk(&disk);
                        space = Space::read(&db, &manifest_of(number, regions)).unwrap();
                    }
                }
                for (at, (_, page)) in &pages {
                    prop_assert!(db.read_at(DataFile::Pages, *at, page.len()).unwrap().as_ref() == Some(page), "page at {at}");
                }
                prop_assert_eq!(space.check(pages.values().map(|(place, _)| *place).collect()), Ok(()));
                if let Some((place, _)) = pages.values().next() {
                    prop_assert!(space.check(pages.values().skip(1).map(|(place, _)| *place).collect()).is_err());
                    prop_assert!(space.check(pages.values().map(|_| *place).chain([*place]).collect()).is_err());
                }
            }
        }
    }

    /// Checks that the size of the file stays bounded if each checkpoint changes random pages. On average, `long` of
    /// each 1,000 pages have 20 KB or more.
    fn check_size(long: u64) {
        let db = Db::in_memory();
        let mut space = Space::read(&db, &Manifest::default()).unwrap();
        let (mut random, mut places) = (7_u64, Vec::new());
        let mut next = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        let page = |next: &mut dyn FnMut(u64) -> u64| {
            let len = if next(1_000) < long { 20_000 + next(80_000) } else { 200 + next(300) };
            vec![1; len as usize]
        };
        for round in 0..40 {
            space.begin();
            if round == 0 {
                places = (0..60_000).map(|_| space.add(&page(&mut next)).unwrap().0).collect();
            } else {
                for _ in 0..7000 {
                    let at = next(60_000) as usize;
                    space.free(places[at]);
                    places[at] = space.add(&page(&mut next)).unwrap().0;
                }
            }
            space.take_buffer();
            space.finish();
            space.check(places.clone()).unwrap();
        }
        assert!(space.size() < space.used() * 5 / 2, "{} bytes for {} bytes of pages", space.size(), space.used());
    }

    #[test]
    fn file_of_random_changes_has_about_twice_its_pages() {
        for long in [0, 1, 20] {
            check_size(long);
        }
    }

    #[test]
    fn missing_row_is_damage() {
        let db = Db::in_memory();
        let mut space = Space::read(&db, &Manifest::default()).unwrap();
        space.begin();
        space.add(&[1; 100]).unwrap();
        for (key, value) in space.rows(1) {
            db.insert(&key, &value).unwrap();
        }
        space.finish();
        let read = |regions| Space::read(&db, &manifest_of(1, regions)).map(|space| space.used());
        assert_eq!((space.regions(), read(1).unwrap()), (1, 128));
        assert!(matches!(read(2), Err(StateError::Damaged { .. })));
    }
}
