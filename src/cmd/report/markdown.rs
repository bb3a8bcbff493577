//! A report as Markdown. Whatever stands in it is text: no sign of it means anything to a reader
//! of Markdown.

use super::outline::Block;
use bouncer_compiler::diagnostic::visible;

/// The whole text.
pub(super) fn text(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        match block {
            Block::Title(text) => out.push_str(&format!("# {}\n\n", plain(text))),
            Block::Section(text) => out.push_str(&format!("## {text}\n\n")),
            Block::Words(text) => out.push_str(&format!("{}\n\n", plain(text))),
            Block::Judgement(good, text) => {
                let mark = if *good { "✓" } else { "✗" };
                out.push_str(&format!("- {mark} {}\n", plain(text)));
            }
            Block::Points(points) => {
                for point in points {
                    out.push_str(&format!("- {}\n", plain(point)));
                }
                out.push('\n');
            }
            Block::Table(head, rows) => table(&mut out, head, rows),
        }
        if matches!(block, Block::Judgement(..)) {
            continue;
        }
    }
    // A list is followed by a line of its own.
    out.replace("\n## ", "\n\n## ").replace("\n\n\n", "\n\n")
}

fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    out.push_str(&line(&mut head.iter().map(|cell| plain(cell))));
    out.push_str(&line(&mut head.iter().map(|_| "---".to_owned())));
    for row in rows {
        out.push_str(&line(&mut row.iter().map(|cell| plain(cell))));
    }
    out.push('\n');
}

/// Signs that would mean something, after a back-slash or as an entity.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        // Not every reader knows a back-slash before these.
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => {
                if "\\`*_{}[]#|!~$".contains(c) {
                    out.push('\\');
                }
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_servers_text_means_anything() {
        let blocks = |cell: &str| {
            [
                Block::Table(vec!["a"], vec![vec![cell.to_owned()]]),
                Block::Points(vec![cell.to_owned()]),
            ]
        };
        let hostile = text(&blocks("<script>|[x](y)\n# *\u{1b}[31m"));
        assert!(
            !hostile.contains("<script") && !hostile.contains('\u{1b}'),
            "{hostile}"
        );
        let plain = text(&blocks("a"));
        assert_eq!(hostile.lines().count(), plain.lines().count(), "{hostile}");
    }
}
