//! Every world and every method that the report knows: key, names, colours, presets, the paper's row. A new method is one entry
//! here; recipes, plans, figures and tables follow from it.

use icee_worlds::Reference;

/// A world of the report.
#[derive(Debug, PartialEq, Eq)]
pub struct CatalogueWorld {
    /// Its preset, and its name in models and on the command line.
    pub key: &'static str,
    /// Its id.
    pub id: &'static str,
    /// Its name for readers.
    pub name: &'static str,
    /// Whether other acting rules are tried here.
    pub acting_ablation: bool,
    /// Whether the paper has it. On the others only [`ICEE`] is trained.
    pub in_paper: bool,
    /// The agents of plain code that stand beside the learned ones.
    pub references: &'static [Reference],
}

/// The method that the report is about.
pub const ICEE: &str = "icee";

/// A world of the paper.
const fn papers(key: &'static str, id: &'static str, name: &'static str, acting_ablation: bool) -> CatalogueWorld {
    let references = &[Reference::Source, Reference::Posterior, Reference::Sweep, Reference::Oracle];
    CatalogueWorld { key, id, name, acting_ablation, in_paper: true, references }
}

/// The paper's worlds, in its order.
pub static WORLDS: [CatalogueWorld; 4] = [
    papers("dark-room", "DarkRoom-v0", "Dark Room", true),
    papers("dark-room-hard", "DarkRoomHard-v0", "Dark Room (Hard)", true),
    papers("key-to-door", "DarkKeyToDoor-v0", "Dark Key-to-Door", false),
    papers(BIASED, "DarkRoomBiased-v0", "Dark Room (Biased)", false),
];

/// A world that the paper does not have.
const fn beyond(
    key: &'static str,
    id: &'static str,
    name: &'static str,
    references: &'static [Reference],
) -> CatalogueWorld {
    CatalogueWorld { key, id, name, acting_ablation: false, in_paper: false, references }
}

/// Bandits, which are judged by their regret.
pub static BANDITS: [CatalogueWorld; 2] = [
    beyond(
        "bernoulli-bandit",
        "BernoulliBandit5-v0",
        "Five Bernoulli arms",
        &[Reference::Posterior, Reference::Ucb, Reference::Gittins],
    ),
    beyond("gaussian-bandit", "GaussianBandit5-v0", "Five Gaussian arms", &[Reference::Posterior, Reference::Ucb]),
];

/// The room whose actions are permuted.
pub static PERMUTED: CatalogueWorld = beyond(
    "dark-room-permuted",
    "DarkRoomPermuted-v0",
    "Dark Room, actions permuted",
    &[Reference::Source, Reference::Posterior, Reference::Oracle],
);

/// All worlds of the report: the paper's, then the others.
pub fn worlds() -> impl Iterator<Item = &'static CatalogueWorld> {
    WORLDS.iter().chain(&BANDITS).chain([&PERMUTED])
}

/// The biased room's key: there the weighted head stands beside the biased one, from which only its weights differ.
pub const BIASED: &str = "dark-room-biased";

/// Something with a name and a colour in figures and tables.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// Its key in names and files.
    pub key: &'static str,
    /// Its name in figures and tables.
    pub label: &'static str,
    /// Its colours on a light and on a dark page.
    pub colours: [&'static str; 2],
    /// What it is.
    pub role: Role,
}

/// What an entry is.
#[derive(Debug, PartialEq)]
pub enum Role {
    /// A trained agent.
    Agent(AgentRecipe),
    /// The trained agent `icee`, acting otherwise.
    OtherActing,
    /// An agent of plain code.
    Reference {
        /// Which.
        agent: Reference,
        /// The row of the paper's tables that it stands beside.
        paper: Option<PaperRow>,
    },
    /// A trained optimiser.
    Optimiser {
        /// Its preset.
        preset: &'static str,
        /// What is changed in it.
        settings: &'static [&'static str],
        /// Where it is shown.
        shown: Shown,
    },
    /// An optimiser of plain code.
    Rival,
    /// Another tool, whose searches of real tables lie in `data/tables`.
    OtherTool,
}

