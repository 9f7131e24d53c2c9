//! A batch as the device reads it: one stretch of 4-byte words, sent in one copy, and the shape that says where
//! everything lies. Batches of the same shape run the same launches, so a captured graph serves them all.
//!
//! Ragged batches would hardly ever have the same shape twice, so rows, targets and tiles get a little more room than
//! they need. What fills it up has no weight, sees nothing and is seen by nothing.

use super::address::Section;
use super::places::{Group, MlpPlace, Places};
use super::records::{CellSpan, Field, KeyTile, Plain, PoolRow, PoolSpan, PoolTarget, RowTile, int, words};
use crate::batch::{Batch, ClassTargets, FieldValues, Tokens};
use crate::spec::{History, ModelSpec};
use std::ops::Range;

/// Rows that one block of the attention kernels treats.
pub(super) const ROW_TILE: usize = 128;

/// Keys that one block of their backward pass treats.
fn key_tile(head_width: usize) -> usize {
    if head_width <= 32 { 128 } else { 64 }
}

/// Cells that one block of the attention among the cells of a row treats: as many as it has threads.
const CELLS: usize = 128;

/// Sections start at multiples of this many words, 16 bytes.
const ALIGNMENT: usize = 4;

/// What stands for no row: the kernels' −1.
pub(super) const NO_ROW: u32 = u32::MAX;

/// A field of some tokens that is embedded by an MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MlpShape {
    /// Which of the places' MLPs.
    pub mlp: usize,
    /// The field's record for the hidden layer.
    pub field: Section<Field>,
}

/// The fields of consecutive rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TokenShape {
    pub first: usize,
    pub rows: usize,
    pub fields: Section<Field>,
    pub mlps: Vec<MlpShape>,
}

/// Where one set of targets lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TargetShape {
    pub head: usize,
    pub count: usize,
    /// The targets' rows are all rows of the batch.
    pub all_rows: bool,
    pub rows: Section<i32>,
    pub conditions: Section<Field>,
    pub classes: Section<i32>,
    pub weights: Section<f32>,
    pub scale: Section<f32>,
}

/// Some rows of a pool head's targets with all their candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChunkShape {
    /// Its first pair of all, and how many.
    pub first: usize,
    pub pairs: usize,
    pub rows: Section<PoolRow>,
    pub spans: Section<PoolSpan>,
    /// The most candidates of a row.
    pub widest: usize,
}

/// Where one set of pool targets lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PoolShape {
    pub head: usize,
    pub rows: Section<i32>,
    pub candidates: TokenShape,
    pub target_rows: Section<PoolTarget>,
    pub targets: Section<i32>,
    pub probabilities: Section<f32>,
    pub weights: Section<f32>,
    pub scale: Section<f32>,
    /// Of all rows.
    pub pairs: usize,
    pub chunks: Vec<ChunkShape>,
}

/// Everything that decides which kernels run on which addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub rows: usize,
    /// History rows; query rows follow.
    pub history: usize,
    pub row_tiles: Section<RowTile>,
    pub key_tiles: Section<KeyTile>,
    /// The tables' rows, where tokens are cells.
    pub cells: Section<CellSpan>,
    /// History tokens and query tokens.
    pub tokens: [TokenShape; 2],
    pub targets: Vec<TargetShape>,
    pub pools: Vec<PoolShape>,
    pub words: usize,
    pub backward: bool,
}

/// `count` with room to the next of `steps` to twice as many steps between powers of two.
fn roomy(count: usize, steps: usize) -> usize {
    count.next_multiple_of((count.next_power_of_two() / (2 * steps)).max(8))
}

/// Rows: at most 1.6 % more than needed.
pub(super) fn row_room(count: usize) -> usize {
    roomy(count, 64)
}

/// Tiles: at most an eighth more, because empty ones cost next to nothing.
fn tile_room(count: usize) -> usize {
    roomy(count, 8)
}

/// Where a list goes that gets room: runs of it, each with its new start, and the length with room.
pub(super) struct Spread {
    runs: [(Range<usize>, usize); 2],
    room: usize,
}

