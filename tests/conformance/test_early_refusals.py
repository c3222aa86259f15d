"""N13: what can be known before torch is imported is refused before, in one line, with exit code 2.

The table has a mistake for every argument and option of every command that takes a value; a test
walks the commands and holds that none is left out. All mistakes are made in one process, one after
the other; each tells what it was the first to import.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from fixtures.described_data import describe_model, describe_panel
from fixtures.small_runs import make_run
from fixtures.tiny_training import tiny_config
from tradingbot.agents.baselines.catalogue import RULES
from tradingbot.agents.baselines.price_rules import PRICE_RULES
from tradingbot.app.cli.application import build_application, run
from tradingbot.configuration import part_names
from tradingbot.data.ingest import ingest
from tradingbot.data.sources.synthetic import SyntheticSource
from tradingbot.data.store import BarStore
from tradingbot.data.universes import load_universe
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.backtest.baselines import ORACLES
from tradingbot.market.costs import COST_PROFILES, require_rate
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS
from tradingbot.plugins.reference import ORACLE_NAMES, RULE_NAMES, WITHOUT_PARAMETERS
from tradingbot.rewards.catalogue import reward_term
from tradingbot.rewards.presets import REWARD_PRESETS, reward_names
from tradingbot.runs import RunDirectory
from tradingbot.supervised.catalogue import CLASSIFIERS

IN_TURN = """
import contextlib, io, json, sys
from tradingbot.app.cli import application

for line in sys.stdin:
    before = set(sys.modules)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = application.run(["--workspace", sys.argv[1], *json.loads(line)])
    slow = {"torch", "lightgbm", "matplotlib", "mlflow", "gymnasium", "ray"}
    heavy = slow & set(sys.modules) - before
    print(json.dumps((code, out.getvalue(), err.getvalue(), sorted(heavy))))
