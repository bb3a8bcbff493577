//! cedar-policy, with a policy set for each tool: one set of 10,000 policies would be
//! evaluated whole. Cedar has no regular expressions.

use super::{Calls, Engine, Sliced, quoted, read, timed, value};
use crate::cases::{Rule, Test};
use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityId, EntityTypeName, EntityUid, PolicySet,
    Request,
};
use serde_json::{Value, json};
use std::fmt::Write;
use std::rc::Rc;

struct Host {
    authorizer: Authorizer,
    entities: Entities,
    agent: EntityUid,
    action: EntityUid,
    tool: EntityTypeName,
    slices: Sliced<PolicySet>,
    /// For tools without rules.
    none: PolicySet,
}

const PERMIT: &str = "permit(principal, action, resource);\n";

fn policies(rules: &[&Rule]) -> String {
    let mut text = PERMIT.to_owned();
    for rule in rules {
        let like = |part: &str| quoted(&format!("*{part}*"));
        let test = match &rule.test {
            Test::Equals(value) => format!("context.args.query == {}", quoted(value)),
            Test::Contains(part) => format!("context.args.query like {}", like(part)),
            Test::Prefix(start) => {
                format!("context.args.path like {}", quoted(&format!("{start}*")))
            }
            Test::Both(exact, part) => format!(
                "context.args.env == {} && context.args.query like {}",
                quoted(exact),
                like(part)
            ),
            Test::Regex(_) => panic!("Cedar has no regular expressions"),
        };
        let _ = writeln!(
            text,
            "forbid(principal, action, resource) when {{ {test} }};"
        );
    }
    text
}

impl Host {
    fn new(rules: &[Rule]) -> Self {
        Self {
            authorizer: Authorizer::new(),
            entities: Entities::empty(),
            agent: r#"Agent::"agent""#.parse().unwrap(),
            action: r#"Action::"call""#.parse().unwrap(),
            tool: "Tool".parse().unwrap(),
            slices: Sliced::new(rules, |rules| policies(rules).parse().unwrap()),
            none: PERMIT.parse().unwrap(),
        }
    }

    fn request(&self, tool: &str, arguments: Value) -> Request {
        let id = EntityId::new(tool);
        let resource = EntityUid::from_type_name_and_id(self.tool.clone(), id);
        let context = Context::from_json_value(json!({"args": arguments}), None).unwrap();
        let (agent, action) = (self.agent.clone(), self.action.clone());
        Request::new(agent, action, resource, context, None).unwrap()
    }

    fn denied(&self, tool: &str, request: &Request) -> bool {
        let set = self.slices.get(tool).unwrap_or(&self.none);
        let response = self.authorizer.is_authorized(request, set, &self.entities);
        assert!(response.diagnostics().errors().next().is_none());
        response.decision() == Decision::Deny
    }
}

/// Parses the policies.
pub fn load(rules: &[Rule], calls: &Calls) -> Engine {
    let (host, load) = timed(|| Host::new(rules));
    let host = Rc::new(host);
    let prepared = {
        let (host, calls) = (Rc::clone(&host), Rc::clone(calls));
        let requests: Vec<Request> = calls
            .iter()
            .map(|call| host.request(&call.tool, call.value.clone()))
            .collect();
        move |k: usize| host.denied(&calls[k].tool, &requests[k])
    };
    let arguments = {
        let (host, calls) = (Rc::clone(&host), Rc::clone(calls));
        move |k: usize| {
            let call = &calls[k];
            host.denied(
                &call.tool,
                &host.request(&call.tool, value(&call.arguments)),
            )
        }
    };
    let calls = Rc::clone(calls);
    let message = move |k: usize| {
        let params = read(&calls[k].message);
        let request = host.request(&params.name, params.arguments);
        host.denied(&params.name, &request)
    };
    Engine {
        name: "cedar-policy, sliced",
        load,
        prepared: Some(Box::new(prepared)),
        arguments: Box::new(arguments),
        message: Box::new(message),
    }
}
