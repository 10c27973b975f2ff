//! From settings and files to a handshake.

use std::{
    fmt, fs,
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, SignatureScheme, SupportedProtocolVersion,
    client::{ResolvesClientCert, Resumption, WebPkiServerVerifier},
    crypto::{CryptoProvider, ring::default_provider},
    pki_types::{
        CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName,
        pem::{self, PemObject},
    },
    sign::CertifiedKey,
    version::{TLS12, TLS13},
};

use super::{explain, key_log, verify::Verifier};
use crate::{Address, CertMode, ClientCertificate, Roots, SslMode, TlsSettings, TlsVersion, WireError};

/// ALPN protocol name, as sent by libpq 17 and later.
const ALPN: &[u8] = b"postgresql";

/// Content of the files, kept for further connections with the same settings.
#[derive(Debug, Clone, Default)]
pub struct Cache(Arc<Mutex<Option<Kept>>>);

/// A context, and the settings that it was made from.
type Kept = (TlsSettings, Arc<Context>);

/// Data needed for handshakes.
#[derive(Debug)]
pub(crate) struct Context {
    config: ClientConfig,
    /// Whether the certificate must match the host name.
    names: bool,
    client: Option<Arc<CertifiedKey>>,
}

/// The context of settings; files are read only once.
pub(crate) fn context(settings: &TlsSettings, cache: &Cache) -> Result<Arc<Context>, WireError> {
    let mut kept = cache.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, context)) = &*kept
        && of == settings
    {
        return Ok(Arc::clone(context));
    }
    let context = Arc::new(build(settings)?);
    *kept = Some((settings.clone(), Arc::clone(&context)));
    Ok(context)
}

/// Makes a connection ready for its handshake; the flag later shows whether the server requested a certificate.
pub(crate) fn connection(
    context: &Context,
    address: &Address,
) -> Result<(ClientConnection, Arc<AtomicBool>), WireError> {
    let asked = Arc::new(AtomicBool::new(false));
    let mut config = context.config.clone();
    config.client_auth_cert_resolver =
        Arc::new(Asked { asked: Arc::clone(&asked), key: context.client.clone() });
    let name = server_name(address, context.names)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(explain)?;
    Ok((connection, asked))
}

/// Name to verify the certificate against and to send as SNI. A name that no certificate can contain is an error only
/// if names are compared.
fn server_name(address: &Address, compared: bool) -> Result<ServerName<'static>, WireError> {
    let Address::Tcp(host, _) = address else {
        return Err(WireError::tls("a Unix-domain socket has no TLS", None));
    };
    match ServerName::try_from(host.clone()) {
        Ok(name) => Ok(name),
        Err(_) if !compared => Ok(ServerName::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED))),
        Err(_) => Err(WireError::tls(format!("host name \"{host}\" is not valid in a certificate"), None)),
    }
}

/// Provides the client certificate, and notes that it was requested.
#[derive(Debug)]
struct Asked {
    asked: Arc<AtomicBool>,
    key: Option<Arc<CertifiedKey>>,
}

impl ResolvesClientCert for Asked {
    fn resolve(&self, _hints: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Release);
        self.key.clone()
    }

    // rustls does not call a resolver without certificates; this one must be called to note the request.
    fn has_certs(&self) -> bool {
        true
    }
}

fn build(settings: &TlsSettings) -> Result<Context, WireError> {
    let provider = Arc::new(default_provider());
    let trusted = trusted(settings)?;
    let verifier = Verifier {
        chain: trusted.as_ref().map(|trusted| chain(trusted, settings, &provider)).transpose()?,
        trusted: trusted.unwrap_or_default(),
        names: settings.mode == SslMode::VerifyFull,
        algorithms: provider.signature_verification_algorithms,
    };
    let client = client_key(settings, &provider)?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions(settings))
        .map_err(explain)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    if let Some(path) = &settings.key_log {
        config.key_log = Arc::new(key_log::KeyLogFile::open(path)?);
    }
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.enable_sni = settings.sni;
    // Every connection performs a full handshake, as in libpq.
    config.resumption = Resumption::disabled();
    Ok(Context { config, names: settings.mode == SslMode::VerifyFull, client })
}

static ALL: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];

fn versions(settings: &TlsSettings) -> &'static [&'static SupportedProtocolVersion] {
    match (settings.min, settings.max) {
        (TlsVersion::V12, TlsVersion::V12) => &ALL[..1],
        (TlsVersion::V12, TlsVersion::V13) => &ALL,
        (TlsVersion::V13, _) => &ALL[1..],
    }
}

