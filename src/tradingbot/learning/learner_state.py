"""What resuming needs, as named tensors: collected from the parts of a learner, and put back.

A learner lists its parts by name. Modules, optimisers and generators are restored in place; tensors
and numbers come back as new values, because only their owner can assign them: a `Resumable` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.generators import generator_state, set_generator_state


class Resumable:
    """Base of what resumes bit for bit: the attributes that `_STATE` names are all its state."""

    _STATE: ClassVar[Mapping[str, str]]
    """Part → attribute that holds it, of `name_parts`."""

    def state(self) -> dict[str, Tensor]:
        """Return everything that resuming bit for bit needs, as named tensors."""
        return collect_state(self._parts())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned.

        Raises:
            ConfigError: If a tensor is missing, superfluous, or of another shape or format.
        """
        for name, value in restore_state(self._parts(), state).items():
            owner, _, attribute = self._STATE[name].rpartition(".")
            setattr(attrgetter(owner)(self) if owner else self, attribute, value)

    def _parts(self) -> dict[str, Part]:
        return {name: attrgetter(path)(self) for name, path in self._STATE.items()}


_Tensors = Tensor | tuple[Tensor, ...] | dict[str, Tensor]
Part = nn.Module | Optimizer | torch.Generator | Resumable | _Tensors | int | float
Parts = Mapping[str, Part]
"""Name → part of a learner; a name has no slash at its end."""


def name_parts(*attributes: str, **renamed: str) -> dict[str, str]:
    """Name the parts of a `Resumable` after its attributes; keywords give other names.

    Example:
        >>> name_parts("steps", "_improver.shuffle", task="_state")
        {'steps': 'steps', 'shuffle': '_improver.shuffle', 'task': '_state'}
    """
    return {path.rpartition(".")[2].removeprefix("_"): path for path in attributes} | renamed


def collect_state(parts: Parts) -> dict[str, Tensor]:
    """Return copies of all tensors of the parts, named `part` or `part/…`."""
    state: dict[str, Tensor] = {}
    for name, part in parts.items():
        state |= {key: tensor.detach().clone() for key, tensor in _tensors(name, part).items()}
    return state


def restore_state(parts: Parts, state: Mapping[str, Tensor]) -> dict[str, Any]:
    """Put back what `collect_state` returned; nothing is changed unless everything fits.

    Returns:
        New values of the parts that are tensors, tuples of tensors, or numbers, by name.

    Raises:
        ConfigError: If a tensor is missing, superfluous, or of another shape or format.
    """
    expected = _expected(parts, state)
    _check_names(expected, state)
    for key, (shape, dtype) in expected.items():
        _check_tensor(key, state[key], shape, dtype)
    return {
        name: value
        for name, part in parts.items()
        if (value := _restore(name, part, state)) is not None
    }


