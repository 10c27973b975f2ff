//! Parameters of a connection as one process of this program hands them to another.

use std::{fmt, net::IpAddr, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    Address, ChannelBinding, ConnectOptions, Host, Password, ProtocolVersion, RequireAuth, ScramKeys,
    SessionAttrs, TcpSettings, TlsSettings,
};

/// All parameters of a connection with their secrets: only for a pipe to another process of this program, never for a
/// file, an argument or the environment. `Debug` shows nothing of it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Handover {
    hosts: Vec<HandedHost>,
    user: String,
    database: String,
    application_name: Option<String>,
    fallback_application_name: String,
    connect_timeout: Duration,
    options: Option<String>,
    client_encoding: Option<String>,
    replication: Option<String>,
    startup: Vec<(String, String)>,
    protocol: (ProtocolVersion, ProtocolVersion),
    tls: TlsSettings,
    channel_binding: ChannelBinding,
    require_auth: Option<RequireAuth>,
    scram_keys: Option<[[u8; 32]; 2]>,
    require_peer: Option<String>,
    tcp: TcpSettings,
    target: SessionAttrs,
    load_balance: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct HandedHost {
    address: Address,
    hostaddr: Option<IpAddr>,
    password: Option<String>,
    passfile: Option<PathBuf>,
}

impl fmt::Debug for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handover(…)")
    }
}

impl From<&ConnectOptions> for Handover {
    /// Without the receiver of notices, and without warnings for the user, who has read them.
    fn from(options: &ConnectOptions) -> Self {
        let host = |host: &Host| HandedHost {
            address: host.address.clone(),
            hostaddr: host.hostaddr,
            password: host.password.as_ref().map(|password| password.reveal().to_owned()),
            passfile: host.passfile.clone(),
        };
        let all = options.clone();
        Self {
            hosts: options.hosts.iter().map(host).collect(),
            user: all.user,
            database: all.database,
            application_name: all.application_name,
            fallback_application_name: all.fallback_application_name,
            connect_timeout: all.connect_timeout,
            options: all.options,
            client_encoding: all.client_encoding,
            replication: all.replication,
            startup: all.startup,
            protocol: all.protocol,
            tls: all.tls,
            channel_binding: all.channel_binding,
            require_auth: all.require_auth,
            scram_keys: all.scram_keys.map(|keys| [keys.client, keys.server]),
            require_peer: all.require_peer,
            tcp: all.tcp,
            target: all.target,
            load_balance: all.load_balance,
        }
    }
}

impl From<Handover> for ConnectOptions {
    fn from(handed: Handover) -> Self {
        let host = |host: HandedHost| Host {
            hostaddr: host.hostaddr,
            password: host.password.map(Password::new),
            passfile: host.passfile,
            ..Host::at(host.address)
        };
        let keys = handed.scram_keys;
        Self {
            hosts: handed.hosts.into_iter().map(host).collect(),
            application_name: handed.application_name,
            fallback_application_name: handed.fallback_application_name,
            connect_timeout: handed.connect_timeout,
            options: handed.options,
            client_encoding: handed.client_encoding,
            replication: handed.replication,
            startup: handed.startup,
            protocol: handed.protocol,
            tls: handed.tls,
            channel_binding: handed.channel_binding,
            require_auth: handed.require_auth,
            scram_keys: keys.map(|[client, server]| ScramKeys { client, server }),
            require_peer: handed.require_peer,
            tcp: handed.tcp,
            target: handed.target,
            load_balance: handed.load_balance,
            database: handed.database,
            ..Self::local(Address::Unix(PathBuf::new(), 0), &handed.user)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_gets_every_parameter() {
        let address = Address::Tcp("db.example".into(), 5433);
        let host = Host { password: Some(Password::new("s3cret")), ..Host::at(address.clone()) };
        let mut options = ConnectOptions::local(address, "bob");
        options.hosts = vec![host, Host::at(Address::Unix("/tmp".into(), 5432))];
        options.database = "shop".into();
        options.options = Some("-c jit=off".into());
        options.startup.push(("search_path".into(), "\"tpcc_1\", pgdyno".into()));
        options.scram_keys = Some(ScramKeys { client: [7; 32], server: [9; 32] });
        options.tcp.count = None;
        options.target = SessionAttrs::Primary;
        let handed = Handover::from(&options);
        assert_eq!(format!("{handed:?}"), "Handover(…)");
        let text = serde_json::to_string(&handed).expect("it is plain data");
        let came =
            ConnectOptions::from(serde_json::from_str::<Handover>(&text).expect("it was just written"));
        assert_eq!(came.hosts, options.hosts);
        assert!(came.scram_keys == options.scram_keys);
        assert_eq!(format!("{came:?}"), format!("{options:?}"));
    }
}
