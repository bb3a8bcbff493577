//! Where tests are and what they say. A test file is YAML with cases, or a trace.

use crate::cli::{Layers, TestArgs};
use crate::output::{ERROR, Failure};
use crate::source;
use bouncer_compiler::{Document, Item};
use std::path::{Path, PathBuf};

/// Directories that hold no tests of one's own.
const SKIPPED: [&str; 3] = ["node_modules", "target", "venv"];
/// How deep tests are looked for.
const DEEPEST: usize = 12;

/// The policies of a case, and what stands below them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    pub policy: Vec<PathBuf>,
    pub no_packs: bool,
    pub no_heuristics: bool,
}

impl Setting {
    pub const fn layers(&self) -> Layers {
        Layers {
            no_packs: self.no_packs,
            no_heuristics: self.no_heuristics,
        }
    }
}

/// One conversation with what its calls should get.
pub struct TestCase {
    pub file: String,
    pub name: String,
    pub line: u32,
    pub setting: Setting,
    pub tools: Vec<PathBuf>,
    /// Lines of a trace, with the line of the file that each stands in.
    pub steps: Vec<(u32, String)>,
}

/// The test files that the arguments name, or those below the current directory.
pub fn find(args: &TestArgs) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    if args.files.is_empty() {
        walk(Path::new(""), 0, &mut found)?;
        found.sort();
        return Ok(found);
    }
    for path in &args.files {
        if path.is_dir() {
            let start = found.len();
            walk(path, 0, &mut found)?;
            if let Some(new) = found.get_mut(start..) {
                new.sort();
            }
            continue;
        }
        let is_trace = path.extension().is_some_and(|ending| ending == "jsonl");
        if is_test(path) || is_trace || looks_like_tests(path) {
            found.push(path.clone());
            continue;
        }
        let beside = tests_of(path);
        if beside.is_empty() {
            let shown = path.display();
            let test = path.with_extension("test.yaml");
            return Err(Failure::Message(format!(
                "no tests lie beside `{shown}`: write `{}`",
                test.display()
            )));
        }
        found.extend(beside);
    }
    Ok(found)
}

fn walk(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let shown = if directory == Path::new("") {
        Path::new(".")
    } else {
        directory
    };
    let failed = |error| Failure::file("read", shown, &error);
    for entry in std::fs::read_dir(shown).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let path = directory.join(&name);
        let hidden = name.to_string_lossy().starts_with('.');
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            let skipped = SKIPPED.iter().any(|skipped| name == *skipped);
            if !hidden && !skipped && depth < DEEPEST {
                walk(&path, depth + 1, found)?;
            }
        } else if !hidden && is_test(&path) {
            found.push(path);
        }
    }
    Ok(())
}

/// Whether a file is a test by its name.
fn is_test(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    [".test.yaml", ".test.yml", ".test.jsonl"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// Whether a file of another name holds cases.
fn looks_like_tests(path: &Path) -> bool {
    std::fs::read_to_string(path)
        .is_ok_and(|text| text.lines().any(|line| line.starts_with("cases:")))
}

/// The tests beside a policy.
pub fn tests_of(policy: &Path) -> Vec<PathBuf> {
    ["test.yaml", "test.yml", "test.jsonl"]
        .iter()
        .map(|ending| policy.with_extension(ending))
        .filter(|path| path.is_file())
        .collect()
}

/// The policy that a test lies beside.
fn policy_of(test: &Path) -> Option<PathBuf> {
    let name = test.file_name()?.to_string_lossy().into_owned();
    let stem = name.rsplit_once(".test.").map(|(stem, _)| stem)?;
    ["yaml", "yml"]
        .iter()
        .map(|ending| test.with_file_name(format!("{stem}.{ending}")))
        .find(|path| path.is_file())
}

/// The cases of one file, or none where it cannot be read: nothing is said of it.
pub fn quietly(path: &Path, args: &TestArgs) -> Vec<TestCase> {
    let text = source::read_text(path).unwrap_or_default();
    let readable = path.extension().is_some_and(|ending| ending == "jsonl")
        || Document::parse("", &text).is_ok();
    match readable {
        true => read(path, args).unwrap_or_default(),
        false => Vec::new(),
    }
}

/// The cases of one file.
pub fn read(path: &Path, args: &TestArgs) -> Result<Vec<TestCase>, Failure> {
    let text = source::read_text(path)?;
    let default = Setting {
        policy: if args.policy.is_empty() {
            policy_of(path).into_iter().collect()
        } else {
            args.policy.clone()
        },
        no_packs: args.layers.no_packs,
        no_heuristics: args.layers.no_heuristics,
    };
    let file = path.display().to_string();
    if path.extension().is_some_and(|ending| ending == "jsonl") {
        let steps = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(number, line)| (number, line.to_owned()))
            .collect();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return Ok(vec![TestCase {
            name: name.into_owned(),
            line: 1,
            setting: with_policy(default, &file, 1)?,
            tools: Vec::new(),
            steps,
            file,
        }]);
    }
    let document = Document::parse(&file, &text).map_err(|diagnostics| {
        source::print_diagnostics(&diagnostics);
        Failure::Code(ERROR)
    })?;
    let reader = Reader {
        file,
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        fixed: args,
    };
    reader.document(&document, default)
}

fn with_policy(setting: Setting, file: &str, line: u32) -> Result<Setting, Failure> {
    if setting.policy.is_empty() {
        return Err(Failure::Message(format!(
            "`{file}`, line {line}: there is no policy beside this test: add `policy: FILE`, or give `--policy`"
        )));
    }
    Ok(setting)
}

struct Reader<'a> {
    file: String,
    folder: PathBuf,
    fixed: &'a TestArgs,
}