/// How an agent is trained, and where it is shown.
#[derive(Debug, PartialEq)]
pub struct AgentRecipe {
    /// The method's preset.
    pub method: &'static str,
    /// The worlds it is trained on.
    pub trained: Trained,
    /// The chapters in which it stands.
    pub chapters: Chapters,
    /// The row of the paper's tables that it stands beside.
    pub paper: Option<PaperRow>,
    /// What it learned from, in a few words.
    pub data: &'static str,
    /// What a game costs it, the default agent being 1.
    pub cost: f64,
}

/// What is changed in the presets.
type Settings = &'static [&'static str];

/// The worlds that an agent is trained on.
#[derive(Debug, PartialEq, Eq)]
pub enum Trained {
    /// All of them.
    Everywhere {
        /// What is changed in the presets.
        settings: Settings,
        /// Worlds, by key, on which something else is changed.
        except: &'static [(&'static str, Settings)],
    },
    /// These, by key, each with what is changed in the presets.
    On(&'static [(&'static str, Settings)]),
}

/// The worlds in whose chapters an agent stands.
#[derive(Debug, PartialEq, Eq)]
pub enum Chapters {
    /// All of them.
    All,
    /// These, by key.
    Of(&'static [&'static str]),
    /// None: it stands in the ablations.
    None,
}

/// A row of the paper's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaperRow {
    /// The paper's method.
    pub method: &'static str,
    /// Whether the paper gives one number for all episodes, because nothing is learned from one to the next.
    pub one_number: bool,
}

/// Where an optimiser is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// In the comparison with the paper's.
    pub comparison: bool,
    /// In the ablations.
    pub ablation: bool,
}

/// The behaviour policy's episodes.
const BEHAVIOUR: &str = "the behaviour policy's episodes";
/// The same, some sequences beginning with noisy episodes.
const NOVICES: &str = "the behaviour policy's episodes, some noisier at first";
/// The default's data.
const SEARCHERS: &str = "the behaviour policy's episodes, and exploring policies' episodes relabelled by an expert";

const fn everywhere(settings: Settings) -> Trained {
    Trained::Everywhere { settings, except: &[] }
}

const fn row(method: &'static str) -> Option<PaperRow> {
    Some(PaperRow { method, one_number: false })
}

const fn flat_row(method: &'static str) -> Option<PaperRow> {
    Some(PaperRow { method, one_number: true })
}

/// An agent that is trained on all worlds and stands in all chapters.
const DEFAULT: AgentRecipe = AgentRecipe {
    method: "icee",
    trained: everywhere(&[]),
    chapters: Chapters::All,
    paper: None,
    data: SEARCHERS,
    cost: 1.0,
};

/// An agent that stands in the ablations alone.
const ABLATION: AgentRecipe = AgentRecipe { chapters: Chapters::None, ..DEFAULT };

