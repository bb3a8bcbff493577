//! The reader of imports on small trees, where what it has to find is plain to see.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use bouncer_structure::{Graph, Tree, circles, circles_of_folders};
use std::path::Path;

/// Reads a crate of these files; the first is its root.
fn read(files: &[(&str, &str)]) -> (Tree, Graph) {
    read_crates(&[("one", files)])
}

fn read_crates(crates: &[(&str, &[(&str, &str)])]) -> (Tree, Graph) {
    let folder = tempfile::tempdir().unwrap();
    let mut tree = Tree::default();
    for (_, files) in crates {
        for (path, text) in *files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
    for (name, files) in crates {
        tree.read(folder.path(), Path::new(files[0].0), Some(name))
            .unwrap();
    }
    let graph = Graph::of(&mut tree);
    assert!(graph.lost.is_empty(), "{:?}", graph.lost);
    (tree, graph)
}

/// By what `a.rs` knows `b.rs`, if that is what these two and a root say.
fn a_knows_b_by(a: &str, b: &str) -> Option<String> {
    let (tree, graph) = read(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", b)]);
    let step = graph.between(&tree, "a.rs", "b.rs")?;
    Some(step.item.clone())
}

#[test]
fn every_way_to_name_an_item() {
    let b = "pub struct B; impl B { pub fn new() -> Self { B } } pub fn f() {} pub mod inner { pub const N: u8 = 1; }
             pub enum E { One } pub trait T { fn t(&self); } macro_rules! m { () => {} } pub(crate) use m;";
    for (a, item) in [
        ("use crate::b::B;", "B"),
        ("use super::b::B as Other;", "B"),
        ("use crate::{b::{self, f}};", "f"),
        ("use crate::b; fn g() { b::f() }", "f"),
        ("use crate::b as c; fn g() { c::f() }", "f"),
        ("use super::*; fn g() { b::f() }", "f"),
        ("use super::b::*; fn g() { f() }", "f"),
        ("use super::b::*; fn g(_: Vec<Option<B>>) {}", "B"),
        ("fn g() { use crate::b::f; }", "f"),
        ("fn g() { crate::b::f() }", "f"),
        ("fn g() -> super::b::B { todo!() }", "B"),
        ("fn g() { let _ = self::super::b::B::new(); }", "B"),
        ("fn g() -> u8 { crate::b::inner::N }", "N"),
        ("use crate::b::E::*; fn g() { let _ = One; }", "E"),
        ("struct A; impl crate::b::T for A { fn t(&self) {} }", "T"),
        ("fn g<X: super::b::T>() {}", "T"),
        ("fn g() { println!(\"{:?}\", crate::b::f()) }", "f"),
        ("fn g() { vec![super::b::inner::N]; }", "N"),
        ("fn g() { crate::b::m!() }", "m"),
        ("#[serde(with = \"crate::b::f\")] struct A;", "f"),
        ("mod deep { fn g() { super::super::b::f() } }", "f"),
        (
            "use crate::b::inner::{self}; fn g() -> u8 { inner::N }",
            "N",
        ),
        (
            "fn g(x: u8) { match x { crate::b::inner::N => {} _ => {} } }",
            "N",
        ),
    ] {
        assert_eq!(a_knows_b_by(a, b).as_deref(), Some(item), "{a}");
    }
}

#[test]
fn what_is_not_a_step() {
    let b = "pub fn f() {}";
    for a in [
        "",
        "use crate::b;",
        "use std::fmt; fn b() {}",
        "fn g() { let b = 1; b; }",
        "#[cfg(test)] mod tests { use crate::b::f; }",
        "#[cfg(test)] use crate::b::f;",
        "#[test] fn g() { crate::b::f() }",
        "/// [`crate::b::f`]\nfn g() {}",
    ] {
        assert_eq!(a_knows_b_by(a, b), None, "{a}");
    }
}

#[test]
fn names_are_followed_to_the_file_that_defines_them() {
    let (tree, graph) = read(&[
        ("lib.rs", "mod a; mod b; pub use b::Deep as Known;"),
        ("a.rs", "use crate::Known; fn g() { crate::b::helper() }"),
        (
            "b/mod.rs",
            "mod c; mod d; pub use c::*; pub use self::d::help as helper;",
        ),
        ("b/c.rs", "pub struct Deep;"),
        ("b/d.rs", "pub fn help() {}"),
    ]);
    assert_eq!(graph.between(&tree, "a.rs", "b/c.rs").unwrap().item, "Deep");
    assert_eq!(graph.between(&tree, "a.rs", "b/d.rs").unwrap().item, "help");
    assert_eq!(graph.between(&tree, "a.rs", "b/mod.rs"), None);
    assert_eq!(graph.between(&tree, "a.rs", "lib.rs"), None);
}

#[test]
fn functions_of_a_type_stand_where_their_impl_does() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "fn g() { let _ = super::b::B::make(); }"),
        (
            "b.rs",
            "pub struct B; impl B { fn go(&self) { self.run() } }",
        ),
        (
            "c.rs",
            "use crate::b::B; impl B { pub fn make() -> B { B } pub fn run(&self) {} }",
        ),
    ];
    let (tree, graph) = read(&files);
    assert_eq!(
        graph.between(&tree, "a.rs", "c.rs").unwrap().item,
        "B::make"
    );
    assert_eq!(graph.between(&tree, "a.rs", "b.rs").unwrap().item, "B");
    assert!(circles(&tree, &graph.named).is_empty());
    let called = circles(&tree, &graph.called);
    assert_eq!(called[0].files, ["b.rs", "c.rs"]);
}

