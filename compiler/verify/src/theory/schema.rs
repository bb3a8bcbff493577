//! Values that a JSON Schema allows, as far as it is plain to see: whether none of them
//! can meet a claim. What is not understood allows everything.

use super::limits::{Limit, Want};
use super::texts::DISGUISABLE;
use super::{Answer, Theory};
use crate::facts::{Claim, FactId, Look};
use crate::leaf::{Leaf, Seen, Value};
use crate::words::{self, End};
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{Compare, Op, Path};
use serde_json::Value as Json;

/// Schemas are followed this deep.
const MOST_DEPTH: usize = 16;
/// Longest `maxLength` that is looked at.
const MOST_LENGTH: u64 = 500;

impl Theory {
    /// Whether no value that the schema allows makes the fact hold in this mode.
    pub fn is_excluded(&mut self, id: FactId, mode: Mode, schema: &Json) -> bool {
        self.excluded(id, mode, schema, 0)
    }

    fn excluded(&mut self, id: FactId, mode: Mode, schema: &Json, depth: usize) -> bool {
        if depth > MOST_DEPTH {
            return false;
        }
        let constants = match (schema.get("const"), schema.get("enum")) {
            (Some(value), _) => Some(vec![value.clone()]),
            (None, Some(Json::Array(values))) => Some(values.clone()),
            _ => None,
        };
        if let Some(constants) = constants {
            // Equal numbers can be spelled otherwise, which tests of texts see.
            let textual = self
                .facts
                .get(id)
                .is_none_or(|fact| !matches!(fact.op, Op::Compare(..) | Op::Type(_) | Op::Exists));
            return constants.iter().all(|value| {
                !(textual && value.is_number())
                    && scalar(value).is_some_and(|value| {
                        let leaf = Leaf {
                            value,
                            through: false,
                            seen: Seen::Nowhere,
                        };
                        self.meets(&leaf, &[(id, mode, true)]) == Some(false)
                    })
            });
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(key).and_then(Json::as_array) {
                return !branches.is_empty()
                    && branches
                        .iter()
                        .all(|branch| self.excluded(id, mode, branch, depth + 1));
            }
        }
        let types: Vec<&str> = match schema.get("type") {
            Some(Json::String(one)) => vec![one.as_str()],
            Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
            _ => return false,
        };
        !types.is_empty()
            && types.iter().all(|name| match *name {
                "string" => self.string_excluded(id, mode, schema),
                "number" | "integer" => self.number_excluded(id, mode, schema),
                "boolean" => [true, false]
                    .iter()
                    .all(|value| self.value_excluded(id, mode, Value::Bool(*value))),
                "null" => self.value_excluded(id, mode, Value::Null),
                "array" => schema
                    .get("items")
                    .filter(|_| schema.get("prefixItems").is_none())
                    .is_some_and(|items| self.excluded(id, mode, items, depth + 1)),
                _ => false,
            })
    }

    fn value_excluded(&mut self, id: FactId, mode: Mode, value: Value) -> bool {
        let leaf = Leaf {
            value,
            through: false,
            seen: Seen::Nowhere,
        };
        self.meets(&leaf, &[(id, mode, true)]) == Some(false)
    }

    fn string_excluded(&mut self, id: FactId, mode: Mode, schema: &Json) -> bool {
        if self.constants_fail(&[(id, mode, true)], false) {
            return true;
        }
        let mut patterns = Vec::new();
        if let Some(pattern) = schema.get("pattern").and_then(Json::as_str)
            && let Ok(pattern) = bouncer_dialects::javascript(pattern)
        {
            patterns.push(pattern);
        }
        if let Some(most) = schema.get("maxLength").and_then(Json::as_u64)
            && most <= MOST_LENGTH
        {
            patterns.push(format!(r"(?s)\A.{{0,{most}}}\z"));
        }
        if patterns.is_empty() {
            return false;
        }
        // A text that may be encoded, padded or spelled in other letters reads otherwise than
        // it is written: of those nothing is known.
        let universe = r"(?s)\A.*\z";
        let mut limits: Vec<_> = Vec::new();
        for pattern in patterns
            .iter()
            .map(String::as_str)
            .chain([universe, DISGUISABLE])
        {
            limits.extend(self.must_match(pattern));
        }
        let mut budget = self.budget;
        let end = words::search(&limits, &mut budget, &mut |_| true);
        self.budget = budget;
        if end != End::Exhausted {
            return false;
        }
        let want = match mode {
            Mode::Plain | Mode::All => Want::Yes,
            Mode::Any | Mode::Maybe => Want::Perhaps,
        };
        let mut limits = match self.limit(id, want) {
            Limit::Nothing => return true,
            Limit::Anything => return false,
            Limit::Pattern(constraint) => vec![constraint],
        };
        for pattern in &patterns {
            limits.extend(self.must_match(pattern));
        }
        limits.extend(self.must_match(universe));
        let mut budget = self.budget;
        let end = words::search(&limits, &mut budget, &mut |_| true);
        self.budget = budget;
        end == End::Exhausted
    }

    fn number_excluded(&mut self, id: FactId, mode: Mode, schema: &Json) -> bool {
        let Some(fact) = self.facts.get(id) else {
            return false;
        };
        let here = fact.path;
        let mut claims: Vec<Claim> = vec![(id, mode, true)];
        for (key, compare) in [
            ("minimum", Compare::GreaterEqual),
            ("exclusiveMinimum", Compare::Greater),
            ("maximum", Compare::LessEqual),
            ("exclusiveMaximum", Compare::Less),
        ] {
            if let Some(bound) = schema.get(key).filter(|bound| bound.is_number()) {
                let op = Op::Compare(compare, bound.to_string());
                claims.push((self.facts.asked_at(here, Look::Value, op), Mode::All, true));
            }
        }
        self.number(&claims, false) == Answer::Empty
    }
}

fn scalar(value: &Json) -> Option<Value> {
    match value {
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Number(number) => Some(Value::Number(number.to_string())),
        Json::Bool(value) => Some(Value::Bool(*value)),
        Json::Null => Some(Value::Null),
        Json::Array(_) | Json::Object(_) => None,
    }
}

/// The schema of the argument at a path, if it is plain to see. Arrays are transparent.
pub(crate) fn at_path<'s>(schema: &'s Json, path: &Path) -> Option<&'s Json> {
    let mut at = elements(schema);
    for step in bouncer_compiler::lower::steps(path) {
        let bouncer_compiler::lower::Step::Key(key) = step else {
            return None;
        };
        at = elements(at.get("properties")?.get(key.as_str())?);
    }
    Some(at)
}

/// The schema of the elements of the elements of a list, or the schema itself.
fn elements(mut schema: &Json) -> &Json {
    for _ in 0..MOST_DEPTH {
        let list = schema.get("type").and_then(Json::as_str) == Some("array");
        match schema
            .get("items")
            .filter(|items| list && items.is_object() && schema.get("prefixItems").is_none())
        {
            Some(items) => schema = items,
            None => break,
        }
    }
    schema
}
