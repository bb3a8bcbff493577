//! `init`, `uninstall`, `hook`, `policy suggest` and `doctor` as a user meets them: real
//! files, real processes.

mod hook;
mod init;
mod policy;
mod remote;

use crate::command::{bouncer, scratch};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory with a home in it, and a server that is not called bouncer.
struct Place {
    dir: PathBuf,
    server: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let dir = scratch(name);
        std::fs::create_dir_all(dir.join("home")).unwrap();
        let server = dir.join("mailserver");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bouncer"), &server).unwrap();
        Self { dir, server }
    }

    fn bouncer(&self, args: &[&str]) -> Command {
        let mut command = bouncer();
        command
            .current_dir(&self.dir)
            .env("HOME", self.dir.join("home"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CODEX_HOME")
            .env_remove("CLAUDE_PROJECT_DIR")
            .args(args);
        command
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.bouncer(args).stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A configuration with one local server, and one that is reached over the network.
    fn config(&self) -> String {
        format!(
            "{{\n  // my servers\n  \"mcpServers\": {{\n    \"mail\": {{ \"command\": {}, \"args\": [\"demo-server\"] }},\n    \
             \"far\": {{ \"type\": \"sse\", \"url\": \"https://far.example/mcp\" }}\n  }}\n}}\n",
            json!(self.server)
        )
    }

    /// Names of files that lie beside a configuration.
    fn beside(&self, name: &str) -> Vec<String> {
        let path = self.dir.join(name);
        let names = std::fs::read_dir(path.parent().unwrap()).unwrap();
        let own = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|other| other.starts_with(&own) && *other != own)
            .collect();
        names.sort();
        names
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