#[test]
fn other_crates_are_known_by_name() {
    let (tree, graph) = read_crates(&[
        (
            "one",
            &[
                ("one/lib.rs", "pub mod a; pub use a::A;"),
                ("one/a.rs", "pub struct A;"),
            ],
        ),
        (
            "two",
            &[("two/lib.rs", "use one::A; fn g() { one::a::A; }")],
        ),
    ]);
    assert_eq!(
        graph.between(&tree, "two/lib.rs", "one/a.rs").unwrap().item,
        "A"
    );
}

#[test]
fn names_that_import_each_other_come_to_an_end() {
    let (tree, graph) = read(&[
        (
            "lib.rs",
            "mod a; pub use a::*; pub mod verify; pub use verify::verify;",
        ),
        ("a.rs", "pub use crate::*; fn g() { verify() }"),
        ("verify.rs", "pub fn verify() {}"),
    ]);
    assert_eq!(
        graph.between(&tree, "a.rs", "verify.rs").unwrap().item,
        "verify"
    );
}

#[test]
fn a_path_that_leads_nowhere_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("lib.rs"),
        "\nfn g() { crate::missing::f() }",
    )
    .unwrap();
    let mut tree = Tree::default();
    tree.read(folder.path(), Path::new("lib.rs"), None).unwrap();
    assert_eq!(Graph::of(&mut tree).lost, ["lib.rs:2: crate::missing::f"]);
}

#[test]
fn a_circle_is_drawn_with_what_makes_it() {
    let (tree, graph) = read(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "\nuse crate::c::C; pub struct B;"),
        ("c.rs", "pub struct C(crate::a::A);"),
        ("d.rs", "use crate::a::A;"),
    ]);
    let circles = circles(&tree, &graph.named);
    assert_eq!(circles.len(), 1);
    assert_eq!(circles[0].files, ["a.rs", "b.rs", "c.rs"]);
    assert_eq!(
        circles[0].to_string(),
        "3 files in a circle:\n  a.rs:1 uses `B` of\n    b.rs:2 uses `C` of\n    c.rs:1 uses `A` of\n    a.rs:1\n"
    );
}

#[test]
fn two_circles_are_two() {
    let (tree, graph) = read(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::a::A; use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::d::D; pub struct C;"),
        ("d.rs", "use crate::c::C; pub struct D;"),
    ]);
    let files: Vec<_> = circles(&tree, &graph.named)
        .into_iter()
        .map(|it| it.files)
        .collect();
    assert_eq!(files, [["a.rs", "b.rs"], ["c.rs", "d.rs"]]);
}

#[test]
fn parents_and_children_may_know_each_other() {
    let (tree, graph) = read(&[
        ("lib.rs", "mod a; pub struct Top;"),
        ("a.rs", "mod b; use b::c::C; pub struct A;"),
        ("a/b.rs", "pub mod c; use super::A; pub struct B;"),
        (
            "a/b/c.rs",
            "use super::B; use crate::{a::A, Top}; pub struct C;",
        ),
    ]);
    assert!(circles(&tree, &graph.named).is_empty());
    assert!(circles_of_folders(&tree, &graph.named).is_empty());
}

#[test]
fn folders_can_be_in_a_circle_though_no_files_are() {
    let (tree, graph) = read(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod inner; pub struct A;"),
        ("a/inner.rs", "use crate::b::B;"),
        ("b.rs", "use crate::a::A; pub struct B;"),
    ]);
    assert!(circles(&tree, &graph.named).is_empty());
    let folders = circles_of_folders(&tree, &graph.named);
    assert_eq!(folders[0].files, ["a.rs", "b.rs"]);
}