/// All entries, in the order of legends and tables.
pub static ENTRIES: [Entry; 27] = [
    Entry {
        key: ICEE,
        label: "ICEE",
        colours: ["#0072B2", "#4DA9E8"],
        role: Role::Agent(AgentRecipe { paper: row("icee"), ..DEFAULT }),
    },
    Entry {
        key: "icee-offline",
        label: "ICEE, the paper's data",
        colours: ["#A50F37", "#E8668A"],
        role: Role::Agent(AgentRecipe {
            trained: Trained::Everywhere {
                settings: &["data.searchers=0", "data.novices=0", "train.steps=12000"],
                except: &[
                    (
                        "dark-room",
                        // What it believes is less sharp, so it asks for less.
                        &[
                            "data.searchers=0",
                            "data.novices=0",
                            "train.steps=12000",
                            "acting.guard=0.02",
                            "acting.temperature=0.5",
                        ],
                    ),
                    (
                        "dark-room-hard",
                        // Long histories in which nothing was found are not in its data.
                        &["data.searchers=0", "data.novices=0", "train.steps=12000", "acting.patience=5"],
                    ),
                    (
                        "key-to-door",
                        // What it believes is too broad to be asked for the most; a key without a door is not in its data for long.
                        &[
                            "data.searchers=0",
                            "data.novices=0",
                            "train.steps=22000",
                            "acting.kappa=8",
                            "acting.guard=0",
                            "acting.outcome=exactly",
                            "acting.patience=4",
                        ],
                    ),
                ],
            },
            paper: row("icee"),
            data: BEHAVIOUR,
            ..DEFAULT
        }),
    },
    Entry {
        key: "icee-paper",
        label: "ICEE, paper's networks",
        colours: ["#009E73", "#35C79B"],
        role: Role::Agent(AgentRecipe {
            method: "icee-paper",
            trained: Trained::Everywhere {
                settings: &["train.lr=1e-3", "train.steps=6000"],
                // With a return in 160 bins as its input, the paper's action network does not find the key and the door
                // again, and noisy policies teach it what to do before it has.
                except: &[(
                    "key-to-door",
                    &["train.lr=1e-3", "model.bins=64", "data.novices=0.6", "train.steps=10000"],
                )],
            },
            paper: row("icee"),
            data: "the behaviour policy's episodes, in Key-to-Door some noisier at first",
            cost: 1.8,
            ..DEFAULT
        }),
    },
    Entry {
        key: "icee-biased",
        label: "ICEE-biased",
        colours: ["#CC79A7", "#E79FC6"],
        role: Role::Agent(AgentRecipe {
            method: "icee-biased",
            trained: everywhere(&["train.steps=5000"]),
            data: NOVICES,
            ..DEFAULT
        }),
    },
    Entry {
        key: "icee-weighted",
        label: "ICEE, weighted",
        colours: ["#56B4E9", "#A3D8F7"],
        role: Role::Agent(AgentRecipe {
            method: "icee-weighted",
            // In the biased room only the weights differ from ICEE-biased.
            trained: Trained::On(&[("dark-room", &["train.steps=7000"]), (BIASED, &["data.searchers=0"])]),
            chapters: Chapters::Of(&[BIASED]),
            data: "as ICEE; in the biased room the behaviour policy's episodes alone",
            ..DEFAULT
        }),
    },
    // Smaller networks do as well for the rivals: imitation needs less than search, and MGDT reads one episode.
    Entry {
        key: "ad",
        label: "AD",
        colours: ["#E69F00", "#F4B942"],
        role: Role::Agent(AgentRecipe {
            method: "ad",
            trained: everywhere(&["model.layers=3", "train.steps=4000"]),
            paper: row("ad"),
            data: BEHAVIOUR,
            ..DEFAULT
        }),
    },
    Entry {
        key: "ad-sorted",
        label: "AD-sorted",
        colours: ["#D55E00", "#FF8C4B"],
        role: Role::Agent(AgentRecipe {
            method: "ad-sorted",
            trained: Trained::Everywhere {
                settings: &["model.layers=3", "train.steps=4000"],
                // The goal is not seen in an episode that it ends: to be asked for the reward helps to find it in the history.
                except: &[
                    ("dark-room-hard", &["model.reward_head=1", "train.steps=20000"]),
                    ("key-to-door", &["model.reward_head=1", "train.steps=6500"]),
                ],
            },
            paper: row("ad-sorted"),
            data: "the same, sorted by their noise",
            ..DEFAULT
        }),
    },
    Entry {
        key: "dpt",
        label: "DPT",
        colours: ["#B8860B", "#E5B94E"],
        role: Role::Agent(AgentRecipe {
            method: "dpt",
            trained: Trained::On(&[
                ("dark-room", &["train.steps=4500"]),
                ("dark-room-hard", &["train.steps=6500"]),
                ("key-to-door", &["train.steps=8500"]),
                (BIASED, &["train.steps=5000"]),
            ]),
            data: "exploring policies' episodes with the best action at every step",
            ..DEFAULT
        }),
    },
    Entry {
        key: "mgdt",
        label: "MGDT",
        colours: ["#8A6D3B", "#C9AA72"],
        role: Role::Agent(AgentRecipe {
            method: "mgdt",
            trained: everywhere(&["model.layers=2", "model.width=64", "train.steps=3000"]),
            paper: flat_row("mgdt"),
            data: BEHAVIOUR,
            cost: 0.5,
            ..DEFAULT
        }),
    },
    Entry {
        key: "icee-no-searchers",
        label: "ICEE, no exploring policies",
        colours: ["#8A6D3B", "#C9AA72"],
        role: Role::Agent(AgentRecipe {
            trained: Trained::On(&[("dark-room", &["data.searchers=0", "train.steps=7000"])]),
            data: NOVICES,
            ..ABLATION
        }),
    },
    Entry {
        key: "icee-always-one",
        label: "ICEE, always-one",
        colours: ["#E69F00", "#F4B942"],
        role: Role::OtherActing,
    },
    Entry {
        key: "source",
        label: "Source",
        colours: ["#8C8C8C", "#9A9A9A"],
        role: Role::Reference { agent: Reference::Source, paper: flat_row("source") },
    },
    Entry {
        key: "posterior",
        label: "posterior sampling",
        colours: ["#3A3A3A", "#E2E2E2"],
        role: Role::Reference { agent: Reference::Posterior, paper: None },
    },
    Entry {
        key: "sweep",
        label: "sweep",
        colours: ["#7A4FA3", "#B99ADF"],
        role: Role::Reference { agent: Reference::Sweep, paper: None },
    },
    Entry {
        key: "ucb",
        label: "UCB1",
        colours: ["#D55E00", "#FF8C4B"],
        role: Role::Reference { agent: Reference::Ucb, paper: None },
    },
    Entry {
        key: "gittins",
        label: "Gittins index",
        colours: ["#117733", "#5DBB7D"],
        role: Role::Reference { agent: Reference::Gittins, paper: None },
    },
    Entry {
        key: "oracle",
        label: "oracle",
        colours: ["#6B6B6B", "#B8B8B8"],
        role: Role::Reference { agent: Reference::Oracle, paper: None },
    },
    Entry {
        key: "value",
        label: "ICEE, value",
        colours: ["#0072B2", "#4DA9E8"],
        role: Role::Optimiser { preset: "bo-value", settings: &[], shown: Shown { comparison: true, ablation: true } },
    },
    Entry {
        key: "table",
        label: "ICEE, table",
        colours: ["#7A4FA3", "#B99ADF"],
        role: Role::Optimiser {
            preset: "bo-table",
            settings: &[],
            // It has a chapter of its own.
            shown: Shown { comparison: false, ablation: false },
        },
    },
    Entry {
        key: "value-paper-prior",
        label: "value, paper's prior",
        colours: ["#56B4E9", "#A3D8F7"],
        role: Role::Optimiser {
            preset: "bo-value",
            settings: &["world=GpPaper-v0", "train.steps=6000"],
            shown: Shown { comparison: false, ablation: true },
        },
    },
    Entry {
        key: "exact",
        label: "exact objective",
        colours: ["#E69F00", "#F4B942"],
        role: Role::Optimiser { preset: "bo-exact", settings: &[], shown: Shown { comparison: false, ablation: true } },
    },
    Entry { key: "gp-ei", label: "GP-EI", colours: ["#D55E00", "#FF8C4B"], role: Role::Rival },
    Entry {
        key: "paper",
        label: "ICEE, paper's objective",
        colours: ["#009E73", "#35C79B"],
        role: Role::Optimiser { preset: "bo-paper", settings: &[], shown: Shown { comparison: true, ablation: true } },
    },
    Entry {
        key: "biased",
        label: "ICEE-biased",
        colours: ["#CC79A7", "#E79FC6"],
        role: Role::Optimiser {
            preset: "bo-biased",
            settings: &[],
            shown: Shown { comparison: true, ablation: false },
        },
    },
    Entry { key: "random", label: "random", colours: ["#8C8C8C", "#9A9A9A"], role: Role::Rival },
    Entry { key: "botorch", label: "BoTorch", colours: ["#009E73", "#35C79B"], role: Role::OtherTool },
    Entry { key: "forest", label: "random forest", colours: ["#E69F00", "#F4B942"], role: Role::OtherTool },
];

