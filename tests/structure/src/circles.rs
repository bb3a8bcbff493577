//! Circles of files and of folders. Knows the steps, not where they came from.
//!
//! A step between a module and one of its descendants, in either direction, is not part of
//! any circle: a parent puts its children together, and a child may use what its parent says
//! for all of them.
//!
//! Circles of folders are found among the children of one module, each taken with all that is
//! below it. A circle of files is always one of folders too; the other way round, two folders
//! can know each other though no two of their files do.

use crate::graph::Steps;
use crate::tree::{FileId, ModuleId, Tree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// Files that know each other in a circle.
#[derive(Debug)]
pub struct Circle {
    /// All files that can reach each other.
    pub files: Vec<String>,
    /// Short ways round, each with the item that makes each step.
    pub ways: Vec<Vec<(String, String)>>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} files in a circle:", self.files.len())?;
        for way in &self.ways {
            for (at, (file, item)) in way.iter().enumerate() {
                let arrow = if at == 0 { "  " } else { "    " };
                writeln!(f, "{arrow}{file} uses {item} of")?;
            }
            if let Some((first, _)) = way.first() {
                writeln!(f, "    {first}")?;
            }
        }
        Ok(())
    }
}

/// Files to the files that they know, steps along a line of descent left out.
type Known = BTreeMap<FileId, BTreeSet<FileId>>;

/// All circles of files, those with the most files first.
pub fn circles(tree: &Tree, steps: &Steps) -> Vec<Circle> {
    let mut found = described(tree, steps, &known(tree, steps));
    found.sort_by_key(|circle| std::cmp::Reverse(circle.files.len()));
    found
}

/// All circles among the children of a module, each by its own file.
pub fn circles_of_folders(tree: &Tree, steps: &Steps) -> Vec<Circle> {
    // A step from below one child to below another counts as one from child to child.
    let mut between: BTreeMap<ModuleId, Steps> = BTreeMap::new();
    for ((from, to), step) in steps {
        if let Some((parent, children)) = parting(tree, *from, *to) {
            let steps = between.entry(parent).or_default();
            steps.entry(children).or_insert(step.clone());
        }
    }
    let mut found: Vec<Circle> = between
        .values()
        .flat_map(|steps| described(tree, steps, &known(tree, steps)))
        .collect();
    found.sort_by_key(|circle| std::cmp::Reverse(circle.files.len()));
    found
}

/// The last module that is above both files, and the files of its children that lead to them.
/// `None` if one file is above the other.
fn parting(tree: &Tree, from: FileId, to: FileId) -> Option<(ModuleId, (FileId, FileId))> {
    let line = |file: FileId| {
        let mut line = Vec::new();
        let mut module = tree.files.get(file).map(|file| file.module);
        while let Some(id) = module {
            line.push(id);
            module = tree.modules.get(id).and_then(|module| module.parent);
        }
        line.reverse();
        line
    };
    let (from, to) = (line(from), line(to));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let parent = from.get(same.checked_sub(1)?)?;
    let file = |line: &[ModuleId]| Some(tree.modules.get(*line.get(same)?)?.file);
    Some((*parent, (file(&from)?, file(&to)?)))
}

fn described(tree: &Tree, steps: &Steps, known: &Known) -> Vec<Circle> {
    let knots = knots(known);
    let described = knots.iter().map(|knot| describe(tree, steps, known, knot));
    described.collect()
}

fn known(tree: &Tree, steps: &Steps) -> Known {
    let mut known = Known::new();
    for (from, to) in steps.keys() {
        let module = |file: &FileId| tree.files.get(*file).map(|file| file.module);
        let related = match (module(from), module(to)) {
            (Some(from), Some(to)) => tree.is_within(from, to) || tree.is_within(to, from),
            _ => true,
        };
        if !related {
            known.entry(*from).or_default().insert(*to);
        }
    }
    known
}

/// Every file that can be reached from one, by at least one step.
fn reach(known: &Known, from: FileId) -> BTreeSet<FileId> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for next in known.get(&file).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(*next);
            }
        }
    }
    reached
}

/// Sets of files that all reach each other.
fn knots(known: &Known) -> Vec<BTreeSet<FileId>> {
    let reached: BTreeMap<FileId, BTreeSet<FileId>> = known
        .keys()
        .map(|file| (*file, reach(known, *file)))
        .collect();
    let reaches = |from: FileId, to: FileId| reached.get(&from).is_some_and(|it| it.contains(&to));
    let mut knots: Vec<BTreeSet<FileId>> = Vec::new();
    for file in known.keys().copied().filter(|file| reaches(*file, *file)) {
        let same = |knot: &&mut BTreeSet<FileId>| {
            let member = knot.first().copied();
            member.is_some_and(|member| reaches(file, member) && reaches(member, file))
        };
        match knots.iter_mut().find(same) {
            Some(knot) => {
                knot.insert(file);
            }
            None => knots.push(BTreeSet::from([file])),
        }
    }
    knots
}

fn describe(tree: &Tree, steps: &Steps, known: &Known, knot: &BTreeSet<FileId>) -> Circle {
    let name = |file: FileId| {
        let file = tree.files.get(file);
        file.map(|file| file.path.display().to_string())
            .unwrap_or_default()
    };
    let mut seen = BTreeSet::new();
    let mut ways = Vec::new();
    for file in knot {
        let way = shortest(known, *file);
        if !seen.insert(way.iter().copied().collect::<BTreeSet<_>>()) {
            continue;
        }
        let next = way.iter().skip(1).chain(way.first());
        let named = way.iter().zip(next).map(|(from, to)| {
            let step = steps.get(&(*from, *to));
            let (line, item) = step.map_or((0, ""), |step| (step.line, &step.item));
            (format!("{}:{line}", name(*from)), format!("`{item}`"))
        });
        ways.push(named.collect());
    }
    Circle {
        files: knot.iter().map(|file| name(*file)).collect(),
        ways,
    }
}

/// A shortest way from a file back to itself, without its end.
fn shortest(known: &Known, start: FileId) -> Vec<FileId> {
    let mut before: BTreeMap<FileId, FileId> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(file) = open.pop_front() {
        for next in known.get(&file).into_iter().flatten().copied() {
            if next == start {
                let mut way = vec![file];
                while let Some(earlier) = way.last().and_then(|file| before.get(file)) {
                    way.push(*earlier);
                }
                way.reverse();
                return way;
            }
            if let std::collections::btree_map::Entry::Vacant(entry) = before.entry(next) {
                entry.insert(file);
                open.push_back(next);
            }
        }
    }
    Vec::new()
}
