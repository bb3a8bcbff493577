//! Which tools there can be: for globs that have to match and globs that may not, a tool.

use super::ListedTool;
use super::session::ANYTHING;
use super::theory::{Answer, Theory};
use super::words::{self, Constraint, End};
use bouncer_compiler::policy::{Policy, ToolGlob};
use bouncer_engine::gate::{Doing, Gate};
use bouncer_plan::Effects;
use bouncer_plan::format::GlobKind;
use bouncer_plan::glob;
use regex_syntax::escape;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Names that need no quoting.
const NAME: &str = r"\A[a-zA-Z0-9](?:_{0,2}[a-zA-Z0-9.-])*\z";
const ANY: &str = r"(?s)\A.+\z";

/// A tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    pub server: Option<String>,
    pub tool: String,
    /// The name that rules match.
    pub full: String,
    /// Its place in the list of tools, if it is from one.
    pub listed: Option<usize>,
}

impl Tool {
    pub fn new(server: Option<&str>, tool: &str) -> Self {
        let full = match server {
            Some(server) => format!("{server}__{tool}"),
            None => tool.to_owned(),
        };
        Self {
            server: server.map(str::to_owned),
            tool: tool.to_owned(),
            full,
            listed: None,
        }
    }

    /// The tool of a name that rules match: the server ends at the first `__`.
    pub fn of_full(full: &str) -> Self {
        match full.split_once("__") {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                Self::new(Some(server), tool)
            }
            _ => Self::new(None, full),
        }
    }
}

/// A pattern of tools' names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Glob {
    pub pattern: String,
    pub kind: GlobKind,
}

impl Glob {
    pub fn of(glob: &ToolGlob) -> Self {
        let (kind, pattern) = glob.glob();
        Self {
            pattern: pattern.to_owned(),
            kind,
        }
    }

    /// The glob that matches every name.
    pub fn everything() -> Self {
        Self {
            pattern: "*".to_owned(),
            kind: GlobKind::Star,
        }
    }

    pub fn is_exact(&self) -> bool {
        self.kind == GlobKind::Exact
    }

    pub fn matches(&self, name: &str) -> bool {
        glob::matches(self.kind, &self.pattern, name)
    }

    /// The same as a pattern over whole texts.
    fn regex(&self) -> String {
        let mut out = String::from(r"(?s)\A(?:");
        let any_case = self.kind == GlobKind::AnyCase;
        let native = any_case || self.kind == GlobKind::Native;
        let mut rest = self.pattern.as_str();
        while let Some(c) = rest.chars().next() {
            let after = rest.get(c.len_utf8()..).unwrap_or_default();
            if c == '*' {
                out.push_str(".*");
            } else if native && c == '?' {
                out.push('.');
            } else if native
                && c == '['
                && let Some((class, after)) = class(after, any_case)
            {
                out.push_str(&class);
                rest = after;
                continue;
            } else if any_case && c.is_ascii_alphabetic() {
                out.push_str(&format!(
                    "[{}{}]",
                    c.to_ascii_lowercase(),
                    c.to_ascii_uppercase()
                ));
            } else {
                out.push_str(&escape(&c.to_string()));
            }
            rest = after;
        }
        out.push_str(r")\z");
        out
    }
}

/// A bracket expression's members, from behind the bracket, as a class; and what follows.
fn class(inner: &str, any_case: bool) -> Option<(String, &str)> {
    let (negated, inner) = inner
        .strip_prefix('!')
        .map_or((false, inner), |rest| (true, rest));
    let first = inner.chars().next()?.len_utf8();
    let end = first + inner.get(first..)?.find(']')?;
    let mut out = String::from(if negated { "[^" } else { "[" });
    let hex = |c: char| format!(r"\x{{{:x}}}", u32::from(c));
    let mut members = inner.get(..end)?.chars();
    while let Some(low) = members.next() {
        let mut ahead = members.clone();
        let mut last = low;
        out.push_str(&hex(low));
        if ahead.next() == Some('-')
            && let Some(high) = ahead.next()
        {
            out.push('-');
            out.push_str(&hex(high));
            (members, last) = (ahead, high);
        }
        for letter in ('A'..='Z').chain('a'..='z').filter(|_| any_case) {
            if low <= letter && letter <= last {
                let other = char::from(letter as u8 ^ 0x20);
                out.push(other);
            }
        }
    }
    out.push(']');
    Some((out, inner.get(end + 1..)?))
}

/// All globs at hand, and the tools that are known.
#[derive(Debug, Default)]
pub(super) struct Names {
    globs: Vec<Glob>,
    index: HashMap<Glob, u32>,
    /// The tools of a lock.
    pub listed: Vec<Tool>,
    /// The first tool of the lock of each name.
    places: HashMap<String, usize>,
    /// Whole names that the policies mention.
    mentioned: Vec<Tool>,
    /// Those that rules name.
    ruled: Vec<Tool>,
    /// The compiled policy, with the tools of the lock, and without any: it says what tools do.
    gates: Option<[Rc<Gate>; 2]>,
}

