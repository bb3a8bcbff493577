//! Rules that decide calls, but never otherwise than what comes after them would: later
//! rules, or the default.

use super::Kind;
use super::analysis::{Analysis, place};
use super::names::Universe;
use super::search::Assignment;
use super::theory::{Answer, Level};
use bouncer_compiler::diagnostic::Code;
use bouncer_compiler::policy::{Pos, RuleSet};
use bouncer_plan::Verdict;

impl Analysis<'_> {
    /// Reports a rule that decides, but never otherwise than what follows would.
    pub(super) fn changes_nothing(&mut self, rule: u32, first: &Assignment) {
        let action = self.model.action(rule);
        let Some(set) = &self.model.policy.rules else {
            return;
        };
        // A rule is about tools, or about what is none.
        let about = set
            .rules
            .get(rule as usize)
            .and_then(|rule| rule.tools.first());
        let about = about.map_or("", |glob| glob.pattern.as_str());
        let fallbacks = RuleSet::fallbacks(Some(set), about);
        let globs = self.globs(rule);
        let universe = self.universe(&globs);
        // Without a lock nobody knows whether a tool is destructive: both defaults count.
        let differs = match universe {
            Universe::Open => fallbacks.iter().any(|fallback| *fallback != action),
            Universe::Listed => self
                .listed_fallbacks(&globs)
                .any(|fallback| fallback != action),
        };
        let next = self.decider(first, &|other| other > rule);
        let next_differs = match next {
            None => return,
            Some(Some(next)) => self.model.action(next) != action,
            Some(None) => differs && universe == Universe::Open,
        };
        if next_differs {
            return;
        }
        let actions: Vec<Verdict> = self.model.facts.iter().map(|facts| facts.action).collect();
        let same = |other: u32| actions.get(other as usize) == Some(&action);
        if differs {
            let avoid = |other: u32| other < rule || (other > rule && same(other));
            match self.seek_rule(rule, &avoid, Level::Plain) {
                Answer::Empty => {}
                Answer::Found(_) if universe == Universe::Open => return,
                Answer::Found(found) => {
                    // Some tool's default differs; not surely this one's.
                    let tool = found.tool.listed;
                    if tool.is_none_or(|tool| self.fallback_of(tool) != action)
                        || self
                            .listed_fallbacks(&globs)
                            .all(|fallback| fallback != action)
                    {
                        return;
                    }
                    let others = self.differing_tools(&globs, action);
                    for glob in others {
                        let rows = self.rows(rule);
                        let found = self.seek(
                            &[&[glob]],
                            &[&rows],
                            &avoid,
                            Level::Plain,
                            universe,
                            &mut |_, _| true,
                        );
                        if found != Answer::Empty {
                            return;
                        }
                    }
                }
                Answer::Unknown => {
                    let at = self.model.place(rule, "this rule");
                    return self.undecided("whether this rule changes anything", vec![at]);
                }
            }
        }
        let mut followers = Vec::new();
        for other in self.partners(rule) {
            if other <= rule {
                continue;
            }
            if same(other) {
                followers.push(other);
                continue;
            }
            let avoid = |k: u32| k < rule || (k > rule && k < other && same(k));
            match self.seek_both(rule, other, &avoid) {
                Answer::Empty => {}
                Answer::Found(_) => return,
                Answer::Unknown => {
                    let at = self.model.place(rule, "this rule");
                    return self.undecided("whether this rule changes anything", vec![at]);
                }
            }
        }
        let mut places = vec![self.model.place(rule, "changes nothing")];
        let by = match next {
            Some(Some(next)) => {
                let label = format!("this `{action}` rule would decide instead");
                places.push(self.model.place(next, label));
                "later rules"
            }
            _ => {
                let at = if fallbacks.first() == Some(&action) {
                    set_at(self, false)
                } else {
                    set_at(self, true)
                };
                if let Some(at) = at {
                    places.push(place(at, "this default would decide instead"));
                }
                if followers.is_empty() {
                    "the default"
                } else {
                    "later rules and the default"
                }
            }
        };
        let example = self.decided_by(first, rule);
        self.push(
            (Code::REDUNDANT, Kind::Redundant),
            format!(
                "this `{action}` rule changes nothing: without it {by} would give the same verdict"
            ),
            places,
            "remove it, unless it is there for its reason text",
            example,
        );
    }

    /// The default of a listed tool.
    fn fallback_of(&self, tool: usize) -> Verdict {
        let destructive = self.model.judge.is_destructive(tool);
        let name = self
            .names
            .listed
            .get(tool)
            .map_or("", |tool| tool.full.as_str());
        RuleSet::unmatched(self.model.policy.rules.as_ref(), name, destructive)
    }

    fn listed_fallbacks<'s>(&'s self, globs: &'s [u32]) -> impl Iterator<Item = Verdict> + 's {
        self.names
            .listed
            .iter()
            .enumerate()
            .filter(|(_, tool)| globs.iter().any(|id| self.names.matches(*id, &tool.full)))
            .map(|(place, _)| self.fallback_of(place))
    }

    /// Globs of the listed tools whose default differs.
    fn differing_tools(&mut self, globs: &[u32], action: Verdict) -> Vec<u32> {
        let names: Vec<String> = self
            .names
            .listed
            .iter()
            .enumerate()
            .filter(|(_, tool)| globs.iter().any(|id| self.names.matches(*id, &tool.full)))
            .filter(|(place, _)| self.fallback_of(*place) != action)
            .map(|(_, tool)| tool.full.clone())
            .collect();
        names
            .into_iter()
            .map(|name| self.names.exactly(&name))
            .collect()
    }
}

fn set_at(analysis: &Analysis<'_>, destructive: bool) -> Option<Pos> {
    let set = analysis.model.policy.rules.as_ref()?;
    if destructive {
        set.on_destructive_hint.at
    } else {
        set.on_unknown.at
    }
}
