//! The choice of the sorted sets that a log-structured merge tree merges next.

use std::cmp::Reverse;

/// Returns the positions of the sets to merge, or `None`. `sizes` are the numbers of entries of the sets.
///
/// A set is merged with all smaller sets if these have at least as many entries together. The largest such set is
/// chosen. If no such set exists, each set has more entries than all smaller ones together. Then the number of sets is
/// small.
pub(crate) fn to_merge(sizes: impl IntoIterator<Item = u64>) -> Option<Vec<usize>> {
    let mut by_size: Vec<(usize, u64)> = sizes.into_iter().enumerate().collect();
    by_size.sort_by_key(|(position, entries)| Reverse((*entries, *position)));
    let (mut smaller, mut first) = (0_u64, None);
    for (position, (_, entries)) in by_size.iter().enumerate().rev() {
        if *entries <= smaller {
            first = Some(position);
        }
        smaller = smaller.saturating_add(*entries);
    }
    Some(by_size.split_off(first?).into_iter().map(|(position, _)| position).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_similar_sizes_are_merged() {
        for (sizes, merged) in [
            (&[][..], None),
            (&[5], None),
            (&[9, 5, 3], None),
            (&[5, 5], Some(&[1, 0][..])),
            (&[9, 3, 3], Some(&[2, 1])),
            (&[100, 9, 5, 4], Some(&[1, 2, 3])),
            (&[100, 60, 30, 20, 10, 9], Some(&[0, 1, 2, 3, 4, 5])),
            (&[0, 0, 7], Some(&[1, 0])),
        ] {
            assert_eq!(to_merge(sizes.iter().copied()).as_deref(), merged, "{sizes:?}");
        }
    }
}
