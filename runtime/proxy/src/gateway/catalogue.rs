//! The tools of all servers under the names that the client sees.
//!
//! `<server>__<tool>` can be read in more than one way, so a name is never taken apart:
//! it is looked up among those that were given out. A name that two tools would share
//! belongs to neither.

use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::splice::splice;
use bouncer_system::log::{note, quoted};
use std::collections::{HashMap, HashSet};

/// A tool as one server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The server's own name for it.
    pub name: String,
    /// What the client sees: the definition with the exposed name.
    pub definition: Vec<u8>,
}

/// Where a call goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The server.
    pub server: usize,
    /// The server's own name for the tool.
    pub name: String,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    places: HashMap<String, Place>,
    definitions: Vec<Vec<u8>>,
    /// What was said about collisions already.
    complained: HashSet<String>,
}

/// The name that the client sees.
pub(crate) fn exposed(server: &str, name: &str) -> String {
    format!("{server}__{name}")
}

/// Gives an item of a listing its exposed name; `None` if it has none to begin with, or
/// cannot be read strictly.
pub(crate) fn expose(frames: &mut FrameReader, server: &str, item: &[u8]) -> Option<Listed> {
    let [name] = frames.members(item, ["name"]).ok()?;
    let raw = name?;
    let name = text(raw)?;
    let new = serde_json::to_vec(&exposed(server, &name)).ok()?;
    let definition = splice(item, vec![(raw, new)])?;
    Some(Listed { name, definition })
}

/// Drops items that a server lists twice in different words: there is no telling which
/// one a call would meet.
pub(crate) fn without_doubles(items: Vec<Listed>) -> Vec<Listed> {
    let mut seen: HashMap<String, (usize, bool)> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        match seen.get_mut(&item.name) {
            None => {
                seen.insert(item.name.clone(), (index, true));
            }
            Some((first, alike)) => {
                *alike &= items.get(*first).is_some_and(|first| first == item);
            }
        }
    }
    let keep = |(index, item): (usize, Listed)| {
        (seen.get(&item.name) == Some(&(index, true))).then_some(item)
    };
    items.into_iter().enumerate().filter_map(keep).collect()
}

impl Catalogue {
    /// Makes the catalogue anew of the tools of the servers that are up; `true` if the
    /// client sees other tools than before. Tools that are hidden keep their names: calls
    /// of them are judged, and denied, like any other.
    pub(crate) fn rebuild<'a>(
        &mut self,
        servers: impl Iterator<Item = (usize, &'a str, &'a [Listed])>,
        hides: impl Fn(usize, &str) -> bool,
    ) -> bool {
        // In the order in which they were listed.
        let mut order = Vec::new();
        let mut owners: HashMap<String, Vec<(usize, &str, &Listed)>> = HashMap::new();
        for (index, server, tools) in servers {
            for tool in tools {
                let name = exposed(server, &tool.name);
                let owners = owners.entry(name.clone()).or_default();
                if owners.is_empty() {
                    order.push(name);
                }
                owners.push((index, server, tool));
            }
        }
        let mut places = HashMap::new();
        let mut definitions = Vec::new();
        for name in order {
            let owners = owners.remove(&name).unwrap_or_default();
            match owners.as_slice() {
                [(index, _, tool)] => {
                    if !hides(*index, &tool.name) {
                        definitions.push(tool.definition.clone());
                    }
                    let place = Place {
                        server: *index,
                        name: tool.name.clone(),
                    };
                    places.insert(name, place);
                }
                _ => self.complain(&name, &owners),
            }
        }
        let changed = definitions != self.definitions;
        self.places = places;
        self.definitions = definitions;
        changed
    }

    fn complain(&mut self, name: &str, owners: &[(usize, &str, &Listed)]) {
        // Not again with every listing.
        if self.complained.len() < 1000 && self.complained.insert(name.to_owned()) {
            let owners: Vec<String> = owners
                .iter()
                .map(|(_, server, tool)| {
                    format!(
                        "tool {} of server {}",
                        quoted(&tool.name, 200),
                        quoted(server, 200)
                    )
                })
                .collect();
            note(format_args!(
                "{} would be the name of {}: none of them can be called; give a server another name",
                quoted(name, 200),
                owners.join(" and ")
            ));
        }
    }

    /// Where a call of that name goes.
    pub(crate) fn find(&self, name: &str) -> Option<&Place> {
        self.places.get(name)
    }

    /// All definitions, server by server, as they were listed.
    pub(crate) fn definitions(&self) -> &[Vec<u8>] {
        &self.definitions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(server: &str, names: &[&str]) -> Vec<Listed> {
        let mut frames = FrameReader::new(1 << 20);
        let item = |name: &&str| format!(r#"{{ "name":"{name}","inputSchema":{{}}, "x":1.0 }}"#);
        names
            .iter()
            .map(|name| expose(&mut frames, server, item(name).as_bytes()).unwrap())
            .collect()
    }

    #[test]
    fn only_the_name_changes() {
        assert_eq!(
            tools("srv", &[r"a\u0062"]),
            [Listed {
                name: "ab".to_owned(),
                definition: br#"{ "name":"srv__ab","inputSchema":{}, "x":1.0 }"#.to_vec(),
            }]
        );
        let mut frames = FrameReader::new(1 << 20);
        for bad in [r#"{"name":1}"#, r#"{"name":"a","Name":"b"}"#, "[]", "{}"] {
            assert_eq!(expose(&mut frames, "s", bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn a_name_of_two_belongs_to_neither() {
        let (x, xy) = (tools("x", &["y__echo", "a"]), tools("x__y", &["echo", "b"]));
        let mut catalogue = Catalogue::default();
        let both = [(0, "x", x.as_slice()), (1, "x__y", xy.as_slice())];
        assert!(catalogue.rebuild(both.into_iter(), |_, _| false));
        assert_eq!(catalogue.find("x__y__echo"), None);
        assert_eq!(catalogue.definitions().len(), 2);
        assert_eq!(catalogue.find("x__y__b").unwrap().server, 1);
        assert!(!catalogue.rebuild(both.into_iter(), |_, _| false));
        assert_eq!(catalogue.complained.len(), 1);
        // One of them is gone: the name has one owner.
        assert!(catalogue.rebuild(both.into_iter().take(1), |_, _| false));
        assert_eq!(catalogue.find("x__y__echo").unwrap().name, "y__echo");
        // What is hidden can still be called, to be denied.
        assert!(catalogue.rebuild(both.into_iter(), |server, tool| (server, tool) == (0, "a")));
        assert_eq!(catalogue.definitions().len(), 1);
        assert_eq!(catalogue.find("x__a").unwrap().name, "a");
    }

    #[test]
    fn a_tool_listed_twice_counts_once_or_not_at_all() {
        let mut twice = tools("s", &["a", "b", "a", "b"]);
        twice[3].definition.push(b' ');
        let names = |items: Vec<Listed>| -> Vec<String> {
            items.into_iter().map(|item| item.name).collect()
        };
        assert_eq!(names(without_doubles(twice)), ["a"]);
    }
}
