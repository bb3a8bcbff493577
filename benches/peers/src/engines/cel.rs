//! cel, a program for each rule: first match over all of them, and over those of the tool.

use super::{Calls, Engine, Sliced, quoted, read, timed, value};
use crate::cases::{Rule, Test};
use ::cel::{Context, Env, Program};
use serde_json::Value;
use std::rc::Rc;
use std::sync::Arc;

fn test(test: &Test) -> String {
    match test {
        Test::Equals(value) => format!("args.query == {}", quoted(value)),
        Test::Contains(part) => format!("args.query.contains({})", quoted(part)),
        Test::Prefix(start) => format!("args.path.startsWith({})", quoted(start)),
        Test::Both(exact, part) => format!(
            "args.env == {} && args.query.contains({})",
            quoted(exact),
            quoted(part)
        ),
        Test::Regex(pattern) => format!("args.query.matches({})", quoted(pattern)),
    }
}

fn with_tool(rule: &Rule) -> String {
    let tool = match &rule.tool {
        Some(tool) => format!("tool == {}", quoted(tool)),
        None => format!("tool.startsWith({})", quoted(&format!("{}__", rule.server))),
    };
    format!("{tool} && {}", test(&rule.test))
}

fn context(env: &Arc<Env>, tool: &str, arguments: &Value) -> Context<'static, 'static> {
    let mut context = Context::with_env(Arc::clone(env));
    context.add_variable("tool", tool).unwrap();
    context.add_variable_from_value("args", ::cel::to_value(arguments).unwrap());
    context
}

fn any(programs: &[Program], context: &Context<'_, '_>) -> bool {
    programs
        .iter()
        .any(|program| matches!(program.execute(context), Ok(::cel::Value::Bool(true))))
}

fn engine<J>(name: &'static str, calls: &Calls, load: f64, env: &Arc<Env>, judge: J) -> Engine
where
    J: Fn(&str, &Context<'_, '_>) -> bool + 'static,
{
    let judge = Rc::new(judge);
    let prepared = {
        let (judge, calls) = (Rc::clone(&judge), Rc::clone(calls));
        let contexts: Vec<_> = calls
            .iter()
            .map(|call| context(env, &call.tool, &call.value))
            .collect();
        move |k: usize| judge(&calls[k].tool, &contexts[k])
    };
    let arguments = {
        let (judge, calls, env) = (Rc::clone(&judge), Rc::clone(calls), Arc::clone(env));
        move |k: usize| {
            let call = &calls[k];
            judge(
                &call.tool,
                &context(&env, &call.tool, &value(&call.arguments)),
            )
        }
    };
    let (calls, env) = (Rc::clone(calls), Arc::clone(env));
    let message = move |k: usize| {
        let params = read(&calls[k].message);
        judge(
            &params.name,
            &context(&env, &params.name, &params.arguments),
        )
    };
    Engine {
        name,
        load,
        prepared: Some(Box::new(prepared)),
        arguments: Box::new(arguments),
        message: Box::new(message),
    }
}

/// One list of all rules; each looks at the tool first.
pub fn all(rules: &[Rule], calls: &Calls) -> Engine {
    let env = Arc::new(Env::stdlib());
    let (programs, load) = timed(|| {
        let compile = |rule: &Rule| env.compile(&with_tool(rule)).unwrap();
        rules.iter().map(compile).collect::<Vec<_>>()
    });
    engine("cel, first match", calls, load, &env, move |_, context| {
        any(&programs, context)
    })
}

/// A list for each tool.
pub fn sliced(rules: &[Rule], calls: &Calls) -> Engine {
    let env = Arc::new(Env::stdlib());
    let (slices, load) = timed(|| {
        Sliced::new(rules, |rules| {
            let compile = |rule: &&Rule| env.compile(&test(&rule.test)).unwrap();
            rules.iter().map(compile).collect::<Vec<_>>()
        })
    });
    engine(
        "cel, first match, sliced",
        calls,
        load,
        &env,
        move |tool, context| {
            slices
                .get(tool)
                .is_some_and(|programs| any(programs, context))
        },
    )
}
