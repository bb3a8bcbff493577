//! A second reading by SQLite's own grammar, as `sqlite3-parser` carries it.

use super::lexemes::Kind;
use super::{Second, Unreadable};
use sqlite3_parser::ast::{
    AlterTableBody, Cmd, ColumnConstraint, CreateTableBody, Expr, FrameBound, FromClause,
    FunctionCallOrder, FunctionTail, InsertBody, JoinConstraint, Limit, OneSelect, Over,
    QualifiedName, ResultColumn, Select, SelectTable, Set, SortedColumn, Stmt, TableConstraint,
    Upsert, UpsertDo, Window, With,
};
use sqlite3_parser::lexer::Scanner;
use sqlite3_parser::lexer::sql::{Parser, Tokenizer};
use sqlite3_parser::{Bump, FallibleIterator};
use std::collections::BTreeSet;

/// Reads `query`; refuses what the grammar does not know.
pub(super) fn read(query: &str) -> Result<Second, Unreadable> {
    let mut second = Second {
        marks: marks(query)?,
        ..Second::default()
    };
    let bump = Bump::new();
    let mut parser = Parser::new(&bump, query.as_bytes());
    while let Some(command) = parser.next().map_err(|_| Unreadable)? {
        second.statements += 1;
        let (Cmd::Explain(statement) | Cmd::ExplainQueryPlan(statement) | Cmd::Stmt(statement)) =
            command;
        Walk(&mut second.tables).statement(&statement);
    }
    Ok(second)
}

fn marks(query: &str) -> Result<Vec<(Kind, usize)>, Unreadable> {
    let mut scanner = Scanner::new(Tokenizer::new());
    let bytes = query.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut marks = Vec::new();
    loop {
        let (start, token, _) = scanner.scan(bytes).map_err(|_| Unreadable)?;
        if token.is_none() {
            return Ok(marks);
        }
        let (first, next) = (byte(start), byte(start + 1));
        marks.push(match first {
            b'\'' => (Kind::Text, start),
            b'x' | b'X' if next == b'\'' => (Kind::Text, start),
            b'0' if matches!(next, b'x' | b'X') => (Kind::Text, start),
            b'"' | b'`' | b'[' => (Kind::Quoted, start),
            b';' => (Kind::Sign(b';'), start),
            b'@' | b':' | b'$' if next.is_ascii_alphabetic() || next == b'_' => {
                (Kind::Word, start + 1)
            }
            _ if first.is_ascii_alphabetic() || first == b'_' => (Kind::Word, start),
            _ => continue,
        });
    }
}

/// Collects the tables that a tree names.
struct Walk<'t>(&'t mut BTreeSet<String>);

