//! What the code of a verdict means, for people who read it in a log.

/// The codes of verdicts, each with what it says. They are stable words; what stands before
/// the dot is the stage that decided.
pub const VERDICT_CODES: &[(&str, &str)] = &[
    (
        "default",
        "Nothing in the policy objects. Without a rule or a contract that says otherwise, such a call is allowed.",
    ),
    (
        "default.confirm",
        "The tool's contract says `confirm: true`: a human decides on every call.",
    ),
    (
        "malformed",
        "The call is not what the protocol or JSON allows (a duplicate member, a lone surrogate, too deep, too long), so it may mean different things to different readers. It is denied before anything counts.",
    ),
    (
        "internal",
        "The plan contradicts itself, which no plan that was loaded does. Please report it; the call is denied.",
    ),
    (
        "proxy",
        "No policy was asked: the call could not be made at all, or not by this client. The reason says why, for instance that the server is still starting.",
    ),
    (
        "halted",
        "The user has stopped all calls, or those of this server, with `bouncer halt`. `bouncer resume` ends it.",
    ),
    (
        "guarded",
        "The call names what is bouncer's own: its folder, the approvals or their key, the link of its page, or an address that it listens at. No policy is asked.",
    ),
    (
        "pinning.unknown",
        "The tool is not in the lock: it is new, and nobody has looked at it. `bouncer pin --accept` takes it in.",
    ),
    (
        "pinning.changed",
        "The tool's definition is not the one in the lock. `bouncer pin` shows what changed, `--accept` takes it in.",
    ),
    (
        "constraint.path",
        "An argument of `write_params` names a file outside of `allowed_path_prefixes`, or none that can be told for certain.",
    ),
    (
        "constraint.pattern",
        "An argument does not match its pattern in `arg_patterns` as a whole.",
    ),
    (
        "constraint.dispatch",
        "The tool calls another, and which, or with what, cannot be read, or calls within calls go too deep.",
    ),
    (
        "budget.max_calls",
        "The tool was called as often as `max_calls` allows in one conversation.",
    ),
    (
        "budget.rate",
        "The tool was called as often as `rate` allows in that time.",
    ),
    (
        "budget.uncounted",
        "Budgets are shared with other processes, and this attempt could not be counted there.",
    ),
    (
        "rule.matched",
        "A rule matched, the first that did. `at` names it.",
    ),
    (
        "rule.default",
        "No rule matched, so `defaults` decided: `onDestructiveHint` for a tool that calls itself destructive, else `onUnknown`.",
    ),
    (
        "sink_gate.no_destination",
        "The tool sends something out, and no destination stands where its contract looks for one.",
    ),
    (
        "sink_gate.unproven",
        "Nobody vouched for the destination: it is not in `trusted_destinations`, and it was not seen in what was read. A human is asked.",
    ),
    (
        "sink_gate.observed",
        "The destination was seen in something that is merely observed, such as a sender: neither vouched for nor written by an outsider as text. A human is asked.",
    ),
    (
        "sink_gate.tainted",
        "The destination came from untrusted text that the agent read. It is denied, or asked about where `on_tainted: ask` says so.",
    ),
    (
        "effect.target",
        "After untrusted text was read, the call goes to several places, or does more, and nothing vouches for one of them: nobody typed it, no trusted record has it.",
    ),
    (
        "effect.read_target",
        "After untrusted text was read, the call is about something that stands in it, such as the number of a message. A human is asked.",
    ),
    (
        "effect.tainted",
        "The call goes to an address that stands in untrusted text. It is denied.",
    ),
    (
        "effect.unvouched",
        "The effect cannot be taken back (it runs, pays, deletes, or changes access), and nothing vouches for what it is done to. `defaults.onEffect` says otherwise.",
    ),
    (
        "effect.no_target",
        "After untrusted text was read, the call sends something out, and does not say where to.",
    ),
    (
        "effect.not_asked",
        "After untrusted text was read, the call has an effect that the user's own words do not name. It is denied, or asked about where its target is vouched for.",
    ),
    (
        "effect.carries",
        "What the call sends carries an address that stands in what was read. A human is asked.",
    ),
    (
        "effect.private",
        "What the call sends carries a private value that was read. A human is asked.",
    ),
    (
        "effect.copied",
        "What the call writes stands in what was read. `defaults: {afterUntrusted: {write: allow}}` turns the question off.",
    ),
    (
        "hook.unread",
        "Part of what a command does cannot be read for certain, so a human is asked. The reason says which part.",
    ),
];

/// What a verdict's code means.
#[must_use]
pub fn explain_verdict(code: &str) -> Option<&'static str> {
    let mut all = VERDICT_CODES.iter();
    all.find(|(name, _)| *name == code).map(|(_, text)| *text)
}
