//! The servers and tools that results came from, each kept once.

use std::collections::HashMap;

/// Longer names are cut: they only serve to tell a human where a value came from.
const MAX_NAME_BYTES: usize = 256;

type Row = (Option<Box<str>>, Box<str>);

/// A bounded table of (server, tool).
pub(super) struct Names {
    rows: Vec<Row>,
    ids: HashMap<Row, u32>,
    bytes: usize,
    limit: usize,
}

impl Names {
    /// A table that holds about `limit` bytes of names.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            rows: vec![(None, "(one of many)".into())],
            ids: HashMap::new(),
            bytes: 0,
            limit,
        }
    }

    /// The number of a server's tool. Once the table is full, new ones share a number
    /// that names none of them.
    pub(super) fn id(&mut self, server: Option<&str>, tool: &str) -> u32 {
        let row: Row = (server.map(|s| cut(s).into()), cut(tool).into());
        if let Some(id) = self.ids.get(&row) {
            return *id;
        }
        let cost = 2 * (row.0.as_ref().map_or(0, |s| s.len()) + row.1.len() + 48);
        let Ok(id) = u32::try_from(self.rows.len()) else {
            return 0;
        };
        if self.bytes + cost > self.limit {
            return 0;
        }
        self.bytes += cost;
        self.rows.push(row.clone());
        self.ids.insert(row, id);
        id
    }

    /// The server and tool behind a number.
    pub(super) fn get(&self, id: u32) -> (Option<&str>, &str) {
        self.rows
            .get(id as usize)
            .map_or((None, ""), |(server, tool)| (server.as_deref(), tool))
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

fn cut(name: &str) -> &str {
    name.get(..name.floor_char_boundary(MAX_NAME_BYTES))
        .unwrap_or(name)
}
