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
            "A rate is `count/unit`: a whole number from 1 to 100000, a slash, and `s`, `sec`, `min`, `h`, `hour` or `day`.",
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
        Code::NO_SUCH_TOOL,
        "no tool can be meant",
        [
            "The servers, contracts and packs of the policy show that no tool has such a name.",
            "The rule or the contract does nothing. Rules match `<server>__<tool>`; a bare name is that of a tool whose server is not known.",
            "version: 1\nservers:\n  files: {command: npx, args: [server]}\nrules:\n  - {tool: \"delete_file\", action: deny}\n",
            "Write the server's name in front, or `*__` for any server.",
        ],
    ),
    page(
        Code::NO_SUCH_VALUE,
        "a value that nothing has",
        [
            "What is compared has its values from a closed set, and this is not one of them: verbs of SQL, hosts, URLs.",
            "The test never holds, so the rule does nothing, or the destination is never trusted.",
            "version: 1\nrules:\n  - {tool: \"*__query\", when: \"any sql(args.sql).verb in [drop, turncate]\", action: deny}\n",
            "Write one of the values that there are.",
        ],
    ),
    page(
        Code::OTHER_LANGUAGE,
        "a habit of another language",
        [
            "`.length` names a member of an object here, and `yes` is a text.",
            "No argument is likely to have such a member or such a value, so the test never holds.",
            "version: 1\nrules:\n  - {tool: \"*__send\", when: \"args.to.length > 3\", action: deny}\n",
            "Write `.count`, `true` or `false`. Where the member or the text is meant, write `[\"length\"]` or `\"yes\"`.",
        ],
    ),
    page(
        Code::TEXT_UNSAID,
        "fields of a text that others may have written",
        [
            "The contract labels fields, and does not say whether the text of a result is JSON that the server itself puts together.",
            "A tool that hands on what it read can hand on a text that looks like a record. Its fields would vouch for what an outsider wrote.",
            "version: 1\ntools:\n  list_contacts:\n    outputs: {label: untrusted, fields: {\"contacts[*].email\": trusted}}\n",
            "Write `text: json` if the server makes that JSON of its own records, else `text: prose`: then fields count in structured content alone. Without it, fields of any text count today; the next version takes `prose`.",
        ],
    ),
    page(
        Code::PLAIN_HTTP,
        "a host that is trusted over plain HTTP too",
        [
            "A host among trusted destinations stands for every URL of it, whatever the scheme, the port and the path.",
            "What is sent to such a URL over plain HTTP can be read, and answered, by anybody on the way.",
            "version: 1\ntools:\n  fetch: {exfiltrating: true, sink_params: [url], trusted_destinations: [docs.python.org]}\n",
            "Write the port: `docs.python.org:443` trusts `https` alone. Write a whole URL where one page is meant.",
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
        Code::ONLY_TOOLS,
        "only tools are denied",
        [
            "The policy denies every tool that it does not name, and says nothing of resources, prompts, and what servers ask of the client's model or human.",
            "Patterns of tools and `onUnknown` speak of tools alone, so all else goes through: a resource can hold what no tool may read.",
            "version: 1\nrules:\n  - {tool: fs__read_file, action: allow}\n  - {tool: \"*\", action: deny}\n",
            "Write `defaults: {resources: deny, prompts: deny, sampling: deny}`, or `allow` or `ask` where that is meant. Rules may name single ones: `{resource: \"postgres://*/users/*\", action: deny}`.",
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
        Code::SERVER_NAME,
        "a server's name that clients do not take",
        [
            "The gateway puts the server's name before the names of its tools. This one is long, or has other signs than letters, digits, `_` and `-`.",
            "Clients refuse such names, so the tools are shown under short forms that end in six signs nobody can read. Rules, locks and the log keep the whole names.",
            "servers:\n  my server: {command: npx}\n",
            "Call the server something short, such as `mail`.",
        ],
    ),
    page(
        Code::SERVER_COMMAND,
        "a command that is several words",
        [
            "`command` of a server has a space and there are no `args`: it looks like a line for a shell.",
            "No shell reads it. A program with exactly that name is looked for, and there most likely is none.",
            "servers:\n  files: {command: \"npx -y some-server\"}\n",
            "Write `command: npx` and `args: [\"-y\", \"some-server\"]`.",
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
    page(
        Code::NEVER,
        "a rule or test that no call satisfies",
        [
            "No call can make this rule or test hold: its tests contradict each other, look for a text that never occurs in the form that is compared, or ask for a value that the tool's schema excludes.",
            "The rule does nothing. If it is a `deny`, what it was meant to stop is not stopped.",
            "version: 1\npacks: []\nrules:\n  - tool: \"pg__query\"\n    when: args.limit > 10 and args.limit < 5\n    action: allow\n",
            "Correct the test. White space in a text is collapsed to single spaces before it is compared, and `equals` compares one value, not a list or an object.",
        ],
    ),
    page(
        Code::ALWAYS,
        "a rule or test that every call satisfies",
        [
            "Whatever the call's arguments are, the test holds, although it reads as if it chose between calls.",
            "An `allow` rule with such a test allows everything; a `deny` rule denies everything.",
            "version: 1\npacks: []\nrules:\n  - tool: \"mail__send\"\n    when: args.to != \"a@corp.com\" or args.to != \"b@corp.com\"\n    action: ask\n",
            "Usually `and` was meant instead of `or`, or `not in [a, b]`. If the rule is meant for every call, leave the condition out.",
        ],
    ),
    page(
        Code::SHADOWED,
        "earlier rules decide every call of this rule, with another verdict",
        [
            "Rules are tried in order and the first match decides. Every call that this rule matches is matched by a rule above it, or by several of them together, and gets their verdict.",
            "The rule has no effect, and its author expects another verdict than calls get.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"pg__*\", action: allow}\n  - {tool: \"pg__drop_table\", action: deny}\n",
            "Move the rule above those that hide it, make those narrower, or remove it.",
        ],
    ),
    page(
        Code::REDUNDANT,
        "removing the rule changes no verdict",
        [
            "Every call that the rule matches gets the same verdict without it, from a rule above it, from the rules below it or from the default.",
            "Rules that do nothing make a policy longer to read and hide what does something.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"pg__*\", action: deny}\n  - {tool: \"pg__drop_table\", action: deny}\n",
            "Remove the rule, or make it different from what holds without it.",
        ],
    ),
    page(
        Code::CONFLICT,
        "two rules of different verdicts overlap",
        [
            "Some calls match both rules, so that their order decides. The example is such a call. Shown is a milder rule before a stricter one that is about other calls too; `--all` shows every pair.",
            "The milder rule takes calls from the stricter one. Nothing is wrong if that is meant.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"pg__query\", when: 'args.q starts_with \"select\"', action: allow}\n  - {tool: \"pg__query\", when: 'args.q contains \"users\"', action: deny}\n",
            "Check the order against the example. Make the conditions exclude each other if the order should not matter.",
        ],
    ),
    page(
        Code::GATE_DROPPED,
        "an entry replaces a pack's and loses a protection",
        [
            "An entry of yours replaces the pack's contract for that tool whole. The pack's had a sink gate, sinks, budgets, confinement or output labels that yours does not have.",
            "An entry that was written to add one thing, such as a trusted destination, switches off what the pack did. Losing the sink gate means that anything can be sent anywhere.",
            "send_email:\n  max_calls: 3\n",
            "Add `extends: pack`, which keeps what the pack says, or restate what should stay.",
        ],
    ),
    page(
        Code::UNCOVERED_TOOL,
        "a tool that no contract and no rule names",
        [
            "The lock has this tool, and neither a contract nor a rule of the policy applies to it.",
            "Such a tool is judged by the defaults and by guesses from its name and schema only.",
            "version: 1\npacks: []\ntools:\n  send_note: {max_calls: 5}\n# file: tools.json\n[{\"name\": \"send_note\"}, {\"name\": \"forget_note\", \"inputSchema\": {\"properties\": {\"id\": {\"type\": \"string\"}}}}]\n",
            "Write a contract for the tool, even `{}` if nothing is to be said, or a rule.",
        ],
    ),
    page(
        Code::UNDECLARED_DESTINATION,
        "an argument looks like a destination and is not declared as one",
        [
            "By its name or its schema the argument says where data goes, but the tool's contract does not list it in `sink_params`, or the tool's sink gate is off.",
            "Where sinks are declared, the gate looks at them and at undeclared values that have the shape of an address or a URL. An account number or a channel name in an undeclared argument is not looked at.",
            "version: 1\npacks: []\ntools:\n  send_note: {exfiltrating: true, sink_params: [to]}\n# file: tools.json\n[{\"name\": \"send_note\", \"inputSchema\": {\"properties\": {\"to\": {\"type\": \"string\"}, \"cc\": {\"type\": \"string\"}}}}]\n",
            "Add the argument to `sink_params`. If it is no destination, say so beside the entry: `# bouncer: allow B0808 because …`.",
        ],
    ),
    page(
        Code::NO_SUCH_ARGUMENT,
        "the tool has no such argument",
        [
            "The policy names an argument that the tool's schema does not have, and the schema does not allow others.",
            "A misspelt sink or path protects nothing, and a constraint on an absent argument passes.",
            "version: 1\npacks: []\ntools:\n  send_note: {exfiltrating: true, sink_params: [recipient]}\n# file: tools.json\n[{\"name\": \"send_note\", \"inputSchema\": {\"properties\": {\"to\": {\"type\": \"string\"}}, \"additionalProperties\": false}}]\n",
            "Write the argument as the tool spells it; letter case counts.",
        ],
    ),
    page(
        Code::MATCHES_NO_TOOL,
        "an entry or a glob that matches no tool",
        [
            "No tool of the lock has this name, or matches this glob.",
            "The entry protects nothing. Often the name is misspelt, or the server's name in front is another one.",
            "version: 1\npacks: []\ntools:\n  send_notes: {max_calls: 5}\n# file: tools.json\n[{\"name\": \"send_note\"}]\n",
            "Write the name as the server spells it. Rules match `<server>__<tool>`; to match a tool on any server, write `*send_note`.",
        ],
    ),
    page(
        Code::DECIDED_BY_DEFAULT,
        "a default decides this tool's calls",
        [
            "No rule's glob matches the tool, so that its rule verdict is `defaults.onUnknown`, or `defaults.onDestructiveHint` if it calls itself destructive.",
            "A default that allows, allows every tool that a server adds tomorrow.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"send_*\", action: ask}\n# file: tools.json\n[{\"name\": \"send_note\"}, {\"name\": \"forget_note\"}]\n",
            "Write a rule for the tool, or set `defaults: {onUnknown: ask}`.",
        ],
    ),
    page(
        Code::UNLABELLED_OUTPUT,
        "a tool reads, and nothing says how far its results can be trusted",
        [
            "By its name the tool reads something, and its contract has no `outputs:`.",
            "Results without a label count as untrusted, which is safe. With labels, a destination from the user's own records needs no question.",
            "version: 1\npacks: []\ntools:\n  list_contacts: {max_calls: 5}\n# file: tools.json\n[{\"name\": \"list_contacts\"}]\n",
            "Add `outputs: untrusted`, or labels for the fields that the server itself vouches for.",
        ],
    ),
    page(
        Code::OPEN_EXFILTRATION,
        "an untrusted destination gets through",
        [
            "The tool can send data out, and a call with a destination that nothing vouches for is allowed. The example is such a call.",
            "Text that an attacker wrote could name the destination, and the call would be made without a question.",
            "version: 1\npacks: []\ntools:\n  send_note: {max_calls: 5}\n# file: tools.json\n[{\"name\": \"send_note\", \"inputSchema\": {\"properties\": {\"to\": {\"type\": \"string\"}}}}]\n",
            "Make the tool `exfiltrating: true` with its `sink_params`, or let a rule ask.",
        ],
    ),
    page(
        Code::UNANCHORED,
        "a pattern matches a part where the whole was meant",
        [
            "A pattern about a host or an address also matches a value that only contains it, such as `corp.com.evil.example` or a list in which one address is another's.",
            "An `allow` rule with such a pattern lets through what it was meant to keep out.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"mail__send\", when: 'args.to matches /@corp\\.com$/', action: allow}\n  - {tool: \"mail__send\", action: ask}\n",
            "Write `args.to in [\"*@corp.com\"]` or `domain(args.to) == \"corp.com\"`, or match the whole value: `/^[^@,;\\s]+@corp\\.com$/`.",
        ],
    ),
    page(
        Code::BARE_DOT,
        "a dot that matches any character in a host",
        [
            "In a regular expression `.` stands for any character, so that `corp.com` also matches `corpxcom`.",
            "Somebody can register the other name.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"mail__send\", when: 'args.to matches /^[a-z]+@corp.com$/', action: allow}\n  - {tool: \"mail__send\", action: ask}\n",
            "Write `\\.` for a dot, or use `domain(…)`, `host(…)` or `in` with a pattern such as `*@corp.com`.",
        ],
    ),
    page(
        Code::LINE_BREAK,
        "a pattern and line breaks",
        [
            "Rules compare texts with all white space collapsed to single spaces, so that a line break never occurs in them, and the flag `m` changes nothing. `arg_patterns` compare the value as it stands, where `.` matches everything but a line break.",
            "A test for a line break in a rule never holds; `.*` in `arg_patterns` refuses every text of several lines.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"mail__send\", when: 'args.body matches /^bcc:.*\\n/', action: deny}\n",
            "Write a space where the rule should match a line break. In `arg_patterns` write `(?s)` in front if the text may have several lines.",
        ],
    ),
    page(
        Code::LETTER_CASE,
        "letter case decides where the compared value has none",
        [
            "A `deny` or `ask` rule compares a host, an address or an SQL keyword with its letter case, and whoever reads the value later ignores it.",
            "`DROP` does the same as `drop`, and `EVIL.example` is the same host as `evil.example`: the other spelling gets around the rule.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"pg__query\", when: 'args.query matches /^drop /', action: deny}\n",
            "Write `(?i)` in front or `/…/i`, or use `sql(…).verb`, `host(…)` or `domain(…)`, which have one spelling.",
        ],
    ),
    page(
        Code::CONFUSABLE,
        "characters that do not show, or that look like others",
        [
            "A text of the policy holds a character that does not show, changes the direction of writing, or looks like an ASCII letter and is another one.",
            "The policy does not say what its reader sees: `\u{440}ay` with a Cyrillic first letter is not `pay`.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"\u{440}ay__*\", action: deny}\n",
            "Retype the text. If the character is meant, say so beside it: `# bouncer: allow B0818 because …`.",
        ],
    ),
    page(
        Code::ODD_PREFIX,
        "a path prefix that does not mean what it looks like",
        [
            "A path prefix holds `..`, `//`, `*`, `~`, a variable or an encoded character, all of which are compared literally or collapsed; or a path is compared as a text, where `/srv/out` is also the start of `/srv/output` and of `/srv/out/../../etc`.",
            "The folder that is confined to is another one than it seems.",
            "version: 1\npacks: []\ntools:\n  save: {write_params: [path], allowed_path_prefixes: [\"/srv/*\"]}\n",
            "Write the folder's plain path; everything below it is included. Compare paths with `within`.",
        ],
    ),
    page(
        Code::OTHER_DIALECT,
        "a construct that means something else here",
        [
            "The text looks as if it was written for another matcher: slashes and flags around a regular expression, a regular expression in `contains`, `equals` or a tool glob, set operations such as `&&` inside brackets.",
            "It is taken literally, or by the rules of this dialect, and then matches other texts than meant.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"pg__query\", match: {args.query: {contains: \"drop|truncate\"}}, action: deny}\n",
            "Use the test that the text was written for, e.g. `regex:`, or write it as this dialect has it; [the policy language](policy.md#regular-expressions) says which applies where.",
        ],
    ),
    page(
        Code::COST,
        "expensive to build or to run",
        [
            "The pattern makes a large automaton, or makes every call of the tool read its arguments several times.",
            "Compiling takes longer, the plan grows, and calls take longer to judge.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"pg__query\", when: 'args.q matches /a.{200}b.{200}c/', action: deny}\n",
            "Make counted repeats smaller, anchor the pattern, or use `contains`.",
        ],
    ),
    page(
        Code::UNDECIDED,
        "the analysis gave up",
        [
            "Whether the rule, assertion or difference holds could not be settled within the budget, or depends on something that the analysis does not reason about. It says which.",
            "What is not proved may be wrong, and is not silently passed over.",
            "",
            "Make the rule or pattern simpler, or look at it by hand and write a test for it.",
        ],
    ),
    page(
        Code::ASSERTION,
        "an assertion does not hold",
        [
            "The policy says that something never happens, and the example is a call for which it does.",
            "Either the policy has a hole or the assertion says too much.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"resize\", when: args.amount > 2000, action: ask}\nassert:\n  - 'never allow tool \"resize\" when args.amount > 1000'\n",
            "Change the rules so that the example is judged as asserted, or correct the assertion.",
        ],
    ),
    page(
        Code::ASSERTION_SYNTAX,
        "an assertion cannot be read",
        [
            "The text is not an assertion, or its condition is not one that `when:` could hold.",
            "An assertion that is not understood would prove nothing.",
            "version: 1\npacks: []\nassert:\n  - 'never permit tool \"pay\"'\n",
            "Write e.g. `never allow tool \"pay\" when args.amount > 1000`, or `always deny tool \"pg__*\" when args.query matches /(?i)^drop/`.",
        ],
    ),
    page(
        Code::UNUSED_SUPPRESSION,
        "a suppression that suppresses nothing",
        [
            "A comment `# bouncer: allow …` names a code, and nothing of that code is found on its line or the line below.",
            "A comment that is left over hides the next finding on this line.",
            "version: 1\npacks: []\n# bouncer: allow B0803 because the wide rule comes first on purpose\nrules: []\n",
            "Remove the comment.",
        ],
    ),
    page(
        Code::BAD_SUPPRESSION,
        "a suppression that cannot be read",
        [
            "A comment starts with `# bouncer:` and is not of the form `# bouncer: allow B0803 because REASON`.",
            "Whoever reads the policy later has to know why a finding was accepted.",
            "version: 1\npacks: []\nrules: []  # bouncer: allow B0803\n",
            "Write `# bouncer: allow CODE because REASON`, on the line of the finding or the one above.",
        ],
    ),
    page(
        Code::START_ONLY,
        "a pattern that only looks at the start of a query",
        [
            "A `deny` or `ask` rule looks for an SQL keyword at the start of a query, and does not find it behind another statement or a comment.",
            "Most servers run every statement of a query: `select 1; drop table users` drops the table.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"pg__query\", when: 'args.query matches /(?i)^\\s*drop\\b/', action: deny}\n",
            "Write `any sql(args.query).verb in [drop]`, which reads every statement, or leave the `^` out.",
        ],
    ),
    page(
        Code::ALLOW_BY_START,
        "let through by how it starts",
        [
            "An `allow` rule or an `arg_patterns` looks at a part of a command or a query, and lets through what follows it.",
            "A shell and a database go on behind a `;`: the rule allows any command.",
            "version: 1\npacks: []\nrules:\n  - {tool: \"sh__run\", when: \"args.command matches /^(ls|git)( .*)?$/\", action: allow}\n",
            "List whole commands with `in`. For a query compare `all sql(…).verb`; for a shell let `bouncer hook` cut the command up, and compare `args.program` of `agent__shell`.",
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
