"""Everything that can be set in a run: what it is, what it may be, and what it trades.

Frozen, and checked when built. How they are read from files is in zerofleet.config. There is no
setting for a secret: those come from the environment.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

Device = Literal["auto", "cpu", "cuda", "mps"]
"""What computes. auto: CUDA, then MPS, then CPU."""

MOST_SEED = 2**63 - 1
"""The largest seed."""

Count = Annotated[int, Field(ge=1, le=2**32 - 2)]
CountOrZero = Annotated[int, Field(ge=0, le=2**32 - 2)]
EvenCount = Annotated[int, Field(ge=0, le=1_000_000, multiple_of=2)]
Bytes = Annotated[int, Field(ge=1, le=2**40)]
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0, le=1e6)]


class Section(BaseModel):
    """Settings that belong together; frozen, and nothing is converted to fit."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        validate_default=True,
    )


class GameConfig(Section):
    """What is played."""

    name: str
    """One of `zerofleet games`, or where a custom game is: its file and class."""

    options: dict[str, int | str] = {}
    """The game's options, such as Gomoku's size. A larger board takes longer games, a larger
    network and many more of both."""

    rules: str = ""
    """Of a custom game: its fingerprint, written here by zerofleet so that a run notices when
    the rules have changed. Empty for the games that come with it."""


def game_text(game: str, options: Mapping[str, int | str]) -> str:
    """The game with its options: gomoku size=9 line=5 rule=freestyle."""
    return " ".join([game, *(f"{name}={value}" for name, value in options.items())])


class SearchConfig(Section):
    """The search of a decision that gives a policy target."""

    num_simulations: Count = 200
    """Leaf evaluations per move. Doubling it roughly doubles the cost of a game and gives better
    policy targets."""

    root: Literal["puct", "gumbel"] = "puct"
    """puct, or gumbel, whose targets are good with few simulations but which plays without
    temperature and keeps no tree."""

    c_puct: Weight = 0
    """Weight of the prior against the values found. Larger looks wider, smaller deeper. 0: what
    suits the game."""

    fpu_reduction: Annotated[float, Field(ge=0, le=2)] = 0.2
    """How much worse than its parent an action not yet tried is thought to be. Larger looks deeper
    where priors are good, and finds less where they are not."""

    dirichlet_epsilon: Share = 0.25
    """Share of noise in the root's priors (PUCT). More finds what the network overlooks, at the
    price of visits to bad actions."""

    dirichlet_alpha: Weight = 0
    """Concentration of that noise; smaller puts it on fewer actions. 0: 10 / legal actions."""

    forced_playouts: Weight = 2
    """Visits that an action tried at the root is owed (PUCT), noise or not, so that noise is really
    looked at: sqrt(this * prior * visits). Targets are cleared of them. 0 is off, and cheaper."""

    prove: bool = True
    """Prove wins and losses where nothing is hidden. Costs little; off to see the search bare."""

    opponent_nodes: Literal["pooled", "per_hand"] = "pooled"
    """How an opponent's decision is remembered where its hand is hidden: all hands in one node,
    which gathers visits faster, or one node each, which tells them apart."""

    max_considered: Annotated[int, Field(ge=0, le=65535)] = 0
    """Gumbel: root actions that get a look. Fewer are looked at more closely. 0: as many as the
    simulations can tell apart."""

    gumbel_scale: Weight = 1
    """Gumbel: noise that draws the candidates. More explores, less plays stronger games."""

    gumbel_c_visit: Weight = 50
    """Gumbel: with gumbel_c_scale, how strongly the values found move the policy. Larger trusts
    the search over the network."""

    gumbel_c_scale: Weight = 0.5
    """Gumbel: see gumbel_c_visit."""

    max_bytes: Bytes = 2**26
    """Memory of one game's tree, of which there are num_groups * games_per_group. When it is
    reached a search ends early."""


