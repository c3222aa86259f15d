"""Is this machine fit for the job? Each check looks, says what it saw, and what to do about it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from zoneinfo import ZoneInfo

import tradingbot
from tradingbot.runs.requirement import Requirement, installed_version, version_rules

_GIB = 2**30
_DISK_NEEDED_BYTES = 2 * _GIB  # ten years of hourly bars for 143 symbols, with panels
_MEMORY_NEEDED_BYTES = 2 * _GIB  # peak of the demo, doubled


class Status(StrEnum):
    """How a check came out."""

    OK = "ok"
    ABSENT = "absent"
    """An extra that is not installed; fine until it is wanted."""
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class DoctorCheck:
    """One line of the report."""

    name: str
    status: Status
    observed: str
    remedy: str = ""


def diagnose(workspace: Path) -> tuple[DoctorCheck, ...]:
    """Run every check; a check that itself fails is reported as a problem."""
    checks: list[DoctorCheck] = []
    for name, check in _checks(workspace):
        try:
            found = check()
        except Exception as e:  # a broken installation may raise anything
            found = [DoctorCheck(name, Status.PROBLEM, f"{type(e).__name__}: {e}", _REINSTALL)]
        checks.extend(found)
    return tuple(checks)


def is_healthy(checks: Iterable[DoctorCheck]) -> bool:
    """Tell whether no check found a warning or a problem."""
    return all(check.status in (Status.OK, Status.ABSENT) for check in checks)


_REINSTALL = "Run: make install (or pip install -c requirements.lock -e .)"


def _checks(workspace: Path) -> list[tuple[str, Callable[[], list[DoctorCheck]]]]:
    return [
        ("python", _check_python),
        ("packages", lambda: check_packages(metadata.requires("tradingbot") or [])),
        ("device", _check_device),
        ("compiler", check_compiler),
        ("threads", lambda: check_threads(os.environ.get("OMP_NUM_THREADS"))),
        ("memory", _check_memory),
        ("workspace", lambda: check_workspace(workspace)),
        ("clock", lambda: check_clock(datetime.now(UTC))),
        ("time zones", _check_time_zones),
        ("calendar", lambda: _check_calendar(datetime.now(UTC).date())),
    ]


def _check_python() -> list[DoctorCheck]:
    version = platform.python_version()
    wanted = metadata.metadata("tradingbot")["Requires-Python"] or ""
    fits = Requirement("python", version_rules(wanted)).allows(version)
    return [
        DoctorCheck(
            "tradingbot",
            Status.OK,
            f"{tradingbot.__version__} in {Path(tradingbot.__file__).parent}",
        ),
        DoctorCheck(
            "python",
            Status.OK if fits else Status.PROBLEM,
            f"{version} ({platform.platform()}), needs {wanted}",
            "" if fits else f"Make a virtual environment with Python {wanted}",
        ),
    ]


def check_packages(requirements: Iterable[str]) -> list[DoctorCheck]:
    """Compare what is installed with what the metadata asks for, extra by extra.

    Args:
        requirements: Lines as `importlib.metadata.requires` gives them.
    """
    by_extra: dict[str, list[Requirement]] = {"": []}
    for text in requirements:
        requirement = Requirement.parse(text)
        if requirement is not None and requirement.name != "tradingbot":
            by_extra.setdefault(requirement.extra, []).append(requirement)
    return [check for extra, group in by_extra.items() for check in _judge_group(extra, group)]


def _judge_group(extra: str, group: list[Requirement]) -> list[DoctorCheck]:
    label = f"extra {extra}" if extra else "packages"
    install = f"Run in the checkout: make install EXTRA={extra}" if extra else _REINSTALL
    present = {item.name: version for item in group if (version := installed_version(item.name))}
    wrong = [
        f"{item.name} {present[item.name]}, needs {item}"
        for item in group
        if item.name in present and not item.allows(present[item.name])
    ]
    missing = [item.name for item in group if item.name not in present]
    if wrong:
        return [DoctorCheck(label, Status.PROBLEM, "; ".join(wrong), install)]
    if missing:
        status = Status.ABSENT if extra else Status.PROBLEM
        return [DoctorCheck(label, status, f"not installed: {', '.join(missing)}", install)]
    return [
        DoctorCheck(
            label, Status.OK, ", ".join(f"{name} {version}" for name, version in present.items())
        )
    ]


def _check_device() -> list[DoctorCheck]:
    import torch

    if torch.cuda.is_available():
        names = [
            f"cuda:{index} {torch.cuda.get_device_name(index)} "
            f"({torch.cuda.get_device_properties(index).total_memory / _GIB:.0f} GiB)"
            for index in range(torch.cuda.device_count())
        ]
        return [DoctorCheck("device", Status.OK, ", ".join(names))]
    if torch.backends.mps.is_available():
        return [DoctorCheck("device", Status.OK, "mps (Apple GPU)")]
    built = torch.version.cuda or "none"
    return [
        DoctorCheck("device", Status.OK, f"cpu ({_processor()}); torch built for CUDA: {built}")
    ]


def check_compiler() -> list[DoctorCheck]:
    """Find the C compiler that native lanes need, and look at the folder of their programs."""
    from tradingbot.market.native.library import find_compiler
    from tradingbot.market.program_cache import CACHE_VARIABLE, folder_fault, named_folder

    compiler, folder = find_compiler(), named_folder()
    if compiler is None:
        return [
            DoctorCheck(
                "compiler",
                Status.ABSENT,
                "no C compiler: simulators run as tensors, with the same results and far slower",
                "Install gcc or clang, e.g.: apt install gcc",
            )
        ]
    fault = folder_fault(folder)
    if fault is not None:
        return [
            DoctorCheck(
                "compiler",
                Status.WARNING,
                f"{compiler}; {folder} {fault}: nothing in it is run, programs are not kept",
                f"Remove it, or set {CACHE_VARIABLE} to a folder of your own with mode 0700",
            )
        ]
    return [DoctorCheck("compiler", Status.OK, f"{compiler}; programs in {folder}")]


def check_threads(omp_setting: str | None) -> list[DoctorCheck]:
    """Compare torch's threads and `OMP_NUM_THREADS` with the cores this process may use."""
    import torch

    cores = _usable_cores()
    observed = (
        f"torch {torch.get_num_threads()}, OMP_NUM_THREADS {omp_setting or 'unset'}, cores {cores}"
    )
    if omp_setting is not None and not re.fullmatch(r"[1-9]\d*", omp_setting.strip()):
        remedy = f"Unset OMP_NUM_THREADS or set it to at most {cores}"
        return [DoctorCheck("threads", Status.WARNING, observed, remedy)]
    if torch.get_num_threads() > cores:
        remedy = f"Set OMP_NUM_THREADS={cores}: more threads than cores wait for each other"
        return [DoctorCheck("threads", Status.WARNING, observed, remedy)]
    return [DoctorCheck("threads", Status.OK, observed)]


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    return f"{platform.machine()}, {_usable_cores()} cores"


