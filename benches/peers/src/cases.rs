//! Rules and calls that every engine can express.

use serde_json::{Value, json};

/// What a rule tests.
#[derive(Clone, Debug)]
pub enum Test {
    /// `query` is this.
    Equals(String),
    /// `query` contains this.
    Contains(String),
    /// `path` starts with this.
    Prefix(String),
    /// `env` is the first, and `query` contains the second.
    Both(String, String),
    /// `query` matches this.
    Regex(String),
}

/// Denies the calls of a tool, or of all tools of a server, that pass a test.
#[derive(Clone, Debug)]
pub struct Rule {
    pub server: String,
    /// The full name; none for all tools of the server.
    pub tool: Option<String>,
    pub test: Test,
}

impl Rule {
    /// The tools it is for, as a glob.
    pub fn glob(&self) -> String {
        match &self.tool {
            Some(tool) => tool.clone(),
            None => format!("{}__*", self.server),
        }
    }
}

/// Which tests the rules use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tests {
    /// Equality, substrings, prefixes: what Cedar can say too.
    Texts,
    /// Regular expressions.
    Regexes,
}

/// Which tools the rules are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Ten rules a tool, one of them for the whole server in half the tools.
    TenATool,
    /// All on one tool.
    OneTool,
}

/// The name of the tool of rule `i`, with its server.
fn tool(i: usize, n: usize, spread: Spread) -> (String, String) {
    let tools = match spread {
        Spread::TenATool => (n / 10).max(1),
        Spread::OneTool => 1,
    };
    let t = i % tools;
    let server = format!("server{}", t / 10);
    let name = format!("{server}__tool{t}");
    (server, name)
}

/// `n` rules.
pub fn rules(n: usize, tests: Tests, spread: Spread) -> Vec<Rule> {
    let tools = (n / 10).max(1);
    (0..n)
        .map(|i| {
            let (server, name) = tool(i, n, spread);
            let for_server = spread == Spread::TenATool && i % 20 == 19;
            let test = match (tests, (i / tools + i) % 4) {
                (Tests::Regexes, _) => Test::Regex(format!(
                    r"(?i)^(drop|truncate|delete)\s+(table\s+)?tbl_{i}\b"
                )),
                (Tests::Texts, 0) => Test::Equals(format!("select secret_{i} from vault")),
                (Tests::Texts, 1) => Test::Contains(format!("forbidden_word_{i}_end")),
                (Tests::Texts, 2) => Test::Prefix(format!("/srv/private/area{i}/")),
                (Tests::Texts, _) => Test::Both(format!("prod{i}"), format!("purge_{i}_now")),
            };
            let tool = (!for_server).then_some(name);
            Rule { server, tool, test }
        })
        .collect()
}

/// A call and the verdict it should get.
#[derive(Clone, Debug)]
pub struct Call {
    /// The full name of the tool.
    pub tool: String,
    /// The arguments as a value.
    pub value: Value,
    /// The arguments as they were sent.
    pub arguments: String,
    /// The whole message.
    pub message: String,
    pub denied: bool,
}

/// A quarter of the calls meets a rule, half meet none of their tool's rules, and a quarter
/// is for tools without rules (on one tool: half and half).
pub fn calls(rules: &[Rule], spread: Spread, count: usize) -> Vec<Call> {
    let n = rules.len();
    let mut random = Random(0xB0);
    (0..count)
        .map(|k| {
            let (hit, known) = match spread {
                Spread::TenATool => (k % 4 == 0, k % 4 != 3),
                Spread::OneTool => (k % 2 == 0, true),
            };
            let i = random.below(n);
            let rule = &rules[i];
            let (server, own) = tool(i, n, spread);
            let tool = match &rule.tool {
                _ if !known => format!("other{}__thing{}", random.below(50), random.below(500)),
                None if hit => format!("{server}__anything"),
                _ => own,
            };
            let value = arguments(hit.then_some(&rule.test), &mut random, i);
            let arguments = value.to_string();
            let name = Value::from(tool.as_str());
            let message = format!(
                r#"{{"jsonrpc":"2.0","id":{k},"method":"tools/call","params":{{"name":{name},"arguments":{arguments}}}}}"#
            );
            Call { tool, value, arguments, message, denied: hit }
        })
        .collect()
}

/// Arguments that meet `test`, or none.
fn arguments(test: Option<&Test>, random: &mut Random, i: usize) -> Value {
    let mut query = format!(
        "select id, name, created_at from customers_{} where region = 'eu-west' and active = true \
         order by id limit 50",
        random.below(10_000)
    );
    let mut path = format!(
        "/srv/public/reports/{}/2026/q{}.csv",
        random.below(10_000),
        random.below(4)
    );
    let mut env = "staging".to_owned();
    match test {
        None => {}
        Some(Test::Equals(text)) => query.clone_from(text),
        Some(Test::Contains(text)) => {
            query = format!("select * from t where note = '{text}' order by id limit 50");
        }
        Some(Test::Prefix(text)) => path = format!("{text}x/y/report.csv"),
        Some(Test::Both(exact, part)) => {
            env.clone_from(exact);
            query = format!("call admin.{part}(region => 'eu-west', dry_run => false)");
        }
        Some(Test::Regex(_)) => query = format!("DROP TABLE tbl_{i} CASCADE; -- after migration"),
    }
    json!({
        "query": query, "path": path, "env": env, "limit": 50,
        "options": {"timeout_ms": 3000, "dry_run": false, "tags": ["agent", "auto"]},
    })
}

/// A small generator of numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}
