//! What `sqlparser` makes of a query: verbs, tables and functions of its syntax tree.

use super::lexemes::{Kind, Lexeme};
use super::{Dialect, Unreadable, functions};
use sqlparser::ast::{
    AlterTableOperation, CopySource, Expr, GrantObjects, MergeAction, ObjectName, ObjectType,
    Query, RenameTableNameKind, Select, SetExpr, SqliteOnConflict, Statement, TableFactor, Visit,
    Visitor,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::TokenWithSpan;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// What a query does.
#[derive(Default)]
pub(super) struct Found {
    pub verbs: BTreeSet<String>,
    pub tables: BTreeSet<String>,
    pub functions: BTreeSet<String>,
    /// How many statements stand side by side.
    pub statements: usize,
    /// A statement was there that may name tables out of sight.
    pub hidden_tables: bool,
    /// A statement was there whose effect is not in its text.
    unreadable: bool,
}

/// Verbs of statements that no other arm knows, and whose effect is in their text.
const OTHER_VERBS: &[&str] = &[
    "alter", "analyze", "attach", "comment", "create", "detach", "discard", "drop", "listen",
    "lock", "notify", "optimize", "pragma", "refresh", "reindex", "rename", "reset", "show",
    "unlisten", "unlock", "use", "vacuum",
];

/// Reads what the tokens say.
pub(super) fn read(dialect: Dialect, tokens: Vec<TokenWithSpan>) -> Result<Found, Unreadable> {
    let mut parser = Parser::new(dialect.parser()).with_tokens_with_locations(tokens);
    let statements = parser.parse_statements().map_err(|_| Unreadable)?;
    let mut found = Found {
        statements: statements.len(),
        ..Found::default()
    };
    let _ = statements.visit(&mut found);
    if statements.is_empty() || found.unreadable || found.writes_to_system() {
        return Err(Unreadable);
    }
    found.hidden_tables |= found.tables.iter().any(|table| functions::is_mirror(table));
    Ok(found)
}

impl Found {
    /// Whether this table was found under its last name.
    pub fn has(&self, table: &str) -> bool {
        self.tables.contains(table)
    }

    /// Adds what another reading sees.
    pub fn add(&mut self, other: Self) {
        self.verbs.extend(other.verbs);
        self.tables.extend(other.tables);
        self.functions.extend(other.functions);
        self.hidden_tables |= other.hidden_tables;
    }

    /// Whether each statement does what its first word says.
    pub fn begins_as(&self, all: &[Lexeme<'_>]) -> bool {
        all.split(|lexeme| lexeme.is_sign(b';')).all(|statement| {
            let first = statement.iter().find(|lexeme| !lexeme.is_sign(b'('));
            first.is_none_or(|first| {
                let word = first.text.to_ascii_lowercase();
                let verb = match word.as_str() {
                    "desc" | "describe" => "explain",
                    "start" => "begin",
                    "end" => "commit",
                    "table" => "select",
                    "with" => return true,
                    word => word,
                };
                first.kind == Kind::Word && self.verbs.contains(verb)
            })
        })
    }

    /// Whether it changes what servers keep about themselves: settings, definitions.
    fn writes_to_system(&self) -> bool {
        const WRITES: [&str; 8] = [
            "alter", "copy", "delete", "drop", "insert", "merge", "truncate", "update",
        ];
        WRITES.iter().any(|verb| self.verbs.contains(*verb))
            && self.tables.iter().any(|table| {
                let (schema, name) = table.split_once('.').unwrap_or(("", table));
                matches!(schema, "mysql" | "sys" | "performance_schema")
                    || name.starts_with("pg_")
                    || (name.starts_with("sqlite_") && name != "sqlite_sequence")
            })
    }

    fn function(&mut self, name: &ObjectName) {
        let (Some(full), Some(last)) =
            (whole(name), name.0.last().and_then(|part| part.as_ident()))
        else {
            self.unreadable = true;
            return;
        };
        self.functions.insert(last.value.to_lowercase());
        self.functions.insert(full);
    }

    fn called(&mut self, name: &str) {
        if !self.functions.contains(name) {
            self.functions.insert(name.to_owned());
        }
    }

    /// Whether the name behind each `from`, `join`, `into` and `update` is one of the tables
    /// found. Where it is not, the grammar took another word for the table, such as a
    /// modifier that it does not know: `select high_priority * from t`.
    pub fn agrees_with_words(&self, all: &[Lexeme<'_>]) -> bool {
        // The word before each open parenthesis, and the verb of the statement.
        let mut open: Vec<&str> = Vec::new();
        let mut verb = "";
        let at = |index: Option<usize>| index.and_then(|index| all.get(index));
        for (index, lexeme) in all.iter().enumerate() {
            let before = at(index.checked_sub(1));
            let is_before = |word: &str| before.is_some_and(|before| before.is(word));
            match lexeme.kind {
                Kind::Sign(b'(') => open.push(before.map_or("", |before| before.text)),
                Kind::Sign(b')') => drop(open.pop()),
                Kind::Sign(b';') => verb = "",
                Kind::Word if verb.is_empty() => verb = lexeme.text,
                _ => {}
            }
            let names = if lexeme.is("from") {
                let inside = open.last().is_some_and(|word| {
                    ["extract", "trim", "substring", "substr", "overlay"]
                        .iter()
                        .any(|call| word.eq_ignore_ascii_case(call))
                });
                let compares = is_before("distinct")
                    && at(index.checked_sub(2)).is_some_and(|word| word.is("is") || word.is("not"));
                let other = ["revoke", "copy", "show"]
                    .iter()
                    .any(|other| verb.eq_ignore_ascii_case(other));
                !inside && !compares && !other
            } else if lexeme.is("update") {
                !["key", "for", "do", "on", "grant", "revoke", ","]
                    .iter()
                    .any(|word| is_before(word))
                    && !before.is_some_and(|before| before.is_sign(b','))
            } else {
                lexeme.is("join") || lexeme.is("into")
            };
            let mut next = index + 1;
            while at(Some(next)).is_some_and(|one| one.is_sign(b'(') || one.is("lateral")) {
                next += 1;
            }
            let Some(name) = at(Some(next)).filter(|name| names && name.is_name()) else {
                // `into @x` and `into :x` are variables.
                if names && !lexeme.is("into") {
                    return false;
                }
                continue;
            };
            let query = ["select", "with", "values", "table", "unnest", "rows"];
            if query.iter().any(|word| name.is(word)) {
                continue;
            }
            let mut last = name;
            while at(Some(next + 1)).is_some_and(|dot| dot.is_sign(b'.')) {
                next += 2;
                let Some(part) = at(Some(next)).filter(|part| part.is_name()) else {
                    return false;
                };
                last = part;
            }
            let last = last.text.to_lowercase();
            // Doubled quotes inside a name stay as they are here: such names are rare.
            if !self.tables.contains(&last) && !self.functions.contains(&last) {
                return false;
            }
        }
        true
    }

    /// Notes the tables behind `references`, which the syntax tree's visitor passes over.
    pub fn note_references(&mut self, all: &[Lexeme<'_>]) {
        for (index, lexeme) in all.iter().enumerate() {
            let name = all.get(index + 1).filter(|name| name.is_name());
            let (true, Some(name)) = (lexeme.is("references"), name) else {
                continue;
            };
            self.tables.insert(name.text.to_lowercase());
            let further = all.get(index + 2).is_some_and(|dot| dot.is_sign(b'.'));
            if let (true, Some(last)) = (further, all.get(index + 3)) {
                let full = format!("{}.{}", name.text, last.text);
                self.tables.insert(full.to_lowercase());
                self.tables.insert(last.text.to_lowercase());
            }
        }
    }

    fn verb(&mut self, verb: &str) {
        if !self.verbs.contains(verb) {
            self.verbs.insert(verb.to_owned());
        }
    }

    fn table(&mut self, name: &ObjectName) {
        let mut full = String::new();
        let mut last = "";
        for part in &name.0 {
            let Some(ident) = part.as_ident() else {
                self.hidden_tables = true;
                return;
            };
            if !full.is_empty() {
                full.push('.');
            }
            full.push_str(&ident.value.to_lowercase());
            last = &ident.value;
        }
        if name.0.len() > 1 {
            self.tables.insert(last.to_lowercase());
        }
        self.tables.insert(full);
    }
}

impl Visitor for Found {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        // Selects announce themselves; these two do not.
        match &*query.body {
            SetExpr::Table(table) => {
                self.verb("select");
                let parts = table.schema_name.iter().chain(&table.table_name).cloned();
                self.table(&ObjectName::from(parts.collect::<Vec<_>>()));
            }
            SetExpr::SetOperation { .. } => self.verb("select"),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.verb("select");
        if let Some(into) = &select.into {
            self.verb("create");
            for target in &into.targets {
                match target {
                    Expr::Identifier(name) => self.table(&ObjectName::from(vec![name.clone()])),
                    Expr::CompoundIdentifier(parts) => self.table(&ObjectName::from(parts.clone())),
                    _ => self.hidden_tables = true,
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.table(relation);
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        // The visitor itself reports the relations of these.
        let mut complete = true;
        match statement {
            Statement::Query(query) => {
                if matches!(*query.body, SetExpr::Values(_)) {
                    self.verb("values");
                }
            }
            Statement::Insert(insert) => {
                self.verb("insert");
                if insert.replace_into || insert.or == Some(SqliteOnConflict::Replace) {
                    self.verb("replace");
                }
                if insert.on.is_some() {
                    self.verb("update");
                }
            }
            Statement::Update(_) => self.verb("update"),
            Statement::Delete(delete) => {
                self.verb("delete");
                delete.tables.iter().for_each(|table| self.table(table));
            }
            Statement::Merge(merge) => {
                self.verb("merge");
                for clause in &merge.clauses {
                    match clause.action {
                        MergeAction::Insert(_) => self.verb("insert"),
                        MergeAction::Update { .. } => self.verb("update"),
                        MergeAction::Delete { .. } => self.verb("delete"),
                        _ => {}
                    }
                }
            }
            Statement::Explain { .. } | Statement::ExplainTable { .. } => self.verb("explain"),
            Statement::StartTransaction { statements, .. } => {
                self.verb("begin");
                self.unreadable |= !statements.is_empty();
            }
            Statement::Drop {
                object_type,
                names,
                cascade,
                table,
                ..
            } => {
                self.verb("drop");
                names.iter().chain(table).for_each(|name| self.table(name));
                // A schema takes its tables with it, an index belongs to one.
                let alone = matches!(object_type, ObjectType::Table | ObjectType::View);
                complete = (alone && !cascade) || table.is_some();
            }
            Statement::Copy { source, .. } => {
                self.verb("copy");
                if let CopySource::Table { table_name, .. } = source {
                    self.table(table_name);
                }
            }
            Statement::Grant(grant) => {
                self.verb("grant");
                complete = self.granted(grant.objects.as_ref());
            }
            Statement::Revoke(revoke) => {
                self.verb("revoke");
                complete = self.granted(revoke.objects.as_ref());
            }
            Statement::Truncate(truncate) => {
                self.verb("truncate");
                complete = truncate.cascade.is_none();
            }
            Statement::CreateTable(table) => {
                self.verb("create");
                if table.or_replace {
                    self.verb("drop");
                }
                complete = table.clone.is_none()
                    && table.like.is_none()
                    && table.inherits.is_none()
                    && table.partition_of.is_none();
            }
            Statement::CreateView(_) | Statement::CreateIndex(_) => self.verb("create"),
            Statement::AlterTable(alter) => {
                self.verb("alter");
                complete = alter.operations.iter().all(stays_within);
                for operation in &alter.operations {
                    if let AlterTableOperation::RenameTable { table_name } = operation {
                        let (RenameTableNameKind::As(name) | RenameTableNameKind::To(name)) =
                            table_name;
                        self.table(name);
                    }
                }
            }
            Statement::AlterView(_) => self.verb("alter"),
            Statement::Set(_) => self.verb("set"),
            Statement::Commit { .. } => self.verb("commit"),
            Statement::Rollback { .. } => self.verb("rollback"),
            Statement::Savepoint { .. } => self.verb("savepoint"),
            Statement::ReleaseSavepoint { .. } => self.verb("release"),
            other => {
                complete = matches!(other, Statement::ShowTables { .. });
                let text = other.to_string().to_lowercase();
                let word = text
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .next()
                    .unwrap_or("");
                self.verb(word);
                self.unreadable |= !OTHER_VERBS.contains(&word);
            }
        }
        self.hidden_tables |= !complete;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        // Calls with a grammar of their own have a node of their own.
        match expr {
            Expr::Function(function) => self.function(&function.name),
            Expr::Cast { .. } => self.called("cast"),
            Expr::Convert { .. } => self.called("convert"),
            Expr::Extract { .. } => self.called("extract"),
            Expr::Position { .. } => self.called("position"),
            Expr::Substring { .. } => self.called("substring"),
            Expr::Trim { .. } => self.called("trim"),
            Expr::Overlay { .. } => self.called("overlay"),
            Expr::Ceil { .. } => self.called("ceil"),
            Expr::Floor { .. } => self.called("floor"),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name,
                args: Some(_),
                ..
            }
            | TableFactor::Function { name, .. } => self.function(name),
            TableFactor::UNNEST { .. } => self.called("unnest"),
            TableFactor::JsonTable { .. } => self.called("json_table"),
            TableFactor::XmlTable { .. } => self.called("xmltable"),
            // `table(f())`, and what no dialect of ours has.
            TableFactor::Table { .. }
            | TableFactor::Derived { .. }
            | TableFactor::NestedJoin { .. } => {}
            _ => self.unreadable = true,
        }
        ControlFlow::Continue(())
    }
}

impl Found {
    /// Notes the tables of a grant; `false` if it is about something else.
    fn granted(&mut self, objects: Option<&GrantObjects>) -> bool {
        let Some(GrantObjects::Tables(names)) = objects else {
            return false;
        };
        names.iter().for_each(|name| self.table(name));
        true
    }
}

/// Whether this change of a table says all tables that it is about.
const fn stays_within(operation: &AlterTableOperation) -> bool {
    matches!(
        operation,
        AlterTableOperation::AddConstraint { .. }
            | AlterTableOperation::AddColumn { .. }
            | AlterTableOperation::AlterColumn { .. }
            | AlterTableOperation::ChangeColumn { .. }
            | AlterTableOperation::DropColumn { .. }
            | AlterTableOperation::DropConstraint { .. }
            | AlterTableOperation::DropForeignKey { .. }
            | AlterTableOperation::DropIndex { .. }
            | AlterTableOperation::DropPrimaryKey { .. }
            | AlterTableOperation::ModifyColumn { .. }
            | AlterTableOperation::RenameColumn { .. }
            | AlterTableOperation::RenameConstraint { .. }
            | AlterTableOperation::RenameTable { .. }
            | AlterTableOperation::ValidateConstraint { .. }
    )
}

/// The full name in lower case; `None` if a part is no plain name.
fn whole(name: &ObjectName) -> Option<String> {
    let parts: Option<Vec<String>> = name
        .0
        .iter()
        .map(|part| part.as_ident().map(|ident| ident.value.to_lowercase()))
        .collect();
    parts.map(|parts| parts.join("."))
}
