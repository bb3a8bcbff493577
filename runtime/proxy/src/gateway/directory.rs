//! Which server has which resource and which prompt.
//!
//! Filled by listings. Resources keep their URIs, so two servers may list the same one;
//! nobody can say then whose is meant.

use std::collections::{BTreeSet, HashMap};

/// Entries of each kind.
const MAX_ENTRIES: usize = 100_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    resources: HashMap<String, BTreeSet<usize>>,
    /// What stands before the first variable of a URI template, and the whole template.
    templates: HashMap<(String, String), BTreeSet<usize>>,
    /// By the exposed name: the server, and its own name for it.
    prompts: HashMap<String, Vec<(usize, String)>>,
}

impl Directory {
    /// Forgets all that a server listed.
    pub(crate) fn forget(&mut self, server: usize) {
        self.set_resources(server, []);
        self.set_templates(server, []);
        self.set_prompts(server, []);
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

    /// The servers that list a resource, or else those whose template fits it best.
    pub(crate) fn of_uri(&self, uri: &str) -> Vec<usize> {
        if let Some(servers) = self.resources.get(uri) {
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
