"""Graphs in ONNX Runtime: on the processor, one thread by default, every rule checked before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tradingbot.domain.errors import ConfigError, MissingExtraError
from tradingbot.serving.graph_contract import GraphSizes, graph_ports
from tradingbot.serving.onnx_rules import check_model

try:
    import onnxruntime
except ImportError as e:
    raise MissingExtraError("serve", package="onnxruntime") from e


class OnnxGraphs:
    """The graphs of a bundle; several threads may run them at once."""

    def __init__(self, files: Mapping[str, bytes], sizes: GraphSizes, *, threads: int) -> None:
        """Check and build them.

        Args:
            files: Models by name.
            sizes: What they must take and give.
            threads: Of one run; 1 gives the same bits whatever else runs.

        Raises:
            StorageError: If one breaks a rule of `onnx_rules`; ONNX Runtime did not see it.
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        ports = graph_ports(sizes)
        for name, (inputs, outputs) in ports.items():
            check_model(files[name], inputs, outputs, where=name)
        self._sessions = {
            name: onnxruntime.InferenceSession(
                files[name], options, providers=["CPUExecutionProvider"]
            )
            for name in ports
        }

    def run(self, name: str, given: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """Return the outputs of a graph, in order.

        Raises:
            ConfigError: If inputs have other shapes or types.
        """
        try:
            made: list[NDArray[Any]] = self._sessions[name].run(None, given)
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument as e:
            was = str(e).splitlines()[0].rpartition("INVALID_ARGUMENT : ")[2]
            raise ConfigError(f"inputs of {name} must have its shapes", was=was) from e
        return made
