//! The models and batches on which the GPU is compared with the CPU: ragged, of every kind, the same on every run.

use icee_nn::batch::{Batch, ClassTargets, FieldValues, PoolTargets, Pools, Tokens};
use icee_nn::{ConditionSpec, FieldKind, FieldSpec, HeadSpec, History, Model, ModelSpec, PoolHeadSpec, TokenRole};

/// One comparison.
pub struct Case {
    pub name: &'static str,
    pub spec: ModelSpec,
    pub batch: Batch,
}

/// Numbers that look random and are the same everywhere.
pub struct Noise(pub u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub fn below(&mut self, bound: usize) -> u32 {
        (self.next() % bound as u64) as u32
    }

    /// From 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 31) as f64
    }

    /// Between −1 and 1.
    fn real(&mut self) -> f32 {
        (self.next() % 20_001) as f32 / 10_000.0 - 1.0
    }

    fn values(&mut self, kind: FieldKind, count: usize) -> FieldValues {
        match kind {
            FieldKind::Categorical { size } => FieldValues::Categorical((0..count).map(|_| self.below(size)).collect()),
            FieldKind::Vector { size, .. } => FieldValues::Vector((0..count * size).map(|_| self.real()).collect()),
        }
    }

    fn tokens<'a>(&mut self, lengths: &[usize], fields: impl Iterator<Item = &'a FieldSpec>) -> Tokens {
        let mut offsets = vec![0];
        lengths.iter().for_each(|n| offsets.push(offsets.last().copied().unwrap_or(0) + n));
        let total = lengths.iter().sum();
        Tokens::new(offsets, fields.map(|f| self.values(f.kind, total)).collect())
    }
}

/// Weights large enough that every path matters.
pub fn fill(model: &mut Model) {
    let mut noise = Noise(7);
    for tensor in model.layout().tensors.clone() {
        let offset = if tensor.name.ends_with(".gain") { 1.0 } else { 0.0 };
        model.weights_mut()[tensor.range].iter_mut().for_each(|w| *w = 0.15 * noise.real() + offset);
    }
}

fn spec(width: usize, head_width: usize, layers: usize, history: History, context: usize) -> ModelSpec {
    let field = |name: &str, kind, on| FieldSpec { name: name.into(), kind, on };
    let condition = |name: &str, kind| ConditionSpec { name: name.into(), kind };
    ModelSpec {
        layers,
        width,
        attention_heads: width / head_width,
        mlp_width: 4 * width,
        context,
        history,
        row_attention: false,
        fields: vec![
            field("cell", FieldKind::categorical(82), TokenRole::History),
            field("x", FieldKind::vector(5), TokenRole::Both),
            field("kind", FieldKind::categorical(3), TokenRole::Query),
        ],
        heads: vec![
            HeadSpec {
                name: "outcome".into(),
                conditions: vec![
                    condition("action", FieldKind::categorical(6)),
                    condition("wish", FieldKind::vector(2)),
                ],
                hidden: vec![64, 32],
                classes: 21,
            },
            HeadSpec {
                name: "plain".into(),
                conditions: vec![condition("action", FieldKind::categorical(4))],
                hidden: vec![],
                classes: 5,
            },
            HeadSpec { name: "value".into(), conditions: vec![], hidden: vec![48], classes: 128 },
        ],
        pool_heads: vec![],
    }
}

/// Adds fields with a hidden layer on history tokens, on query tokens and on both.
fn with_mlps(mut spec: ModelSpec) -> ModelSpec {
    let mlp = |size, hidden| FieldKind::Vector { size, hidden: Some(hidden) };
    let roles = [TokenRole::History, TokenRole::Query, TokenRole::Both];
    for ((name, kind), on) in [("y", mlp(2, 16)), ("z", mlp(3, 48)), ("w", mlp(1, 128))].into_iter().zip(roles) {
        spec.fields.push(FieldSpec { name: name.into(), kind, on });
    }
    spec
}

/// A model as agents have it: a joint return head, an outcome head for each action, and others.
pub fn play_spec() -> ModelSpec {
    let mut spec = spec(128, 32, 2, History::Causal, 256);
    let action = || vec![ConditionSpec { name: "action".into(), kind: FieldKind::categorical(6) }];
    let head = |name: &str, conditions, hidden: &[usize], classes| HeadSpec {
        name: name.into(),
        conditions,
        hidden: hidden.to_vec(),
        classes,
    };
    spec.heads = vec![
        head("return", vec![], &[64], 84),
        head("outcome", action(), &[64], 84),
        head("deep", action(), &[48, 32], 21),
        head("plain", action(), &[], 5),
    ];
    spec
}

/// History tokens of some lengths.
pub fn random_tokens(spec: &ModelSpec, lengths: &[usize], seed: u64) -> Tokens {
    Noise(seed + 31).tokens(lengths, spec.fields.iter().filter(|f| f.on_history()))
}

