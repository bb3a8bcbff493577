//! Names of tools that no tool can have.
//!
//! Rules match `<server>__<tool>`. Where the policy names its servers, a pattern that fits no
//! name of theirs fits nothing. Where it does not, a pattern is only doubted if it is spelt
//! as another product spells tools, or as contracts name them, or is a slip of a known name.

use super::Doubt;
use super::slips::Known;
use crate::diagnostic::{Code, quote};
use crate::policy::{Contract, Layer, Policy, Pos, ToolGlob};
use crate::read::nearest;
use bouncer_plan::format::GlobKind;
use bouncer_plan::glob;

/// The server of an agent's own tools.
const AGENT: &str = "agent";
/// The agent's own tools that have one name for all agents, and what agents call them.
const AGENT_TOOLS: &[(&str, &[&str])] = &[
    (
        "shell",
        &["bash", "local_shell", "exec_command", "run_terminal_cmd"],
    ),
    ("script", &[]),
    ("read", &["notebookread", "glob", "grep", "ls"]),
    (
        "write",
        &["edit", "multiedit", "notebookedit", "delete", "apply_patch"],
    ),
    ("fetch", &["webfetch"]),
    ("search", &["websearch"]),
    ("connect", &[]),
    ("send", &[]),
];
/// What stands between the server and the tool.
const JOINT: &str = "__";

pub(super) fn check(policy: &Policy, out: &mut Vec<Doubt>) {
    let all = || policy.contracts.iter().chain(&policy.replaced);
    let names = Names {
        servers: policy.servers.iter().map(|s| s.name.as_str()).collect(),
        bare: Known::new(
            all()
                .map(|c| c.key.as_str())
                .filter(|key| !key.contains(JOINT)),
        ),
        full: all()
            .map(|c| c.key.as_str())
            .filter(|key| key.contains(JOINT))
            .collect(),
        of_packs: Known::new(
            all()
                .filter(|contract| contract.layer == Layer::Pack)
                .map(|contract| contract.key.as_str()),
        ),
    };
    let rules = policy.rules.iter().flat_map(|set| &set.rules);
    let asserted = policy
        .assertions
        .iter()
        .map(|one| (&one.property.tools, one.at));
    let globs = rules
        .flat_map(|rule| rule.tools.iter().map(|glob| (glob, Some(glob.at))))
        .filter(|(glob, _)| !glob.is_request())
        .chain(asserted);
    for (glob, at) in globs {
        out.extend(at.and_then(|at| names.doubt(glob, at)));
    }
    for contract in policy.contracts.iter().filter(|c| c.layer == Layer::User) {
        out.extend(names.contract(contract));
    }
}

/// What the policy says of the tools that there are.
struct Names<'p> {
    servers: Vec<&'p str>,
    /// Keys of contracts without a server.
    bare: Known<'p>,
    /// Keys of contracts with one.
    full: Vec<&'p str>,
    of_packs: Known<'p>,
}

