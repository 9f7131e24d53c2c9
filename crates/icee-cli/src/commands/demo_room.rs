//! Draws a room of the demo on a terminal: the path of the agent in its first episode and in a later one.

use icee_worlds::{Observation, PlayedStep};
use std::fmt::Write;

/// The episodes that are drawn, from 0.
const DRAWN: [usize; 2] = [0, 9];
/// Columns between two rooms.
const GAP: usize = 6;

/// What is remembered of every game that is watched: the cells of the drawn episodes, and where something was earned.
pub struct Rooms {
    columns: u32,
    rows: u32,
    games: Vec<Room>,
}

#[derive(Clone, Default)]
struct Room {
    episodes: [Walk; DRAWN.len()],
    goal: Option<u32>,
    /// Whether the last action earned something, so that the next cell to be seen is the goal.
    earned: bool,
}

/// An episode: the cells in which the agent decided, and what it earned.
#[derive(Clone, Default)]
struct Walk {
    cells: Vec<u32>,
    earned: f32,
}

impl Rooms {
    pub fn new(columns: u32, rows: u32, games: usize) -> Rooms {
        Rooms { columns, rows, games: vec![Room::default(); games] }
    }

    /// Remembers a step.
    pub fn see(&mut self, step: &PlayedStep<'_>) {
        let (Observation::Discrete(cell), Some(room)) = (step.observation, self.games.get_mut(step.game)) else {
            return;
        };
        if room.earned {
            room.goal = Some(cell);
        }
        // The cell after an episode's last action is never seen.
        room.earned = step.outcome.reward > 0.0 && !step.outcome.done;
        if let Some(place) = DRAWN.iter().position(|episode| *episode == step.episode) {
            room.episodes[place].cells.push(cell);
            room.episodes[place].earned += step.outcome.reward;
        }
    }

    /// Draws the first room in which the first episode found nothing and a later one did: there, both can be seen. None where
    /// there is no such room.
    pub fn picture(&self) -> Option<String> {
        let shows =
            |room: &&Room| room.goal.is_some() && room.episodes[0].earned == 0.0 && room.episodes[1].earned > 0.0;
        let (index, room) = self.games.iter().enumerate().find(|(_, room)| shows(room))?;
        let mut text = format!("room {}: S start, arrows where it went, G the goal, which it cannot see\n", index + 1);
        let title = |(walk, episode): (&Walk, usize)| format!("episode {}: return {}", episode + 1, walk.earned);
        let mut drawn = vec![room.episodes.iter().zip(DRAWN).map(title).collect::<Vec<String>>()];
        let walks = room.episodes.each_ref().map(|walk| self.drawn(walk, room.goal));
        drawn.extend((0..self.rows as usize).map(|row| walks.iter().map(|lines| lines[row].clone()).collect()));
        let width = drawn.iter().flatten().map(|part| part.chars().count()).max().unwrap_or(0) + GAP;
        for line in drawn {
            let line: String = line.iter().map(|part| format!("{part:<width$}")).collect();
            let _ = writeln!(text, "  {}", line.trim_end());
        }
        Some(text)
    }

    /// One episode, line by line: each cell has the arrow of the last move from it.
    fn drawn(&self, walk: &Walk, goal: Option<u32>) -> Vec<String> {
        let mut signs = vec!['·'; (self.columns * self.rows) as usize];
        let mut put = |cell: u32, sign: char| {
            if let Some(place) = signs.get_mut(cell as usize) {
                *place = sign;
            }
        };
        for pair in walk.cells.windows(2) {
            put(pair[0], self.arrow(pair[0], pair[1]));
        }
        walk.cells.last().into_iter().for_each(|&last| put(last, '•'));
        walk.cells.first().into_iter().for_each(|&start| put(start, 'S'));
        goal.into_iter().for_each(|goal| put(goal, 'G'));
        let line = |row: &[char]| row.iter().map(char::to_string).collect::<Vec<_>>().join(" ");
        signs.chunks(self.columns.max(1) as usize).map(line).collect()
    }

    /// From a cell to the next; cells are numbered row by row.
    fn arrow(&self, from: u32, to: u32) -> char {
        match i64::from(to) - i64::from(from) {
            1 => '→',
            -1 => '←',
            step if step == i64::from(self.columns) => '↓',
            step if step == -i64::from(self.columns) => '↑',
            _ => '•',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(cells: &[u32], earned: f32) -> Walk {
        Walk { cells: cells.to_vec(), earned }
    }

    #[test]
    fn both_episodes_stand_side_by_side() {
        let mut rooms = Rooms::new(3, 2, 2);
        rooms.games[0].episodes = [walk(&[0, 1], 1.0), walk(&[0, 1], 1.0)];
        rooms.games[0].goal = Some(1);
        rooms.games[1] =
            Room { episodes: [walk(&[0, 1, 2, 2], 0.0), walk(&[0, 3, 4, 5, 5], 2.0)], goal: Some(5), earned: false };
        let text = rooms.picture().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("room 2: "), "{text}");
        assert_eq!(
            lines[1..],
            [
                "  episode 1: return 0       episode 10: return 2",
                "  S → •                     S · ·",
                "  · · G                     → → G"
            ]
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn no_room_is_drawn_where_none_shows_it() {
        assert_eq!(Rooms::new(3, 3, 4).picture(), None);
    }
}
