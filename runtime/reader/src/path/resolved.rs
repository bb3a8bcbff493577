//! Path prefixes with symbolic links followed, for servers on this machine.

use super::{Path, Root, readings, within};
use std::io::ErrorKind;
use std::path::{self, PathBuf};

/// How often the file system may still be asked. A call can carry as many paths as fit in
/// it; what is asked for none of them is answered as what nobody can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks(u32);

impl Looks {
    /// Enough for a thousand paths of fifty parts; a look takes some microseconds at most.
    #[must_use]
    pub const fn of_a_call() -> Self {
        Self(50_000)
    }

    /// One look less; `None`: there was none left.
    const fn take(&mut self) -> Option<()> {
        match self.0.checked_sub(1) {
            Some(rest) => {
                self.0 = rest;
                Some(())
            }
            None => None,
        }
    }
}

/// Whether `value` is within one of `prefixes`, lexically ([`within`]) and also once
/// symbolic links are followed.
///
/// Each reading of the value and the prefix is walked as the system would do it:
/// links are followed before a `..` after them is taken, up to the deepest ancestor
/// that exists; the rest is kept as it is. A relative path starts at `base`; without
/// `base`, or with a link that leads nowhere, a `..` after something that does not
/// exist, any error of the file system, or no [`Looks`] left, the answer is no. A relative
/// value under an absolute prefix has to stay below `base` itself.
///
/// Allocates, and reads the file system; what it finds can change afterwards.
#[must_use]
pub fn within_resolved(
    value: &str,
    prefixes: &[&str],
    base: Option<&path::Path>,
    looks: &mut Looks,
) -> bool {
    if looks.take().is_none() {
        return false;
    }
    let base = match base.map(path::Path::canonicalize) {
        Some(Ok(base)) => Some(base),
        Some(Err(_)) => return false,
        None => None,
    };
    prefixes
        .iter()
        .any(|prefix| within_one(value, prefix, base.as_deref(), looks))
}

/// Whether a reading of `value` leads into `prefix` once symbolic links are followed, or to
/// where nobody can tell: the question of a rule that forbids a folder. A text that no path
/// of this machine begins with leads nowhere.
#[must_use]
pub fn may_be_within_resolved(
    value: &str,
    prefix: &str,
    base: &path::Path,
    looks: &mut Looks,
) -> bool {
    if looks.take().is_none() {
        return true;
    }
    let Ok(base) = base.canonicalize() else {
        return true;
    };
    let Some(directory) = resolve(prefix, Some(&base), looks) else {
        return true;
    };
    let is_path = |text: &&String| {
        let path = Path {
            text,
            windows: false,
        };
        path.mark().is_empty()
    };
    readings(value).iter().filter(is_path).any(|reading| {
        resolve(reading, Some(&base), looks).is_none_or(|path| path.starts_with(&directory))
    })
}

fn within_one(value: &str, prefix: &str, base: Option<&path::Path>, looks: &mut Looks) -> bool {
    let is_relative = |text| {
        Path {
            text,
            windows: false,
        }
        .root()
            == Root::Relative
    };
    let lexically = if is_relative(value) && !is_relative(prefix) {
        // Its place is known here: the resolved comparison below judges the prefix.
        within(value, ".")
    } else {
        within(value, prefix)
    };
    if !lexically {
        return false;
    }
    let Some(directory) = resolve(prefix, base, looks) else {
        return false;
    };
    readings(value).iter().all(|reading| {
        resolve(reading, base, looks).is_some_and(|path| path.starts_with(&directory))
    })
}

/// Where `text` leads. `None` on any doubt, and where no look is left.
fn resolve(text: &str, base: Option<&path::Path>, looks: &mut Looks) -> Option<PathBuf> {
    let path = Path {
        text,
        windows: false,
    };
    if !path.mark().is_empty() {
        return None;
    }
    let mut place = match path.root() {
        Root::Relative => base?.to_owned(),
        Root::Slash | Root::TwoSlashes => PathBuf::from("/").canonicalize().ok()?,
    };
    // The place so far has no link in it.
    let mut exists = true;
    for part in path.components() {
        if part == ".." {
            // Below something that does not exist, `..` may later mean anything.
            if !exists {
                return None;
            }
            place.pop();
            continue;
        }
        place.push(part);
        if !exists {
            continue;
        }
        looks.take()?;
        match place.symlink_metadata() {
            // Also fails on a link that leads nowhere, or in a circle.
            Ok(found) if found.is_symlink() => place = place.canonicalize().ok()?,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => exists = false,
            Err(_) => return None,
        }
    }
    Some(place)
}

