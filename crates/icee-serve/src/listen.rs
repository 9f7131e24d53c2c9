//! Connections: how many there are, how long one may say nothing, and how they end.
//!
//! The framework's own loop has no limits of this kind: whoever opens connections and says nothing would keep them for ever.

use crate::app::Ending;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// How long the head of a request may take, and a connection may stay without one.
const HEAD: Duration = Duration::from_secs(30);
/// Bytes of a request's head, at most.
const MOST_HEAD: usize = 32 << 10;
/// The pause after the system has refused a connection, for instance because there are too many files.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections, so many at once, until the server is to end; then lets those that are open answer what they were asked.
pub async fn serve(listener: TcpListener, router: Router, most: usize, mut ending: watch::Receiver<Ending>) {
    let (places, graceful) = (Arc::new(Semaphore::new(most)), GracefulShutdown::new());
    loop {
        let accepted = async {
            // Whoever comes when all places are taken waits in the system's queue. The semaphore is never closed.
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
        // Small answers go out at once; where the system cannot do that, they go out a little later.
        let _ = stream.set_nodelay(true);
        let router = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(client));
            router.call(request)
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(MOST_HEAD);
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // What a client does wrong below HTTP is nobody else's business.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    graceful.shutdown().await;
}
