//! Pool targets as the device reads them: pairs of (row, candidate), cut into chunks of whole rows.

use super::packing::{ChunkShape, MlpShape, Packer, PoolShape, RowRoom, Spread, TokenShape};
use super::places::Places;
use super::records::{PoolRow, PoolSpan, PoolTarget, int};
use crate::batch::PoolTargets;

/// Pairs of a chunk, unless one row alone has more: hidden activations of a chunk stay in memory, those of all pairs
/// need not fit.
const CHUNK: usize = 1 << 17;

impl Packer<'_> {
    pub(super) fn pool_targets(&mut self, places: &Places, t: &PoolTargets, room: &RowRoom) -> PoolShape {
        let exactly = |count| Spread::plain(count, count);
        let rows: Vec<u32> = t.rows.iter().map(|&row| room.row(row)).collect();
        let rows = self.numbers(&rows, &exactly(rows.len()));
        let candidates = self.candidates(places, t);
        let (mut target_rows, mut targets, mut probabilities) = (Vec::new(), Vec::new(), Vec::new());
        let mut pairs = 0;
        for (row, pool) in row_pools(t).enumerate() {
            let first = targets.len();
            for (target, probability) in distinct_targets(t, row) {
                targets.push(target);
                probabilities.push(probability);
            }
            target_rows.push(PoolTarget {
                pair: pairs as u32,
                candidates: int(pool.count),
                target: int(first),
                targets: int(targets.len() - first),
            });
            pairs += pool.count;
        }
        PoolShape {
            head: t.head,
            rows,
            candidates,
            target_rows: self.records(&target_rows),
            targets: self.numbers(&targets, &exactly(targets.len())),
            probabilities: self.reals(&probabilities, &exactly(probabilities.len())),
            weights: self.reals(&t.weights, &exactly(t.weights.len())),
            scale: self.reals(&[t.scale], &exactly(1)),
            pairs,
            chunks: self.chunks(t),
        }
    }

    /// The candidates as tokens of one field.
    fn candidates(&mut self, places: &Places, t: &PoolTargets) -> TokenShape {
        let head = &places.pool_heads[t.head];
        let place = head.embedding.fields[0];
        let hidden = head.mlp.map(|mlp| (mlp, places.mlps[mlp].hidden.fields[0]));
        let size = hidden.map_or(place.size, |(_, hidden)| hidden.size).unwrap_or(1);
        let count = t.pools.offsets.last().copied().unwrap_or(0);
        let values = self.spread::<f32, f32>(&t.pools.candidates, size, &Spread::plain(count, count));
        let fields = self.records(&[place.record(values.at)]);
        let mlps = hidden.map(|(mlp, hidden)| MlpShape { mlp, field: self.records(&[hidden.record(values.at)]) });
        TokenShape { first: 0, rows: count, fields, mlps: mlps.into_iter().collect() }
    }

    fn chunks(&mut self, t: &PoolTargets) -> Vec<ChunkShape> {
        let mut chunks = Vec::new();
        let (mut rows, mut spans): (Vec<PoolRow>, Vec<PoolSpan>) = (Vec::new(), Vec::new());
        let (mut first, mut pairs) = (0, 0);
        for (row, pool) in row_pools(t).enumerate() {
            if pairs > 0 && pairs + pool.count > CHUNK {
                chunks.push(self.chunk(first, pairs, &rows, &spans));
                (first, pairs) = (first + pairs, 0);
                rows.clear();
                spans.clear();
            }
            let (candidate, candidates, pair) = (int(pool.first), int(pool.count), int(pairs));
            rows.push(PoolRow { row: int(row), candidate, candidates, pair });
            match spans.last_mut() {
                Some(span) if span.candidate == candidate => span.rows += 1,
                _ => spans.push(PoolSpan { candidate, candidates, pair, rows: 1 }),
            }
            pairs += pool.count;
        }
        if pairs > 0 {
            chunks.push(self.chunk(first, pairs, &rows, &spans));
        }
        chunks
    }

    fn chunk(&mut self, first: usize, pairs: usize, rows: &[PoolRow], spans: &[PoolSpan]) -> ChunkShape {
        let widest = rows.iter().map(|row| row.candidates as usize).max().unwrap_or(0);
        let (rows, spans) = (self.records(rows), self.records(spans));
        ChunkShape { first, pairs, rows, spans, widest }
    }
}

/// The candidates of a row's pool.
struct Pool {
    first: usize,
    count: usize,
}

fn row_pools(t: &PoolTargets) -> impl Iterator<Item = Pool> {
    let offsets = &t.pools.offsets;
    t.row_pools.iter().map(|&pool| {
        let first = offsets[pool as usize];
        Pool { first, count: offsets[pool as usize + 1] - first }
    })
}

/// A row's targets with those that stand twice put together, so that the device need not care who comes first.
fn distinct_targets(t: &PoolTargets, row: usize) -> Vec<(u32, f32)> {
    let range = t.target_offsets[row]..t.target_offsets[row + 1];
    let mut list: Vec<(u32, f32)> =
        t.targets[range.clone()].iter().copied().zip(t.probabilities[range].iter().copied()).collect();
    if list.windows(2).any(|w| w[0].0 >= w[1].0) {
        list.sort_by_key(|&(target, _)| target);
        list.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Pools;

    fn targets(pools: &[usize], row_pools: &[u32]) -> PoolTargets {
        let ends = pools.iter().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        });
        let count = row_pools.len();
        PoolTargets {
            head: 0,
            pools: Pools { offsets: std::iter::once(0).chain(ends).collect(), candidates: vec![] },
            rows: (0..count as u32).collect(),
            row_pools: row_pools.to_vec(),
            target_offsets: (0..=count).map(|i| 3 * i).collect(),
            targets: [5, 2, 5].repeat(count),
            probabilities: [0.25, 0.5, 0.25].repeat(count),
            weights: vec![1.0; count],
            scale: 1.0,
        }
    }

    #[test]
    fn chunks_cover_every_pair_once_and_in_order() {
        let rows: Vec<u32> = [0; 3].into_iter().chain([1; 700]).chain([2; 5]).collect();
        let t = targets(&[CHUNK + 9, 1000, 7], &rows);
        let mut words = Vec::new();
        let chunks = Packer::new(&mut words).chunks(&t);
        assert!(chunks.len() > 6);
        let (mut pair, mut row) = (0, 0);
        for chunk in &chunks {
            assert_eq!(chunk.first, pair);
            let mut inside = 0;
            for record in words[chunk.rows.at..][..4 * chunk.rows.count].chunks_exact(4) {
                assert_eq!((record[0], record[3]), (row, inside));
                (row, inside) = (row + 1, inside + record[2]);
            }
            assert_eq!(inside as usize, chunk.pairs);
            let spans = words[chunk.spans.at..][..4 * chunk.spans.count].chunks_exact(4);
            assert_eq!(spans.map(|span| span[1] * span[3]).sum::<u32>() as usize, chunk.pairs);
            pair += chunk.pairs;
        }
        assert_eq!((pair, row), (3 * (CHUNK + 9) + 700 * 1000 + 35, 708));
    }

    #[test]
    fn targets_that_stand_twice_are_put_together() {
        assert_eq!(distinct_targets(&targets(&[9], &[0]), 0), [(2, 0.5), (5, 0.5)]);
    }
}