/// The entry of a key.
#[must_use]
pub fn entry(key: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.key == key)
}

/// The world of a key.
#[must_use]
pub fn world(key: &str) -> Option<&'static CatalogueWorld> {
    worlds().find(|world| world.key == key)
}

impl Entry {
    /// How it is trained; none where it is no trained agent.
    #[must_use]
    pub fn agent(&self) -> Option<&AgentRecipe> {
        if let Role::Agent(recipe) = &self.role { Some(recipe) } else { None }
    }

    /// The row of the paper's tables that it stands beside.
    #[must_use]
    pub fn paper(&self) -> Option<PaperRow> {
        match &self.role {
            Role::Agent(recipe) => recipe.paper,
            Role::Reference { paper, .. } => *paper,
            Role::OtherActing | Role::Optimiser { .. } | Role::Rival | Role::OtherTool => None,
        }
    }
}

/// The name of an optimiser's model.
#[must_use]
pub fn optimiser_model(key: &str) -> String {
    format!("bo__{key}")
}

/// Whether it is the key of an optimiser of plain code.
#[must_use]
pub fn is_rival(key: &str) -> bool {
    entry(key).is_some_and(|entry| entry.role == Role::Rival)
}

impl AgentRecipe {
    /// What is changed in the presets on a world; none where it is not trained there.
    #[must_use]
    pub(crate) fn settings_on(&self, world: &CatalogueWorld) -> Option<&'static [&'static str]> {
        let of = |list: &[(&str, Settings)]| list.iter().find(|(key, _)| *key == world.key).map(|(_, own)| *own);
        match self.trained {
            Trained::Everywhere { settings, except } => Some(of(except).unwrap_or(settings)),
            Trained::On(worlds) => of(worlds),
        }
    }

    /// Whether it stands in a world's chapter.
    #[must_use]
    pub(crate) fn in_chapter_of(&self, world: &CatalogueWorld) -> bool {
        match self.chapters {
            Chapters::All => true,
            Chapters::Of(worlds) => worlds.contains(&world.key),
            Chapters::None => false,
        }
    }
}

