//! Tools that send data out, and for which some call with an untrusted destination is
//! allowed.

use super::analysis::{Analysis, place};
use super::facts::{Atom, Look};
use super::names::{Tool, Universe};
use super::property::{Claimed, Context};
use super::search::Row;
use super::stages::contract_of;
use super::theory::{Answer, Level};
use super::ways::Scope;
use super::{Example, Kind};
use bouncer_compiler::diagnostic::{Code, quote};
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{Contract, Layer, ListItem, Op, Path, Pattern, Provenance, Segment};
use bouncer_plan::Verdict;

/// Destinations that nobody vouches for: an address, a URL, and an identifier that only
/// a declared sink makes a destination.
const DESTINATIONS: [&str; 3] = ["eve@evil.example", "https://evil.example/in", "C0EVEEVE42"];

impl Analysis<'_> {
    /// Looks at every tool that sends data out, or looks as if it did.
    pub fn exfiltration(&mut self) {
        let listed = self.names.listed.clone();
        let (tools, universe) = if listed.is_empty() {
            let keys: Vec<Tool> = self
                .model
                .policy
                .contracts
                .iter()
                .map(|contract| Tool::of_full(&contract.key))
                .collect();
            (keys, Universe::Open)
        } else {
            (listed, Universe::Listed)
        };
        for tool in tools {
            let sinks = self.destinations(&tool);
            if sinks.is_empty() {
                continue;
            }
            let exact = self.names.exactly(&tool.full);
            let context = Context {
                scope: Scope {
                    must: vec![exact],
                    not: Vec::new(),
                    universe,
                },
                tool,
            };
            self.open_sinks(&context, &sinks);
        }
    }

    /// The arguments that say where data goes: declared by a contract, or, where a user's
    /// contract or none applies, by the pack's contract or the tool's schema.
    fn destinations(&self, tool: &Tool) -> Vec<Path> {
        let policy = self.model.policy;
        let contract = contract_of(policy, tool);
        let declared = |contract: &Contract| -> Vec<Path> {
            contract
                .sinks
                .iter()
                .map(|sink| sink.path.clone())
                .collect()
        };
        let mut sinks = contract.map(declared).unwrap_or_default();
        if contract.is_some_and(|contract| contract.layer == Layer::Pack) {
            return sinks;
        }
        let of_pack = policy.contracts.iter().find(|contract| {
            contract.layer == Layer::Pack
                && contract.exfiltrating
                && (contract.key == tool.full || contract.key == tool.tool)
        });
        sinks.extend(of_pack.map(declared).unwrap_or_default());
        let definition = tool
            .listed
            .and_then(|place| self.model.judge.definition(place));
        if let (Some(heuristics), Some(definition)) = (&policy.heuristics, definition) {
            let derived = heuristics.derive(definition).sinks;
            sinks.extend(
                derived
                    .into_iter()
                    .map(|keys| Path(keys.into_iter().map(Segment::Key).collect())),
            );
        }
        sinks.sort();
        sinks.dedup();
        sinks
    }

    fn open_sinks(&mut self, context: &Context, sinks: &[Path]) {
        let contract = contract_of(self.model.policy, &context.tool);
        let listed = contract.map_or_else(Vec::new, super::stages::trusted_items);
        for sink in sinks {
            let mut unknown = false;
            for destination in DESTINATIONS {
                let rows = [self.sending(sink, destination, &listed)];
                let bound = [super::stages::Bound::AtMost(Verdict::Allow)];
                let claim = Claimed {
                    vouched: false,
                    ..Claimed::anyhow(&rows, false, &bound)
                };
                self.theory.ask();
                match self.violated(context, &claim, Level::Plain, None) {
                    Answer::Found((example, _)) => {
                        self.open(context, contract, sink, example);
                        return;
                    }
                    Answer::Empty => {}
                    Answer::Unknown => unknown = true,
                }
            }
            if unknown && self.theory.budget == 0 {
                let what = format!(
                    "whether {} can send to an untrusted destination",
                    quote(&context.tool.full)
                );
                let places = contract
                    .map(|contract| place(contract.at, "this contract"))
                    .into_iter()
                    .collect();
                self.undecided(&what, places);
            }
        }
    }

    /// A row for calls that send to a destination which was read from outsiders and is
    /// on no list.
    fn sending(&mut self, sink: &Path, destination: &str, listed: &[ListItem]) -> Row {
        let facts = &mut self.theory.facts;
        let untrusted = Op::Provenance(vec![Provenance::Untrusted]);
        let seen = facts.asked(sink, Look::Provenance, untrusted);
        let tainted = facts.asked(sink, Look::Tainted, Op::In(listed.to_vec()));
        let whole = Pattern {
            regex: format!(r"\A{}\z", regex_syntax::escape(destination)),
            written: destination.to_owned(),
        };
        let same = facts.asked(sink, Look::Raw, Op::Matches(whole));
        vec![
            (Atom::Leaf(seen, Mode::Any), true),
            (Atom::Leaf(tainted, Mode::Plain), true),
            (Atom::Leaf(same, Mode::Plain), true),
        ]
    }

    fn open(
        &mut self,
        context: &Context,
        contract: Option<&Contract>,
        sink: &Path,
        example: Example,
    ) {
        let argument =
            bouncer_compiler::lower::paths_display(&bouncer_compiler::lower::steps(sink));
        let tool = quote(&context.tool.full);
        let (places, help) = match contract {
            Some(contract) if contract.exfiltrating => (
                vec![place(
                    contract.at,
                    "its sink gate does not see this argument",
                )],
                format!("add {} to `sink_params`", quote(&argument)),
            ),
            Some(contract) => (
                vec![place(contract.at, "has no sink gate")],
                format!(
                    "write `exfiltrating: true` and `sink_params: [{argument}]`, or `extends: pack` if a pack has a contract for it"
                ),
            ),
            None => (
                Vec::new(),
                format!(
                    "write a contract with `exfiltrating: true` and `sink_params: [{argument}]`"
                ),
            ),
        };
        self.push(
            (Code::OPEN_EXFILTRATION, Kind::OpenExfiltration),
            format!(
                "{tool} sends to a destination that came from untrusted data: {} is not guarded",
                quote(&argument)
            ),
            places,
            help,
            Some(example),
        );
    }
}
