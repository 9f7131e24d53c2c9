//! Connections: how many there are, how long one may be silent, and how they end.
//!
//! The framework's own loop has no limits of this kind: silent connections would stay open for ever.

use crate::app::Ending;
use crate::connection::{Addresses, Doing, Paced};
use crate::limits::Limits;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// How long the head of a request may take, and how long a connection may be idle.
const HEAD: Duration = Duration::from_secs(30);
/// Bytes of a request's head, at most.
const MOST_HEAD: usize = 32 << 10;
/// The pause after the system has refused a connection, for instance because there are too many files.
const PAUSE: Duration = Duration::from_millis(100);
/// How long an idle connection, or one with half a head, stays open when the server stops.
const MOMENT: Duration = Duration::from_millis(500);

/// Accepts connections, so many at once, until the server is to stop; then lets the open ones finish their
/// requests.
pub async fn serve(listener: TcpListener, router: Router, limits: &Limits, mut ending: watch::Receiver<Ending>) {
    let most = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    let (places, addresses) = (Arc::new(Semaphore::new(most as usize)), Addresses::new(limits.address));
    loop {
        let accepted = async {
            // When all permits are taken, new connections wait in the system's queue. The semaphore is never closed.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            _ = ending.wait_for(|ending| *ending > Ending::No) => break,
        };
        let Ok((stream, client)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // If an address has too many, its new connection is closed.
        let Some(counted) = addresses.enter(client.ip()) else { continue };
        let connection = connection(stream, client, router.clone(), limits.write, ending.clone());
        tokio::spawn(async move {
            connection.await;
            drop((counted, place));
        });
    }
    drop(listener);
    // All permits are free when all connections have ended.
    let _ = places.acquire_many(most).await;
}

/// Answers the requests of a connection, until it is closed.
async fn connection(
    stream: TcpStream,
    client: SocketAddr,
    router: Router,
    patience: Duration,
    mut ending: watch::Receiver<Ending>,
) {
    // Small answers are sent at once; if the system cannot do that, they are sent a little later.
    let _ = stream.set_nodelay(true);
    let doing = Arc::new(Doing::default());
    let (router, asked) = (TowerToHyperService::new(router), Arc::clone(&doing));
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(client));
        let (answer, asked) = (router.call(request), Arc::clone(&asked));
        asked.begin();
        async move {
            let answer = answer.await;
            asked.end();
            answer
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(MOST_HEAD);
    let stream = TokioIo::new(Paced::new(stream, patience, Arc::clone(&doing)));
    let mut connection = pin!(http.serve_connection(stream, service));
    tokio::select! {
        // Errors of a client below HTTP are not reported.
        _ = connection.as_mut() => return,
        _ = ending.wait_for(|ending| *ending > Ending::No) => connection.as_mut().graceful_shutdown(),
    }
    // The server does not wait for the rest of a head.
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = tokio::time::sleep(MOMENT) => if doing.is_idle() { return },
        }
    }
}
