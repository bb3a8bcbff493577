//! The picture of a policy: what calls get by what they do, and by what was read before.
//!
//! Each cell is searched for calls of each tool with each verdict, and the compiled plan judges
//! what is found. The cells are about calls for whose targets nobody vouches: the user typed
//! nothing and no trusted output was read. What a voucher changes is looked for apart.

use super::analysis::Analysis;
use super::facts::{Atom, Look};
use super::names::{Glob, Tool, Universe};
use super::property::{Claimed, Context};
use super::search::Row;
use super::stages::{Bound, contract_of, floor};
use super::theory::{Answer, Level};
use super::ways::Scope;
use super::{Example, ListedTool, Options};
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{Layer, Op, Policy, SessionTest};
use bouncer_compiler::{CompileError, Progress};
use bouncer_plan::{Effect, Effects, Verdict};

/// What was read before a call: something untrusted, something private.
pub const STATES: [(&str, bool, bool); 4] = [
    ("nothing read", false, false),
    ("untrusted read", true, false),
    ("private read", false, true),
    ("both read", true, true),
];

const VERDICTS: [Verdict; 3] = [Verdict::Allow, Verdict::Ask, Verdict::Deny];

/// The verdicts of a policy by effect.
#[derive(Clone, Debug, Default)]
pub struct EffectsTable {
    /// By effect, and those of which nothing is known.
    pub rows: Vec<EffectRow>,
    /// No output is private, so that nothing private is ever read.
    pub nothing_private: bool,
}

/// What calls with one effect get.
#[derive(Clone, Debug)]
pub struct EffectRow {
    /// The effect; `None`: nothing is known of what the tools do.
    pub effect: Option<Effect>,
    /// In the order of [`STATES`], by tool.
    pub cells: [Vec<ToolVerdicts>; 4],
}

/// The verdicts that calls of a tool get in one state.
#[derive(Clone, Debug)]
pub struct ToolVerdicts {
    /// The name that rules match; `None`: tools that the policy does not name.
    pub tool: Option<String>,
    /// A call with each verdict that there is, the mildest first.
    pub found: Vec<Example>,
    /// Verdicts of which it was not decided whether there is such a call.
    pub undecided: Vec<Verdict>,
    /// A call that passes because somebody vouches for its target, where none does otherwise.
    pub vouched: Option<Example>,
}

impl EffectRow {
    /// The verdicts of a cell, mildest first, and whether there surely is no other.
    #[must_use]
    pub fn verdicts(&self, state: usize) -> (Vec<Verdict>, bool) {
        let cell = self.cells.get(state).map_or(&[][..], Vec::as_slice);
        let found = cell.iter().flat_map(|tool| &tool.found);
        let mut verdicts: Vec<Verdict> = found.map(|example| example.verdict).collect();
        verdicts.sort_unstable();
        verdicts.dedup();
        let open = cell.iter().flat_map(|tool| &tool.undecided);
        let sure = open.into_iter().all(|verdict| verdicts.contains(verdict));
        (verdicts, sure)
    }
}

