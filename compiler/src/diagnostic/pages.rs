//! The pages of the codes: data for `bouncer explain` and for the documentation.

use super::{Code, Page};

/// A page. `severity` follows from the code.
const fn page(
    code: Code,
    title: &'static str,
    [means, why, example, fix]: [&'static str; 4],
) -> Page {
    Page {
        code,
        severity: code.severity(),
        title,
        means,
        why,
        example,
        fix,
    }
}

/// All pages, by code.
pub(super) const PAGES: &[Page] = &[
    page(
        Code::SYNTAX,
        "the file is not YAML",
        [
            "The YAML parser stopped at the marked place.",
            "A policy that is read only in part would protect only in part, so nothing of it is used.",
            "send_email:\n  sink_params: [to, cc\n",
            "Close the bracket or quote, or indent with spaces: YAML does not allow tabs.",
        ],
    ),
    page(
        Code::DUPLICATE_KEY,
        "a key stands twice",
        [
            "The same key stands twice in one mapping; both places are shown.",
            "Most YAML readers silently keep one of the two. In a policy the lost one may be the strict one.",
            "send_email: {exfiltrating: true, sink_params: [to]}\nsend_email: {max_calls: 3}\n",
            "Join the two entries, or rename one.",
        ],
    ),
    page(
        Code::SEVERAL_DOCUMENTS,
        "several documents in one file",
        [
            "A line `---` starts a second YAML document.",
            "A policy file is one document. Which of several applies would be a guess.",
            "read_file: {max_calls: 3}\n---\nsend_email: {exfiltrating: true}\n",
            "Join the documents, or write them to separate files and name all of them.",
        ],
    ),
    page(
        Code::TAG,
        "a YAML tag",
        [
            "The value carries a YAML tag such as `!!python/object` or `!env`.",
            "Policies have no use for tags; ignoring one could change what is meant.",
            "read_file: {max_calls: !secret 3}\n",
            "Remove the tag. `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq` and `!!map` are accepted where the value is of that kind.",
        ],
    ),
    page(
        Code::ALIAS,
        "an alias that cannot be followed",
        [
            "A YAML alias `*name` stands inside its own anchor, or aliases repeat so much text that the file would explode.",
            "A few hundred bytes of nested aliases can take up all memory.",
            "read_file: &self {arg_patterns: *self}\n",
            "Write the repeated part out. In a native policy, `lists:` serve the purpose better.",
        ],
    ),
    page(
        Code::TOO_DEEP,
        "nested too deeply",
        [
            "The file nests lists or mappings more than 64 deep.",
            "No policy needs that, and deep nesting is a way to exhaust the reader.",
            "a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
            "Remove the nesting.",
        ],
    ),
    page(
        Code::TOO_LARGE,
        "the file is too large",
        [
            "A policy file has at most 8 MiB, and some single values have limits of their own.",
            "A file of that size is not a policy; the limit keeps a wrong path from eating all memory.",
            "",
            "Check that the path names a policy. Split a policy that is really that large into several files.",
        ],
    ),
    page(
        Code::EMPTY,
        "the policy is empty",
        [
            "The file holds nothing, or comments only.",
            "An empty policy protects nothing. It is more often a wrong path or a failed write than a wish.",
            "# to be written\n",
            "Write a policy, for example `send_email: {exfiltrating: true, sink_params: [to]}`. If you do want a file without entries, write `{}`.",
        ],
    ),
    page(
        Code::NOT_A_MAPPING,
        "the top of the file is not a mapping",
        [
            "A policy file maps names to values at its top level; this one is a list or a single value.",
            "Nothing of the file could be used.",
            "- send_email\n- read_file\n",
            "Write `tool: {…}` entries, or `rules:` with the list below it.",
        ],
    ),
    page(
        Code::MERGE_KEY,
        "a merge key",
        [
            "The merge key `<<` is understood in contract files only, with an alias of a mapping or a list of them.",
            "YAML 1.2 has no merge keys, so readers of rules silently ignore what they would add.",
            "rules:\n  - <<: {action: deny}\n    tool: \"shell__*\"\n    action: deny\n",
            "Write the keys out.",
        ],
    ),
    page(
        Code::KEY_NOT_TEXT,
        "a key that is not text",
        [
            "The key is a number, a bool, null, a date, a list or a mapping, or a word that YAML 1.1 reads as a bool.",
            "Names of tools and arguments are text. Some YAML readers take `yes:` for the bool true, so that the contract never applies.",
            "yes: {max_calls: 1}\n",
            "Quote the key.",
        ],
    ),
    page(
        Code::UNKNOWN_KEY,
        "unknown key",
        [
            "The key means nothing at this place.",
            "A misspelt key that is ignored switches off what it should switch on: `exfiltrate:` for `exfiltrating:` leaves the sink gate open.",
            "send_email: {exfiltrate: true, sink_params: [to]}\n",
            "Use the key that the message suggests, or remove it.",
        ],
    ),
    page(
        Code::WRONG_TYPE,
        "a value of the wrong type",
        [
            "The value is a list where a text belongs, null where a mapping belongs, and so on.",
            "A value of the wrong type was silently replaced by nothing in older tools: `sink_params: to` declared no sinks.",
            "send_email: {exfiltrating: true, sink_params: to}\n",
            "Write the value in the form that the message names.",
        ],
    ),
    page(
        Code::MISSING_KEY,
        "a missing key",
        [
            "The entry lacks a key that it cannot do without.",
            "A rule without an action, or without a tool, decides nothing.",
            "rules:\n  - tool: \"postgres__query\"\n",
            "Add the key.",
        ],
    ),
    page(
        Code::NOT_ONE_OF,
        "not one of the allowed words",
        [
            "Only certain words are allowed here, in this spelling.",
            "Guessing what `Deny` or `block` should mean is not for a gate to do.",
            "rules:\n  - {tool: \"shell__*\", action: Deny}\n",
            "Use one of the words that the message lists.",
        ],
    ),
    page(
        Code::NUMBER,
        "a number that does not fit",
        [
            "The number is negative, fractional, too large, or written in a way that YAML versions read differently.",
            "`max_calls: 2.0` and `max_calls: \"2\"` meant *unlimited* to an older tool, `1:30` meant 90.",
            "delete_file: {max_calls: -1}\n",
            "Write a whole decimal number without leading zeros.",
        ],
    ),
    page(
        Code::EMPTY_TEXT,
        "an empty text",
        [
            "The text is empty where it has to say something.",
            "An empty tool name or command matches or starts nothing; an empty `contains` is true of every text.",
            "rules:\n  - {tool: \"\", action: deny}\n",
            "Write the text, or remove the key.",
        ],
    ),
    page(
        Code::VERSION,
        "unknown version",
        [
            "Native policies start with `version: 1`; this file has another version or none.",
            "A later format may give the same keys another meaning.",
            "version: 2\nrules: []\n",
            "Write `version: 1`.",
        ],
    ),
    page(
        Code::AMBIGUOUS_PLAIN,
        "text that YAML versions read differently",
        [
            "Without quotes, YAML 1.1 reads the value as a bool or a number, YAML 1.2 as text (or as another number).",
            "Contract files were read by a YAML 1.1 reader, which turned `on` into `True` and `010` into 8.",
            "send_email: {exfiltrating: true, sink_params: [on, to]}\n",
            "Quote the value if you mean the text. Write `true` or `false` if you mean a bool.",
        ],
    ),
    page(
        Code::NAME,
        "a name with characters that do not show",
        [
            "The name holds white space, control or invisible characters at a place where they are surely a mistake.",
            "Two names that look alike but differ are two tools, and one of them has no contract.",
            "\"send_email \": {exfiltrating: true}\n",
            "Retype the name.",
        ],
    ),
    page(
        Code::WILDCARD,
        "a `*` that means nothing",
        [
            "In a trusted destination, `*` may only stand first and be followed by `@domain` or `.domain`.",
            "`*corp.com` would also trust `evilcorp.com`; a `*` elsewhere would be compared as a star and never match.",
            "send_email:\n  exfiltrating: true\n  sink_params: [to]\n  trusted_destinations: [\"*corp.com\"]\n",
            "Write `*@corp.com` for any address at this domain, `*.corp.com` for any host below it, or the whole value.",
        ],
    ),
    page(
        Code::DESTINATION_SPACE,
        "white space around a trusted destination",
        [
            "The trusted destination starts or ends with white space.",
            "Destinations are compared byte for byte as they are forwarded, so this entry does not match what it seems to say.",
            "send_email:\n  exfiltrating: true\n  sink_params: [to]\n  trusted_destinations: [\"alice@corp.com \"]\n",
            "Remove the white space.",
        ],
    ),
    page(
        Code::EMPTY_PREFIX,
        "an empty path prefix",
        [
            "An entry of `allowed_path_prefixes` is empty.",
            "It would allow every path.",
            "write_file: {write_params: [path], allowed_path_prefixes: [\"\"]}\n",
            "Name a folder. `.` means \"below the working folder\", `/` means every absolute path.",
        ],
    ),
    page(
        Code::REGEX,
        "a regular expression that does not compile",
        [
            "The pattern is malformed, or uses look-around or back-references, which cannot run in linear time.",
            "A pattern that is skipped protects nothing; one that backtracks can stop the gate.",
            "rules:\n  - {tool: \"*\", match: {args.q: {regex: \"(drop\"}}, action: deny}\n",
            "Correct the pattern at the marked place. `(?!…)` can often be written as a second test with `notRegex`.",
        ],
    ),
    page(
        Code::RATE,
        "a rate that cannot be read",
        [
            "A rate is `count/unit`: a whole number from 1, a slash, and `s`, `sec`, `min`, `h`, `hour` or `day`.",
            "A rate that is not understood limits nothing.",
            "version: 1\ntools:\n  send_email: {rate: 5 per minute}\n",
            "Write for example `5/min`, or a list: `[5/min, 100/day]`.",
        ],
    ),
    page(
        Code::PATH,
        "an argument path that cannot be read",
        [
            "A path is keys joined by dots, with `[*]` for each element and `[0]` for one; `[\"a.b\"]` is a key with a dot in it.",
            "A path that names nothing tests nothing.",
            "version: 1\nrules:\n  - {tool: \"*\", match: {args..query: {contains: x}}, action: deny}\n",
            "Correct the path.",
        ],
    ),
    page(
        Code::EXTENDS,
        "nothing to extend",
        [
            "`extends: pack` merges the entry with the pack's entry for the same tool, and there is none.",
            "The entry would be without the protection that its author counts on.",
            "version: 1\ntools:\n  no_such_tool: {extends: pack, max_calls: 3}\n",
            "Check the spelling and the `packs:` list, or write the contract out without `extends`.",
        ],
    ),
    page(
        Code::HALF_CONFINEMENT,
        "half a path confinement",
        [
            "`write_params` without `allowed_path_prefixes` confines nothing, and neither do prefixes without parameters.",
            "The entry looks as if it confined paths.",
            "write_file: {write_params: [path]}\n",
            "Add the missing key.",
        ],
    ),
    page(
        Code::SINKS_WITHOUT_GATE,
        "sinks without the gate",
        [
            "The contract names sinks or trusted destinations, but is not `exfiltrating: true`.",
            "The sink gate is off for this tool: its destinations are not checked.",
            "send_email: {sink_params: [to]}\n",
            "Add `exfiltrating: true`, or remove the sinks.",
        ],
    ),
    page(
        Code::EMPTY_CONDITION,
        "a condition without a test",
        [
            "An entry of `match:` has no test.",
            "It is always true, so the rule is wider than it looks.",
            "rules:\n  - {tool: \"*\", match: {args.q: {}}, action: deny}\n",
            "Add `regex`, `notRegex`, `equals` or `contains`, or remove the entry.",
        ],
    ),
    page(
        Code::EQUALS_NOT_SCALAR,
        "`equals` with a list or a mapping",
        [
            "`equals` compares with one text, number, bool or null.",
            "A list never equals an argument, so the rule would never match.",
            "rules:\n  - {tool: \"*\", match: {args.env: {equals: [prod, live]}}, action: deny}\n",
            "Use `regex: \"^(prod|live)$\"`, or `in: [prod, live]` in a native policy.",
        ],
    ),
    page(
        Code::CONDITION,
        "a condition that cannot be read",
        [
            "The text of `when:` is not a condition; the place is marked.",
            "A rule whose condition is not understood cannot be judged.",
            "version: 1\nrules:\n  - {tool: \"*\", when: \"args.amount >\", action: ask}\n",
            "Correct the condition.",
        ],
    ),
    page(
        Code::UNKNOWN_LIST,
        "an unknown list",
        [
            "`@name` refers to an entry of `lists:`, and there is none with this name.",
            "An allowlist that does not exist allows nothing; a blocklist that does not exist blocks nothing.",
            "version: 1\ntools:\n  send_email: {exfiltrating: true, trusted_destinations: [\"@partners\"]}\n",
            "Define the list, or correct its name. A text that starts with `@` is written `@@…`.",
        ],
    ),
    page(
        Code::LIST_CYCLE,
        "lists in a circle",
        [
            "A list refers to itself, directly or through others.",
            "It has no contents.",
            "version: 1\nlists:\n  a: [\"@b\"]\n  b: [\"@a\"]\n",
            "Remove one of the references.",
        ],
    ),
    page(
        Code::GLOB,
        "a tool glob that cannot be read",
        [
            "In a native policy `[` starts a set such as `[a-z]`, which has to be closed.",
            "The rule would match no tool.",
            "version: 1\nrules:\n  - {tool: \"shell__[ab\", action: deny}\n",
            "Close the set. `[[]` matches a bracket.",
        ],
    ),
    page(
        Code::ODD_GLOB,
        "a tool glob with characters that do not show",
        [
            "The glob holds white space, control or invisible characters.",
            "Globs are compared byte for byte. No tool has such a name, so the rule never matches.",
            "rules:\n  - {tool: \"shell__* \", action: deny}\n",
            "Retype the glob.",
        ],
    ),
    page(
        Code::ODD_PATH,
        "an argument path with an empty step",
        [
            "The path is empty, or has two dots in a row or one at its end.",
            "It names a member whose name is the empty text. Hardly any tool has one, so the test looks at nothing.",
            "rules:\n  - {tool: \"*\", match: {args..query: {contains: drop}}, action: deny}\n",
            "Correct the path.",
        ],
    ),
    page(
        Code::ALWAYS_TRUE,
        "a test that is always true",
        [
            "`contains` or `regex` with an empty text holds for every text.",
            "The rule is wider than it looks.",
            "rules:\n  - {tool: \"*\", match: {args.q: {contains: \"\"}}, action: allow}\n",
            "Write what the text should contain, or remove the test.",
        ],
    ),
    page(
        Code::TOOL_TWICE,
        "one tool in two files",
        [
            "Two of the files define the same tool.",
            "Which of the two should hold would depend on the order of the files.",
            "# file: a.yaml\nsend_email: {exfiltrating: true}\n# file: b.yaml\nsend_email: {max_calls: 3}\n",
            "Keep the entry in one file.",
        ],
    ),
    page(
        Code::FILES_DIFFER,
        "files contradict each other",
        [
            "Two of the files set the same option to different values.",
            "Which of the two should hold would depend on the order of the files.",
            "# file: a.yaml\ndefaults: {onUnknown: deny}\n# file: b.yaml\ndefaults: {onUnknown: ask}\n",
            "Set it in one file.",
        ],
    ),
    page(
        Code::PROTECTION_DROPPED,
        "a pack's protection is dropped",
        [
            "The entry replaces the pack's entry for this tool whole, and lacks a protection that the pack had.",
            "Adding `trusted_destinations` alone switches the sink gate off, because the rest of the pack's entry is gone.",
            "send_email: {max_calls: 20}\n",
            "Restate what the pack says, or write `extends: pack` to keep it.",
        ],
    ),
    page(
        Code::UNKNOWN_PACK,
        "an unknown pack",
        [
            "`packs:` names a pack that does not exist.",
            "The tools it should protect would be without contracts.",
            "version: 1\npacks: [gmial]\n",
            "Correct the name.",
        ],
    ),
    page(
        Code::SERVER_TWICE,
        "one server in two files",
        [
            "Two of the files define the same server.",
            "Which of the two should be started would depend on the order of the files.",
            "# file: a.yaml\nservers: {db: {command: one}}\n# file: b.yaml\nservers: {db: {command: two}}\n",
            "Keep the server in one file.",
        ],
    ),
    page(
        Code::SERVER_KIND,
        "a server needs a command or a URL",
        [
            "A server is either started (`command`) or reached over HTTP (`url`); this one is neither, or both.",
            "With both, one would be silently ignored.",
            "servers:\n  db: {command: npx, url: \"http://127.0.0.1:9/mcp\"}\n",
            "Keep one of the two.",
        ],
    ),
    page(
        Code::URL,
        "a URL that cannot be used",
        [
            "The endpoint is not an absolute `http` or `https` URL.",
            "The server could not be reached.",
            "servers:\n  db: {url: \"localhost:9\"}\n",
            "Write for example `http://127.0.0.1:9000/mcp`.",
        ],
    ),
    page(
        Code::CANNOT_BUILD,
        "a rule or pattern cannot be compiled",
        [
            "The rule is well-formed, but its condition multiplies into too many rows, or a pattern is too large for any automaton.",
            "Every call has to be judged in bounded time, so the compiler refuses what would not fit.",
            "rules:\n  - {tool: a, match: {q: {regex: '(?:\\w{1000}){1000}'}}, action: deny}\n",
            "Split the rule, write `in [..]` instead of many `or`s, or make counted repeats smaller.",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_page() {
        let pages: Vec<_> = PAGES.iter().map(|page| page.code).collect();
        assert_eq!(pages, Code::ALL);
        assert!(pages.is_sorted());
        for page in PAGES {
            let texts = [page.title, page.means, page.why, page.fix];
            assert!(texts.iter().all(|text| !text.is_empty()), "{}", page.code);
        }
    }
}
