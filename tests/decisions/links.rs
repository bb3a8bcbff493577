//! `within` of rules where links are followed: on real folders.

use crate::engine::compiled;
use crate::reference::RefCall;
use bouncer_compiler::{Input, Options, load};
use bouncer_engine::gate::Attempt;
use bouncer_plan::Verdict;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn rules_follow_links_where_the_contract_says_so() {
    let top = std::env::temp_dir().join(format!("bouncer-links-{}", std::process::id()));
    fs::create_dir_all(top.join("open/sub")).unwrap();
    fs::create_dir_all(top.join("secret")).unwrap();
    let top = top.canonicalize().unwrap();
    let link = top.join("open/link");
    let _ = fs::remove_file(&link);
    symlink(top.join("secret"), &link).unwrap();
    let at = top.to_str().unwrap();
    let verdict = |contract: &str, tool: &str, path: &str| {
        let text = format!(
            "version: 1\npacks: []\nheuristics: false\ntools:\n  r: {{{contract}}}\n  p: {{{contract}}}\nrules:\n\
             - {{tool: r, when: 'args.path within [\"{at}/secret\"]', action: deny}}\n\
             - {{tool: p, when: 'args.path within [\"{at}/open\"]', action: allow}}\n\
             - {{tool: p, action: deny}}\n"
        );
        let input = Input {
            name: "policy.yaml",
            text: &text,
        };
        let policy = load(&[input], &Options::default()).unwrap().policy;
        let arguments = json!({ "path": path }).to_string();
        let call = RefCall {
            server: None,
            tool,
            arguments: Some(arguments.as_bytes()),
        };
        compiled(&policy).decide(&call, Attempt::First, 0).verdict
    };
    let follows = "resolve_symlinks: true";
    let based = format!("resolve_symlinks: true, base: {at}/open");
    let through = format!("{at}/open/link/x");
    let plain = format!("{at}/open/sub/x");
    for (contract, path, forbidden, permitted) in [
        (
            "confirm: false",
            through.as_str(),
            Verdict::Allow,
            Verdict::Allow,
        ),
        (follows, through.as_str(), Verdict::Deny, Verdict::Deny),
        (follows, plain.as_str(), Verdict::Allow, Verdict::Allow),
        (based.as_str(), "link/x", Verdict::Deny, Verdict::Deny),
        (based.as_str(), "sub/x", Verdict::Allow, Verdict::Allow),
        (based.as_str(), "../secret/x", Verdict::Deny, Verdict::Deny),
    ] {
        assert_eq!(
            verdict(contract, "r", path),
            forbidden,
            "r {contract} {path}"
        );
        assert_eq!(
            verdict(contract, "p", path),
            permitted,
            "p {contract} {path}"
        );
    }
    fs::remove_dir_all(&top).unwrap();
}
