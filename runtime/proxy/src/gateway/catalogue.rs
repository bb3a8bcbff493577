//! The tools of all servers under the names that the client sees.
//!
//! `<server>__<tool>` can be read in more than one way, so a name is never taken apart:
//! it is looked up among those that were given out. A name that two tools would share
//! belongs to neither. Clients put a name of their own in front and refuse what is too long or
//! has other signs than letters, digits, `_` and `-`: a tool whose name is so is shown under a
//! short form, which stays the same for as long as the server and the tool are called the same;
//! calls find it under its whole name as well.

use bouncer_mcp::frame::{FrameReader, text};
use bouncer_mcp::splice::splice;
use bouncer_system::log::{note, quoted};
use std::collections::{HashMap, HashSet};

/// A tool as one server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The server's own name for it.
    pub name: String,
    /// The name that the client sees.
    pub shown: String,
    /// What the client sees: the definition with that name.
    pub definition: Vec<u8>,
}

/// Where a call goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The server.
    pub server: usize,
    /// The server's own name for the tool.
    pub name: String,
}

/// The tools that the client sees, and the server that each leads to.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    routes: HashMap<String, Route>,
    definitions: Vec<Vec<u8>>,
    /// What was said about collisions already.
    complained: HashSet<String>,
}

/// The name of a tool or a prompt among those of all servers.
pub(crate) fn exposed(server: &str, name: &str) -> String {
    format!("{server}__{name}")
}

/// What tells short forms of different names apart, in signs.
const MARK: usize = 6;

/// The name that the client sees of a tool: of at most `longest` signs that all clients take.
pub(crate) fn shown(server: &str, name: &str, longest: usize) -> String {
    let whole = exposed(server, name);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if whole.len() <= longest && whole.chars().all(plain) {
        return whole;
    }
    let mark = blake3::hash(whole.as_bytes()).to_hex();
    let signs = whole.chars().map(|c| if plain(c) { c } else { '_' });
    let mut short: String = signs.take(longest.saturating_sub(MARK + 1)).collect();
    short.push('_');
    short.extend(mark.chars().take(MARK));
    short
}

/// What the names of a server's tools begin with, as the client sees them.
pub(crate) fn shown_prefix(server: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let signs = server.chars().map(|c| if plain(c) { c } else { '_' });
    signs.chain("__".chars()).collect()
}