class SelfPlayConfig(Section):
    """How games are played against itself."""

    full_search_probability: Annotated[float, Field(gt=0, le=1)] = 1
    """Playout-cap randomisation: probability that a decision gets a full search and a policy
    target. The others get a fast search without exploration: more games, so more results to learn
    values from, for the same work, but fewer policies."""

    fast_simulations: Count = 32
    """Simulations of a fast search. Fewer give more games, weaker ones."""

    afterstates: bool = False
    """Weigh every position in which a turn can end, by one look of the network each, instead of a
    search; only where nothing is hidden. For games such as backgammon, where a turn is several
    decisions and few simulations hardly see its end. gumbel_c_visit and gumbel_c_scale say how
    sharply the policy prefers what is worth more; of the other settings of searches only max_bytes
    counts then, and full_search_probability, fast_simulations and cache_bytes do not."""

    temperature: Weight = 1
    """Actions are drawn in proportion to visits ** (1 / temperature) (PUCT, whole turns). Higher
    plays more varied and weaker games."""

    temperature_drop_move: CountOrZero = 30
    """Turns of a game, of those with something to decide, after which final_temperature holds. All
    that a player does before another, or chance, acts is one turn. Later is more varied."""

    final_temperature: Weight = 0
    """The temperature after that. 0 plays the best action, so results are worth more."""

    reuse_tree: bool = True
    """Keep the part of the tree that was played into (PUCT, nothing hidden): more looks for the
    same work, but trees stay larger."""

    cache_bytes: Annotated[int, Field(ge=0, le=2**40)] = 2**28
    """Memory for remembered evaluations, shared by all games of a process and taken as it fills. 0
    remembers none, but where hands are hidden the opponent's priors, in each game apart: 512 bytes
    per simulation, 16 MiB at most. Pays where games share openings and the network is slow."""

    num_groups: Annotated[int, Field(ge=0, le=2**12)] = 0
    """Groups of games. While one is evaluated the others search: with too few, one side waits. 0:
    two where a thread both searches and evaluates; with a GPU five more than search threads."""

    games_per_group: Annotated[int, Field(ge=0, le=2**16)] = 512
    """Games in a group, so also leaves in a batch. More uses a GPU better; fewer finish games, and
    new weights are used, sooner. 0: measured at the start, doubled as long as that makes the device
    a tenth faster."""


class NetworkConfig(Section):
    """The network that learns. It cannot change during a run."""

    preset: str = "small"
    """tiny, small, medium or large; Beasty Bar has other kinds too, such as cards-small and
    places-small. Larger is stronger in the end, slower all along. Or the name of a custom network:
    see zf.nets.register."""

    options: dict[str, bool | int | float] = {}
    """What differs from the preset, by the network's own names."""


class ReplayConfig(Section):
    """Which games are learnt from, and how often."""

    capacity_rows: Count = 1_000_000
    """Size of the replay buffer: samples are drawn from the newest rows. More is steadier, fewer is
    fresher. A position gives one row, or two where hands are hidden: one for each player."""

    min_rows: Count = 20_000
    """Rows before training begins. Fewer begins sooner and overfits the first games."""

    samples_per_row: Annotated[float, Field(gt=0, le=1000)] = 8
    """Replay ratio: how often a row is trained on, on average. More makes the most of a game, too
    much overfits; the faster of self-play and training waits for the other."""

    value_target_q_ratio: Share = 0.25
    """Share of what the search thought in the value target; the rest is how the game ended. More
    is less noisy, and believes the network's own errors longer."""

    value_target_lambda: Share = 0
    """How far that looks ahead, lambda of TD(lambda): each later turn's search counts so much of
    the one before it, and how the game ended what is left. 0: the position's own search alone. More
    is noisier, and learns sooner where results are far away."""

    value_target_cut_exploratory: bool = False
    """Cut the trace at exploratory actions (Watkins's Q(lambda)): those that the search held for
    worse than another. The search there stands for all that came after it, the end of the game too.
    Values are then those of good play, and learn later from results."""

    policy_surprise_weight: Share = 0
    """Share of the draws that goes by how much the search corrected the network, instead of
    evenly. More looks at what is new, and less at the rest. Not with selfplay.afterstates, which
    corrects no policy of the network."""

    segment_bytes: Annotated[int, Field(ge=2**10, le=2**30)] = 2**24
    """Size of one file of the log of games. Old games are removed by whole files: smaller follows
    the bounds more closely, with more files."""

    max_log_bytes: Annotated[int, Field(ge=2**10, le=2**50)] = 2**32
    """Disk for the log of games. Above it the oldest are removed, but none that the buffer
    needs."""

    fsync_interval_s: Annotated[float, Field(ge=0, le=3600)] = 2
    """Longest time between forcing games to the disk itself. More is faster, and loses more where
    a machine loses power; a killed process loses nothing."""

    @model_validator(mode="after")
    def _training_can_begin(self) -> Self:
        if self.min_rows > self.capacity_rows:
            raise ValueError(
                f"min_rows ({self.min_rows}) is more than capacity_rows "
                f"({self.capacity_rows}), so training would never begin"
            )
        return self