impl Spread {
    pub fn plain(count: usize, room: usize) -> Spread {
        Spread { runs: [(0..count, 0), (count..count, count)], room }
    }
}

/// How many rows there are, and how many with room.
pub(super) struct RowRoom {
    history: usize,
    queries: usize,
    history_room: usize,
    query_room: usize,
}

impl RowRoom {
    fn of(batch: &Batch) -> RowRoom {
        let (history, queries) = (batch.history.len(), batch.queries.as_ref().map_or(0, Tokens::len));
        RowRoom { history, queries, history_room: row_room(history), query_room: row_room(queries) }
    }

    fn total(&self) -> usize {
        self.history_room + self.query_room
    }

    /// A row of the batch as a row of the device.
    pub fn row(&self, row: u32) -> u32 {
        if (row as usize) < self.history { row } else { row + (self.history_room - self.history) as u32 }
    }

    fn spread(&self) -> Spread {
        let all = self.history + self.queries;
        Spread { runs: [(0..self.history, 0), (self.history..all, self.history_room)], room: self.total() }
    }
}

/// Packs a checked batch into `words`.
pub(super) fn pack(spec: &ModelSpec, places: &Places, batch: &Batch, backward: bool, words: &mut Vec<u32>) -> Shape {
    words.clear();
    let mut packer = Packer::new(words);
    let room = RowRoom::of(batch);
    let row_tiles = packer.row_tiles(spec, batch, &room);
    let key_tiles = packer.key_tiles(spec, batch, &room);
    let cells = packer.cells(spec, batch, &room);
    let history = packer.tokens(places, &spec.history_fields(), &batch.history, 0..room.history_room);
    let queries = match &batch.queries {
        Some(queries) => packer.tokens(places, &spec.query_fields(), queries, room.history_room..room.total()),
        None => TokenShape::default(),
    };
    let targets = batch.class_targets.iter().map(|t| packer.class_targets(places, t, &room)).collect();
    let pools = batch.pool_targets.iter().map(|t| packer.pool_targets(places, t, &room)).collect();
    packer.align();
    let words = words.len();
    let (rows, tokens, history) = (room.total(), [history, queries], room.history_room);
    Shape { rows, history, row_tiles, key_tiles, cells, tokens, targets, pools, words, backward }
}

pub(super) struct Packer<'a> {
    words: &'a mut Vec<u32>,
}

impl<'a> Packer<'a> {
    pub fn new(words: &'a mut Vec<u32>) -> Packer<'a> {
        Packer { words }
    }
}

impl Packer<'_> {
    fn align(&mut self) {
        self.words.resize(self.words.len().next_multiple_of(ALIGNMENT), 0);
    }

    /// Values of `size` words each, spread out; zeros where there is none.
    pub(super) fn spread<T: Plain, U>(&mut self, values: &[T], size: usize, to: &Spread) -> Section<U> {
        const { assert!(size_of::<T>() == 4 && size_of::<U>() == 4, "words") };
        self.align();
        let at = self.words.len();
        for (run, start) in &to.runs {
            self.words.resize(at + start * size, 0);
            self.words.extend_from_slice(words(&values[run.start * size..run.end * size]));
        }
        self.words.resize(at + to.room * size, 0);
        Section::new(at, to.room)
    }

    pub(super) fn numbers(&mut self, values: &[u32], to: &Spread) -> Section<i32> {
        self.spread(values, 1, to)
    }

    pub(super) fn reals(&mut self, values: &[f32], to: &Spread) -> Section<f32> {
        self.spread(values, 1, to)
    }

    /// A field's values, and the word at which they start.
    fn values(&mut self, values: &FieldValues, size: Option<usize>, to: &Spread) -> usize {
        match values {
            FieldValues::Categorical(values) => self.numbers(values, to).at,
            FieldValues::Vector(values) => self.spread::<f32, f32>(values, size.unwrap_or(1), to).at,
        }
    }

    pub(super) fn records<T: Plain>(&mut self, records: &[T]) -> Section<T> {
        self.align();
        let section = Section::new(self.words.len(), records.len());
        self.words.extend_from_slice(words(records));
        section
    }

