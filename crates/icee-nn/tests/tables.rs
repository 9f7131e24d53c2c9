//! Tables whose cells are tokens: every way of computing the same thing gives the same bits, and order is nothing.

mod common;

use common::{fill_by_formula, formula};
use icee_nn::batch::{FieldValues, Tokens};
use icee_nn::cpu::{Cache, Cpu, Isa, Network};
use icee_nn::{FieldKind, FieldSpec, History, Model, ModelSpec, Precision, TokenRole};
use proptest::prelude::*;

const WIDTH: usize = 32;
const SIZE: usize = 3;

fn model() -> Model {
    let spec = ModelSpec {
        layers: 2,
        width: WIDTH,
        attention_heads: 2,
        mlp_width: 48,
        context: 200,
        history: History::Set,
        row_attention: true,
        fields: vec![FieldSpec { name: "cell".into(), kind: FieldKind::vector(SIZE), on: TokenRole::Both }],
        heads: vec![],
        pool_heads: vec![],
    };
    let mut model = Model::new(spec, 0).unwrap();
    fill_by_formula(&mut model);
    model
}

/// A table given by its columns and rows: each cell has numbers of its own.
fn table(columns: &[usize], rows: &[usize], salt: usize) -> Tokens {
    let cell = |column: &usize, row: &usize| {
        (0..SIZE).map(|i| formula((column * 4099 + row * 61 + salt * 9973) * SIZE + i, 2.0)).collect::<Vec<_>>()
    };
    let values = columns.iter().flat_map(|c| rows.iter().flat_map(move |r| cell(c, r))).collect();
    let offsets = (0..=columns.len()).map(|c| c * rows.len()).collect();
    Tokens { tables: vec![0, columns.len()], ..Tokens::new(offsets, vec![FieldValues::Vector(values)]) }
}

fn encode(network: &mut Network, told: &Tokens, precision: Precision) -> (Vec<Cache>, Vec<f32>) {
    let mut caches: Vec<Cache> = (0..told.sequences()).map(|_| network.cache(precision)).collect();
    let out = network.append(&mut caches.iter_mut().collect::<Vec<_>>(), told).unwrap().to_vec();
    (caches, out)
}

fn ask(network: &mut Network, caches: &[Cache], asked: &Tokens) -> Vec<f32> {
    network.query(&caches.iter().collect::<Vec<_>>(), asked).unwrap().to_vec()
}

