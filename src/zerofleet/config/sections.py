"""Every setting of a run: its type, bounds, default and trade-off.

The core declares those of search and self-play (cpp/search/options.h, cpp/selfplay/options.h); the
sections in core_sections.py are generated from it. Sections are frozen and checked when built. No
setting is a secret: secrets come from the environment.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, model_validator

from zerofleet.config.core_sections import CoreSelfPlayConfig, SearchConfig
from zerofleet.config.section import Section

Device = Literal["auto", "cpu", "cuda", "mps"]
"""A device. auto: CUDA, then MPS, then CPU."""

MAX_SEED = 2**63 - 1
"""The largest seed."""

Count = Annotated[int, Field(ge=1, le=2**32 - 2)]
CountOrZero = Annotated[int, Field(ge=0, le=2**32 - 2)]
EvenCount = Annotated[int, Field(ge=0, le=1_000_000, multiple_of=2)]
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0, le=1e6)]


class GameConfig(Section):
    """The game. It is fixed for the run."""

    name: str
    """One of `zerofleet games`, or a custom game by its file and class."""

    options: dict[str, int | str] = Field(default={})
    """Options of the game, such as Gomoku's size. A larger board needs a larger network and more
    and longer games."""

    rules: str = ""
    """Fingerprint of a custom game, written by zerofleet so that a run notices changed rules. Empty
    for the games that come with the package."""


def game_text(game: str, options: Mapping[str, int | str]) -> str:
    """The game with its options: gomoku size=9 line=5 rule=freestyle."""
    return " ".join([game, *(f"{name}={value}" for name, value in options.items())])


class SelfPlayConfig(CoreSelfPlayConfig):
    """How games are played."""

    num_groups: Annotated[int, Field(ge=0, le=2**12)] = 0
    """Groups of games. While one group's batch is evaluated the others search; with too few, one
    side waits. 0: two where a thread both searches and evaluates; search threads + 5 with a GPU."""

    games_per_group: Annotated[int, Field(ge=0, le=2**16)] = 512
    """Games per group, so also leaves per batch. More uses a GPU better; fewer finish games and
    adopt new weights sooner. 0: measured at the start, doubled while that makes the device 10 %
    faster."""


class OpponentConfig(Section):
    """Another network that plays one seat of some games, each seat equally often. It gives no
    targets: its positions train the value, by the outcome of the game."""

    share: Share = 0
    """Share of the games that have an opponent. The rest are games of the newest weights against
    themselves. More teaches to beat other players, and gives fewer policy targets per game."""

    source: str = ""
    """The opponent's weights, set by `zerofleet exploit`; a copy lies in the run folder. Empty:
    weights that the run itself has kept, drawn at random after each publication."""

    sha256: str = ""
    """The SHA-256 of that copy, set with it; others are refused."""

    simulations: Count = 64
    """Simulations per move of the opponent's search, which is that of a match. More is a stronger
    opponent and slower games. With selfplay.afterstates it evaluates whole turns instead."""

    temperature: Weight = 0
    """Temperature of the opponent, for its first selfplay.temperature_drop_move turns. Higher gives
    more varied and weaker play. 0: the best action."""


class NetworkConfig(Section):
    """The network. It is fixed for the run."""

    preset: str = "small"
    """tiny, small, medium or large; Beasty Bar has further architectures, such as cards-small and
    places-small. Larger plays stronger in the end and is slower throughout. Or the name of a custom
    network: see zf.nets.register."""

    options: dict[str, bool | int | float] = Field(default={})
    """Hyperparameters that differ from the preset, by the network's own names."""


