use super::*;
use crate::{Example, Place};
use bouncer_compiler::diagnostic::Code;
use bouncer_compiler::policy::Pos;
use bouncer_plan::Verdict;

fn report() -> (Report, SourceMap) {
    let mut sources = SourceMap::default();
    sources.add(
        "dir one/a,b:c.yaml",
        "rules:\n  - {tool: \"é x\", action: deny} # note\n",
    );
    sources.add("pack:gmail", "version: 1\n");
    let at = |file, line, column| Pos { file, line, column };
    let finding = Finding {
        code: Code::SHADOWED,
        kind: Kind::Shadowed,
        severity: Severity::Error,
        message: "100% hidden\nreally".to_owned(),
        places: vec![
            Place {
                at: at(0, 2, 5),
                label: String::new(),
            },
            Place {
                at: at(1, 1, 1),
                label: "by this".to_owned(),
            },
        ],
        help: Some("move it".to_owned()),
        example: Some(Example {
            server: Some("s".to_owned()),
            tool: "t\u{1b}".to_owned(),
            arguments: "{\"a\":1}".to_owned(),
            untrusted: vec!["x".to_owned()],
            private: Vec::new(),
            typed: Vec::new(),
            earlier_calls: 2,
            verdict: Verdict::Deny,
            contract: "rule".to_owned(),
            decided_at: Some(at(0, 2, 5)),
        }),
    };
    let bare = Finding {
        code: Code::UNCOVERED_TOOL,
        kind: Kind::Coverage,
        severity: Severity::Note,
        message: "no one".to_owned(),
        places: Vec::new(),
        help: None,
        example: None,
    };
    let report = Report {
        findings: vec![finding, bare],
        ..Report::default()
    };
    (report, sources)
}

#[test]
fn people_see_the_source_and_the_call() {
    let (report, sources) = report();
    insta::assert_snapshot!(human(&report, &sources, false));
    assert!(human(&report, &sources, true).contains("\u{1b}["));
}

#[test]
fn github_reads_one_command_a_line() {
    let (report, sources) = report();
    let text = github(&report, &sources);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("::error file=dir one/a%2Cb%3Ac.yaml,line=2,col=5,title=B0803 shadowed::100%25 hidden%0Areally%0A"), "{text}");
    assert_eq!(lines[1], "::notice title=B0807 coverage::no one");
}

#[test]
fn machines_get_what_is_promised() {
    let (report, sources) = report();
    let value = json(&report, &sources);
    let finding = &value["findings"][0];
    assert_eq!(finding["code"], "B0803");
    assert_eq!(finding["kind"], "shadowed");
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["positions"][0]["file"], "dir one/a,b:c.yaml");
    assert_eq!(finding["positions"][0]["line"], 2);
    assert_eq!(finding["positions"][0]["column"], 5);
    assert_eq!(finding["example"]["arguments"]["a"], 1);
    assert_eq!(finding["example"]["verdict"], "deny");
    assert_eq!(finding["example"]["server"], "s");
    assert!(value["findings"][1]["example"].is_null());
    assert_eq!(value["counts"]["notes"], 1);
}

#[test]
fn sarif_names_files_as_uris() {
    let (report, sources) = report();
    let value = sarif(&report, &sources);
    let results = value["runs"][0]["results"].as_array().unwrap();
    let uri = |n: usize| &results[n]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri(0), "dir%20one/a%2Cb%3Ac.yaml");
    assert_eq!(
        results[0]["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "pack:gmail"
    );
    assert_eq!(uri(1), uri(0), "what has no place points at the first file");
    let index = results[0]["ruleIndex"].as_u64().unwrap() as usize;
    assert_eq!(
        value["runs"][0]["tool"]["driver"]["rules"][index]["id"],
        "B0803"
    );
}
