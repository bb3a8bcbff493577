//! The packages of the workspace, as cargo knows them: their roots, and what they depend on.

use crate::tree::{Error, Tree};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package of the workspace.
#[derive(Debug)]
pub struct Package {
    /// Its name in its manifest.
    pub name: String,
    /// Its folder below the workspace's.
    pub folder: PathBuf,
    /// Names of what it depends on, tests and build scripts aside.
    pub depends_on: BTreeSet<String>,
    /// The root files of its library and programs; the name by which others know the library.
    pub roots: Vec<(PathBuf, Option<String>)>,
}

/// All packages of the workspace in a folder.
///
/// # Errors
/// If cargo does not answer.
pub fn packages(folder: &Path) -> Result<Vec<Package>, Error> {
    let wrong = |why: &str| Error::Workspace(format!("cargo metadata: {why}"));
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(folder)
        .output()
        .map_err(|why| Error::Read(folder.to_path_buf(), why))?;
    if !output.status.success() {
        return Err(wrong(&String::from_utf8_lossy(&output.stderr)));
    }
    let answer: Value =
        serde_json::from_slice(&output.stdout).map_err(|why| wrong(&why.to_string()))?;
    let top = answer.get("workspace_root").and_then(Value::as_str);
    let top = Path::new(top.ok_or_else(|| wrong("no workspace"))?);
    let packages = answer.get("packages").and_then(Value::as_array);
    let packages = packages.ok_or_else(|| wrong("no packages"))?;
    Ok(packages.iter().map(|package| read(top, package)).collect())
}

fn read(top: &Path, package: &Value) -> Package {
    let text = |value: &Value, key: &str| {
        let text = value.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let list = |value: &Value, key: &str| {
        let list = value.get(key).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let below = |path: String| {
        let path = PathBuf::from(path);
        path.strip_prefix(top)
            .map(Path::to_path_buf)
            .unwrap_or(path)
    };
    let manifest = below(text(package, "manifest_path"));
    let mut roots = Vec::new();
    for target in list(package, "targets") {
        let kinds = list(&target, "kind");
        let is = |kind: &str| kinds.iter().any(|it| it.as_str() == Some(kind));
        let root = below(text(&target, "src_path"));
        if is("lib") {
            roots.push((root, Some(text(&target, "name").replace('-', "_"))));
        } else if is("bin") {
            roots.push((root, None));
        }
    }
    let normal = |dependency: &Value| dependency.get("kind").is_none_or(Value::is_null);
    let dependencies = list(package, "dependencies");
    Package {
        name: text(package, "name"),
        folder: manifest.parent().map(Path::to_path_buf).unwrap_or_default(),
        depends_on: dependencies
            .iter()
            .filter(|dependency| normal(dependency))
            .map(|dependency| text(dependency, "name"))
            .collect(),
        roots,
    }
}

impl Tree {
    /// Reads the libraries and programs of packages.
    ///
    /// # Errors
    /// If a file cannot be read or is not Rust.
    pub fn of_packages(folder: &Path, packages: &[Package]) -> Result<Self, Error> {
        let mut tree = Self::default();
        for package in packages {
            for (root, name) in &package.roots {
                tree.read(folder, root, name.as_deref())?;
            }
        }
        Ok(tree)
    }
}
