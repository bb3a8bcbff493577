//! `bouncer completions` and `bouncer man`.

use crate::output::{Failure, Outcome};
use std::io::Write;
use std::path::Path;

/// Prints completions for a shell.
pub fn completions(shell: clap_complete::Shell, command: &mut clap::Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "bouncer", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(0)
}

/// Prints the manual page, or writes one a command into a directory.
pub fn man(directory: Option<&Path>, command: clap::Command) -> Outcome {
    match directory {
        Some(directory) => {
            std::fs::create_dir_all(directory)
                .and_then(|()| clap_mangen::generate_to(command, directory))
                .map_err(|error| Failure::file("write", directory, &error))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            std::io::stdout().lock().write_all(&page)?;
        }
    }
    Ok(0)
}