def tensors_below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with a prefix, named without it."""
    found = (name for name in tensors if name.startswith(prefix))
    return {name.removeprefix(prefix): tensors[name] for name in found}


def _tensors(name: str, part: Part) -> dict[str, Tensor]:
    if isinstance(part, nn.Module):
        return {f"{name}/{key}": tensor for key, tensor in part.state_dict().items()}
    if isinstance(part, Optimizer):
        return {
            f"{name}/{number}/{key}": tensor
            for number, parameter in enumerate(_parameters(part))
            for key, tensor in part.state.get(parameter, {}).items()
        }
    if isinstance(part, Resumable):
        return {f"{name}/{key}": tensor for key, tensor in part.state().items()}
    if isinstance(part, torch.Generator):
        return {name: generator_state(part)}
    if isinstance(part, Tensor):
        return {name: part}
    if isinstance(part, tuple | dict):
        items = part.items() if isinstance(part, dict) else enumerate(part)
        return {f"{name}/{key}": tensor for key, tensor in items}
    kind = torch.int64 if isinstance(part, int) else torch.float64
    return {name: torch.tensor(part, dtype=kind)}


_Form = tuple[torch.Size, torch.dtype]


def _expected(parts: Parts, state: Mapping[str, Tensor]) -> dict[str, _Form]:
    expected: dict[str, _Form] = {}
    for name, part in parts.items():
        if isinstance(part, Optimizer):
            expected |= _expected_of_optimiser(name, part, state)
        elif isinstance(part, Resumable):
            own = (key for key in state if key.startswith(f"{name}/"))  # it checks them itself
            expected |= {key: (state[key].shape, state[key].dtype) for key in own}
        else:
            expected |= {
                key: (tensor.shape, tensor.dtype) for key, tensor in _tensors(name, part).items()
            }
    return expected


def _expected_of_optimiser(
    name: str, optimiser: Optimizer, state: Mapping[str, Tensor]
) -> dict[str, _Form]:
    """An optimiser that never stepped has no moments yet: the state says whether there are any."""
    if not any(key.startswith(f"{name}/") for key in state):
        return {}
    moments = ("exp_avg", "exp_avg_sq")
    expected: dict[str, _Form] = {}
    for number, parameter in enumerate(_parameters(optimiser)):
        expected[f"{name}/{number}/step"] = (torch.Size(()), torch.float32)
        expected |= {
            f"{name}/{number}/{key}": (parameter.shape, parameter.dtype) for key in moments
        }
    return expected


def _check_names(expected: Mapping[str, _Form], state: Mapping[str, Tensor]) -> None:
    for words, names in (
        ("must have", sorted(expected.keys() - state.keys())),
        ("must not have", sorted(state.keys() - expected.keys())),
    ):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise ConfigError(
                f"the state of a learner {words} the tensor {names[0]!r}{more}",
                remedy="Resume with the configuration that the state was made with",
            )


def _check_tensor(key: str, tensor: Tensor, shape: torch.Size, dtype: torch.dtype) -> None:
    if tensor.shape != shape or tensor.dtype != dtype:
        rule = f"tensor {key!r} of a learner's state must be {dtype} of shape {tuple(shape)}"
        remedy = "Resume with the configuration that the state was made with"
        raise ConfigError(rule, was=f"{tensor.dtype} of shape {tuple(tensor.shape)}", remedy=remedy)


def _restore(name: str, part: Part, state: Mapping[str, Tensor]) -> Any:
    if isinstance(part, nn.Module):
        part.load_state_dict({key: state[f"{name}/{key}"] for key in part.state_dict()})
    elif isinstance(part, Optimizer):
        _restore_optimiser(name, part, state)
    elif isinstance(part, Resumable):
        part.load_state(tensors_below(state, f"{name}/"))
    elif isinstance(part, torch.Generator):
        set_generator_state(part, state[name])
    elif isinstance(part, Tensor):
        return state[name].to(part.device, copy=True)
    elif isinstance(part, dict):
        return {key: state[f"{name}/{key}"].to(was.device, copy=True) for key, was in part.items()}
    elif isinstance(part, tuple):
        made = [state[f"{name}/{i}"].to(tensor.device, copy=True) for i, tensor in enumerate(part)]
        return type(part)(*made) if hasattr(part, "_fields") else tuple(made)
    else:
        return type(part)(state[name].item())
    return None


def _restore_optimiser(name: str, optimiser: Optimizer, state: Mapping[str, Tensor]) -> None:
    on_device = bool(optimiser.defaults.get("fused") or optimiser.defaults.get("capturable"))
    for number, parameter in enumerate(_parameters(optimiser)):
        keys = [
            key for key in ("step", "exp_avg", "exp_avg_sq") if f"{name}/{number}/{key}" in state
        ]
        # Adam counts steps on the host unless it is fused.
        optimiser.state[parameter] = {
            key: state[f"{name}/{number}/{key}"].to(
                parameter.device if key != "step" or on_device else "cpu", copy=True
            )
            for key in keys
        }
        if not keys:
            del optimiser.state[parameter]


def _parameters(optimiser: Optimizer) -> list[Tensor]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]
