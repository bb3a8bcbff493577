//! What several files say about the same option: they have to agree.

use crate::diagnostic::{Sink, Span};
use crate::policy::EffectDefaults;
use crate::read::{Defaults, File, agreed};
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
