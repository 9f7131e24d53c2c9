//! What all clients share and of which there is only so much: requests that are worked on, bodies that come in, streams, games. One token
//! has half of each at most, so that nobody keeps all others out.

use crate::counts::{Counted, Counts};
use crate::failure::Failure;
use crate::limits::Limits;
use axum::http::StatusCode;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Of what there is only so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// Requests that are worked on, those that wait for their turn among them.
    Requests,
    /// Bodies that are not small, as long as their requests last.
    Bodies,
    /// Sheets that are taken apart.
    Sheets,
    /// Streams of events.
    Streams,
    /// Games of rooms.
    Games,
}

impl What {
    /// For an error.
    fn name(self) -> &'static str {
        match self {
            What::Requests => "requests that are worked on",
            What::Bodies => "large bodies",
            What::Sheets => "sheets",
            What::Streams => "streams of events",
            What::Games => "games",
        }
    }
}

/// A place that is taken as long as this lives.
#[derive(Debug)]
pub struct Held {
    _permit: OwnedSemaphorePermit,
    _share: Option<Counted<(What, String)>>,
}

/// All places.
#[derive(Debug)]
pub struct Places {
    limits: Limits,
    free: [(What, Arc<Semaphore>); 5],
    shares: Counts<(What, String)>,
}

impl Places {
    /// As many as the limits say.
    pub fn new(limits: &Limits) -> Places {
        let all = [What::Requests, What::Bodies, What::Sheets, What::Streams, What::Games];
        let free = all.map(|what| (what, Arc::new(Semaphore::new(most(limits, what)))));
        Places { limits: *limits, free, shares: Counts::default() }
    }

    /// How many are taken.
    pub fn taken(&self, what: What) -> usize {
        most(&self.limits, what).saturating_sub(self.free(what).available_permits())
    }

    /// A place now; without a token one is nobody in particular, and has no share.
    ///
    /// # Errors
    /// Where there is none.
    pub fn take(&self, what: What, token: Option<&str>) -> Result<Held, Failure> {
        let _share = self.share(what, token)?;
        let full = |_| {
            let words = match what {
                What::Requests => "the server is busy; try again in a moment".to_owned(),
                _ => format!("there are {} {} already; try again in a moment", most(&self.limits, what), what.name()),
            };
            Failure::busy(StatusCode::SERVICE_UNAVAILABLE, words)
        };
        let _permit = Arc::clone(self.free(what)).try_acquire_owned().map_err(full)?;
        Ok(Held { _permit, _share })
    }

    /// A place as soon as there is one.
    ///
    /// # Errors
    /// Where the token has its share already.
    pub async fn wait(&self, what: What, token: Option<&str>) -> Result<Held, Failure> {
        let _share = self.share(what, token)?;
        // The semaphore is never closed.
        let closed = |_| Failure::internal("the server has closed its doors");
        let _permit = Arc::clone(self.free(what)).acquire_owned().await.map_err(closed)?;
        Ok(Held { _permit, _share })
    }

    /// The same on a thread that may wait.
    ///
    /// # Errors
    /// As [`Places::wait`].
    pub fn wait_here(&self, what: What) -> Result<Held, Failure> {
        Handle::current().block_on(self.wait(what, None))
    }

    fn free(&self, what: What) -> &Arc<Semaphore> {
        // It is an array of all of them, in this order.
        &self.free[what as usize].1
    }

    fn share(&self, what: What, token: Option<&str>) -> Result<Option<Counted<(What, String)>>, Failure> {
        let Some(token) = token else { return Ok(None) };
        let most = most(&self.limits, what).div_ceil(2);
        let full = || {
            let words = format!(
                "the token \"{token}\" has {most} {} already, which is its share; try again in a moment",
                what.name()
            );
            Failure::busy(StatusCode::SERVICE_UNAVAILABLE, words)
        };
        self.shares.enter((what, token.to_owned()), most).map(Some).ok_or_else(full)
    }
}

fn most(limits: &Limits, what: What) -> usize {
    match what {
        What::Requests => limits.concurrent,
        What::Bodies => limits.bodies,
        What::Sheets => limits.sheets,
        What::Streams => limits.streams,
        What::Games => limits.games,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_half_and_leaves_the_rest_to_others() {
        let places = Places::new(&Limits { concurrent: 5, ..Limits::default() });
        let take = |token: Option<&str>| places.take(What::Requests, token);
        let adas: Vec<_> = (0..3).map(|_| take(Some("ada")).unwrap()).collect();
        assert!(take(Some("ada")).unwrap_err().words.contains("the token \"ada\" has 3 requests"));
        let bobs: Vec<_> = (0..2).map(|_| take(Some("bob")).unwrap()).collect();
        let full = take(Some("carl")).unwrap_err();
        assert!(full.words.contains("busy") && full.retry.is_some() && places.taken(What::Requests) == 5);
        // A place that is not to be had costs no share.
        drop((adas, bobs));
        let all: Vec<_> = (0..5).map(|_| take(None).unwrap()).collect();
        assert!(take(None).is_err() && take(Some("carl")).is_err());
        drop(all);
        assert!((0..3).map(|_| take(Some("carl"))).collect::<Vec<_>>().iter().all(Result::is_ok));
        for (at, what) in
            [What::Requests, What::Bodies, What::Sheets, What::Streams, What::Games].into_iter().enumerate()
        {
            assert_eq!(places.free[at].0, what);
            assert_eq!(what as usize, at);
        }
    }
}