/// Which tools are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Universe {
    /// Those of the lock.
    Listed,
    /// All that a server could have.
    Open,
}

impl Names {
    pub fn new(policies: &[&Policy], tools: &[ListedTool]) -> Self {
        let mut keys: BTreeSet<(Option<String>, String)> = BTreeSet::new();
        let mut ruled = BTreeSet::new();
        for policy in policies {
            for rule in policy.rules.iter().flat_map(|set| &set.rules) {
                for glob in rule.tools.iter().map(Glob::of).filter(Glob::is_exact) {
                    let tool = Tool::of_full(&glob.pattern);
                    ruled.insert((tool.server.clone(), tool.tool.clone()));
                    keys.insert((tool.server, tool.tool));
                }
            }
            for contract in &policy.contracts {
                let tool = Tool::of_full(&contract.key);
                keys.insert((tool.server, tool.tool));
            }
        }
        let listed = tools
            .iter()
            .enumerate()
            .map(|(place, (server, tool))| Tool {
                listed: Some(place),
                ..Tool::new(server.as_deref(), &tool.name)
            });
        let listed: Vec<Tool> = listed.collect();
        let named = listed.iter().enumerate().rev();
        Self {
            places: named.map(|(at, tool)| (tool.full.clone(), at)).collect(),
            listed,
            mentioned: keys
                .iter()
                .map(|(server, tool)| Tool::new(server.as_deref(), tool))
                .collect(),
            ruled: ruled
                .iter()
                .map(|(server, tool)| Tool::new(server.as_deref(), tool))
                .collect(),
            ..Self::default()
        }
    }

    pub fn glob(&mut self, glob: Glob) -> u32 {
        let fresh = self.globs.len() as u32;
        let id = *self.index.entry(glob.clone()).or_insert(fresh);
        if id == fresh {
            self.globs.push(glob);
        }
        id
    }

    /// Has a compiled policy say what tools do.
    pub fn ask_gates(&mut self, gates: [Rc<Gate>; 2]) {
        self.gates = Some(gates);
    }

    fn gate(&self, tool: &Tool) -> Option<&Gate> {
        let [pinned, open] = self.gates.as_ref()?;
        Some(if tool.listed.is_some() { pinned } else { open })
    }

    /// What calls of a tool can do.
    pub fn doing(&self, tool: &Tool) -> Doing {
        let known = self.gate(tool);
        let known = known.and_then(|gate| gate.doing(tool.server.as_deref(), &tool.tool));
        known.unwrap_or(ANYTHING)
    }

    /// What a call does; `None`: nothing could be told.
    pub fn done_by(&self, tool: &Tool, arguments: &str) -> Option<Effects> {
        let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
        let top = arguments.as_object()?;
        let texts = top
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let gate = self.gate(tool)?;
        gate.done_by(tool.server.as_deref(), &tool.tool, texts)
    }

    pub fn is_exact(&self, id: u32) -> bool {
        self.get(id).is_some_and(Glob::is_exact)
    }

    /// Tools whose names match all of `must` and none of `not`: those of the lock; or those that
    /// rules name, and those that one gets by filling in what is `telling`.
    pub fn candidates(
        &self,
        must: &[u32],
        not: &[u32],
        universe: Universe,
        telling: &[&str],
    ) -> Vec<Tool> {
        let fitting = |tools: &[Tool]| -> Vec<Tool> {
            let fits = tools.iter().filter(|tool| self.fits(must, not, &tool.full));
            fits.cloned().collect()
        };
        let exact = must.iter().filter_map(|id| self.get(*id));
        let one = exact.clone().find(|glob| glob.is_exact());
        match (universe, one) {
            (Universe::Listed, Some(glob)) => {
                let place = self.places.get(&glob.pattern);
                let one = place.and_then(|place| self.listed.get(*place..=*place));
                return fitting(one.unwrap_or_default());
            }
            (Universe::Listed, None) => return fitting(&self.listed),
            (Universe::Open, Some(glob)) => return fitting(&[Tool::of_full(&glob.pattern)]),
            (Universe::Open, None) => {}
        }
        let mut tools = fitting(&self.ruled);
        let patterns: Vec<&str> = exact.map(|glob| glob.pattern.as_str()).collect();
        for pattern in patterns.into_iter().chain(["*"]) {
            for part in telling {
                let name = pattern.replace('*', part);
                if !name.contains(['?', '[']) && self.fits(must, not, &name) {
                    tools.push(Tool::of_full(&name));
                }
            }
        }
        tools
    }

    /// Whole names that the policies mention.
    pub fn mentioned(&self) -> &[Tool] {
        &self.mentioned
    }

    /// The glob that matches one name only.
    pub fn exactly(&mut self, name: &str) -> u32 {
        self.glob(Glob {
            pattern: name.to_owned(),
            kind: GlobKind::Exact,
        })
    }

    pub fn get(&self, id: u32) -> Option<&Glob> {
        self.globs.get(id as usize)
    }

    pub fn matches(&self, id: u32, name: &str) -> bool {
        self.get(id).is_some_and(|glob| glob.matches(name))
    }

