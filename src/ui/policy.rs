//! The policy in force, with what `verify` finds beside it.
//!
//! Findings are worked out on a thread of their own, once for each plan: that may take
//! a while, and the page does not wait for it.

use crate::output::Failure;
use crate::source;
use bouncer_compiler::policy::Written;
use bouncer_engine::tools::Lock;
use bouncer_plan::Plan;
use bouncer_proxy::{GatewayStatus, PageResponse};
use bouncer_verify::report;
use bouncer_verify::{ListedTool, Options};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The plan in force, and what was found about it.
#[derive(Debug)]
pub(super) struct PolicyView {
    status: GatewayStatus,
    tools: Arc<Vec<ListedTool>>,
    found: Arc<Mutex<Found>>,
}

/// What was found, and about which plan.
#[derive(Debug, Default)]
struct Found {
    /// The plan that is looked at, or was looked at last.
    digest: Option<[u8; 32]>,
    findings: Option<Value>,
}

impl PolicyView {
    pub(super) fn new(status: GatewayStatus, lock: Option<Lock>) -> Self {
        let tools = lock.into_iter().flat_map(|lock| lock.tools);
        let tools = tools.map(|tool| (tool.server, tool.definition)).collect();
        Self {
            status,
            tools: Arc::new(tools),
            found: Arc::default(),
        }
    }

    /// The texts, and what was found so far.
    pub(super) fn said(&self) -> PageResponse {
        let Some(plan) = self.status.plan() else {
            return PageResponse::error(503, "there is no plan yet");
        };
        let findings = self.findings(&plan);
        let written = Written::from_json(plan.tables().source);
        let files: Option<Vec<Value>> = written.map(|written| {
            let file = |file: bouncer_compiler::policy::WrittenFile| {
                json!({ "name": file.name, "text": file.text })
            };
            written.files.into_iter().map(file).collect()
        });
        PageResponse::json(
            200,
            &json!({
                "plan": plan.short_digest(),
                "failure": self.status.failure(),
                "files": files,
                "verified": findings,
            }),
        )
    }

    /// What `verify` finds; `None` while it is at work.
    fn findings(&self, plan: &Plan) -> Option<Value> {
        let mut found = lock(&self.found);
        if found.digest.as_ref() == Some(plan.digest()) {
            return found.findings.clone();
        }
        found.digest = Some(*plan.digest());
        found.findings = None;
        drop(found);
        let (plan, tools, state) = (
            plan.clone(),
            Arc::clone(&self.tools),
            Arc::clone(&self.found),
        );
        let spawned = std::thread::Builder::new()
            .name("verify".to_owned())
            .spawn(move || {
                // A fault of the verifier is said, and is none of the gateway's.
                let looked = catch_unwind(AssertUnwindSafe(|| look(&plan, &tools)));
                let value = looked.unwrap_or_else(
                    |_| json!({ "error": "`bouncer verify` failed on this policy" }),
                );
                let mut found = lock(&state);
                if found.digest.as_ref() == Some(plan.digest()) {
                    found.findings = Some(value);
                }
            });
        match spawned {
            Ok(_) => None,
            Err(error) => Some(json!({ "error": error.to_string() })),
        }
    }
}

fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look(plan: &Plan, tools: &[ListedTool]) -> Value {
    let loaded = match source::decompile(plan, "the plan in force") {
        Ok(loaded) => loaded,
        Err(Failure::Message(why)) => return json!({ "error": why }),
        Err(_) => return json!({ "error": "the plan in force keeps no policy that can be read" }),
    };
    let sources = loaded.warnings.sources();
    let found = bouncer_verify::run(&loaded, tools, &Options::default());
    let table =
        bouncer_verify::effects_table(&loaded.policy, tools, &Options::default(), &mut |_| {});
    let (Ok(found), Ok(table)) = (found, table) else {
        return json!({ "error": "the policy in the plan does not build" });
    };
    let mut value = report::json(&found, sources);
    if let Some(members) = value.as_object_mut() {
        members.insert("effects".to_owned(), report::effects_json(&table, sources));
    }
    value
}
