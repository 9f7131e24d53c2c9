//! Admission: which clients are admitted at this moment, by token, role and rate.

use crate::app::aside;
use crate::auth::{self, Who};
use crate::connection;
use crate::failure::Failure;
use crate::limits::{Limits, Rate, Rates};
use crate::routes::{Route, Work};
use crate::tokens::Tokens;
use axum::http::{HeaderMap, StatusCode, header};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a token that was valid may read the metrics while tokens cannot be read.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The tokens, and the remaining requests of each client.
pub struct Admission {
    tokens: Arc<Tokens>,
    /// Whether only this machine can reach the server.
    local: bool,
    of_client: Rate,
    of_address: Rate,
    clients: Rates,
    addresses: Rates,
    /// Tokens that were admitted to the metrics, by the header, and when.
    lately: Mutex<HashMap<String, Instant>>,
}

impl Admission {
    /// No request has come yet.
    pub fn new(tokens: Tokens, local: bool, limits: &Limits) -> Admission {
        Admission {
            tokens: Arc::new(tokens),
            local,
            of_client: limits.of_client(),
            of_address: limits.of_address(),
            clients: Rates::default(),
            addresses: Rates::default(),
            lately: Mutex::default(),
        }
    }

    /// Admits or rejects a request, and returns the name of its token, if that is valid. A valid token has a rate of
    /// its own: other requests from the same address (of a proxy, say) do not keep it out. All others count for the
    /// address.
    pub async fn enter(
        &self,
        route: &'static Route,
        client: IpAddr,
        headers: &HeaderMap,
        now: Instant,
    ) -> (Option<String>, Result<(), Failure>) {
        let address = || allow(&self.addresses, route, self.of_address, &connection::counted(client).to_string(), now);
        let shows_token = headers.contains_key(header::AUTHORIZATION);
        if !shows_token && let Err(failure) = address() {
            return (None, Err(failure));
        }
        let admitted = self.admit(route, headers).await;
        let user = admitted.as_ref().ok().and_then(Who::name).map(str::to_owned);
        if shows_token
            && user.is_none()
            && let Err(failure) = address()
        {
            return (None, Err(failure));
        }
        let name = user.as_ref().map_or_else(|| format!("ip {client}"), |name| format!("token {name}"));
        let allowed = allow(&self.clients, route, self.of_client, &name, now).and(admitted.map(drop));
        (user, allowed)
    }

    /// Checks that a client may use a route.
    ///
    /// # Errors
    /// If not.
    pub async fn admit(&self, route: &'static Route, headers: &HeaderMap) -> Result<Who, Failure> {
        if route.role.is_none() {
            return Ok(Who::Anybody);
        }
        // This may need a request to their store.
        let (tokens, local, asked) = (Arc::clone(&self.tokens), self.local, headers.clone());
        let admitted = aside(move || auth::admit(&tokens, local, route, &asked)).await;
        // Metrics are needed most while the store cannot be reached, and reveal nothing of a study.
        let token = auth::text(headers, &header::AUTHORIZATION).filter(|_| route.work == Work::Metrics);
        match (admitted, token) {
            (Ok(who), Some(token)) => {
                let mut lately = self.lately();
                lately.retain(|_, at| at.elapsed() < REMEMBERED);
                lately.insert(token.to_owned(), Instant::now());
                Ok(who)
            }
            (Err(failure), Some(token)) if failure.status == StatusCode::SERVICE_UNAVAILABLE => {
                match self.lately().get(token).is_some_and(|at| at.elapsed() < REMEMBERED) {
                    true => Ok(Who::Anybody),
                    false => Err(failure),
                }
            }
            (admitted, _) => admitted,
        }
    }

    fn lately(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request is within the rates at this moment.
fn allow(rates: &Rates, route: &Route, rate: Rate, name: &str, now: Instant) -> Result<(), Failure> {
    if !route.is_limited() {
        return Ok(());
    }
    rates.take(rate, name, now).map_err(|wait| Failure::too_fast(rate.second, wait))
}
