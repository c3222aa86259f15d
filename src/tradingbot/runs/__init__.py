"""Run directories: what a training run leaves on disk, written whole or not at all."""

from tradingbot.runs.checkpoint import CheckpointContent, save_checkpoint
from tradingbot.runs.compatibility import config_differences, require_fit, require_resumable
from tradingbot.runs.directory import RunDirectory
from tradingbot.runs.environment import describe_environment, git_state, source_sha256
from tradingbot.runs.finding import find_run, find_run_folder, list_runs
from tradingbot.runs.journal import Journal, JournalMark, read_journal
from tradingbot.runs.loading import Checkpoint, latest_good, list_checkpoints, load_checkpoint
from tradingbot.runs.record import DataIdentity, GitState, Resumption, RunPlan, RunRecord, RunStatus
from tradingbot.runs.resuming import ResumePoint, resume_run
from tradingbot.runs.tensors import final_hash, healthy, weakness

__all__ = [
    "Checkpoint",
    "CheckpointContent",
    "DataIdentity",
    "GitState",
    "Journal",
    "JournalMark",
    "ResumePoint",
    "Resumption",
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
    "healthy",
    "latest_good",
    "list_checkpoints",
    "list_runs",
    "load_checkpoint",
    "read_journal",
    "require_fit",
    "require_resumable",
    "resume_run",
    "save_checkpoint",
    "source_sha256",
    "weakness",
]
