//! The files of the page, as they are in the binary.

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const DRAWING: &str = "image/svg+xml";

const FILES: [(&str, &str, &str); 10] = [
    ("/", HTML, include_str!("page/index.html")),
    ("/page.css", STYLE, include_str!("page/page.css")),
    ("/page.js", SCRIPT, include_str!("page/page.js")),
    ("/api.js", SCRIPT, include_str!("page/api.js")),
    ("/text.js", SCRIPT, include_str!("page/text.js")),
    ("/approvals.js", SCRIPT, include_str!("page/approvals.js")),
    ("/log.js", SCRIPT, include_str!("page/log.js")),
    ("/servers.js", SCRIPT, include_str!("page/servers.js")),
    ("/policy.js", SCRIPT, include_str!("page/policy.js")),
    ("/icon.svg", DRAWING, include_str!("page/icon.svg")),
];

/// The file at `path`: its media type and its text.
pub(super) fn find(path: &str) -> Option<(&'static str, &'static str)> {
    let found = FILES.iter().find(|(name, ..)| *name == path);
    found.map(|(_, kind, text)| (*kind, *text))
}
