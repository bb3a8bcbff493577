//! Globs over tool names, by plain backtracking.

use bouncer_compiler::policy::ToolGlob;

/// Whether the glob matches the whole name.
pub fn matches(glob: &ToolGlob, name: &str) -> bool {
    // Without case, the name may be meant in capitals or without, letter by letter.
    let (pattern, any_case) = match glob.pattern.strip_prefix("(?i)") {
        Some(rest) if glob.native => (rest, true),
        _ => (glob.pattern.as_str(), false),
    };
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    from(&pattern, &name, (glob.native, any_case))
}

fn from(pattern: &[char], name: &[char], how: (bool, bool)) -> bool {
    let (native, any_case) = how;
    let ways = |c: char| match any_case {
        true => vec![c, c.to_ascii_lowercase(), c.to_ascii_uppercase()],
        false => vec![c],
    };
    let Some((first, rest)) = pattern.split_first() else {
        return name.is_empty();
    };
    match first {
        '*' => (0..=name.len()).any(|taken| from(rest, &name[taken..], how)),
        '?' if native => !name.is_empty() && from(rest, &name[1..], how),
        '[' if native && rest.contains(&']') => {
            let negated = rest.first() == Some(&'!');
            let items = &rest[usize::from(negated)..];
            // A `]` at the start is a member of the set.
            let end = items
                .iter()
                .skip(1)
                .position(|c| *c == ']')
                .map_or(0, |at| at + 1);
            !name.is_empty()
                && ways(name[0]).iter().any(|c| class(&items[..end], *c)) != negated
                && from(&items[end + 1..], &name[1..], how)
        }
        other => {
            name.first().is_some_and(|c| ways(*c).contains(other)) && from(rest, &name[1..], how)
        }
    }
}

fn class(items: &[char], c: char) -> bool {
    let mut rest = items;
    while let Some(low) = rest.first() {
        if let [low, '-', high, ..] = rest {
            if (low..=high).contains(&&c) {
                return true;
            }
            rest = &rest[3..];
        } else {
            if *low == c {
                return true;
            }
            rest = &rest[1..];
        }
    }
    false
}

#[test]
fn star_is_the_only_special_character_unless_native() {
    let glob = |pattern: &str, native: bool, name: &str| {
        matches(
            &ToolGlob {
                pattern: pattern.to_owned(),
                native,
                at: Default::default(),
            },
            name,
        )
    };
    assert!(glob("*", false, ""));
    assert!(glob("a*b*c", false, "axxbyyc"));
    assert!(!glob("a*b*c", false, "axxbyy"));
    assert!(glob("a?", false, "a?"));
    assert!(!glob("a?", false, "ab"));
    assert!(glob("a?", true, "aé"));
    assert!(glob("t[0-9x]", true, "t5") && glob("t[0-9x]", true, "tx"));
    assert!(!glob("t[0-9x]", true, "ta"));
    assert!(!glob("A", false, "a"));
}
