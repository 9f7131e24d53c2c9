//! The named rooms. The first four are the paper's; the others are what other papers call by the same names (no two
//! agree), with only what they change, two of this project's own to try things on, and some to test generalisation with. Where a variant says nothing of K, the base room's K stands.

use super::room::LEFT;
use super::rules::{Bias, GoalSplit, Goals, GridRules, Start};

/// The rules of every named room.
#[must_use]
pub fn presets() -> Vec<GridRules> {
    let room = GridRules {
        id: "DarkRoom-v0".into(),
        width: 9,
        height: 9,
        start: Start::At { x: 4, y: 4 },
        goals: Goals::EveryStep,
        ends_early: false,
        episode_limit: 20,
        episodes: 50,
        bias: None,
        split: GoalSplit::None,
        margin: 0,
    };
    let hard = GridRules { id: "DarkRoomHard-v0".into(), goals: Goals::Once, ends_early: true, ..room.clone() };
    let biased = GridRules {
        id: "DarkRoomBiased-v0".into(),
        bias: Some(Bias { action: LEFT, probability: 2.0 / 3.0 }),
        split: GoalSplit::RightOf(5),
        ..room.clone()
    };
    let key_to_door = GridRules {
        id: "DarkKeyToDoor-v0".into(),
        start: Start::Uniform,
        goals: Goals::KeyThenDoor,
        ends_early: true,
        episode_limit: 50,
        episodes: 20,
        ..room.clone()
    };

    // AD (Algorithm Distillation, original) and toymeta: a larger hard room.
    let hard_17 = GridRules {
        id: "DarkRoomHard17-v0".into(),
        width: 17,
        height: 17,
        start: Start::At { x: 8, y: 8 },
        ..hard.clone()
    };
    // ad-eps: shorter, and the start is never on the key.
    let key_to_door_ad_eps = GridRules {
        id: "DarkKeyToDoorAdEps-v0".into(),
        start: Start::UniformOffFirstGoal,
        episode_limit: 40,
        ..key_to_door.clone()
    };
    // DICP: fixed length and start.
    let key_to_door_dicp = GridRules {
        id: "DarkKeyToDoorDicp-v0".into(),
        start: Start::At { x: 4, y: 4 },
        ends_early: false,
        ..key_to_door.clone()
    };
    // DPT (Decision-Pretrained Transformer): larger, longer, from a corner.
    let room_dpt = GridRules {
        id: "DarkRoomDpt-v0".into(),
        width: 10,
        height: 10,
        start: Start::At { x: 0, y: 0 },
        episode_limit: 100,
        ..room.clone()
    };
    // Small enough to learn in minutes on a laptop, large enough to show the whole effect.
    let small = |base: &GridRules, id: &str| GridRules {
        id: id.into(),
        width: 5,
        height: 5,
        start: Start::At { x: 2, y: 2 },
        episode_limit: 8,
        episodes: 16,
        ..base.clone()
    };
    let tiny = small(&room, "DarkRoomTiny-v0");
    let hard_tiny = small(&hard, "DarkRoomHardTiny-v0");
    // Goals that no training game had.
    let held_out = |base: &GridRules, id: &str| GridRules { id: id.into(), split: GoalSplit::HeldOut, ..base.clone() };
    let room_held_out = held_out(&room, "DarkRoomHeldOut-v0");
    let hard_held_out = held_out(&hard, "DarkRoomHardHeldOut-v0");
    let key_held_out = held_out(&key_to_door, "DarkKeyToDoorHeldOut-v0");
    // For models of the Dark Room: starts that it does not have, and walls where it has none.
    let any_start = GridRules { id: "DarkRoomAnyStart-v0".into(), start: Start::Uniform, ..room.clone() };
    let inner = GridRules { id: "DarkRoomInner7-v0".into(), margin: 1, ..room.clone() };
    // Four and five times as many cells. Every goal is within reach of an episode, with time left to be paid for it; a sweep needs
    // about ten episodes. 1,600 and 2,000 tokens of context, where the Dark Room has 1,000.
    let large = |side: u32, episode_limit: usize| GridRules {
        id: format!("DarkRoom{side}-v0"),
        width: side,
        height: side,
        start: Start::At { x: side / 2, y: side / 2 },
        episode_limit,
        episodes: 40,
        ..room.clone()
    };
    let large = [large(17, 40), large(20, 50)];
    let papers = [room, hard, biased, key_to_door];
    let others = [hard_17, key_to_door_ad_eps, key_to_door_dicp, room_dpt, tiny, hard_tiny];
    let tests = [room_held_out, hard_held_out, key_held_out, any_start, inner];
    papers.into_iter().chain(others).chain(tests).chain(large).collect()
}