impl Names<'_> {
    fn doubt(&self, tool: &ToolGlob, at: Pos) -> Option<Doubt> {
        let doubt = |message: String, help: String| {
            Some(Doubt {
                code: Code::NO_SUCH_TOOL,
                at,
                message,
                help,
            })
        };
        let (kind, pattern) = tool.glob();
        let shown = quote(pattern);
        if let Some(rest) = pattern.strip_prefix("mcp__")
            && rest.contains(JOINT)
            && !self.servers.contains(&"mcp")
        {
            return doubt(
                format!("{shown} is how some clients name tools; no tool is called so here"),
                format!("rules match `<server>__<tool>`: write {}", quote(rest)),
            );
        }
        if pattern.contains(':') && !self.any_known_has(':') {
            let meant = pattern.replacen(':', JOINT, 1);
            return doubt(
                format!("no tool's name has a `:`, so {shown} matches nothing"),
                format!("rules match `<server>__<tool>`: write {}", quote(&meant)),
            );
        }
        if let Some(name) = pattern.strip_prefix("agent__")
            && let Some(meant) = agent_tool(name)
        {
            return doubt(
                format!("the agent has no tool {shown}"),
                format!("did you mean `agent__{meant}`?"),
            );
        }
        if !self.servers.is_empty() {
            let mut servers = self.servers.iter().copied().chain([AGENT]);
            return if servers.any(|server| reaches(kind, pattern, server)) {
                self.slip(pattern, at)
            } else {
                doubt(
                    format!("{shown} matches no tool of any server that this policy names"),
                    self.help(pattern),
                )
            };
        }
        let bare = !pattern.contains(JOINT) && !pattern.starts_with(['*', '?', '[']);
        let of_contract = || self.bare_match(kind, pattern);
        let of_server = || {
            let full = self.full.iter();
            full.copied().any(|key| glob::matches(kind, pattern, key))
        };
        if bare
            && !of_server()
            && let Some(known) = of_contract()
        {
            let of = if known == pattern {
                String::new()
            } else {
                format!(", as {}", quote(known))
            };
            return doubt(
                format!("{shown} matches only a tool of no known server{of}"),
                format!(
                    "rules match `<server>__<tool>`, contracts take the bare name: write {}, or put the server's name in place of the `*`",
                    quote(&format!("*__{pattern}"))
                ),
            );
        }
        self.slip(pattern, at)
    }

    /// A name that differs from a known tool's by one letter.
    fn slip(&self, pattern: &str, at: Pos) -> Option<Doubt> {
        let (server, tool) = match pattern.rsplit_once(JOINT) {
            Some((server, tool)) => (Some(server), tool),
            None => (None, pattern),
        };
        if tool.contains(['*', '?', '[']) || self.full.contains(&pattern) {
            return None;
        }
        let meant = self.bare.meant(tool)?;
        let full = server.map_or_else(|| meant.to_owned(), |server| format!("{server}__{meant}"));
        Some(Doubt {
            code: Code::NO_SUCH_TOOL,
            at,
            message: format!(
                "no pack and no contract knows a tool {}, and it is one letter away from one that they do",
                quote(tool)
            ),
            help: format!("did you mean {}?", quote(&full)),
        })
    }

    /// A contract that no tool can be meant by.
    fn contract(&self, contract: &Contract) -> Option<Doubt> {
        let key = contract.key.as_str();
        let doubt = |message: String, help: String| {
            Some(Doubt {
                code: Code::NO_SUCH_TOOL,
                at: contract.at,
                message,
                help,
            })
        };
        if let Some((server, tool)) = key.split_once(JOINT)
            && server != AGENT
            && !self.servers.is_empty()
            && !self
                .servers
                .iter()
                .any(|s| key.starts_with(&format!("{s}{JOINT}")))
        {
            let help = match nearest(server, &self.servers) {
                Some(near) => format!("did you mean {}?", quote(&format!("{near}__{tool}"))),
                None => format!("write {} for the tool of any server", quote(tool)),
            };
            return doubt(
                format!(
                    "the contract of {} is for a server that this policy does not name",
                    quote(key)
                ),
                help,
            );
        }
        if let Some(name) = key.strip_prefix("agent__") {
            let meant = agent_tool(name)?;
            return doubt(
                format!("the agent has no tool {}", quote(key)),
                format!("did you mean `agent__{meant}`?"),
            );
        }
        let bare = key.rsplit_once(JOINT).map_or(key, |(_, tool)| tool);
        let meant = self.of_packs.meant(bare)?;
        doubt(
            format!(
                "no pack knows a tool {}, and it is one letter away from one that a pack does",
                quote(bare)
            ),
            format!("did you mean {}?", quote(meant)),
        )
    }

    fn any_known_has(&self, c: char) -> bool {
        self.servers
            .iter()
            .chain(&self.full)
            .any(|name| name.contains(c))
    }

    /// A bare key of a contract that the pattern matches.
    fn bare_match(&self, kind: GlobKind, pattern: &str) -> Option<&str> {
        self.bare
            .names()
            .find(|name| glob::matches(kind, pattern, name))
    }

    /// What to write in place of a pattern that fits no server.
    fn help(&self, pattern: &str) -> String {
        let joined = |tool: &str| match self.servers.as_slice() {
            [one] => format!("{one}__{tool}"),
            _ => format!("*__{tool}"),
        };
        let meant = match pattern.split_once(JOINT) {
            Some((server, tool)) => match (nearest(server, &self.servers), self.servers.as_slice())
            {
                (Some(near), _) => Some(format!("{near}__{tool}")),
                (None, [one]) => Some(format!("{one}__{tool}")),
                (None, _) => None,
            },
            // `mail.send`, `mail/send`, `mail_send`
            None => self
                .servers
                .iter()
                .find_map(|server| {
                    let rest = pattern.strip_prefix(server)?;
                    let tool = rest.strip_prefix(['.', '/', '_', '-'])?;
                    Some(format!("{server}__{tool}"))
                })
                .or_else(|| Some(joined(pattern))),
        };
        let servers: Vec<String> = self
            .servers
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let are = format!(
            "rules match `<server>__<tool>`, and the servers are {}",
            servers.join(", ")
        );
        match meant {
            Some(meant) => format!("{are}: did you mean {}?", quote(&meant)),
            None => are,
        }
    }
}

/// Whether a pattern matches the name of some tool of a server.
fn reaches(kind: GlobKind, pattern: &str, server: &str) -> bool {
    let start = format!("{server}{JOINT}");
    let ends = pattern.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.filter_map(|end| pattern.split_at_checked(end))
        .any(|(front, rest)| {
            (!rest.is_empty() || front.ends_with('*')) && glob::matches(kind, front, &start)
        })
}

/// The tool of an agent that was meant, where there is none of this name.
fn agent_tool(name: &str) -> Option<&'static str> {
    if name.contains(['*', '?', '[']) || AGENT_TOOLS.iter().any(|(known, _)| *known == name) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let other = AGENT_TOOLS
        .iter()
        .find(|(known, others)| *known == lower || others.contains(&lower.as_str()));
    if let Some((known, _)) = other {
        return Some(known);
    }
    // An agent may have more tools than these.
    Known::new(AGENT_TOOLS.iter().map(|(known, _)| *known)).meant(name)
}
