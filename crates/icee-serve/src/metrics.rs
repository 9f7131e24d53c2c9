//! The server's work in numbers: the text that Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the classes of times, in seconds.
const BUCKETS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Times of one route.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

/// Counts of requests, and how long they took. Routes are those of the table, so there are few.
#[derive(Debug, Default)]
pub struct Metrics {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By method, route and status.
    requests: BTreeMap<(&'static str, &'static str, u16), u64>,
    /// By method and route.
    times: BTreeMap<(&'static str, &'static str), Times>,
}

impl Metrics {
    /// Counts a request.
    pub fn count(&self, method: &'static str, route: &'static str, status: u16, took: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state.requests.entry((method, route, status)).or_default() += 1;
        let (times, seconds) = (state.times.entry((method, route)).or_default(), took.as_secs_f64());
        times.count += 1;
        times.sum += seconds;
        for (count, _) in times.buckets.iter_mut().zip(BUCKETS).filter(|(_, end)| seconds <= *end) {
            *count += 1;
        }
    }

    /// All metrics as text; `gauges` are numbers from elsewhere, with their descriptions.
    pub fn text(&self, gauges: &[(&str, &str, usize)]) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut line = |line: String| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{line}");
        };
        line("# HELP icee_requests_total Requests answered.".into());
        line("# TYPE icee_requests_total counter".into());
        for ((method, route, status), count) in &state.requests {
            line(format!("icee_requests_total{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {count}"));
        }
        line("# HELP icee_request_seconds How long answers took.".into());
        line("# TYPE icee_request_seconds histogram".into());
        for ((method, route), times) in &state.times {
            let labels = format!("method=\"{method}\",route=\"{route}\"");
            for (count, end) in times.buckets.iter().zip(BUCKETS) {
                line(format!("icee_request_seconds_bucket{{{labels},le=\"{end}\"}} {count}"));
            }
            line(format!("icee_request_seconds_bucket{{{labels},le=\"+Inf\"}} {}", times.count));
            line(format!("icee_request_seconds_sum{{{labels}}} {}", times.sum));
            line(format!("icee_request_seconds_count{{{labels}}} {}", times.count));
        }
        for (name, help, value) in gauges {
            line(format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_in_all_classes_that_hold_them() {
        let metrics = Metrics::default();
        metrics.count("GET", "/health", 200, Duration::from_millis(7));
        metrics.count("GET", "/health", 200, Duration::from_secs(60));
        let text = metrics.text(&[("icee_studies_open", "Studies that are open.", 3)]);
        for line in [
            "icee_requests_total{method=\"GET\",route=\"/health\",status=\"200\"} 2",
            "icee_request_seconds_bucket{method=\"GET\",route=\"/health\",le=\"0.005\"} 0",
            "icee_request_seconds_bucket{method=\"GET\",route=\"/health\",le=\"0.01\"} 1",
            "icee_request_seconds_bucket{method=\"GET\",route=\"/health\",le=\"30\"} 1",
            "icee_request_seconds_bucket{method=\"GET\",route=\"/health\",le=\"+Inf\"} 2",
            "icee_request_seconds_sum{method=\"GET\",route=\"/health\"} 60.007",
            "icee_studies_open 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
