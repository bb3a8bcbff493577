//! What a command reaches, as far as its words say: hosts, and files that it changes.

use super::Word;
use super::meaning::Command;
use super::reader::Unread;
use bouncer_runtime::address;

/// Programs that reach the network, with what they reach if they name nothing.
const NETWORK: [(&str, &str); 49] = [
    ("aria2c", ""),
    ("aws", "amazonaws.com"),
    ("az", "azure.com"),
    ("curl", ""),
    ("curlie", ""),
    ("dig", ""),
    ("doggo", ""),
    ("drill", ""),
    ("ftp", ""),
    ("gcloud", "googleapis.com"),
    ("gh", "github.com"),
    ("glab", "gitlab.com"),
    ("grpcurl", ""),
    ("gsutil", "googleapis.com"),
    ("host", ""),
    ("http", ""),
    ("https", ""),
    ("httpie", ""),
    ("lftp", ""),
    ("links", ""),
    ("lynx", ""),
    ("mail", ""),
    ("mailx", ""),
    ("mosquitto_pub", ""),
    ("msmtp", ""),
    ("mutt", ""),
    ("nc", ""),
    ("ncat", ""),
    ("netcat", ""),
    ("nslookup", ""),
    ("ping", ""),
    ("ping6", ""),
    ("rclone", ""),
    ("rsync", ""),
    ("s3cmd", "amazonaws.com"),
    ("scp", ""),
    ("sendmail", ""),
    ("sftp", ""),
    ("socat", ""),
    ("ssh", ""),
    ("swaks", ""),
    ("telnet", ""),
    ("tftp", ""),
    ("traceroute", ""),
    ("w3m", ""),
    ("websocat", ""),
    ("wget", ""),
    ("wscat", ""),
    ("xh", ""),
];

/// Programs that cannot reach the network, so that an address among their words is text.
const LOCAL: [&str; 30] = [
    "[", "[[", "basename", "cat", "cd", "cut", "diff", "dirname", "echo", "egrep", "export",
    "fgrep", "file", "grep", "head", "jq", "ls", "mkdir", "printf", "pwd", "rg", "rm", "sort",
    "stat", "tail", "test", "touch", "tr", "uniq", "wc",
];

/// Options of `curl` and `wget` whose value is no destination.
const VALUES: [&str; 36] = [
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--data-ascii",
    "-F",
    "--form",
    "--json",
    "--post-file",
    "-o",
    "--output",
    "-O",
    "-H",
    "--header",
    "-X",
    "--request",
    "-u",
    "--user",
    "-A",
    "--user-agent",
    "-b",
    "--cookie",
    "-c",
    "--cookie-jar",
    "-m",
    "--max-time",
    "--retry",
    "-w",
    "--write-out",
    "-T",
    "--upload-file",
    "--connect-timeout",
    "--cacert",
    "--cert",
    "--key",
];

/// Programs whose operands are files that they change.
const WRITERS: [&str; 14] = [
    "chmod", "chown", "ln", "mkdir", "mv", "rm", "rmdir", "shred", "tee", "touch", "truncate",
    "unlink", "cp", "install",
];

/// The files that a program changes, as far as its words say.
pub(super) fn files(command: &mut Command, args: &[Word]) -> Result<(), Unread> {
    let name = command.program.as_str();
    let in_place = matches!(name, "sed" | "gsed" | "perl" | "ruby")
        && args
            .iter()
            .any(|word| word.text.starts_with("-i") || word.text.starts_with("--in-place"));
    if name == "dd" {
        let to = args.iter().filter_map(|word| word.text.strip_prefix("of="));
        command.writes.extend(to.map(str::to_owned));
        return Ok(());
    }
    if !in_place && !WRITERS.contains(&name) {
        return Ok(());
    }
    let mut operands = Vec::new();
    let mut options = true;
    for word in args {
        let text = word.text.as_str();
        if options && text == "--" {
            options = false;
        } else if options && text.len() > 1 && text.starts_with('-') {
            // `--target-directory=DIR` and the like.
            operands.extend(text.split_once('=').map(|(_, value)| value.to_owned()));
        } else if word.dynamic {
            return Err(format!(
                "which files `{name}` changes is put together when it runs"
            ));
        } else {
            operands.push(text.to_owned());
        }
    }
    if matches!(name, "chmod" | "chown") || in_place {
        operands = operands.split_off(operands.len().min(1));
    }
    let target = args
        .iter()
        .any(|word| word.text.starts_with("-t") || word.text.starts_with("--target"));
    if matches!(name, "cp" | "install") && !target && !operands.is_empty() {
        operands = operands.split_off(operands.len() - 1);
    }
    command.writes.extend(operands);
    Ok(())
}

