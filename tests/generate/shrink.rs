//! Makes a failing case small: drops one thing at a time for as long as it still fails.

use super::{Case, Step};
use bouncer_compiler::policy::Cond;

/// The smallest case found that still fails.
pub fn shrink(mut case: Case, fails: impl Fn(&Case) -> bool) -> Case {
    'again: loop {
        for smaller in candidates(&case) {
            if fails(&smaller) {
                case = smaller;
                continue 'again;
            }
        }
        return case;
    }
}

fn candidates(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Case)| {
        let mut smaller = case.clone();
        change(&mut smaller);
        all.push(smaller);
    };
    let steps = case.steps.len();
    for half in [steps / 2, steps / 4] {
        if half > 1 {
            for start in (0..steps).step_by(half) {
                with(&|c| drop(c.steps.drain(start..(start + half).min(steps))));
            }
        }
    }
    for index in 0..steps {
        with(&|c| drop(c.steps.remove(index)));
    }
    for index in 0..case.policy.contracts.len() {
        with(&|c| drop(c.policy.contracts.remove(index)));
        let contract = &case.policy.contracts[index];
        macro_rules! shorten {
            ($($list:ident),*) => {$(
                for item in 0..contract.$list.len() {
                    with(&|c| {
                        let _ = c.policy.contracts[index].$list.remove(item);
                    });
                }
            )*};
        }
        shorten!(sinks, trusted, write_params, prefixes, arg_patterns, rates);
        if contract.exfiltrating {
            with(&|c| c.policy.contracts[index].exfiltrating = false);
        }
        if contract.max_calls.is_some() {
            with(&|c| c.policy.contracts[index].max_calls = None);
        }
        if contract.outputs.is_some() {
            with(&|c| c.policy.contracts[index].outputs = None);
        }
    }
    if let Some(rules) = &case.policy.rules {
        with(&|c| c.policy.rules = None);
        for (index, rule) in rules.rules.iter().enumerate() {
            with(&|c| drop(c.policy.rules.as_mut().unwrap().rules.remove(index)));
            for simpler in simpler(&rule.condition) {
                with(&|c| {
                    c.policy.rules.as_mut().unwrap().rules[index].condition = simpler.clone();
                });
            }
            if rule.tools.len() > 1 {
                with(&|c| drop(c.policy.rules.as_mut().unwrap().rules[index].tools.pop()));
                with(&|c| {
                    drop(
                        c.policy.rules.as_mut().unwrap().rules[index]
                            .tools
                            .remove(0),
                    )
                });
            }
        }
    }
    for (index, step) in case.steps.iter().enumerate() {
        match step {
            Step::Pin { tools, .. } | Step::Observe { tools, .. } => {
                for item in 0..tools.len() {
                    with(&|c| match &mut c.steps[index] {
                        Step::Pin { tools, .. } | Step::Observe { tools, .. } => {
                            tools.remove(item);
                        }
                        _ => {}
                    });
                }
            }
            Step::Call {
                arguments: Some(bytes),
                ..
            } => {
                for smaller in smaller_arguments(bytes) {
                    with(&|c| {
                        if let Step::Call { arguments, .. } = &mut c.steps[index] {
                            *arguments = Some(smaller.clone());
                        }
                    });
                }
            }
            _ => {}
        }
    }
    all
}

fn simpler(cond: &Cond) -> Vec<Cond> {
    match cond {
        Cond::All(parts) | Cond::Any(parts) => {
            let rebuild = |parts: Vec<Cond>| match cond {
                Cond::All(_) => Cond::All(parts),
                _ => Cond::Any(parts),
            };
            let mut all = parts.clone();
            for (index, part) in parts.iter().enumerate() {
                let mut fewer = parts.clone();
                fewer.remove(index);
                all.push(rebuild(fewer));
                for simpler in simpler(part) {
                    let mut changed = parts.clone();
                    changed[index] = simpler;
                    all.push(rebuild(changed));
                }
            }
            all
        }
        Cond::Not(inner) => {
            let mut all = vec![(**inner).clone()];
            all.extend(simpler(inner).into_iter().map(|c| Cond::Not(Box::new(c))));
            all
        }
        Cond::Test(_) => vec![],
    }
}

/// The arguments with one member or element less, and re-spelled plainly.
fn smaller_arguments(bytes: &[u8]) -> Vec<Vec<u8>> {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return vec![];
    };
    let mut smaller = Vec::new();
    if value.to_string().len() < bytes.len() {
        smaller.push(value.clone());
    }
    without_one(&value, &mut smaller);
    smaller
        .into_iter()
        .map(|value| value.to_string().into_bytes())
        .collect()
}

fn without_one(value: &serde_json::Value, found: &mut Vec<serde_json::Value>) {
    use serde_json::Value;
    match value {
        Value::Array(items) => {
            for index in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(index);
                found.push(Value::from(fewer));
                let mut inner = Vec::new();
                without_one(&items[index], &mut inner);
                for changed in inner {
                    let mut items = items.clone();
                    items[index] = changed;
                    found.push(Value::from(items));
                }
            }
        }
        Value::Object(members) => {
            for name in members.keys() {
                let mut fewer = members.clone();
                fewer.remove(name);
                found.push(Value::from(fewer));
                let mut inner = Vec::new();
                without_one(&members[name], &mut inner);
                for changed in inner {
                    let mut members = members.clone();
                    members[name] = changed;
                    found.push(Value::from(members));
                }
            }
        }
        _ => {}
    }
}
