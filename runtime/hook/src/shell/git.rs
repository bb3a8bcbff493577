//! `git`: which of its verbs, options and settings start nothing, and what they reach.

use super::Word;
use super::command::Command;
use super::listed;
use super::options::{Parsed, Role, Style, parse};
use super::reach::{paths, place, remote};
use super::reader::Unread;
use crate::disk::Below;

/// What a verb's operands are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Commits and files that are looked at.
    Reads,
    /// Commits and files that may be written.
    Writes,
    /// Names.
    Names,
    /// A repository elsewhere, and what is fetched from it.
    Fetch,
    /// A repository elsewhere, and a directory for its copy.
    Clone,
    /// A repository elsewhere, and what is sent there.
    Push,
    /// A verb of its own.
    Own,
}

/// Verbs, the options of each, and what the operands are.
const VERBS: &[(&str, &str, Kind)] = &[
    (
        "status",
        "sbvuz ahead-behind no-ahead-behind renames no-renames find-renames? column? null short branch long porcelain? ignored? untracked-files? u? show-stash",
        Kind::Reads,
    ),
    (
        "log show diff shortlog whatchanged rev-list diff-tree diff-index diff-files range-diff reflog show-branch",
        "pucsnezwbRrtmgiEF0123456789aq n= S= G= L= U? M? C? B? A= l= oneline stat? numstat shortstat name-only name-status graph all \
         decorate? no-decorate format= pretty? abbrev-commit abbrev? since= until= after= before= author= committer= grep= reverse \
         merges no-merges first-parent follow patch no-patch cached staged word-diff? color? no-color diff-filter= max-count= skip= \
         unified= ignore-all-space ignore-space-change ignore-blank-lines summary date= left-right cherry cherry-pick branches? tags? \
         remotes? simplify-by-decoration topo-order date-order count check exit-code quiet no-ext-diff no-textconv minimal patience \
         histogram relative? merge-base no-renames find-renames? no-index ancestry-path cc raw root not numbered email show-signature dirstat? compact-summary objects \
         summary word-diff-regex= function-context full-index binary reflog walk-reflogs encoding= parents children boundary \
         no-patch notes? no-notes submodule? full-history show-pulls source use-mailmap no-mailmap inter-hunk-context= \
         color-words? no-prefix output-indicator-new= pickaxe-regex pickaxe-all regexp-ignore-case extended-regexp all-match \
         invert-grep merge current independent sha1-name more= list topics disk-usage? max-parents= min-parents= no-stat \
         color-moved? ws-error-highlight= text ita-invisible-in-index break-rewrites? find-copies? line-prefix= \
         simplify-merges objects-edge use-bitmap-index glob= exclude=",
        Kind::Reads,
    ),
    (
        "blame annotate",
        "wCMlsefptn L= porcelain date= since=",
        Kind::Reads,
    ),
    (
        "grep",
        "niIlLcwvEFPGhHopq0 e= A= B= C= m= max-depth= count cached untracked no-index? ignore-case files-with-matches heading break \
         line-number all-match and or not name-only word-regexp show-function",
        Kind::Reads,
    ),
    (
        "ls-files ls-tree cat-file rev-parse show-ref for-each-ref merge-base name-rev describe check-ignore count-objects symbolic-ref \
         check-attr var verify-commit cherry hash-object",
        "cdmoskturptezqvlbf0aH n human-readable cached deleted modified others ignored stage exclude-standard full-name name-only abbrev? verify short? \
         show-toplevel show-prefix show-cdup git-dir absolute-git-dir is-inside-work-tree abbrev-ref? symbolic-full-name all heads tags? \
         always dirty? long match= exact-match contains? count= sort= format= points-at= merged? is-ancestor fork-point octopus \
         batch-check? git-common-dir show-superproject-working-tree error-unmatch exclude= others eol batch? is-inside-git-dir \
         is-bare-repository resolve-git-dir= show-object-format? local-env-vars git-path= candidates= first-parent tags dereference \
         exists name-status directory no-empty-directory deduplicate sparse resolve-undo killed ignore-case no-merged? \
         count= all-match points-at= shell perl quiet object-only stdin verbose non-matching",
        Kind::Reads,
    ),
    (
        "add stage",
        "AunvNpfi all update dry-run verbose intent-to-add patch force",
        Kind::Reads,
    ),
    (
        "commit",
        "avqsepno m= F=r C= c= amend no-edit message= file=r author= date= signoff allow-empty allow-empty-message quiet verbose all \
         fixup= squash= trailer= dry-run no-verify patch only include status no-status short",
        Kind::Reads,
    ),
    (
        "branch",
        "arvdDmMcCfqlut all remotes verbose delete move copy list show-current force merged? no-merged? contains? no-contains? sort= \
         format= set-upstream-to= unset-upstream track? no-track points-at= color? quiet",
        Kind::Names,
    ),
    (
        "tag",
        "ladfnv m= F=r n? list delete annotate force message= sort= contains? points-at= merged? format= verify",
        Kind::Names,
    ),
    (
        "checkout switch restore",
        "qfpdtWSb B= C= c= s= b= detach force quiet track? no-track create= orphan= source= staged worktree ours theirs patch merge \
         discard-changes guess no-guess ignore-unmerged overlay no-overlay progress no-progress",
        Kind::Writes,
    ),
    (
        "rm mv",
        "frnqvk cached force dry-run quiet ignore-unmatch",
        Kind::Writes,
    ),
    (
        "merge cherry-pick revert",
        "nqvexs m= X= s= no-ff ff ff-only squash no-commit commit no-edit edit abort continue quit skip message= strategy= \
         strategy-option= signoff quiet verbose stat no-stat allow-unrelated-histories mainline=",
        Kind::Names,
    ),
    (
        "reset",
        "qpN hard soft mixed keep merge quiet patch",
        Kind::Writes,
    ),
    (
        "clean",
        "ndfxXqi e= dry-run force quiet interactive exclude=",
        Kind::Writes,
    ),
    (
        "rebase",
        "qnifv X= s= onto= continue abort skip quit autosquash autostash no-autostash root interactive \
         no-rebase-merges rebase-merges? keep-base quiet verbose strategy= strategy-option=",
        Kind::Writes,
    ),
    (
        "stash",
        "upqakm= m= include-untracked all keep-index patch quiet message= index staged stat",
        Kind::Own,
    ),
    (
        "fetch",
        "aptqvnfj all prune tags no-tags depth= quiet verbose force dry-run unshallow jobs= prune-tags multiple progress",
        Kind::Fetch,
    ),
    (
        "pull",
        "qvnr rebase? no-rebase ff ff-only no-ff all tags depth= autostash no-edit quiet verbose prune allow-unrelated-histories",
        Kind::Fetch,
    ),
    (
        "ls-remote",
        "htqs heads tags refs quiet symref exit-code sort=",
        Kind::Fetch,
    ),
    (
        "clone",
        "qvnls b= o= j= depth= branch= single-branch no-single-branch no-tags recurse-submodules? recursive shallow-submodules quiet progress bare mirror filter= no-checkout sparse",
        Kind::Clone,
    ),
    (
        "push",
        "qvnfu o= all tags follow-tags force force-with-lease? set-upstream delete d dry-run quiet verbose no-verify porcelain progress atomic prune mirror",
        Kind::Push,
    ),
    ("init", "q b= initial-branch= quiet bare", Kind::Writes),
    (
        "archive",
        "lv o=w output=w format= prefix= verbose list",
        Kind::Reads,
    ),
    (
        "format-patch",
        "nkspv0123456789 o=t output-directory=t stdout cover-letter signoff subject-prefix= root numbered",
        Kind::Reads,
    ),
    (
        "worktree",
        "fqnvbd b= B= porcelain force detach quiet checkout track no-checkout",
        Kind::Own,
    ),
    ("remote", "vfn verbose all push", Kind::Own),
    ("submodule", "q quiet init recursive cached", Kind::Own),
    (
        "config",
        "lz get get-all get-regexp get-urlmatch includes no-includes null list show-origin show-scope local global system name-only type= unset",
        Kind::Own,
    ),
    ("bisect", "-", Kind::Own),
    ("apply", "v check stat numstat summary", Kind::Reads),
    (
        "version fsck gc",
        "vqH auto full quiet human-readable build-options no-dangling unreachable connectivity-only",
        Kind::Names,
    ),
    ("notes", "q ref=", Kind::Own),
    ("maintenance", "q auto quiet task= schedule=", Kind::Own),
    ("help", "ag all guides", Kind::Names),
    ("sparse-checkout lfs", "q", Kind::Own),
    (
        "update-index",
        "qg refresh really-refresh unmerged again skip-worktree no-skip-worktree assume-unchanged no-assume-unchanged",
        Kind::Names,
    ),
    (
        "interpret-trailers stripspace patch-id mktree write-tree commit-graph multi-pack-index verify-tag verify-pack",
        "scv parse only-input trim-empty",
        Kind::Names,
    ),
];

