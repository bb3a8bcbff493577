//! "Did you mean": the nearest of some names to a misspelt one.

/// The candidate nearest to `name`, if near enough to be a slip.
pub(super) fn similar<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = name.to_lowercase();
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edit distance where swapping neighbours counts once (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut last: Option<char> = None;
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        let mut left = i + 1;
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], k: usize| row.get(k).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&row, j) + usize::from(x != *y))
                .min(at(&row, j + 1) + 1)
                .min(left + 1);
            if j > 0 && last == Some(*y) && b.get(j - 1) == Some(&x) {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
            left = best;
        }
        before = std::mem::replace(&mut row, next);
        last = Some(x);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_only() {
        let names = ["untrusted", "observed", "trusted", "unproven"];
        assert_eq!(similar("untrused", names), Some("untrusted"));
        assert_eq!(similar("turst", ["trust"]), Some("trust"));
        assert_eq!(similar("banana", names), None);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("ab", "ba"), 1);
    }
}
