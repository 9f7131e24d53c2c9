//! The floor: cells, moves, walls, and which moves bring one closer. Row 0 is at the top; walls clip.

/// One cell to the left.
pub const LEFT: usize = 0;
/// One cell to the right.
pub const RIGHT: usize = 1;
/// One cell up.
pub const UP: usize = 2;
/// One cell down.
pub const DOWN: usize = 3;
/// No move.
pub const STAY: usize = 4;
/// The number of actions.
pub const ACTIONS: usize = 5;
/// The actions' names.
pub const ACTION_NAMES: [&str; ACTIONS] = ["left", "right", "up", "down", "stay"];

/// A cell by its column and row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub x: u32,
    pub y: u32,
}

impl Cell {
    pub fn distance(self, other: Self) -> u32 {
        self.x.abs_diff(other.x) + self.y.abs_diff(other.y)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub width: u32,
    pub height: u32,
}

impl Room {
    pub fn cells(self) -> u32 {
        self.width * self.height
    }

    /// The cell's number, row by row: what an agent observes.
    #[inline]
    pub fn index(self, cell: Cell) -> u32 {
        cell.y * self.width + cell.x
    }

    #[inline]
    pub fn cell(self, index: u32) -> Cell {
        Cell { x: index % self.width, y: index / self.width }
    }

    /// Where the action leads.
    #[inline]
    pub fn moved(self, cell: Cell, action: usize) -> Cell {
        let Cell { x, y } = cell;
        match action {
            LEFT => Cell { x: x.saturating_sub(1), y },
            RIGHT => Cell { x: (x + 1).min(self.width - 1), y },
            UP => Cell { x, y: y.saturating_sub(1) },
            DOWN => Cell { x, y: (y + 1).min(self.height - 1) },
            _ => cell,
        }
    }
}

/// Which actions bring one closer from `cell` to `target`; on the target itself, staying.
#[inline]
pub(super) fn closer(cell: Cell, target: Cell) -> [bool; ACTIONS] {
    [target.x < cell.x, target.x > cell.x, target.y < cell.y, target.y > cell.y, cell == target]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closer_is_what_the_distance_says() {
        let room = Room { width: 5, height: 4 };
        for from in (0..room.cells()).map(|i| room.cell(i)) {
            assert_eq!(room.cell(room.index(from)), from);
            for target in (0..room.cells()).map(|i| room.cell(i)) {
                let closer = closer(from, target);
                for action in LEFT..=DOWN {
                    let gained = room.moved(from, action).distance(target) < from.distance(target);
                    assert_eq!(closer[action], gained, "{from:?} to {target:?} by {}", ACTION_NAMES[action]);
                }
                assert_eq!(closer[STAY], from == target);
            }
        }
    }

    #[test]
    fn walls_clip() {
        let room = Room { width: 3, height: 2 };
        let corner = Cell { x: 0, y: 0 };
        assert_eq!(room.moved(corner, LEFT), corner);
        assert_eq!(room.moved(corner, UP), corner);
        let corner = Cell { x: 2, y: 1 };
        assert_eq!(room.moved(corner, RIGHT), corner);
        assert_eq!(room.moved(corner, DOWN), corner);
    }
}