"""

NO_RUN, NO_DATASET = "run must be the id of one run", "dataset must be a stored name"
NO_MARKET, NO_UNIVERSE = "market must be a known one", "universe must be a known name"
NO_COSTS, BAD_DAY = "cost profile must be known", "Write a day as e.g. 2025-01-31"
NO_MODEL = "model must be one of the workspace"
NO_SESSION = "session must be one that was started"
NO_FEATURES = "--features must be a set of features"
CONFIG = "configuration must be a known preset"
GENERATE = "data generate --name x --universe prototype10"
IMPORT = "data import bars.csv --name x"
DOWNLOAD = "data download --name x --start 2024-06-03 --end 2024-06-04 --source yfinance"
JOIN = "data join mine --name x --sentiment bars.csv"
SUPERVISED = "supervised train --name x"
RULE = "backtest macd --market noise"
BY_REWARD = "train --preset quick --set learner.direct.objective=reward"
ONLOOKER = "train --preset first_version"
TRANSFER = "train --preset quick --set encoder.preset=tiny --set encoder.transfer_from"
SLEEVES = "train --preset portfolio --set environment.portfolio.sleeves"

MISTAKES: dict[str, str] = {
    "demo --config dmo": CONFIG,
    "demo --market nois": NO_MARKET,
    "data show nope": NO_DATASET,
    "data verify nope": NO_DATASET,
    "data validate nope": NO_DATASET,
    "data validate mine --universe us14": NO_UNIVERSE,
    "data validate mine --trailing-bars 0": "--trailing-bars",
    "data validate mine --heat-map x.pdf": "--heat-map must name a .png file",
    "data validate mine --earlier nope": NO_DATASET,
    "data validate mine --quotes gone.csv": "must exist",
    "data plant nope --name x --kappa 0.1": NO_DATASET,
    "data plant mine --name ../x --kappa 0.1": "dataset name must be",
    "data plant mine --name x --kappa 2": "--kappa",
    "data plant mine --name x --kappa 0.1 --phi 1": "kappa must lie in [0, 1] and phi in [0, 1)",
    "data plant mine --name x --kappa 0.1 --seed -1": "--seed",
    "data join nope --name x --sentiment bars.csv": NO_DATASET,
    "data join mine --name ../x --sentiment bars.csv": "dataset name must be",
    "data join mine --name x --sentiment gone.csv": "file to read must exist",
    f"{JOIN} --sentiment-range 1 -1": "low must be below high",
    f"{JOIN} --sentiment-column mood": "must have column 'mood'",
    f"{JOIN} --sentiment-delay soon": "timeframe must be a count",
    "data split nope": NO_DATASET,
    "data split mine --config dmo": CONFIG,
    "data import gone.csv --name x": "file to import must exist",
    f"{IMPORT} --name ../x": "dataset name must be",
    f"{IMPORT} --universe us14": NO_UNIVERSE,
    f"{IMPORT} --map foo": "--map must be FIELD=COLUMN",
    f"{IMPORT} --map foo=bar": "mapped field must be one of the bar's",
    f"{IMPORT} --time-zone Mars/Base": "time zone must be an IANA name",
    f"{IMPORT} --stamps end": "--stamps must be one of",
    f"{IMPORT} --timeframe hourly": "timeframe must be a count",
    f"{IMPORT} --grid sesion": "--grid must be one of",
    f"{IMPORT} --calendar XNYX": "calendar must be",
    f"{IMPORT} --adjustment splits": "--adjustment must be one of",
    f"{IMPORT} --symbols AAPL,,MSFT": "--symbols must be",
    f"{IMPORT} --rename AAPL": "--rename must be OLD=NEW",
    f"{IMPORT} --delimiter ;;": "delimiter must be one character",
    f"{IMPORT} --sentiment gone.csv": "file to read must exist",
    f"{IMPORT} --sentiment bars.csv --sentiment-range 1 -1": "low must be below high",
    f"{IMPORT} --sentiment bars.csv --sentiment-column mood": "must have column 'mood'",
    f"{IMPORT} --sentiment bars.csv --sentiment-delay soon": "timeframe must be a count",
    "data generate --name ../x": "dataset name must be",
    f"{GENERATE} --market nois": NO_MARKET,
    "data generate --name x --universe us14": NO_UNIVERSE,
    f"{GENERATE} --start soon": BAD_DAY,
    f"{GENERATE} --end soon": BAD_DAY,
    f"{GENERATE} --timeframe hourly": "timeframe must be a count",
    f"{GENERATE} --seed -1": "seed",
    f"{GENERATE} --market planted --set kapa=1": "Did you mean 'kappa'?",
    f"{DOWNLOAD} --source alpac": "Did you mean 'alpaca'?",
    f"{DOWNLOAD} --name ../x": "dataset name must be",
    f"{DOWNLOAD} --start soon": BAD_DAY,
    f"{DOWNLOAD} --end soon": BAD_DAY,
    f"{DOWNLOAD} --universe us14": NO_UNIVERSE,
    f"{DOWNLOAD} --timeframe hourly": "timeframe must be a count",
    f"{DOWNLOAD} --adjustment splits": "--adjustment must be one of",
    "universe show us14": NO_UNIVERSE,
    "universe show us143 --as-of now": BAD_DAY,
    "features build nope": NO_DATASET,
    "features build mine --config dmo": CONFIG,
    "features build mine --features relativ": NO_FEATURES,
    "features build mine --accept DUPLICATE_BARS": "--accept must be the code of an error",
    "features prove-causal nope": NO_DATASET,
    "features prove-causal mine --config dmo": CONFIG,
    "features prove-causal mine --features relativ": NO_FEATURES,
    "features show nope": NO_DATASET,
    "features show mine --features relativ": NO_FEATURES,
    "market oracle nope": NO_DATASET,
    "market oracle --cost-bps -1": "--cost-bps",
    "market oracle --rule long": "--rule must be",
    "market facts nope": NO_DATASET,
    "market rollout nope": NO_DATASET,
    "market rollout --market nois": NO_MARKET,
    "market rollout --market noise --policies expert,macdd": "policy must be a known one",
    "market rollout --market noise --costs fre": NO_COSTS,
    "market rollout --market noise --reward v3": "reward preset must be known",
    "market rollout --market noise --start soon": BAD_DAY,
    "market rollout --market noise --end soon": BAD_DAY,
    "market rollout --market noise --universe us14": NO_UNIVERSE,
    "market rollout --market noise --seed -1": "--seed",
    "market rollout --market noise --from 2025-02-01 --to 2025-01-01": "--from must not be after",
    "market rollout described --universe us14": "--universe must come with --market",
    "market rollout described --set kappa=1": "--set must come with --market",
    "market rollout described --policies expert --seed 9": "--seed must come with --market",
    "market rollout --market planted --set kapa=1": "Did you mean 'kappa'?",
    "market rollout --market noise --out page.pdf": "--out must name an .html file",
    "train --preset quik": "Did you mean 'quick'?",
    "train --preset bad.yaml": "n_envs must be a whole number",
    "train --preset list.yaml": "was a list",
    "train --dataset nope": NO_DATASET,
    "train --dataset mine": "panel must have a readable manifest, was missing",
    "market rollout mine": "features build mine.",
    "train --market plantd": "Did you mean 'planted'?",
    "train --symbols SPY,NOPE": "symbols that get an agent must be in the data, was 'NOPE'",
    "train --preset quick --set market.universe=crypto12": "which --preset quick says). Take "
    "all of the data with --set symbols=[]",
    "train --learner pp": "learner.name must be",
    "train --device gpu": "device must be",
    "train --seed -1": "--seed",
    "train --preset recovery_c --learner direct": "curiosity must act where it is on",
    "train --preset recovery_c --set task.reward=roi": "two objectives or more to weigh",
    "train --preset recovery_a --set curiosity.hidden=[-3]": "curiosity.hidden must be widths of 1",
    "train --preset hindsight --set curiosity.mix=0.1": "sac.hindsight.strategy must be off",
    "train --preset curriculum --learner impala": "learner.impala.actors must be 1 in environment",
    "train --preset quick --learner hybrid": "learner.hybrid.gradient_steps must be below",
    "train --learner ppo --set learner.ppo.clip.last=0.1": "clip.kind must be linear or cosine",
    "train --learner ppo --set guards.interventions.pause_steps=9": "by_rule ask for one",
    f"{ONLOOKER} --set guards.interventions.boost_factor=2": "strongest must be boost_entropy or",
    "train --preset impala --set guards.actor_lag=4": "learner.impala.asynchronous must be true",
    "train --preset quick --set guards.low_entropy=0.2": "must be one that tells an entropy",
    "train --preset options --set task.rules.limits.max_position_frac=0.03": "would never reach it",
    "train --preset spec_sac --set learner.sac.buffer_size=10": "buffer_size must hold a batch",
    "train --preset hindsight --set task.private=[size,total_return]": "no drawdown among size",
    "train --set guards.interventions.by_rule=[[LOW_ENTROPI,pause]]": "Did you mean 'LOW_ENTROPY'?",
    "train --set market.params={kappa:0.1}": "market.params must be set key by key",
    "train --set budget.n_env=3": "Did you mean 'n_envs'?",
    "train --set task.costs=fre": NO_COSTS,
    "train --preset quick --learner ppo --set task.reward=fame": "reward preset must be known",
    "train --set auxiliary.weight=0.5": "encoder.trainable must be true",
    "train --set auxiliary.segments=3": "auxiliary.weight must be above 0",
    "train --set encoder.preset=giant": "encoder must be known",
    "train --set task.probabilities=nope": NO_MODEL,
    "train --set market.params.kapa=1": "kapa",
    "train --set task.cost_rates.comission_frac=0": "Did you mean 'commission_frac'?",
    "train --set task.cost_rates.slippage_frac=5": "task.cost_rates.slippage_frac must lie in [0",
    f"{BY_REWARD} --set task.reward_options.pnl.scale=-1": "task.reward_options.pnl.scale must lie",
    "train --set task.private=[size,nope]": "private number must be a known one",
    f"{BY_REWARD} --set task.reward_weights.nope=1": "a reward term must be registered",
    f"{BY_REWARD} --set task.reward_options.nope.scale=1": "a reward term must be registered",
    f"{BY_REWARD} --set task.reward_options.pnl.nope=1": "an option of a reward term must be known",
    f"{TRANSFER}=model:nope": NO_MODEL,
    f"{TRANSFER}=nope": NO_RUN,
    "train --set environment.kind=gaol": "environment.kind must be",
    "train --set environment.kind=portfolio": "learner.direct.act_levels must be 0",
    f"{SLEEVES}=macdd": "environment.portfolio.sleeves must be a rule of the package, was 'macdd'",
    f"{SLEEVES}=oracle": "random, residual_reversal, sma_cross or trend_follower",
    f"{SLEEVES}=model:paper": "environment.portfolio.sleeves must be a rule of the package",
    f"{SLEEVES}=sma_cross:fats=3": "was 'fats'. Did you mean 'fast'?",
    "train --set environment.kind=goal": "must learn from the reward in environment goal",
    "train --set environment.goal.reward=dense": "environment.kind must be goal, is population",
    "train --set market.universe=us14": NO_UNIVERSE,
    "train --name ../x": "run name must be 1-80",
    "train --name ": "run name must be 1-80",
    "train --name one": "run name must be new",
    "train --resume nope": NO_RUN,
    "train --resume one --set budget.n_env=3": "Did you mean 'n_envs'?",
    "train --resume held": "run must not be in use",
    "train --executor rai": "--executor must be known",
    "train --address h:1": "--address must stand with --executor ray",
    "train --token-file token": "--token-file must stand with --executor ray",
    "evaluate one --executor rai": "Did you mean 'ray'?",
    "evaluate one --executor ray --address here": "--address must be HOST:PORT",
    "evaluate one --executor ray --address h:1 --token-file gone": "must name the token",
    "tune first --executor rai": "--executor must be known",
    "tune first --address h:1": "--address must stand with --executor ray",
    "tune first --token-file token": "--token-file must stand with --executor ray",
    "power mine --executor ray": "a cluster must be started or named",
    "power mine --executor ray --address h:1": "--token-file must name the token of the cluster",
    "power mine --token-file token": "--token-file must stand with --executor ray",
    "cluster start --nodes 0": "--nodes",
    "cluster start --cpus 0": "--cpus",
    "cluster start --gpus -1": "--gpus",
    "cluster start --store-mb 1": "--store-mb",
    "cluster start --port 99999": "--port",
    "cluster start --copies bars.csv": "--copies must name a folder",
    "cluster start --address h:1": "--address and --token-file must stand together",
    "cluster start --address h:1 --token-file gone": "must name the token of the cluster",
    "cluster status": "a cluster must be started or named",
    "cluster status --address h": "--address must be HOST:PORT",
    "cluster status --address h:1 --token-file gone": "must name the token of the cluster",
    "train --force": "--force must stand with --resume",
    "supervised train --name ../x": "name of a model must be letters",
    f"{SUPERVISED} --model nope": "model must be a known one",
    f"{SUPERVISED} --preset quik": "Did you mean 'quick'?",
    f"{SUPERVISED} --dataset nope": NO_DATASET,
    f"{SUPERVISED} --market nois": NO_MARKET,
    f"{SUPERVISED} --labels moves": "--labels must be horizon or barriers",
    f"{SUPERVISED} --horizon 0": "--horizon",
    f"{SUPERVISED} --barrier -1": "--barrier",
    f"{SUPERVISED} --blocks 1": "--blocks",
    f"{SUPERVISED} --seed -1": "--seed",
    f"{SUPERVISED} --set width": "--set must be NAME=VALUE",
    f"{SUPERVISED} --set wodth=3": "setting of a model must be a known one",
    f"{SUPERVISED} --model mlp --set width=-3": "width must be",
    f"{SUPERVISED} --model gru --set wodth=3": "Did you mean 'width'?",
    f"{SUPERVISED} --horizon 1000000": "horizon_bars must lie in",
    f"{SUPERVISED} --blocks 100000": "n_blocks must lie in",
    f"{SUPERVISED} --data budget.n_env=3": "Did you mean 'n_envs'?",
    "supervised show nope": NO_MODEL,
    "supervised backtest nope": NO_MODEL,
    "supervised backtest nope --thresholds much": "--thresholds must be numbers",
    "supervised backtest nope --part train": "--part must be validation or test",
    "paper report nope": "session",
    "paper report nope --out page.pdf": "--out must name an .html file",
    "compare one": "two runs or more must be given",
    "compare one nope": NO_RUN,
    "compare one nope --out page.pdf": "--out must name an .html file",
    "runs show nope": NO_RUN,
    "runs compare one nope": NO_RUN,
    "runs compare nope one": NO_RUN,
    "runs verify nope": NO_RUN,
    "runs migrate nope --to continuous": NO_RUN,
    "runs migrate one --to discrete": "--to",
    "runs migrate one --to continuous --name ../x": "run name must be 1-80",
    "runs migrate one --to continuous --learner ppp": "learner must be a known one",
    "backtest nope": "policy must be a run or a known rule",
    "backtest macd": "a backtest must have a run, or a rule and a market",
    "backtest sma_cross:fats=3 --market noise": "was 'fats'. Did you mean 'fast'?",
    "backtest sma_cross:fast=90 --market noise": "fast must be below slow, was fast=90, slow=50",
    "backtest flat:fast=3 --market noise": "It has none",
    "backtest macd --dataset nope": NO_DATASET,
    "backtest model:nope": NO_MODEL,
    "backtest model:nope:threshold=2": "threshold of model:nope must lie in [0, 1]",
    "backtest model:paper --dataset mine": "panel must have a readable manifest, was missing",
    "backtest model:paper --dataset described": "features that the model was fitted on",
    "market rollout --market noise --policies model:paper": "policy must be a known one",
    "backtest model:paper --market noise": "bars must lie after those",
    "backtest macd macd --market noise": "a policy must be named once, was 'macd'",
    "backtest model:paper model:paper --market noise": "a policy must be named once",
    "backtest one on": "a policy must be named once, was 'one' and 'on'",
    "market rollout --market noise --policies macd,macd": "a policy must be named once",
    "backtest macd --market nope": NO_MARKET,
    "backtest macd --market noise --factor SPX": "factor must be equal_weight, none or a symbol",
    f"{RULE} --part all": "--part must be train, validation or test",
    f"{RULE} --from soon": BAD_DAY,
    f"{RULE} --to soon": BAD_DAY,
    f"{RULE} --from 2025-02-01 --to 2025-01-01": "--from must not be after",
    f"{RULE} --costs fre": NO_COSTS,
    f"{RULE} --cost-bps 501": "--cost-bps",
    f"{RULE} --costs free --cost-bps 5": "--cost-bps must stand without --costs free",
    "backtest one --universe us14": "--universe must come with --market",
    "backtest one --seed 9": "--seed must come with --market or random",
    "backtest one --set kappa=1": "--set must come with --market",
    "backtest one --allow-short": "--allow-short must stand with a rule or strategy",
    "backtest residual_reversal:gros=1 --market noise": "Known: gross_frac",
    f"{RULE} --delay 101": "--delay",
    f"{RULE} --universe us14": NO_UNIVERSE,
    f"{RULE} --seed -1": "--seed",
    f"{RULE} --set kapa=1": "kapa",
    f"{RULE} --trades nowhere/trades.csv": "--trades must name a file in",
    f"{RULE} --out page.pdf": "--out must name",
    "backtest macdd --market noise": "policy must be a run or a known rule",
    "evaluate nope": NO_RUN,
    "evaluate one --preset quik": "Did you mean 'quick'?",
    "evaluate one --set seeds": "--set must be NAME=VALUE",
    "evaluate one --set sedes.count=3": "Did you mean 'seeds'?",
    "evaluate one --set seeds.cuont=3": "Did you mean 'count'?",
    "evaluate one --set seeds.count=1": "count must lie in [2, 1000]",
    "evaluate one --set stress.crash_frac=deep": "crash_frac must be a number",
    "evaluate one --analyses sedes": "Did you mean 'seeds'?",
    "evaluate one --gates prodct": "Did you mean 'product'?",
    "evaluate one --jobs 0": "--jobs",
    "evaluate one --out bars.csv": "--out must name a folder",
    "power nope": "power must be asked of a dataset or a run",
    "power mine": "features build mine",
    "power mine --preset quik": "Did you mean 'quick'?",
    "power mine --set budget": "--set must be NAME=VALUE",
    "power mine --set budgt.n_envs=4": "Did you mean 'budget'?",
    "power mine --symbols AAPL,,SPY": "--symbols must be symbols with commas",
    "power one --preset quick": "--preset, --symbols and --set must stand with a dataset",
    "power one --kappas 0,much": "--kappas must be numbers",
    "power one --kappas 0.1": "kappas must be two or more that rise",
    "power one --kappas 0.1,0.05": "kappas must be two or more that rise",
    "power one --repetitions 1": "--repetitions",
    "power one --phi 1": "phi must lie in [0, 1)",
    "power one --steps-share 0": "steps_share_frac must lie in (0, 1]",
    "power one --seed -1": "--seed",
    "power one --jobs 0": "--jobs",
    "gates nope": NO_RUN,
    "gates one --gates prodct": "Did you mean 'product'?",
    "gates --metrics --gates prodct": "Did you mean 'product'?",
    "gates one --bench gone.json": "benchmarks must be the JSON",
    "gates --phase A=nope": NO_RUN,
    "export nope": NO_RUN,
    "export one": "a run must be finished to be exported, was running",
    "export one --out nowhere/x.zip": "--out must name a file in",
    "models show v9": "was 'v9'. There is none",
    "models promote v9": "model must be the version of one",
    "models promote v1 --to papr": "--to must be shadow, paper or retired",
    "models promote v1 --accept NO-GO": "model must be the version of one",
    "models promote v1 --reason why": "model must be the version of one",
    "models rollback v9": "model must be the version of one",
    "models rollback --reason why": "a model must have been on paper",
    "models verify v9": "model must be the version of one",
    "dashboard --host nowhere": "host must be an IP address",
    "dashboard --host 0.0.0.0": "must have an API key of scope read",
    "dashboard --port 65536": "--port",
    "dashboard --allow-host http://desk": "host must be a name",
    "dashboard --journal gone.sqlite": "journal must exist",
    "dashboard --refresh 0": "--refresh",
    "serve --host example.org": "host must be an IP address",
    "serve --host 0.0.0.0": "must have an API key",
    "serve --profile prodution": "profile must be",
    "serve --profile production": "Make one: tradingbot",
    "serve --port 70000": "--port",
    "serve --threads 0": "--threads",
    "serve --waiting -1": "--waiting",
    "serve --rate 0": "--rate",
    "serve --burst 0": "--burst",
    "serve --max-bar-age 0": "--max-bar-age",
    "serve --drain 0": "--drain",
    "serve --time-zone Mars/Olympus": "time_zone must be an IANA name",
    "keys create ../x --scope read": "a key's name must be",
    "keys create x --scope red": "Did you mean 'read'?",
    "keys create x --scope read --days 0": "--days",
    "keys revoke 12345678": "a key must be known by its id",
    "keys rotate 12345678": "a key must be known by its id",
    "keys rotate 12345678 --overlap -1": "--overlap",
    "keys rotate 12345678 --days 400": "--days",
    "bench evaluate --executor rai": "--executor must be known",
    "bench evaluate --address h:1": "--address must stand with --executor ray",
    "bench evaluate --token-file token": "--token-file must stand with --executor ray",
    "bench train --only nope": "--only must name stages",
    "bench portfolio --only nope": "--only must name stages",
    "bench portfolio --learner nope": "--learner must be one that masters learn by",
    "bench portfolio --out nowhere/x.json": "--out must name a file in",
    "bench cluster --out nowhere/x.json": "--out must name a file in",
    "bench train --out nowhere/x.json": "--out must name a file in",
    "tune Bad": "study name must be",
    "tune x --preset dmo": CONFIG,
    "tune x --space pp": "--space must name search spaces, or .yaml files, was 'pp'. Did you mean",
    "tune x --space bad.yaml": "tuning configuration must be a known preset",
    "tune x --space sac": "learner.sac",
    "tune x --preset quick --space direct --set learner.direct.weight_decay=0.01": (
        "a setting that tuning searches must not be given as well"
    ),
    "tune x --dataset nope": NO_DATASET,
    "tune x --market nois": NO_MARKET,
    "tune x --learner pp": "learner.name must be",
    "tune x --symbols SPY,NOPE": "symbols that get an agent must be in the data",
    "tune x --device tpu": "device must be",
    "tune x --set budget.n_env=1": "Did you mean 'n_envs'?",
    "tune x --trials 0": "--trials",
    "tune x --wave 0": "--wave",
    "tune x --together 0": "--together",
    "tune x --sampler tep": "sampler must be",
    "tune x --pruner medan": "pruner must be",
    "tune x --random-trials 0": "--random-trials",
    "tune x --evaluations 1": "--evaluations",
    "tune x --steps-share 2": "steps_share_frac must lie in (0, 1]",
    "tune x --seeds 0": "--seeds",
    "tune x --trials 2 --top 3": "top must be no more than trials",
    "tune x --seed -1": "--seed",
    "tune x --storage mysql://host/x": "storage of trials must be the URL",
    "tune x --jobs 0": "--jobs",
    "run": "a dataset or a preset must be given",
    "run Bad": "campaign name must be",
    "run nope": "what is run must be a stored dataset or a training preset",
    "run quick --preset dmo": CONFIG,
    "run quick --name ../x": "campaign name must be",
    "run x --file gone.csv": "file to import must exist",
    "run x --file bars.csv --calendar XNYX": "calendar must be",
    "run x --file bars.csv --grid sesion": "--grid must be one of",
    "run quick --calendar 24/7": "--calendar must stand with --file",
    "run quick --grid clock": "--grid must stand with --file",
    "run quick --symbols SPY,NOPE": "symbols that get an agent must be in the data",
    "run quick --set budget.n_env=1": "Did you mean 'n_envs'?",
    "run quick --evaluation qick": CONFIG,
    "run quick --evaluate seeds.coun=1": "Did you mean 'count'?",
    "run quick --accept NO_BAR": "Did you mean 'NO_BARS'?",
    "run quick --tune -1": "--tune",
    "run quick --master mastr": CONFIG,
    "run quick --master prototype10": "preset of the master must have environment.kind: portfolio",
    "run quick --gates gone.yaml": "gone.yaml",
    "run quick --bench gone.json": "benchmarks must be the JSON of tradingbot bench",
    "run quick --device tpu": "device must be",
    "run quick --seed -1": "--seed",
    "run quick --executor rai": "--executor must be known",
    "run quick --address h:1": "--address must stand with --executor ray",
    "run quick --token-file token": "--token-file must stand with --executor ray",
    "run quick --until ful": "--until must be a phase",
    "run quick --jobs 0": "--jobs",
    "run quick --status": "a campaign must have begun",
    "envcheck": "either an environment or --peers",
    "envcheck nosuch:obj": "module of an environment must be importable",
    "paper start v9 --name x": "model must be the version of one",
    "paper start gone.zip --name x": "a bundle must exist",
    "paper start v9 --name ../x": "a session's name must be",
    "paper start v9 --name x --dataset nope": NO_DATASET,
    "paper start v9 --name x --from soon": BAD_DAY,
    "paper start v9 --name x --from 2025-02-01 --to 2025-01-01": "--from must not be after --to",
    "paper start v9 --name x --limit max_trade=1": "Did you mean 'max_trades'?",
    "paper start v9 --name x --authorise ada": "model must be the version of one",
    "paper start v9 --name x --shadow v8": "model must be the version of one",
    "paper start v9 --name x --speed -1": "--speed",
    "paper start v9 --name x --parts 0": "--parts",
    "paper start v9 --name x --splits nowhere.csv": "splits must be in a file",
    "paper start v9 --name x --latency -1": "--latency",
    "paper start v9 --name x --broker alpacca": "Did you mean 'alpaca'?",
    "paper start v9 --name x --broker alpaca": "APCA_API_KEY_ID must be set",
    "paper start v9 --name x --bars folder:nope": "a folder of bars must exist",
    "paper start v9 --name x --bars replya": "--bars must be replay, alpaca or folder:PATH",
    "paper start v9 --name x --adopt ada": "--adopt must stand with a venue",
    "paper start v9 --name x --accept GO": "model must be the version of one",
    "paper start v9 --name x --journal postgresql://h/d": "model must be the version of one",
    "paper swap nope v9 --by ada --reason why --accept GO": NO_SESSION,
    "paper remove nope --yes": NO_SESSION,
    "paper resume nope --adopt ada": NO_SESSION,
    "paper resume nope": NO_SESSION,
    "paper status nope": NO_SESSION,
    "paper stop nope --by ada --reason why": NO_SESSION,
    "paper kill nope --by ada --reason why": NO_SESSION,
    "paper arm nope --by ada --reason why --breaker drawdown": NO_SESSION,
    "paper restrict nope reducing --by ada --reason why": NO_SESSION,
    "paper restrict nope asleep": "a restriction must be one of two states",
    "paper replay nope --verify 2025-01-31": NO_SESSION,
    "paper replay nope --verify soon": BAD_DAY,
    "alerts list --rules gone.yaml": "gone.yaml",
    "alerts test pagr": "channel must be one of the settings",
    "alerts test pagr --by ada --rules defalt": "alerts configuration must be a known preset",
    "alerts silence stale_dat --reason why": "Did you mean 'stale_data'?",
    "alerts silence * --reason why --minutes 0": "--minutes",
    "alerts silence stale_data --reason  --subject x --by ada": "--reason must be given",
    "alerts silence drawdown --reason why --rules bad.yaml": "alerts configuration must be",
    "alerts silence 3f9a --end --reason why": "silence must be one that lasts",
    "alerts ack 3f9a --reason why --by ada": "incident must be one that is open",
    "alerts watch --rules defalt": "Did you mean 'default'?",
    "alerts guard --rules defalt": "Did you mean 'default'?",
    "journal verify --journal gone.sqlite": "journal must exist",
    "journal verify --head 12ab": "--head must be 64 hexadecimal digits",
    "journal show nope --journal mysql://host/x": "journal must be a path, sqlite:///PATH or",
    "journal show --kind OrderFiled": "Did you mean 'OrderFilled'?",
    "journal show --last 0": "--last",
    "journal backup nowhere/x.sqlite": "FILE must name a file in a folder that exists",
    "journal backup x.sqlite --journal postgresql://me:pa55w0rd@h/d": "must not hold a password",
    "journal restore gone.sqlite": "journal must exist",
    "journal restore gone.sqlite --journal mysql://host/x": "journal must be a path",
    "journal restore gone.sqlite --until 0": "--until",
    "journal migrate --journal gone.sqlite": "journal must exist",
    "config show dmo --kind nope": "--kind must be",
    "config check dmo --kind nope": "--kind must be",
    "config show dmo": CONFIG,
    "config check dmo": CONFIG,
    "--plugin gone.py plugins list": "a plugin must be a Python file that exists",
    "--plugin gone.py plugins check": "a plugin must be a Python file that exists",
    "--workspace bars.csv data list": "workspace must be a folder",
    "--workspace s3://key:s3cret@bucket/x data list": "must hold no credentials",
    "--workspace file://bars/x data list": "file:// must be followed by a whole path",
    "--workspace /proc/nope train": "workspace must",
    "--workspace /proc/nope demo": "workspace must",
    f"--workspace /proc/nope {GENERATE}": "workspace must",
    f"--workspace /proc/nope {SUPERVISED}": "workspace must",
}
"""Command → what its message must hold."""

EXEMPT = {
    "supervised backtest": {"costs"},  # asked of a model that is there
    "bench data": {"curve"},
    "bench simulator": {"figure"},
    "bench learning": {"markets", "learners", "seeds", "agents", "device", "pooling"},
    "bench evaluate": {"noise", "planted"},
    "bench portfolio": {"seeds", "sleeves"},
}
"""Command → parameters of which no mistake is in the table; benchmarks measure what computes."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Datasets without a panel and with a described one, a model, a run, and one in use."""
    folder = tmp_path_factory.mktemp("refusals")
    days = {"start": load_day("2025-09-01"), "end": load_day("2025-09-30")}
    source = SyntheticSource(universe=load_universe("prototype10"), market="noise", **days)
    ingest(source, BarStore(folder / "workspace"), name="mine")
    other = SyntheticSource(universe=load_universe("prototype10"), market="regimes", **days)
    described = ingest(other, BarStore(folder / "workspace"), name="described").dataset
    describe_panel(described, folder / "workspace", ("rsi", "trend"))
    describe_model(folder / "workspace", "paper", ("rsi", "atr"))
    for name in ("one", "held"):
        make_run(folder / "workspace" / "runs", name, config=tiny_config().as_mapping())
    (folder / "bars.csv").write_text(
        "timestamp,symbol,open,high,low,close,volume,sentiment\n"
        "2024-06-24T13:30:00Z,AAPL,1,2,0.5,1,9,0\n2024-06-24T14:30:00Z,AAPL,1,2,0.5,1,9,0\n"
    )
    (folder / "bad.yaml").write_text("extends: quick\nbudget:\n  n_envs: many\n")
    (folder / "list.yaml").write_text("- quick\n")
    return folder / "workspace"


