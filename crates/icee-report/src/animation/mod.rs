//! One game as an animated SVG: the room on the left, step by step, and the return by episode beside it. It uses CSS keyframes, no
//! script and no font, so that it moves inside an `<img>`.
//!
//! Without motion (a printer, a reader who asked for none) the picture is that of the last moment.

mod picture;
mod timeline;

use crate::ink::Paint;
use crate::{Error, Result};
use picture::Picture;
use timeline::Timeline;

/// A game as it was played.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    /// What is seen, in words: for readers who cannot.
    pub title: String,
    /// Columns of the room.
    pub columns: u32,
    /// Rows of the room.
    pub rows: u32,
    /// The most that an episode can earn.
    pub most: f64,
    /// The episodes in order.
    pub episodes: Vec<Episode>,
    /// The mean return of many games at each episode, drawn faintly; may be empty.
    pub mean: Vec<f64>,
}

/// An episode: where it starts and what follows. Cells are numbered row by row from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// The first cell.
    pub start: u32,
    /// What each action led to.
    pub steps: Vec<Step>,
}

/// What an action led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The cell.
    pub cell: u32,
    /// What was earned there.
    pub reward: f32,
}

/// The most columns and rows that can be told apart.
const MAX_SIDE: u32 = 64;

/// The game as an animated SVG: the episodes in `shown` (from 1) step by step, those between them in passing. Ends with
/// the last that is shown.
///
/// # Errors
/// [`Error::Output`] where there is nothing to show, the room is too large, or a cell lies outside it.
pub fn svg(game: &Game, shown: &[usize], paint: Paint) -> Result<String> {
    let fail = |problem: &str| Err(Error::output("the moving picture", problem));
    let Some(last) = shown.iter().copied().filter(|&number| (1..=game.episodes.len()).contains(&number)).max() else {
        return fail("none of the episodes to show was played");
    };
    if game.columns.max(game.rows) > MAX_SIDE {
        return fail("the room is too large to be drawn");
    }
    let cells = game.columns * game.rows;
    let inside = |episode: &Episode| episode.start < cells && episode.steps.iter().all(|step| step.cell < cells);
    if !game.episodes.iter().all(inside) {
        return fail("a cell is outside the room");
    }
    if !(game.most > 0.0 && game.most.is_finite()) {
        return fail("the maximum return must be above 0");
    }
    let timeline = Timeline::new(&game.episodes[..last], shown);
    Ok(Picture::new(game, &timeline, paint).draw())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three cells in a row; the goal is the last. Found in the second episode, gone back to in the third and fourth.
    fn game() -> Game {
        let episode = |cells: &[u32]| Episode {
            start: 1,
            steps: cells.iter().map(|&cell| Step { cell, reward: f32::from(u8::from(cell == 2)) }).collect(),
        };
        Game {
            title: "three cells & <a goal>".into(),
            columns: 3,
            rows: 1,
            most: 4.0,
            episodes: [[1, 0, 0], [1, 1, 2], [2, 2, 2], [2, 2, 2]].map(|cells| episode(&cells)).to_vec(),
            mean: vec![0.0, 0.5, 2.0, 3.0],
        }
    }

    /// The keyframes of every animation that moves something from place to place.
    fn moves(svg: &str) -> Vec<usize> {
        let counts = svg.split("@keyframes").map(|keyframes| keyframes.matches("{transform:").count());
        counts.filter(|count| *count > 0).collect()
    }

    #[test]
    fn every_step_shown_is_a_frame() {
        // The start and three steps of the first two, one frame for the third in passing, four for the last.
        let svg = svg(&game(), &[1, 2, 4], Paint::Light).unwrap();
        assert_eq!(moves(&svg), [4 + 4 + 1 + 4; 2], "the agent's and the dot's");
        assert_eq!(
            moves(&super::svg(&game(), &[1, 9], Paint::Light).unwrap()),
            [4; 2],
            "ends with the last that is shown"
        );
    }

    #[test]
    fn it_is_well_formed_needs_nothing_else_and_is_always_the_same() {
        for paint in [Paint::Light, Paint::Dark] {
            let svg = svg(&game(), &[1, 2, 4], paint).unwrap();
            assert_eq!(svg, super::svg(&game(), &[1, 2, 4], paint).unwrap());
            let inside = svg.replace(" xmlns=\"http://www.w3.org/2000/svg\"", "");
            crate::check::self_contained(&inside).unwrap();
            assert!(svg.contains("<title>three cells &amp; &lt;a goal&gt;</title>"));
            // What `self_contained` does not look at: quotes that are closed, attributes that are given once.
            for tag in inside.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
                assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
                let names: Vec<&str> = tag.split("=\"").filter_map(|part| part.rsplit([' ', '"']).next()).collect();
                let names = &names[..names.len() - 1];
                assert!(names.iter().enumerate().all(|(index, name)| !names[..index].contains(name)), "{tag}");
            }
        }
        assert_ne!(svg(&game(), &[1], Paint::Light).unwrap(), svg(&game(), &[1], Paint::Dark).unwrap());
    }

    #[test]
    fn the_goal_is_not_there_before_it_is_found() {
        let goal = crate::ink::of("ad").light;
        let drawn = |shown: &[usize]| svg(&game(), shown, Paint::Light).unwrap().matches(goal).count();
        assert_eq!((drawn(&[1]), drawn(&[1, 2])), (1, 2), "the first is in the key");
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        assert!(svg(&game(), &[], Paint::Light).is_err());
        assert!(svg(&game(), &[5], Paint::Light).is_err());
        let mut outside = game();
        outside.episodes[3].steps[0].cell = 3;
        assert!(svg(&outside, &[1], Paint::Light).unwrap_err().to_string().contains("outside the room"));
        assert!(svg(&Game { columns: 1 << 31, ..game() }, &[1], Paint::Light).is_err());
        assert!(svg(&Game { most: 0.0, ..game() }, &[1], Paint::Light).is_err());
    }
}
