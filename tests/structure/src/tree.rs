//! The modules of the crates, read from their files: what each declares, imports and holds.
//! Knows nothing of how names are resolved.

use crate::attributes::{of_item, only_for_tests};
use crate::tokens;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// A module in [`Tree::modules`].
pub type ModuleId = usize;
/// An item in [`Tree::items`].
pub type ItemId = usize;
/// A file in [`Tree::files`].
pub type FileId = usize;

/// Why sources could not be read.
#[derive(Debug)]
pub enum Error {
    /// A file is missing or cannot be read.
    Read(PathBuf, std::io::Error),
    /// A file is not Rust.
    Parse(PathBuf, syn::Error),
    /// `cargo metadata` did not say what is in the workspace.
    Workspace(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Parse(path, why) => {
                let line = why.span().start().line;
                write!(f, "{}:{line}: {why}", path.display())
            }
            Self::Workspace(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// What a name in a module stands for.
#[derive(Debug)]
pub enum Definition {
    /// A child module.
    Module(ModuleId),
    /// Something that is defined here.
    Item(ItemId),
    /// What another path stands for.
    Import(Vec<String>),
}

/// A function, type, constant, trait or macro.
#[derive(Debug)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// The file that defines it.
    pub file: FileId,
    /// Whether its variants are names that `use Type::*` brings.
    pub variants: Vec<String>,
    /// Functions and constants of its `impl` blocks, and the files where these stand.
    pub members: BTreeMap<String, FileId>,
}

/// A module, in a file of its own or inside one.
#[derive(Debug)]
pub struct Module {
    /// The module that declares it.
    pub parent: Option<ModuleId>,
    /// Its crate, by the root module.
    pub root: ModuleId,
    /// The file that its items stand in.
    pub file: FileId,
    /// What is declared and imported by name.
    pub names: BTreeMap<String, Vec<Definition>>,
    /// The paths before `::*`.
    pub globs: Vec<Vec<String>>,
    /// Its items, without test code and without child modules.
    pub code: Vec<syn::Item>,
}

/// A source file.
#[derive(Debug)]
pub struct File {
    /// Below the folder that [`Tree::read`] was given.
    pub path: PathBuf,
    /// The module that the whole file is.
    pub module: ModuleId,
}

/// All modules of some crates.
#[derive(Debug, Default)]
pub struct Tree {
    /// Every module.
    pub modules: Vec<Module>,
    /// Every item.
    pub items: Vec<Item>,
    /// Every file.
    pub files: Vec<File>,
    /// The root modules of the crates that others can name.
    pub crates: BTreeMap<String, ModuleId>,
}

impl Tree {
    /// Adds a crate: its root file below `folder`, and all modules that it declares. Others
    /// name it by `name`; a binary has none.
    ///
    /// # Errors
    /// If a file cannot be read or is not Rust.
    pub fn read(&mut self, folder: &Path, root: &Path, name: Option<&str>) -> Result<(), Error> {
        let children = root.parent().unwrap_or(Path::new("")).to_path_buf();
        let module = self.read_file(folder, root, None, &children)?;
        if let Some(name) = name {
            self.crates.insert(name.to_owned(), module);
        }
        Ok(())
    }

    /// Whether the second is a descendant of the first, or the same.
    pub fn is_within(&self, outer: ModuleId, mut inner: ModuleId) -> bool {
        while inner != outer {
            match self.modules.get(inner).and_then(|module| module.parent) {
                Some(parent) => inner = parent,
                None => return false,
            }
        }
        true
    }

    fn read_file(
        &mut self,
        folder: &Path,
        path: &Path,
        parent: Option<ModuleId>,
        children: &Path,
    ) -> Result<ModuleId, Error> {
        let text = std::fs::read_to_string(folder.join(path))
            .map_err(|why| Error::Read(path.to_path_buf(), why))?;
        let parsed = syn::parse_file(&text).map_err(|why| Error::Parse(path.to_path_buf(), why))?;
        let file = self.files.len();
        self.files.push(File {
            path: path.to_path_buf(),
            module: self.modules.len(),
        });
        self.read_module(folder, file, parent, children, parsed.items)
    }

    fn read_module(
        &mut self,
        folder: &Path,
        file: FileId,
        parent: Option<ModuleId>,
        children: &Path,
        items: Vec<syn::Item>,
    ) -> Result<ModuleId, Error> {
        let id = self.modules.len();
        let root = parent
            .and_then(|parent| self.modules.get(parent))
            .map_or(id, |parent| parent.root);
        self.modules.push(Module {
            parent,
            root,
            file,
            names: BTreeMap::new(),
            globs: Vec::new(),
            code: Vec::new(),
        });
        let mut code = Vec::new();
        for item in items {
            if only_for_tests(of_item(&item)) {
                continue;
            }
            if let syn::Item::Mod(child) = item {
                let name = child.ident.to_string();
                let below = children.join(&name);
                let module = match child.content {
                    Some((_, items)) => self.read_module(folder, file, Some(id), &below, items)?,
                    None => {
                        let path = Self::file_of(folder, children, &child.attrs, &name);
                        self.read_file(folder, &path, Some(id), &below)?
                    }
                };
                self.declare(id, &name, Definition::Module(module));
            } else {
                code.push(item);
            }
        }
        for item in &code {
            let mut declared = Declared {
                tree: self,
                module: id,
                file,
            };
            declared.visit_item(item);
        }
        if let Some(module) = self.modules.get_mut(id) {
            module.code = code;
        }
        Ok(id)
    }

    /// Where `mod name;` looks for its file.
    fn file_of(folder: &Path, children: &Path, attrs: &[syn::Attribute], name: &str) -> PathBuf {
        let given = attrs.iter().find_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(text),
                    ..
                }) => Some(children.join(text.value())),
                _ => None,
            },
            _ => None,
        });
        given.unwrap_or_else(|| {
            let flat = children.join(format!("{name}.rs"));
            if folder.join(&flat).exists() {
                flat
            } else {
                children.join(name).join("mod.rs")
            }
        })
    }

    fn declare(&mut self, module: ModuleId, name: &str, definition: Definition) {
        if let Some(module) = self.modules.get_mut(module) {
            let names = module.names.entry(name.to_owned()).or_default();
            names.push(definition);
        }
    }
}

