//! The limits of one connection: how long an unread answer is kept, how many an address may have, and its present
//! state.

use crate::quotas::{Counted, Counts};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How many connections each address has.
#[derive(Clone, Debug)]
pub struct Addresses {
    most: usize,
    counts: Counts<IpAddr>,
}

impl Addresses {
    /// So many per address, at most.
    pub fn new(most: usize) -> Addresses {
        Addresses { most, counts: Counts::default() }
    }

    /// Counts one more; none if an address has too many. This machine may have any number: a proxy here stands for all
    /// clients.
    pub fn enter(&self, address: IpAddr) -> Option<Counted<IpAddr>> {
        let address = counted(address);
        let most = if address.is_loopback() { usize::MAX } else { self.most };
        self.counts.enter(address, most)
    }
}

/// An address for counting: the owner of an IPv6 address has the whole network around it.
pub fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

/// The state of a connection.
#[derive(Debug, Default)]
pub struct Doing {
    requests: AtomicUsize,
    writing: AtomicBool,
}

impl Doing {
    /// The head of a request is complete.
    pub fn begin(&self) {
        self.requests.fetch_add(1, Ordering::SeqCst);
    }

    /// Its answer has begun.
    pub fn end(&self) {
        self.requests.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether it is idle: no request has come, and no answer is on its way.
    pub fn is_idle(&self) -> bool {
        self.requests.load(Ordering::SeqCst) == 0 && !self.writing.load(Ordering::SeqCst)
    }
}

/// A stream that fails if nothing can be written for too long: a client that does not read its answer loses the
/// connection.
pub struct Paced<S> {
    inner: S,
    patience: Duration,
    late: Option<Pin<Box<Sleep>>>,
    doing: Arc<Doing>,
}

impl<S> Paced<S> {
    /// With this limit.
    pub fn new(inner: S, patience: Duration, doing: Arc<Doing>) -> Paced<S> {
        Paced { inner, patience, late: None, doing }
    }

    fn waited<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.doing.writing.store(written.is_pending(), Ordering::SeqCst);
        if written.is_ready() {
            self.late = None;
            return written;
        }
        let patience = self.patience;
        let late = self.late.get_or_insert_with(|| Box::pin(sleep(patience)));
        late.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.waited(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, bytes);
        self.waited(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.waited(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(context);
        self.waited(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    /// A stream that takes so many bytes, and no more.
    struct Full(usize);

    impl AsyncWrite for Full {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 { Poll::Pending } else { Poll::Ready(Ok(taken)) }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn who_does_not_read_is_given_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let doing = Arc::new(Doing::default());
        let mut stream = Paced::new(Full(3), Duration::from_millis(10), Arc::clone(&doing));
        runtime.block_on(async {
            let mut stream = Pin::new(&mut stream);
            assert_eq!(poll_fn(|context| stream.as_mut().poll_write(context, b"abcd")).await.unwrap(), 3);
            assert!(doing.is_idle());
            let late = poll_fn(|context| stream.as_mut().poll_write(context, b"d")).await;
            assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
            assert!(!doing.is_idle());
        });
    }

    #[test]
    fn an_address_has_so_many_connections_and_no_more() {
        let all = Addresses::new(2);
        let at = |address: &str| all.enter(address.parse().unwrap());
        let (one, two) = (at("10.0.0.1"), at("::ffff:10.0.0.1"));
        assert!(one.is_some() && two.is_some() && at("10.0.0.1").is_none() && at("10.0.0.2").is_some());
        drop(one);
        let again = at("10.0.0.1");
        assert!(again.is_some() && at("10.0.0.1").is_none());
        // A network counts as one, and this machine is not counted.
        let (three, four) = (at("2001:db8::1"), at("2001:db8::2"));
        assert!(three.is_some() && four.is_some() && at("2001:db8::3").is_none() && at("2001:db8:0:1::1").is_some());
        let here: Vec<_> = (0..9).map(|_| at("127.0.0.1")).chain((0..9).map(|_| at("::1"))).collect();
        assert!(here.iter().all(Option::is_some));
        drop((two, again, three, four, here));
        assert_eq!(all.counts.len(), 0, "nothing is remembered of those who are gone");
    }
}