    /// Those with most keys first, so that no long one is left for the end.
    fn row_tiles(&mut self, spec: &ModelSpec, batch: &Batch, room: &RowRoom) -> Section<RowTile> {
        let mut tiles = Vec::new();
        for (s, history) in batch.history.offsets.windows(2).enumerate() {
            let (start, count) = (history[0], history[1] - history[0]);
            for first in (0..count).step_by(ROW_TILE) {
                let rows = ROW_TILE.min(count - first);
                tiles.push(match spec.history {
                    History::Causal => causal_tile(start + first, rows, start, first),
                    History::Set => whole_tile(start + first, rows, start, count),
                });
            }
            if let Some(queries) = &batch.queries {
                let (from, own) = (room.history_room + queries.offsets[s], length(queries, s));
                for first in (0..own).step_by(ROW_TILE) {
                    tiles.push(whole_tile(from + first, ROW_TILE.min(own - first), start, count));
                }
            }
        }
        for spare in [room.history..room.history_room, room.history_room + room.queries..room.total()] {
            for first in spare.clone().step_by(ROW_TILE) {
                tiles.push(whole_tile(first, ROW_TILE.min(spare.end - first), 0, 0));
            }
        }
        tiles.sort_by_key(|tile| std::cmp::Reverse(tile.keys));
        tiles.resize(tile_room(tiles.len()), RowTile::default());
        self.records(&tiles)
    }

    /// Those with most rows first.
    fn key_tiles(&mut self, spec: &ModelSpec, batch: &Batch, room: &RowRoom) -> Section<KeyTile> {
        let (causal, tile) = (spec.history == History::Causal, key_tile(spec.head_width()));
        let mut tiles = Vec::new();
        for (s, history) in batch.history.offsets.windows(2).enumerate() {
            let (start, count) = (history[0], history[1] - history[0]);
            let (query, queries) = match &batch.queries {
                Some(q) => (room.history_room + q.offsets[s], length(q, s)),
                None => (0, 0),
            };
            for first in (0..count).step_by(tile) {
                tiles.push(KeyTile {
                    key: int(start + first),
                    keys: int(tile.min(count - first)),
                    place: int(first),
                    causal: i32::from(causal),
                    row: int(start),
                    rows: int(count),
                    query: int(query),
                    queries: int(queries),
                });
            }
        }
        for first in (room.history..room.history_room).step_by(tile) {
            let keys = int(tile.min(room.history_room - first));
            tiles.push(KeyTile { key: int(first), keys, ..KeyTile::default() });
        }
        tiles.sort_by_key(|tile| std::cmp::Reverse(tile.rows + tile.queries - if causal { tile.place } else { 0 }));
        tiles.resize(tile_room(tiles.len()), KeyTile::default());
        self.records(&tiles)
    }

    /// All tables' rows in spans; rows that fill up see themselves, so that nothing is left unwritten.
    fn cells(&mut self, spec: &ModelSpec, batch: &Batch, room: &RowRoom) -> Section<CellSpan> {
        let mut spans = Vec::new();
        if !spec.row_attention {
            return self.records(&spans);
        }
        let mut cut = |first: usize, rows: usize, columns: usize| {
            let most = (CELLS / columns).max(1);
            for start in (0..rows).step_by(most) {
                let rows_here = int(most.min(rows - start));
                spans.push(CellSpan {
                    first: int(first + start),
                    rows: rows_here,
                    columns: int(columns),
                    stride: int(rows),
                });
            }
        };
        for (tokens, base) in [(Some(&batch.history), 0), (batch.queries.as_ref(), room.history_room)] {
            for grid in tokens.into_iter().flat_map(Tokens::grids) {
                cut(base + grid.first, grid.rows, grid.columns);
            }
        }
        for spare in [room.history..room.history_room, room.history_room + room.queries..room.total()] {
            cut(spare.start, spare.len(), 1);
        }
        spans.resize(tile_room(spans.len()), CellSpan::default());
        self.records(&spans)
    }