impl Reader<'_> {
    fn fail<T>(&self, item: Item<'_>, why: &str) -> Result<T, Failure> {
        let line = item.pos().line;
        Err(Failure::Message(format!(
            "`{}`, line {line}: {why}",
            self.file
        )))
    }

    fn document(&self, document: &Document, default: Setting) -> Result<Vec<TestCase>, Failure> {
        let root = document.root();
        let mut top = Part {
            setting: default,
            tools: Vec::new(),
            name: None,
            steps: None,
            cases: None,
        };
        if root.items().is_some() {
            top.cases = Some(root);
        } else {
            self.part(
                root,
                &["policy", "tools", "packs", "heuristics", "cases"],
                &mut top,
            )?;
        }
        let Some(list) = top.cases else {
            return self.fail(root, "a test has `cases:`, a list of `name` and `steps`");
        };
        let Some(cases) = list.items().filter(|items| !items.is_empty()) else {
            return self.fail(list, "`cases` must be a list of cases");
        };
        cases
            .into_iter()
            .map(|item| self.case(item, &top))
            .collect()
    }

    fn case(&self, item: Item<'_>, top: &Part<'_>) -> Result<TestCase, Failure> {
        let mut part = Part {
            setting: top.setting.clone(),
            tools: top.tools.clone(),
            name: None,
            steps: None,
            cases: None,
        };
        self.part(
            item,
            &["name", "policy", "tools", "packs", "heuristics", "steps"],
            &mut part,
        )?;
        let Some(name) = part.name else {
            return self.fail(item, "this case has no `name`");
        };
        let Some(steps) = part.steps else {
            return self.fail(item, "this case has no `steps`");
        };
        let Some(list) = steps.items() else {
            return self.fail(steps, "`steps` must be a list; each step is a line of a trace, such as `{type: call, tool: …, expect: deny}`");
        };
        let line = item.pos().line;
        Ok(TestCase {
            file: self.file.clone(),
            name,
            line,
            setting: with_policy(part.setting, &self.file, line)?,
            tools: part.tools,
            steps: list
                .into_iter()
                .map(|step| (step.pos().line, step.json()))
                .collect(),
        })
    }

    fn part<'d>(&self, item: Item<'d>, known: &[&str], part: &mut Part<'d>) -> Result<(), Failure> {
        let Some(entries) = item.entries() else {
            return self.fail(item, "this must be a mapping");
        };
        for (key, value) in entries {
            if !known.contains(&key) {
                return self.fail(
                    value,
                    &format!(
                        "unknown key `{}`; the keys here are {}",
                        key.escape_debug(),
                        known.join(", ")
                    ),
                );
            }
            match key {
                "policy" if self.fixed.policy.is_empty() => {
                    part.setting.policy = self.paths(value, key)?
                }
                "policy" => {}
                "tools" => part.tools = self.paths(value, key)?,
                "packs" => part.setting.no_packs |= !self.bool(value, key)?,
                "heuristics" => part.setting.no_heuristics |= !self.bool(value, key)?,
                "name" => match value.text() {
                    Some(name) => part.name = Some(name.to_owned()),
                    None => return self.fail(value, "`name` must be a text"),
                },
                "steps" => part.steps = Some(value),
                _ => part.cases = Some(value),
            }
        }
        Ok(())
    }

    fn bool(&self, item: Item<'_>, key: &str) -> Result<bool, Failure> {
        match item.bool() {
            Some(value) => Ok(value),
            None => self.fail(item, &format!("`{key}` must be `true` or `false`")),
        }
    }

    /// A path or a list of them, seen from the test's own directory.
    fn paths(&self, item: Item<'_>, key: &str) -> Result<Vec<PathBuf>, Failure> {
        let items = item.items().unwrap_or_else(|| vec![item]);
        items
            .into_iter()
            .map(|item| match item.text() {
                Some(text) => Ok(self.folder.join(text)),
                None => self.fail(item, &format!("`{key}` must be a file or a list of files")),
            })
            .collect()
    }
}

/// What a test file or a case says.
struct Part<'d> {
    setting: Setting,
    tools: Vec<PathBuf>,
    name: Option<String>,
    steps: Option<Item<'d>>,
    cases: Option<Item<'d>>,
}
