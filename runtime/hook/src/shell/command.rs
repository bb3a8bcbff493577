//! What is known of one program that a script starts. Knows nothing of how it is found out.

/// A program that a script starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its name; with its directory, unless that is one of the system's. Empty for an
    /// assignment by itself.
    pub program: String,
    /// The program and its arguments as words.
    pub words: Vec<String>,
    /// The program is known, and all of its words are.
    pub known: bool,
    /// Some argument is only known when the command runs.
    pub dynamic: bool,
    /// Variables that are set for it, or for what follows.
    pub env: Vec<String>,
    /// It reads what another command prints.
    pub piped: bool,
    /// It can reach the network.
    pub connects: bool,
    /// It can carry data there.
    pub sends: bool,
    /// Hosts and other destinations that it names.
    pub destinations: Vec<String>,
    /// Files that it writes.
    pub writes: Vec<String>,
    /// Files that it reads.
    pub reads: Vec<String>,
    /// Files of commands that it runs.
    pub scripts: Vec<String>,
    /// What lies below the directories that it reads is read as well, though the program
    /// mostly looks at names only.
    pub deep: bool,
    /// The directory that it changes to, for `cd`.
    pub directory: Option<String>,
}
