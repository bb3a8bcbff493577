//! Build tools, and programs that ask databases: what they are told to do is read, what the project's own code then
//! does is not.

use super::Word;
use super::command::Command;
use super::options::{Role, parse};
use super::reach::{guess, is_stream, leaves, paths, place, values};
use super::reader::Unread;
use super::table::{Operands, Program};
use super::tools::reads_only;

/// Build tools: what they run is the project's code, but not what stands in their words.
pub(super) fn build(base: &mut Command, row: &Program, args: &[Word]) -> Result<(), Unread> {
    let name = base.program.clone();
    let mut args = args;
    if name == "cargo"
        && args
            .first()
            .is_some_and(|word| word.text.starts_with('+') && !word.dynamic)
    {
        args = args.get(1..).unwrap_or_default();
    }
    // What stands behind is for the program that it starts.
    let end = args
        .iter()
        .position(|word| word.text == "--")
        .unwrap_or(args.len());
    let (own, behind) = args.split_at(end);
    let parsed = parse(&name, row.options, row.style, false, own)?;
    let mut operands = parsed.texts();
    if row.operands == Operands::Verb && !operands.is_empty() {
        base.verb = operands.remove(0);
    }
    base.described(&parsed.shown, operands);
    base.runs.push(".".to_owned());
    values(base, &parsed)?;
    for (option, role, value) in &parsed.values {
        let input = matches!(role, Role::Read | Role::Run)
            && matches!(value.text.as_str(), "-" | "/dev/stdin");
        if input
            || value.text.starts_with("/proc/")
            || value.text.starts_with("/dev/") && !is_stream(&value.text)
        {
            return Err(format!("`{name}` takes its commands from elsewhere"));
        }
        if value.text.contains("://")
            || (value.dynamic && *role == Role::Read)
            || (option == "C" && value.dynamic)
        {
            return Err(format!("`{name}` takes its commands from elsewhere"));
        }
    }
    // Where a `Makefile` lies is seen from the directory that `-C` names.
    let valued = |names: [&str; 3]| {
        let mut found = parsed
            .values
            .iter()
            .filter(move |(option, _, _)| names.contains(&option.as_str()));
        found.next_back().map(|(_, _, value)| value.text.as_str())
    };
    if row.operands == Operands::Build {
        let directory = valued(["C", "directory", ""]).unwrap_or_default();
        if let Some(file) = valued(["f", "file", "makefile"]) {
            base.scripts.push(place(directory, file));
        }
        if !directory.is_empty() {
            base.runs.push(directory.to_owned());
        }
    }
    let mut operands = parsed.operands.iter();
    if row.operands == Operands::Verb {
        let verb = operands.next().map_or("", |word| word.text.as_str());
        if !verb.is_empty()
            && !row
                .verbs
                .split_ascii_whitespace()
                .any(|known| known == verb)
        {
            return Err(format!("`{name} {verb}` is not known"));
        }
        let installs = matches!(
            name.as_str(),
            "npm" | "pnpm" | "yarn" | "pip" | "pip3" | "cargo" | "bun"
        ) && matches!(verb, "install" | "i" | "ci" | "add")
            // It only writes a name into the project's own list.
            && !(name == "cargo" && verb == "add");
        if installs
            && operands.clone().any(|word| {
                let local =
                    word.text == "." || word.text.starts_with(".[") || word.text.starts_with("./");
                word.dynamic || !local
            })
        {
            return Err(format!("`{name}` installs what runs code of its own"));
        }
    } else if operands
        .clone()
        .any(|word| word.text.contains('=') || word.dynamic)
    {
        return Err(format!("`{name}` is told what to run in its words"));
    }
    // A version behind a name is fetched, and run.
    if name == "go"
        && operands
            .clone()
            .any(|word| word.text.contains('@') || word.dynamic)
    {
        return Err("`go` fetches and runs what is not known".to_owned());
    }
    let words: Vec<Word> = operands.map(|word| (*word).clone()).collect();
    let verb = parsed
        .operands
        .first()
        .map_or("", |word| word.text.as_str());
    if row.operands == Operands::Verb {
        match (name.as_str(), verb) {
            ("cargo", "install")
                if !parsed.values.iter().any(|(option, _, _)| option == "path") =>
            {
                return Err("`cargo install` fetches and runs what is not known".to_owned());
            }
            ("cargo", "publish") if !parsed.has(&["dry-run", "n"]) => {
                return Err("`cargo publish` publishes".to_owned());
            }
            ("npm" | "pnpm", "exec") => {
                let mut all = words.iter().chain(behind.iter().skip(1));
                let tool = all.next().map_or("", |word| word.text.as_str());
                let first = all.next().map_or("", |word| word.text.as_str());
                if !package_tool(tool, first) {
                    return Err(format!("`{name} exec` runs what is not known"));
                }
            }
            ("yarn", "workspace") => {
                let inner = words.get(1).map_or("", |word| word.text.as_str());
                let known = [
                    "run",
                    "build",
                    "test",
                    "lint",
                    "format",
                    "typecheck",
                    "start",
                    "dev",
                ];
                if !known.contains(&inner) {
                    return Err(format!("`yarn workspace … {inner}` is not known"));
                }
            }
            // What only says how a package manager is set up.
            ("npm" | "pnpm" | "yarn", "config" | "cache" | "pkg")
                if !matches!(
                    words.first().map_or("", |word| word.text.as_str()),
                    "get" | "list" | "ls" | "verify" | "dir"
                ) =>
            {
                return Err(format!("`{name} {verb}` changes how it works"));
            }
            ("pip" | "pip3", "config" | "cache" | "index")
                if !matches!(
                    words.first().map_or("", |word| word.text.as_str()),
                    "get" | "list" | "dir" | "info" | "versions" | "debug"
                ) =>
            {
                return Err(format!("`{name} {verb}` changes how it works"));
            }
            ("cargo", "new" | "init") => {
                let words: Vec<&Word> = words.iter().collect();
                base.writes.extend(paths(&name, &words)?);
            }
            ("npm" | "pnpm" | "yarn", "pack") if words.is_empty() => {
                base.deep = true;
                base.reads.push(".".to_owned());
            }
            // `owner/name` and `host:owner/name` are fetched from there.
            ("npm" | "pnpm" | "yarn", "pack" | "view" | "info" | "explain")
                if words.iter().any(|word| {
                    let package = word.text.strip_prefix('@').unwrap_or(&word.text);
                    word.dynamic
                        || word.text.contains(':')
                        || package.contains('/') && !word.text.starts_with(['@', '.'])
                }) =>
            {
                return Err(format!("`{name} {verb}` fetches from where its words say"));
            }
            _ => {}
        }
    }
    guess(base, &words);
    guess(base, behind);
    if name == "go" && parsed.has(&["w", "u"]) && base.words.iter().any(|word| word == "env") {
        return Err("`go env` changes what other commands run".to_owned());
    }
    Ok(())
}

