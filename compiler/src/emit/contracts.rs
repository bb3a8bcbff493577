//! Writes contracts: sinks, trusted destinations, constraints, rates, labels.

use super::pos;
use super::writer::{Writer, since};
use crate::build::LiteralSetBuilder;
use crate::lower::{CompileError, PathTable, paths_display, sorted_contracts, steps};
use crate::policy::{Contract, Layer, Policy, TrustedForm};
use bouncer_plan::Label;
use bouncer_plan::format::{
    self, CONTRACT_CONFIRM, CONTRACT_DECIDES, CONTRACT_DISPATCHES, CONTRACT_EFFECTS,
    CONTRACT_EXFILTRATING, CONTRACT_OPTIONAL_SINKS, CONTRACT_OUTPUTS, CONTRACT_PROSE,
    CONTRACT_RESOLVE_SYMLINKS, Constraint, ConstraintKind, ContractLayer, LiteralKind, NONE,
    OutputLabel, Range, RateLimit, Secrecy, Sink,
};
use zerocopy::little_endian::{U16, U32, U64};

/// Writes all contracts, sorted by key, then layer.
pub(super) fn write(
    writer: &mut Writer,
    policy: &Policy,
    paths: &PathTable,
    errors: &mut Vec<CompileError>,
) {
    for contract in sorted_contracts(policy) {
        write_contract(writer, contract, paths, errors);
    }
}

fn write_contract(
    writer: &mut Writer,
    contract: &Contract,
    paths: &PathTable,
    errors: &mut Vec<CompileError>,
) {
    let first_sink = writer.sinks.len();
    for sink in &contract.sinks {
        let steps = steps(&sink.path);
        let record = Sink {
            name: writer.text(&paths_display(&steps)),
            steps: writer.steps(&steps),
            at: pos(Some(sink.at)),
        };
        writer.sinks.push(record);
    }
    let trusted = contract.trusted.iter().map(|trusted| &trusted.form);
    let trusted = write_destinations(writer, trusted);
    let first_constraint = writer.constraints.len();
    write_constraints(writer, contract, paths, errors);
    let first_rate = writer.rates.len();
    writer
        .rates
        .extend(contract.rates.iter().map(|rate| RateLimit {
            count: U32::new(rate.count),
            reserved: U32::new(0),
            window_ms: U64::new(rate.window_ms),
            at: pos(Some(rate.at)),
        }));
    let first_label = writer.output_labels.len();
    for field in contract.outputs.iter().flat_map(|outputs| &outputs.fields) {
        let record = OutputLabel {
            steps: writer.steps(&steps(&field.path)),
            label: field.label,
            secrecy: secrecy(field.private),
        };
        writer.output_labels.push(record);
    }
    let mut flags = 0;
    for (set, flag) in [
        (contract.exfiltrating, CONTRACT_EXFILTRATING),
        (contract.resolve_symlinks, CONTRACT_RESOLVE_SYMLINKS),
        (
            contract.optional_sinks && !contract.sinks.is_empty(),
            CONTRACT_OPTIONAL_SINKS,
        ),
        (contract.outputs.is_some(), CONTRACT_OUTPUTS),
        (
            contract
                .outputs
                .as_ref()
                .is_some_and(|o| !o.fields_in_text(contract.layer)),
            CONTRACT_PROSE,
        ),
        (contract.confirm, CONTRACT_CONFIRM),
        (contract.dispatches.is_some(), CONTRACT_DISPATCHES),
        (contract.effects_complete, CONTRACT_EFFECTS),
        (contract.decides, CONTRACT_DECIDES),
    ] {
        if set {
            flags |= flag;
        }
    }
    let label = contract
        .outputs
        .as_ref()
        .map_or(Label::Untrusted, |outputs| outputs.label);
    let dispatch = contract.dispatches.as_ref();
    let record = format::Contract {
        key: writer.text(&contract.key),
        layer: match contract.layer {
            Layer::User => ContractLayer::User,
            Layer::Pack => ContractLayer::Pack,
        },
        flags: U32::new(flags),
        at: pos(Some(contract.at)),
        on_tainted: contract.on_tainted,
        sinks: since(&writer.sinks, first_sink),
        trusted: U32::new(trusted),
        constraints: since(&writer.constraints, first_constraint),
        max_calls: U64::new(contract.max_calls.map_or(u64::MAX, |(limit, _)| limit)),
        max_calls_at: pos(contract.max_calls.map(|(_, at)| at)),
        rates: since(&writer.rates, first_rate),
        output_label: label,
        outputs: since(&writer.output_labels, first_label),
        base: writer.text(contract.base.as_deref().unwrap_or_default()),
        dispatch_tool: writer.text(dispatch.map_or("", |dispatch| &dispatch.tool)),
        dispatch_arguments: writer.text(dispatch.map_or("", |dispatch| &dispatch.arguments)),
        dispatch_at: pos(dispatch.map(|dispatch| dispatch.at)),
        effects: U16::new(contract.effects.bits()),
        secrecy: secrecy(contract.outputs.as_ref().is_some_and(|o| o.private)),
    };
    writer.contracts.push(record);
}

