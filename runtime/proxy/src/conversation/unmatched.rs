//! Tells people of names in a policy that mean no tool of the servers that run: a rule that
//! can match nothing protects nothing.

use bouncer_engine::gate::Gate;
use bouncer_system::log::{note_once, quoted};
use std::fmt;

/// Letters that a misspelt name may differ in.
const NEAR: usize = 2;

/// Tells of each name once for each policy. `all`: every server's tools are known. Otherwise
/// only names that begin with a server whose tools are known can be told of.
pub(super) fn tell(gate: &Gate, all: bool) {
    let listed: Vec<String> = gate.listed().collect();
    if listed.is_empty() {
        return;
    }
    for name in gate.unmatched() {
        if all || listed.iter().any(|tool| same_server(tool, &name)) {
            let key = format!("{} {name}", gate.plan().short_digest());
            let near = Near(nearest(&name, &listed));
            note_once(
                key,
                format_args!(
                    "the policy speaks of {}, and no server has such a tool{near}",
                    quoted(&name, 200),
                ),
            );
        }
    }
}

/// Whether both names begin with the same server.
fn same_server(tool: &str, name: &str) -> bool {
    let server = |name: &str| name.split_once("__").map(|(server, _)| server.to_owned());
    server(tool).is_some_and(|own| server(name).is_some_and(|other| own == other))
}

/// The listed tool that was probably meant: the same letters in another case, the same name
/// at another server or at none, or at most [`NEAR`] letters else.
fn nearest<'l>(name: &str, listed: &'l [String]) -> Option<&'l str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let bare = |name: &str| name.rsplit("__").next().map(str::to_owned);
    let meant = plain(name);
    let mut near: Vec<(usize, &str)> = listed
        .iter()
        .filter_map(|tool| {
            let other = plain(tool);
            let distance = if bare(&other) == bare(&meant) {
                0
            } else {
                strsim::osa_distance(&meant, &other)
            };
            (distance <= NEAR).then_some((distance, tool.as_str()))
        })
        .collect();
    near.sort_unstable();
    near.first().map(|(_, tool)| *tool)
}

/// The question that follows, where there is one.
struct Near<'l>(Option<&'l str>);

impl fmt::Display for Near<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |tool| {
            write!(f, ": did you mean {}?", quoted(tool, 200))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn what_was_meant_is_found() {
        let listed = ["mail__send_email", "mail__list", "files__read"].map(str::to_owned);
        for (name, meant) in [
            ("send_email", Some("mail__send_email")),
            ("Mail__send_email", Some("mail__send_email")),
            ("post__send_email", Some("mail__send_email")),
            ("mail__send_emial", Some("mail__send_email")),
            ("mail__send-email", Some("mail__send_email")),
            ("mail__delete_everything", None),
        ] {
            assert_eq!(nearest(name, &listed), meant, "{name}");
        }
    }
}
