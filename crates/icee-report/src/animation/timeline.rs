//! The timeline of an animation: when each step is shown.

use super::Episode;
use std::collections::BTreeMap;
use std::ops::Range;

/// Seconds of a step.
const STEP: f64 = 0.13;
/// Seconds that the end of an episode stays.
const PAUSE: f64 = 0.9;
/// Seconds of an episode that is passed over: its whole path at once.
const PASSED_OVER: f64 = 0.35;
/// Seconds that the end of the picture stays.
const END: f64 = 3.0;

/// A moment: where the agent is, and what it has earned in its episode.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub time: f64,
    pub cell: u32,
    pub earned: f64,
}

/// An episode on the timeline.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub frames: Range<usize>,
    pub from: f64,
    /// When its last step is done.
    pub played: f64,
    /// When the next one begins.
    pub until: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timeline {
    pub frames: Vec<Frame>,
    pub spans: Vec<Span>,
    pub length: f64,
}

impl Timeline {
    pub fn new(episodes: &[Episode], shown: &[usize]) -> Timeline {
        let (mut frames, mut spans, mut time) = (Vec::new(), Vec::new(), 0.0);
        for (index, episode) in episodes.iter().enumerate() {
            let (first, from) = (frames.len(), time);
            let step_by_step = shown.contains(&(index + 1));
            if step_by_step {
                frames.push(Frame { time, cell: episode.start, earned: 0.0 });
            }
            let mut earned = 0.0;
            for (number, step) in episode.steps.iter().enumerate() {
                earned += f64::from(step.reward);
                if step_by_step {
                    time += STEP;
                }
                if step_by_step || number + 1 == episode.steps.len() {
                    frames.push(Frame { time, cell: step.cell, earned });
                }
            }
            let played = time;
            time += if step_by_step { PAUSE } else { PASSED_OVER };
            spans.push(Span { frames: first..frames.len(), from, played, until: time });
        }
        if let Some(span) = spans.last_mut() {
            time += END;
            span.until = time;
        }
        Timeline { frames, spans, length: time }
    }

    /// When each cell was first entered.
    pub fn visits(&self, episodes: &[Episode]) -> BTreeMap<u32, f64> {
        let mut visits = BTreeMap::new();
        for (span, episode) in self.spans.iter().zip(episodes) {
            visits.entry(episode.start).or_insert(span.from);
            for (number, step) in episode.steps.iter().enumerate() {
                visits.entry(step.cell).or_insert(self.moment(span, number));
            }
        }
        visits
    }

    /// When each cell in which something was earned was first seen to pay.
    pub fn finds(&self, episodes: &[Episode]) -> BTreeMap<u32, f64> {
        let mut finds = BTreeMap::new();
        for (span, episode) in self.spans.iter().zip(episodes) {
            for (number, step) in episode.steps.iter().enumerate().filter(|(_, step)| step.reward > 0.0) {
                finds.entry(step.cell).or_insert(self.moment(span, number));
            }
        }
        finds
    }

    /// When a step of an episode is done.
    fn moment(&self, span: &Span, step: usize) -> f64 {
        self.frames[span.frames.clone()].get(step + 1).map_or(span.played, |frame| frame.time)
    }
}
