//! TOML, changed in place.

use super::entry::Entry;
use super::error::ConfigError;
use super::remote;
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, value};

/// A TOML document that keeps its layout.
pub struct Toml {
    document: DocumentMut,
    ends: Ends,
}

/// What the library does not keep of a file.
#[derive(Clone, Copy)]
struct Ends {
    /// It begins with a byte order mark.
    mark: bool,
    /// All lines end in a carriage return and a line feed.
    wide: bool,
    /// The last line ends too.
    last: bool,
}

impl Ends {
    fn of(text: &str) -> Self {
        let lines = text.matches('\n').count();
        Self {
            mark: text.starts_with(MARK),
            wide: lines > 0 && text.matches("\r\n").count() == lines,
            last: text.is_empty() || text.ends_with('\n'),
        }
    }

    fn put_back(self, text: &str) -> String {
        let mut text = text.trim_start_matches(MARK).replace("\r\n", "\n");
        if !self.last && text.ends_with('\n') {
            text.pop();
        }
        if self.wide {
            text = text.replace('\n', "\r\n");
        }
        if self.mark {
            text.insert(0, MARK);
        }
        text
    }
}

/// A byte order mark.
const MARK: char = '\u{feff}';

impl std::fmt::Debug for Toml {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What stands in it may be secret.
        f.debug_struct("Toml").finish_non_exhaustive()
    }
}

impl Toml {
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let document = text.parse::<DocumentMut>();
        Ok(Self {
            document: document.map_err(|error| ConfigError::Syntax(error.to_string()))?,
            ends: Ends::of(text),
        })
    }

    pub(super) fn text(&self) -> String {
        self.ends.put_back(&self.document.to_string())
    }

    pub(super) fn value(&self) -> Value {
        table(self.document.as_table())
    }

    fn servers(&mut self) -> Result<&mut dyn TableLike, ConfigError> {
        self.document
            .get_mut("mcp_servers")
            .and_then(Item::as_table_like_mut)
            .ok_or_else(|| ConfigError::NotThere("table", "mcp_servers".to_owned()))
    }

    fn entry(&mut self, entry: &Entry) -> Result<&mut dyn TableLike, ConfigError> {
        let found = self.servers()?.get_mut(&entry.name);
        found
            .and_then(Item::as_table_like_mut)
            .ok_or_else(|| ConfigError::NotThere("table", entry.place()))
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
        let holder = self.entry(entry)?;
        let command = holder
            .get_mut("command")
            .and_then(Item::as_value_mut)
            .ok_or_else(|| ConfigError::Missing("command".to_owned()))?;
        // What stands around the value, a comment for example, stays.
        let around = command.decor().clone();
        *command = program.into();
        *command.decor_mut() = around;
        if let Some(args) = holder.get_mut("args").and_then(Item::as_array_mut) {
            exchange(args, old, new);
        } else if !new.is_empty() {
            holder.insert("args", value(new.iter().collect::<Array>()));
        }
        Ok(())
    }

    /// Makes an entry with a URL start `program`, and keeps what is replaced in the
    /// entry's environment. `variables`: what the client has to pass on.
    pub(super) fn front(
        &mut self,
        entry: &Entry,
        program: &str,
        options: &[String],
        variables: &[String],
    ) -> Result<(), ConfigError> {
        let holder = self.entry(entry)?;
        let whole = table(holder);
        let kept = remote::kept(
            whole
                .as_object()
                .ok_or(ConfigError::WrongWhole("a table"))?,
        );
        let text = Value::Object(kept.clone()).to_string();
        for name in kept.keys() {
            holder.remove(name);
        }
        holder.insert("command", value(program));
        holder.insert("args", value(options.iter().collect::<Array>()));
        match holder.get_mut("env").and_then(Item::as_table_like_mut) {
            Some(env) => {
                env.insert(remote::VARIABLE, value(text));
            }
            None => {
                let mut env = InlineTable::new();
                env.insert(remote::VARIABLE, text.into());
                holder.insert("env", value(env));
            }
        }
        if !variables.is_empty() {
            holder.insert("env_vars", value(variables.iter().collect::<Array>()));
        }
        Ok(())
    }

    /// The reverse of `front`.
    pub(super) fn unfront(
        &mut self,
        entry: &Entry,
        kept: &Map<String, Value>,
        variables: &[String],
    ) -> Result<(), ConfigError> {
        let holder = self.entry(entry)?;
        let mut gone = vec!["command", "args"];
        if !variables.is_empty() {
            gone.push("env_vars");
        }
        if let Some(env) = holder.get_mut("env").and_then(Item::as_table_like_mut) {
            env.remove(remote::VARIABLE);
            if env.is_empty() {
                gone.push("env");
            }
        }
        for name in gone {
            holder.remove(name);
        }
        for (name, kept) in kept {
            let item = match kept {
                Value::Object(members) => {
                    let members = members.iter();
                    let texts = members.filter_map(|(name, value)| Some((name, value.as_str()?)));
                    value(texts.collect::<InlineTable>())
                }
                Value::String(text) => value(text),
                // Of these no client has any.
                _ => continue,
            };
            holder.insert(name, item);
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, entry: &Entry) -> Result<(), ConfigError> {
        let removed = self.servers()?.remove(&entry.name);
        removed
            .map(|_| ())
            .ok_or_else(|| ConfigError::NotThere("table", entry.place()))
    }

    pub(super) fn add(
        &mut self,
        _section: &[String],
        name: &str,
        program: &str,
        args: &[String],
    ) -> Result<(), ConfigError> {
        let mut entry = toml_edit::Table::new();
        entry.insert("command", value(program));
        entry.insert("args", value(args.iter().collect::<Array>()));
        self.servers()?.insert(name, Item::Table(entry));
        Ok(())
    }
}

/// Exchanges the first elements of an array, in the layout that it has: one element a
/// line, or all on one.
fn exchange(args: &mut Array, old: usize, new: &[String]) {
    let before = |value: &toml_edit::Value| {
        let prefix = value.decor().prefix().and_then(|prefix| prefix.as_str());
        prefix.unwrap_or_default().to_owned()
    };
    let first = args.get(0).map(before).unwrap_or_default();
    for _ in 0..old.min(args.len()) {
        args.remove(0);
    }
    let one_a_line = first.contains('\n');
    if let Some(head) = args.get_mut(0) {
        if new.is_empty() {
            head.decor_mut().set_prefix(first.clone());
        } else if !one_a_line {
            head.decor_mut().set_prefix(" ");
        }
    }
    for (at, text) in new.iter().enumerate() {
        let prefix = if at == 0 || one_a_line {
            first.as_str()
        } else {
            " "
        };
        let element = toml_edit::Value::from(text.as_str()).decorated(prefix, "");
        args.insert_formatted(at, element);
    }
}

fn table(table: &dyn TableLike) -> Value {
    let members = table
        .iter()
        .map(|(key, item)| (key.to_owned(), item_value(item)));
    Value::Object(members.collect::<Map<_, _>>())
}

/// As much of a value as entries are made of.
fn item_value(item: &Item) -> Value {
    if let Some(inner) = item.as_table_like() {
        return table(inner);
    }
    item.as_value().map_or(Value::Null, scalar)
}

fn scalar(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(value) => Value::from(*value.value()),
        toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
        toml_edit::Value::Array(items) => items.iter().map(scalar).collect(),
        toml_edit::Value::InlineTable(inner) => table(inner),
    }
}
