//! Tokens that are appended to sequences with caches, and heads' conditions, as the device reads them.

use super::address::Section;
use super::packing::{NO_ROW, Packer, ROW_TILE, Spread, TokenShape, causal_tile, row_room, whole_tile};
use super::places::{Group, Places};
use super::records::{Field, RowTile};
use crate::batch::{FieldValues, Tokens};
use crate::spec::{History, ModelSpec};

/// Tokens that are appended to sequences with caches.
pub(super) struct AppendShape {
    pub tokens: TokenShape,
    /// The cache line of each row's keys and values.
    pub lines: Section<i32>,
    pub row_tiles: Section<RowTile>,
}

/// Packs checked tokens into `words`. Sequence s has its cache from line `slots[s]` on and `starts[s]` tokens in it.
pub(super) fn pack_append(
    spec: &ModelSpec,
    places: &Places,
    tokens: &Tokens,
    slots: &[usize],
    starts: &[usize],
    words: &mut Vec<u32>,
) -> AppendShape {
    words.clear();
    let mut packer = Packer::new(words);
    let room = row_room(tokens.len());
    let (mut tiles, mut lines): (Vec<RowTile>, Vec<u32>) = (Vec::new(), Vec::new());
    for ((span, &slot), &before) in tokens.offsets.windows(2).zip(slots).zip(starts) {
        let count = span[1] - span[0];
        lines.extend((0..count).map(|i| (slot + before + i) as u32));
        for first in (0..count).step_by(ROW_TILE) {
            let (row, rows) = (span[0] + first, ROW_TILE.min(count - first));
            tiles.push(match spec.history {
                History::Causal => causal_tile(row, rows, slot, before + first),
                History::Set => whole_tile(row, rows, slot, count),
            });
        }
    }
    let spare = (tokens.len()..room).step_by(ROW_TILE);
    tiles.extend(spare.map(|row| whole_tile(row, ROW_TILE.min(room - row), 0, 0)));
    tiles.sort_by_key(|tile| std::cmp::Reverse(tile.keys));
    lines.resize(room, NO_ROW);
    let row_tiles = packer.records(&tiles);
    let lines = packer.numbers(&lines, &Spread::plain(room, room));
    let tokens = packer.tokens(places, &spec.history_fields(), tokens, 0..room);
    AppendShape { tokens, lines, row_tiles }
}

/// Packs a head's checked conditions for `count` rows, with room for `room`, into `words`.
pub(super) fn pack_conditions(
    group: &Group,
    conditions: &[FieldValues],
    count: usize,
    room: usize,
    words: &mut Vec<u32>,
) -> Section<Field> {
    words.clear();
    let which: Vec<usize> = (0..conditions.len()).collect();
    Packer::new(words).fields(group, &[], &which, conditions, &Spread::plain(count, room)).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;
    use crate::spec::{FieldKind, FieldSpec};

    #[test]
    fn appended_rows_have_a_line_of_their_own_cache_and_see_what_is_in_it() {
        let spec = ModelSpec {
            layers: 1,
            width: 32,
            attention_heads: 1,
            mlp_width: 32,
            context: 300,
            history: History::Causal,
            row_attention: false,
            fields: vec![FieldSpec::history("x", FieldKind::categorical(3))],
            heads: vec![],
            pool_heads: vec![],
        };
        let places = Places::new(&spec, &Layout::new(&spec)).unwrap();
        let tokens = Tokens::new(vec![0, 1, 1, 201], vec![FieldValues::Categorical(vec![2; 201])]);
        let (slots, starts) = ([0, 300, 900], [7, 0, 50]);
        let mut words = Vec::new();
        let shape = pack_append(&spec, &places, &tokens, &slots, &starts, &mut words);
        let lines = &words[shape.lines.at..][..shape.lines.count];
        for (row, &line) in lines.iter().enumerate() {
            let wanted = match row {
                0 => 7,
                1..=200 => 900 + 50 + row as u32 - 1,
                _ => NO_ROW,
            };
            assert_eq!(line, wanted, "row {row}");
        }
        let mut seen = vec![0; shape.tokens.rows];
        for tile in words[shape.row_tiles.at..][..6 * shape.row_tiles.count].chunks_exact(6) {
            let [row, rows, key, keys, first, step] = tile else { unreachable!() };
            for r in 0..*rows {
                let row = (row + r) as usize;
                seen[row] += 1;
                let (slot, sees) = match row {
                    0 => (0, 8),
                    1..=200 => (900, 50 + row as u32),
                    _ => (0, 0),
                };
                assert_eq!((*key, (first + r * step).min(*keys)), (slot, sees), "row {row}");
            }
        }
        assert!(seen.iter().all(|&n| n == 1), "{seen:?}");
    }
}