/// Options in front of the verb.
const GLOBAL: &str =
    "Phv C=t c= no-pager no-optional-locks literal-pathspecs no-replace-objects version help";

/// Beginnings of settings that name no programs, files or hosts.
const SETTINGS: [&str; 16] = [
    "user.name",
    "user.email",
    "color.",
    "advice.",
    "log.date",
    "init.defaultbranch",
    "core.quotepath",
    "core.autocrlf",
    "core.filemode",
    "core.ignorecase",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "rerere.enabled",
    "branch.autosetup",
];

fn plain_setting(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SETTINGS.iter().any(|known| name.starts_with(known)) || name == "commit.gpgsign"
}

/// Reads a command of git.
pub(super) fn git(command: &mut Command, args: &[Word]) -> Result<(), Unread> {
    let before = parse("git", GLOBAL, Style::Leading, false, args)?;
    let mut at = String::new();
    for (option, _, value) in &before.values {
        match option.as_str() {
            "C" if value.dynamic || value.pattern => {
                return Err("it goes to a directory that is only known when it runs".to_owned());
            }
            "C" => at = place(&at, &value.text),
            _ if value.dynamic || !plain_setting(&value.text) => {
                return Err(format!(
                    "`git -c {}` can name programs to start",
                    value.text
                ));
            }
            _ => {}
        }
    }
    let rest = args
        .get(args.len() - before.operands.len()..)
        .unwrap_or_default();
    let Some((verb, rest)) = rest.split_first() else {
        return Ok(());
    };
    let name = verb.text.as_str();
    let known = VERBS.iter().find(|(names, _, _)| {
        !verb.dynamic && names.split_ascii_whitespace().any(|known| known == name)
    });
    let Some((_, options, kind)) = known else {
        return Err(format!("`git {name}` is not known"));
    };
    command.verb = name.to_owned();
    // Settings of a repository can name programs.
    command.runs.push(place(&at, "."));
    let parsed = parse(&format!("git {name}"), options, Style::Usual, false, rest)?;
    command.described(&parsed.shown, parsed.texts());
    named(command, name, &parsed);
    let mut verb = Verb {
        name,
        at: &at,
        command,
    };
    verb.values(&parsed)?;
    verb.operands(*kind, &parsed)
}

