//! Agents at play: what an agent is told, who meets which games, and what is refused.

use icee_worlds::{
    Agent, AgentFailure, Decision, Games, Reference, ReferenceAgent, Registry, Returns, Split, StepOutcome, Turn,
    WorldError,
};
use std::ops::Range;

fn deal(id: &str, games: usize, seed: u64) -> Games {
    let world = Registry::builtin().make(id).expect("a known world");
    Games::deal(&*world, games, seed, Split::Evaluation).expect("games")
}

fn play(games: &mut Games, agent: Reference, episodes: usize) -> Returns {
    let mut agent = ReferenceAgent::new(agent, games).expect("an agent");
    games.play(&mut agent, episodes).expect("returns")
}

#[test]
fn the_same_seed_gives_the_same_returns_and_agents_forget_between_plays() {
    for agent in Reference::ALL {
        let mut games = deal("DarkKeyToDoor-v0", 30, 5);
        let Ok(mut player) = ReferenceAgent::new(agent, &games) else { continue };
        let first = games.play(&mut player, 6).expect("returns");
        let again = games.play(&mut player, 6).expect("returns");
        assert_eq!(first, again, "{} remembers an earlier play", agent.name());
        assert_eq!(first, play(&mut deal("DarkKeyToDoor-v0", 30, 5), agent, 6));
        if agent != Reference::Oracle {
            assert_ne!(first, play(&mut deal("DarkKeyToDoor-v0", 30, 6), agent, 6));
        }
    }
}

/// A game is the same whoever plays, and however many others are dealt beside it.
#[test]
fn a_game_does_not_depend_on_the_others() {
    let few = play(&mut deal("DarkRoomHard-v0", 3, 9), Reference::Posterior, 8);
    let many = play(&mut deal("DarkRoomHard-v0", 40, 9), Reference::Posterior, 8);
    for game in 0..3 {
        assert_eq!(few.game(game), many.game(game));
    }
}

/// Checks what it is told against the contract of `Agent`, and always stays.
struct Witness {
    waiting: Vec<u32>,
    steps: Vec<usize>,
    episodes: Vec<usize>,
    action: u32,
}

impl Witness {
    fn new(action: u32) -> Self {
        Self { waiting: Vec::new(), steps: Vec::new(), episodes: Vec::new(), action }
    }
}

impl Agent for Witness {
    fn name(&self) -> &str {
        "witness"
    }

    fn begin(&mut self, games: Range<usize>, _seed: u64) -> Result<(), AgentFailure> {
        *self = Self { steps: vec![0; games.len()], episodes: vec![0; games.len()], ..Self::new(self.action) };
        Ok(())
    }

    fn act(&mut self, turn: Turn<'_>, decisions: &mut [Decision]) -> Result<(), AgentFailure> {
        assert!(turn.games.is_sorted_by(|a, b| a < b));
        assert_eq!((turn.observations.len(), decisions.len()), (turn.games.len(), turn.games.len()));
        self.waiting = turn.games.to_vec();
        decisions.fill(Decision { action: self.action, probability: 1.0 });
        Ok(())
    }

    fn observe(&mut self, games: &[u32], outcomes: &[StepOutcome]) -> Result<(), AgentFailure> {
        assert_eq!((games, games.len()), (&self.waiting[..], outcomes.len()));
        for (&game, outcome) in games.iter().zip(outcomes) {
            self.steps[game as usize] += 1;
            self.episodes[game as usize] += usize::from(outcome.done);
        }
        Ok(())
    }
}

#[test]
fn an_agent_is_told_of_every_step_and_every_boundary() {
    let mut games = deal("DarkRoomHard-v0", 200, 1);
    let mut witness = Witness::new(4);
    let mut watched = 0;
    let returns = games
        .play_watched(&mut witness, 3, |step| {
            watched += 1;
            assert!(step.step < 20 && step.episode < 3);
            assert!(!step.world.render().is_empty());
        })
        .expect("returns");
    assert_eq!(witness.episodes, vec![3; 200]);
    assert_eq!(witness.steps.iter().sum::<usize>(), watched);
    // Staying pays where the goal is at the centre, and then the episode lasts one step.
    for game in 0..200 {
        let at_goal = returns.game(game)[0] == 1.0;
        assert_eq!(witness.steps[game], if at_goal { 3 } else { 60 });
    }
    assert!((0..200).any(|game| returns.game(game)[0] == 1.0), "no game of 200 has its goal at the centre");
}

#[test]
fn what_cannot_be_played_is_an_error() {
    let world = Registry::builtin().make("DarkRoom-v0").expect("a known world");
    let none = Games::deal(&*world, 0, 0, Split::Training);
    assert!(matches!(none.err(), Some(WorldError::Zero { what: "games" })));
    let many = Games::deal(&*world, usize::MAX, 0, Split::Training);
    assert!(matches!(many.err(), Some(WorldError::TooMany { .. })));

    let mut games = deal("DarkRoom-v0", 2, 0);
    let mut source = ReferenceAgent::new(Reference::Source, &games).expect("an agent");
    assert!(matches!(games.play(&mut source, 0), Err(WorldError::Zero { what: "episodes" })));
    assert!(matches!(games.play(&mut source, usize::MAX), Err(WorldError::TooMany { .. })));
    let others = deal("DarkRoom-v0", 3, 0).play(&mut source, 1).expect_err("other games").to_string();
    assert!(others.contains("made for 2 tasks and got 3"), "{others}");
    let impossible = games.play(&mut Witness::new(5), 1).expect_err("no such action").to_string();
    assert!(impossible.contains("action 5 is out of range"), "{impossible}");
}

/// Plays one fixed way, a few games at a time, and keeps the numbers of those that began.
struct Forgetful {
    witness: Witness,
    groups: Vec<Range<usize>>,
}

impl Agent for Forgetful {
    fn name(&self) -> &str {
        "forgetful"
    }

    fn most_games(&self) -> usize {
        3
    }

    fn begin(&mut self, games: Range<usize>, seed: u64) -> Result<(), AgentFailure> {
        self.groups.push(games.clone());
        self.witness.begin(games, seed)
    }

    fn act(&mut self, turn: Turn<'_>, decisions: &mut [Decision]) -> Result<(), AgentFailure> {
        self.witness.act(turn, decisions)
    }

    fn observe(&mut self, games: &[u32], outcomes: &[StepOutcome]) -> Result<(), AgentFailure> {
        self.witness.observe(games, outcomes)
    }
}

#[test]
fn games_played_in_groups_are_those_played_at_once() {
    let mut games = deal("BernoulliBandit5-v0", 7, 1);
    let (mut at_once, mut in_groups) = (Vec::new(), Vec::new());
    let expected = games
        .play_watched(&mut Witness::new(2), 2, |step| at_once.push((step.game, step.episode, step.outcome)))
        .unwrap();
    let mut agent = Forgetful { witness: Witness::new(2), groups: Vec::new() };
    let returns =
        games.play_watched(&mut agent, 2, |step| in_groups.push((step.game, step.episode, step.outcome))).unwrap();
    assert_eq!(agent.groups, [0..3, 3..6, 6..7]);
    assert_eq!(returns, expected);
    // Of each game by itself the same steps.
    at_once.sort_by_key(|&(game, episode, _)| (game, episode));
    in_groups.sort_by_key(|&(game, episode, _)| (game, episode));
    assert_eq!(in_groups, at_once);
}
