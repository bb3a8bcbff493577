//! JSON with comments, changed in place.

use super::entry::{Entry, SENTINEL, is_listed};
use super::error::ConfigError;
use super::remote;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};
use std::collections::HashSet;

const BOM: char = '\u{feff}';

/// A JSON document that keeps its layout.
pub struct Json {
    root: CstRootNode,
    bom: bool,
}

impl std::fmt::Debug for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What stands in it may be secret.
        f.debug_struct("Json").finish_non_exhaustive()
    }
}

impl Json {
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let (text, bom) = match text.strip_prefix(BOM) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let root = CstRootNode::parse(text, &options)
            .map_err(|error| ConfigError::Syntax(error.to_string()))?;
        let top = root.object_value().ok_or(ConfigError::NoJsonObject)?;
        without_duplicates(&top, "")?;
        Ok(Self { root, bom })
    }

    pub(super) fn text(&self) -> String {
        let text = self.root.to_string();
        if self.bom {
            format!("{BOM}{text}")
        } else {
            text
        }
    }

    pub(super) fn value(&self) -> Value {
        self.root.to_serde_value().unwrap_or(Value::Null)
    }

    fn section(&self, keys: &[String]) -> Result<CstObject, ConfigError> {
        let top = self.root.object_value();
        keys.iter()
            .try_fold(top, |at, key| at.map(|at| member(&at, key)?.object_value()))
            .flatten()
            .ok_or_else(|| ConfigError::NotThere("object", keys.join(".")))
    }

    fn property(&self, entry: &Entry) -> Result<CstObjectProp, ConfigError> {
        member(&self.section(&entry.section)?, &entry.name)
            .ok_or_else(|| ConfigError::NotThere("", entry.place()))
    }

    fn object(&self, entry: &Entry) -> Result<CstObject, ConfigError> {
        self.property(entry)?
            .object_value()
            .ok_or_else(|| ConfigError::Wrong(entry.place(), "an object"))
    }

    /// Makes the entry start `program`, and exchanges the first `old` of its arguments
    /// for `new`.
    pub(super) fn start_with(
        &mut self,
        entry: &Entry,
        program: &str,
        old: usize,
        new: &[String],
    ) -> Result<(), ConfigError> {
        let mut holder = self.object(entry)?;
        let mut key = "command";
        if entry.listed {
            let command =
                member(&holder, key).ok_or_else(|| ConfigError::Missing(key.to_owned()))?;
            let before = command.to_serde_value();
            let parts = before.as_ref().and_then(|list| list.as_array());
            let parts = parts.into_iter().flatten().filter_map(Value::as_str);
            let left = parts.skip(1 + old).map(str::to_owned);
            let mut all = vec![program.to_owned()];
            all.extend(new.iter().cloned().chain(left));
            command.set_value(list(&all));
            return Ok(());
        }
        if entry.nested {
            holder = member(&holder, "command")
                .and_then(|command| command.object_value())
                .ok_or_else(|| ConfigError::Wrong("command".to_owned(), "an object"))?;
            key = "path";
        }
        let command = member(&holder, key).ok_or_else(|| ConfigError::Missing(key.to_owned()))?;
        command
            .value()
            .and_then(|value| value.as_string_lit())
            .ok_or_else(|| ConfigError::Wrong(key.to_owned(), "a string"))?
            .set_raw_value(Value::from(program).to_string());
        let args: Option<CstArray> = member(&holder, "args").and_then(|args| args.array_value());
        if let Some(args) = args {
            let spaced = args.children().get(1).is_some_and(CstNode::is_whitespace);
            for element in args.elements().into_iter().take(old) {
                element.remove();
            }
            if old > 0 {
                // On one line the spaces behind removed commas are left over.
                let gap = args.children().into_iter().skip(1);
                let gap: Vec<_> = gap.take_while(CstNode::is_whitespace).collect();
                let one_line = !args.children().iter().any(CstNode::is_newline);
                for space in gap.into_iter().skip(usize::from(spaced)) {
                    if one_line {
                        space.remove();
                    }
                }
            }
            for (at, text) in new.iter().enumerate() {
                args.insert(at, text.as_str().into());
            }
            // On one line the parser would indent what follows.
            let children = args.children();
            if !new.is_empty() && !children.iter().any(CstNode::is_newline) {
                let (mut commas, mut spaced) = (0, false);
                for child in children {
                    commas += usize::from(child.is_comma());
                    if commas == new.len() && child.is_whitespace() {
                        match child.as_whitespace() {
                            Some(first) if !spaced => first.set_value(" ".to_owned()),
                            _ => child.remove(),
                        }
                        spaced = true;
                    }
                }
            }
            return Ok(());
        }
        if !new.is_empty() {
            // `"args": null` is as good as none.
            if let Some(args) = member(&holder, "args") {
                args.set_value(list(new));
            } else {
                holder.insert(command.property_index() + 1, "args", list(new));
            }
        }
        Ok(())
    }

    /// Makes an entry with a URL start `program`, where the URL stood, and keeps what is
    /// replaced in the entry's environment.
    pub(super) fn front(
        &mut self,
        entry: &Entry,
        program: &str,
        options: &[String],
    ) -> Result<(), ConfigError> {
        let object = self.object(entry)?;
        let value = object.to_serde_value().unwrap_or(Value::Null);
        let kept = remote::kept(
            value
                .as_object()
                .ok_or(ConfigError::WrongWhole("an object"))?,
        );
        let text = Value::Object(kept.clone()).to_string();
        let members = object.properties();
        let named = |member: &CstObjectProp| member.decoded_name().unwrap_or_default();
        let address = |name: &str| ["url", "serverUrl", "httpUrl"].contains(&name);
        let at = members
            .iter()
            .position(|member| address(&named(member)))
            .ok_or_else(|| ConfigError::NoUrl(Some(entry.place())))?;
        // What stands before stays before; the rest goes, and what starts bouncer comes.
        let mut place = at;
        for (index, member) in members.into_iter().enumerate() {
            let name = named(&member);
            if name == "type" {
                member.set_value("stdio".into());
            } else if kept.contains_key(&name) {
                place -= usize::from(index < at);
                member.remove();
            }
        }
        object.insert(place, "command", program.into());
        object.insert(place + 1, "args", list(options));
        if let Some(env) = member(&object, "env").and_then(|env| env.object_value()) {
            env.append(remote::VARIABLE, text.as_str().into());
            return Ok(());
        }
        if let Some(null) = member(&object, "env") {
            null.remove();
        }
        let env = vec![(remote::VARIABLE.to_owned(), text.as_str().into())];
        object.insert(place + 2, "env", CstInputValue::Object(env));
        Ok(())
    }

    /// The reverse of `front`.
    pub(super) fn unfront(
        &mut self,
        entry: &Entry,
        kept: &Map<String, Value>,
    ) -> Result<(), ConfigError> {
        let object = self.object(entry)?;
        if let Some(env) = member(&object, "env").and_then(|env| env.object_value()) {
            if let Some(held) = member(&env, remote::VARIABLE) {
                held.remove();
            }
            if env.properties().is_empty()
                && let Some(env) = member(&object, "env")
            {
                env.remove();
            }
        }
        let at = member(&object, "command").map(|command| command.property_index());
        let mut at = at.unwrap_or_default();
        for name in ["args", "command"] {
            if let Some(member) = member(&object, name) {
                member.remove();
            }
        }
        for (name, value) in kept {
            match member(&object, name) {
                Some(member) => member.set_value(input(value)),
                None => {
                    object.insert(at, name, input(value));
                    at += 1;
                }
            }
        }
        if !kept.contains_key("type")
            && let Some(member) = member(&object, "type")
        {
            member.remove();
        }
        Ok(())
    }

    /// Puts what an older `init` had set aside back in the entry's place.
    pub(super) fn restore_stash(&mut self, entry: &Entry) -> Result<(), ConfigError> {
        let object = self.object(entry)?;
        let stash = member(&object, SENTINEL)
            .and_then(|stash| stash.value())
            .and_then(|stash| stash.to_serde_value())
            .ok_or_else(|| ConfigError::NotThere("", format!("{}.{SENTINEL}", entry.place())))?;
        self.property(entry)?.set_value(input(&stash));
        Ok(())
    }

    pub(super) fn remove(&mut self, entry: &Entry) -> Result<(), ConfigError> {
        self.property(entry)?.remove();
        Ok(())
    }

    pub(super) fn add(
        &mut self,
        section: &[String],
        name: &str,
        program: &str,
        args: &[String],
    ) -> Result<(), ConfigError> {
        let entry = if is_listed(section) {
            let mut command = vec![program.to_owned()];
            command.extend(args.iter().cloned());
            vec![
                ("type".to_owned(), "local".into()),
                ("command".to_owned(), list(&command)),
                ("enabled".to_owned(), CstInputValue::Bool(true)),
            ]
        } else {
            vec![
                ("command".to_owned(), program.into()),
                ("args".to_owned(), list(args)),
            ]
        };
        self.section(section)?
            .append(name, CstInputValue::Object(entry));
        Ok(())
    }
}

fn list(texts: &[String]) -> CstInputValue {
    CstInputValue::Array(texts.iter().map(|text| text.as_str().into()).collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(members.collect())
        }
    }
}

/// By its decoded name: the parser's own look-up compares what is written.
fn member(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let mut members = object.properties().into_iter();
    members.find(|member| member.decoded_name().as_deref() == Some(name))
}

/// Clients differ in which of two equal keys they take.
fn without_duplicates(object: &CstObject, place: &str) -> Result<(), ConfigError> {
    let mut seen = HashSet::new();
    for member in object.properties() {
        let name = member.decoded_name().ok_or(ConfigError::UnreadableKey)?;
        if !seen.insert(name.clone()) {
            return Err(ConfigError::DuplicateKey(format!("{place}{name}")));
        }
        if let Some(value) = member.value() {
            inside(&value, &format!("{place}{name}."))?;
        }
    }
    Ok(())
}

fn inside(value: &CstNode, place: &str) -> Result<(), ConfigError> {
    if let Some(object) = value.as_object() {
        return without_duplicates(&object, place);
    }
    if let Some(array) = value.as_array() {
        for element in array.elements() {
            inside(&element, place)?;
        }
    }
    Ok(())
}