#[cfg(all(test, unix))]
mod tests {
    use super::{Looks, path};
    use std::fs;
    use std::os::unix::fs::symlink;

    fn within_resolved(value: &str, prefixes: &[&str], base: Option<&path::Path>) -> bool {
        super::within_resolved(value, prefixes, base, &mut Looks::of_a_call())
    }

    fn may_be_within_resolved(value: &str, prefix: &str, base: &path::Path) -> bool {
        super::may_be_within_resolved(value, prefix, base, &mut Looks::of_a_call())
    }

    #[test]
    fn what_is_not_looked_at_is_in_doubt() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let inside = root.join("x");
        let (inside, base) = (inside.to_str().unwrap(), root.to_str().unwrap());
        let mut looks = Looks::of_a_call();
        let mut calls = 0_u32;
        while super::within_resolved(inside, &[base], None, &mut looks) {
            calls += 1;
        }
        assert!((1000..50_000).contains(&calls), "{calls}");
        assert!(super::may_be_within_resolved(
            "/elsewhere",
            base,
            &root,
            &mut looks
        ));
        assert!(!may_be_within_resolved("/elsewhere", base, &root));
    }

    #[test]
    fn links_are_followed_before_dots() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("base/sub")).unwrap();
        fs::create_dir_all(root.join("other/deep")).unwrap();
        fs::write(root.join("base/file"), "").unwrap();
        symlink(root.join("other/deep"), root.join("base/link")).unwrap();
        symlink(root.join("base/sub"), root.join("base/inner")).unwrap();
        symlink(root.join("nowhere"), root.join("base/dangling")).unwrap();
        symlink(root.join("base/loop"), root.join("base/loop")).unwrap();
        symlink(root.join("base"), root.join("alias")).unwrap();
        let base = root.join("base").to_str().unwrap().to_owned();
        let within = |value: &str| within_resolved(&format!("{base}/{value}"), &[&base], None);
        for inside in [
            "",
            "new",
            "sub/new/deeper",
            "inner/x",
            "inner/../x",
            "file",
            "sub/../file",
            "a b",
        ] {
            assert!(within(inside), "{inside}");
        }
        for outside in [
            "link",
            "link/x",
            "link/../x",
            "dangling",
            "dangling/x",
            "loop",
            "../other",
            "new/../x",
            "file/x",
            "%6cink/x",
            "sub\\..\\link\\x",
        ] {
            assert!(!within(outside), "{outside}");
        }
        let (sub, alias) = (format!("{base}/sub"), root.join("alias"));
        assert!(within_resolved(
            &format!("{base}/inner/x"),
            &["/nowhere", &base],
            None
        ));
        assert!(!within_resolved(&format!("{base}/inner/x"), &[], None));
        assert!(within_resolved(
            &format!("{}/x", alias.display()),
            &[alias.to_str().unwrap()],
            None
        ));

        // Relative values need a base, and stay below it.
        assert!(!within_resolved("x", &["."], None));
        let at = Some(path::Path::new(&base));
        assert!(within_resolved("x", &["."], at));
        assert!(within_resolved("sub/x", &[&sub], at));
        assert!(within_resolved("sub/x", &["./sub"], at));
        for outside in ["link/x", "../x", "~/x", "x", "C:\\x", "\\x", " /x"] {
            assert!(!within_resolved(outside, &[&sub], at), "{outside}");
        }
        assert!(!within_resolved("x", &["."], Some(&root.join("missing"))));

        // What leads into a folder that a rule forbids, by a link too, and what may.
        let at = path::Path::new(&base);
        let other = root.join("other");
        for leads in [
            "link",
            "link/x",
            "./link/new",
            "../other/y",
            "dangling/x",
            "loop",
        ] {
            assert!(
                may_be_within_resolved(leads, other.to_str().unwrap(), at),
                "{leads}"
            );
        }
        for elsewhere in ["sub/x", "inner", "new", "file", "https://a.example/x"] {
            assert!(
                !may_be_within_resolved(elsewhere, other.to_str().unwrap(), at),
                "{elsewhere}"
            );
        }
    }
}
