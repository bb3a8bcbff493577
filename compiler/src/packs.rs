//! The built-in packs: policies for well-known servers, as YAML that anyone can read.
//!
//! Knows where the texts are, nothing of what they mean.

/// A built-in file.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name: the file's name without `.yaml`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The packs, by name.
#[must_use]
pub const fn all() -> &'static [Builtin] {
    PACKS
}

/// The heuristics for tools that no contract names.
#[must_use]
pub const fn heuristics() -> Option<Builtin> {
    HEURISTICS
}

/// The words by which the engine guesses what a tool does. They are compiled into the engine;
/// this is their text, for people.
#[must_use]
pub const fn effects() -> Builtin {
    EFFECTS
}

/// Embeds one file of `packs/`.
macro_rules! builtin {
    ($name:literal) => {
        Builtin {
            name: $name,
            text: include_str!(concat!("../../packs/", $name, ".yaml")),
        }
    };
}

const PACKS: &[Builtin] = &[
    builtin!("bash"),
    builtin!("browser"),
    builtin!("filesystem"),
    builtin!("gdrive"),
    builtin!("git"),
    builtin!("github"),
    builtin!("gmail"),
    builtin!("http"),
    builtin!("memory"),
    builtin!("slack"),
    builtin!("sql"),
];
const HEURISTICS: Option<Builtin> = Some(builtin!("heuristics"));
const EFFECTS: Builtin = builtin!("effects");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../packs");
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        let mut files: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".yaml").map(ToOwned::to_owned))
            .collect();
        files.sort();
        let mut embedded: Vec<String> = PACKS.iter().map(|pack| pack.name.to_owned()).collect();
        embedded.extend(HEURISTICS.map(|file| file.name.to_owned()));
        embedded.push(EFFECTS.name.to_owned());
        embedded.sort();
        assert_eq!(files, embedded);
    }
}
