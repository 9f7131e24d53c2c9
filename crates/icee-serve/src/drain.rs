//! If a request is rejected early, the server reads the rest of its body for some seconds, so that the client sees the
//! error: a client that is still sending when the server hangs up would never read it.

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long it is read.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many times the size of a regular request is read.
const TIMES: u64 = 4;

/// A body that is returned when it is dropped.
struct Lent {
    body: Body,
    /// Whether the client sends it at once, without waiting for "100 Continue".
    comes: bool,
    back: Option<oneshot::Sender<Body>>,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.comes = true;
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.comes
            && !self.body.is_end_stream()
            && let Some(back) = self.back.take()
        {
            // If the receiver is gone, it is dropped.
            let _ = back.send(std::mem::take(&mut self.body));
        }
    }
}

/// The rest of a body.
pub struct Remainder(oneshot::Receiver<Body>);

/// A request whose body is returned.
pub fn lend(request: Request) -> (Request, Remainder) {
    let (back, rest) = oneshot::channel();
    let comes = !request.headers().contains_key(header::EXPECT);
    let request = request.map(|body| Body::new(Lent { body, comes, back: Some(back) }));
    (request, Remainder(rest))
}

impl Remainder {
    /// Reads it to its end, if that comes soon enough; `most` is the limit of a request.
    pub async fn read(mut self, most: usize) {
        let Ok(mut body) = self.0.try_recv() else { return };
        let most = (most as u64).saturating_mul(TIMES);
        if body.size_hint().lower() > most {
            return;
        }
        let read = async {
            let mut left = most;
            while let Some(Ok(frame)) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
                match left.checked_sub(frame.data_ref().map_or(0, Bytes::len) as u64) {
                    Some(less) => left = less,
                    None => break,
                }
            }
        };
        // A client that is slower gets no answer.
        let _ = tokio::time::timeout(PATIENCE, read).await;
    }
}
