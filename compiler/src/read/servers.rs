//! `servers:`: what the gateway starts or connects to.

use super::decode::Cx;
use super::dialect::SERVER_KEYS;
use super::node::{Node, Value};
use crate::diagnostic::{Code, Diagnostic, Span, quote};
use crate::policy::{Server, Transport};

/// Reads the section. Each server comes with the place of its name.
pub(crate) fn read(cx: &mut Cx<'_>, node: &Node) -> Vec<(Server, Span)> {
    let help = "write a mapping of names to servers, e.g. `db: {command: npx, args: [...]}`";
    let entries = cx.entries(node, "`servers`", help).unwrap_or_default();
    let mut out = Vec::new();
    for (name, span, value) in entries {
        let named = cx.clean_name(name, span, "the server name");
        check_name(cx, name, span);
        let transport = transport(cx, name, span, value);
        if let (Some(name), Some(transport)) = (named, transport) {
            let server = Server {
                name: name.to_owned(),
                transport,
                at: cx.pos(span),
            };
            out.push((server, span));
        }
    }
    out
}

/// The longest name of a server that leaves its tools room for theirs.
const LONGEST: usize = 24;

/// Clients refuse names of tools that are long, or have other signs than these.
fn check_name(cx: &mut Cx<'_>, name: &str, span: Span) {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.chars().all(plain) && name.len() <= LONGEST {
        return;
    }
    let why = match name.len() > LONGEST {
        true => format!("has more than {LONGEST} signs"),
        false => "has other signs than letters, digits, `_` and `-`".to_owned(),
    };
    let message = format!("the name of the server {} {why}", quote(name));
    cx.report(
        Diagnostic::new(Code::SERVER_NAME, span, message)
            .help("clients refuse such names of tools, so these are shown under short forms; call the server something short"),
    );
}

/// A command is one program: what a shell would take apart is not.
fn check_command(cx: &mut Cx<'_>, node: &Node, program: &str, what: &str) {
    let mut words = program.split_whitespace();
    let Some(first) = words.next() else { return };
    let rest: Vec<&str> = words.collect();
    // A path may have spaces.
    if rest.is_empty() || first.contains(['/', '\\']) {
        return;
    }
    let args: Vec<String> = rest.iter().map(|word| format!("{word:?}")).collect();
    let message = format!("`command` of {what} is several words, and is looked for as one program");
    let help = format!(
        "split it into the program and its arguments: `command: {first}` and `args: [{}]`",
        args.join(", ")
    );
    cx.report(Diagnostic::new(Code::SERVER_COMMAND, node.span, message).help(help));
}

fn transport(cx: &mut Cx<'_>, name: &str, span: Span, node: &Node) -> Option<Transport> {
    let what = format!("the server {}", quote(name));
    if SERVER_KEYS.contains(&name) && !matches!(node.value, Value::Map(_)) {
        let help = format!(
            "{} is a key of a server: indent it below the server's name",
            quote(name)
        );
        cx.wrong(node, &what, "a mapping", &help);
        return None;
    }
    let fields = cx.fields(node, &what, SERVER_KEYS)?;
    let kinds = (fields.find("command"), fields.find("url"));
    match kinds {
        (Some((_, node)), None) => {
            stray(cx, &fields, &what, "command", &["headers"]);
            let program = cx.some_text(node, &format!("`command` of {what}"));
            if let Some(program) = program.filter(|_| fields.get("args").is_none()) {
                check_command(cx, node, program, &what);
            }
            let args = fields
                .get("args")
                .map(|node| texts(cx, node, &format!("`args` of {what}")));
            let env = fields
                .get("env")
                .map(|node| pairs(cx, node, &format!("`env` of {what}")));
            let cwd = fields
                .get("cwd")
                .and_then(|node| cx.some_text(node, &format!("`cwd` of {what}")));
            Some(Transport::Stdio {
                command: program?.to_owned(),
                args: args.unwrap_or_default(),
                env: env.unwrap_or_default(),
                cwd: cwd.map(ToOwned::to_owned),
            })
        }
        (None, Some((_, node))) => {
            stray(cx, &fields, &what, "url", &["args", "env", "cwd"]);
            let what_url = format!("`url` of {what}");
            let url = cx
                .some_text(node, &what_url)
                .and_then(|url| check_url(cx, url, node.span, &what_url).then(|| url.to_owned()));
            let headers = fields
                .get("headers")
                .map(|node| pairs(cx, node, &format!("`headers` of {what}")));
            Some(Transport::Http {
                url: url?,
                headers: headers.unwrap_or_default(),
            })
        }
        (Some((command, _)), Some((url, _))) => {
            let message = format!("{what} has both `command` and `url`");
            cx.report(
                Diagnostic::new(Code::SERVER_KIND, url, message)
                    .also(command, "and a command")
                    .help("keep one of the two"),
            );
            None
        }
        (None, None) => {
            let message = format!("{what} has neither `command` nor `url`");
            cx.report(
                Diagnostic::new(Code::SERVER_KIND, span, message)
                    .help("add `command:` to start it, or `url:` to connect to it"),
            );
            None
        }
    }
}

/// Reports keys that belong to the other kind of server.
fn stray(
    cx: &mut Cx<'_>,
    fields: &super::decode::Fields<'_>,
    what: &str,
    kind: &str,
    strays: &[&str],
) {
    for key in strays {
        if let Some((span, _)) = fields.find(key) {
            let message = format!("`{key}` means nothing for {what}, which has a `{kind}`");
            cx.report(Diagnostic::new(Code::UNKNOWN_KEY, span, message).help("remove it"));
        }
    }
}

/// `${VAR}` stays unexpanded, so such a URL is only looked at where it starts.
fn check_url(cx: &mut Cx<'_>, text: &str, span: Span, what: &str) -> bool {
    let good = if text.contains("${") {
        text.starts_with("http://") || text.starts_with("https://") || text.starts_with("${")
    } else {
        url::Url::parse(text)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    };
    if !good {
        let message = format!("{what} is not an `http` or `https` URL: {}", quote(text));
        cx.report(
            Diagnostic::new(Code::URL, span, message)
                .help("write e.g. `http://127.0.0.1:9000/mcp`"),
        );
    }
    good
}

fn texts(cx: &mut Cx<'_>, node: &Node, what: &str) -> Vec<String> {
    let item_of = format!("an item of {what}");
    cx.list(node, what)
        .unwrap_or_default()
        .iter()
        .filter_map(|item| cx.text(item, &item_of).map(ToOwned::to_owned))
        .collect()
}

fn pairs(cx: &mut Cx<'_>, node: &Node, what: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let help = "write a mapping of names to texts";
    for (name, _, value) in cx.entries(node, what, help).unwrap_or_default() {
        if let Some(text) = cx.text(value, &format!("{} in {what}", quote(name))) {
            out.push((name.to_owned(), text.to_owned()));
        }
    }
    out
}
