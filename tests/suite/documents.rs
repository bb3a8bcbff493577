//! Documents tell the truth: each policy in them compiles, and the page of diagnostics
//! is what `bouncer explain` prints.

use super::command::bouncer;
use bouncer_compiler::{Input, Options, compile, load};
use std::path::Path;

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The `yaml` blocks of a document with their line numbers; fragments are marked
/// `yaml fragment` and left out.
fn policies(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match &mut open {
            Some(_) if line.trim_end() == "```" => found.extend(open.take()),
            Some((_, block)) => {
                block.push_str(line);
                block.push('\n');
            }
            None if line.trim_end() == "```yaml" => open = Some((number, String::new())),
            None => {}
        }
    }
    found
}

#[test]
fn every_policy_in_the_documents_compiles() {
    let mut count = 0;
    for name in [
        "README.md",
        "docs/by-hand.md",
        "docs/policy.md",
        "docs/semantics.md",
        "docs/verify.md",
        "docs/gateway.md",
        "docs/recipes.md",
    ] {
        for (line, text) in policies(&read(name)) {
            let options = Options::default();
            let loaded = load(&[Input { name, text: &text }], &options).unwrap_or_else(|errors| {
                panic!(
                    "{name}:{line}\n{}",
                    bouncer_compiler::diagnostic::human(&errors, false)
                )
            });
            assert!(compile(&loaded.policy).is_ok(), "{name}:{line}");
            count += 1;
        }
    }
    assert!(count >= 10, "only {count} policies found");
}

/// The examples that are measured do what their authors meant: nothing to warn about.
#[test]
fn the_policies_for_agentdojo_compile_without_a_warning() {
    for suite in ["workspace", "banking", "slack", "travel"] {
        let name = format!("examples/agentdojo/{suite}.yaml");
        let text = read(&name);
        let input = Input {
            name: &name,
            text: &text,
        };
        let loaded = load(&[input], &Options::default()).unwrap_or_else(|errors| {
            panic!("{}", bouncer_compiler::diagnostic::human(&errors, false))
        });
        let warnings = bouncer_compiler::diagnostic::human(&loaded.warnings, false);
        assert_eq!(warnings, "", "{name}");
        assert!(compile(&loaded.policy).is_ok(), "{name}");
    }
}

#[test]
fn the_page_of_diagnostics_is_current() {
    let list = bouncer().arg("explain").output().unwrap().stdout;
    let list = String::from_utf8(list).unwrap();
    let page = read("docs/diagnostics.md");
    for line in list.lines() {
        let code = line.split_whitespace().next().unwrap();
        let text = bouncer().args(["explain", code]).output().unwrap().stdout;
        let text = String::from_utf8(text).unwrap();
        assert!(
            page.contains(text.trim()),
            "docs/diagnostics.md lacks the current page of {code}"
        );
    }
}

/// Seeds of an older layout would teach a fuzzer nothing about this one. They are made by
/// `bouncer compile POLICY --no-packs -o fuzz/seeds/plan_load/NAME.plan`.
#[test]
fn the_seeds_of_the_plan_loader_are_plans_of_this_layout() {
    let seeds =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/plan_load"))
            .unwrap();
    let mut loaded = 0;
    for seed in seeds {
        let path = seed.unwrap().path();
        let plan = bouncer_plan::Plan::load(std::fs::read(&path).unwrap());
        assert!(plan.is_ok(), "{}: {:?}", path.display(), plan.err());
        loaded += 1;
    }
    assert!(loaded >= 5, "{loaded} seeds");
}

/// What a log says can be looked up: the page and `explain` have every code that a verdict
/// in the corpus has, and the same texts.
#[test]
fn the_codes_of_verdicts_are_explained() {
    let page = read("docs/operations.md");
    for (code, text) in bouncer_engine::gate::VERDICT_CODES {
        assert!(page.contains(&format!("| `{code}` | {text} |")), "{code}");
        let output = bouncer().args(["explain", code]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && said.contains(text),
            "{code}: {said}"
        );
    }
    let source = read("runtime/engine/src/gate/decision.rs");
    let codes = source.split("fn code(").nth(1).unwrap();
    let codes = codes.split("\n    }\n").next().unwrap();
    let mut seen = 0;
    for code in codes.split('"').skip(1).step_by(2) {
        assert!(
            bouncer_engine::gate::explain_verdict(code).is_some(),
            "{code}"
        );
        seen += 1;
    }
    assert!(seen >= 15, "{seen}");
}

/// The plans that the documents compile are those that they show.
#[test]
fn what_compile_prints_is_what_the_documents_show() {
    let dir = tempfile::tempdir().unwrap();
    let readme = read("docs/by-hand.md");
    let (_, first) = policies(&readme).into_iter().next().unwrap();
    std::fs::write(dir.path().join("policy.yaml"), first).unwrap();
    let recipes = read("docs/recipes.md");
    for (name, head) in [
        ("mail", "## Mail"),
        ("files", "## Files"),
        ("db", "## Database"),
        ("web", "## Web"),
    ] {
        let section = recipes.split(head).nth(1).unwrap();
        let (_, text) = policies(section).into_iter().next().unwrap();
        std::fs::write(dir.path().join(format!("{name}.yaml")), text).unwrap();
    }
    for (page, files, plan) in [
        (&readme, &["policy.yaml"][..], "policy.plan"),
        (
            &recipes,
            &["mail.yaml", "files.yaml", "db.yaml", "web.yaml"],
            "all.plan",
        ),
    ] {
        let mut command = bouncer();
        command.current_dir(dir.path()).arg("compile").args(files);
        let output = command.args(["-o", plan]).output().unwrap();
        let said =
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        let line = said
            .lines()
            .find(|line| line.starts_with("compiled "))
            .unwrap();
        // Size and digest change with every word of a pack.
        let (line, _) = line.split_once(" (").unwrap();
        assert!(page.contains(&format!("{line} (")), "{line}");
    }
}