/// Trusted certificates; `None` if the server is not verified. As in libpq, an existing root certificate is used in
/// every `sslmode`.
fn trusted(settings: &TlsSettings) -> Result<Option<Vec<CertificateDer<'static>>>, WireError> {
    match &settings.roots {
        Roots::System => {
            let found = rustls_native_certs::load_native_certs();
            match (found.certs.is_empty(), found.errors.first()) {
                (false, _) => Ok(Some(found.certs)),
                (true, Some(error)) => {
                    Err(WireError::tls(format!("could not load the system's certificates: {error}"), None))
                }
                (true, None) => Err(WireError::tls("the system trusts no certificate", None)),
            }
        }
        Roots::File(Some(path)) if path.exists() => {
            let certificates = certificates(path, "root certificate")?;
            Ok(Some(certificates))
        }
        Roots::File(path) if settings.mode >= SslMode::VerifyCa => {
            let what = match path {
                Some(path) => format!("root certificate file \"{}\" does not exist", path.display()),
                None => "there is no home directory, in which the root certificate file would be".to_owned(),
            };
            let hint = "name it by sslrootcert, use the system's by sslrootcert=system, or change sslmode to \
                        disable verification of the server's certificate";
            Err(WireError::tls(what, Some(hint)))
        }
        Roots::File(_) => Ok(None),
    }
}

fn chain(
    trusted: &[CertificateDer<'static>],
    settings: &TlsSettings,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, WireError> {
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(trusted.iter().cloned());
    if taken == 0 {
        return Err(WireError::tls("no root certificate could be read", None));
    }
    let mut lists = Vec::new();
    for path in &settings.revoked {
        let found: Result<Vec<_>, pem::Error> =
            CertificateRevocationListDer::pem_file_iter(path).and_then(Iterator::collect);
        lists.extend(found.map_err(|error| unreadable("certificate revocation list", path, &error))?);
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .with_crls(lists)
        .build()
        .map_err(|error| WireError::tls(format!("could not use the root certificates: {error}"), None))
}

fn certificates(path: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>, WireError> {
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match found.map_err(|error| unreadable(what, path, &error))? {
        found if found.is_empty() => {
            Err(WireError::tls(format!("{what} file \"{}\" contains no certificate", path.display()), None))
        }
        found => Ok(found),
    }
}

fn unreadable(what: &str, path: &Path, error: &dyn fmt::Display) -> WireError {
    WireError::tls(format!("could not read {what} file \"{}\": {error}", path.display()), None)
}

/// Client certificate with its key, if it exists and may be sent. As in libpq a missing file is ignored, even if it was
/// named.
fn client_key(
    settings: &TlsSettings,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<CertifiedKey>>, WireError> {
    let wanted = settings.cert_mode != CertMode::Disable;
    let there = settings.client.as_ref().filter(|client| wanted && client.certificate.exists());
    let Some(client) = there else {
        if settings.cert_mode == CertMode::Require {
            let what = "sslcertmode=require, and there is no client certificate";
            return Err(WireError::tls(what, Some("name it with sslcert and sslkey")));
        }
        return Ok(None);
    };
    let certificates = certificates(&client.certificate, "certificate")?;
    let key = read_key(client)?;
    CertifiedKey::from_der(certificates, key, provider).map(|key| Some(Arc::new(key))).map_err(|error| {
        let (certificate, key) = (client.certificate.display(), client.key.display());
        let what = format!("could not use certificate \"{certificate}\" with key \"{key}\": {error}");
        WireError::tls(what, None)
    })
}

/// Reads a key under libpq's rules for its mode: 0600 or less, or 0640 or less if root owns it.
fn read_key(client: &ClientCertificate) -> Result<PrivateKeyDer<'static>, WireError> {
    let path = &client.key;
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => WireError::tls(
            format!("certificate present, but not private key file \"{}\"", path.display()),
            Some("name it with sslkey"),
        ),
        _ => unreadable("private key", path, &error),
    })?;
    if !metadata.is_file() {
        let what = format!("private key file \"{}\" is not a regular file", path.display());
        return Err(WireError::tls(what, None));
    }
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.permissions().mode() & forbidden != 0 {
        let what = format!("private key file \"{}\" has group or world access", path.display());
        return Err(WireError::tls(what, Some("chmod it to 0600, or to 0640 if root owns it")));
    }
    let encrypted = || -> io::Result<bool> {
        let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
        Ok(text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED"))
    };
    if encrypted().map_err(|error| unreadable("private key", path, &error))? {
        let what = format!("private key file \"{}\" is encrypted", path.display());
        return Err(WireError::tls(what, Some("decrypt a copy with `openssl pkey`, mode 0600")));
    }
    PrivateKeyDer::from_pem_file(path).map_err(|error| unreadable("private key", path, &error))
}
