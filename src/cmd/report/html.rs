//! A report as one page that needs nothing else: no script, no picture, no other address.

use super::outline::Block;
use bouncer_compiler::diagnostic::visible;

/// Before the first block.
const HEAD: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
);
/// How it looks, also on paper.
const STYLE: &str = "<style>\n\
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }\n\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }\n\
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; }\n\
.scroll { overflow-x: auto; margin: 0.75rem 0; } table { border-collapse: collapse; width: 100%; }\n\
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }\n\
.good, .bad { margin: 0.25rem 0; font-weight: 600; } .good::before { content: '✓ '; color: #1a7f37; } .bad::before { content: '✗ '; color: #cf222e; }\n\
code { font: 0.9em ui-monospace, monospace; }\n\
@media print { body { margin: 0; max-width: none; } tr { break-inside: avoid; } }\n\
</style>\n";

/// The whole page.
pub(super) fn page(blocks: &[Block]) -> String {
    let mut out = String::from(HEAD);
    let title = blocks.iter().find_map(|block| match block {
        Block::Title(text) => Some(plain(text)),
        _ => None,
    });
    out.push_str(&format!(
        "<title>{}</title>\n{STYLE}</head>\n<body>\n",
        title.unwrap_or_default()
    ));
    for block in blocks {
        match block {
            Block::Title(text) => out.push_str(&format!("<h1>{}</h1>\n", plain(text))),
            Block::Section(text) => out.push_str(&format!("<h2>{}</h2>\n", plain(text))),
            Block::Words(text) => out.push_str(&format!("<p>{}</p>\n", told(text))),
            Block::Judgement(good, text) => {
                let class = if *good { "good" } else { "bad" };
                out.push_str(&format!("<p class=\"{class}\">{}</p>\n", told(text)));
            }
            Block::Points(points) => {
                out.push_str("<ul>\n");
                for point in points {
                    out.push_str(&format!("<li>{}</li>\n", told(point)));
                }
                out.push_str("</ul>\n");
            }
            Block::Table(head, rows) => table(&mut out, head, rows),
        }
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    out.push_str("<div class=\"scroll\"><table>\n");
    if head.iter().any(|cell| !cell.is_empty()) {
        let cells = head.iter().map(|cell| format!("<th>{}</th>", plain(cell)));
        out.push_str(&format!("<tr>{}</tr>\n", cells.collect::<String>()));
    }
    for row in rows {
        let cells = row.iter().map(|cell| format!("<td>{}</td>", plain(cell)));
        out.push_str(&format!("<tr>{}</tr>\n", cells.collect::<String>()));
    }
    out.push_str("</table></div>\n");
}

/// Words of which those between back-ticks are code.
fn told(text: &str) -> String {
    let text = plain(text);
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        match index % 2 {
            0 => out.push_str(part),
            _ => out.push_str(&format!("<code>{part}</code>")),
        }
    }
    out
}

/// Text that means nothing to a browser, with what does not show made visible.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_servers_text_means_anything() {
        let hostile = "<script>alert(1)</script>\"' onload=x\u{202e}`<b>`";
        let blocks = [
            Block::Title(hostile.to_owned()),
            Block::Words(hostile.to_owned()),
            Block::Judgement(true, hostile.to_owned()),
            Block::Table(vec!["a"], vec![vec![hostile.to_owned()]]),
            Block::Points(vec![hostile.to_owned()]),
        ];
        let page = page(&blocks);
        assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
        assert!(!page.contains('\u{202e}'), "{page}");
        assert!(!page.contains("src=") && !page.contains("href="), "{page}");
    }
}
