//! The paper's own numbers: the three tables of its appendix, as printed, in `data/paper-tables.csv`.

use crate::figure::Point;
use serde::Deserialize;

/// A cell of the paper's tables: the mean return over 100 games.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PaperCell {
    /// The table, as the paper names its world.
    pub table: String,
    /// The world's id here.
    pub world: String,
    /// The method's key.
    pub method: String,
    /// The episode.
    pub episode: usize,
    /// The mean return.
    pub mean: f64,
    /// What stands in parentheses: half the width of the mean's 95 % interval.
    pub half_width_95: f64,
}

/// All cells, in the paper's order.
#[must_use]
pub fn cells() -> Vec<PaperCell> {
    let mut reader = csv::Reader::from_reader(include_str!("../data/paper-tables.csv").as_bytes());
    reader.deserialize().filter_map(Result::ok).collect()
}

/// One method's cells of one world; empty where the paper has none.
#[must_use]
pub fn row(world: &str, method: &str) -> Vec<PaperCell> {
    cells().into_iter().filter(|cell| cell.world == world && cell.method == method).collect()
}

/// The same as points of a figure.
#[must_use]
pub fn points(world: &str, method: &str) -> Vec<Point> {
    let point = |cell: PaperCell| Point { x: cell.episode as f64, y: cell.mean, half_width: Some(cell.half_width_95) };
    row(world, method).into_iter().map(point).collect()
}

/// How a result of ours stands to the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Higher, beyond what the two intervals leave to chance.
    Higher,
    /// The same, as far as the two intervals can tell.
    Agrees,
    /// Lower, beyond what the two intervals leave to chance.
    Lower,
}

/// Compares two means with their half widths: the difference of two independent means has the width √(a² + b²).
#[must_use]
pub fn verdict(ours: (f64, f64), papers: (f64, f64)) -> Verdict {
    let (difference, width) = (ours.0 - papers.0, ours.1.hypot(papers.1));
    match difference {
        d if d > width => Verdict::Higher,
        d if d < -width => Verdict::Lower,
        _ => Verdict::Agrees,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forty_five_cells_are_there() {
        let cells = cells();
        assert_eq!(cells.len(), 45);
        // Column sums of the three tables, added up by hand from the paper.
        for (world, sums) in [
            ("DarkRoom-v0", [18.93, 27.70, 37.11]),
            ("DarkRoomHard-v0", [1.49, 2.32, 2.57]),
            ("DarkKeyToDoor-v0", [3.32, 4.80, 5.99]),
        ] {
            let episodes: Vec<usize> = row(world, "icee").iter().map(|cell| cell.episode).collect();
            for (episode, sum) in episodes.into_iter().zip(sums) {
                let column = cells.iter().filter(|cell| cell.world == world && cell.episode == episode);
                assert!((column.map(|cell| cell.mean).sum::<f64>() - sum).abs() < 1e-9, "{world} {episode}");
            }
        }
        assert_eq!(row("DarkKeyToDoor-v0", "ad-sorted")[2].half_width_95, 0.09);
    }

    #[test]
    fn verdicts_by_hand() {
        // √(0.3² + 0.4²) = 0.5.
        assert_eq!(verdict((2.0, 0.3), (1.4, 0.4)), Verdict::Higher);
        assert_eq!(verdict((1.8, 0.3), (1.4, 0.4)), Verdict::Agrees);
        assert_eq!(verdict((0.8, 0.3), (1.4, 0.4)), Verdict::Lower);
    }
}