const fn secrecy(private: bool) -> Secrecy {
    match private {
        true => Secrecy::Private,
        false => Secrecy::Open,
    }
}

/// Writes a list of destinations.
pub(super) fn write_destinations<'d>(
    writer: &mut Writer,
    destinations: impl Iterator<Item = &'d TrustedForm>,
) -> u32 {
    let mut set = LiteralSetBuilder::default();
    for destination in destinations {
        match destination {
            TrustedForm::Exact(text) => set.add(LiteralKind::Folded, text.to_ascii_lowercase()),
            TrustedForm::AtDomain(domain) => {
                set.add(LiteralKind::AtDomain, domain.to_ascii_lowercase());
            }
            TrustedForm::Below(domain) => set.add(LiteralKind::Below, domain.to_ascii_lowercase()),
        }
    }
    writer.literal_set(&set)
}

fn write_constraints(
    writer: &mut Writer,
    contract: &Contract,
    paths: &PathTable,
    errors: &mut Vec<CompileError>,
) {
    let none = Range {
        start: U32::new(0),
        length: U32::new(0),
    };
    if !contract.prefixes.is_empty() {
        let prefixes = writer.text_list(
            contract
                .prefixes
                .iter()
                .map(|prefix| prefix.prefix.as_str()),
        );
        for param in &contract.write_params {
            let record = Constraint {
                path: U32::new(paths.id(&param.path)),
                kind: ConstraintKind::Within,
                automaton: U32::new(NONE),
                prefixes,
                written: writer.text(""),
                at: pos(contract.prefixes.first().map(|prefix| prefix.at)),
            };
            writer.constraints.push(record);
        }
    }
    for pattern in &contract.arg_patterns {
        let built = writer
            .automata
            .cover(std::slice::from_ref(&pattern.pattern.regex));
        let automaton = match built {
            Ok(cover) => cover.automata.first().map_or(NONE, |part| part.automaton),
            Err(error) => {
                errors.push(CompileError {
                    message: format!(
                        "the pattern `{}` cannot be compiled: {}",
                        pattern.pattern.written, error.message
                    ),
                    help: Some(
                        "make the pattern simpler; large counted repeats are what costs most"
                            .to_owned(),
                    ),
                    at: Some(pattern.at),
                });
                continue;
            }
        };
        let record = Constraint {
            path: U32::new(paths.id(&pattern.path)),
            kind: ConstraintKind::Matches,
            automaton: U32::new(automaton),
            prefixes: none,
            written: writer.text(&pattern.pattern.written),
            at: pos(Some(pattern.at)),
        };
        writer.constraints.push(record);
    }
}