    pub(super) fn tokens(
        &mut self,
        places: &Places,
        which: &[usize],
        tokens: &Tokens,
        rows: Range<usize>,
    ) -> TokenShape {
        let to = Spread::plain(tokens.len(), rows.len());
        let (fields, mlps) = self.fields(&places.fields, &places.mlps, which, &tokens.fields, &to);
        TokenShape { first: rows.start, rows: rows.len(), fields, mlps }
    }

    /// The fields that are a group's members `which`, behind their values; those of MLPs' hidden layers apart.
    pub(super) fn fields(
        &mut self,
        group: &Group,
        mlps: &[MlpPlace],
        which: &[usize],
        values: &[FieldValues],
        to: &Spread,
    ) -> (Section<Field>, Vec<MlpShape>) {
        let (mut records, mut shapes) = (Vec::new(), Vec::new());
        for (&field, values) in which.iter().zip(values) {
            let place = group.fields[field];
            let mlp = mlps.iter().position(|mlp| mlp.field == field);
            let hidden = mlp.map(|m| mlps[m].hidden.fields[0]);
            let at = self.values(values, hidden.unwrap_or(place).size, to);
            if let (Some(mlp), Some(hidden)) = (mlp, hidden) {
                shapes.push(MlpShape { mlp, field: self.records(&[hidden.record(at)]) });
            }
            records.push(place.record(at));
        }
        (self.records(&records), shapes)
    }

    fn class_targets(&mut self, places: &Places, t: &ClassTargets, room: &RowRoom) -> TargetShape {
        let all_rows = t.rows.len() == room.history + room.queries;
        let to = if all_rows { room.spread() } else { Spread::plain(t.rows.len(), row_room(t.rows.len())) };
        let rows: Vec<u32> = match all_rows {
            true => (0..to.room as u32).collect(),
            false => t.rows.iter().map(|&row| room.row(row)).chain(std::iter::repeat(NO_ROW)).take(to.room).collect(),
        };
        let which: Vec<usize> = (0..t.conditions.len()).collect();
        let conditions = &places.heads[t.head].conditions;
        TargetShape {
            head: t.head,
            count: to.room,
            all_rows,
            rows: self.numbers(&rows, &Spread::plain(to.room, to.room)),
            conditions: self.fields(conditions, &[], &which, &t.conditions, &to).0,
            classes: self.numbers(&t.classes, &to),
            weights: self.reals(&t.weights, &to),
            scale: self.reals(&[t.scale], &Spread::plain(1, 1)),
        }
    }
}

/// Rows of which each sees its sequence, whose keys start at `key`, up to itself; the first has place `place` there.
pub(super) fn causal_tile(row: usize, rows: usize, key: usize, place: usize) -> RowTile {
    let (keys, seen) = (int(place + rows), int(place + 1));
    RowTile { row: int(row), rows: int(rows), key: int(key), keys, seen, step: 1 }
}

/// Rows that all see the same keys.
pub(super) fn whole_tile(row: usize, rows: usize, key: usize, keys: usize) -> RowTile {
    RowTile { row: int(row), rows: int(rows), key: int(key), keys: int(keys), seen: int(keys), step: 0 }
}