class ReplayConfig(Section):
    """The replay buffer, the targets of its rows and the log of games."""

    capacity_rows: Count = 1_000_000
    """Size of the replay buffer: samples are drawn from the newest rows. Larger is more stable,
    smaller is fresher. A position gives one row, or two where hands are hidden: one per player."""

    min_rows: Count = 20_000
    """Rows before training begins. Fewer begins sooner and overfits the first games."""

    samples_per_row: Annotated[float, Field(gt=0, le=1000)] = 8
    """Replay ratio: how often a row is trained on, on average. Higher learns more from each game
    until it overfits. The rate limiter makes the faster of self-play and training wait."""

    value_target_q_ratio: Share = 0.25
    """Weight of the root value in the value target; the rest is the game's outcome. More lowers
    variance and keeps the network's own errors longer."""

    value_target_lambda: Share = 0
    """λ of TD(λ) for that root value: the target mixes the root values of later turns, each with
    weight λ relative to the one before it, and ends in the outcome. 0: the position's own root
    value alone. Higher has more variance and learns sooner from distant results."""

    use_solved_values: bool = False
    """Exact values as value targets, wherever the game's solver knows them: endings of Beasty Bar,
    bear-offs of backgammon, Connect Four from 24 discs on, wins by threats of Gomoku. They replace
    both the root value and the outcome there, and end the trace of TD(λ). Lower variance, but the
    network learns from more than its own play, and each such position is solved when its game
    arrives."""

    policy_surprise_weight: Share = 0
    """Policy-surprise weighting (KataGo): share of the samples drawn in proportion to how far the
    search moved the policy, instead of uniformly. More favours what is new over the rest. Not with
    selfplay.afterstates, which has no prior policy."""

    reanalyse_share: Annotated[float, Field(ge=0, lt=1)] = 0
    """Reanalysis (MuZero): share of the searched games that come from the replay buffer. They are
    searched again with the newest weights, which replaces their targets. More keeps targets fresh
    and leaves less time for new games. Only in one process."""

    turn_ahead_weight: Annotated[float, Field(ge=1, le=1000)] = 1
    """How much more often a row whose value target looks a turn ahead is drawn than another. Higher
    trains more on exact expectations and less on policies. Needs selfplay.turn_ahead_probability.
    """

    segment_bytes: Annotated[int, Field(ge=2**10, le=2**30)] = 2**24
    """Size of one file of the log of games. Old games are deleted by whole files: smaller keeps
    closer to the bounds, with more files."""

    max_log_bytes: Annotated[int, Field(ge=2**10, le=2**50)] = 2**32
    """Disk space of the log of games. Beyond it the oldest games are deleted, except those that the
    replay buffer needs. More keeps more games to look at."""

    fsync_interval_s: Annotated[float, Field(ge=0, le=3600)] = 2
    """Longest time between two fsyncs of the log, and of the spool of a fleet's worker. Longer is
    faster and loses more games in a power failure; a killed process loses none."""

    @model_validator(mode="after")
    def _training_can_begin(self) -> Self:
        if self.min_rows > self.capacity_rows:
            raise ValueError(
                f"min_rows ({self.min_rows}) is more than capacity_rows "
                f"({self.capacity_rows}), so training would never begin"
            )
        return self


