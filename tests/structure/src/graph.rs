//! Which file names what of which other file. Knows the tree and how names are resolved.

use crate::attributes::{of_item, of_member, only_for_tests};
use crate::names::{Meaning, meanings, member};
use crate::tokens;
use crate::tree::{FileId, ItemId, ModuleId, Tree};
use std::collections::BTreeMap;
use std::path::Path;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// One file knows another by this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The item, as it is called where it is defined.
    pub item: String,
    /// The line that names it.
    pub line: usize,
}

/// From a file to another, with the first item that makes the step.
pub type Steps = BTreeMap<(FileId, FileId), Step>;

/// What files know of each other.
#[derive(Debug, Default)]
pub struct Graph {
    /// By what they name.
    pub named: Steps,
    /// The same, and by the methods that a type with `impl` blocks in several files calls of
    /// itself.
    pub called: Steps,
    /// Paths that should lead to something of ours and lead nowhere: what the resolver does
    /// not understand must not pass for "knows nothing".
    pub lost: Vec<String>,
}

impl Graph {
    /// Reads the code of all modules.
    pub fn of(tree: &mut Tree) -> Self {
        note_members(tree);
        let tree = &*tree;
        let mut graph = Self::default();
        for (module, holds) in tree.modules.iter().enumerate() {
            let mut reader = Reader {
                tree,
                graph: &mut graph,
                module,
                file: holds.file,
                this: Vec::new(),
            };
            for item in &holds.code {
                reader.visit_item(item);
            }
        }
        graph
    }

    /// The item by which one file knows another, for tests.
    pub fn between(&self, tree: &Tree, from: &str, to: &str) -> Option<&Step> {
        let find = |path: &str| {
            let mut files = tree.files.iter();
            files.position(|file| file.path == Path::new(path))
        };
        self.named.get(&(find(from)?, find(to)?))
    }
}

