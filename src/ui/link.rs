//! Where the link to the page is left for its human: it is a secret, and standard error
//! often ends in a log.

use bouncer_system::private::{private_directory, read_to_string};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file with the link, readable by its owner only; it goes with the gateway.
#[derive(Debug)]
pub struct Link {
    path: PathBuf,
    text: String,
}

impl Link {
    /// `~/.bouncer/page-PORT.link`, if there is a home directory.
    #[must_use]
    pub fn default_path(port: u16) -> Option<PathBuf> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(
            Path::new(&home)
                .join(".bouncer")
                .join(format!("page-{port}.link")),
        )
    }

    /// Writes the link to a fresh file, in the place of what an earlier gateway left.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(path: PathBuf, link: &str) -> io::Result<Self> {
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            private_directory(directory)?;
        }
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(there) => {
                // Only what another page left, not what was named by mistake.
                let old = there.is_symlink()
                    || (there.is_file()
                        && read_to_string(&path).is_ok_and(|text| {
                            text.starts_with("http://") && text.lines().count() == 1
                        }));
                if !old {
                    let why = "there is something else there already";
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
                }
                fs::remove_file(&path)?;
            }
        }
        let text = format!("{link}\n");
        // Nobody else is to have made it in between.
        let fresh = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        fresh?.write_all(text.as_bytes())?;
        Ok(Self { path, text })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Unless another gateway has left its own there.
        let own = read_to_string(&self.path).is_ok_and(|text| text == self.text);
        if own {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_link_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("link");
        fs::write(&path, "version: 1\n").unwrap();
        assert!(Link::write(path.clone(), "http://127.0.0.1:1/#token=a").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "version: 1\n");
        fs::write(&path, "http://127.0.0.1:1/#token=a\n").unwrap();
        let link = Link::write(path.clone(), "http://127.0.0.1:2/#token=b").unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "http://127.0.0.1:2/#token=b\n"
        );
        drop(link);
        assert!(!path.exists());
    }
}
