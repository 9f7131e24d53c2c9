//! The same bits on every machine: checksums of what priors, the Gaussian process and the searcher give. A platform on which
//! one of them differs would suggest other rows than the rest of the world.

use icee_base::hash::checksum;
use icee_base::random;
use icee_bo::behaviour::RankPolicy;
use icee_bo::gp_surrogate::GpSurrogate;
use icee_bo::pool::{Pool, Told};
use icee_bo::prior::{Blemishes, Family, Prior};
use icee_bo::searcher::search;
use icee_bo::surrogate::Surrogate;
use rand::RngExt;

fn of_f32(values: impl Iterator<Item = f32>) -> u64 {
    checksum(0, &values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
}

fn of_f64(values: impl Iterator<Item = f64>) -> u64 {
    checksum(0, &values.flat_map(f64::to_le_bytes).collect::<Vec<u8>>())
}

#[test]
fn priors_histories_and_predictions_have_these_bits() {
    let prior = Prior::mixed(Family::Wide, 6, 90, 3).unwrap().with_additive(0.3).unwrap();
    let prior = prior.with_blemishes(Blemishes { noisy: 0.3, stepped: 0.1 }).unwrap();
    let groups = prior.sample(5, 60).unwrap();
    let drawn = groups.iter().flat_map(|group| group.locations().iter().chain(group.functions().flatten())).copied();
    let histories = groups.iter().flat_map(|group| {
        let values = group.functions().next().unwrap();
        let mut rng = random::path(7, &[group.pool() as u64]);
        let policy = RankPolicy::new(values, 4.0).unwrap();
        let mut picked = search(group.locations(), group.dimension(), values, 20, &mut rng);
        picked.extend((0..20).map(|_| policy.sample(&mut rng)));
        picked.into_iter().map(|candidate| candidate as f64)
    });
    let mut rng = random::path(3, &[]);
    let pool = Pool::new((0..300).map(|_| rng.random()).collect(), 3).unwrap();
    let told: Vec<Told> = (0..20).map(|candidate| Told { candidate, value: rng.random() }).collect();
    let left: Vec<usize> = (20..100).collect();
    let mut process = GpSurrogate::default();
    let beliefs = process.predict(&pool, &told, &left).unwrap();
    let said = beliefs.iter().flat_map(|b| [b.mean(), b.quantile(0.025), b.log_improvement(0.1), b.below(0.1)]);
    let any = process.any_below(&pool, &told, &left[..64], 0.05, &mut random::path(4, &[])).unwrap();
    let found = [of_f32(drawn), of_f64(histories), of_f64(said), of_f64([any].into_iter())];
    let expected = ["a4c85ce68b890e71", "45654835d50bab2c", "cb7d8af8e5a60d26", "28a4a33cb213f695"];
    assert_eq!(found.map(|sum| format!("{sum:016x}")), expected);
}