/// Notes what items declare and import, those inside of functions too: rustc would see them
/// there only, but the file that knows them is the same.
struct Declared<'t> {
    tree: &'t mut Tree,
    module: ModuleId,
    file: FileId,
}

impl Declared<'_> {
    fn item(&mut self, name: &syn::Ident, variants: Vec<String>) {
        let id = self.tree.items.len();
        self.tree.items.push(Item {
            name: name.to_string(),
            file: self.file,
            variants,
            members: BTreeMap::new(),
        });
        let name = name.to_string();
        self.tree.declare(self.module, &name, Definition::Item(id));
    }

    fn import(&mut self, before: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(before, &path.tree);
                before.pop();
            }
            syn::UseTree::Name(name) => self.import_as(before, &name.ident, None),
            syn::UseTree::Rename(name) => self.import_as(before, &name.ident, Some(&name.rename)),
            syn::UseTree::Glob(_) => {
                if let Some(module) = self.tree.modules.get_mut(self.module) {
                    module.globs.push(before.clone());
                }
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(before, tree);
                }
            }
        }
    }

    fn import_as(&mut self, before: &[String], name: &syn::Ident, new: Option<&syn::Ident>) {
        let mut path = before.to_vec();
        if name != "self" {
            path.push(name.to_string());
        }
        let known = new
            .map(ToString::to_string)
            .or_else(|| path.last().cloned());
        if let Some(known) = known {
            self.tree
                .declare(self.module, &known, Definition::Import(path));
        }
    }
}

impl<'ast> Visit<'ast> for Declared<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if only_for_tests(of_item(item)) {
            return;
        }
        match item {
            syn::Item::Const(it) => self.item(&it.ident, Vec::new()),
            syn::Item::Enum(it) => {
                let variants = it.variants.iter().map(|variant| variant.ident.to_string());
                self.item(&it.ident, variants.collect());
            }
            syn::Item::Fn(it) => self.item(&it.sig.ident, Vec::new()),
            syn::Item::Static(it) => self.item(&it.ident, Vec::new()),
            syn::Item::Struct(it) => {
                self.item(&it.ident, Vec::new());
                // What the derive of pest makes of a grammar.
                if it.attrs.iter().any(|at| at.path().is_ident("grammar")) {
                    self.item(&syn::Ident::new("Rule", it.ident.span()), Vec::new());
                }
            }
            syn::Item::Trait(it) => self.item(&it.ident, Vec::new()),
            syn::Item::Type(it) => self.item(&it.ident, Vec::new()),
            syn::Item::Union(it) => self.item(&it.ident, Vec::new()),
            syn::Item::Use(it) => self.import(&mut Vec::new(), &it.tree),
            syn::Item::Macro(it) => match &it.ident {
                Some(name) => {
                    self.item(name, Vec::new());
                    // An exported macro stands in the root of its crate too.
                    let exported = it.attrs.iter().any(|at| at.path().is_ident("macro_export"));
                    let root = self.tree.modules.get(self.module).map(|module| module.root);
                    if let (true, Some(root)) = (exported && root != Some(self.module), root) {
                        let id = self.tree.items.len() - 1;
                        let name = name.to_string();
                        self.tree.declare(root, &name, Definition::Item(id));
                    }
                }
                None => {
                    for name in tokens::declared(it.mac.tokens.clone()) {
                        self.item(&name, Vec::new());
                    }
                }
            },
            _ => {}
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, member: &'ast syn::ImplItem) {
        if !only_for_tests(crate::attributes::of_member(member)) {
            syn::visit::visit_impl_item(self, member);
        }
    }
}