class TrainConfig(Section):
    """Optimiser, losses, published weights and checkpoints."""

    batch_size: Annotated[int, Field(ge=1, le=2**20)] = 1024
    """Samples per step. Larger gives smoother gradients and uses a GPU better, with fewer steps per
    game."""

    learning_rate: Annotated[float, Field(gt=0, le=10)] = 1e-3
    """Learning rate of AdamW after the warm-up. Higher learns faster until it diverges."""

    weight_decay: Weight = 1e-4
    """Weight decay of AdamW on matrices and kernels. More generalises better until it underfits."""

    max_grad_norm: Annotated[float, Field(gt=0, le=1e6)] = 1
    """Gradient norm above which gradients are clipped. Smaller is safer and slower."""

    warmup_steps: CountOrZero = 200
    """Steps of linear learning-rate warm-up. Fewer risks a bad start."""

    schedule: Literal["constant", "cosine"] = "constant"
    """Learning-rate schedule. cosine decays to zero at the run's end (see stop) and ends stronger;
    without an end it is constant. A deterministic run ignores stop.minutes for it."""

    value_loss_weight: Weight = 1
    """Weight of the value loss beside the policy loss. More favours values over policies."""

    auxiliary_loss_weight: Weight = 0.15
    """Weight of each auxiliary head's loss. More trains the trunk faster and distracts it."""

    loss_terms: dict[str, Annotated[float, Field(ge=-1e6, le=1e6)]] = Field(default={})
    """Custom loss terms with their weights: see zf.training.register_loss_term."""

    ema_decay: Annotated[float, Field(ge=0, lt=1)] = 0.995
    """Decay per step of the exponential moving average of the weights; the average plays. Nearer 1
    is steadier and lags more. 0: the weights themselves play."""

    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """Floating-point format of the forward pass; 16 bits are faster on a GPU. auto: bf16 on a GPU
    that has it, else fp16; fp32 on a CPU."""

    publish_every_steps: Count = 200
    """Steps between published versions of the weights. Fewer keeps self-play fresher, with more
    weight swaps and cache misses."""

    checkpoint_every_steps: Count | None = None
    """Steps between checkpoints. Fewer loses less in a crash and writes more. null: only
    checkpoint_every_minutes counts."""

    checkpoint_every_minutes: Annotated[float, Field(gt=0, le=1e6)] | None = 5
    """Minutes between checkpoints; with checkpoint_every_steps, whichever comes first. Where both
    are null, only the end of the run is saved."""

    keep_checkpoints: Count = 3
    """Newest checkpoints kept on disk. More survives more damage and takes more space."""

    keep_all_weights: bool = False
    """Keep the weights of every checkpoint, not only of the newest and the rated ones. Takes space;
    lets you measure afterwards how strength grew."""


class RatingConfig(Section):
    """How the strength of the newest weights is measured, during training and at the end."""

    interval_minutes: Annotated[float, Field(ge=0, le=1e6)] = 10
    """Minutes between ratings. Shorter gives a finer curve and takes time from training. 0: only at
    the end, as in deterministic runs."""

    games: EvenCount = 100
    """Games against each opponent. The confidence interval shrinks with their square root."""

    final_games: EvenCount = 1000
    """Games against each opponent at the end of the run. 0: none."""

    opponents: list[str] = Field(default=["random", "start"])
    """Opponents, as players of `zerofleet match`; start is the run before its first step."""

    simulations: Count = 64
    """Simulations per move of the rated player and of start. More plays stronger and slower."""


class FleetConfig(Section):
    """How roles on several machines keep in step. A run in one process reads none of these."""

    play_ahead_rows: CountOrZero = 1_000_000
    """Rows that a worker plays and keeps on its disk while no trainer runs or Redis cannot be
    reached. More uses the time, with games by older weights. 0: it pauses at once."""

    max_spool_bytes: Annotated[int, Field(ge=2**20, le=2**50)] = 2**30
    """Disk space of a worker for games that the trainer has not confirmed. At the bound it
    pauses."""

    max_backlog_bytes: Annotated[int, Field(ge=2**20, le=2**50)] = 2**29
    """Memory of Redis for games that wait for the trainer. At the bound workers keep games on their
    own disks. Keep it well below Redis' maxmemory."""

    weights_from: Literal["redis", "s3"] = "redis"
    """Where workers and inference servers fetch new weights: from Redis, or from run.s3_url, which
    serves any number at once and takes longer for each. Raters use Redis."""

    max_versions_behind: Count = 10
    """Published versions that a worker may lag before it stops to load the newest."""

    max_seconds_behind: Annotated[float, Field(gt=0, le=1e6)] = 120
    """Seconds that a worker may play on after newer weights were published."""

    trainer_timeout_s: Annotated[float, Field(ge=1, le=3600)] = 15
    """Silence after which a trainer counts as away, and another may take the run over. Shorter
    reacts sooner; longer rides out longer pauses of the network."""

    pace_slack_s: Annotated[float, Field(ge=0, le=600)] = 1
    """Seconds of self-play that workers may run ahead of replay.samples_per_row, since games and
    the pace take time to travel; at most a quarter of the replay buffer. More hides slower links;
    less keeps the ratio closer."""

    block_lease_s: Annotated[float, Field(ge=1, le=1e6)] = 600
    """Seconds that a rater has for a block of 64 rating games before another may play it. Longer
    suits slow players; shorter replaces a dead rater sooner."""

    max_batch_rows: Annotated[int, Field(ge=1, le=2**16)] = 4096
    """Most rows that an inference server evaluates at once, and takes in one request. More fills a
    large GPU better and takes its memory. Workers' groups must not be larger."""

    max_wait_ms: Annotated[float, Field(ge=0, le=1000)] = 2
    """Longest time that an inference server with a batch in flight waits to merge a request with
    others. Longer fills batches of a GPU better; shorter answers sooner."""

    inference_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 5
    """Seconds after which a worker asks another inference server. Shorter leaves a hung one sooner;
    longer rides out a slow one."""

    inference_fallback: bool = False
    """Whether a worker evaluates by itself while no inference server answers. It then fetches all
    weights; else it waits."""

    resend_after_s: Annotated[float, Field(gt=0, le=3600)] = 30
    """Seconds after which a worker sends a game again that the trainer has not confirmed. Shorter
    repairs a lost Redis sooner; longer repeats less to a slow trainer."""


