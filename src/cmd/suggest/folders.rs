//! The folders that servers were started with: where their tools may be expected to write.

use crate::cli::SuggestArgs;
use bouncer_setup::LOCK;
use bouncer_setup::clients::{Document, Launch, file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Options whose folder is where the server's own program lies or runs.
const ELSEWHERE: [&str; 7] = [
    "--directory",
    "--project",
    "--cwd",
    "--prefix",
    "--from",
    "--with-editable",
    "-C",
];

/// By the server's name.
pub(super) type Folders = BTreeMap<String, Vec<String>>;

/// Of the servers of the configurations that are named, and of those beside which the
/// locks lie.
pub(super) fn of(args: &SuggestArgs, locks: &[PathBuf]) -> Folders {
    let beside = locks.iter().filter_map(|lock| {
        let name = lock.file_name()?.to_str()?.strip_suffix(LOCK)?;
        Some(lock.with_file_name(name))
    });
    let mut out = Folders::new();
    for path in args.config.iter().cloned().chain(beside) {
        // A lock without its configuration is as good as one that was given by itself.
        let Ok(read) = file::read(&path) else {
            continue;
        };
        let Ok(document) = Document::parse(&read.path, &read.text) else {
            continue;
        };
        for entry in document.entries() {
            let found = entry.launch().map(of_launch).unwrap_or_default();
            let folders = out.entry(entry.name).or_default();
            for folder in found {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
    }
    out
}

/// The arguments that are folders of this machine, written whole.
fn of_launch(launch: &Launch) -> Vec<String> {
    let program = Path::new(&launch.program).file_stem();
    let program = program.and_then(|name| name.to_str()).unwrap_or_default();
    // `node FOLDER` starts what lies there.
    let starts = ["node", "bun", "deno"].contains(&program) || program.starts_with("python");
    let mut out: Vec<String> = Vec::new();
    let mut before = "";
    for (at, arg) in launch.args.iter().enumerate() {
        let value = match arg.split_once('=') {
            Some((option, _)) if ELSEWHERE.contains(&option) => "",
            Some((option, value)) if option.starts_with('-') => value,
            _ if ELSEWHERE.contains(&before) || (starts && at == 0) => "",
            _ => arg,
        };
        before = arg;
        let path = Path::new(value);
        // The root is no bound, and what only the client can fill in is no path yet.
        if path.is_absolute() && path.parent().is_some() && path.is_dir() {
            let folder = match value.trim_end_matches('/') {
                "" => value,
                rest => rest,
            };
            if !out.iter().any(|seen| seen == folder) {
                out.push(folder.to_owned());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(program: &str, args: &[&str]) -> Vec<String> {
        of_launch(&Launch {
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..Launch::default()
        })
    }

    #[test]
    fn folders_are_those_that_there_are() {
        let here = env!("CARGO_MANIFEST_DIR");
        let src = format!("{here}/src");
        let server = "@modelcontextprotocol/server-filesystem";
        assert_eq!(
            found("npx", &["-y", server, here, &format!("{src}/"), here]),
            [here, src.as_str()]
        );
        assert_eq!(found("srv", &[&format!("--root={src}")]), [src.as_str()]);
        assert_eq!(found("srv", &["--root", &src]), [src.as_str()]);
        for (program, args) in [
            (
                "npx",
                vec!["/", "/does/not/exist", "src", "${workspaceFolder}"],
            ),
            ("uv", vec!["--directory", here, "run", "x"]),
            ("uv", vec!["--directory=/tmp", "run"]),
            ("node", vec![here]),
            ("srv", vec!["/etc/hostname"]),
        ] {
            assert_eq!(found(program, &args), Vec::<String>::new(), "{args:?}");
        }
        assert_eq!(found("node", &["x.js", here]), [here]);
    }
}
