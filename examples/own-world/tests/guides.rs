//! The code in `docs/adding-a-world.md` is the code of the example, word by word, and so it compiles and is tested.

#[test]
fn the_guides_code_is_the_examples_code() {
    let guide = include_str!("../../../docs/adding-a-world.md");
    let example = include_str!("../examples/bandit.rs");
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 5, "the guide shows {} pieces of code", blocks.len());
    for block in blocks {
        assert!(example.contains(block), "not in the example:\n{block}");
    }
}
