//! In-context inference: every way of computing the same thing gives the same bits.

mod common;

use common::{fill_by_formula, load_golden};
use icee_nn::batch::{FieldValues, Tokens};
use icee_nn::cpu::{Cache, Cpu, Isa, Network};
use icee_nn::{
    ConditionSpec, FieldKind, FieldSpec, HeadSpec, History, Model, ModelSpec, PoolHeadSpec, Precision, TokenRole,
};
use proptest::prelude::*;

const WIDTH: usize = 32;

fn spec(history: History) -> ModelSpec {
    let vector = |name: &str, on| FieldSpec { name: name.into(), kind: FieldKind::vector(3), on };
    ModelSpec {
        layers: 2,
        width: WIDTH,
        attention_heads: 2,
        mlp_width: 48,
        context: 200,
        history,
        row_attention: false,
        fields: vec![
            FieldSpec::history("cell", FieldKind::categorical(7)),
            vector("x", TokenRole::Both),
            FieldSpec::history("y", FieldKind::Vector { size: 1, hidden: Some(16) }),
        ],
        heads: vec![HeadSpec {
            name: "outcome".into(),
            conditions: vec![
                ConditionSpec { name: "size".into(), kind: FieldKind::vector(2) },
                ConditionSpec { name: "action".into(), kind: FieldKind::categorical(5) },
            ],
            hidden: vec![32],
            classes: 11,
        }],
        pool_heads: vec![PoolHeadSpec { name: "pick".into(), candidate: "x".into(), hidden: vec![16, 16] }],
    }
}

fn model(history: History) -> Model {
    let mut model = Model::new(spec(history), 0).unwrap();
    fill_by_formula(&mut model);
    model
}

fn reals(count: usize, salt: usize) -> FieldValues {
    FieldValues::Vector((0..count).map(|i| common::formula(i * 7 + salt * 1013, 2.0)).collect())
}

/// Tokens of one sequence, distinct for each salt.
fn sequence(len: usize, salt: usize) -> Tokens {
    let cells = FieldValues::Categorical((0..len).map(|i| ((i * 5 + salt * 3) % 7) as u32).collect());
    Tokens::single(len, vec![cells, reals(len * 3, salt), reals(len, salt + 50)])
}

fn queries(len: usize, salt: usize) -> Tokens {
    Tokens::single(len, vec![reals(len * 3, salt + 90)])
}

/// Tokens `range` of one sequence, given each field's numbers a token.
fn part(tokens: &Tokens, range: std::ops::Range<usize>) -> Tokens {
    let total = tokens.len();
    let fields = tokens.fields.iter().map(|values| match values {
        FieldValues::Categorical(v) => FieldValues::Categorical(v[range.clone()].to_vec()),
        FieldValues::Vector(v) => {
            let size = v.len() / total;
            FieldValues::Vector(v[range.start * size..range.end * size].to_vec())
        }
    });
    Tokens::single(range.len(), fields.collect())
}

/// Several sequences one after another.
fn join(parts: &[Tokens]) -> Tokens {
    let mut all = parts[0].clone();
    for part in &parts[1..] {
        let end = all.len();
        all.offsets.extend(part.offsets[1..].iter().map(|o| o + end));
        for (into, from) in all.fields.iter_mut().zip(&part.fields) {
            match (into, from) {
                (FieldValues::Categorical(a), FieldValues::Categorical(b)) => a.extend(b),
                (FieldValues::Vector(a), FieldValues::Vector(b)) => a.extend(b),
                _ => unreachable!(),
            }
        }
    }
    all
}

/// Equal to the last bit, the sign of zero included.
fn same(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
}

