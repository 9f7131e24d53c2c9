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
    /// Cells along each wall that cannot be entered.
    pub margin: u32,
}

impl Room {
    /// Whether a cell can be entered.
    pub fn contains(self, cell: Cell) -> bool {
        let within = |at: u32, side: u32| at >= self.margin && at < side.saturating_sub(self.margin);
        within(cell.x, self.width) && within(cell.y, self.height)
    }

    /// The cells that can be entered.
    pub fn inside(self) -> impl Iterator<Item = Cell> {
        (0..self.inner()).map(move |index| self.inner_cell(index))
    }

    /// How many cells can be entered: none where the margin takes all.
    pub fn inner(self) -> u32 {
        self.within(self.width) * self.within(self.height)
    }

    /// What the margins leave of a side.
    fn within(self, side: u32) -> u32 {
        side.saturating_sub(self.margin.saturating_mul(2))
    }

    /// Those that can be entered, by their number among them, row by row.
    pub fn inner_cell(self, index: u32) -> Cell {
        let columns = self.within(self.width);
        Cell { x: self.margin + index % columns, y: self.margin + index / columns }
    }

    /// The number of cells, those that cannot be entered among them.
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
            LEFT => Cell { x: x.saturating_sub(1).max(self.margin), y },
            RIGHT => Cell { x: (x + 1).min(self.width - 1 - self.margin), y },
            UP => Cell { x, y: y.saturating_sub(1).max(self.margin) },
            DOWN => Cell { x, y: (y + 1).min(self.height - 1 - self.margin) },
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
        let room = Room { width: 5, height: 4, margin: 0 };
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
        let room = Room { width: 3, height: 2, margin: 0 };
        let corner = Cell { x: 0, y: 0 };
        assert_eq!(room.moved(corner, LEFT), corner);
        assert_eq!(room.moved(corner, UP), corner);
        let corner = Cell { x: 2, y: 1 };
        assert_eq!(room.moved(corner, RIGHT), corner);
        assert_eq!(room.moved(corner, DOWN), corner);
        let room = Room { width: 5, height: 4, margin: 1 };
        assert_eq!(room.inside().count(), 6);
        for cell in room.inside() {
            assert!((LEFT..=STAY).all(|action| room.contains(room.moved(cell, action))), "{cell:?}");
        }
    }
}
