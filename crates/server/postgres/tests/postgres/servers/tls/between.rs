//! A man in the middle with a certificate of his own.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};

use super::server::Server;

/// One intercepted connection: our end with his certificate, and the server's.
pub struct Between {
    ours: StreamOwned<ServerConnection, TcpStream>,
    theirs: StreamOwned<ClientConnection, TcpStream>,
}

impl Between {
    /// Listens; returns the port. Threads end with their connections, the last one with the test.
    pub fn start(server: &Server) -> u16 {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
        let ours = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("there are versions")
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .expect("they fit");
        let mut roots = RootCertStore::empty();
        let authority =
            CertificateDer::from_pem_slice(server.authority.pem.as_bytes()).expect("a certificate");
        roots.add(authority).expect("a certificate");
        let theirs = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("there are versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (port, to) = (listener.local_addr().expect("a port").port(), server.own.running.port);
        let (ours, theirs) = (Arc::new(ours), Arc::new(theirs));
        thread::spawn(move || {
            for link in listener.incoming().flatten() {
                if let Ok(between) = Self::take(link, to, &ours, &theirs) {
                    between.pass_on();
                }
            }
        });
        port
    }

    pub fn take(
        mut link: TcpStream,
        to: u16,
        ours: &Arc<ServerConfig>,
        theirs: &Arc<ClientConfig>,
    ) -> io::Result<Self> {
        let mut request = [0; 8];
        link.read_exact(&mut request)?;
        let mut server = TcpStream::connect(("127.0.0.1", to))?;
        server.write_all(&request)?;
        let mut answer = [0; 1];
        server.read_exact(&mut answer)?;
        link.write_all(&answer)?;
        let name = ServerName::try_from("localhost").expect("a name");
        let mut ours =
            StreamOwned::new(ServerConnection::new(Arc::clone(ours)).map_err(io::Error::other)?, link);
        let mut theirs = StreamOwned::new(
            ClientConnection::new(Arc::clone(theirs), name).map_err(io::Error::other)?,
            server,
        );
        ours.flush()?; // the handshakes
        theirs.flush()?;
        ours.sock.set_read_timeout(Some(Duration::from_millis(5)))?;
        theirs.sock.set_read_timeout(Some(Duration::from_millis(5)))?;
        Ok(Self { ours, theirs })
    }

    /// Relays data in both directions until one side is gone.
    pub fn pass_on(mut self) {
        while pass(&mut self.ours, &mut self.theirs) && pass(&mut self.theirs, &mut self.ours) {}
    }
}

/// Relays pending data; returns whether both sides are still connected.
pub fn pass(from: &mut impl Read, to: &mut impl Write) -> bool {
    let mut buffer = [0; 4096];
    match from.read(&mut buffer) {
        Ok(0) => false,
        Ok(bytes) => to.write_all(&buffer[..bytes]).and_then(|()| to.flush()).is_ok(),
        Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
    }
}