/// Which words of a verb name files.
fn named(command: &mut Command, verb: &str, parsed: &Parsed<'_>) {
    let words = parsed.texts();
    let before = parsed.before.unwrap_or(words.len());
    let (front, behind) = words.split_at(before.min(words.len()));
    match verb {
        "checkout" => {
            let branch = ["b", "B", "orphan", "detach", "d", "t", "track"];
            let valued = parsed
                .values
                .iter()
                .any(|(option, _, _)| branch.contains(&option.as_str()));
            command.paths.extend(behind.iter().cloned());
            if parsed.has(&branch) || valued {
                return;
            }
            // The first may be a commit, the others are files.
            let surely = |word: &str| {
                matches!(word, "." | ":/" | "*")
                    || word.starts_with(['.', ':', '*'])
                    || word.ends_with('/')
                    || word.contains(['*', '?'])
            };
            for (at, word) in front.iter().enumerate() {
                if at > 0 || surely(word) {
                    command.paths.push(word.clone());
                } else {
                    command.maybe.push(word.clone());
                }
            }
        }
        "restore" | "rm" | "mv" | "add" | "stage" | "clean" => command.paths.extend(words),
        "reset" | "diff" | "log" | "show" | "stash" | "commit" | "grep" => {
            command.paths.extend(behind.iter().cloned());
        }
        _ => {}
    }
}

struct Verb<'a> {
    name: &'a str,
    /// The directory that `-C` names.
    at: &'a str,
    command: &'a mut Command,
}