/// Makes the table. `tools`: those of a lock; without any, those that the policy's own entries
/// name, and one row for all others. `progress` is told after each tool.
///
/// # Errors
/// If the policy does not compile.
pub fn effects_table(
    policy: &Policy,
    tools: &[ListedTool],
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<EffectsTable, Vec<CompileError>> {
    let mut analysis = Analysis::new(policy, tools, options)?;
    analysis.theory.can_trust = false;
    analysis.theory.facts.of_session = true;
    let mut table = EffectsTable {
        nothing_private: !analysis.theory.happens.private,
        ..EffectsTable::default()
    };
    let subjects = analysis.subjects();
    let all = subjects.len();
    for (done, subject) in (1..).zip(subjects) {
        analysis.fill(&subject, &mut table);
        progress(Progress { done, all });
    }
    table
        .rows
        .sort_by_key(|row| (row.effect.is_none(), row.effect));
    Ok(table)
}

/// Tools whose calls are looked at together.
struct Subject {
    context: Context,
    /// The name to show.
    shown: Option<String>,
    /// What its calls can do, as far as that is known.
    effects: Effects,
    /// A call does all of it.
    always: bool,
}

impl Analysis<'_> {
    fn subjects(&mut self) -> Vec<Subject> {
        let listed = !self.names.listed.is_empty();
        let universe = if listed {
            Universe::Listed
        } else {
            Universe::Open
        };
        let named: Vec<Tool> = if listed {
            self.names.listed.clone()
        } else {
            let own = |tool: &Tool| {
                let contract = contract_of(self.model.policy, tool);
                contract.is_none_or(|contract| contract.layer == Layer::User)
            };
            self.names
                .mentioned()
                .iter()
                .filter(|tool| own(tool))
                .cloned()
                .collect()
        };
        let mut subjects = Vec::new();
        let mut not = Vec::new();
        for tool in named {
            let exact = self.names.exactly(&tool.full);
            not.push(exact);
            let doing = self.names.doing(&tool);
            let shown = self.names.done_by(&tool, "{}").unwrap_or_default();
            let always = doing.least == doing.most;
            let effects = if listed || always { doing.most } else { shown };
            let scope = Scope {
                must: vec![exact],
                not: Vec::new(),
                universe,
            };
            subjects.push(Subject {
                shown: Some(tool.full.clone()),
                context: Context { scope, tool },
                effects,
                always,
            });
        }
        if !listed && self.model.policy.heuristics.is_some() {
            let everything = self.names.glob(Glob::everything());
            let scope = Scope {
                must: vec![everything],
                not,
                universe,
            };
            subjects.push(Subject {
                context: Context {
                    scope,
                    tool: Tool::new(None, "thing"),
                },
                shown: None,
                effects: Effects::ALL,
                always: false,
            });
        }
        subjects
    }

    /// Adds what the calls of a subject get to the rows of what they do.
    fn fill(&mut self, subject: &Subject, table: &mut EffectsTable) {
        let mut effects: Vec<Option<Effect>> = subject.effects.iter().map(Some).collect();
        if effects.is_empty() || subject.shown.is_none() {
            effects.push(None);
        }
        let mut same: Option<[ToolVerdicts; 4]> = None;
        for effect in effects {
            let cells = match &same {
                Some(cells) => cells.clone(),
                None => STATES.map(|(_, untrusted, private)| {
                    self.verdicts(subject, effect, (untrusted, private))
                }),
            };
            if subject.always {
                same = Some(cells.clone());
            }
            let at = table.rows.iter().position(|row| row.effect == effect);
            let at = at.unwrap_or_else(|| {
                table.rows.push(EffectRow {
                    effect,
                    cells: [const { Vec::new() }; 4],
                });
                table.rows.len() - 1
            });
            if let Some(row) = table.rows.get_mut(at) {
                for (cell, verdicts) in row.cells.iter_mut().zip(cells) {
                    cell.push(verdicts);
                }
            }
        }
    }

    /// The verdicts of calls that have an effect, in one state.
    fn verdicts(
        &mut self,
        subject: &Subject,
        effect: Option<Effect>,
        read: (bool, bool),
    ) -> ToolVerdicts {
        let mut out = ToolVerdicts {
            tool: subject.shown.clone(),
            found: Vec::new(),
            undecided: Vec::new(),
            vouched: None,
        };
        if read.1 && !self.theory.happens.private {
            return out;
        }
        let row = self.state_row(subject, effect, read);
        let effects = if subject.always {
            subject.effects
        } else {
            effect.map_or(Effects::NONE, Effects::one)
        };
        let contract = contract_of(self.model.policy, &subject.context.tool);
        let doing = self.names.doing(&subject.context.tool);
        let floor = if doing.by_effect || subject.shown.is_none() {
            floor(self.model.policy, contract, effects, read.0)
        } else {
            Verdict::Allow
        };
        for vouched in [false, true] {
            for verdict in VERDICTS {
                // What a voucher lets pass matters only where nothing else does.
                let passes = out
                    .found
                    .iter()
                    .any(|found| found.verdict == Verdict::Allow);
                if vouched && (verdict != Verdict::Allow || passes) {
                    continue;
                }
                let bounds = [Bound::AtMost(verdict), Bound::AtLeast(verdict)];
                let claim = Claimed {
                    rows: std::slice::from_ref(&row),
                    of_every_pick: false,
                    bounds: &bounds,
                    read: Some(read),
                    vouched,
                    floor: if vouched { Verdict::Allow } else { floor },
                };
                match (self.call(&subject.context, &claim), vouched) {
                    (Answer::Found(example), false) => out.found.push(example),
                    (Answer::Found(example), true) => out.vouched = Some(example),
                    (Answer::Unknown, false) => out.undecided.push(verdict),
                    _ => {}
                }
            }
        }
        out
    }

    fn call(&mut self, context: &Context, claim: &Claimed<'_>) -> Answer<Example> {
        let mut answer = Answer::Empty;
        for level in [Level::Plain, Level::All] {
            self.theory.ask();
            self.theory.vouched = claim.vouched;
            answer = match self.violated(context, claim, level, None) {
                Answer::Found((example, _)) => Answer::Found(example),
                Answer::Empty => Answer::Empty,
                Answer::Unknown => Answer::Unknown,
            };
            if let Answer::Found(_) = answer {
                break;
            }
        }
        self.theory.vouched = true;
        answer
    }

    /// What is claimed of a call in one state.
    fn state_row(&mut self, subject: &Subject, effect: Option<Effect>, read: (bool, bool)) -> Row {
        let facts = &mut self.theory.facts;
        let mut ask = |asked| facts.asked_at(u32::MAX, Look::Session, Op::Session(asked));
        let mut row = vec![
            (
                Atom::Session(ask(SessionTest::ReadUntrusted), Mode::Any),
                read.0,
            ),
            (
                Atom::Session(ask(SessionTest::ReadPrivate), Mode::Any),
                read.1,
            ),
        ];
        if !subject.always {
            match effect {
                // Of all others those are looked at that do nothing else.
                Some(effect) => {
                    let does = ask(SessionTest::Effect(Effects::one(effect)));
                    let known = ask(SessionTest::Effect(Effects::ALL));
                    let mode = match subject.shown {
                        Some(_) => Mode::Any,
                        None => Mode::All,
                    };
                    row.push((Atom::Session(does, mode), true));
                    row.push((Atom::Session(known, Mode::All), true));
                }
                None => {
                    // What is in no set and not outside of any is not known.
                    let any = ask(SessionTest::Effect(Effects::ALL));
                    row.push((Atom::Session(any, Mode::All), false));
                }
            }
        }
        row
    }
}
