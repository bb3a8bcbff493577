//! What of a lock's tools the policy covers, and what of the policy covers nothing.
//! Needs no automata.

mod names;

use super::reach::{self, Tool};
use super::schema::{self, Known};
use super::show::Judge;
use super::{Example, Finding, Kind, ListedTool, Place, Severity, Share};
use bouncer_compiler::diagnostic::{Code, quote};
use bouncer_compiler::nearest;
use bouncer_compiler::policy::{Cond, Contract, Layer, Path, Policy, Pos, Rule, Segment, ToolGlob};
use bouncer_engine::tools::Heuristics;
use bouncer_plan::Verdict;
use names::{is_link, reads, removes};
use serde_json::json;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Looks at every tool of the lock. Returns the shares of tools and of arguments covered.
pub(super) fn check(
    policy: &Policy,
    listed: &[ListedTool],
    judge: &Judge<'_>,
    out: &mut Vec<Finding>,
) -> (Share, Share) {
    if listed.is_empty() {
        return (Share::default(), Share::default());
    }
    let tools = reach::tools(policy, listed);
    let words = match &policy.heuristics {
        Some(words) => Some(words.clone()),
        None => bouncer_compiler::builtin_heuristics(),
    };
    let cover = Cover {
        policy,
        tools: &tools,
        words: words.unwrap_or_default(),
        judge,
        suggestions: Cell::new(100),
    };
    for tool in &tools {
        cover.tool(tool, out);
    }
    cover.entries(out);
    cover.rules(out);
    cover.shares()
}

struct Cover<'a> {
    policy: &'a Policy,
    tools: &'a [Tool<'a>],
    words: Heuristics,
    judge: &'a Judge<'a>,
    /// How many more times a name is compared with all tools.
    suggestions: Cell<u32>,
}

