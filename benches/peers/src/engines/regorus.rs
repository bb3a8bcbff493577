//! regorus' virtual machine, with the rules as data keyed by tool, so that it looks at the
//! rules of one tool only.

use super::{Calls, Engine, quoted, timed};
use crate::cases::{Rule, Test};
use regorus::Value;
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::vm::RegoVM;
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;

const POLICY: &str = r#"package gate
deny if { some r in data.tools[input.params.name]; hit(r) }
deny if { some r in data.servers[split(input.params.name, "__")[0]]; hit(r) }
hit(r) if { r.k == "equals"; input.params.arguments.query == r.v }
hit(r) if { r.k == "contains"; contains(input.params.arguments.query, r.v) }
hit(r) if { r.k == "prefix"; startswith(input.params.arguments.path, r.v) }
hit(r) if { r.k == "both"; input.params.arguments.env == r.e; contains(input.params.arguments.query, r.v) }
hit(r) if { r.k == "regex"; regex.match(r.v, input.params.arguments.query) }
"#;
const ENTRY: &str = "data.gate.deny";

/// The rules as data.
fn data(rules: &[Rule]) -> String {
    let mut data = json!({"tools": {}, "servers": {}});
    for rule in rules {
        let item = match &rule.test {
            Test::Equals(value) => json!({"k": "equals", "v": value}),
            Test::Contains(part) => json!({"k": "contains", "v": part}),
            Test::Prefix(start) => json!({"k": "prefix", "v": start}),
            Test::Both(exact, part) => json!({"k": "both", "e": exact, "v": part}),
            Test::Regex(pattern) => json!({"k": "regex", "v": pattern}),
        };
        let list = match &rule.tool {
            Some(tool) => &mut data["tools"][tool.as_str()],
            None => &mut data["servers"][rule.server.as_str()],
        };
        if list.is_null() {
            *list = json!([]);
        }
        list.as_array_mut().unwrap().push(item);
    }
    data.to_string()
}

fn machine(data: &str) -> RegoVM {
    // Its cache of compiled regexes holds few by default.
    regorus::cache::configure(regorus::cache::Config {
        regex: 1 << 16,
        glob: 1 << 16,
    });
    let data = Value::from_json_str(data).unwrap();
    let mut engine = regorus::Engine::new();
    engine
        .add_policy("gate.rego".into(), POLICY.into())
        .unwrap();
    engine.add_data(data.clone()).unwrap();
    let compiled = engine.compile_with_entrypoint(&ENTRY.into()).unwrap();
    let program = Compiler::compile_from_policy(&compiled, &[ENTRY]).unwrap();
    let mut machine = RegoVM::new();
    machine.load_program(program);
    machine.set_max_instructions(usize::MAX);
    machine.set_data(data).unwrap();
    machine
}

/// Compiles the policy and loads the data.
pub fn load(rules: &[Rule], calls: &Calls) -> Engine {
    let data = data(rules);
    let (machine, load) = timed(|| machine(&data));
    let machine = RefCell::new(machine);
    let truth = Value::from(true);
    let denied = Rc::new(move |input: Value| {
        let mut machine = machine.borrow_mut();
        machine.set_input(input);
        machine.execute_entry_point_by_index(0).unwrap() == truth
    });
    let prepared = {
        let denied = Rc::clone(&denied);
        let inputs: Vec<Value> = calls
            .iter()
            .map(|call| Value::from_json_str(&call.message).unwrap())
            .collect();
        move |k: usize| denied(inputs[k].clone())
    };
    let arguments = {
        let (denied, calls) = (Rc::clone(&denied), Rc::clone(calls));
        move |k: usize| {
            let (name, arguments) = (quoted(&calls[k].tool), &calls[k].arguments);
            let text = format!(r#"{{"params":{{"name":{name},"arguments":{arguments}}}}}"#);
            denied(Value::from_json_str(&text).unwrap())
        }
    };
    let calls = Rc::clone(calls);
    let message = move |k: usize| denied(Value::from_json_str(&calls[k].message).unwrap());
    Engine {
        name: "regorus RVM, rules as data",
        load,
        prepared: Some(Box::new(prepared)),
        arguments: Box::new(arguments),
        message: Box::new(message),
    }
}