/// Whether a tool that packages bring along is known, with the word behind it.
pub(super) fn package_tool(tool: &str, first: &str) -> bool {
    match tool {
        "tsx" => !first.is_empty() && !first.starts_with('-'),
        "playwright" => matches!(first, "test" | "install" | "show-report"),
        _ => matches!(
            tool,
            "tsc" | "eslint" | "prettier" | "jest" | "vitest" | "next" | "vite" | "biome" | "mocha"
        ),
    }
}

/// Tools that run the project's own code or settings, whatever their words are: paths that
/// leave the project are code from elsewhere.
pub(super) fn project(base: &mut Command, args: &[Word]) {
    base.runs.push(".".to_owned());
    // These are told what to start.
    let starts = [
        "--test-command",
        "--build-and-test",
        "--eval",
        "--exec",
        "--command",
        "--pre",
        "-exec",
        "--execute",
        "--init-hook",
        "--override",
        "--python-executable",
        "-shellcheck",
        "-pyflakes",
        "--clang=",
        "--with-refactor",
        "-Dexec.",
        "--external-checks-git",
        "--custom-check-url",
        "--compiler",
        "-load",
    ];
    // Tasks of plugins that are fetched by their whole names.
    let fetched = |word: &Word| base.program == "mvn" && word.text.matches(':').count() > 1;
    base.known &= !args.iter().any(fetched);
    if args
        .iter()
        .any(|word| starts.iter().any(|start| word.text.starts_with(start)))
    {
        base.known = false;
    }
    for word in args {
        let value = word
            .text
            .split_once('=')
            .map_or(word.text.as_str(), |(_, value)| value);
        if leaves(value) && !word.text.contains("://") && value != "/dev/null" {
            base.runs.push(value.to_owned());
        }
    }
    let (flags, operands): (Vec<String>, Vec<String>) = args
        .iter()
        .map(|word| word.text.clone())
        .partition(|text| text.len() > 1 && text.starts_with('-'));
    base.described(&flags, operands);
    guess(base, args);
}

/// Programs that ask a database: statements that only read are known.
pub(super) fn query(base: &mut Command, row: &Program, args: &[Word]) -> Result<(), Unread> {
    let name = base.program.clone();
    let parsed = parse(&name, row.options, row.style, false, args)?;
    base.described(&parsed.shown, parsed.texts());
    let given: Vec<&Word> = parsed
        .values
        .iter()
        .filter(|(option, _, _)| {
            matches!(option.as_str(), "c" | "command" | "e" | "execute" | "cmd")
        })
        .map(|(_, _, word)| word)
        .collect();
    let (files, statements) = match name.as_str() {
        "sqlite3" => parsed.operands.split_at(parsed.operands.len().min(1)),
        _ => (&[] as &[&Word], &[] as &[&Word]),
    };
    base.reads
        .extend(files.iter().map(|word| word.text.clone()));
    let lists = parsed.has(&["l", "list", "version", "V"]);
    let mut all = given
        .iter()
        .copied()
        .chain(statements.iter().copied())
        .peekable();
    let some = all.peek().is_some();
    let reads = all.all(|word| !word.dynamic && reads_only(&word.text));
    base.known = lists && !some || some && reads && !base.piped;
    let far = parsed.operands.iter().any(|word| word.text.contains("://"));
    if far || !base.known {
        base.known = false;
        guess(base, args);
    }
    Ok(())
}
