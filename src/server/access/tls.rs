//! The server's TLS: a certificate and its key, read again when they change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::net::plain_length;
use crate::server::access::reload::Reloaded;

/// Maximum size of a certificate or key file, in bytes.
const LONGEST: u64 = 1 << 20;

/// A certificate with its key. The files are read again when they change.
#[derive(Clone, Debug)]
pub struct Tls(Arc<Reloaded<ServerConfig>>);

impl Tls {
    /// Reads a certificate chain and the key of its first certificate, both in PEM.
    ///
    /// # Errors
    ///
    /// I/O errors of the files, and [`InvalidInput`](io::ErrorKind::InvalidInput) if a file contains no certificate or
    /// no key, or if the key does not match the certificate.
    pub fn read(certificate: PathBuf, key: PathBuf) -> io::Result<Self> {
        Ok(Self(Arc::new(Reloaded::new(vec![certificate, key], read)?)))
    }

    /// Reads the files again if they have changed.
    pub(crate) fn reload_if_changed(&self) {
        self.0.reload_if_changed();
    }

    /// Performs the TLS handshake with a client.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.0.current()).accept(stream).await
    }
}

fn read(files: &[PathBuf]) -> io::Result<ServerConfig> {
    let [certificate, key] = files else {
        return Err(invalid(
            "tls: a certificate and its key are needed".to_owned(),
        ));
    };
    let no = |file: &Path, what: &str, failure: &dyn std::fmt::Display| {
        invalid(format!(
            "tls: {} contains no {what}: {failure}",
            file.display()
        ))
    };
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text(certificate)?)
        .collect::<Result<_, _>>()
        .map_err(|failure| no(certificate, "certificate in PEM", &failure))?;
    if chain.is_empty() {
        return Err(no(
            certificate,
            "certificate",
            &"allowed: a certificate chain in PEM",
        ));
    }
    let private = PrivateKeyDer::from_pem_slice(&text(key)?)
        .map_err(|failure| no(key, "private key in PEM", &failure))?;
    let mut made = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .and_then(|made| made.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|failure| {
            invalid(format!(
                "tls: {} and {} cannot be used together: {failure}",
                certificate.display(),
                key.display()
            ))
        })?;
    made.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(made)
}

fn text(file: &Path) -> io::Result<Vec<u8>> {
    let named = |failure: io::Error| {
        io::Error::new(
            failure.kind(),
            format!("tls: {}: {failure}", file.display()),
        )
    };
    let length = plain_length(file).map_err(named)?;
    if length > LONGEST {
        return Err(invalid(format!(
            "tls: {} has {length} bytes; allowed: at most {LONGEST}",
            file.display()
        )));
    }
    fs::read(file).map_err(named)
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
