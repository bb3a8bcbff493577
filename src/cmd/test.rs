//! `bouncer test`: the tests beside policies, and which rules they exercise.

mod files;
mod report;
mod watch;

use super::player::Player;
use crate::cli::{TestArgs, TestFormat};
use crate::output::{ERROR, Failure, Outcome, USAGE, error_line};
use crate::source;
use bouncer_compiler::diagnostic::{escape, visible};
use bouncer_compiler::policy::Policy;
use bouncer_plan::Plan;
use files::{Setting, TestCase};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;

/// Runs the command.
pub fn run(args: &TestArgs) -> Outcome {
    match args.watch {
        true => watch::watch(args, || once(args)),
        false => once(args),
    }
}

fn once(args: &TestArgs) -> Outcome {
    let files = files::find(args)?;
    if files.is_empty() {
        error_line(
            "there are no tests here: write `policy.test.yaml` beside `policy.yaml`, or name files",
        );
        return Err(Failure::Code(USAGE));
    }
    let mut bench = Bench::default();
    let mut results = Vec::new();
    for file in &files {
        for case in files::read(file, args)? {
            let meant = |filter: &String| case.name.contains(filter) || case.file.contains(filter);
            if args.filter.as_ref().is_none_or(meant) {
                results.push(bench.run(case)?);
            }
        }
    }
    // A filter that nothing meets would pass for good.
    if results.is_empty()
        && let Some(filter) = &args.filter
    {
        error_line(&format!("no test is called `{}`", visible(filter)));
        return Err(Failure::Code(USAGE));
    }
    let failed = results
        .iter()
        .filter(|result| !result.failures.is_empty())
        .count();
    let coverage: Vec<Coverage> = bench.policies.values().map(Coverage::of).collect();
    let low: Vec<&Coverage> = coverage
        .iter()
        .filter(|one| {
            args.min_coverage
                .is_some_and(|least| one.percent() < usize::from(least))
        })
        .collect();
    let format = if args.json {
        TestFormat::Json
    } else {
        args.format
    };
    if format == TestFormat::Junit {
        write!(io::stdout(), "{}", report::junit(&results))?;
    } else if format == TestFormat::Github {
        write!(io::stdout(), "{}", report::github(&results))?;
    } else if format == TestFormat::Json {
        let value = as_json(&results, failed, &coverage);
        writeln!(io::stdout(), "{value:#}")?;
    } else {
        let mut stdout = anstream::stdout();
        for result in &results {
            result.print(&mut stdout)?;
        }
        for one in &coverage {
            if args.coverage || low.iter().any(|other| other.name == one.name) {
                one.print(&mut stdout)?;
            }
        }
        // If standard error is gone there is nobody left to tell.
        let _ = writeln!(
            anstream::stderr(),
            "{} test{}: {} passed, {failed} failed",
            results.len(),
            if results.len() == 1 { "" } else { "s" },
            results.len() - failed
        );
        for one in &low {
            let least = args.min_coverage.unwrap_or(0);
            error_line(&format!(
                "tests decide {} % of the rules of {}, and --min-coverage says {least}",
                one.percent(),
                one.name
            ));
        }
    }
    Ok(if failed > 0 || !low.is_empty() {
        ERROR
    } else {
        0
    })
}

/// What became of the tests beside policies; `None`: there are none.
pub(crate) fn evidence(policies: &[PathBuf]) -> Result<Option<Value>, Failure> {
    let mut bench = Bench::default();
    let mut results = Vec::new();
    for policy in policies {
        for file in files::tests_of(policy) {
            let args = TestArgs::of(policy);
            for case in files::read(&file, &args)? {
                results.push(bench.run(case)?);
            }
        }
    }
    let failed = results.iter().filter(|result| !result.failures.is_empty());
    let failed = failed.count();
    let coverage: Vec<Coverage> = bench.policies.values().map(Coverage::of).collect();
    Ok((!results.is_empty()).then(|| as_json(&results, failed, &coverage)))
}

fn as_json(results: &[CaseResult], failed: usize, coverage: &[Coverage]) -> Value {
    json!({
        "tests": results.iter().map(CaseResult::json).collect::<Vec<_>>(),
        "passed": results.len() - failed,
        "failed": failed,
        "coverage": coverage.iter().map(Coverage::json).collect::<Vec<_>>(),
    })
}

/// A compiled policy, and which of its rules have decided a call.
struct Tried {
    name: String,
    plan: Plan,
    policy: Policy,
    decided: BTreeSet<u32>,
}

/// The policies that tests use, each compiled once.
#[derive(Default)]
struct Bench {
    policies: BTreeMap<Setting, Tried>,
}

/// What became of a case.
struct CaseResult {
    file: String,
    name: String,
    line: u32,
    calls: usize,
    failures: Vec<Failed>,
}

/// A call that got something else than expected.
struct Failed {
    line: u32,
    tool: String,
    /// The call's arguments, as the test has them.
    arguments: String,
    expected: Vec<String>,
    verdict: &'static str,
    contract: &'static str,
    reason: String,
    at: Option<String>,
}

