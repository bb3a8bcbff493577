//! How an entry stands, in a sentence for its owner.

use crate::clients::Kind;
use crate::clients::remote::Remote;
use bouncer_reader::shown::escape;

/// What an entry that is left alone is.
#[must_use]
pub fn standing(kind: &Kind) -> String {
    match kind {
        Kind::Plain(_) => "not guarded".to_owned(),
        Kind::Wrapped { .. } => "already guarded".to_owned(),
        Kind::Stashed(_) => "already guarded, by an older `init`".to_owned(),
        Kind::Bouncer { subcommand, .. } => format!("is `bouncer {}` itself", escape(subcommand)),
        Kind::Fronted { .. } => "already guarded".to_owned(),
        Kind::Remote(Remote {
            unreachable: Some(why),
            ..
        }) => format!("not guarded: {why}"),
        Kind::Remote(remote) => format!(
            "not guarded: it is reached at {}; {INSTEAD}",
            escape(&remote.url)
        ),
        Kind::Other(why) => format!("not guarded: {}", escape(&why.to_string())),
    }
}

/// What to do about a server that is reached at a URL and stays as it is.
pub const INSTEAD: &str = "with a token of your own for it, in its `headers`, `bouncer init` guards it, and so does a gateway's policy, \
    `servers: {NAME: {url: …, headers: {…}}}`";
