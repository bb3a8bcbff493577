//! Reads the plain block style of the generated policies, until the compiler does.

use bouncer_compiler::policy::*;
use bouncer_runtime::Verdict;

pub fn load(yaml: &str, _packs: bool, _heuristics: bool) -> Result<Policy, String> {
    let mut policy = Policy {
        files: vec!["policy.yaml".to_owned()],
        ..Policy::default()
    };
    let unquote = |text: &str| -> String {
        let text = text.trim();
        text.strip_prefix('\'')
            .and_then(|t| t.strip_suffix('\''))
            .map_or_else(|| text.to_owned(), |t| t.replace("''", "'"))
    };
    if yaml.trim() == "{}" {
        return Ok(policy);
    }
    let mut list = String::new();
    for (number, line) in yaml.lines().enumerate() {
        let at = Pos {
            file: 0,
            line: number as u32 + 1,
            column: 1,
        };
        let path = |key: &str| Path(vec![Segment::Key(unquote(key))]);
        let top = !line.starts_with(' ');
        if top {
            let key = line.strip_suffix(':').ok_or("interim")?;
            policy.contracts.push(Contract {
                key: unquote(key),
                layer: Layer::User,
                at,
                exfiltrating: false,
                on_tainted: Verdict::Deny,
                sinks: vec![],
                trusted: vec![],
                write_params: vec![],
                prefixes: vec![],
                resolve_symlinks: false,
                arg_patterns: vec![],
                max_calls: None,
                rates: vec![],
                outputs: None,
            });
            continue;
        }
        let contract = policy.contracts.last_mut().ok_or("interim")?;
        let text = line.trim();
        if let Some(item) = text.strip_prefix("- ") {
            let item = unquote(item);
            match list.as_str() {
                "sink_params" => contract.sinks.push(Sink {
                    path: path(&item),
                    at,
                }),
                "trusted_destinations" => contract.trusted.push(TrustedDestination {
                    form: TrustedForm::Exact(item),
                    at,
                }),
                "write_params" => contract.write_params.push(WriteParam {
                    path: path(&item),
                    at,
                }),
                "allowed_path_prefixes" => contract.prefixes.push(PathPrefix { prefix: item, at }),
                _ => return Err("interim".to_owned()),
            }
        } else {
            let (key, value) = text.split_once(':').ok_or("interim")?;
            let value = value.trim();
            if line.starts_with("    ") {
                let written = unquote(value);
                let regex = format!(r"\A(?:{written})\z");
                regex::Regex::new(&regex).map_err(|_| "interim regex")?;
                contract.arg_patterns.push(ArgPattern {
                    path: path(key),
                    pattern: Pattern { regex, written },
                    at,
                });
                continue;
            }
            list = key.to_owned();
            match (key, value) {
                (_, "" | "[]") => {}
                ("exfiltrating", "true" | "false") => contract.exfiltrating = value == "true",
                ("max_calls", n) => {
                    contract.max_calls = Some((n.parse().map_err(|_| "interim")?, at))
                }
                _ => return Err("interim".to_owned()),
            }
        }
    }
    Ok(policy)
}
