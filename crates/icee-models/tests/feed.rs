//! Batches of real problems depend on the seed and their number alone.

use icee_models::kind::new_problem;
use icee_worlds::Registry;

#[test]
fn a_batch_depends_on_its_number_alone() {
    for preset in ["dark-room-tiny", "bo-tiny"] {
        let settings = ["train.batch=3".to_owned()];
        let make = || new_problem(preset, None, &settings, None, &Registry::builtin()).unwrap();
        let (one, other) = (make(), make());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let forwards: Vec<_> = (4..8).map(|index| one.batch(index).unwrap()).collect();
        let backwards: Vec<_> = (4..8).rev().map(|index| pool.install(|| other.batch(index).unwrap())).collect();
        assert!(forwards.iter().eq(backwards.iter().rev()), "{preset}");
        assert_ne!(forwards[0], forwards[1]);
    }
}