def load_day(text: str) -> Any:
    from datetime import date

    return date.fromisoformat(text)


def words_of(command: str) -> list[str]:
    """Split as a shell does; a trailing space is an empty argument."""
    return command.split(" ")


@pytest.fixture(scope="module")
def refusals(workspace: Path) -> dict[str, Any]:
    """Command → exit code, stdout, stderr and the heavy packages that it was first to import."""
    lines = "".join(f"{json.dumps(words_of(command))}\n" for command in MISTAKES)
    with RunDirectory.open(workspace / "runs" / "held").hold():
        done = subprocess.run(
            [sys.executable, "-c", IN_TURN, str(workspace)],
            input=lines,
            capture_output=True,
            text=True,
            cwd=workspace.parent,
            check=True,
        )
    return dict(zip(MISTAKES, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("command", MISTAKES)
def test_mistake_is_refused_in_one_line_before_torch_is_imported(
    command: str, refusals: dict[str, Any]
) -> None:
    code, out, err, heavy = refusals[command]

    assert (code, out) == (2, ""), err
    assert err.startswith("error: ")
    assert MISTAKES[command] in err
    assert err.count("\n") == 1
    assert heavy == []


def test_every_parameter_of_every_command_has_a_mistake() -> None:
    missing = []
    for words, command in every_command().items():
        tried = [each for each in MISTAKES if f"{words} " in f"{each} "]
        for parameter in command.params:
            takes_value = parameter.name != "help" and not getattr(parameter, "is_flag", False)
            named = any(f"{option} " in f"{each} " for option in parameter.opts for each in tried)
            is_tried = named if parameter.param_type_name == "option" else bool(tried)
            if takes_value and not is_tried and parameter.name not in EXEMPT.get(words, ()):
                missing.append(f"{words}: {parameter.name}")
    assert missing == []


def every_command() -> dict[str, Any]:
    found = {}
    for noun, group in get_command(build_application()).commands.items():  # type: ignore[attr-defined]
        for verb, command in getattr(group, "commands", {"": group}).items():
            found[f"{noun} {verb}".strip()] = command
    return found


def test_names_that_are_told_without_torch_are_those_of_the_catalogues() -> None:
    assert sorted(RULES) == sorted(RULE_NAMES)
    assert sorted(ORACLES) == sorted(ORACLE_NAMES)
    assert {name for name, rule in RULES.items() if rule.config is None} == {*WITHOUT_PARAMETERS}
    assert {name: RULES[name].config for name in PRICE_RULES} == dict(PRICE_RULES)
    assert tuple(COST_PROFILES) == part_names.COST_NAMES
    fills = [n for n, c in COST_PROFILES.items() if not (c.impact_coef or c.borrow_frac_per_bar)]
    assert tuple(fills) == part_names.FILL_COST_NAMES
    assert tuple(REWARD_PRESETS) == part_names.REWARD_PRESET_NAMES
    assert tuple(COST_PROFILES["free"].__dict__) == tuple(part_names.COST_RATE_BOUNDS)
    assert tuple(each.name for each in PRIVATE_FEATURES) == part_names.PRIVATE_NAMES
    for name, options in part_names.REWARD_OPTION_BOUNDS.items():
        assert tuple(each.name for each in fields(reward_term(name).options)) == tuple(options)
    own = (*part_names.REWARD_PRESET_NAMES, *part_names.REWARD_TERM_NAMES)
    assert set(reward_names()) == set(own)
    assert tuple(ENCODER_PRESETS) == part_names.ENCODER_NAMES
    assert tuple(CLASSIFIERS) == part_names.CLASSIFIER_NAMES


@pytest.mark.parametrize("rate", [-1e-9, 0.0, 0.999, 1.0, 9.99, 10.0, float("nan")])
def test_cost_rates_are_refused_early_where_the_simulator_refuses_them(rate: float) -> None:
    for name in part_names.COST_RATE_BOUNDS:
        assert _is_refused(lambda name=name: part_names.require_cost_rates({name: rate}, "")) is (
            _is_refused(lambda name=name: require_rate(name, rate, ""))
        )


@pytest.mark.parametrize(
    "value",
    [*(-2.0, -1.0, -1e-9, 0.0, 1e-9, 0.2, 1.0 / 3.0, 0.34, 1.0, 1.01), 10.0, 1e6, 1e7, True],
)
def test_reward_options_are_refused_early_where_terms_refuse_them(value: float) -> None:
    for term, options in part_names.REWARD_OPTION_BOUNDS.items():
        for name in options:
            changed = {name: value}
            if (name == "knee_frac" and 0.0 < value <= 0.05) or (
                name == "free_frac" and 0.15 <= value < 1.0
            ):
                continue  # refused by the other one beside it, which is told later
            assert _is_refused(
                lambda: part_names.require_reward_options({term: changed}, "")  # noqa: B023
            ) is _is_refused(lambda: reward_term(term).make_options(changed))  # noqa: B023


def _is_refused(check: Callable[[], object]) -> bool:
    try:
        check()
    except ConfigError:
        return True
    return False


def test_empty_name_of_a_run_is_none(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        assert run(["--workspace", str(workspace), "train", "--name", ""]) == 2
    assert "run name must be 1-80" in capsys.readouterr().err
