//! A case on a page: short enough to read, and to turn into a test by hand.

use super::{Case, Step};
use bouncer_compiler::policy::{Cond, Quantifier, Test};
use std::fmt::Write;

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.policy.contracts.is_empty() {
            writeln!(f, "tools:")?;
        }
        for contract in &self.policy.contracts {
            writeln!(f, "  {} ({:?}):", contract.key, contract.layer)?;
            writeln!(f, "    at: line {}", contract.at.line)?;
            if contract.exfiltrating {
                writeln!(
                    f,
                    "    exfiltrating: true, on_tainted: {}",
                    contract.on_tainted
                )?;
            }
            if contract.optional_sinks {
                writeln!(f, "    optional_sinks: true")?;
            }
            if let Some(dispatch) = &contract.dispatches {
                writeln!(
                    f,
                    "    dispatches: {} {}",
                    dispatch.tool, dispatch.arguments
                )?;
            }
            for sink in &contract.sinks {
                writeln!(f, "    sink: {:?}  # line {}", sink.path.0, sink.at.line)?;
            }
            for trusted in &contract.trusted {
                writeln!(f, "    trusted: {:?}", trusted.form)?;
            }
            for param in &contract.write_params {
                writeln!(
                    f,
                    "    write_param: {:?}  # line {}",
                    param.path.0, param.at.line
                )?;
            }
            for prefix in &contract.prefixes {
                writeln!(f, "    prefix: {:?}", prefix.prefix)?;
            }
            for pattern in &contract.arg_patterns {
                let regex = &pattern.pattern.regex;
                writeln!(
                    f,
                    "    pattern: {:?}: {regex:?}  # line {}",
                    pattern.path.0, pattern.at.line
                )?;
            }
            if contract.confirm {
                writeln!(f, "    confirm: true")?;
            }
            if let Some((most, at)) = contract.max_calls {
                writeln!(f, "    max_calls: {most}  # line {}", at.line)?;
            }
            for rate in &contract.rates {
                writeln!(
                    f,
                    "    rate: {} per {} ms  # line {}",
                    rate.count, rate.window_ms, rate.at.line
                )?;
            }
            if let Some(outputs) = &contract.outputs {
                writeln!(
                    f,
                    "    outputs: {:?} {:?} {:?}",
                    outputs.label, outputs.text, outputs.fields
                )?;
            }
        }
        if let Some(rules) = &self.policy.rules {
            writeln!(f, "rules:")?;
            for rule in &rules.rules {
                let globs: Vec<&str> = rule
                    .tools
                    .iter()
                    .map(|glob| glob.pattern.as_str())
                    .collect();
                writeln!(f, "  - tool: {globs:?}  # line {}", rule.at.line)?;
                writeln!(f, "    when: {}", condition(&rule.condition))?;
                writeln!(f, "    action: {}", rule.action)?;
            }
            let (destructive, unknown) = (rules.on_destructive_hint, rules.on_unknown);
            writeln!(
                f,
                "defaults: {{ onDestructiveHint: {}, onUnknown: {} }}",
                destructive.action, unknown.action
            )?;
        }
        writeln!(f, "steps:")?;
        for step in &self.steps {
            writeln!(f, "  - {}", show(step))?;
        }
        Ok(())
    }
}

fn show(step: &Step) -> String {
    match step {
        Step::Pin {
            server,
            tools,
            lock,
        } => format!(
            "pin {server:?}: {}{}",
            serde_json::Value::from(tools.clone()),
            lock.as_ref().map_or(String::new(), |lock| format!(
                ", lock {}",
                serde_json::Value::from(lock.clone())
            ))
        ),
        Step::Observe { server, tools } => {
            format!(
                "observe {server:?}: {}",
                serde_json::Value::from(tools.clone())
            )
        }
        Step::Record {
            server,
            tool,
            result,
        } => format!("record {server:?} {tool}: {result}"),
        Step::RecordUntrusted(value) => format!("record untrusted: {value}"),
        Step::User(message) => format!("the user types: {message:?}"),
        Step::Approve {
            server,
            tool,
            param,
            destination,
        } => format!("approve {server:?} {tool} {param}={destination:?}"),
        Step::Call {
            server,
            tool,
            arguments,
            attempt,
            now_ms,
        } => format!(
            "call {server:?} {tool} {} ({attempt:?}, {now_ms} ms)",
            arguments
                .as_ref()
                .map_or("(no arguments)".to_owned(), |bytes| bytes
                    .escape_ascii()
                    .to_string())
        ),
        Step::ApproveAndRetry => "approve and retry".to_owned(),
    }
}

pub fn condition(cond: &Cond) -> String {
    let join = |parts: &[Cond], word: &str| {
        let parts: Vec<String> = parts.iter().map(condition).collect();
        format!("({})", parts.join(word))
    };
    match cond {
        Cond::All(parts) if parts.is_empty() => "true".to_owned(),
        Cond::Any(parts) if parts.is_empty() => "false".to_owned(),
        Cond::All(parts) => join(parts, " and "),
        Cond::Any(parts) => join(parts, " or "),
        Cond::Not(inner) => format!("not {}", condition(inner)),
        Cond::Test(test) => show_test(test),
    }
}

fn show_test(test: &Test) -> String {
    let mut text = String::new();
    match test.quantifier {
        Quantifier::Pick => {}
        Quantifier::Any => text.push_str("any "),
        Quantifier::All => text.push_str("all "),
    }
    let _ = write!(text, "[{:?} {:?}]", test.subject, test.op);
    text
}