/// BO's `value` model: x with sines and cosines and the log of the history's size on all tokens, y through an MLP on
/// the history, a distribution of the value at every query.
fn value_spec(layers: usize) -> ModelSpec {
    let field = |name: &str, kind, on| FieldSpec { name: name.into(), kind, on };
    ModelSpec {
        layers,
        width: 128,
        attention_heads: 4,
        mlp_width: 512,
        context: 64,
        history: History::Set,
        row_attention: false,
        fields: vec![
            field("x", FieldKind::vector(22), TokenRole::Both),
            field("count", FieldKind::vector(1), TokenRole::Both),
            field("y", FieldKind::Vector { size: 2, hidden: Some(128) }, TokenRole::History),
        ],
        heads: vec![HeadSpec { name: "value".into(), conditions: vec![], hidden: vec![128], classes: 128 }],
        pool_heads: vec![],
    }
}

/// A batch of the `value` model: a class for every query.
fn value_batch(spec: &ModelSpec, history: &[usize], queries: usize) -> Batch {
    let mut batch = batch(spec, history, Some(&vec![queries; history.len()]));
    let (first, all) = (batch.history.len() as u32, batch.rows() as u32);
    let mut noise = Noise(5);
    batch.class_targets[0].rows = (first..all).collect();
    let count = (all - first) as usize;
    batch.class_targets[0].classes = (0..count).map(|_| noise.below(spec.heads[0].classes)).collect();
    batch.class_targets[0].weights = vec![1.0; count];
    batch.class_targets[0].scale = 1.0 / count as f32;
    batch
}

/// The `value` model, small, with something to learn: the class is which quarter the query's first number is in.
pub fn value_learning_case() -> Case {
    let spec = value_spec(2);
    let mut batch = value_batch(&spec, &[20, 3, 64, 9], 32);
    if let Some(FieldValues::Vector(x)) = batch.queries.as_ref().map(|q| &q.fields[0]) {
        let quarter = |point: &[f32]| ((point[0] + 1.0) * 1.99) as u32;
        batch.class_targets[0].classes = x.chunks_exact(22).map(quarter).collect();
    }
    Case { name: "value model, learning", spec, batch }
}

