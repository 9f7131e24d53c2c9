//! A batch as the device reads it: one stretch of 4-byte words, sent in one copy, and the shape that says where
//! everything lies. Batches of the same shape run the same launches, so a captured graph serves them all.

use super::places::{Group, Places};
use crate::batch::{Batch, FieldValues, Tokens};
use crate::spec::{History, ModelSpec};

/// Rows that one block of the attention kernels treats.
const ROW_TILE: usize = 128;

/// Keys that one block of their way back treats.
fn key_tile(head_width: usize) -> usize {
    if head_width == 32 { 128 } else { 64 }
}

/// Sections start at multiples of this many words, 16 bytes.
const ALIGNMENT: usize = 4;

/// A list of records or numbers: where it starts, in words, and how many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Section {
    pub at: usize,
    pub count: usize,
}

/// Where one set of targets lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TargetShape {
    pub head: usize,
    pub count: usize,
    /// The targets' rows are all rows of the batch.
    pub all_rows: bool,
    pub rows: Section,
    pub conditions: Section,
    pub classes: Section,
    pub weights: Section,
    pub scale: Section,
}

/// Everything that decides which kernels run on which addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub rows: usize,
    pub history: usize,
    pub row_tiles: Section,
    pub key_tiles: Section,
    pub history_fields: Section,
    pub query_fields: Section,
    pub targets: Vec<TargetShape>,
    pub words: usize,
    pub backward: bool,
}

/// Packs a checked batch into `words`.
pub(super) fn pack(spec: &ModelSpec, places: &Places, batch: &Batch, backward: bool, words: &mut Vec<u32>) -> Shape {
    words.clear();
    let mut packer = Packer { words };
    let (rows, history) = (batch.rows(), batch.history.len());
    let row_tiles = packer.row_tiles(spec, batch);
    let key_tiles = packer.key_tiles(spec, batch);
    let history_fields = packer.fields(&places.fields, &spec.history_fields(), &batch.history.fields);
    let query_fields = match &batch.queries {
        Some(queries) => packer.fields(&places.fields, &spec.query_fields(), &queries.fields),
        None => Section::default(),
    };
    let targets = batch.class_targets.iter().map(|t| {
        let conditions: Vec<usize> = (0..t.conditions.len()).collect();
        TargetShape {
            head: t.head,
            count: t.rows.len(),
            all_rows: t.rows.len() == rows,
            rows: packer.numbers(&t.rows),
            conditions: packer.fields(&places.heads[t.head].conditions, &conditions, &t.conditions),
            classes: packer.numbers(&t.classes),
            weights: packer.reals(&t.weights),
            scale: packer.reals(&[t.scale]),
        }
    });
    let targets = targets.collect();
    packer.align();
    let words = words.len();
    Shape { rows, history, row_tiles, key_tiles, history_fields, query_fields, targets, words, backward }
}

struct Packer<'a> {
    words: &'a mut Vec<u32>,
}

impl Packer<'_> {
    fn align(&mut self) {
        self.words.resize(self.words.len().next_multiple_of(ALIGNMENT), 0);
    }

    fn numbers(&mut self, values: &[u32]) -> Section {
        self.align();
        let section = Section { at: self.words.len(), count: values.len() };
        self.words.extend_from_slice(values);
        section
    }

    fn reals(&mut self, values: &[f32]) -> Section {
        self.align();
        let section = Section { at: self.words.len(), count: values.len() };
        self.words.extend(values.iter().map(|v| v.to_bits()));
        section
    }

    fn records<const N: usize>(&mut self, records: &[[usize; N]]) -> Section {
        self.align();
        let section = Section { at: self.words.len(), count: records.len() };
        self.words.extend(records.iter().flatten().map(|&x| x as u32));
        section
    }

    /// The kernels' `RowTile`s, those with most keys first so that no long one is left for the end.
    fn row_tiles(&mut self, spec: &ModelSpec, batch: &Batch) -> Section {
        let mut tiles: Vec<[usize; 6]> = Vec::new();
        for (s, history) in batch.history.offsets.windows(2).enumerate() {
            let (start, count) = (history[0], history[1] - history[0]);
            for first in (0..count).step_by(ROW_TILE) {
                let rows = ROW_TILE.min(count - first);
                tiles.push(match spec.history {
                    History::Causal => [start + first, rows, start, first + rows, first + 1, 1],
                    History::Set => [start + first, rows, start, count, count, 0],
                });
            }
            if let Some(queries) = &batch.queries {
                let (from, own) = (batch.history.len() + queries.offsets[s], length(queries, s));
                for first in (0..own).step_by(ROW_TILE) {
                    tiles.push([from + first, ROW_TILE.min(own - first), start, count, count, 0]);
                }
            }
        }
        tiles.sort_by_key(|tile| std::cmp::Reverse(tile[3]));
        self.records(&tiles)
    }

    /// The kernels' `KeyTile`s, those with most rows first.
    fn key_tiles(&mut self, spec: &ModelSpec, batch: &Batch) -> Section {
        let (causal, tile) = (spec.history == History::Causal, key_tile(spec.head_width()));
        let mut tiles: Vec<[usize; 8]> = Vec::new();
        for (s, history) in batch.history.offsets.windows(2).enumerate() {
            let (start, count) = (history[0], history[1] - history[0]);
            let (query, queries) = match &batch.queries {
                Some(q) => (batch.history.len() + q.offsets[s], length(q, s)),
                None => (0, 0),
            };
            for first in (0..count).step_by(tile) {
                let keys = tile.min(count - first);
                tiles.push([start + first, keys, first, usize::from(causal), start, count, query, queries]);
            }
        }
        tiles.sort_by_key(|tile| std::cmp::Reverse(tile[5] + tile[7] - if causal { tile[2] } else { 0 }));
        self.records(&tiles)
    }

    /// The kernels' `Field`s of a group's members `which`, behind their values.
    fn fields(&mut self, group: &Group, which: &[usize], values: &[FieldValues]) -> Section {
        let mut records: Vec<[usize; 5]> = Vec::new();
        for (&field, values) in which.iter().zip(values) {
            let place = group.fields[field];
            let section = match values {
                FieldValues::Categorical(values) => self.numbers(values),
                FieldValues::Vector(values) => self.reals(values),
            };
            records.push([place.size, usize::from(place.has_bias), section.at, place.weight, place.feature]);
        }
        self.records(&records)
    }
}

fn length(tokens: &Tokens, sequence: usize) -> usize {
    tokens.offsets[sequence + 1] - tokens.offsets[sequence]
}
