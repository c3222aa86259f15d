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
from tradingbot.data.memory import available_bytes
from tradingbot.runs.requirement import Requirement, installed_version, version_rules

_GIB = 2**30
_DISK_NEEDED_BYTES = 2 * _GIB  # ten years of hourly bars for 143 symbols, with panels
_MEMORY_NEEDED_BYTES = 2 * _GIB  # peak of the demo, doubled
_PROBE = "#include <math.h>\n#include <pthread.h>\nint answer(void) { return 42; }\n"


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


def _judged(
    name: str, observed: str, remedy: str = "", status: Status = Status.PROBLEM
) -> list[DoctorCheck]:
    """One check: fine where nothing is to be done, else of that status."""
    return [DoctorCheck(name, status if remedy else Status.OK, observed, remedy)]


def _check_python() -> list[DoctorCheck]:
    version = platform.python_version()
    wanted = metadata.metadata("tradingbot")["Requires-Python"] or ""
    fits = Requirement("python", version_rules(wanted)).allows(version)
    place = f"{tradingbot.__version__} in {Path(tradingbot.__file__).parent}"
    observed = f"{version} ({platform.platform()}), needs {wanted}"
    remedy = "" if fits else f"Make a virtual environment with Python {wanted}"
    return [*_judged("tradingbot", place), *_judged("python", observed, remedy)]


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
    install = (
        f"Run: pip install 'tradingbot[{extra}]' (in the checkout: make install EXTRA={extra})"
        if extra
        else _REINSTALL
    )
    present = {item.name: version for item in group if (version := installed_version(item.name))}
    wrong = [
        f"{item.name} {present[item.name]}, needs {item}"
        for item in group
        if item.name in present and not item.allows(present[item.name])
    ]
    missing = [item.name for item in group if item.name not in present]
    if wrong:
        return _judged(label, "; ".join(wrong), install)
    if missing:
        status = Status.ABSENT if extra else Status.PROBLEM
        return _judged(label, f"not installed: {', '.join(missing)}", install, status)
    return _judged(label, ", ".join(f"{name} {version}" for name, version in present.items()))


def _check_device() -> list[DoctorCheck]:
    import torch

    observed = f"cpu ({platform.machine()}, {_usable_cores()} cores); torch built for CUDA: "
    observed += torch.version.cuda or "none"
    if torch.cuda.is_available():
        observed = ", ".join(
            f"cuda:{index} {torch.cuda.get_device_name(index)} "
            f"({torch.cuda.get_device_properties(index).total_memory / _GIB:.0f} GiB)"
            for index in range(torch.cuda.device_count())
        )
    elif torch.backends.mps.is_available():
        observed = "mps (Apple GPU)"
    places = [f"cuda:{index}" for index in range(torch.cuda.device_count())] or ["cpu"]
    return [*_judged("device", observed), *(check_arithmetic(place) for place in places)]


def check_arithmetic(device: str) -> DoctorCheck:
    """Multiply and add on a device, and compare with exact whole numbers.

    A driver that does not fit, or memory that fails, shows here before it shows in a training.
    """
    import torch

    numbers = torch.arange(256, device=device) % 7
    table = numbers[:, None] * numbers
    expected = table.cpu() @ table.cpu()
    wrong = [
        str(kind).removeprefix("torch.")
        for kind in (torch.float32, torch.float64)
        if not torch.equal((table.to(kind) @ table.to(kind)).cpu().long(), expected)
    ]
    if torch.ones(1 << 16, device=device).cumsum(0)[-1].item() != 1 << 16:
        wrong.append("sums")
    name = f"arithmetic of {device}"
    if not wrong:
        return DoctorCheck(name, Status.OK, "float32, float64 and sums are exact where they can be")
    remedy = "Update the driver, or train with --device cpu"
    return DoctorCheck(name, Status.PROBLEM, f"wrong results: {', '.join(wrong)}", remedy)