impl CatalogueWorld {
    /// The name of a model or agent on this world.
    #[must_use]
    pub fn model(&self, key: &str) -> String {
        format!("{}__{key}", self.key)
    }

    /// The learned methods of its chapter.
    pub fn methods(&'static self) -> impl Iterator<Item = &'static Entry> {
        self.trained().filter_map(|(entry, recipe)| recipe.in_chapter_of(self).then_some(entry))
    }

    /// The agents that may be trained on it.
    pub(crate) fn trained(&'static self) -> impl Iterator<Item = (&'static Entry, &'static AgentRecipe)> {
        let here = |entry: &&Entry| self.in_paper || entry.key == ICEE;
        ENTRIES.iter().filter(here).filter_map(|entry| entry.agent().map(|recipe| (entry, recipe)))
    }

    /// The agents of plain code of its chapter, in order.
    pub fn references(&'static self) -> impl Iterator<Item = (&'static Entry, Reference)> {
        references().filter(|(_, agent)| self.references.contains(agent))
    }
}

/// The agents of plain code, in order.
pub fn references() -> impl Iterator<Item = (&'static Entry, Reference)> {
    ENTRIES
        .iter()
        .filter_map(|entry| if let Role::Reference { agent, .. } = entry.role { Some((entry, agent)) } else { None })
}

/// The optimisers of the comparison with the paper's, rivals included.
pub fn compared_optimisers() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().filter(|entry| match entry.role {
        Role::Optimiser { shown, .. } => shown.comparison,
        Role::Rival => true,
        Role::Agent(_) | Role::OtherActing | Role::Reference { .. } | Role::OtherTool => false,
    })
}

/// The optimisers of the ablation.
pub fn ablated_optimisers() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().filter(|entry| matches!(entry.role, Role::Optimiser { shown, .. } if shown.ablation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_there_once_and_worlds_are_known() {
        for (index, entry) in ENTRIES.iter().enumerate() {
            assert!(ENTRIES[..index].iter().all(|other| other.key != entry.key), "{}", entry.key);
            let Some(recipe) = entry.agent() else { continue };
            let (Trained::Everywhere { except: named, .. } | Trained::On(named)) = recipe.trained;
            let chapters = if let Chapters::Of(worlds) = recipe.chapters { worlds } else { &[] };
            for key in named.iter().map(|(key, _)| key).chain(chapters) {
                assert!(world(key).is_some(), "{}: {key}", entry.key);
            }
        }
        let registry = icee_worlds::Registry::builtin();
        assert!(WORLDS.iter().all(|world| registry.make(world.id).is_ok()));
        let biased: Vec<&str> = world(BIASED).unwrap().methods().map(|entry| entry.key).collect();
        let expected =
            ["icee", "icee-offline", "icee-paper", "icee-biased", "icee-weighted", "ad", "ad-sorted", "dpt", "mgdt"];
        assert_eq!(biased, expected);
        assert_eq!(WORLDS[0].methods().count(), 8);
    }
}