impl Cover<'_> {
    fn rule(&self, index: usize) -> Option<&Rule> {
        self.policy.rules.as_ref()?.rules.get(index)
    }

    /// One tool of the lock.
    fn tool(&self, tool: &Tool<'_>, out: &mut Vec<Finding>) {
        match tool.contract {
            None if tool.rules.is_empty() => out.push(self.uncovered(tool)),
            None => {}
            Some(contract) => {
                self.undeclared(tool, contract, out);
                out.extend(unlabelled(tool, contract));
            }
        }
        out.extend(self.by_default(tool));
    }

    fn uncovered(&self, tool: &Tool<'_>) -> Finding {
        let mut message = format!("no contract and no rule covers {}", quote(&tool.full));
        let derived = self
            .policy
            .heuristics
            .as_ref()
            .map(|h| h.derive(tool.definition));
        let guessed = derived.filter(|d| !d.sinks.is_empty() || d.max_calls.is_some());
        let severity = if let Some(derived) = guessed {
            let sinks: Vec<String> = derived
                .sinks
                .iter()
                .map(|keys| quote(&keys.join(".")))
                .collect();
            message.push_str(&if sinks.is_empty() {
                "; a guess from its name limits it".to_owned()
            } else {
                format!("; a guess from its schema gates {}", sinks.join(", "))
            });
            Severity::Note
        } else {
            Severity::Warning
        };
        let at = self.default_for(tool).and_then(|(_, at)| at);
        Finding {
            code: Code::UNCOVERED_TOOL,
            kind: Kind::Coverage,
            severity,
            message,
            places: place(at, "this default decides its calls"),
            help: Some(
                "write a contract for it, `{}` if there is nothing to say, or a rule".to_owned(),
            ),
            example: self
                .judge
                .judge(
                    tool.server,
                    tool.name,
                    &schema::arguments(
                        tool.definition.input_schema(),
                        &Path::default(),
                        &json!({}),
                    ),
                    &[],
                )
                .filter(|example| example.verdict == Verdict::Allow),
        }
    }

    /// The default for calls of the tool that no rule matches, where there are rules.
    fn default_for(&self, tool: &Tool<'_>) -> Option<(Verdict, Option<Pos>)> {
        let set = self.policy.rules.as_ref()?;
        let definition = tool.definition;
        let destructive =
            definition.destructive_hint == Some(true) && definition.read_only_hint != Some(true);
        let fallback = if destructive {
            set.on_destructive_hint
        } else {
            set.on_unknown
        };
        Some((fallback.action, fallback.at))
    }

    /// The default decides calls of the tool.
    fn by_default(&self, tool: &Tool<'_>) -> Option<Finding> {
        let (verdict, at) = self.default_for(tool)?;
        let certain = tool.rules.iter().filter_map(|&index| self.rule(index));
        if certain.into_iter().any(|rule| always(&rule.condition)) {
            return None;
        }
        let which = if tool.rules.is_empty() {
            "calls"
        } else {
            "calls that no rule matches"
        };
        Some(Finding {
            code: Code::DECIDED_BY_DEFAULT,
            kind: Kind::Coverage,
            severity: Severity::Note,
            message: format!(
                "a default decides {which} of {}: {}",
                quote(&tool.full),
                verdict.name()
            ),
            places: place(at, ""),
            help: Some(if verdict == Verdict::Allow {
                format!(
                    "end its rules with one that has no condition, e.g. `- {{tool: \"{}\", action: ask}}`, or set the default to `ask`",
                    plain(&tool.full)
                )
            } else {
                "nothing to do if that is meant: a rule of its own would say the same".to_owned()
            }),
            example: None,
        })
    }

    /// Arguments that look like destinations, and that the contract does not gate.
    fn undeclared(&self, tool: &Tool<'_>, contract: &Contract, out: &mut Vec<Finding>) {
        // Without declared sinks the gate looks at every argument.
        if contract.exfiltrating && contract.sinks.is_empty() {
            return;
        }
        let derived = self.words.derive(tool.definition).sinks;
        // A tool that reads or removes sends nothing to whom its arguments name, unless
        // they name a place on the net.
        let keeps = !contract.exfiltrating && (reads(tool) || removes(tool));
        let looked_at = self.looked_at(tool, contract);
        let open: Vec<&Vec<String>> = derived
            .iter()
            .filter(|keys| !looked_at.iter().any(|path| covers(path, keys)))
            .filter(|keys| !keeps || keys.last().is_none_or(|key| is_link(key)))
            .collect();
        if open.is_empty() {
            return;
        }
        let names: Vec<String> = open
            .iter()
            .map(|keys| {
                if keys.is_empty() {
                    "every argument".to_owned()
                } else {
                    quote(&keys.join("."))
                }
            })
            .collect();
        if speaks_for_another(tool, contract) {
            out.push(Finding {
                code: Code::UNDECLARED_DESTINATION,
                kind: Kind::Coverage,
                severity: Severity::Note,
                message: format!(
                    "the pack's contract for {} is about another server's tool of that name: this one's schema shows {}, and calls are judged by that",
                    quote(&tool.full),
                    names.join(", ")
                ),
                places: place(Some(contract.at), ""),
                help: Some("nothing to do, unless you want to say more: then write a contract of your own for it".to_owned()),
                example: None,
            });
            return;
        }
        let (verb, them) = if let [_] = names.as_slice() {
            ("looks", "a destination")
        } else {
            ("look", "destinations")
        };
        let missing = if contract.exfiltrating {
            format!(
                "the contract does not list {} in `sink_params`",
                if names.len() == 1 { "it" } else { "them" }
            )
        } else {
            "its sink gate is off".to_owned()
        };
        let help = if contract.exfiltrating {
            format!("add {} to `sink_params`", names.join(", "))
        } else {
            format!(
                "add `exfiltrating: true` and `sink_params: [{}]`, or `# bouncer: allow {} because …` if the tool sends nothing out",
                open.iter()
                    .map(|keys| keys.join("."))
                    .collect::<Vec<_>>()
                    .join(", "),
                Code::UNDECLARED_DESTINATION
            )
        };
        out.push(Finding {
            code: Code::UNDECLARED_DESTINATION,
            kind: Kind::Coverage,
            severity: Severity::Warning,
            message: format!(
                "{} of {} {verb} like {them}, but {missing}",
                names.join(", "),
                quote(&tool.full)
            ),
            places: place(Some(contract.at), ""),
            help: Some(help),
            example: open.iter().find_map(|keys| self.slips_through(tool, keys)),
        });
    }

    /// A call with an untrusted destination that is allowed.
    fn slips_through(&self, tool: &Tool<'_>, keys: &[String]) -> Option<Example> {
        if keys.is_empty() {
            return None;
        }
        let path = Path(keys.iter().map(|key| Segment::Key(key.clone())).collect());
        [
            "mallory@evil.example",
            "https://evil.example/",
            "evil-account",
        ]
        .iter()
        .find_map(|value| {
            let arguments = schema::arguments(tool.definition.input_schema(), &path, &json!(value));
            let untrusted = [(*value).to_owned()];
            let example = self
                .judge
                .judge(tool.server, tool.name, &arguments, &untrusted)?;
            (example.verdict == Verdict::Allow).then_some(example)
        })
    }

    /// Paths of the tool's arguments that some part of the policy looks at; `None`: all.
    fn looked_at<'s>(&'s self, tool: &'s Tool<'_>, contract: &'s Contract) -> Vec<&'s Path> {
        let mut paths: Vec<&Path> = Vec::new();
        if contract.exfiltrating {
            paths.extend(contract.sinks.iter().map(|sink| &sink.path));
        }
        if !contract.prefixes.is_empty() {
            paths.extend(contract.write_params.iter().map(|param| &param.path));
        }
        paths.extend(contract.arg_patterns.iter().map(|pattern| &pattern.path));
        for rule in tool.rules.iter().filter_map(|&index| self.rule(index)) {
            reach::each_test(&rule.condition, &mut |test, _| {
                paths.extend(reach::tested(test))
            });
        }
        paths
    }

    /// Arguments that contracts name and tools do not have, and keys that name no tool.
    fn entries(&self, out: &mut Vec<Finding>) {
        let mut users: BTreeMap<*const Contract, Vec<&Tool<'_>>> = BTreeMap::new();
        for tool in self.tools {
            if let Some(contract) = tool.contract {
                users
                    .entry(std::ptr::from_ref(contract))
                    .or_default()
                    .push(tool);
            }
        }
        for contract in &self.policy.contracts {
            match users.get(&std::ptr::from_ref(contract)) {
                None if contract.layer == Layer::User => {
                    out.push(self.no_tool(&contract.key, contract.at, "entry"))
                }
                None => {}
                Some(tools) => arguments(contract, tools, out),
            }
        }
    }

    /// An entry or glob that matches nothing.
    fn no_tool(&self, name: &str, at: Pos, what: &str) -> Finding {
        let tail = name.split_once("__").map_or(name, |(_, tail)| tail);
        let help = if let Some(tool) = self
            .tools
            .iter()
            .find(|tool| tool.name == tail && tool.full != name)
        {
            format!("the lock has this tool as {}", quote(&tool.full))
        } else if let Some(near) = self.near(name) {
            format!("did you mean {}?", quote(near))
        } else {
            "check the name, and the server's name in front of `__`".to_owned()
        };
        Finding {
            code: Code::MATCHES_NO_TOOL,
            kind: Kind::Coverage,
            severity: Severity::Warning,
            message: format!("the {what} {} matches no tool of the lock", quote(name)),
            places: place(Some(at), ""),
            help: Some(help),
            example: None,
        }
    }

    /// The tool that was probably meant. Comparing with every tool takes time: beyond
    /// the first few dead names nobody reads suggestions.
    fn near(&self, name: &str) -> Option<&str> {
        let left = self.suggestions.get().checked_sub(1)?;
        self.suggestions.set(left);
        let full: Vec<&str> = self.tools.iter().map(|tool| tool.full.as_str()).collect();
        let bare: Vec<&str> = self.tools.iter().map(|tool| tool.name).collect();
        nearest(name, &full).or_else(|| nearest(name, &bare))
    }

    /// Globs that match no tool, and tested arguments that no matched tool has.
    fn rules(&self, out: &mut Vec<Finding>) {
        let Some(set) = &self.policy.rules else {
            return;
        };
        let mut tools_of: BTreeMap<usize, Vec<&Tool<'_>>> = BTreeMap::new();
        for tool in self.tools {
            for &index in &tool.rules {
                tools_of.entry(index).or_default().push(tool);
            }
        }
        for (index, rule) in set.rules.iter().enumerate() {
            let tools = tools_of.get(&index).map_or(&[][..], Vec::as_slice);
            for glob in rule.tools.iter().filter(|glob| !glob.is_request()) {
                let dead =
                    tools.is_empty() || !tools.iter().any(|tool| reach::matches(glob, &tool.full));
                if dead {
                    out.push(self.no_tool(&glob.pattern, glob.at, "glob"));
                }
            }
            let mut said: BTreeSet<String> = BTreeSet::new();
            if rule.tools.iter().any(ToolGlob::is_request) {
                continue;
            }
            reach::each_test(&rule.condition, &mut |test, _| {
                let Some(path) = reach::tested(test).filter(|path| !path.0.is_empty()) else {
                    return;
                };
                if let Some(finding) = absent(path, test.at, tools, "tested argument")
                    && said.insert(finding.message.clone())
                {
                    out.push(finding);
                }
            });
        }
    }

    /// The covered shares of tools and of their arguments.
    fn shares(&self) -> (Share, Share) {
        let (mut tools, mut arguments) = (Share::default(), Share::default());
        for tool in self.tools {
            tools.all += 1;
            tools.covered += u32::from(tool.contract.is_some() || !tool.rules.is_empty());
            let names = tool
                .definition
                .input_schema()
                .map(schema::names)
                .unwrap_or_default();
            let seen = self.names_looked_at(tool, &names);
            arguments.all += u32::try_from(names.len()).unwrap_or(u32::MAX);
            arguments.covered += u32::try_from(seen).unwrap_or(u32::MAX);
        }
        (tools, arguments)
    }

    /// How many of the tool's arguments the policy looks at.
    fn names_looked_at(&self, tool: &Tool<'_>, names: &[&str]) -> usize {
        let mut first: HashSet<String> = HashSet::new();
        let mut all = false;
        let mut see = |path: &Path| match path.0.first() {
            Some(Segment::Key(key)) => {
                first.insert(key.clone());
            }
            _ => all = true,
        };
        let rules = tool.rules.iter().filter_map(|&index| self.rule(index));
        for rule in rules {
            reach::each_test(&rule.condition, &mut |test, _| {
                if let Some(path) = reach::tested(test) {
                    see(path);
                }
            });
        }
        match (tool.contract, &self.policy.heuristics) {
            (Some(contract), _) => {
                if contract.exfiltrating && contract.sinks.is_empty() {
                    see(&Path::default());
                }
                let sinks = contract
                    .sinks
                    .iter()
                    .filter(|_| contract.exfiltrating)
                    .map(|s| &s.path);
                let written = contract
                    .write_params
                    .iter()
                    .filter(|_| !contract.prefixes.is_empty())
                    .map(|w| &w.path);
                let matched = contract.arg_patterns.iter().map(|p| &p.path);
                sinks.chain(written).chain(matched).for_each(&mut see);
            }
            (None, Some(heuristics)) => {
                for keys in heuristics.derive(tool.definition).sinks {
                    match keys.first() {
                        Some(key) => {
                            first.insert(key.clone());
                        }
                        None => all = true,
                    }
                }
            }
            (None, None) => {}
        }
        names
            .iter()
            .filter(|name| all || first.contains(**name))
            .count()
    }
}

