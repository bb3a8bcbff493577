//! Which server has which resource and which prompt.
//!
//! Filled by listings. Resources keep their URIs, so two servers may list the same one;
//! nobody can say then whose is meant.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// Entries of each kind.
const MAX_ENTRIES: usize = 100_000;

/// Addresses that were named in tools and results.
const MAX_NAMED: usize = 20_000;
/// The longest of these.
const MAX_NAMED_URI: usize = 2048;

/// Resources, templates and prompts, and the servers that list them.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    resources: HashMap<String, BTreeSet<usize>>,
    /// What stands before the first variable of a URI template, and the whole template.
    templates: HashMap<(String, String), BTreeSet<usize>>,
    /// By the exposed name: the server, and its own name for it.
    prompts: HashMap<String, Vec<(usize, String)>>,
    /// What servers named in their tools and results: who named it last, and when.
    named: HashMap<String, (usize, u64)>,
    order: VecDeque<(String, u64)>,
    count: u64,
}

impl Directory {
    /// Forgets all that a server listed.
    pub(crate) fn forget(&mut self, server: usize) {
        self.set_resources(server, []);
        self.set_templates(server, []);
        self.set_prompts(server, []);
        self.named.retain(|_, (of, _)| *of != server);
    }

    /// Notes what a server named: who named it last has it.
    pub(crate) fn name(&mut self, server: usize, uris: impl IntoIterator<Item = String>) {
        for uri in uris.into_iter().filter(|uri| uri.len() <= MAX_NAMED_URI) {
            self.count += 1;
            self.named.insert(uri.clone(), (server, self.count));
            self.order.push_back((uri, self.count));
        }
        while self.order.len() > MAX_NAMED
            && let Some((uri, count)) = self.order.pop_front()
        {
            // It may have been named again.
            if self.named.get(&uri).is_some_and(|(_, last)| *last == count) {
                self.named.remove(&uri);
            }
        }
    }

    /// Notes all resources of a server.
    pub(crate) fn set_resources(&mut self, server: usize, uris: impl IntoIterator<Item = String>) {
        set(&mut self.resources, server, uris);
    }

    /// Notes all resource templates of a server.
    pub(crate) fn set_templates(&mut self, server: usize, uris: impl IntoIterator<Item = String>) {
        let fixed = |uri: String| {
            let start = uri.split('{').next().unwrap_or_default().to_owned();
            (start, uri)
        };
        set(&mut self.templates, server, uris.into_iter().map(fixed));
    }

    /// Notes all prompts of a server, by the exposed and by its own name.
    pub(crate) fn set_prompts(
        &mut self,
        server: usize,
        prompts: impl IntoIterator<Item = (String, String)>,
    ) {
        self.prompts.retain(|_, owners| {
            owners.retain(|(of, _)| *of != server);
            !owners.is_empty()
        });
        for (exposed, own) in prompts {
            if self.prompts.len() < MAX_ENTRIES {
                self.prompts.entry(exposed).or_default().push((server, own));
            }
        }
    }

    /// The servers that list a resource, or else those whose template fits it best. Where
    /// that is nobody, or several, it is the server that named it last.
    pub(crate) fn of_uri(&self, uri: &str) -> Vec<usize> {
        let listed = self.resources.get(uri);
        if let Some(servers) = listed.filter(|servers| servers.len() == 1) {
            return servers.iter().copied().collect();
        }
        if let Some((server, _)) = self.named.get(uri) {
            return vec![*server];
        }
        if let Some(servers) = listed {
            return servers.iter().copied().collect();
        }
        // The whole template is what completions name.
        let exact = self.templates.iter().filter(|((_, whole), _)| whole == uri);
        let exact: BTreeSet<usize> = exact.flat_map(|(_, servers)| servers).copied().collect();
        if !exact.is_empty() {
            return exact.into_iter().collect();
        }
        let fits = || {
            let all = self.templates.iter();
            all.filter(|((start, _), _)| !start.is_empty() && uri.starts_with(start.as_str()))
        };
        let longest = fits().map(|((start, _), _)| start.len()).max();
        let best: BTreeSet<usize> = fits()
            .filter(|((start, _), _)| Some(start.len()) == longest)
            .flat_map(|(_, servers)| servers)
            .copied()
            .collect();
        best.into_iter().collect()
    }

    /// The servers that list a prompt under that exposed name.
    pub(crate) fn of_prompt(&self, exposed: &str) -> &[(usize, String)] {
        self.prompts.get(exposed).map_or(&[], Vec::as_slice)
    }
}

fn set<K: std::hash::Hash + Eq>(
    entries: &mut HashMap<K, BTreeSet<usize>>,
    server: usize,
    keys: impl IntoIterator<Item = K>,
) {
    entries.retain(|_, servers| {
        servers.remove(&server);
        !servers.is_empty()
    });
    for key in keys {
        if entries.len() < MAX_ENTRIES {
            entries.entry(key).or_default().insert(server);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_named_is_its_who_named_it_last() {
        let mut directory = Directory::default();
        let one = |uri: &str| vec![uri.to_owned()];
        directory.set_resources(0, one("ui://both"));
        directory.set_resources(1, one("ui://both"));
        directory.set_resources(2, one("ui://two"));
        directory.set_templates(2, one("ui://{any}"));
        directory.name(1, one("ui://both"));
        directory.name(1, one("ui://one"));
        assert_eq!(directory.of_uri("ui://both"), [1]);
        assert_eq!(directory.of_uri("ui://one"), [1]);
        // What one server lists is its own, whoever names it.
        directory.name(1, one("ui://two"));
        assert_eq!(directory.of_uri("ui://two"), [2]);
        directory.name(0, one("ui://both"));
        assert_eq!(directory.of_uri("ui://both"), [0]);
        directory.forget(0);
        assert_eq!(directory.of_uri("ui://both"), [1]);
        for number in 0..2 * MAX_NAMED {
            directory.name(0, [format!("x://{number}")]);
        }
        assert!(directory.named.len() <= MAX_NAMED);
        assert_eq!(directory.of_uri("ui://one"), [2]);
    }

    #[test]
    fn finds_whose_a_resource_is() {
        let texts = |texts: &[&str]| {
            texts
                .iter()
                .map(|&text| text.to_owned())
                .collect::<Vec<_>>()
        };
        let mut directory = Directory::default();
        directory.set_resources(0, texts(&["a://1", "a://both"]));
        directory.set_resources(1, texts(&["b://1", "a://both"]));
        directory.set_templates(0, texts(&["a://{x}", "{any}"]));
        directory.set_templates(1, texts(&["a://deep/{x}"]));
        assert_eq!(directory.of_uri("b://1"), [1]);
        assert_eq!(directory.of_uri("a://both"), [0, 1]);
        assert_eq!(directory.of_uri("a://other"), [0]);
        assert_eq!(directory.of_uri("a://deep/1"), [1]);
        assert_eq!(directory.of_uri("a://deep/{x}"), [1]);
        assert!(directory.of_uri("c://1").is_empty());
        directory.forget(0);
        assert_eq!(directory.of_uri("a://both"), [1]);
        assert!(directory.of_uri("a://1").is_empty());
    }
}