/// Gives an item of a listing the name that `naming` makes of its own; `None` if it has none to
/// begin with, or cannot be read strictly.
pub(crate) fn expose(
    frames: &mut FrameReader,
    item: &[u8],
    naming: impl Fn(&str) -> String,
) -> Option<Listed> {
    let [name] = frames.members(item, ["name"]).ok()?;
    let raw = name?;
    let name = text(raw)?;
    let shown = naming(&name);
    let new = serde_json::to_vec(&shown).ok()?;
    let definition = splice(item, vec![(raw, new)])?;
    Some(Listed {
        name,
        shown,
        definition,
    })
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
        // Whole names of tools that are shown under a short form; `None`: of several.
        let mut whole: HashMap<String, Option<Route>> = HashMap::new();
        for (index, server, tools) in servers {
            for tool in tools {
                let long = exposed(server, &tool.name);
                if long != tool.shown {
                    let route = Route {
                        server: index,
                        name: tool.name.clone(),
                    };
                    let taken = whole.contains_key(&long);
                    whole.insert(long, (!taken).then_some(route));
                }
                let name = tool.shown.clone();
                let owners = owners.entry(name.clone()).or_default();
                if owners.is_empty() {
                    order.push(name);
                }
                owners.push((index, server, tool));
            }
        }
        let mut routes = HashMap::new();
        let mut definitions = Vec::new();
        for name in order {
            let owners = owners.remove(&name).unwrap_or_default();
            match owners.as_slice() {
                [(index, _, tool)] => {
                    if !hides(*index, &tool.name) {
                        definitions.push(tool.definition.clone());
                    }
                    let route = Route {
                        server: *index,
                        name: tool.name.clone(),
                    };
                    routes.insert(name, route);
                }
                _ => self.complain(&name, &owners),
            }
        }
        // Who calls a tool by its whole name means it: rules and the log name it so.
        for (long, route) in whole {
            if let Some(route) = route {
                routes.entry(long).or_insert(route);
            }
        }
        let changed = definitions != self.definitions;
        self.routes = routes;
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
    pub(crate) fn find(&self, name: &str) -> Option<&Route> {
        self.routes.get(name)
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
            .map(|name| {
                expose(&mut frames, item(name).as_bytes(), |name| {
                    shown(server, name, 50)
                })
                .unwrap()
            })
            .collect()
    }

    #[test]
    fn only_the_name_changes() {
        assert_eq!(
            tools("srv", &[r"a\u0062"]),
            [Listed {
                name: "ab".to_owned(),
                shown: "srv__ab".to_owned(),
                definition: br#"{ "name":"srv__ab","inputSchema":{}, "x":1.0 }"#.to_vec(),
            }]
        );
        let mut frames = FrameReader::new(1 << 20);
        for bad in [r#"{"name":1}"#, r#"{"name":"a","Name":"b"}"#, "[]", "{}"] {
            assert_eq!(
                expose(&mut frames, bad.as_bytes(), str::to_owned),
                None,
                "{bad}"
            );
        }
    }

    #[test]
    fn every_name_fits_what_clients_take() {
        assert_eq!(shown("srv", "read_file-2", 50), "srv__read_file-2");
        let exact = "t".repeat(50 - "s__".len());
        assert_eq!(shown("s", &exact, 50), format!("s__{exact}"));
        let odd = [
            ("my server", "read"),
            ("s", "a.b/c"),
            ("s", "a:b/c"),
            ("s", "naïve"),
            ("s", "naive\u{301}"),
            ("s", "line\nbreak"),
            ("s", ""),
            ("", "x\u{0}"),
            ("s", &format!("{exact}1")),
            ("s", &format!("{exact}2")),
            (&"long".repeat(50), "a"),
            (&"long".repeat(50), "b"),
        ];
        let mut all = HashSet::new();
        for (server, name) in odd {
            for longest in [20, 50, 64] {
                let shown = shown(server, name, longest);
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                assert!(shown.chars().all(plain) && !shown.is_empty(), "{shown}");
                assert!(shown.len() <= longest, "{shown}");
                assert_eq!(shown, super::shown(server, name, longest));
            }
            assert!(all.insert(shown(server, name, 50)), "{name:?}");
        }
        assert_eq!(shown_prefix("my server"), "my_server__");
    }

    #[test]
    fn a_tool_with_a_short_form_is_found_by_its_whole_name_too() {
        let mut catalogue = Catalogue::default();
        let (odd, other) = (tools("s", &["a.b", "a b", "c"]), tools("s__a b", &["c"]));
        let servers = [(0, "s", odd.as_slice()), (1, "s__a b", other.as_slice())];
        catalogue.rebuild(servers.into_iter(), |_, _| false);
        let of = |name: &str| {
            catalogue
                .find(name)
                .map(|route| (route.server, &*route.name))
        };
        assert_eq!(of("s__a.b"), Some((0, "a.b")));
        assert_eq!(of(&shown("s", "a.b", 50)), Some((0, "a.b")));
        assert_eq!(of("s__a b__c"), Some((1, "c")));
        assert_eq!(of("s__a_b"), None);
        // The whole name of two tools is neither's.
        let twice = [tools("s__x y", &["c"]), tools("s", &["x y__c"])];
        let servers = [
            (0, "s__x y", twice[0].as_slice()),
            (1, "s", twice[1].as_slice()),
        ];
        catalogue.rebuild(servers.into_iter(), |_, _| false);
        assert_eq!(catalogue.find("s__x y__c"), None);
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