impl Verb<'_> {
    fn reads(&mut self, words: &[&Word]) {
        let at = self.at;
        self.command
            .reads
            .extend(words.iter().map(|word| place(at, &word.text)));
    }

    fn writes(&mut self, words: &[&Word]) -> Result<(), Unread> {
        for path in paths("git", words)? {
            self.command.writes.push(place(self.at, &path));
        }
        Ok(())
    }

    fn values(&mut self, parsed: &Parsed<'_>) -> Result<(), Unread> {
        for (_, role, value) in &parsed.values {
            match role {
                Role::Read => self.reads(&[value]),
                Role::Write | Role::Target => self.writes(&[value])?,
                _ => {}
            }
        }
        Ok(())
    }

    fn operands(&mut self, kind: Kind, parsed: &Parsed<'_>) -> Result<(), Unread> {
        let operands = parsed.operands.as_slice();
        let first = operands.first().copied();
        match kind {
            Kind::Reads
                if self.name == "apply"
                    && !parsed.has(&["check", "stat", "numstat", "summary"]) =>
            {
                return Err("which files a patch changes is not known".to_owned());
            }
            Kind::Reads => {
                let outside = parsed.has(&["no-index", "untracked"]);
                let adds = matches!(self.name, "add" | "stage");
                if self.name == "grep" && outside || adds {
                    self.command.deep = true;
                    self.command.reads.push(place(self.at, "."));
                    self.command.below = Some(Below {
                        hidden: true,
                        ignored: parsed.has(&["f", "force"]),
                        // What is committed is only told to others by a push.
                        own: !adds,
                        ..Below::default()
                    });
                }
                self.reads(operands);
                if self.name == "ls-files" {
                    let others = parsed.has(&["o", "others"]);
                    let exclude = parsed.has(&["exclude-standard"]);
                    self.command.lists = Some(Below {
                        hidden: true,
                        ignored: others && !exclude,
                        own: true,
                        tracked: !others,
                        ..Below::default()
                    });
                    if operands.is_empty() {
                        self.command.listed.push(place(self.at, "."));
                    }
                } else if parsed.has(&["name-only", "name-status", "l", "files-with-matches"])
                    || matches!(self.name, "status" | "ls-tree")
                {
                    self.command.lists = Some(listed::nothing());
                }
            }
            Kind::Names => {}
            Kind::Writes => {
                self.writes(operands)?;
                if operands.is_empty() && self.name == "init" {
                    self.command.writes.push(place(self.at, "."));
                }
            }
            // Where a remote leads whose name is configured, was decided by whoever did that.
            Kind::Fetch => {
                if let Some(word) = first {
                    remote(self.command, word)?;
                }
            }
            Kind::Clone => {
                let Some(word) = first else { return Ok(()) };
                remote(self.command, word)?;
                match operands.get(1) {
                    Some(to) => self.writes(&[to])?,
                    None => {
                        let name = word.text.trim_end_matches('/').rsplit(['/', ':']).next();
                        let name = name.unwrap_or_default().trim_end_matches(".git");
                        self.writes(&[&Word {
                            text: format!("./{name}"),
                            ..word.clone()
                        }])?;
                    }
                }
            }
            Kind::Push => {
                self.command.connects = true;
                self.command.sends = true;
                match first {
                    Some(word)
                        if word.text.contains(':') || word.text.contains('/') || word.dynamic =>
                    {
                        remote(self.command, word)?;
                        if self.command.destinations.is_empty() {
                            self.command
                                .destinations
                                .push(format!("git remote {}", word.text));
                        }
                    }
                    Some(word) => self
                        .command
                        .destinations
                        .push(format!("git remote {}", word.text)),
                    None => self
                        .command
                        .destinations
                        .push("git remote origin".to_owned()),
                }
            }
            Kind::Own => return self.own(parsed),
        }
        Ok(())
    }

    /// Verbs with verbs.
    fn own(&mut self, parsed: &Parsed<'_>) -> Result<(), Unread> {
        let operands = parsed.operands.as_slice();
        let inner = operands.first().map_or("", |word| word.text.as_str());
        let unknown = || format!("`git {} {inner}` is not known", self.name);
        match (self.name, inner) {
            (
                "stash",
                "" | "push" | "list" | "show" | "pop" | "apply" | "drop" | "clear" | "branch"
                | "create" | "store",
            ) => {
                let files = operands.get(1..).unwrap_or_default();
                if inner == "push" || inner.is_empty() {
                    self.writes(files)?;
                }
                Ok(())
            }
            ("worktree", "list" | "prune") => Ok(()),
            ("worktree", "add" | "remove" | "move") => {
                self.writes(operands.get(1..).unwrap_or_default())
            }
            (
                "remote",
                "" | "show" | "get-url" | "remove" | "rm" | "rename" | "prune" | "update",
            ) => Ok(()),
            ("remote", "add" | "set-url") => match operands.get(2) {
                Some(url) => remote(self.command, url),
                None => Err(unknown()),
            },
            ("submodule", "" | "status" | "summary" | "init" | "sync") => Ok(()),
            ("submodule", "update") => {
                self.command.connects = true;
                self.command.destinations.push("git submodules".to_owned());
                Ok(())
            }
            ("bisect", "start" | "good" | "bad" | "reset" | "skip" | "log" | "new" | "old") => {
                Ok(())
            }
            // The others have it run by itself from then on.
            ("maintenance", "run" | "stop" | "unregister") => Ok(()),
            ("notes", "" | "list" | "show") => Ok(()),
            ("sparse-checkout", "list") | ("lfs", "ls-files" | "status" | "env" | "locks") => {
                Ok(())
            }
            ("config", _) => {
                let reads =
                    parsed.has(&["get", "get-all", "get-regexp", "get-urlmatch", "list", "l"]);
                let names = if matches!(inner, "get" | "list") {
                    2
                } else {
                    1
                };
                if reads || operands.len() <= names && inner != "edit" {
                    return Ok(());
                }
                let own = !parsed.has(&["global", "system", "unset"]);
                if own && operands.len() == 2 && plain_setting(inner) {
                    return Ok(());
                }
                Err("`git config` can name programs to start".to_owned())
            }
            _ => Err(unknown()),
        }
    }
}
