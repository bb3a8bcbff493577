//! The commands in the order in which people look for them. Parsing only.

use clap::Command;

/// What people want, and the commands for it. A command that stands in none is listed last.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Guard",
        &[
            "init",
            "uninstall",
            "doctor",
            "run",
            "gateway",
            "hook",
            "pin",
            "halt",
            "resume",
        ],
    ),
    ("Decide", &["list", "approve", "deny", "watch"]),
    (
        "Write a policy",
        &[
            "policy", "compile", "check", "verify", "test", "diff", "packs", "explain", "schema",
            "serve",
        ],
    ),
    (
        "Look back",
        &["why", "audit", "report", "replay", "inspect", "bench"],
    ),
    ("Get to know it", &["demo", "completions", "man", "help"]),
];

/// The same command, whose help lists its subcommands by what they are for.
pub fn grouped(command: Command) -> Command {
    let about = |name: &str| {
        let found = command.get_subcommands().find(|sub| sub.get_name() == name);
        let found = found.and_then(Command::get_about).map(ToString::to_string);
        found.unwrap_or_else(|| "Print this message, or the help of a command".to_owned())
    };
    let line = |name: &str| format!("  {name:<12} {}\n", about(name));
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        text.extend(names.iter().map(|name| line(name)));
        text.push('\n');
    }
    let known = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: String = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set())
        .map(Command::get_name)
        .filter(|name| !known(name))
        .map(line)
        .collect();
    if !others.is_empty() {
        text.push_str(&format!("More:\n{others}\n"));
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}{{after-help}}"
    ))
}