/// A case with a pool head on the field `candidate`: pool i is scored by the rows of sequence i, the last by none.
fn add_pools(
    all: &mut Vec<Case>,
    name: &'static str,
    mut spec: ModelSpec,
    candidate: &str,
    hidden: &[usize],
    pools: &[usize],
) {
    let head = PoolHeadSpec { name: "next".into(), candidate: candidate.into(), hidden: hidden.to_vec() };
    spec.pool_heads.push(head);
    let lengths = [70, 1, 64, 130, 9];
    let mut batch = batch(&spec, &lengths[..pools.len()], None);
    let size = spec.fields.iter().find(|f| f.name == candidate).map_or(1, |f| match f.kind {
        FieldKind::Vector { size, .. } | FieldKind::Categorical { size } => size,
    });
    let mut noise = Noise(23);
    let (mut rows, mut row_pools, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
    for (pool, &count) in pools.iter().enumerate() {
        offsets.push(offsets[pool] + count);
        if pool + 1 < pools.len() {
            let span = batch.history.offsets[pool] as u32..batch.history.offsets[pool + 1] as u32;
            row_pools.extend(std::iter::repeat_n(pool as u32, span.len()));
            rows.extend(span);
        }
    }
    let (mut target_offsets, mut targets, mut probabilities) = (vec![0], Vec::new(), Vec::new());
    for &pool in &row_pools {
        // Some targets stand twice.
        let count = 1 + noise.below(5) as usize;
        targets.extend((0..count).map(|_| noise.below(pools[pool as usize])));
        probabilities.extend(std::iter::repeat_n(1.0 / count as f32, count));
        target_offsets.push(targets.len());
    }
    let total = offsets.last().copied().unwrap_or(0);
    batch.pool_targets.push(PoolTargets {
        head: 0,
        pools: Pools { offsets, candidates: (0..total * size).map(|_| noise.real()).collect() },
        weights: rows.iter().map(|_| 1.0 + 0.5 * noise.real()).collect(),
        scale: 1.0 / rows.len() as f32,
        rows,
        row_pools,
        target_offsets,
        targets,
        probabilities,
    });
    all.push(Case { name, spec, batch });
}

/// A case of tables with so many columns, told rows and asked rows, whose cells are tokens.
fn add_tables(all: &mut Vec<Case>, name: &'static str, mut spec: ModelSpec, [columns, told, asked]: [&[usize]; 3]) {
    spec.row_attention = true;
    let lengths = |rows: &[usize]| -> Vec<usize> {
        columns.iter().zip(rows).flat_map(|(&columns, &rows)| std::iter::repeat_n(rows, columns)).collect()
    };
    let mut batch = batch(&spec, &lengths(told), Some(&lengths(asked)));
    let ends = columns.iter().scan(0, |end, columns| {
        *end += columns;
        Some(*end)
    });
    batch.history.tables = std::iter::once(0).chain(ends).collect();
    if let Some(queries) = &mut batch.queries {
        queries.tables = batch.history.tables.clone();
    }
    all.push(Case { name, spec, batch });
}

/// Targets of every head; the first has a part of the rows, the last has all.
fn batch(spec: &ModelSpec, history: &[usize], queries: Option<&[usize]>) -> Batch {
    let mut noise = Noise(history.len() as u64 + 11);
    let history = noise.tokens(history, spec.fields.iter().filter(|f| f.on_history()));
    let queries = queries.map(|q| noise.tokens(q, spec.fields.iter().filter(|f| f.on_query())));
    let mut batch = Batch { history, queries, class_targets: vec![], pool_targets: vec![] };
    let all = batch.rows();
    for (index, head) in spec.heads.iter().enumerate() {
        let every = if index + 1 == spec.heads.len() { 1 } else { 2 + index };
        let rows: Vec<u32> = (0..all as u32).step_by(every).collect();
        let count = rows.len();
        batch.class_targets.push(ClassTargets {
            head: index,
            conditions: head.conditions.iter().map(|c| noise.values(c.kind, count)).collect(),
            classes: (0..count).map(|_| noise.below(head.classes)).collect(),
            weights: (0..count).map(|_| 1.0 + 0.5 * noise.real()).collect(),
            scale: 1.0 / count.max(1) as f32,
            rows,
        });
    }
    batch
}

/// Every kind of history, row and head, at awkward lengths.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let mut add = |name, spec: ModelSpec, history: &[usize], queries: Option<&[usize]>| {
        let batch = batch(&spec, history, queries);
        all.push(Case { name, spec, batch });
    };
    let (causal, set) = (History::Causal, History::Set);
    add("one token, heads of 32", spec(64, 32, 1, causal, 64), &[1], None);
    add("one token, heads of 64", spec(128, 64, 1, causal, 64), &[1], None);
    add("causal, heads of 32, odd lengths", spec(128, 32, 2, causal, 256), &[1, 7, 64, 65, 130, 200], None);
    add("causal, heads of 64, odd lengths", spec(128, 64, 2, causal, 256), &[100, 3, 129, 63, 1], None);
    add("causal, width 96", spec(96, 32, 2, causal, 256), &[33, 150], None);
    add("causal, longest context", spec(128, 32, 2, causal, 1000), &[1000, 1, 999], None);
    let queries: Option<&[usize]> = Some(&[3, 1, 130, 65, 0]);
    add("set and queries, heads of 32", spec(64, 32, 2, set, 256), &[1, 5, 70, 64, 129], queries);
    add("set and queries, heads of 64", spec(256, 64, 2, set, 256), &[9, 31, 70, 200, 2], queries);
    add("causal and queries", spec(128, 32, 2, causal, 256), &[100, 64, 1, 140, 17], queries);
    add("MLP fields, set and queries", with_mlps(spec(128, 32, 2, set, 256)), &[9, 31, 70, 200, 2], queries);
    add("MLP fields, causal, width 96", with_mlps(spec(96, 32, 1, causal, 256)), &[33, 150], None);
    add("causal, heads of 16", spec(64, 16, 2, causal, 256), &[1, 7, 64, 65, 130, 200], None);
    add("set and queries, heads of 16", spec(96, 16, 1, set, 256), &[1, 5, 70, 64, 129], queries);
    add("BO's value model, ragged", value_spec(2), &[2, 64, 17, 33, 5], Some(&[128; 5]));
    let tables: [&[usize]; 3] = [&[3, 1, 70], &[7, 130, 2], &[40, 3, 65]];
    add_tables(&mut all, "tables, heads of 16", spec(64, 16, 2, set, 256), tables);
    add_tables(&mut all, "tables, heads of 32", spec(96, 32, 2, set, 256), tables);
    add_tables(&mut all, "tables, heads of 64", spec(64, 64, 1, set, 256), tables);
    let pools: &[usize] = &[3, 1, 300, 64, 17];
    add_pools(&mut all, "pool head, one hidden layer", spec(64, 32, 1, causal, 256), "x", &[48], pools);
    add_pools(&mut all, "pool head, two hidden layers", spec(128, 32, 1, set, 256), "x", &[64, 128], pools);
    add_pools(
        &mut all,
        "pool head, MLP candidates",
        with_mlps(spec(96, 32, 1, causal, 256)),
        "w",
        &[32, 16, 48],
        pools,
    );
    let many: &[usize] = &[1024, 700, 1000, 1024];
    add_pools(&mut all, "pool head, several chunks", spec(128, 32, 1, causal, 256), "x", &[128, 128], many);
    all
}

/// A small model with something to learn: the class is the cell's remainder.
pub fn learning_case() -> Case {
    let mut spec = spec(64, 32, 2, History::Causal, 64);
    spec.heads.truncate(1);
    let mut batch = batch(&spec, &[64, 40, 50, 64, 1, 33], None);
    batch.class_targets.truncate(1);
    if let FieldValues::Categorical(cells) = &batch.history.fields[0] {
        let targets = &mut batch.class_targets[0];
        targets.classes = targets.rows.iter().map(|&row| cells[row as usize] % 7).collect();
    }
    Case { name: "learning", spec, batch }
}
