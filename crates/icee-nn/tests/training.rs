//! Training: the same bits on any number of threads, no allocation once warm, and it learns.

mod common;

use common::load_golden;
use icee_nn::batch::{Batch, ClassTargets, FieldValues, Tokens};
use icee_nn::cpu::{Cpu, Gradients, Isa, Learner};
use icee_nn::optim::{AdamConfig, AdamW, Schedule, clip_scale};
use icee_nn::{FieldKind, FieldSpec, HeadSpec, History, Model, ModelSpec};
use std::alloc::{GlobalAlloc, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts allocations of this test binary.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: std::alloc::Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One test at a time, so that the others' allocations are not counted.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Trainer {
    cpu: Cpu,
    model: Model,
    learner: Learner,
    gradients: Gradients,
    adam: AdamW,
}

impl Trainer {
    fn new(cpu: Cpu, model: Model) -> Trainer {
        let adam = AdamW::new(model.layout(), AdamConfig::default());
        Trainer { learner: Learner::new(&cpu), cpu, model, gradients: Gradients::default(), adam }
    }

    fn step(&mut self, batch: &Batch, rate: f32) -> f64 {
        self.gradients.clear();
        let loss = self.learner.accumulate(&self.model, batch, &mut self.gradients).unwrap().total();
        let scale = clip_scale(self.gradients.square_sum(&self.cpu).sqrt(), 1.0);
        self.adam.step(&self.cpu, &mut self.model, &self.gradients, rate, scale).unwrap();
        loss
    }
}

#[test]
fn any_number_of_threads_and_any_instruction_set_train_the_same_bits() {
    let _guard = alone();
    for case in ["causal", "set", "pool"] {
        let golden = load_golden(case);
        let mut expected: Option<Vec<u32>> = None;
        for isa in Isa::available() {
            for threads in [1, 2, 7] {
                let mut trainer = Trainer::new(Cpu::with_isa(threads, isa).unwrap(), golden.model.clone());
                for _ in 0..3 {
                    trainer.step(&golden.batch, 1e-3);
                }
                let bits: Vec<u32> = trainer.model.weights().iter().map(|w| w.to_bits()).collect();
                let same = *expected.get_or_insert_with(|| bits.clone()) == bits;
                assert!(same, "{case}: {isa} on {threads} threads");
            }
        }
    }
}

#[test]
fn a_warm_training_step_allocates_nothing() {
    let _guard = alone();
    for case in ["causal", "set", "pool"] {
        let golden = load_golden(case);
        let mut trainer = Trainer::new(Cpu::new(1).unwrap(), golden.model.clone());
        trainer.step(&golden.batch, 1e-3);
        trainer.step(&golden.batch, 1e-3);
        // The test harness and threads that end may allocate meanwhile, but not during every step.
        let allocated = (0..8).map(|_| {
            let before = ALLOCATIONS.load(Relaxed);
            trainer.step(&golden.batch, 1e-3);
            ALLOCATIONS.load(Relaxed) - before
        });
        assert_eq!(allocated.min(), Some(0), "{case}");
    }
}

/// Recall: pairs (key, value) in random order, then a key alone; which value went with it?
fn recall_batch(sequences: usize, seed: u64) -> Batch {
    const PAIRS: usize = 8;
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut keys, mut values, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..sequences {
        let mut order: Vec<u32> = (0..PAIRS as u32).collect();
        for i in (1..PAIRS).rev() {
            order.swap(i, draw(i as u64 + 1) as usize);
        }
        let stored: Vec<u32> = order.iter().map(|_| draw(8) as u32).collect();
        for (&key, &value) in order.iter().zip(&stored) {
            keys.push(key);
            values.push(value);
        }
        // Four questions a sequence; value 8 means "asked for".
        for _ in 0..4 {
            let at = draw(PAIRS as u64) as usize;
            keys.push(order[at]);
            values.push(8);
            classes.push(stored[at]);
        }
    }
    let len = PAIRS + 4;
    let rows = (0..sequences * len).filter(|i| i % len >= PAIRS).map(|i| i as u32).collect();
    let history = Tokens::new(
        (0..=sequences).map(|s| s * len).collect(),
        vec![FieldValues::Categorical(keys), FieldValues::Categorical(values)],
    );
    let count = classes.len();
    let targets = ClassTargets {
        head: 0,
        rows,
        conditions: vec![],
        classes,
        weights: vec![1.0; count],
        scale: 1.0 / count as f32,
    };
    Batch { history, queries: None, class_targets: vec![targets], pool_targets: vec![] }
}

#[test]
fn two_layers_learn_to_recall_in_context() {
    let _guard = alone();
    let spec = ModelSpec {
        layers: 2,
        width: 64,
        attention_heads: 2,
        mlp_width: 128,
        context: 12,
        history: History::Causal,
        row_attention: false,
        fields: vec![
            FieldSpec::history("key", FieldKind::categorical(8)),
            FieldSpec::history("value", FieldKind::categorical(9)),
        ],
        heads: vec![HeadSpec { name: "value".into(), conditions: vec![], hidden: vec![], classes: 8 }],
        pool_heads: vec![],
    };
    let mut trainer = Trainer::new(Cpu::new(2).unwrap(), Model::new(spec, 1).unwrap());
    let schedule = Schedule { peak: 3e-3, warmup: 20, total: 600, floor: 0.05 };
    for step in 0..600 {
        trainer.step(&recall_batch(64, step), schedule.rate(step));
    }
    let test = recall_batch(500, 1 << 40);
    let mut network = icee_nn::cpu::Network::new(&trainer.cpu, &trainer.model, icee_nn::Precision::Single);
    let mut caches: Vec<_> = (0..500).map(|_| network.cache(icee_nn::Precision::Single)).collect();
    let rows = network.append(&mut caches.iter_mut().collect::<Vec<_>>(), &test.history).unwrap().to_vec();
    let targets = &test.class_targets[0];
    let asked: Vec<f32> = targets.rows.iter().flat_map(|&r| rows[r as usize * 64..][..64].to_vec()).collect();
    let logits = network.logits(0, &asked, &[]).unwrap();
    let right = logits.chunks_exact(8).zip(&targets.classes).filter(|(row, class)| {
        let best = (0..8).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        best as u32 == **class
    });
    let share = right.count() as f64 / targets.classes.len() as f64;
    assert!(share > 0.95, "recalled {share}");
}