/// Arguments that a contract names and none of its tools has.
fn arguments(contract: &Contract, tools: &[&Tool<'_>], out: &mut Vec<Finding>) {
    let sinks = contract.sinks.iter().map(|s| (&s.path, s.at, "sink"));
    if contract.layer == Layer::Pack {
        // A pack's entry serves servers that spell their arguments differently: only
        // where nothing of it fits is something wrong.
        let none = sinks.clone().count() > 0
            && sinks
                .clone()
                .all(|(path, ..)| absent(path, contract.at, tools, "sink").is_some());
        if none && let Some((path, at, what)) = sinks.clone().next() {
            out.extend(absent(path, at, tools, what));
        }
        return;
    }
    let written = contract
        .write_params
        .iter()
        .map(|w| (&w.path, w.at, "write parameter"));
    let matched = contract
        .arg_patterns
        .iter()
        .map(|p| (&p.path, p.at, "argument with a pattern"));
    for (path, at, what) in sinks.chain(written).chain(matched) {
        out.extend(absent(path, at, tools, what));
    }
}

/// A finding if every tool is known not to have the argument.
fn absent(path: &Path, at: Pos, tools: &[&Tool<'_>], what: &str) -> Option<Finding> {
    let first = tools.first()?;
    let lacks = |tool: &&Tool<'_>| {
        tool.definition
            .input_schema()
            .is_some_and(|schema| schema::has(schema, path) == Known::No)
    };
    if !tools.iter().all(lacks) {
        return None;
    }
    let names = first
        .definition
        .input_schema()
        .map(schema::names)
        .unwrap_or_default();
    let keys = schema::keys(path);
    let help = match keys.first().and_then(|key| nearest(key, &names)) {
        Some(near) if keys.first() != Some(&near) => format!("did you mean {}?", quote(near)),
        _ if names.is_empty() => "the tool has no arguments".to_owned(),
        _ => format!(
            "its arguments are {}",
            names
                .iter()
                .map(|name| quote(name))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    let whose = match tools {
        [_] => quote(&first.full),
        _ => format!("{} and {} more", quote(&first.full), tools.len() - 1),
    };
    Some(Finding {
        code: Code::NO_SUCH_ARGUMENT,
        kind: Kind::Coverage,
        severity: Severity::Warning,
        message: format!(
            "the schema of {whose} does not have the {what} {}",
            quote(&schema::shown(path))
        ),
        places: place(Some(at), ""),
        help: Some(help),
        example: None,
    })
}

/// A tool that reads, with a contract that says nothing of what it returns.
fn unlabelled(tool: &Tool<'_>, contract: &Contract) -> Option<Finding> {
    (reads(tool) && contract.outputs.is_none()).then(|| Finding {
        code: Code::UNLABELLED_OUTPUT,
        kind: Kind::Coverage,
        severity: Severity::Note,
        message: format!(
            "nothing says how far the results of {} can be trusted",
            quote(&tool.full)
        ),
        places: place(Some(contract.at), ""),
        help: Some("add `outputs: untrusted`, or labels by field".to_owned()),
        example: None,
    })
}

/// Whether looking at `path` is looking at the argument with these keys, or at a part of
/// it where the schema does not say which part is a destination.
fn covers(path: &Path, keys: &[String]) -> bool {
    schema::keys(path).iter().zip(keys).all(|(a, b)| a == b)
}

fn always(cond: &Cond) -> bool {
    match cond {
        Cond::All(parts) => parts.iter().all(always),
        Cond::Any(parts) => parts.iter().any(always),
        Cond::Not(_) | Cond::Test(_) => false,
    }
}

fn place(at: Option<Pos>, label: &str) -> Vec<Place> {
    at.map(|at| Place {
        at,
        label: label.to_owned(),
    })
    .into_iter()
    .collect()
}

fn plain(text: &str) -> String {
    bouncer_compiler::diagnostic::plain(text)
}

/// Whether a pack's contract has sinks that the tool's schema does not have. The tool has
/// others, so that the gate takes it for another server's.
fn speaks_for_another(tool: &Tool<'_>, contract: &Contract) -> bool {
    let schema = tool.definition.input_schema();
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let has = |path: &Path| match path.0.first() {
        Some(Segment::Key(key)) => {
            properties.is_some_and(|all| all.keys().any(|name| name.eq_ignore_ascii_case(key)))
        }
        _ => false,
    };
    contract.layer == Layer::Pack
        && contract.exfiltrating
        && contract.sinks.iter().any(|sink| !has(&sink.path))
}
