//! The choice of the sorted sets that a log-structured merge tree merges next.

use std::cmp::Reverse;

/// Returns the positions of the sets to merge, or `None` if no merge is due. `sizes` are the numbers of entries of the
/// sets.
///
/// A set is merged with all smaller sets if it has at most `factor` times as many entries as these have together. The
/// largest such set is chosen. If no such set exists, each set has more than `factor` times as many entries as all
/// smaller sets together. So a larger factor gives fewer sets and more merges.
pub(crate) fn to_merge(factor: u64, sizes: impl IntoIterator<Item = u64>) -> Option<Vec<usize>> {
    let mut by_size: Vec<(usize, u64)> = sizes.into_iter().enumerate().collect();
    by_size.sort_by_key(|(position, entries)| Reverse((*entries, *position)));
    let (mut smaller, mut first) = (0_u64, None);
    for (position, (_, entries)) in by_size.iter().enumerate().rev() {
        if *entries <= smaller.saturating_mul(factor) {
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
        for (factor, sizes, merged) in [
            (1, &[][..], None),
            (1, &[5], None),
            (1, &[9, 5, 3], None),
            (1, &[5, 5], Some(&[1, 0][..])),
            (1, &[9, 3, 3], Some(&[2, 1])),
            (1, &[100, 9, 5, 4], Some(&[1, 2, 3])),
            (1, &[100, 60, 30, 20, 10, 9], Some(&[0, 1, 2, 3, 4, 5])),
            (1, &[0, 0, 7], Some(&[1, 0])),
            (3, &[5], None),
            (3, &[16, 5], None),
            (3, &[15, 5], Some(&[0, 1])),
            (3, &[100, 13, 4], None),
            (3, &[100, 12, 4], Some(&[1, 2])),
        ] {
            assert_eq!(to_merge(factor, sizes.iter().copied()).as_deref(), merged, "{factor} {sizes:?}");
        }
    }
}
