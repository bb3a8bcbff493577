//! Takes bouncer out of a client's configuration again. Nothing is written here.

use crate::clients::{Document, Kind, file};
use crate::error::SetupError;
use crate::{Change, LOCK};
use std::path::{Path, PathBuf};

/// What is to be done to one file.
#[derive(Debug)]
pub struct Plan {
    /// The file.
    pub change: Change,
    /// What is said of it.
    pub says: &'static str,
    /// Files that nobody needs afterwards.
    pub leftovers: Vec<PathBuf>,
}

/// What to do with one file, if there is anything. `servers`: only these, if there are any.
///
/// # Errors
/// If the file cannot be used, or its servers cannot be put back.
pub fn plan(servers: &[String], path: &Path) -> Result<Option<Plan>, SetupError> {
    let read = file::read(path)?;
    let mut leftovers = Vec::new();
    if servers.is_empty() {
        // `init` may have been run several times: back to the first.
        let mut text = read.text.clone();
        while let Some((copy, older)) = file::original(&read.path, &text) {
            if leftovers.contains(&copy) {
                break;
            }
            leftovers.push(copy);
            text = older;
        }
        if !leftovers.is_empty() {
            // A copy that does not lead here is of a run of `init` whose work was edited
            // afterwards: what it had changed is still there.
            let copies = file::copies(&read.path)?;
            let edited = copies.iter().any(|copy| !leftovers.contains(copy));
            let (new, left) = match edited {
                true => without_bouncer(servers, &read.path, &text)?,
                false => (text.clone(), false),
            };
            if !left {
                leftovers.push(file::beside(&read.path, LOCK));
            }
            let says = match new == text {
                true => "not changed since `init`: becomes what it was",
                false => CHANGED_BACK,
            };
            let change = Change { read, new };
            return Ok(Some(Plan {
                change,
                says,
                leftovers,
            }));
        }
    }
    let (new, left) = without_bouncer(servers, &read.path, &read.text)?;
    if new == read.text {
        return Ok(None);
    }
    if servers.is_empty() && !left {
        leftovers.push(file::beside(&read.path, LOCK));
    }
    Ok(Some(Plan {
        change: Change { read, new },
        says: CHANGED_BACK,
        leftovers,
    }))
}

const CHANGED_BACK: &str = "bouncer's entries are changed back; all else stays";

/// A configuration without bouncer, and whether an entry is left that may still need what
/// `init` wrote besides.
fn without_bouncer(
    servers: &[String],
    path: &Path,
    text: &str,
) -> Result<(String, bool), SetupError> {
    let mut document = Document::parse(path, text)?;
    let mut left = false;
    for entry in document.entries() {
        if !servers.is_empty() && !servers.contains(&entry.name) {
            left = true;
            continue;
        }
        match &entry.kind {
            Kind::Wrapped { .. } | Kind::Stashed(_) | Kind::Fronted { .. } => {
                document.unwrap_entry(&entry)?;
            }
            Kind::Bouncer { subcommand, .. } if subcommand == "gateway" => {
                return Err(SetupError::ServersLost {
                    gateway: entry.name,
                    file: path.to_owned(),
                });
            }
            Kind::Bouncer { .. } => left = true,
            _ => {}
        }
    }
    Ok((document.text(), left))
}
