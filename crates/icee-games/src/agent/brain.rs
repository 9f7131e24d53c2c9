//! The networks of an agent with their caches and heads, on one device.

use super::memory::Memory;
use super::rules::Rules;
use crate::Result;
use crate::blueprint::Blueprint;
use icee_nn::batch::Tokens;

/// What a decision depends on, besides what each game has shown.
#[derive(Clone, Copy)]
pub(super) struct Mind<'a> {
    pub blueprint: &'a Blueprint,
    pub rules: &'a Rules,
}

/// Networks that play many games side by side, one cache a game and network.
///
/// Both kinds draw from the games' own random streams, in the same order, so that they make the same choices but for rounding.
pub(super) trait Brain: Send {
    /// Makes room for this many new games.
    fn begin(&mut self, games: usize) -> Result<()>;

    /// Cuts the caches of some games (ascending) to lengths and appends tokens, one sequence a game. Heads then read what
    /// the network made of these tokens.
    fn append(&mut self, network: usize, games: &[u32], lengths: &[usize], tokens: &Tokens) -> Result<()>;

    /// Chooses c̃ (where it is drawn) and c of each game by the first network's return head, if it has one.
    fn choose_returns(&mut self, mind: Mind<'_>, memories: &mut [Memory], games: &[u32]) -> Result<()>;

    /// p̂(a) of each game by the last network's heads.
    fn choose_actions(&mut self, mind: Mind<'_>, memories: &mut [Memory], games: &[u32]) -> Result<()>;

    /// The logits of a head that is given the action, for every action, after the first `length` tokens of a game and each of these
    /// tokens alone: [tokens, actions, classes]. Caches stay as they are.
    fn imagine(&mut self, head: HeadAt, game: usize, length: usize, tokens: &[Tokens]) -> Result<Vec<f32>>;
}

/// Where a head is.
#[derive(Clone, Copy)]
pub(super) struct HeadAt {
    pub network: usize,
    pub head: usize,
}

/// Those of these games, whose numbers ascend.
pub(super) fn chosen<'a, T>(all: &'a mut [T], games: &'a [u32]) -> impl Iterator<Item = &'a mut T> {
    let mut wanted = games.iter().peekable();
    all.iter_mut()
        .enumerate()
        .filter_map(move |(index, one)| wanted.next_if(|&&game| game as usize == index).map(|_| one))
}