class TrainConfig(Section):
    """How the network learns."""

    batch_size: Annotated[int, Field(ge=1, le=2**20)] = 1024
    """Samples per step. Larger is smoother and uses a GPU better, with fewer steps per game."""

    learning_rate: Annotated[float, Field(gt=0, le=10)] = 1e-3
    """Of AdamW, after the warm-up. Larger learns faster until it diverges."""

    weight_decay: Weight = 1e-4
    """Pull of matrices and kernels to zero. More generalises better until it fits worse."""

    max_grad_norm: Annotated[float, Field(gt=0, le=1e6)] = 1
    """Gradients longer than this are shortened. Smaller is safer and slower."""

    warmup_steps: CountOrZero = 200
    """Steps in which the rate rises to its full height. Fewer risks a bad start."""

    schedule: Literal["constant", "cosine"] = "constant"
    """cosine falls to nothing towards the run's end (see stop) and ends stronger; without an end
    it stays level, as constant does. A deterministic run does not look at the clock for it."""

    value_loss_weight: Weight = 1
    """Weight of the outcome's loss beside the policy's."""

    auxiliary_loss_weight: Weight = 0.15
    """Weight of each auxiliary head's loss. More teaches the body faster, and distracts it."""

    loss_terms: dict[str, Annotated[float, Field(ge=-1e6, le=1e6)]] = {}
    """Custom loss terms and the weight of each: see zf.training.register_loss_term."""

    ema_decay: Annotated[float, Field(ge=0, lt=1)] = 0.995
    """Decay of the exponential moving average of the weights, which plays. Nearer 1 is steadier and
    lags more. 0: the weights themselves."""

    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Numbers of the forward pass; shorter ones are faster on a GPU. auto: bf16 where a GPU has it,
    else fp16 there, fp32 on a CPU."""

    publish_every_steps: Count = 200
    """Steps between versions of the weights that play. Fewer is fresher, with more swaps and
    cache misses."""

    checkpoint_every_steps: Count | None = None
    """Steps between checkpoints. Fewer loses less at a crash and writes more. null: see
    checkpoint_every_minutes."""

    checkpoint_every_minutes: Annotated[float, Field(gt=0, le=1e6)] | None = 5
    """Minutes between checkpoints; where both are set, whichever comes first. Where neither is,
    only the end is kept."""

    keep_checkpoints: Count = 3
    """Checkpoints that stay on disk, the newest. More survives more damage and takes more room."""

    keep_all_weights: bool = False
    """Keep the weights of every checkpoint, not only of the newest and of those that were rated:
    takes room, and lets one measure afterwards how strength has grown."""


class RatingConfig(Section):
    """How the strength of the newest weights is measured, beside training and at its end."""

    interval_minutes: Annotated[float, Field(ge=0, le=1e6)] = 10
    """Minutes between ratings. More often draws a finer curve, and takes time from training.
    0: only at the end, as in deterministic runs."""

    games: EvenCount = 100
    """Games against each opponent. More narrows the interval, by the square root."""

    final_games: EvenCount = 1000
    """Games against each opponent when the run has come to its end. 0: none."""

    opponents: list[str] = ["random", "start"]
    """Players by text, as in `zerofleet match`; start is the run before its first step."""

    simulations: Count = 64
    """Of the player that is rated, and of start. More plays stronger and takes longer."""


class StopConfig(Section):
    """When a run is done, whichever comes first. Where all are null, Ctrl-C ends it."""

    steps: Count | None = None
    """Training steps of the whole run."""

    games: Count | None = None
    """Finished games of the whole run."""

    rows: Count | None = None
    """Training rows of those games."""

    minutes: Annotated[float, Field(gt=0, le=1e9)] | None = None
    """Minutes of this session: one that resumes a run counts anew."""


class RunConfig(Section):
    """Where and how a run runs."""

    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = 1
    """Of weights, games and samples. Only a deterministic run is repeated by it."""

    deterministic: bool = False
    """Self-play and training take turns in one thread: slow, but a run can be repeated bit by
    bit."""

    device: Device = "auto"
    """What plays and trains, where the next two do not say. auto: CUDA, then MPS, then CPU."""

    inference_devices: list[str] = []
    """The GPUs that answer leaves, such as [cuda:1, cuda:2]: each has num_groups * games_per_group
    games of its own, and its share of the threads. Empty: device."""

    training_devices: list[str] = []
    """What trains, such as [cuda:0]. With several, a process on each takes its share of every
    batch: steps are faster where batches are large, and the same. Empty: device."""

    num_threads: Annotated[int, Field(ge=0, le=4096)] = 0
    """Threads for search, inference and training together. 0: one for each core."""

    evaluator: Literal["auto", "torch", "onnx"] = "auto"
    """What answers leaves. auto: ONNX Runtime on a CPU, where it is faster, else torch."""

    compile_inference: bool = True
    """Compile the network that plays, on a CUDA GPU: half a minute at the first start, then up to
    twice as fast."""

    compile_training: bool = True
    """Compile the network that learns, on a CUDA GPU: about a minute at the start, then up to
    twice as fast. Networks of boards (Gomoku, Connect Four) are never compiled for training."""

    inference_threads: Annotated[int, Field(ge=0, le=4096)] = 0
    """How many of num_threads play on a CPU, each searching and evaluating; the others train. 0:
    all but a quarter."""


class Config(Section):
    """All settings of a run."""

    game: GameConfig
    search: SearchConfig = SearchConfig()
    selfplay: SelfPlayConfig = SelfPlayConfig()
    network: NetworkConfig = NetworkConfig()
    replay: ReplayConfig = ReplayConfig()
    train: TrainConfig = TrainConfig()
    rating: RatingConfig = RatingConfig()
    stop: StopConfig = StopConfig()
    run: RunConfig = RunConfig()

    @model_validator(mode="after")
    def _surprise_has_priors(self) -> Self:
        if self.selfplay.afterstates and self.replay.policy_surprise_weight > 0:
            raise ValueError(
                f"replay.policy_surprise_weight ({self.replay.policy_surprise_weight}) needs "
                "searches, and selfplay.afterstates has none; set one of them to 0 or false"
            )
        return self

    def for_core(self) -> dict[str, Any]:
        """The settings of search and self-play as the core's self-play takes them."""
        selfplay = self.selfplay.model_dump(exclude={"num_groups", "games_per_group"})
        return self.search.model_dump() | selfplay

    def to_yaml(self) -> str:
        """Every setting, as a file that `read` reads."""
        return yaml.safe_dump(self.model_dump(), sort_keys=False)


def differences(old: Config, new: Config) -> dict[str, tuple[Any, Any]]:
    """The settings that differ, by full name, with their old and new values."""
    before, after = (dict(_leaves(each.model_dump())) for each in (old, new))
    names = dict.fromkeys([*before, *after])
    return {
        name: (before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    }


def _leaves(settings: dict[str, Any], outer: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{outer}{name}.")
        else:
            yield f"{outer}{name}", value
