//! Small pools that policies and calls both draw from, so that they meet often.

/// Texts: prefixes of each other, disguises of each other, destinations, paths,
/// queries, odd Unicode.
pub const TEXTS: &[&str] = &[
    "",
    " ",
    "production",
    "prod",
    "product",
    " prod ",
    "a  b\tc",
    "a b c",
    "\u{440}roduction",
    "\u{ff50}rod",
    "pro\u{200b}d",
    "pro\u{ad}duction",
    "%70rod",
    "%2570rod",
    "\u{ff05}70rod",
    "pr\u{f6}d",
    "pro\u{308}d",
    "prod\u{0}uction",
    "PROD",
    "drop",
    "drop table users",
    "DROP  TABLE users",
    "select 1",
    "select lower(a) from x",
    "select * from users; drop table x",
    "delete from secret",
    "-- nothing",
    "5",
    "5.0",
    "true",
    "null",
    "1000",
    "abcdefghij",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
    "secret",
    "evil",
    "a@corp.com",
    "A@Corp.COM",
    "b@corp.com",
    "a@sub.corp.com",
    "a@corp.com\n",
    " a@corp.com",
    "x@corp.com@evil.com",
    "evil@evil.com",
    "EVIL@evil.com",
    "evil@evil.c\u{43e}m",
    "a@corp.com, evil@evil.com",
    "a@corp.com; b@corp.com",
    "Evil <evil@evil.com>",
    "mailto:evil@evil.com",
    "evil%40evil.com",
    "corp.com",
    "www.corp.com",
    "evilcorp.com",
    "evil.com",
    "https://evil.com/x?y=1",
    "https://www.corp.com/a",
    "https://corp.com",
    "http://user@evil.com:80/",
    "http://[::ffff:10.0.0.1]/a",
    "http://[64:ff9b::a00:1]/a",
    "10.0.0.1",
    "http://0/",
    "https://www.corp.com.evil.com/",
    "\u{212a}@corp.com",
    "/srv/out",
    "/srv/out/a",
    "/srv/outside",
    "/srv/out ",
    "/srv/out/a  b",
    "/srv/out/../etc",
    "/srv/out/%2e%2e/etc",
    "/srv/out\\..\\..\\etc",
    "out/a",
    "./a",
    "../a",
    "~/a",
    "#general",
    "C0123456",
];

/// JSON numbers, several spellings of the same value among them.
pub const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "5",
    "5.0",
    "50e-1",
    "4.999999999999999999",
    "1000",
    "1001",
    "-3",
    "9007199254740992",
    "9007199254740993",
    "1e400",
    "0.1",
];

/// Regexes in Rust syntax that overlap on [`TEXTS`].
pub const REGEXES: &[&str] = &[
    "",
    ".*",
    "prod",
    "^prod$",
    "(?i)prod",
    "(?i)^drop",
    r"(?i)^\s*(drop|truncate)(?-u:\b)",
    r"\bdrop\b",
    "o.*d",
    "[0-9]+",
    "^[0-9]+$",
    "^$",
    "secret|evil",
    r"@corp\.com$",
    r"(?i)@(?:[a-z]+\.)*corp\.com$",
    "^.{0,5}$",
    "a{3,40}b",
    r"\p{L}{4,}",
    r"(?-u:[a-z_0-9])+",
    "^/srv/out/",
    "^(true|null)$",
    "[^a-z]",
    "(a+)+$",
    "(?s)^.$",
];

pub const PREFIXES: &[&str] = &[
    "/srv/out",
    "/srv/out/",
    "/srv",
    "/",
    ".",
    "out",
    "./out",
    "../a",
];

pub const DOMAINS: &[&str] = &["corp.com", "evil.com", "sub.corp.com"];

pub const SERVERS: &[&str] = &["s", "pg"];

pub const TOOLS: &[&str] = &["send", "read", "query", "write_file", "delete_x"];

pub const GLOBS: &[&str] = &[
    "*", "s__*", "pg__*", "*__send", "*send", "send", "s__send", "*e*", "read", "*__*", "query*",
    "w*e",
];

pub const NATIVE_GLOBS: &[&str] = &["s?nd", "[a-s]*", "?__*", "pg__[p-r]uery", "*_[x-z]"];

pub const KEYS: &[&str] = &["to", "cc", "url", "path", "query", "a", "items", "n"];

pub const INNER_KEYS: &[&str] = &["email", "b", "0", "to"];