fn length(tokens: &Tokens, sequence: usize) -> usize {
    tokens.offsets[sequence + 1] - tokens.offsets[sequence]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;
    use crate::spec::{FieldKind, FieldSpec, HeadSpec, TokenRole};

    fn spec() -> ModelSpec {
        let field = |name: &str, kind, on| FieldSpec { name: name.into(), kind, on };
        ModelSpec {
            layers: 1,
            width: 32,
            attention_heads: 1,
            mlp_width: 32,
            context: 300,
            history: History::Set,
            row_attention: false,
            fields: vec![
                field("x", FieldKind::vector(2), TokenRole::Both),
                field("y", FieldKind::Vector { size: 1, hidden: Some(16) }, TokenRole::History),
            ],
            heads: vec![HeadSpec { name: "out".into(), conditions: vec![], hidden: vec![], classes: 3 }],
            pool_heads: vec![],
        }
    }

    /// Histories and queries of these lengths; a target for each query.
    fn batch(history: &[usize], queries: &[usize]) -> Batch {
        let offsets = |lengths: &[usize]| {
            let ends = lengths.iter().scan(0, |sum, n| {
                *sum += n;
                Some(*sum)
            });
            std::iter::once(0).chain(ends).collect::<Vec<_>>()
        };
        let (h, q): (usize, usize) = (history.iter().sum(), queries.iter().sum());
        let vector = |count| FieldValues::Vector((1..=count).map(|i| i as f32).collect());
        Batch {
            history: Tokens::new(offsets(history), vec![vector(2 * h), vector(h)]),
            queries: Some(Tokens::new(offsets(queries), vec![vector(2 * q)])),
            class_targets: vec![ClassTargets {
                head: 0,
                rows: (h as u32..(h + q) as u32).collect(),
                conditions: vec![],
                classes: vec![2; q],
                weights: vec![1.0; q],
                scale: 1.0,
            }],
            pool_targets: vec![],
        }
    }

    fn packed(batch: &Batch) -> (Shape, Vec<u32>) {
        let spec = spec();
        batch.check(&spec).unwrap();
        let places = Places::new(&spec, &Layout::new(&spec)).unwrap();
        let mut words = Vec::new();
        let shape = pack(&spec, &places, batch, true, &mut words);
        assert_eq!(words.len(), shape.words);
        (shape, words)
    }

    #[test]
    fn every_row_lies_in_one_tile_and_spare_rows_see_nothing() {
        let (shape, words) = packed(&batch(&[130, 1, 0, 7], &[3, 0, 5, 200]));
        let mut seen = vec![0; shape.rows];
        for tile in words[shape.row_tiles.at..][..6 * shape.row_tiles.count].chunks_exact(6) {
            let [row, rows, _, keys, ..] = tile else { unreachable!() };
            for r in *row..row + rows {
                seen[r as usize] += 1;
                let spare = (138..shape.history as u32).contains(&r) || r >= shape.history as u32 + 208;
                let of_empty_history = (shape.history as u32 + 3..shape.history as u32 + 8).contains(&r);
                assert_eq!(*keys == 0, spare || of_empty_history, "row {r}");
            }
        }
        assert!(seen.iter().all(|&n| n == 1), "{seen:?}");
        let mut keys = vec![0; shape.history];
        for tile in words[shape.key_tiles.at..][..8 * shape.key_tiles.count].chunks_exact(8) {
            (tile[0]..tile[0] + tile[1]).for_each(|k| keys[k as usize] += 1);
        }
        assert!(keys.iter().all(|&n| n == 1), "{keys:?}");
    }

    #[test]
    fn targets_follow_their_rows_and_spare_ones_have_no_weight() {
        let (shape, words) = packed(&batch(&[9, 4], &[6, 7]));
        let target = &shape.targets[0];
        let rows = &words[target.rows.at..][..target.count];
        let weights = &words[target.weights.at..][..target.count];
        for (i, (&row, &weight)) in rows.iter().zip(weights).enumerate() {
            let real = i < 13;
            assert_eq!(row, if real { (shape.history + i) as u32 } else { NO_ROW });
            assert_eq!(f32::from_bits(weight), if real { 1.0 } else { 0.0 });
        }
    }

    #[test]
    fn batches_of_about_the_same_size_have_the_same_shape() {
        let shape = |lengths: &[usize]| packed(&batch(lengths, &vec![128; lengths.len()])).0;
        let lengths: Vec<usize> = (0..256).map(|i| 2 + i * 37 % 63).collect();
        let mut others = lengths.clone();
        others[7] += 1;
        others[90] += 3;
        assert!(lengths != others && shape(&lengths) == shape(&others));
        for count in [0usize, 1, 9, 1000, 8_448, 64_000] {
            let room = row_room(count);
            assert!(room >= count && room <= count + (count / 64).max(8), "{count}: {room}");
        }
        assert_eq!(row_room(64_000), 64_000);
    }
}