class LendConfig(Section):
    """Games that browsers play for the run, through a gateway (`zerofleet dash --lend`)."""

    refresh_minutes: Annotated[float, Field(ge=0, le=1e5)] = 10
    """Minutes between new weights for browsers. More saves their links and yours; fewer play with
    newer weights."""

    deadline_minutes: Annotated[float, Field(gt=0, le=1e5)] = 60
    """Minutes that a browser has for the games that it was given. More suits slow devices and
    closed tabs; fewer bring games by newer weights."""

    max_games_at_once: Annotated[int, Field(ge=1, le=64)] = 16
    """Games that a browser plays concurrently, at most. More fill its batches better and need more
    of its memory."""

    min_simulations: CountOrZero = 0
    """Fewest simulations per search that a browser may choose; the most are the run's own. 0: it
    may not choose."""


class StopConfig(Section):
    """When a run ends: at whichever comes first. Where all are null, at Ctrl-C."""

    steps: Count | None = None
    """Training steps of the whole run."""

    games: Count | None = None
    """Finished games of the whole run."""

    rows: Count | None = None
    """Training rows of the whole run."""

    minutes: Annotated[float, Field(gt=0, le=1e9)] | None = None
    """Minutes of this session; resuming a run starts the count again."""


class RunConfig(Section):
    """Seed, devices and threads."""

    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 1
    """Seed of weights, games and samples. Only a deterministic run repeats with it."""

    deterministic: bool = False
    """Run self-play and training in lockstep in one thread. Slow, but reproducible bit for bit."""

    device: Device = "auto"
    """Device of self-play and training unless the next two say otherwise. auto: CUDA, then MPS,
    then CPU."""

    inference_devices: list[str] = Field(default=[])
    """GPUs for inference, such as [cuda:1, cuda:2]. Each has num_groups * games_per_group games of
    its own and its share of the threads. Empty: device."""

    training_devices: list[str] = Field(default=[])
    """Devices for training, such as [cuda:0]. Several train data-parallel, one process per device:
    the same steps, faster where batches are large. Empty: device."""

    num_threads: Annotated[int, Field(ge=0, le=4096)] = 0
    """Threads for search, inference and training together. 0: one per core."""

    evaluator: Literal["auto", "torch", "onnx", "remote"] = "auto"
    """Inference engine. auto: ONNX Runtime on a CPU, where it is faster, else torch. remote: the
    workers of a fleet ask its inference servers; all other roles take auto."""

    compile_inference: bool = True
    """Compile the network for inference on a CUDA GPU: half a minute at the first start, then up to
    twice as fast."""

    compile_training: bool = True
    """Compile the network for training on a CUDA GPU: about a minute at the start, then up to twice
    as fast. Networks of boards (Gomoku, Connect Four) are never compiled for training."""

    s3_url: Annotated[str, Field(pattern=r"^s3://[a-z0-9]")] | None = None
    """Folder in S3, s3://BUCKET/PREFIX, to which each checkpoint is uploaded with the games and
    weights so far; `--s3` sets it. More frequent checkpoints lose less with the machine and upload
    more. Credentials come from the environment. null: none."""

    inference_threads: Annotated[int, Field(ge=0, le=4096)] = 0
    """How many of num_threads search and evaluate on a CPU; the others train. More plays more
    games per step. 0: all but a quarter."""

    @property
    def own_evaluator(self) -> Literal["auto", "torch", "onnx"]:
        """Of a role that evaluates by itself."""
        return "auto" if self.evaluator == "remote" else self.evaluator


