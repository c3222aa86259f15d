"""Run directories: what a training run leaves on disk, written whole or not at all."""

from tradingbot.runs.checkpoint import CheckpointContent, save_checkpoint
from tradingbot.runs.compatibility import config_differences, require_fit
from tradingbot.runs.directory import RunDirectory
from tradingbot.runs.environment import describe_environment, git_state, source_sha256
from tradingbot.runs.finding import find_run, find_run_folder, list_runs
from tradingbot.runs.journal import Journal, read_journal
from tradingbot.runs.loading import Checkpoint, latest_good, list_checkpoints
from tradingbot.runs.record import DataIdentity, RunPlan, RunRecord, RunStatus
from tradingbot.runs.resuming import resume_run
from tradingbot.runs.tensors import final_hash

__all__ = [
    "Checkpoint",
    "CheckpointContent",
    "DataIdentity",
    "Journal",
    "RunDirectory",
    "RunPlan",
    "RunRecord",
    "RunStatus",
    "config_differences",
    "describe_environment",
    "final_hash",
    "find_run",
    "find_run_folder",
    "git_state",
    "latest_good",
    "list_checkpoints",
    "list_runs",
    "read_journal",
    "require_fit",
    "resume_run",
    "save_checkpoint",
    "source_sha256",
]