fn whole(network: &mut Network, tokens: &Tokens, precision: Precision) -> (Cache, Vec<f32>) {
    let mut cache = network.cache(precision);
    let out = network.append(&mut [&mut cache], tokens).unwrap().to_vec();
    (cache, out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn appending_in_pieces_equals_appending_at_once(len in 1usize..150, cuts in prop::collection::vec(1usize..40, 0..12)) {
        let mut network = Network::new(&Cpu::new(2).unwrap(), &model(History::Causal), Precision::Single);
        let tokens = sequence(len, 1);
        for precision in [Precision::Single, Precision::Half] {
            let (_, expected) = whole(&mut network, &tokens, precision);
            let mut cache = network.cache(precision);
            let (mut at, mut got) = (0, Vec::new());
            for size in cuts.iter().copied().chain(std::iter::repeat(1)) {
                if at == len {
                    break;
                }
                let end = len.min(at + size);
                got.extend_from_slice(network.append(&mut [&mut cache], &part(&tokens, at..end)).unwrap());
                at = end;
            }
            prop_assert_eq!(cache.len(), len);
            prop_assert!(same(&got, &expected));
        }
    }

    #[test]
    fn a_ragged_batch_equals_its_sequences(lengths in prop::collection::vec(0usize..90, 1..6), more in 1usize..20) {
        let mut network = Network::new(&Cpu::new(3).unwrap(), &model(History::Causal), Precision::Single);
        let parts: Vec<Tokens> = lengths.iter().enumerate().map(|(s, &n)| sequence(n + more, s)).collect();
        let mut caches: Vec<Cache> = lengths.iter().map(|_| network.cache(Precision::Single)).collect();
        let first = join(&parts.iter().zip(&lengths).map(|(p, &n)| part(p, 0..n)).collect::<Vec<_>>());
        let second = join(&parts.iter().zip(&lengths).map(|(p, &n)| part(p, n..n + more)).collect::<Vec<_>>());
        network.append(&mut caches.iter_mut().collect::<Vec<_>>(), &first).unwrap();
        let got = network.append(&mut caches.iter_mut().collect::<Vec<_>>(), &second).unwrap().to_vec();
        for (s, tokens) in parts.iter().enumerate() {
            let (_, alone) = whole(&mut network, tokens, Precision::Single);
            prop_assert!(same(&got[s * more * WIDTH..(s + 1) * more * WIDTH], &alone[lengths[s] * WIDTH..]));
        }
    }

    #[test]
    fn truncate_and_append_again_equals_never_having_appended(keep in 0usize..100, wrong in 1usize..90, right in 1usize..40) {
        let mut network = Network::new(&Cpu::new(1).unwrap(), &model(History::Causal), Precision::Single);
        let good = sequence(keep + right, 1);
        let (mut cache, _) = whole(&mut network, &part(&good, 0..keep), Precision::Single);
        network.append(&mut [&mut cache], &sequence(wrong, 9)).unwrap();
        cache.truncate(keep);
        let got = network.append(&mut [&mut cache], &part(&good, keep..keep + right)).unwrap().to_vec();
        let (_, expected) = whole(&mut network, &good, Precision::Single);
        prop_assert!(same(&got, &expected[keep * WIDTH..]));
    }

    #[test]
    fn forks_grow_independently(len in 1usize..150, a in 1usize..40, b in 1usize..40) {
        let mut network = Network::new(&Cpu::new(1).unwrap(), &model(History::Causal), Precision::Half);
        let (mut one, _) = whole(&mut network, &sequence(len, 1), Precision::Half);
        let mut two = one.fork();
        let first = network.append(&mut [&mut one], &sequence(a, 2)).unwrap().to_vec();
        let second = network.append(&mut [&mut two], &sequence(b, 3)).unwrap().to_vec();
        for (salt, count, got) in [(2, a, first), (3, b, second)] {
            let joined = join(&[sequence(len, 1), sequence(count, salt)]);
            let tokens = Tokens { offsets: vec![0, len + count], ..joined };
            let (_, expected) = whole(&mut network, &tokens, Precision::Half);
            prop_assert!(same(&got, &expected[len * WIDTH..]));
        }
    }

    #[test]
    fn queries_in_chunks_equal_queries_at_once_and_leave_the_history_alone(
        history in 0usize..130, count in 1usize..250, size in 1usize..100, causal in any::<bool>(),
    ) {
        let kind = if causal { History::Causal } else { History::Set };
        let mut network = Network::new(&Cpu::new(2).unwrap(), &model(kind), Precision::Single);
        let (cache, _) = whole(&mut network, &sequence(history, 1), Precision::Single);
        let pool = queries(count, 4);
        let expected = network.query(&[&cache], &pool).unwrap().to_vec();
        let mut got = Vec::new();
        for start in (0..count).step_by(size) {
            let chunk = part(&pool, start..count.min(start + size));
            got.extend_from_slice(network.query(&[&cache], &chunk).unwrap());
        }
        prop_assert!(same(&got, &expected));
        prop_assert_eq!(cache.len(), history);
        if causal && history < 150 {
            let (mut with, mut without) = (cache.fork(), whole(&mut network, &sequence(history, 1), Precision::Single).0);
            let after = network.append(&mut [&mut with], &sequence(3, 8)).unwrap().to_vec();
            prop_assert!(same(&after, network.append(&mut [&mut without], &sequence(3, 8)).unwrap()));
        }
    }

    #[test]
    fn a_set_is_the_same_in_any_order(len in 1usize..90, seed in any::<u64>()) {
        let mut network = Network::new(&Cpu::new(1).unwrap(), &model(History::Set), Precision::Single);
        let tokens = sequence(len, 2);
        let mut order: Vec<usize> = (0..len).collect();
        order.sort_by_key(|&i| (i as u64 ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let shuffled = join(&order.iter().map(|&i| part(&tokens, i..i + 1)).collect::<Vec<_>>());
        let shuffled = Tokens { offsets: vec![0, len], ..shuffled };
        let (cache, out) = whole(&mut network, &tokens, Precision::Single);
        let (other, moved) = whole(&mut network, &shuffled, Precision::Single);
        let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-4);
        for (to, &from) in order.iter().enumerate() {
            prop_assert!(near(&moved[to * WIDTH..][..WIDTH], &out[from * WIDTH..][..WIDTH]));
        }
        let pool = queries(20, 5);
        let answers = network.query(&[&cache], &pool).unwrap().to_vec();
        prop_assert!(near(network.query(&[&other], &pool).unwrap(), &answers));
    }
}

#[test]
fn threads_and_instruction_sets_give_the_same_bits() {
    let mut expected: Option<Vec<u32>> = None;
    for isa in Isa::available() {
        for threads in [1, 2, 7] {
            let mut network =
                Network::new(&Cpu::with_isa(threads, isa).unwrap(), &model(History::Causal), Precision::Half);
            let tokens = join(&[sequence(130, 1), sequence(3, 2), sequence(64, 3)]);
            let mut caches: Vec<Cache> = (0..3).map(|_| network.cache(Precision::Half)).collect();
            let rows = network.append(&mut caches.iter_mut().collect::<Vec<_>>(), &tokens).unwrap().to_vec();
            let pool = join(&[queries(100, 1), queries(1, 2), queries(40, 3)]);
            let answers = network.query(&caches.iter().collect::<Vec<_>>(), &pool).unwrap().to_vec();
            let sizes = reals(rows.len() / WIDTH * 2, 6);
            let logits = network.logits_for_each(0, &rows, 1, &[sizes]).unwrap().to_vec();
            let all: Vec<u32> = [rows, answers, logits].concat().into_iter().map(f32::to_bits).collect();
            assert!(*expected.get_or_insert_with(|| all.clone()) == all, "{isa}, {threads} threads");
        }
    }
}

#[test]
fn inference_agrees_with_the_learner_and_so_with_pytorch() {
    for case in ["causal", "set", "table"] {
        let golden = load_golden(case);
        let width = golden.model.spec().width;
        let mut network = Network::new(&Cpu::new(2).unwrap(), &golden.model, Precision::Single);
        let mut caches: Vec<Cache> =
            (0..golden.batch.history.sequences()).map(|_| network.cache(Precision::Single)).collect();
        let history = &golden.batch.history;
        let mut rows = network.append(&mut caches.iter_mut().collect::<Vec<_>>(), history).unwrap().to_vec();
        if let Some(queries) = &golden.batch.queries {
            rows.extend_from_slice(network.query(&caches.iter().collect::<Vec<_>>(), queries).unwrap());
        }
        let expected: Vec<f64> = golden.record["out"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let count = rows.len() / width;
        for (i, row) in [0, count / 2, count - 1].into_iter().enumerate() {
            for d in 0..width {
                let (got, wanted) = (f64::from(rows[row * width + d]), expected[i * width + d]);
                assert!((got - wanted).abs() < 1e-4, "{case} row {row}: {got} {wanted}");
            }
        }
        for (t, targets) in golden.batch.class_targets.iter().enumerate() {
            let chosen: Vec<f32> =
                targets.rows.iter().flat_map(|&r| rows[r as usize * width..][..width].to_vec()).collect();
            let logits = network.logits(targets.head, &chosen, &targets.conditions).unwrap();
            for (got, wanted) in logits.iter().zip(golden.record["logits"][t].as_array().unwrap()) {
                assert!((f64::from(*got) - wanted.as_f64().unwrap()).abs() < 1e-4, "{case} logits {t}");
            }
        }
    }
}

#[test]
fn pool_scores_agree_with_pytorch() {
    let golden = load_golden("pool");
    let width = golden.model.spec().width;
    let mut network = Network::new(&Cpu::new(2).unwrap(), &golden.model, Precision::Single);
    let mut caches: Vec<Cache> = (0..2).map(|_| network.cache(Precision::Single)).collect();
    let rows = network.append(&mut caches.iter_mut().collect::<Vec<_>>(), &golden.batch.history).unwrap().to_vec();
    let targets = &golden.batch.pool_targets[0];
    let logits = golden.record["logits"].as_array().unwrap();
    for (i, (&row, &pool)) in targets.rows.iter().zip(&targets.row_pools).enumerate() {
        let span = targets.pools.offsets[pool as usize]..targets.pools.offsets[pool as usize + 1];
        let set = network.candidates(0, &targets.pools.candidates[span.start * 2..span.end * 2]).unwrap();
        assert_eq!(set.len(), span.len());
        let scores = network.scores(&rows[row as usize * width..][..width], &set).unwrap();
        assert_eq!(scores.len(), span.len());
        // The record has the class head's logits first.
        for (got, wanted) in scores.iter().zip(logits[i + 1].as_array().unwrap()) {
            assert!((f64::from(*got) - wanted.as_f64().unwrap()).abs() < 1e-4, "row {i}");
        }
    }
}

#[test]
fn logits_for_each_value_equal_logits_one_by_one() {
    let mut network = Network::new(&Cpu::new(2).unwrap(), &model(History::Causal), Precision::Single);
    let (_, rows) = whole(&mut network, &sequence(120, 1), Precision::Single);
    let sizes = reals(240, 3);
    let all = network.logits_for_each(0, &rows, 1, std::slice::from_ref(&sizes)).unwrap().to_vec();
    for action in 0..5 {
        let actions = FieldValues::Categorical(vec![action; 120]);
        let one = network.logits(0, &rows, &[sizes.clone(), actions]).unwrap();
        for row in 0..120 {
            assert!(same(&all[(row * 5 + action as usize) * 11..][..11], &one[row * 11..][..11]));
        }
    }
}

#[test]
fn sixteen_bits_stay_close() {
    let model = model(History::Causal);
    let cpu = Cpu::new(1).unwrap();
    let (mut exact, mut rough) =
        (Network::new(&cpu, &model, Precision::Single), Network::new(&cpu, &model, Precision::Half));
    let tokens = sequence(200, 1);
    let (_, expected) = whole(&mut exact, &tokens, Precision::Single);
    let largest = |got: &[f32]| got.iter().zip(&expected).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
    // Outputs are normalised to size one: a half-precision cache costs 1e-3 of that, with the weights 5e-3.
    let (cache, out) = whole(&mut exact, &tokens, Precision::Half);
    assert!(largest(&out) > 0.0 && largest(&out) < 1e-3, "{}", largest(&out));
    let (_, both) = whole(&mut rough, &tokens, Precision::Half);
    assert!(largest(&both) < 5e-3, "{}", largest(&both));
    assert_eq!(2 * cache.bytes(), whole(&mut exact, &tokens, Precision::Single).0.bytes());
}

#[test]
fn calls_that_cannot_be_served_are_refused_and_change_nothing() {
    let mut network = Network::new(&Cpu::new(1).unwrap(), &model(History::Causal), Precision::Single);
    let (mut cache, _) = whole(&mut network, &sequence(190, 1), Precision::Single);
    let refused = |result: icee_nn::Result<&[f32]>| result.expect_err("should be refused").to_string();
    assert!(refused(network.append(&mut [&mut cache], &sequence(11, 2))).contains("context 200"));
    assert_eq!((cache.len(), cache.room()), (190, 10));
    assert!(refused(network.append(&mut [], &sequence(1, 2))).contains("0 caches"));
    assert!(refused(network.append(&mut [&mut cache], &queries(1, 2))).contains("fields"));
    let mut other = network.cache(Precision::Half);
    let two = join(&[sequence(1, 1), sequence(1, 2)]);
    assert!(refused(network.append(&mut [&mut cache, &mut other], &two)).contains("precision"));
    assert!(refused(network.logits(3, &[0.0; WIDTH], &[])).contains("class head 3"));
    assert!(refused(network.logits(0, &[0.0; WIDTH], &[])).contains("conditions"));
    assert!(refused(network.logits(0, &[0.0; WIDTH - 1], &[])).contains("rows"));
    let mut sets = Network::new(&Cpu::new(1).unwrap(), &model(History::Set), Precision::Single);
    let (mut set, _) = whole(&mut sets, &sequence(5, 1), Precision::Single);
    assert!(refused(sets.append(&mut [&mut set], &sequence(1, 2))).contains("truncate it to 0"));
    set.truncate(3);
    assert!(set.is_empty(), "a set has no prefix");
    assert!(refused(sets.append(&mut [&mut cache], &sequence(1, 1))).contains("another model"));
    let strange = load_golden("pool");
    let mut other = Network::new(&Cpu::new(1).unwrap(), &strange.model, Precision::Single);
    let candidates = other.candidates(0, &[0.0; 8]).unwrap();
    assert!(refused(network.scores(&[0.0; WIDTH], &candidates)).contains("another model"));
    let mut wider = spec(History::Causal);
    wider.layers = 3;
    let mut stranger = Network::new(&Cpu::new(1).unwrap(), &Model::new(wider, 0).unwrap(), Precision::Single);
    assert!(refused(stranger.append(&mut [&mut cache], &sequence(1, 1))).contains("another model"));
    assert!(sets.append(&mut [], &Tokens::new(vec![0], sequence(0, 0).fields)).unwrap().is_empty());
}

/// Fewer row tiles than threads: no thread may be handed an empty chunk.
#[test]
fn few_rows_on_many_threads() {
    let wide = ModelSpec { layers: 1, width: 128, attention_heads: 4, ..spec(History::Causal) };
    let model = Model::new(wide, 3).unwrap();
    let run = |threads: usize, len: usize| {
        let mut network = Network::new(&Cpu::new(threads).unwrap(), &model, Precision::Single);
        let mut cache = network.cache(Precision::Single);
        let history = network.append(&mut [&mut cache], &sequence(len, 1)).unwrap().to_vec();
        let sizes = reals(len * 2, 4);
        let logits = network.logits_for_each(0, &history, 1, &[sizes]).unwrap().to_vec();
        let answers = network.query(&[&cache], &queries(len, 2)).unwrap().to_vec();
        (history, logits, answers)
    };
    for len in [1, 5, 17, 19, 40] {
        assert!(run(1, len) == run(7, len), "{len} tokens");
    }
}
