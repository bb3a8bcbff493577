//! Paths of a server of which somebody knows the folder that its relative paths start in.

use super::{Path, Root, may_be_within, within};

/// Whether every reader takes the text for a path that starts where the server is.
fn is_relative(text: &str) -> bool {
    [false, true].iter().all(|&windows| {
        let path = Path { text, windows };
        path.root() == Root::Relative && path.mark().is_empty()
    })
}

/// The text as a path below `base`, if it is a relative one.
fn placed<'t>(text: &'t str, base: &str, room: &'t mut String) -> &'t str {
    if !is_relative(text) {
        return text;
    }
    room.clear();
    room.push_str(base);
    room.push('/');
    room.push_str(text);
    room
}

/// Texts that paths are put together in, kept so that nothing is allocated.
#[derive(Debug, Default)]
pub struct Rooms {
    value: String,
    prefix: String,
}

/// [`within`] where relative paths, `prefix` too, start in the folder `base`. A path that
/// climbs out of where it starts is inside nothing.
pub fn within_based(value: &str, prefix: &str, base: &str, rooms: &mut Rooms) -> bool {
    let prefix = placed(prefix, base, &mut rooms.prefix);
    // Relative in every reading.
    match within(value, ".") {
        true => within(placed(value, base, &mut rooms.value), prefix),
        false => within(value, prefix),
    }
}

/// [`may_be_within`](super::may_be_within) for the same.
pub fn may_be_within_based(value: &str, prefix: &str, base: &str, rooms: &mut Rooms) -> bool {
    let prefix = placed(prefix, base, &mut rooms.prefix);
    may_be_within(placed(value, base, &mut rooms.value), prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_start_in_the_base() {
        let rooms = &mut Rooms::default();
        for (value, prefix, sure, may) in [
            ("a.txt", "/srv/p", true, true),
            ("out/a", "/srv/p/out", true, true),
            ("./out/../a", "/srv/p", true, true),
            ("", "/srv/p", true, true),
            ("/srv/p/out/a", "out", true, true),
            ("/srv/p/out/a", "./out", true, true),
            ("out/a", "out", true, true),
            ("a", "/etc", false, false),
            ("/etc/a", "/srv/p", false, false),
            // Where it climbs to is known, and still nothing to rest on.
            ("../q/a", "/srv/q", false, true),
            ("../../etc/passwd", "/etc", false, true),
            ("../q/a", "/etc", false, false),
            ("..\\..\\etc\\a", "/etc", false, true),
            // Absolute to a reader that decodes first.
            ("%2fetc/passwd", "/srv/p", false, true),
            ("~/a", "/srv/p", false, true),
            ("C:\\a", "/srv/p", false, false),
            ("\\etc\\a", "/srv/p", false, false),
            ("a\0", "/srv/p", false, true),
        ] {
            assert_eq!(
                within_based(value, prefix, "/srv/p", rooms),
                sure,
                "{value} {prefix}"
            );
            assert_eq!(
                may_be_within_based(value, prefix, "/srv/p", rooms),
                may,
                "{value} {prefix}"
            );
        }
    }
}
