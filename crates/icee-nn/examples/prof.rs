#![allow(missing_docs)]
use icee_nn::batch::*; use icee_nn::cpu::*; use icee_nn::*;
fn main() {
    let mode = std::env::args().nth(1).unwrap(); let n: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let threads: usize = std::env::args().nth(3).map_or(2, |s| s.parse().unwrap());
    let fl = [82usize, 6, 3, 64, 2];
    let spec = ModelSpec { layers: 12, width: 128, attention_heads: 4, mlp_width: 512, context: 1000, history: History::Causal,
        fields: fl.iter().enumerate().map(|(i, &s)| FieldSpec::history(&format!("f{i}"), FieldKind::categorical(s))).collect(),
        heads: vec![HeadSpec { name: "a".into(), conditions: vec![], hidden: vec![], classes: 5 }], pool_heads: vec![] };
    let model = Model::new(spec, 0).unwrap();
    let tok = |s: usize, t: usize| Tokens { offsets: (0..=s).map(|i| i * t).collect(), fields: fl.iter().enumerate().map(|(f, &z)| FieldValues::Categorical((0..s * t).map(|i| ((i * (7 + f) + i / 13) % z) as u32).collect())).collect() };
    let cpu = Cpu::new(threads).unwrap();
    let rows = 4000; let ctx: usize = std::env::var("CTX").map_or(500, |s| s.parse().unwrap());
    let batch = Batch { history: tok(4, 1000), queries: None, class_targets: vec![ClassTargets { head: 0, rows: (0..rows as u32).collect(), conditions: vec![], classes: (0..rows).map(|i| (i * 3 % 5) as u32).collect(), weights: vec![1.0; rows], scale: 1.0 / rows as f32 }], pool_targets: vec![] };
    let mut l = Learner::new(&cpu); let mut g = Gradients::default();
    let mut times = vec![];
    let mut time = |f: &mut dyn FnMut()| { f(); for _ in 0..n { let t = std::time::Instant::now(); f(); times.push(t.elapsed().as_secs_f64() * 1e3); } };
    match mode.as_str() {
        "train" => time(&mut || { g.clear(); l.accumulate(&model, &batch, &mut g).unwrap(); }),
        "forward" => time(&mut || { l.evaluate(&model, &batch).unwrap(); }),
        m => {
            let p = if m.ends_with('h') { Precision::Half } else { Precision::Single };
            let s = if m.starts_with("decode1_") { 1 } else { 100 };
            let mut net = Network::new(&cpu, &model, p);
            let mut caches: Vec<Cache> = (0..s).map(|_| { let mut c = net.cache(p); net.append(&mut [&mut c], &tok(1, ctx)).unwrap(); c }).collect();
            let next = tok(s, 1);
            if s == 100 { for round in 0..3 { for mode in 0..4 { if mode > 0 { continue; } let mut best = 1e9f64; for _ in 0..6 { for c in caches.iter_mut() { c.truncate(ctx); } let mut all: Vec<&mut Cache> = caches.iter_mut().collect(); let t = std::time::Instant::now(); net.append(&mut all, &next).unwrap(); best = best.min(t.elapsed().as_secs_f64()*1e3); } println!("round {round} mode {mode} {best:.2}"); } } }
            time(&mut || { for c in caches.iter_mut() { c.truncate(ctx); } let mut all: Vec<&mut Cache> = caches.iter_mut().collect(); net.append(&mut all, &next).unwrap(); });
        }
    }
    times.sort_by(f64::total_cmp);
    println!("{mode}: median {:.3} min {:.3}", times[times.len() / 2], times[0]);
}
use std::alloc::*; use std::sync::atomic::*;
struct Bump; static BASE: AtomicUsize = AtomicUsize::new(0); static OFF: AtomicUsize = AtomicUsize::new(0);
unsafe extern "C" { fn mmap(a: *mut u8, l: usize, p: i32, f: i32, fd: i32, o: i64) -> *mut u8; fn madvise(a: *mut u8, l: usize, adv: i32) -> i32; }
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, l: std::alloc::Layout) -> *mut u8 { unsafe {
        if l.size() < 65536 { return System.alloc(l); }
        if BASE.load(Ordering::Relaxed) == 0 { let len = 8usize << 30; let p = mmap(std::ptr::null_mut(), len, 3, 0x4022, -1, 0); let b = (p as usize + (2 << 20) - 1) & !((2 << 20) - 1); madvise(b as *mut u8, len - (2 << 20), 14); BASE.store(b, Ordering::Relaxed); }
        let sz = (l.size() + 4095) & !4095; let o = OFF.fetch_add(sz, Ordering::Relaxed); (BASE.load(Ordering::Relaxed) + o) as *mut u8 } }
    unsafe fn dealloc(&self, p: *mut u8, l: std::alloc::Layout) { unsafe { if l.size() < 65536 { System.dealloc(p, l) } } }
    unsafe fn alloc_zeroed(&self, l: std::alloc::Layout) -> *mut u8 { unsafe { if l.size() < 65536 { System.alloc_zeroed(l) } else { self.alloc(l) } } }
}

