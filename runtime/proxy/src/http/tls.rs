//! TLS towards agents: which certificate is shown, and reading it again.
//!
//! Without the cargo feature `tls` there is none, and asking for it is an error.

use std::path::PathBuf;

/// Where a certificate and its key are, both as PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and those between it and an authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

#[cfg(feature = "tls")]
pub(super) use real::Tls;

#[cfg(feature = "tls")]
mod real {
    use super::TlsFiles;
    use bouncer_system::log::{note, visible};
    use rustls::ServerConfig;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Arc;
    use tokio::net::TcpStream;
    use tokio::signal::unix::{SignalKind, signal};
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::server::TlsStream;

    /// See the module.
    pub(crate) struct Tls {
        files: TlsFiles,
        acceptor: RefCell<TlsAcceptor>,
    }

    impl Tls {
        /// Reads the certificate and its key.
        ///
        /// # Errors
        /// What is wrong with which file; nothing of the key stands in it.
        pub(crate) fn open(files: TlsFiles) -> Result<Self, String> {
            let acceptor = RefCell::new(read(&files)?);
            Ok(Self { files, acceptor })
        }

        /// Shakes hands; `None`: the other side cannot.
        pub(crate) async fn accept(&self, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
            let acceptor = self.acceptor.borrow().clone();
            acceptor.accept(stream).await.ok()
        }

        /// Reads the files again at every hang-up. What cannot be used changes nothing.
        pub(crate) async fn follow(self: Rc<Self>) {
            let Ok(mut hang_up) = signal(SignalKind::hangup()) else {
                return;
            };
            while hang_up.recv().await.is_some() {
                match read(&self.files) {
                    Ok(acceptor) => {
                        self.acceptor.replace(acceptor);
                        note(format_args!(
                            "new connections are shown the certificate as it is now"
                        ));
                    }
                    Err(why) => note(format_args!(
                        "{}; the certificate is the one before",
                        visible(&why)
                    )),
                }
            }
        }
    }

    fn read(files: &TlsFiles) -> Result<TlsAcceptor, String> {
        let certificate = files.certificate.display();
        for file in [&files.certificate, &files.key] {
            let opened = bouncer_system::private::open(file);
            opened.map_err(|error| format!("`{}`: {error}", file.display()))?;
        }
        let chain = CertificateDer::pem_file_iter(&files.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| format!("`{certificate}` is no certificate in PEM: {error}"))?;
        if chain.is_empty() {
            return Err(format!("`{certificate}` holds no certificate"));
        }
        let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| {
            format!(
                "`{}` is no private key in PEM: {error}",
                files.key.display()
            )
        })?;
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| {
                let key = files.key.display();
                format!("`{certificate}` and `{key}` cannot be used together: {error}")
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

#[cfg(not(feature = "tls"))]
pub(super) use none::Tls;

#[cfg(not(feature = "tls"))]
mod none {
    use super::TlsFiles;
    use std::rc::Rc;
    use tokio::net::TcpStream;

    /// There is none.
    pub(crate) enum Tls {}

    impl Tls {
        pub(crate) fn open(files: TlsFiles) -> Result<Self, String> {
            let _ = files;
            Err("this build has no TLS: build with the feature `tls`, or put a proxy with TLS in front".to_owned())
        }

        pub(crate) async fn accept(&self, _: TcpStream) -> Option<TcpStream> {
            match *self {}
        }

        pub(crate) async fn follow(self: Rc<Self>) {
            match *self {}
        }
    }
}