/// The hosts that a command names.
pub(super) fn destinations(command: &mut Command, args: &[Word]) {
    let name = command.program.as_str();
    let git = name == "git";
    let verb = args
        .iter()
        .find(|word| !word.text.starts_with('-'))
        .map(|word| word.text.as_str());
    let network = NETWORK.iter().find(|(program, _)| *program == name);
    let pushes = git && matches!(verb, Some("push" | "send-email" | "request-pull"));
    let git_local = git
        && !matches!(
            verb,
            Some(
                "push"
                    | "send-email"
                    | "request-pull"
                    | "clone"
                    | "fetch"
                    | "pull"
                    | "remote"
                    | "ls-remote"
                    | "submodule"
                    | "archive"
            )
        );
    if LOCAL.contains(&name) || git_local {
        return;
    }
    if let Some((_, implied)) = network {
        command.connects = true;
        if !implied.is_empty() {
            command.destinations.push((*implied).to_owned());
        }
    }
    command.connects |= pushes;
    if name == "openssl" {
        command.connects |= args.iter().any(|word| word.text == "s_client");
    }
    let curl = matches!(name, "curl" | "wget");
    let mut skip = false;
    for word in args {
        let text = word.text.as_str();
        if std::mem::take(&mut skip) && !text.contains("://") {
            continue;
        }
        if text.contains("://") {
            command.connects = true;
            urls(text, &mut command.destinations);
            continue;
        }
        if network.is_none() && !pushes && !command.connects {
            // `git clone git@host:path`
            if git && text.contains(':') {
                command.connects = true;
                host(text, &mut command.destinations);
            }
            continue;
        }
        if curl && VALUES.contains(&text) {
            skip = true;
            continue;
        }
        if text.starts_with('-') {
            if let Some((_, value)) = text
                .split_once('=')
                .filter(|(_, value)| value.contains('.'))
            {
                host(value, &mut command.destinations);
            }
            continue;
        }
        let shaped = text.contains(['.', ':', '@', '$']) || text == "localhost";
        let first = matches!(
            name,
            "ssh"
                | "sftp"
                | "telnet"
                | "nc"
                | "ncat"
                | "netcat"
                | "ping"
                | "ping6"
                | "ftp"
                | "host"
                | "dig"
                | "nslookup"
                | "mail"
                | "mailx"
                | "sendmail"
                | "traceroute"
        );
        // A port or a count; as an address it would be one of no machine.
        let port = text.parse::<u16>().is_ok();
        if (word.dynamic || shaped || first) && !port {
            host(text, &mut command.destinations);
        }
    }
    if pushes && command.destinations.is_empty() {
        let remote = args
            .iter()
            .filter(|word| !word.text.starts_with('-'))
            .nth(1);
        let remote = remote.map_or("origin", |word| word.text.as_str());
        command.destinations.push(format!("git remote {remote}"));
    }
}

/// The hosts of all addresses that stand in a word.
fn urls(text: &str, out: &mut Vec<String>) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let scheme = before
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
            .map_or(before, |at| before.get(at..).unwrap_or(before))
            .trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let end = after
            .find(|c: char| c.is_whitespace() || "\"'<>".contains(c))
            .unwrap_or(after.len());
        let address = after.get(..end).unwrap_or(after);
        let mut found = String::new();
        match address::host(&format!("{scheme}://{address}"), &mut found) {
            Ok(()) if !found.is_empty() && !address.contains(['$', '{', '\\']) => out.push(found),
            _ => out.push(format!("{scheme}://{address}")),
        }
        rest = after;
    }
}

/// The host of `user@host:path`, `host:port`, `host/path` or `host`.
fn host(text: &str, out: &mut Vec<String>) {
    let behind = text.rsplit_once('@').map_or(text, |(_, behind)| behind);
    let end = behind.find(['/', '?', '#']).unwrap_or(behind.len());
    let authority = behind.get(..end).unwrap_or(behind);
    let mut found = String::new();
    match address::host(&format!("x://{authority}"), &mut found) {
        Ok(()) if !found.is_empty() && !authority.contains(['$', '{', '\\']) => out.push(found),
        _ => {
            let name = authority.split(':').next().unwrap_or_default();
            out.push(if name.is_empty() { text } else { name }.to_owned());
        }
    }
}
