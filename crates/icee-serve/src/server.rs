//! The server itself: it listens, hands requests to their routes, and ends when it is asked to.

use crate::app::{App, Ending};
use crate::failure::{Failure, ServeError};
use crate::limits::Limits;
use crate::listen;
use crate::log::{Event, Log};
use crate::pages::{self, PageFile};
use crate::quotas::What;
use crate::routes::{ROUTES, Route};
use crate::store::Place;
use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use icee_protocol::Method;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// What a server is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where studies are kept.
    pub store: Place,
    /// Where to listen; port 0 is any that is free.
    pub address: SocketAddr,
    /// How much one may ask of it.
    pub limits: Limits,
}

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    ending: watch::Sender<Ending>,
}

/// Stops a server from elsewhere.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<Ending>);

impl Stopper {
    /// The first time, running requests may end; the second time it is over at once.
    pub fn stop(&self) {
        self.0.send_modify(|ending| *ending = if *ending == Ending::No { Ending::Soon } else { Ending::Now });
    }
}

impl Server {
    /// Listens; requests are answered once it [runs](Server::run).
    ///
    /// # Errors
    /// Where the address or the folder cannot be had, or others could reach it and there is no token.
    pub fn bind(options: &Options, log: impl Fn(&Event) + Send + Sync + 'static) -> Result<Server, ServeError> {
        let Options { store, address, limits } = options;
        let local = address.ip().is_loopback();
        let store = store.open()?;
        let tokens = store.tokens();
        if !local && tokens.all()?.is_empty() {
            return Err(ServeError::Open { address: *address });
        }
        let required = tokens.are_required()?;
        let (ending, ended) = watch::channel(Ending::No);
        let log: Log = Box::new(log);
        let app = Arc::new(App::new(store, tokens, local, *limits, ended, log));
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let refused = |source| ServeError::Address { address: *address, source };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(refused)?;
        let address = listener.local_addr()?;
        let studies = app.registry.store().name();
        app.say(&Event::Started { address: address.to_string(), studies, tokens: required });
        Ok(Server { runtime, listener, address, app, ending })
    }

    /// Another clock than this machine's and the database's: seconds since 1970.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Server {
        self.app.registry.use_clock(Box::new(clock));
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it has its studies, in words.
    pub fn store(&self) -> String {
        self.app.registry.store().name()
    }

    /// What stops it.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.ending.clone())
    }

    /// From here on Ctrl-C and `kill` stop it, gently the first time.
    ///
    /// # Errors
    /// Where signals cannot be listened to.
    pub fn stop_on_signals(&self) -> Result<(), ServeError> {
        let (stopper, _inside) = (self.stopper(), self.runtime.enter());
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
                let (mut signals, stopper) = (signal(kind)?, stopper.clone());
                self.runtime.spawn(async move {
                    while signals.recv().await.is_some() {
                        stopper.stop();
                    }
                });
            }
        }
        #[cfg(not(unix))]
        self.runtime.spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                stopper.stop();
            }
        });
        Ok(())
    }

    /// Answers requests until it is stopped.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn run(self) -> Result<(), ServeError> {
        let Server { runtime, listener, app, ending, .. } = self;
        let grace = app.limits.grace();
        let router = router(Arc::clone(&app));
        let clean = runtime.block_on(async {
            let (asked, stopping) = (ending.subscribe(), Arc::clone(&app));
            let announced = tokio::spawn(async move {
                reached(asked, Ending::Soon).await;
                stopping.say(&Event::Stopping { running: stopping.quotas.taken(What::Requests) });
            });
            let serving = listen::serve(listener, router, &app.limits, ending.subscribe());
            let (soon, now) = (ending.subscribe(), ending.subscribe());
            let too_long = async move {
                reached(soon, Ending::Soon).await;
                tokio::time::sleep(grace).await;
            };
            tokio::select! {
                // Serving ends when it is told to, which is said before that it has ended.
                () = serving => announced.await.is_ok(),
                () = too_long => false,
                () = reached(now, Ending::Now) => false,
            }
        });
        // Work that no client waits for any more may still be writing; what it leaves behind is whole in any case.
        runtime.shutdown_timeout(if clean { grace } else { std::time::Duration::ZERO });
        app.say(&Event::Stopped { clean });
        Ok(())
    }
}

/// Waits until the end is that near.
async fn reached(mut ending: watch::Receiver<Ending>, wanted: Ending) {
    // If the sender is gone, it is not stopped.
    if ending.wait_for(|ending| *ending >= wanted).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The router of all routes.
fn router(app: Arc<App>) -> Router {
    let mut paths: BTreeMap<&str, MethodRouter<Arc<App>>> = BTreeMap::new();
    for route in ROUTES.iter() {
        let known = paths.remove(route.path).unwrap_or_default();
        paths.insert(route.path, known.merge(endpoint(route)));
    }
    let routes = paths.into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    let routes = pages::FILES.iter().fold(routes, |router, file| router.route(file.path, page(file)));
    routes
        .method_not_allowed_fallback(wrong_method)
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(app.limits.body))
        .with_state(app)
}

fn endpoint(route: &'static Route) -> MethodRouter<Arc<App>> {
    let filter = match route.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Delete => MethodFilter::DELETE,
    };
    on(filter, move |State(app): State<Arc<App>>, ConnectInfo(client): ConnectInfo<SocketAddr>, request: Request| {
        app.handle(route, client, request)
    })
}

fn page(file: &'static PageFile) -> MethodRouter<Arc<App>> {
    on(MethodFilter::GET, move |State(app): State<Arc<App>>, ConnectInfo(client): ConnectInfo<SocketAddr>| async move {
        app.show(file, client)
    })
}

async fn nothing(
    State(app): State<Arc<App>>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    app.refuse(client, &request, Failure::missing("There is nothing at this address. /openapi.json lists all routes."))
}

async fn wrong_method(
    State(app): State<Arc<App>>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let words = format!("{} cannot be used here. /openapi.json lists all routes.", request.method());
    app.refuse(client, &request, Failure::new(StatusCode::METHOD_NOT_ALLOWED, words))
}