impl Walk<'_> {
    fn table(&mut self, name: &QualifiedName<'_>) {
        let last = unquoted(name.name.0);
        self.0.insert(match &name.db_name {
            Some(schema) => format!("{}.{last}", unquoted(schema.0)),
            None => last,
        });
    }

    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::AlterTable(table, body) => {
                self.table(table);
                match body {
                    AlterTableBody::AddColumn(column) => {
                        self.constraints(column.constraints.iter().map(|named| &named.constraint))
                    }
                    AlterTableBody::AddConstraint(named) => self.constraint(&named.constraint),
                    AlterTableBody::RenameTo(_)
                    | AlterTableBody::DropColumnNotNull(_)
                    | AlterTableBody::SetColumnNotNull(..)
                    | AlterTableBody::RenameColumn { .. }
                    | AlterTableBody::DropColumn(_)
                    | AlterTableBody::DropConstraint(_) => {}
                }
            }
            Stmt::CreateIndex {
                tbl_name,
                columns,
                where_clause,
                ..
            } => {
                self.0.insert(unquoted(tbl_name.0));
                self.sorted(columns);
                self.exprs(where_clause);
            }
            Stmt::CreateTable { tbl_name, body, .. } => {
                self.table(tbl_name);
                self.created(body);
            }
            Stmt::CreateView {
                view_name, select, ..
            } => {
                self.table(view_name);
                self.select(select);
            }
            Stmt::Delete {
                with,
                tbl_name,
                where_clause,
                returning,
                order_by,
                limit,
                ..
            } => {
                self.with(with.as_ref());
                self.table(tbl_name);
                self.exprs(where_clause);
                self.returning(*returning);
                self.sorted(order_by.unwrap_or_default());
                self.limit(*limit);
            }
            Stmt::DropTable { tbl_name, .. } => self.table(tbl_name),
            Stmt::DropView { view_name, .. } => self.table(view_name),
            Stmt::Insert {
                with,
                tbl_name,
                body,
                returning,
                ..
            } => {
                self.with(with.as_ref());
                self.table(tbl_name);
                if let InsertBody::Select(select, upsert) = body {
                    self.select(select);
                    self.upsert(*upsert);
                }
                self.returning(*returning);
            }
            Stmt::Select(select) => self.select(select),
            Stmt::Update {
                with,
                tbl_name,
                sets,
                from,
                where_clause,
                returning,
                order_by,
                limit,
                ..
            } => {
                self.with(with.as_ref());
                self.table(tbl_name);
                self.sets(sets);
                if let Some(from) = from {
                    self.from(from);
                }
                self.exprs(where_clause);
                self.returning(*returning);
                self.sorted(order_by.unwrap_or_default());
                self.limit(*limit);
            }
            // What these are about is not asked of this reading: the other one says
            // that their tables are not all known, or that they cannot be read.
            Stmt::Analyze(_)
            | Stmt::Attach { .. }
            | Stmt::Begin(..)
            | Stmt::Commit(_)
            | Stmt::CreateTrigger { .. }
            | Stmt::CreateVirtualTable { .. }
            | Stmt::Detach(_)
            | Stmt::DropIndex { .. }
            | Stmt::DropTrigger { .. }
            | Stmt::Pragma(..)
            | Stmt::Reindex { .. }
            | Stmt::Release(_)
            | Stmt::Rollback { .. }
            | Stmt::Savepoint(_)
            | Stmt::Vacuum(..) => {}
        }
    }

    fn created(&mut self, body: &CreateTableBody<'_>) {
        match body {
            CreateTableBody::AsSelect(select) => self.select(select),
            CreateTableBody::ColumnsAndConstraints {
                columns,
                constraints,
                ..
            } => {
                for column in columns {
                    self.constraints(column.constraints.iter().map(|named| &named.constraint));
                }
                for named in constraints.unwrap_or_default() {
                    self.constraint(&named.constraint);
                }
            }
        }
    }

    fn constraints<'b>(&mut self, all: impl Iterator<Item = &'b ColumnConstraint<'b>>) {
        for constraint in all {
            match constraint {
                ColumnConstraint::ForeignKey { clause, .. } => {
                    self.0.insert(unquoted(clause.tbl_name.0));
                }
                ColumnConstraint::Check(expr)
                | ColumnConstraint::Default(expr)
                | ColumnConstraint::Generated { expr, .. } => self.expr(expr),
                _ => {}
            }
        }
    }

    fn constraint(&mut self, constraint: &TableConstraint<'_>) {
        match constraint {
            TableConstraint::ForeignKey { clause, .. } => {
                self.0.insert(unquoted(clause.tbl_name.0));
            }
            TableConstraint::Check(expr, _) => self.expr(expr),
            TableConstraint::PrimaryKey { .. } | TableConstraint::Unique { .. } => {}
        }
    }

    fn with(&mut self, with: Option<&With<'_>>) {
        for table in with.map(|with| with.ctes).unwrap_or_default() {
            self.select(table.select);
        }
    }

    fn select(&mut self, select: &Select<'_>) {
        self.with(select.with.as_ref());
        self.one(&select.body.select);
        for compound in select.body.compounds.iter().flatten() {
            self.one(&compound.select);
        }
        self.sorted(select.order_by.unwrap_or_default());
        self.limit(select.limit);
    }

    fn one(&mut self, select: &OneSelect<'_>) {
        match select {
            OneSelect::Values(rows) => rows.iter().flatten().for_each(|expr| self.expr(expr)),
            OneSelect::Select {
                columns,
                from,
                where_clause,
                group_by,
                having,
                window_clause,
                ..
            } => {
                self.returning(Some(columns));
                if let Some(from) = from {
                    self.from(from);
                }
                self.exprs(where_clause.iter().copied());
                self.exprs(group_by.unwrap_or_default());
                self.exprs(having.iter().copied());
                for window in window_clause.unwrap_or_default() {
                    self.window(&window.window);
                }
            }
        }
    }

    fn from(&mut self, from: &FromClause<'_>) {
        if let Some(table) = from.select {
            self.source(table);
        }
        for join in from.joins.iter().flatten() {
            self.source(&join.table);
            if let Some(JoinConstraint::On(expr)) = &join.constraint {
                self.expr(expr);
            }
        }
    }

    fn source(&mut self, table: &SelectTable<'_>) {
        match table {
            SelectTable::Table(name, ..) => self.table(name),
            SelectTable::TableCall(name, arguments, _) => {
                self.table(name);
                self.exprs(arguments.unwrap_or_default());
            }
            SelectTable::Select(select, _) => self.select(select),
            SelectTable::Sub(from, _) => self.from(from),
        }
    }

    fn returning(&mut self, columns: Option<&[ResultColumn<'_>]>) {
        for column in columns.unwrap_or_default() {
            if let ResultColumn::Expr(expr, _) = column {
                self.expr(expr);
            }
        }
    }

    fn sets(&mut self, sets: &[Set<'_>]) {
        sets.iter().for_each(|set| self.expr(&set.expr));
    }

    fn sorted(&mut self, columns: &[SortedColumn<'_>]) {
        columns.iter().for_each(|column| self.expr(&column.expr));
    }

    fn limit(&mut self, limit: Option<&Limit<'_>>) {
        if let Some(limit) = limit {
            self.expr(&limit.expr);
            self.exprs(&limit.offset);
        }
    }

    fn upsert(&mut self, upsert: Option<&Upsert<'_>>) {
        let mut next = upsert;
        while let Some(upsert) = next {
            if let Some(index) = &upsert.index {
                self.sorted(index.targets);
                self.exprs(&index.where_clause);
            }
            if let UpsertDo::Set { sets, where_clause } = &upsert.do_clause {
                self.sets(sets);
                self.exprs(where_clause);
            }
            next = upsert.next;
        }
    }

    fn window(&mut self, window: &Window<'_>) {
        self.exprs(window.partition_by.unwrap_or_default());
        self.sorted(window.order_by.unwrap_or_default());
        if let Some(frame) = &window.frame_clause {
            for bound in std::iter::once(&frame.start).chain(&frame.end) {
                if let FrameBound::Following(expr) | FrameBound::Preceding(expr) = bound {
                    self.expr(expr);
                }
            }
        }
    }

    fn tail(&mut self, tail: Option<&FunctionTail<'_>>) {
        if let Some(tail) = tail {
            self.exprs(tail.filter_clause.iter().copied());
            if let Some(Over::Window(window)) = tail.over_clause {
                self.window(window);
            }
        }
    }

    fn exprs<'b>(&mut self, all: impl IntoIterator<Item = &'b Expr<'b>>) {
        all.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &Expr<'_>) {
        match expr {
            Expr::Between {
                lhs, start, end, ..
            } => self.exprs([*lhs, *start, *end]),
            Expr::Binary(left, _, right) => self.exprs([*left, *right]),
            Expr::Case {
                base,
                when_then_pairs,
                else_expr,
            } => {
                self.exprs(base.iter().copied());
                for (when, then) in *when_then_pairs {
                    self.exprs([when, then]);
                }
                self.exprs(else_expr.iter().copied());
            }
            Expr::Cast { expr, .. }
            | Expr::Collate(expr, _)
            | Expr::IsNull(expr)
            | Expr::NotNull(expr)
            | Expr::Unary(_, expr) => self.expr(expr),
            Expr::Exists(select) | Expr::Subquery(select) => self.select(select),
            Expr::FunctionCall {
                args,
                order_by,
                filter_over,
                ..
            } => {
                self.exprs(args.unwrap_or_default());
                if let Some(FunctionCallOrder::SortList(columns)) = order_by {
                    self.sorted(columns);
                }
                self.tail(filter_over.as_ref());
            }
            Expr::FunctionCallStar { filter_over, .. } => self.tail(filter_over.as_ref()),
            Expr::InList { lhs, rhs, .. } => {
                self.expr(lhs);
                self.exprs(rhs.unwrap_or_default());
            }
            Expr::InSelect { lhs, rhs, .. } => {
                self.expr(lhs);
                self.select(rhs);
            }
            Expr::InTable { lhs, rhs, args, .. } => {
                self.expr(lhs);
                self.table(rhs);
                self.exprs(args.unwrap_or_default());
            }
            Expr::Like {
                lhs, rhs, escape, ..
            } => {
                self.exprs([*lhs, *rhs]);
                self.exprs(escape.iter().copied());
            }
            Expr::Parenthesized(all) => self.exprs(all),
            Expr::Raise(_, message) => self.exprs(message.iter().copied()),
            Expr::DoublyQualified(..)
            | Expr::Id(_)
            | Expr::Literal(_)
            | Expr::Name(_)
            | Expr::Qualified(..)
            | Expr::Variable(_) => {}
        }
    }
}

/// A name without its quotes, in lower case.
fn unquoted(name: &str) -> String {
    let quote = name
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '`' | '[' | '\''));
    let inner = quote.and_then(|_| name.get(1..name.len().saturating_sub(1)));
    let text = match (quote, inner) {
        (Some('['), Some(inner)) => inner.to_owned(),
        (Some(quote), Some(inner)) => {
            let one = quote.to_string();
            inner.replace(&one.repeat(2), &one)
        }
        _ => name.to_owned(),
    };
    text.to_lowercase()
}