fn numbers(count: usize) -> Vec<usize> {
    (0..count).collect()
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// The output of one cell.
fn cell(out: &[f32], rows: usize, column: usize, row: usize) -> &[f32] {
    &out[(column * rows + row) * WIDTH..][..WIDTH]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn asked_rows_in_chunks_are_asked_rows_together(columns in 1usize..20, told in 0usize..90, asked in 1usize..60, half: bool) {
        let precision = if half { Precision::Half } else { Precision::Single };
        let mut network = Network::new(&Cpu::new(2).unwrap(), &model(), precision);
        let (caches, _) = encode(&mut network, &table(&numbers(columns), &numbers(told), 1), precision);
        let all = ask(&mut network, &caches, &table(&numbers(columns), &numbers(asked), 2));
        let last = network.query_last_columns(&caches.iter().collect::<Vec<_>>(), &table(&numbers(columns), &numbers(asked), 2));
        prop_assert_eq!(bits(last.unwrap()), bits(&all[(columns - 1) * asked * WIDTH..]));
        for start in (0..asked).step_by(7) {
            let part: Vec<usize> = (start..asked.min(start + 7)).collect();
            let out = ask(&mut network, &caches, &table(&numbers(columns), &part, 2));
            for column in 0..columns {
                for (at, &row) in part.iter().enumerate() {
                    prop_assert_eq!(bits(cell(&out, part.len(), column, at)), bits(cell(&all, asked, column, row)));
                }
            }
        }
    }

    #[test]
    fn columns_and_told_rows_have_no_order(columns in 1usize..12, told in 1usize..70, seed in any::<u64>()) {
        let mut network = Network::new(&Cpu::new(1).unwrap(), &model(), Precision::Single);
        let shuffled = |count: usize| {
            let mut order = numbers(count);
            order.sort_by_key(|&i| (i as u64 ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            order
        };
        let (order, rows) = (shuffled(columns), shuffled(told));
        let (caches, _) = encode(&mut network, &table(&numbers(columns), &numbers(told), 1), Precision::Single);
        let (moved, _) = encode(&mut network, &table(&order, &rows, 1), Precision::Single);
        let plain = ask(&mut network, &caches, &table(&numbers(columns), &numbers(5), 2));
        let other = ask(&mut network, &moved, &table(&order, &numbers(5), 2));
        for (to, &from) in order.iter().enumerate() {
            for row in 0..5 {
                let pairs = cell(&other, 5, to, row).iter().zip(cell(&plain, 5, from, row));
                prop_assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-4));
            }
        }
    }
}

#[test]
fn threads_instruction_sets_and_company_give_the_same_bits() {
    let mut expected: Option<Vec<u32>> = None;
    for isa in Isa::available() {
        for threads in [1, 2, 7] {
            let mut network = Network::new(&Cpu::with_isa(threads, isa).unwrap(), &model(), Precision::Half);
            let (caches, mut all) = encode(&mut network, &table(&numbers(7), &numbers(40), 1), Precision::Half);
            all.extend(ask(&mut network, &caches, &table(&numbers(7), &numbers(150), 2)));
            assert!(*expected.get_or_insert_with(|| bits(&all)) == bits(&all), "{isa}, {threads} threads");
            // Two tables at once are each of them alone.
            let (one, two) = (table(&numbers(7), &numbers(40), 1), table(&numbers(3), &numbers(5), 4));
            let (FieldValues::Vector(a), FieldValues::Vector(b)) = (&one.fields[0], &two.fields[0]) else { panic!() };
            let offsets = one.offsets.iter().copied().chain(two.offsets[1..].iter().map(|o| o + 280)).collect();
            let both = Tokens {
                tables: vec![0, 7, 10],
                ..Tokens::new(offsets, vec![FieldValues::Vector([&a[..], b].concat())])
            };
            let (_, out) = encode(&mut network, &both, Precision::Half);
            assert_eq!(bits(&out[..280 * WIDTH]), bits(&all[..280 * WIDTH]));
            let (_, alone) = encode(&mut network, &two, Precision::Half);
            assert_eq!(bits(&out[280 * WIDTH..]), bits(&alone));
        }
    }
}

#[test]
fn cells_that_make_no_table_are_refused() {
    let mut network = Network::new(&Cpu::new(1).unwrap(), &model(), Precision::Single);
    let mut refused = |change: &dyn Fn(&mut Tokens)| {
        let mut tokens = table(&numbers(3), &numbers(4), 1);
        change(&mut tokens);
        let mut caches: Vec<Cache> = (0..tokens.sequences()).map(|_| network.cache(Precision::Single)).collect();
        let error = network.append(&mut caches.iter_mut().collect::<Vec<_>>(), &tokens).map(|_| ()).unwrap_err();
        error.to_string()
    };
    assert!(refused(&|t| t.tables.clear()).contains("tables"));
    assert!(refused(&|t| t.tables = vec![0, 2]).contains("all 3 sequences"));
    assert!(refused(&|t| t.offsets = vec![0, 4, 9, 12]).contains("differ in length"));
    let mut plain = model().spec().clone();
    plain.row_attention = false;
    let mut network = Network::new(&Cpu::new(1).unwrap(), &Model::new(plain.clone(), 0).unwrap(), Precision::Single);
    let mut cache = network.cache(Precision::Single);
    let error = network.append(&mut [&mut cache], &table(&[0], &[0], 1)).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("without row attention"));
    let causal = ModelSpec { history: History::Causal, row_attention: true, ..plain };
    assert!(Model::new(causal, 0).unwrap_err().to_string().contains("sets"));
}
