//! A server of pgdyno's own that is restarted between runs.

use pgdyno_core::problem::Problem;
use pgdyno_host::procs::ProcessId;
use pgdyno_provision::{Request, RunningServer, restart_on_next};

use super::{Home, Subject, by_socket, for_clients, open_session};
use crate::waiting::waiting_for;

impl Subject {
    /// Stops and starts an own server; an existing one stays as it is. `request` is the one it was made by.
    ///
    /// # Errors
    /// It could not be stopped or started.
    pub fn restart(&mut self, request: &Request) -> Result<(), Problem> {
        let Some(own) = self.own_server() else { return Ok(()) };
        let server = waiting_for("the restart of a server", &self.events, || own.restart(request))?;
        self.continue_with(server)
    }

    /// Stops own servers and starts each on the data of the next.
    ///
    /// # Errors
    /// As [`Subject::restart`].
    pub fn restart_on_next(all: &mut [Self], requests: &[&Request]) -> Result<(), Problem> {
        let own: Vec<&RunningServer> = all.iter().filter_map(Self::own_server).collect();
        let Some(first) = all.first().filter(|_| own.len() == all.len()) else { return Ok(()) };
        let started =
            waiting_for("the restart of the servers", &first.events, || restart_on_next(&own, requests))?;
        all.iter_mut().zip(started).try_for_each(|(subject, server)| subject.continue_with(server))
    }

    /// Connects to the server that took the place of the old one, and forgets what was known of that.
    fn continue_with(&mut self, server: RunningServer) -> Result<(), Problem> {
        self.options = for_clients(&server)?;
        self.admin_options = by_socket(&server);
        self.process = ProcessId::of(server.pid);
        self.postmaster = Some(server.pid);
        self.facts.data_directory = Some(server.data_dir.display().to_string());
        self.home = Home::Own(Box::new(server));
        (self.untouched, self.written_out) = (None, None);
        self.admin = open_session(&self.admin_options, &self.stop)?;
        self.backends = vec![self.admin.backend_pid()];
        self.sampler.follow(self.postmaster);
        Ok(())
    }
}