/// The arguments that a line of a test has.
fn arguments_of(step: &str) -> String {
    let line: Option<Value> = serde_json::from_str(step).ok();
    let arguments = line.as_ref().and_then(|line| line.get("arguments"));
    arguments.map_or_else(|| "{}".to_owned(), Value::to_string)
}

impl Bench {
    fn policy(&mut self, setting: &Setting) -> Result<&mut Tried, Failure> {
        if !self.policies.contains_key(setting) {
            let compiled = source::compile(&setting.policy, &setting.layers())
                .map_err(|failure| failure.report())?;
            let names = setting.policy.iter().map(|path| source::display_name(path));
            let plan = Plan::load(compiled.bytes).map_err(|error| {
                Failure::Message(format!("the compiled plan does not load: {error}"))
            })?;
            let tried = Tried {
                name: names.collect::<Vec<_>>().join(", "),
                plan,
                policy: compiled.policy,
                decided: BTreeSet::new(),
            };
            self.policies.insert(setting.clone(), tried);
        }
        self.policies
            .get_mut(setting)
            .ok_or_else(|| Failure::Message("the policy is not there".to_owned()))
    }

    fn run(&mut self, case: TestCase) -> Result<CaseResult, Failure> {
        let tools = source::tools(&case.tools)?;
        let tried = self.policy(&case.setting)?;
        let mut player = Player::new(&tried.plan);
        let mut servers: BTreeMap<Option<String>, Vec<_>> = BTreeMap::new();
        for (server, definition) in tools {
            servers.entry(server).or_default().push(definition);
        }
        for (server, definitions) in &servers {
            player.pin(server.as_deref(), definitions);
        }
        let mut result = CaseResult {
            file: case.file,
            name: case.name,
            line: case.line,
            calls: 0,
            failures: Vec::new(),
        };
        let mut expectations = 0;
        for (line, step) in &case.steps {
            player
                .line(step, |tool, decision, expected| {
                    result.calls += 1;
                    tried.decided.extend(decision.rule());
                    expectations += usize::from(expected.verdict.is_some())
                        + usize::from(expected.contract.is_some());
                    let missed: Vec<String> = expected
                        .missed(decision)
                        .into_iter()
                        .flatten()
                        .map(str::to_owned)
                        .collect();
                    if !missed.is_empty() {
                        let record = decision.record();
                        result.failures.push(Failed {
                            line: *line,
                            tool: tool.to_owned(),
                            arguments: arguments_of(step),
                            expected: missed,
                            verdict: record.verdict.name(),
                            contract: record.stage.name(),
                            reason: record.reason,
                            at: record.at,
                        });
                    }
                })
                .map_err(|why| {
                    Failure::Message(format!("`{}`, line {line}: {why}", result.file))
                })?;
        }
        if expectations == 0 {
            return Err(Failure::Message(format!(
                "`{}`, line {}: `{}` expects nothing and so cannot fail; give a call `expect: allow`, `ask` or `deny`",
                result.file, result.line, result.name
            )));
        }
        Ok(result)
    }
}

/// Which rules of a policy decide some call of a test.
struct Coverage {
    name: String,
    rules: usize,
    /// The others: place, and the tools that they are about.
    silent: Vec<(String, u32, u32, String)>,
}

impl Coverage {
    fn of(tried: &Tried) -> Self {
        let rules = tried
            .policy
            .rules
            .as_ref()
            .map_or(&[][..], |set| &set.rules);
        let silent = (0..)
            .zip(rules)
            .filter(|(index, _)| !tried.decided.contains(index))
            .map(|(_, rule)| {
                let file = tried.policy.files.get(rule.at.file as usize);
                let globs: Vec<&str> = rule.tools.iter().map(|g| g.pattern.as_str()).collect();
                (
                    file.cloned().unwrap_or_default(),
                    rule.at.line,
                    rule.at.column,
                    globs.join(", "),
                )
            })
            .collect();
        Self {
            name: tried.name.clone(),
            rules: rules.len(),
            silent,
        }
    }

    /// In whole per cent, rounded down. A policy without rules is covered.
    fn percent(&self) -> usize {
        match self.rules {
            0 => 100,
            rules => (rules - self.silent.len()) * 100 / rules,
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{}: {} of {} rules decide a call ({} %)",
            visible(&self.name),
            self.rules - self.silent.len(),
            self.rules,
            self.percent()
        )?;
        for (file, line, column, globs) in &self.silent {
            writeln!(
                out,
                "  {}:{line}:{column}: no call is decided by this rule for `{}`",
                visible(file),
                escape(globs)
            )?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let silent: Vec<Value> = self
            .silent
            .iter()
            .map(|(file, line, column, globs)| {
                json!({ "file": file, "line": line, "column": column, "tool": globs })
            })
            .collect();
        json!({
            "policy": self.name, "rules": self.rules,
            "covered": self.rules - self.silent.len(), "percent": self.percent(),
            "uncovered": silent,
        })
    }
}
