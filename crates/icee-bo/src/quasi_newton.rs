//! Minimisation within a box: projected L-BFGS with a Wolfe line search.
//!
//! Why not a library: of those for bounded problems one is a binding to C, and the ports to Rust write to standard
//! error on their own or carry state from one call to the next; the well-kept ones have no bounds. The problems here have
//! three to a dozen variables, so the plain two-metric method (Bertsekas 1982) does: variables held at a bound are left
//! out, the rest takes a quasi-Newton step, and the path is bent back into the box.

use std::collections::VecDeque;

/// Pairs of steps and gradient changes that are remembered.
const MEMORY: usize = 10;
/// The Wolfe conditions: enough decrease, and a slope flat enough.
const DECREASE: f64 = 1e-4;
const FLATTENING: f64 = 0.9;
/// Evaluations that one line search may take.
const LINE_SEARCH_EVALUATIONS: usize = 25;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// Steps at most.
    pub iterations: usize,
    /// The largest entry of the projected gradient that counts as zero.
    pub gradient: f64,
    /// The relative decrease of one step that counts as none.
    pub decrease: f64,
}

/// Where the search ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The lowest point found.
    pub point: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// Evaluations of the function.
    pub evaluations: usize,
}

struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

struct Iterate {
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// Minimises `function` from `start` within `bounds` (lower, upper).
///
/// `function` writes its gradient and returns its value; infinity or NaN marks a point that cannot be evaluated, which
/// the search steps back from. Returns `None` where `start` itself cannot be evaluated.
pub fn minimise(
    mut function: impl FnMut(&[f64], &mut [f64]) -> f64,
    start: &[f64],
    bounds: &[(f64, f64)],
    tolerance: Tolerance,
) -> Option<Minimum> {
    let mut evaluations = 0;
    let mut evaluate = |point: Vec<f64>| {
        evaluations += 1;
        let mut gradient = vec![0.0; point.len()];
        let value = function(&point, &mut gradient);
        Iterate { point, value, gradient }
    };
    let first = project(start.iter().copied(), bounds);
    let mut current = evaluate(first);
    if !current.value.is_finite() {
        return None;
    }
    let mut memory: VecDeque<Pair> = VecDeque::with_capacity(MEMORY);
    for _ in 0..tolerance.iterations {
        if projected_gradient(&current, bounds) <= tolerance.gradient {
            break;
        }
        let free = free_variables(&current, bounds);
        let mut direction = quasi_newton_direction(&current.gradient, &free, &memory);
        if dot(&direction, &current.gradient) >= 0.0 {
            memory.clear();
            direction = quasi_newton_direction(&current.gradient, &free, &memory);
        }
        let Some(next) = line_search(&current, &direction, bounds, &mut evaluate) else {
            if memory.is_empty() {
                break;
            }
            memory.clear();
            continue;
        };
        let step = difference(&next.point, &current.point);
        let change = difference(&next.gradient, &current.gradient);
        // Only pairs of clearly positive curvature keep the approximation positive definite.
        if dot(&step, &change) > 1e-10 * norm(&step) * norm(&change) {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back(Pair { step, change });
        }
        let decrease = current.value - next.value;
        let scale = current.value.abs().max(1.0);
        current = next;
        if decrease <= tolerance.decrease * scale {
            break;
        }
    }
    Some(Minimum { point: current.point, value: current.value, evaluations })
}

/// The point of the box nearest to `point`.
fn project(point: impl Iterator<Item = f64>, bounds: &[(f64, f64)]) -> Vec<f64> {
    point.zip(bounds).map(|(x, &(low, high))| x.clamp(low, high)).collect()
}

/// The largest move that a unit gradient step would make within the box.
fn projected_gradient(at: &Iterate, bounds: &[(f64, f64)]) -> f64 {
    let moved = project(at.point.iter().zip(&at.gradient).map(|(x, g)| x - g), bounds);
    difference(&moved, &at.point).iter().fold(0.0, |largest, step| step.abs().max(largest))
}

/// Which variables are not held at a bound that the function falls towards.
fn free_variables(at: &Iterate, bounds: &[(f64, f64)]) -> Vec<bool> {
    let held = |((&x, &g), &(low, high)): ((&f64, &f64), &(f64, f64))| (x <= low && g > 0.0) || (x >= high && g < 0.0);
    at.point.iter().zip(&at.gradient).zip(bounds).map(|entry| !held(entry)).collect()
}

/// −H g over the free variables: the two-loop recursion, on pairs cut down to those variables.
fn quasi_newton_direction(gradient: &[f64], free: &[bool], memory: &VecDeque<Pair>) -> Vec<f64> {
    let cut = |v: &[f64]| -> Vec<f64> { v.iter().zip(free).map(|(&x, &keep)| if keep { x } else { 0.0 }).collect() };
    let mut direction: Vec<f64> = cut(gradient).iter().map(|g| -g).collect();
    let pairs: Vec<(Vec<f64>, Vec<f64>, f64)> = memory
        .iter()
        .map(|pair| (cut(&pair.step), cut(&pair.change)))
        .map(|(step, change)| (dot(&step, &change), step, change))
        .filter(|(curvature, step, change)| *curvature > 1e-10 * norm(step) * norm(change))
        .map(|(curvature, step, change)| (step, change, curvature))
        .collect();
    let Some((_, change, curvature)) = pairs.last() else {
        // Nothing known of the curvature: a step of length one at most.
        let length = norm(&direction).max(1.0);
        return direction.iter().map(|d| d / length).collect();
    };
    let initial = curvature / dot(change, change);
    let mut factors = vec![0.0; pairs.len()];
    for (factor, (step, change, curvature)) in factors.iter_mut().zip(&pairs).rev() {
        *factor = dot(step, &direction) / curvature;
        add_scaled(&mut direction, -*factor, change);
    }
    direction.iter_mut().for_each(|d| *d *= initial);
    for (factor, (step, change, curvature)) in factors.iter().zip(&pairs) {
        let back = dot(change, &direction) / curvature;
        add_scaled(&mut direction, factor - back, step);
    }
    direction
}

/// A point along the bent path that meets the Wolfe conditions: by bisection between a step too short and one too long.
///
/// Out of evaluations it gives the best point with enough decrease, if there was any.
fn line_search(
    from: &Iterate,
    direction: &[f64],
    bounds: &[(f64, f64)],
    evaluate: &mut impl FnMut(Vec<f64>) -> Iterate,
) -> Option<Iterate> {
    let (mut short, mut long, mut length) = (0.0, f64::INFINITY, 1.0);
    let mut best: Option<Iterate> = None;
    for _ in 0..LINE_SEARCH_EVALUATIONS {
        let point = project(from.point.iter().zip(direction).map(|(x, d)| x + length * d), bounds);
        let step = difference(&point, &from.point);
        if norm(&step) == 0.0 {
            break;
        }
        let slope = dot(&from.gradient, &step);
        let trial = evaluate(point);
        let enough = trial.value <= from.value + DECREASE * slope && trial.gradient.iter().all(|g| g.is_finite());
        if !enough {
            long = length;
        } else {
            // Coordinates at a bound do not move any further along the path, so that their slope does not count.
            let moving = |k: usize| trial.point[k] > bounds[k].0 && trial.point[k] < bounds[k].1;
            let along = |g: &[f64]| (0..g.len()).filter(|&k| moving(k)).map(|k| g[k] * direction[k]).sum::<f64>();
            let too_steep = along(&trial.gradient) < FLATTENING * along(&from.gradient).min(0.0);
            if best.as_ref().is_none_or(|best| trial.value < best.value) {
                best = Some(trial);
            }
            if !too_steep {
                break;
            }
            short = length;
        }
        length = if long.is_finite() { 0.5 * (short + long) } else { 2.0 * length };
    }
    best
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn add_scaled(target: &mut [f64], factor: f64, source: &[f64]) {
    target.iter_mut().zip(source).for_each(|(entry, value)| *entry += factor * value);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIGHT: Tolerance = Tolerance { iterations: 500, gradient: 1e-9, decrease: 0.0 };

    fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
        g.fill(0.0);
        let mut value = 0.0;
        for k in 0..x.len() - 1 {
            let bend = x[k + 1] - x[k] * x[k];
            value += 100.0 * bend * bend + (1.0 - x[k]).powi(2);
            g[k] += -400.0 * bend * x[k] - 2.0 * (1.0 - x[k]);
            g[k + 1] += 200.0 * bend;
        }
        value
    }

    #[test]
    fn rosenbrocks_valley_is_followed_to_its_end() {
        for n in [2, 5, 12] {
            let found = minimise(rosenbrock, &vec![-1.2; n], &vec![(-5.0, 5.0); n], TIGHT).unwrap();
            // From this start some dimensions have a second local minimum; both are stationary.
            let mut gradient = vec![0.0; n];
            rosenbrock(&found.point, &mut gradient);
            assert!(norm(&gradient) < 1e-6, "{n}: {found:?}");
            assert!(found.evaluations < 500, "{n}: {}", found.evaluations);
        }
        let found = minimise(rosenbrock, &[-1.2, 1.0], &[(-5.0, 5.0); 2], TIGHT).unwrap();
        assert!(found.point.iter().all(|x| (x - 1.0).abs() < 1e-7), "{found:?}");
    }

    #[test]
    fn a_bound_that_cuts_the_valley_is_kept() {
        // With x₁ ≤ ½ the minimum is at (½, ¼).
        let found = minimise(rosenbrock, &[-1.2, 1.0], &[(-5.0, 0.5), (-5.0, 5.0)], TIGHT).unwrap();
        assert!((found.point[0] - 0.5).abs() < 1e-12 && (found.point[1] - 0.25).abs() < 1e-7, "{found:?}");
    }

    #[test]
    fn corners_and_starts_outside_the_box_are_fine() {
        let plane = |x: &[f64], g: &mut [f64]| {
            g.copy_from_slice(&[1.0, -2.0]);
            x[0] - 2.0 * x[1]
        };
        let found = minimise(plane, &[9.0, -9.0], &[(0.0, 3.0), (-1.0, 4.0)], TIGHT).unwrap();
        assert_eq!(found.point, [0.0, 4.0]);
    }

    #[test]
    fn a_variable_can_leave_its_bound_again() {
        // Starts at a bound that the coupled quadratic first presses against.
        let bowl = |x: &[f64], g: &mut [f64]| {
            let (a, b) = (x[0] - 1.0, x[1] + 3.0 * x[0] - 6.0);
            g[0] = 2.0 * a + 6.0 * b;
            g[1] = 2.0 * b;
            a * a + b * b
        };
        let found = minimise(bowl, &[0.0, 9.0], &[(0.0, 5.0), (0.0, 10.0)], TIGHT).unwrap();
        assert!((found.point[0] - 1.0).abs() < 1e-6 && (found.point[1] - 3.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn points_that_cannot_be_evaluated_are_stepped_back_from() {
        let barrier = |x: &[f64], g: &mut [f64]| {
            g[0] = 1.0 - 1e-3 / x[0];
            if x[0] > 0.0 { x[0] - 1e-3 * x[0].ln() } else { f64::NAN }
        };
        let found = minimise(barrier, &[1.0], &[(-10.0, 10.0)], TIGHT).unwrap();
        assert!((found.point[0] - 1e-3).abs() < 1e-8, "{found:?}");
        assert!(minimise(barrier, &[-1.0], &[(-10.0, 10.0)], TIGHT).is_none());
    }
}