    fn fits(&self, must: &[u32], not: &[u32], name: &str) -> bool {
        must.iter().all(|id| self.matches(*id, name))
            && !not.iter().any(|id| self.matches(*id, name))
    }

    /// Whether a tool of the lock matches any of the globs.
    pub fn any_listed(&self, globs: &[u32]) -> bool {
        globs.iter().any(|id| match self.get(*id) {
            Some(glob) if glob.is_exact() => self.places.contains_key(&glob.pattern),
            Some(glob) => self.listed.iter().any(|tool| glob.matches(&tool.full)),
            None => false,
        })
    }

    /// A tool whose name matches all of `must` and none of `not`.
    pub fn find(
        &self,
        theory: &mut Theory,
        must: &[u32],
        not: &[u32],
        universe: Universe,
    ) -> Answer<Tool> {
        let of = |tools: &[Tool]| {
            tools
                .iter()
                .find(|tool| self.fits(must, not, &tool.full))
                .cloned()
        };
        if universe == Universe::Listed {
            let mut exact = must.iter().filter_map(|id| self.get(*id));
            let one = exact.find(|glob| glob.is_exact());
            let found = match one.map(|glob| self.places.get(&glob.pattern)) {
                Some(None) => None,
                Some(Some(place)) => self.listed.get(*place..=*place).and_then(of),
                None => of(&self.listed),
            };
            return match found {
                Some(tool) => Answer::Found(tool),
                None => Answer::Empty,
            };
        }
        if must.iter().any(|id| not.contains(id)) {
            return Answer::Empty;
        }
        let exact = must.iter().filter_map(|id| self.get(*id));
        if let Some(glob) = exact.clone().find(|glob| glob.is_exact()) {
            return if self.fits(must, not, &glob.pattern) {
                Answer::Found(Tool::of_full(&glob.pattern))
            } else {
                Answer::Empty
            };
        }
        if let Some(tool) = of(&self.ruled) {
            return Answer::Found(tool);
        }
        for glob in exact {
            for part in ["tool", "x", "y1", "z", "s__tool"] {
                let name = glob.pattern.replace('*', part);
                if !name.contains(['?', '[']) && self.fits(must, not, &name) {
                    return Answer::Found(Tool::of_full(&name));
                }
            }
        }
        let joined = self.joined(must).filter(|name| self.fits(must, not, name));
        // What a search would find first.
        if let Some(name) = joined.min_by_key(String::len) {
            return Answer::Found(Tool::of_full(&name));
        }
        self.spell(theory, must, not)
    }

    /// What the globs say, put one after the other in all orders, and what two have in common
    /// once: `viewrite` for `*view*` and `*write*`, `srv__w` for `srv__*` and `*__w`. Most often
    /// that will do, where going through all patterns takes long.
    fn joined(&self, must: &[u32]) -> impl Iterator<Item = String> {
        /// So many globs have few orders.
        const MOST: usize = 4;
        let globs = must.iter().filter_map(|id| self.get(*id));
        let parts: Vec<String> = globs.map(|glob| glob.pattern.replace('*', "")).collect();
        let orders = match parts.len() {
            2..=MOST => (1..=parts.len()).product(),
            _ => 0_usize,
        };
        (0..orders).map(move |mut order| {
            let mut left = parts.clone();
            let mut name = String::new();
            while !left.is_empty() {
                let next = order % left.len();
                order /= left.len();
                let part = left.remove(next);
                let common = (0..=part.len())
                    .rev()
                    .filter_map(|end| part.split_at_checked(end))
                    .find(|(start, _)| name.ends_with(start));
                name.push_str(common.map_or(part.as_str(), |(_, rest)| rest));
            }
            name
        })
    }

    /// Makes up a name.
    fn spell(&self, theory: &mut Theory, must: &[u32], not: &[u32]) -> Answer<Tool> {
        let mut limits: Vec<Constraint> = Vec::new();
        let mut complete = true;
        for (ids, wanted) in [(must, true), (not, false)] {
            for id in ids {
                let Some(glob) = self.get(*id) else { continue };
                // Single names that may not be used are left out below.
                if !wanted && glob.is_exact() {
                    continue;
                }
                match theory.constraint(&glob.regex(), wanted) {
                    Some(constraint) => limits.push(constraint),
                    None => complete = false,
                }
            }
        }
        for universe in [NAME, ANY] {
            let Some(universe) = theory.constraint(universe, true) else {
                return Answer::Unknown;
            };
            limits.push(universe);
            let mut found = None;
            let mut refused = false;
            let end = words::search(&limits, &mut theory.budget, &mut |word| {
                if self.fits(must, not, word) {
                    found = Some(Tool::of_full(word));
                    true
                } else {
                    refused = true;
                    false
                }
            });
            limits.pop();
            if let Some(tool) = found {
                return Answer::Found(tool);
            }
            if end != End::Exhausted || refused {
                complete = false;
            }
        }
        if complete {
            Answer::Empty
        } else {
            Answer::Unknown
        }
    }
}
