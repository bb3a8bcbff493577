//! One gateway in the place of several entries, and the policy that names its servers.

use crate::clients::{Document, Entry, Launch, file};
use crate::error::SetupError;
use crate::options::{absolute, push};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How the gateway's policy is called, after the file.
const POLICY: &str = ".bouncer.yaml";
/// The name of the gateway's entry.
const NAME: &str = "bouncer";

/// The longest name of a server: its tools' names have room beside it.
const LONGEST: usize = 20;

/// Names of the entries' servers in a policy: of letters, digits, `_` and `-`, and short, since
/// the names of all their tools begin with them. A name that is so stays.
#[must_use]
pub fn good_names(entries: &[Entry]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    entries
        .iter()
        .map(|entry| free(&mut taken, &entry.name))
        .collect()
}

fn free(taken: &mut BTreeSet<String>, name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words = name.split(|c| !plain(c)).filter(|word| !word.is_empty());
    let good: String = words
        .collect::<Vec<_>>()
        .join("-")
        .chars()
        .take(LONGEST)
        .collect();
    // Two underscores end a server's name.
    let good = good.replace("__", "_");
    let good = good.trim_matches(|c| c == '-' || c == '_');
    let good = if good.is_empty() { "server" } else { good };
    let numbered = (2..).map(|number| format!("{good}-{number}"));
    let found = std::iter::once(good.to_owned())
        .chain(numbered)
        .find(|name| !taken.contains(name));
    let found = found.unwrap_or_default();
    taken.insert(found.clone());
    found
}

/// A server's entry with its placeholders as policies write them.
///
/// # Errors
/// If a placeholder is one that only the client can fill in.
pub fn servable(launch: &Launch) -> Result<Launch, SetupError> {
    let args = launch.args.iter().map(|text| placeholders(text));
    let env = launch.env.iter();
    Ok(Launch {
        program: placeholders(&launch.program)?,
        args: args.collect::<Result<_, SetupError>>()?,
        env: env
            .map(|(name, value)| Ok((name.clone(), placeholders(value)?)))
            .collect::<Result<_, SetupError>>()?,
        cwd: launch.cwd.as_deref().map(placeholders).transpose()?,
    })
}

/// `${env:NAME}` as `${NAME}`.
fn placeholders(text: &str) -> Result<String, SetupError> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or(SetupError::Unclosed)?;
        let variable = name.strip_prefix("env:").unwrap_or(name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if variable.is_empty() || !variable.chars().all(plain) {
            return Err(SetupError::OnlyTheClient(name.to_owned()));
        }
        let _ = write!(out, "{before}${{{variable}}}");
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// A gateway stands in one place: entries of other sections stay.
pub fn one_section(entries: Vec<Entry>, notes: &mut [(String, String)]) -> Vec<Entry> {
    let Some(section) = entries.first().map(|entry| entry.section.clone()) else {
        return entries;
    };
    let (kept, left): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|entry| entry.section == section);
    for entry in left {
        if let Some((_, says)) = notes.iter_mut().find(|(name, _)| *name == entry.name) {
            "stays as it is, not guarded: it belongs to one project only".clone_into(says);
        }
    }
    kept
}

/// Exchanges the entries for one gateway. Gives its policy, which begins
/// as the default one goes on, and where it goes.
pub fn replace(
    document: &mut Document,
    entries: &[Entry],
    program: &str,
    path: &Path,
    lock: Option<&Path>,
    default: &str,
) -> Result<(PathBuf, String), SetupError> {
    let Some(first) = entries.first() else {
        return Err(SetupError::NothingForGateway);
    };
    let name = free_name(document, first);
    let policy = file::beside(path, POLICY);
    let mut text = String::from(
        "# The servers behind the gateway, as they stood in the client's configuration. Below them\n\
         # stands what decides beside the built-in packs; rules and contracts of your own go here as well.\n\
         version: 1\nservers:\n",
    );
    for (entry, name) in entries.iter().zip(good_names(entries)) {
        let launch = entry.launch().ok_or(SetupError::StartsNothing)?;
        server(&mut text, &name, &servable(launch)?);
        document.remove(entry)?;
    }
    text.push('\n');
    for line in default.lines().skip_while(|line| *line != "rules:") {
        text.push_str(line);
        text.push('\n');
    }
    // What an earlier `init` wrote, and nobody changed, is as good as new.
    if policy.exists()
        && bouncer_system::private::read_to_string(&policy)
            .ok()
            .as_ref()
            != Some(&text)
    {
        return Err(SetupError::PolicyExists(policy));
    }
    let mut args = vec!["gateway".to_owned()];
    push(&mut args, "--policy", &absolute(&policy)?);
    if let Some(lock) = lock {
        push(&mut args, "--tools", &absolute(lock)?);
    }
    document.add(&first.section, &name, program, &args)?;
    Ok((policy, text))
}

fn free_name(document: &Document, first: &Entry) -> String {
    let taken: Vec<String> = document
        .entries()
        .into_iter()
        .filter(|entry| entry.section == first.section)
        .map(|entry| entry.name)
        .collect();
    let numbered = (2..).map(|n| format!("{NAME}-{n}"));
    std::iter::once(NAME.to_owned())
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .unwrap_or_else(|| NAME.to_owned())
}

/// JSON's strings are YAML's double-quoted ones.
fn server(out: &mut String, name: &str, launch: &Launch) {
    let quoted = |text: &str| Value::from(text).to_string();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "  {}:", quoted(name));
    let _ = writeln!(out, "    command: {}", quoted(&launch.program));
    if !launch.args.is_empty() {
        let _ = writeln!(out, "    args:");
        for arg in &launch.args {
            let _ = writeln!(out, "      - {}", quoted(arg));
        }
    }
    if !launch.env.is_empty() {
        let _ = writeln!(out, "    env:");
        for (name, value) in &launch.env {
            let _ = writeln!(out, "      {}: {}", quoted(name), quoted(value));
        }
    }
    if let Some(cwd) = &launch.cwd {
        let _ = writeln!(out, "    cwd: {}", quoted(cwd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        let mut taken = BTreeSet::new();
        for (name, expected) in [
            ("files", "files"),
            ("my files", "my-files"),
            ("my.files", "my-files-2"),
            ("@scope/some-server", "scope-some-server"),
            ("a__b", "a_b"),
            ("日本", "server"),
            ("", "server-2"),
            ("a very long name of a server", "a-very-long-name-of"),
        ] {
            assert_eq!(free(&mut taken, name), expected, "{name:?}");
        }
    }
}