/// Tells each type which files its own functions stand in.
fn note_members(tree: &mut Tree) {
    let mut noted: Vec<(ItemId, String, FileId)> = Vec::new();
    for (id, module) in tree.modules.iter().enumerate() {
        for item in &module.code {
            let syn::Item::Impl(block) = item else {
                continue;
            };
            if block.trait_.is_some() {
                continue;
            }
            for of in types(tree, id, &block.self_ty) {
                for part in &block.items {
                    if only_for_tests(of_member(part)) {
                        continue;
                    }
                    match part {
                        syn::ImplItem::Fn(it) => {
                            noted.push((of, it.sig.ident.to_string(), module.file));
                        }
                        syn::ImplItem::Const(it) => {
                            noted.push((of, it.ident.to_string(), module.file));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    for (item, name, file) in noted {
        if let Some(item) = tree.items.get_mut(item) {
            item.members.insert(name, file);
        }
    }
}

/// The items that a type is, its parameters aside.
fn types(tree: &Tree, module: ModuleId, of: &syn::Type) -> Vec<ItemId> {
    let syn::Type::Path(path) = of else {
        return Vec::new();
    };
    let parts = parts(&path.path);
    let meant = meanings(tree, module, &parts).into_iter();
    meant
        .filter_map(|meaning| match meaning {
            Meaning::Item(item, _) => Some(item),
            Meaning::Module(_) => None,
        })
        .collect()
}

fn parts(path: &syn::Path) -> Vec<String> {
    let parts = path.segments.iter();
    parts.map(|part| part.ident.to_string()).collect()
}

/// Walks over the code of one module.
struct Reader<'t> {
    tree: &'t Tree,
    graph: &'t mut Graph,
    module: ModuleId,
    file: FileId,
    /// What `Self` is, in nested `impl` and `trait` blocks.
    this: Vec<Vec<ItemId>>,
}

impl Reader<'_> {
    /// Notes that this file knows that of an item; `by_call` if a method call says so.
    fn know(&mut self, meaning: &Meaning, name: &str, line: usize, by_call: bool) {
        let Meaning::Item(item, file) = meaning else {
            return;
        };
        if *file == self.file {
            return;
        }
        let own = self.tree.items.get(*item).map_or("", |item| &item.name);
        let item = if own == name || name.is_empty() {
            own.to_owned()
        } else {
            format!("{own}::{name}")
        };
        let (key, step) = ((self.file, *file), Step { item, line });
        if !by_call {
            self.graph.named.entry(key).or_insert(step.clone());
        }
        self.graph.called.entry(key).or_insert(step);
    }

    fn path(&mut self, parts: &[String], line: usize, sure: bool) {
        if parts.first().is_some_and(|first| first == "Self") {
            if let Some(name) = parts.get(1) {
                self.member_of_this(name, line, false);
            }
            return;
        }
        let meant = meanings(self.tree, self.module, parts);
        if meant.is_empty() && sure && self.is_ours(parts) {
            let path = self.tree.files.get(self.file).map(|file| &file.path);
            let path = path.map(|path| path.display().to_string());
            let place = path.unwrap_or_default();
            let lost = format!("{place}:{line}: {}", parts.join("::"));
            self.graph.lost.push(lost);
        }
        for meaning in meant {
            let name = match &meaning {
                Meaning::Item(item, file) => {
                    let home = self.tree.items.get(*item).map(|item| item.file);
                    if home == Some(*file) {
                        ""
                    } else {
                        parts.last().map_or("", |it| it)
                    }
                }
                Meaning::Module(_) => "",
            };
            self.know(&meaning, name, line, false);
            // The type before the member is known as well.
            if let (Meaning::Item(item, _), false) = (&meaning, name.is_empty()) {
                let home = self
                    .tree
                    .items
                    .get(*item)
                    .map_or(self.file, |item| item.file);
                self.know(&Meaning::Item(*item, home), "", line, false);
            }
        }
    }

    /// Whether such a path has to lead to something in the tree.
    fn is_ours(&self, parts: &[String]) -> bool {
        parts.first().is_some_and(|first| {
            ["crate", "self", "super"].contains(&first.as_str())
                || self.tree.crates.contains_key(first)
        }) && parts.len() > 1
    }

    fn member_of_this(&mut self, name: &str, line: usize, by_call: bool) {
        let this = self.this.last().cloned().unwrap_or_default();
        for item in this {
            let meaning = member(self.tree, item, name);
            self.know(&meaning, name, line, by_call);
        }
    }

    fn imports(&mut self, before: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.imports(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Name(syn::UseName { ident })
            | syn::UseTree::Rename(syn::UseRename { ident, .. }) => {
                let mut path = before.clone();
                if ident != "self" {
                    path.push(ident.to_string());
                }
                self.path(&path, ident.span().start().line, true);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.imports(before, tree);
                }
            }
            // What is used of it is found where it is used.
            syn::UseTree::Glob(_) => {}
        }
    }

    fn tokens(&mut self, stream: proc_macro2::TokenStream) {
        for found in tokens::paths(stream) {
            match (found.method, found.parts.first()) {
                (true, Some(name)) => self.member_of_this(name, found.line, true),
                _ => self.path(&found.parts, found.line, false),
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if only_for_tests(of_item(item)) {
            return;
        }
        match item {
            syn::Item::Use(it) => self.imports(&mut Vec::new(), &it.tree),
            syn::Item::Impl(it) => {
                self.this.push(types(self.tree, self.module, &it.self_ty));
                visit::visit_item(self, item);
                self.this.pop();
            }
            syn::Item::Trait(_) => {
                self.this.push(Vec::new());
                visit::visit_item(self, item);
                self.this.pop();
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, part: &'ast syn::ImplItem) {
        if !only_for_tests(of_member(part)) {
            visit::visit_impl_item(self, part);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !only_for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let line = path.span().start().line;
        // A parameter of a type can hide an import, so that only longer paths have to lead on.
        self.path(&parts(path), line, true);
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("self")) {
            let line = call.method.span().start().line;
            self.member_of_this(&call.method.to_string(), line, true);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.path(&parts(&mac.path), mac.span().start().line, true);
        self.tokens(mac.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        // As in `#[serde(with = "path")]`.
        let syn::Meta::List(list) = &attribute.meta else {
            return;
        };
        if list.path.is_ident("doc") {
            return;
        }
        for token in list.tokens.clone() {
            let Ok(text) = syn::parse2::<syn::LitStr>(token.into()) else {
                continue;
            };
            if let Ok(path) = text.parse::<syn::Path>() {
                self.path(&parts(&path), attribute.span().start().line, false);
            }
        }
    }
}
