//! What several files say about the same option: they have to agree.

use crate::diagnostic::{Sink, SourceMap, Span};
use crate::policy::{EffectDefaults, Rule};
use crate::read::{Defaults, File, RequestKind, agreed, default_rule};
use bouncer_plan::{Effect, Verdict};

/// Whether tools that are always denied are hidden; they are not unless one says so.
pub(super) fn hide_denied(files: &[File], sink: &mut Sink) -> bool {
    let said = files.iter().filter_map(|file| file.hide_denied);
    agreed(said, "hide_denied", sink).is_some_and(|(on, _)| on)
}

/// How much a conversation remembers of what it reads, in MiB.
pub(super) fn provenance_limit(files: &[File], sink: &mut Sink) -> Option<u16> {
    let said = files.iter().filter_map(|file| file.provenance_limit);
    agreed(said, "provenance_limit", sink).map(|(limit, _)| limit)
}

/// Where the files want the audit log.
pub(super) fn audit(files: &[File], sink: &mut Sink) -> Option<String> {
    let said = files
        .iter()
        .filter_map(|file| file.audit.as_ref())
        .map(|(path, span)| (path, *span));
    agreed(said, "audit.path", sink).map(|(path, _)| path.clone())
}

/// Where the files want approvals kept, and how long a human has to decide.
pub(super) fn approval(files: &[File], sink: &mut Sink) -> (Option<String>, Option<u64>) {
    let paths = files
        .iter()
        .filter_map(|file| file.approval_path.as_ref())
        .map(|(path, span)| (path, *span));
    let path = agreed(paths, "approval.path", sink).map(|(path, _)| path.clone());
    let times = files.iter().filter_map(|file| file.approval_timeout_ms);
    let time = agreed(times, "approval.timeoutSeconds", sink).map(|(time, _)| time);
    (path, time)
}

/// What the files say of a kind of requests.
fn said_of<'f>(
    files: &'f [File],
    kind: RequestKind,
) -> impl Iterator<Item = (Verdict, Span)> + use<'f> {
    let defaults = files.iter().filter_map(|file| file.defaults.as_ref());
    let said = defaults.flat_map(|defaults| &defaults.requests);
    said.filter(move |(of, ..)| *of == kind)
        .map(|(_, verdict, span)| (*verdict, *span))
}

/// The keys of `defaults:` that speak of what is no tool, as far as they are written.
pub(super) fn said_of_requests(files: &[File]) -> Vec<&'static str> {
    let said = RequestKind::ALL.into_iter();
    said.filter(|(_, kind)| said_of(files, *kind).next().is_some())
        .map(|(key, _)| key)
        .collect()
}

/// The defaults for what is no tool, as the rules that they are. What servers ask a human
/// follows what they ask the model, where nothing is said of it.
pub(super) fn request_rules(files: &[File], sources: &SourceMap, sink: &mut Sink) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (key, kind) in RequestKind::ALL {
        let said = agreed(said_of(files, kind), &format!("defaults.{key}"), sink);
        let said = match kind {
            RequestKind::Elicitation => {
                said.or_else(|| said_of(files, RequestKind::Sampling).next())
            }
            _ => said,
        };
        rules.extend(said.and_then(|(action, span)| default_rule(kind, action, sources.pos(span))));
    }
    rules
}

/// What holds for calls by what they do, and the account's own addresses.
pub(super) fn effects(files: &[File], sink: &mut Sink) -> EffectDefaults {
    type Said = Vec<(Effect, Verdict, Span)>;
    let mut say = |into: &mut [Verdict], key: &str, get: fn(&Defaults) -> &Said| {
        for (effect, verdict) in Effect::ALL.into_iter().zip(into) {
            let said = files
                .iter()
                .filter_map(|file| file.defaults.as_ref())
                .flat_map(get)
                .filter(|(of, ..)| *of == effect)
                .map(|(_, verdict, span)| (*verdict, *span));
            if let Some((said, _)) = agreed(said, &format!("{key}.{effect}"), sink) {
                *verdict = said;
            }
        }
    };
    let mut defaults = EffectDefaults::default();
    say(&mut defaults.on_effect, "defaults.onEffect", |d| {
        &d.on_effect
    });
    say(
        &mut defaults.after_untrusted,
        "defaults.afterUntrusted",
        |d| &d.after_untrusted,
    );
    let own = files.iter().flat_map(|file| &file.me);
    defaults.me = own.map(|address| address.form.clone()).collect();
    defaults
}
