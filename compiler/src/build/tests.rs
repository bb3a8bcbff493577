//! Products report what the patterns match, whoever multiplied them.

use super::list;
use super::products::{self, Limits};
use super::table::{DEAD, QUIT, Table};
use super::threads::Threads;
use super::{Automata, Kin, SINGLE_DFA_LIMIT, determinize, parse, thompson};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn table(pattern: &str, unanchored: bool) -> Table {
    let hir = parse(pattern).unwrap();
    let mut kin = Kin::of(&hir);
    kin.anchored &= !unanchored;
    let dfa = determinize(&thompson(&[hir]).unwrap(), kin, SINGLE_DFA_LIMIT).unwrap();
    Table::of(&dfa, kin.anchored).unwrap().coarse()
}

/// What a table reports of a text; `None` if it quits.
fn scan(table: &Table, text: &str) -> Option<Vec<usize>> {
    let mut found: Vec<usize> = Vec::new();
    let mut state = table.start;
    let columns = text
        .bytes()
        .map(|byte| usize::from(table.classes[usize::from(byte)]));
    for column in columns.chain([table.columns - 1]) {
        state = table.row(state)[column];
        found.extend(table.reports_of(state).iter().map(|id| *id as usize));
        match state {
            DEAD => break,
            QUIT => return None,
            _ => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

fn patterns() -> impl Strategy<Value = Vec<String>> {
    let pattern = "(?:\\(\\?i\\))?(?:ab?c|[ab]c|k?s|(?:abc|bca)|a\\.\\{2\\}b|(?:ab|ca){1,3}|x+|\\$|\\^a|\\(\\?-u:\\\\b\\)|[xy]{0,2}|é){1,4}";
    prop::collection::vec(pattern, 1..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// However small parts have to be, each pattern is in one, and is found where `regex`
    /// finds it.
    #[test]
    fn products_report_what_matches(
        patterns in patterns(),
        texts in prop::collection::vec("[abcxykKsSé ]{0,14}", 6),
        limit in 200..20_000_usize,
        threads in 1..4_usize,
    ) {
        let leaves: Vec<_> = patterns.iter().map(|p| (Arc::new(table(p, true)), 0)).collect();
        let limits = Limits { table: limit, weight: 0 };
        let parts = products::group(&leaves, limits, &Threads::new(threads));
        let mut all: Vec<usize> = parts.iter().flat_map(|part| part.leaves.clone()).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..patterns.len()).collect::<Vec<_>>());
        for text in &texts {
            for part in &parts {
                prop_assert!(part.leaves.len() == 1 || part.table.size() <= limit);
                let found = scan(&part.table, text).unwrap();
                for (id, leaf) in part.leaves.iter().enumerate() {
                    let matches = regex::Regex::new(&patterns[*leaf]).unwrap().is_match(text);
                    prop_assert_eq!(found.contains(&id), matches, "{} in {:?}", patterns[*leaf], text);
                }
            }
        }
    }
}

#[test]
fn what_quits_quits_in_a_product() {
    let (word, plain) = (table(r"\bab\b", true), table("b c", true));
    let both = word.with(&plain, usize::MAX).unwrap();
    assert_eq!(scan(&both, "ab c"), Some(vec![0, 1]));
    assert_eq!(scan(&both, "abb c"), Some(vec![1]));
    assert_eq!(scan(&both, "ab é"), None);
}

#[test]
fn a_product_above_the_limit_is_refused() {
    let (a, b) = (table("a[a-z]{7}b", true), table("c[a-z]{7}d", true));
    let both = a.with(&b, usize::MAX).unwrap();
    assert!(both.states() > a.states() + b.states());
    assert!(a.with(&b, both.size()).is_some());
    assert!(a.with(&b, both.size() - 1).is_none());
}

#[test]
fn weights_are_kept() {
    let leaves: Vec<_> = (0..10)
        .map(|n| (Arc::new(table(&format!("word{n}"), true)), 10))
        .collect();
    let limits = Limits {
        table: usize::MAX,
        weight: 35,
    };
    let parts = products::group(&leaves, limits, &Threads::default());
    assert!(
        parts
            .iter()
            .all(|part| part.weight == 10 * part.leaves.len())
    );
    assert!(parts.iter().all(|part| part.weight <= 35));
    assert_eq!(parts.len(), 4, "{parts:?}");
}

#[test]
fn every_pattern_of_a_list_is_in_one_automaton() {
    let mut patterns: Vec<String> = (0..60).map(|n| format!("a{}.*b{n}", n % 7)).collect();
    patterns.extend((0..60).map(|n| format!(r"(?i)\bword{n}\b")));
    patterns.extend((0..60).map(|n| format!("^item{n}0*$")));
    patterns.push("(x[a-y]{1,40}z){2,9}".to_owned());
    let done = AtomicUsize::new(0);
    let built = list::build(&patterns, &Threads::new(3), &|more| {
        done.fetch_add(more, Ordering::Relaxed);
    })
    .unwrap();
    let mut all: Vec<usize> = built
        .iter()
        .flat_map(|built| built.positions.clone())
        .collect();
    all.sort_unstable();
    assert_eq!(all, (0..patterns.len()).collect::<Vec<_>>());
    assert!(built.iter().all(|built| built.positions.is_sorted()));
    assert_eq!(done.into_inner(), patterns.len());
    assert!(built.len() < 12, "{}", built.len());
}

#[test]
fn results_come_in_order_from_all_threads() {
    for count in [1, 2, 7, 100] {
        let threads = Threads::new(count);
        let mut taken = Vec::new();
        let nested = |at: usize| {
            threads
                .map((0..at).collect(), |n| n * at)
                .iter()
                .sum::<usize>()
        };
        threads.in_order(50, nested, |sum| taken.push(sum), || {});
        let expected: Vec<usize> = (0..50_usize)
            .map(|at| at * at * at.saturating_sub(1) / 2)
            .collect();
        assert_eq!(taken, expected);
        assert_eq!(threads.map(vec!['a', 'b', 'c'], |c| c), ['a', 'b', 'c']);
    }
}

#[test]
fn an_error_is_of_the_first_pattern_that_has_one() {
    let error = |list: &[&str]| {
        let list: Vec<String> = list.iter().map(|&pattern| pattern.to_owned()).collect();
        Automata::default().cover(&list).unwrap_err().position
    };
    assert_eq!(error(&["a", "(", "b("]), 1);
    let huge = r"\w{1000}{100}";
    assert_eq!(error(&["z", "y", huge, "a", huge]), 2);
}