def check_compiler() -> list[DoctorCheck]:
    """Find the C compiler that native lanes need, and look at the folder of their programs."""
    from tradingbot.market.native.library import find_compiler, load_library
    from tradingbot.market.program_cache import CACHE_VARIABLE, folder_fault, named_folder

    compiler, folder = find_compiler(), named_folder()
    if compiler is None:
        observed = "no C compiler: simulators run as tensors, with the same results and far slower"
        remedy = "Install gcc or clang, e.g.: apt install gcc"
        return _judged("compiler", observed, remedy, Status.ABSENT)
    fault = folder_fault(folder)
    if fault is not None:
        observed = f"{compiler}; {folder} {fault}: nothing in it is run, programs are not kept"
        remedy = f"Remove it, or set {CACHE_VARIABLE} to a folder of your own with mode 0700"
        return _judged("compiler", observed, remedy, Status.WARNING)
    if load_library("", lambda: _PROBE) is None:
        observed = f"{compiler} compiles nothing: simulators run as tensors, far slower"
        remedy = "Install gcc or clang with its headers, e.g.: apt install gcc libc6-dev"
        return _judged("compiler", observed, remedy, Status.WARNING)
    return _judged("compiler", f"{compiler} compiles; programs in {folder}")


def check_threads(omp_setting: str | None) -> list[DoctorCheck]:
    """Compare torch's threads and `OMP_NUM_THREADS` with the cores this process may use."""
    import torch

    cores, threads, remedy = _usable_cores(), torch.get_num_threads(), ""
    observed = f"torch {threads}, OMP_NUM_THREADS {omp_setting or 'unset'}, cores {cores}"
    if omp_setting is not None and not re.fullmatch(r"[1-9]\d*", omp_setting.strip()):
        remedy = f"Unset OMP_NUM_THREADS or set it to at most {cores}"
    elif threads > cores:
        remedy = f"Set OMP_NUM_THREADS={cores}: more threads than cores wait for each other"
    return _judged("threads", observed, remedy, Status.WARNING)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_memory() -> list[DoctorCheck]:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    available = available_bytes() or total
    observed = f"{available / _GIB:.1f} GiB available of {total / _GIB:.1f} GiB"
    remedy = f"Close other programs: {_MEMORY_NEEDED_BYTES / _GIB:.0f} GiB are needed"
    enough = available >= _MEMORY_NEEDED_BYTES
    return _judged("memory", observed, "" if enough else remedy, Status.WARNING)


def check_workspace(workspace: Path) -> list[DoctorCheck]:
    """Try to write where the workspace is or would be, and measure the room there."""
    place = workspace.expanduser().absolute()
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    other = "Choose another --workspace"
    if not existing.is_dir():
        return _judged("workspace", f"{existing} is a file", other)
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"x")
    except OSError as e:
        return _judged("workspace", f"{existing} is not writable: {e.strerror}", other)
    free = shutil.disk_usage(existing).free
    state = "writable" if existing == place else "will be made"
    remedy = f"Free {_DISK_NEEDED_BYTES / _GIB:.0f} GiB or choose another --workspace"
    enough, room = free >= _DISK_NEEDED_BYTES, f"{free / _GIB:.1f} GiB free"
    disk = _judged("disk", room, "" if enough else remedy, Status.WARNING)
    return [*_judged("workspace", f"{place} ({state})"), *disk]


def check_clock(now: datetime) -> list[DoctorCheck]:
    """Compare the clock with the age of our own files: it cannot be older than they are."""
    written = datetime.fromtimestamp(Path(tradingbot.__file__).stat().st_mtime, UTC)
    observed = now.isoformat(timespec="seconds")
    if now >= written - timedelta(days=1):
        return _judged("clock", observed)
    remedy = "Set the system clock: bars would be stamped in the past"
    return _judged("clock", f"{observed}, before {written:%Y-%m-%d}", remedy)


def _check_time_zones() -> list[DoctorCheck]:
    zone = ZoneInfo("America/New_York")
    summer, winter = (datetime(2025, month, 1, tzinfo=zone).utcoffset() for month in (7, 1))
    if (summer, winter) == (timedelta(hours=-4), timedelta(hours=-5)):
        return _judged("time zones", "America/New_York has its summer time")
    remedy = "Install the tzdata package of the system or: pip install tzdata"
    return _judged("time zones", f"New York is at {summer} and {winter}", remedy)


def _check_calendar(today: date) -> list[DoctorCheck]:
    import exchange_calendars

    calendar = exchange_calendars.get_calendar("XNYS")
    first, last = calendar.first_session.date(), calendar.last_session.date()
    observed = f"XNYS {first} … {last}"
    if first <= today <= last:
        return _judged("calendar", observed)
    remedy = "Run: pip install --upgrade exchange_calendars"
    return _judged("calendar", f"{observed}, today is {today}", remedy)
