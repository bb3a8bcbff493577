//! From a path in a module to what it stands for. Knows modules, not the code in them.

use crate::tree::{Definition, FileId, ItemId, ModuleId, Tree};

/// What a path stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A module; naming one uses nothing in it.
    Module(ModuleId),
    /// An item, or a member of a type: where the `impl` that has it stands.
    Item(ItemId, FileId),
}

/// Imports and globs on the way, so that a circle of them ends.
type Open = Vec<(ModuleId, String, usize)>;

/// Everything that a path can mean in a module: a name can be a module, a type, a value and a
/// macro at the same time. Nothing, if the path leads out of the crates or cannot be followed.
pub fn meanings(tree: &Tree, module: ModuleId, path: &[String]) -> Vec<Meaning> {
    follow(tree, module, path, &mut Vec::new())
}

fn follow(tree: &Tree, module: ModuleId, path: &[String], open: &mut Open) -> Vec<Meaning> {
    let Some((first, mut rest)) = path.split_first() else {
        return Vec::new();
    };
    let mut current = match first.as_str() {
        "crate" => root_of(tree, module),
        "self" => vec![Meaning::Module(module)],
        "super" => parent_of(tree, module),
        name => {
            let mut local = named(tree, module, name, open);
            // A path of one part can never be used as a crate, save in `use`.
            if local.is_empty() {
                local.extend(tree.crates.get(name).map(|root| Meaning::Module(*root)));
            }
            local
        }
    };
    while let Some((next, after)) = rest.split_first() {
        current = current
            .into_iter()
            .flat_map(|meaning| match meaning {
                Meaning::Module(module) if next == "super" => parent_of(tree, module),
                Meaning::Module(module) if next == "self" => vec![Meaning::Module(module)],
                Meaning::Module(module) => named(tree, module, next, open),
                Meaning::Item(item, _) => vec![member(tree, item, next)],
            })
            .collect();
        rest = after;
    }
    current.dedup();
    current
}

fn root_of(tree: &Tree, module: ModuleId) -> Vec<Meaning> {
    let root = tree.modules.get(module).map(|module| module.root);
    root.map(Meaning::Module).into_iter().collect()
}

fn parent_of(tree: &Tree, module: ModuleId) -> Vec<Meaning> {
    let parent = tree.modules.get(module).and_then(|module| module.parent);
    parent.map(Meaning::Module).into_iter().collect()
}

/// A member of a type, where the `impl` that has it stands; else the type itself.
pub fn member(tree: &Tree, item: ItemId, name: &str) -> Meaning {
    let file = tree.items.get(item).map_or(0, |item| {
        item.members.get(name).copied().unwrap_or(item.file)
    });
    Meaning::Item(item, file)
}

fn named(tree: &Tree, module: ModuleId, name: &str, open: &mut Open) -> Vec<Meaning> {
    let Some(scope) = tree.modules.get(module) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let definitions = scope.names.get(name).map_or(&[][..], Vec::as_slice);
    for (number, definition) in definitions.iter().enumerate() {
        match definition {
            Definition::Module(child) => found.push(Meaning::Module(*child)),
            Definition::Item(item) => {
                let file = tree.items.get(*item).map_or(0, |item| item.file);
                found.push(Meaning::Item(*item, file));
            }
            Definition::Import(path) => {
                let key = (module, name.to_owned(), number);
                if !open.contains(&key) {
                    open.push(key);
                    found.extend(follow(tree, module, path, open));
                    open.pop();
                }
            }
        }
    }
    if !found.is_empty() {
        return found;
    }
    for (number, path) in scope.globs.iter().enumerate() {
        // Behind the numbers of imports, which a name cannot have that many of.
        let key = (module, name.to_owned(), usize::MAX - number);
        if open.contains(&key) {
            continue;
        }
        open.push(key);
        for meaning in follow(tree, module, path, open) {
            match meaning {
                Meaning::Module(other) => found.extend(named(tree, other, name, open)),
                Meaning::Item(item, file) => {
                    let item_of = tree.items.get(item);
                    if item_of.is_some_and(|item| item.variants.iter().any(|it| it == name)) {
                        found.push(Meaning::Item(item, file));
                    }
                }
            }
        }
        open.pop();
    }
    found
}