class Config(Section):
    """All settings of a run."""

    game: GameConfig
    search: SearchConfig = SearchConfig()
    selfplay: SelfPlayConfig = SelfPlayConfig()
    opponent: OpponentConfig = OpponentConfig()
    network: NetworkConfig = NetworkConfig()
    replay: ReplayConfig = ReplayConfig()
    train: TrainConfig = TrainConfig()
    rating: RatingConfig = RatingConfig()
    fleet: FleetConfig = FleetConfig()
    lend: LendConfig = LendConfig()
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

    @model_validator(mode="after")
    def _weights_have_a_place(self) -> Self:
        if self.fleet.weights_from == "s3" and self.run.s3_url is None:
            raise ValueError("fleet.weights_from=s3 needs run.s3_url, where the run is saved")
        return self

    @model_validator(mode="after")
    def _repeats_itself(self) -> Self:
        if self.run.deterministic and self.replay.reanalyse_share > 0:
            raise ValueError(
                "run.deterministic=true repeats a run from its log of games, which has the targets "
                "of their first searches; set replay.reanalyse_share to 0"
            )
        if self.run.deterministic and self.opponent.share > 0 and not self.opponent.source:
            raise ValueError(
                "run.deterministic=true cannot repeat which earlier weights were kept when; set "
                "opponent.share to 0, or name an opponent (zerofleet exploit)"
            )
        return self

    @model_validator(mode="after")
    def _turns_ahead_are_evaluated(self) -> Self:
        if self.selfplay.turn_ahead_probability > 0 and not self.selfplay.afterstates:
            raise ValueError(
                "selfplay.turn_ahead_probability "
                f"({self.selfplay.turn_ahead_probability}) needs selfplay.afterstates=true"
            )
        if self.replay.turn_ahead_weight > 1 and self.selfplay.turn_ahead_probability == 0:
            raise ValueError(
                f"replay.turn_ahead_weight ({self.replay.turn_ahead_weight}) needs "
                "selfplay.turn_ahead_probability above 0: there are no such rows"
            )
        return self

    def for_core(self) -> dict[str, Any]:
        """The settings of search and self-play as the core takes them."""
        selfplay = self.selfplay.model_dump(exclude={"num_groups", "games_per_group"})
        return self.search.model_dump() | selfplay

    def to_yaml(self) -> str:
        """Every setting, as a file that `read` reads."""
        return yaml.safe_dump(self.model_dump(), sort_keys=False)


def differences(old: Config, new: Config) -> dict[str, tuple[Any, Any]]:
    """The settings that differ, by full name, with their old and new values."""
    before, after = (dict(leaves(each.model_dump())) for each in (old, new))
    names = dict.fromkeys([*before, *after])
    return {
        name: (before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    }


def leaves(settings: dict[str, Any], outer: str = "") -> Iterator[tuple[str, Any]]:
    """Each value in nested sections, with its full name."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{outer}{name}.")
        else:
            yield f"{outer}{name}", value