def _check_memory() -> list[DoctorCheck]:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    available = _available_memory_bytes() or total
    observed = f"{available / _GIB:.1f} GiB available of {total / _GIB:.1f} GiB"
    if available < _MEMORY_NEEDED_BYTES:
        remedy = f"Close other programs: {_MEMORY_NEEDED_BYTES / _GIB:.0f} GiB are needed"
        return [DoctorCheck("memory", Status.WARNING, observed, remedy)]
    return [DoctorCheck("memory", Status.OK, observed)]


def _available_memory_bytes() -> int | None:
    table = Path("/proc/meminfo")
    match = re.search(r"MemAvailable:\s+(\d+) kB", table.read_text()) if table.exists() else None
    return int(match[1]) * 1024 if match else None


def check_workspace(workspace: Path) -> list[DoctorCheck]:
    """Try to write where the workspace is or would be, and measure the room there."""
    place = workspace.expanduser().absolute()
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    if not existing.is_dir():
        return [
            DoctorCheck(
                "workspace", Status.PROBLEM, f"{existing} is a file", "Choose another --workspace"
            )
        ]
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"x")
    except OSError as e:
        observed = f"{existing} is not writable: {e.strerror}"
        return [DoctorCheck("workspace", Status.PROBLEM, observed, "Choose another --workspace")]
    free = shutil.disk_usage(existing).free
    state = "writable" if existing == place else "will be made"
    enough = free >= _DISK_NEEDED_BYTES
    return [
        DoctorCheck("workspace", Status.OK, f"{place} ({state})"),
        DoctorCheck(
            "disk",
            Status.OK if enough else Status.WARNING,
            f"{free / _GIB:.1f} GiB free",
            ""
            if enough
            else f"Free {_DISK_NEEDED_BYTES / _GIB:.0f} GiB or choose another --workspace",
        ),
    ]


def check_clock(now: datetime) -> list[DoctorCheck]:
    """Compare the clock with the age of our own files: it cannot be older than they are."""
    written = datetime.fromtimestamp(Path(tradingbot.__file__).stat().st_mtime, UTC)
    observed = now.isoformat(timespec="seconds")
    if now < written - timedelta(days=1):
        remedy = "Set the system clock: bars would be stamped in the past"
        return [
            DoctorCheck("clock", Status.PROBLEM, f"{observed}, before {written:%Y-%m-%d}", remedy)
        ]
    return [DoctorCheck("clock", Status.OK, observed)]


def _check_time_zones() -> list[DoctorCheck]:
    zone = ZoneInfo("America/New_York")
    summer, winter = (datetime(2025, month, 1, tzinfo=zone).utcoffset() for month in (7, 1))
    if (summer, winter) == (timedelta(hours=-4), timedelta(hours=-5)):
        return [DoctorCheck("time zones", Status.OK, "America/New_York has its summer time")]
    remedy = "Install the tzdata package of the system or: pip install tzdata"
    return [
        DoctorCheck("time zones", Status.PROBLEM, f"New York is at {summer} and {winter}", remedy)
    ]


def _check_calendar(today: date) -> list[DoctorCheck]:
    import exchange_calendars

    calendar = exchange_calendars.get_calendar("XNYS")
    first, last = calendar.first_session.date(), calendar.last_session.date()
    observed = f"XNYS {first} … {last}"
    if not first <= today <= last:
        remedy = "Run: pip install --upgrade exchange_calendars"
        return [DoctorCheck("calendar", Status.PROBLEM, f"{observed}, today is {today}", remedy)]
    return [DoctorCheck("calendar", Status.OK, observed)]
