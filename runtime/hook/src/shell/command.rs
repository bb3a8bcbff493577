//! What is known of one program that a script starts. Knows nothing of how it is found out.

use crate::disk::Below;

/// A program that a script starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its name; with its directory, unless that is one of the system's. Empty for an
    /// assignment by itself.
    pub program: String,
    /// The program and its arguments as words.
    pub words: Vec<String>,
    /// Its verb, for programs that have them: the first word that is no option.
    pub verb: String,
    /// Its options, each by itself, as the program's table spells them.
    pub flags: Vec<String>,
    /// Its other words, without the verb.
    pub operands: Vec<String>,
    /// Words that name files, for programs with verbs.
    pub paths: Vec<String>,
    /// Words that name files if there are such files.
    pub maybe: Vec<String>,
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
    /// Patterns of files that go into a folder under their own names, and the folder.
    pub spread: Vec<(String, String)>,
    /// What it moves, and where to; or what it links to, and in whose place.
    pub replaced: Option<(Vec<String>, String)>,
    /// Files of commands that it runs.
    pub scripts: Vec<String>,
    /// Files and folders whose code it runs in other ways.
    pub runs: Vec<String>,
    /// What it takes of what lies below the folders that it reads.
    pub below: Option<Below>,
    /// What lies below the directories that it reads is read as well, though the program
    /// mostly looks at names only.
    pub deep: bool,
    /// What it prints may be handed on to another.
    pub handed: bool,
    /// What lies below its files of which it prints the names.
    pub lists: Option<Below>,
    /// Words that it prints, which may be names of files.
    pub listed: Vec<String>,
    /// It reads files whose names come from elsewhere.
    pub named_elsewhere: bool,
    /// All their names come from another program.
    pub fed: bool,
    /// The directory that it changes to, for `cd`.
    pub directory: Option<String>,
}

impl Command {
    /// Takes over what was read of its options and words.
    pub fn described(&mut self, flags: &[String], operands: Vec<String>) {
        self.flags.extend_from_slice(flags);
        self.operands = operands;
    }
}
