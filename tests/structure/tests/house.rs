//! The sources of this workspace: no circles, and no crate that knows what it may not.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use bouncer_structure::{Circle, Graph, Package, Tree, circles, circles_of_folders, packages};
use std::collections::BTreeMap;
use std::path::Path;

/// Packages that have circles of files still, and how many files are in one. Numbers only go
/// down, and a line goes when its number is 0.
const FILES_IN_CIRCLES: &[(&str, usize)] = &[];

/// The same of folders: modules below one parent, each with all that is below it.
const FOLDERS_IN_CIRCLES: &[(&str, usize)] = &[("bouncer", 2), ("bouncer-compiler", 2)];

fn top() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn sources() -> (Vec<Package>, Tree, Graph) {
    let packages = packages(top()).unwrap();
    let mut tree = Tree::of_packages(top(), &packages).unwrap();
    let graph = Graph::of(&mut tree);
    (packages, tree, graph)
}

/// The package that a file belongs to: the one in the nearest folder above it.
fn package_of<'p>(packages: &'p [Package], file: &str) -> &'p str {
    let above = packages
        .iter()
        .filter(|package| Path::new(file).starts_with(&package.folder));
    let nearest = above.max_by_key(|package| package.folder.components().count());
    &nearest.unwrap().name
}

fn hold(packages: &[Package], circles: &[Circle], known: &[(&str, usize)], what: &str) {
    let mut found: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for circle in circles {
        let package = package_of(packages, circle.files.first().unwrap());
        let (count, drawn) = found.entry(package).or_default();
        *count += circle.files.len();
        drawn.push_str(&format!("{circle}\n"));
    }
    let mut wrong = String::new();
    for (package, (count, drawn)) in &found {
        let listed = known.iter().find(|(name, _)| name == package);
        let listed = listed.map_or(0, |(_, count)| *count);
        if *count > listed {
            wrong += &format!("{package} has {count} {what} in circles, not {listed}:\n{drawn}");
        }
    }
    for (package, listed) in known {
        let count = found.get(package).map_or(0, |(count, _)| *count);
        if count < *listed {
            wrong +=
                &format!("{package} has {count} {what} in circles: write that, not {listed}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn no_file_is_in_a_circle() {
    let (packages, tree, graph) = sources();
    let circles = circles(&tree, &graph.named);
    hold(&packages, &circles, FILES_IN_CIRCLES, "files");
}

#[test]
fn no_folder_is_in_a_circle() {
    let (packages, tree, graph) = sources();
    let circles = circles_of_folders(&tree, &graph.named);
    hold(&packages, &circles, FOLDERS_IN_CIRCLES, "files and folders");
}

/// A path that the resolver does not understand could hide a step.
#[test]
fn every_path_of_ours_leads_somewhere() {
    let (_, tree, graph) = sources();
    assert!(graph.lost.is_empty(), "{:#?}", graph.lost);
    assert!(tree.files.len() > 300, "only {} files", tree.files.len());
    assert!(graph.named.len() > 1000, "only {} steps", graph.named.len());
}

/// What each package may know of the others in this workspace, without detours.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("bouncer-database", &[]),
    ("bouncer-system", &[]),
    ("bouncer-reader", &[]),
    ("bouncer-plan", &["bouncer-reader"]),
    ("bouncer-mcp", &["bouncer-reader"]),
    (
        "bouncer-engine",
        &["bouncer-mcp", "bouncer-plan", "bouncer-reader"],
    ),
    (
        "bouncer-audit",
        &[
            "bouncer-engine",
            "bouncer-plan",
            "bouncer-reader",
            "bouncer-system",
        ],
    ),
    ("bouncer-dialects", &[]),
    (
        "bouncer-compiler",
        &[
            "bouncer-dialects",
            "bouncer-engine",
            "bouncer-plan",
            "bouncer-reader",
        ],
    ),
    (
        "bouncer-verify",
        &[
            "bouncer-compiler",
            "bouncer-dialects",
            "bouncer-engine",
            "bouncer-plan",
            "bouncer-reader",
        ],
    ),
    (
        "bouncer-store",
        &[
            "bouncer-database",
            "bouncer-engine",
            "bouncer-reader",
            "bouncer-system",
        ],
    ),
    (
        "bouncer-hook",
        &[
            "bouncer-audit",
            "bouncer-database",
            "bouncer-engine",
            "bouncer-plan",
            "bouncer-reader",
            "bouncer-system",
        ],
    ),
    (
        "bouncer-proxy",
        &[
            "bouncer-audit",
            "bouncer-engine",
            "bouncer-mcp",
            "bouncer-plan",
            "bouncer-reader",
            "bouncer-store",
            "bouncer-system",
        ],
    ),
    (
        "bouncer-setup",
        &[
            "bouncer-engine",
            "bouncer-plan",
            "bouncer-reader",
            "bouncer-system",
        ],
    ),
    // Its tests know what decides; it has no code besides.
    ("bouncer-decisions", &[]),
    ("bouncer-structure", &[]),
];

/// What a package may not know, also not by way of another: sockets and tasks are the proxy's,
/// YAML the compiler's, databases theirs who keep something.
const MAY_NOT_REACH: &[(&str, &[&str])] = &[
    ("tokio", &["bouncer-proxy", "bouncer"]),
    ("hyper", &["bouncer-proxy", "bouncer"]),
    (
        "rusqlite",
        &[
            "bouncer-database",
            "bouncer-hook",
            "bouncer-proxy",
            "bouncer-store",
            "bouncer",
        ],
    ),
    ("clap", &["bouncer"]),
];

#[test]
fn every_package_keeps_its_direction() {
    let packages = packages(top()).unwrap();
    let names: Vec<&str> = packages.iter().map(|package| &*package.name).collect();
    for package in packages.iter().filter(|package| package.name != "bouncer") {
        let row = MAY_KNOW.iter().find(|(name, _)| *name == package.name);
        let (_, may) = row.unwrap_or_else(|| panic!("say what {} may know", package.name));
        for other in &package.depends_on {
            let ours = names.contains(&&**other);
            assert!(
                !ours || may.contains(&&**other),
                "{} may not know {other}",
                package.name
            );
        }
    }
    for (name, may) in MAY_KNOW {
        for name in may.iter().chain([name]) {
            assert!(names.contains(name), "no package is called {name}");
        }
    }
}

#[test]
fn nobody_reaches_what_is_not_theirs() {
    let packages = packages(top()).unwrap();
    for (what, who) in MAY_NOT_REACH {
        for package in packages.iter().filter(|it| it.depends_on.contains(*what)) {
            assert!(
                who.contains(&&*package.name),
                "{} knows {what}",
                package.name
            );
        }
        // Whoever knows one of those knows it too.
        for package in &packages {
            let through = package.depends_on.iter().find(|it| who.contains(&&***it));
            let through = through.filter(|_| !who.contains(&&*package.name));
            assert_eq!(through, None, "{} reaches {what}", package.name);
        }
    }
}
