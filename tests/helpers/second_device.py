"""A simulated second device, so that tests find tensors on different devices without a GPU.

A `SecondDeviceTensor` says that it is on the device "meta" but holds its values in main memory. `SecondDevice` runs
every operation on those values and refuses what a GPU would refuse: an operation on tensors of both devices, or, as on
Apple's, a tensor of 64-bit floats. As on a GPU, a tensor without dimensions and the indices of an indexed tensor may
stay in main memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = torch.device("meta")
ATEN = torch.ops.aten
COPIES = {ATEN._to_copy, ATEN.copy_, ATEN.copy, ATEN._copy_from}  # They copy from one device to the other.
INDEXING = {ATEN.index, ATEN.index_put, ATEN.index_put_, ATEN._index_put_impl_}


class SecondDeviceTensor(Tensor):
    """A tensor on the second device. Its values are in `inner`."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> SecondDeviceTensor:
        return torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined, no-any-return]
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=DEVICE,
            requires_grad=False,
        )

    def __init__(self, inner: Tensor) -> None:
        super().__init__()
        self.inner = inner

    def __repr__(self, **_: Any) -> str:
        return f"SecondDeviceTensor({self.inner!r})"

    def tolist(self) -> Any:
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return run(function, args, kwargs or {})


class SecondDevice(TorchDispatchMode):
    """While it is active, tensors can be created on the second device."""

    def __torch_dispatch__(
        self, function: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return run(function, args, kwargs or {})


def run(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run one operation on the values, or raise the error that a GPU would raise."""
    tensors = list(tensors_in([*args, *kwargs.values()]))
    there = [isinstance(x, SecondDeviceTensor) for x in tensors]
    packet = function.overloadpacket
    if any(there) and not all(there) and packet not in COPIES:
        check(function, args, [x for x, second in zip(tensors, there, strict=True) if not second])
    asked = kwargs.get("device")
    if not any(there) and (asked is None or torch.device(asked) != DEVICE):
        return function(*args, **kwargs)
    second = any(there) if asked is None else torch.device(asked) == DEVICE
    plain = dict(kwargs) if asked is None else {**kwargs, "device": torch.device("cpu")}
    inner = {id(x): x.inner for x in tensors if isinstance(x, SecondDeviceTensor)}

    def value(x: Tensor) -> Tensor:
        return inner.get(id(x), x)

    result = function(*mapped(value, list(args)), **{name: mapped(value, x) for name, x in plain.items()})
    if packet is ATEN.copy_:
        return args[0]
    given = {id(number): x for x in tensors if (number := inner.get(id(x))) is not None}  # Changed in place.

    def wrapped(x: Tensor) -> Tensor | None:
        if isinstance(x, SecondDeviceTensor) or not second:
            return x
        if x.dtype == torch.float64:
            raise RuntimeError(f"{function} made a tensor of 64 bits, which Apple's devices do not have")
        return given.get(id(x)) if id(x) in given else SecondDeviceTensor(x)

    return mapped(wrapped, result)


def tensors_in(values: Sequence[Any]) -> Iterator[Tensor]:
    """The tensors among the arguments of an operation, which may be in lists."""
    for x in values:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from tensors_in(x)


def mapped(change: Callable[[Tensor], Tensor | None], x: Any) -> Any:
    """Change every tensor of an argument or a result. Like `tree_map`, but several times faster."""
    if isinstance(x, Tensor):
        return change(x)
    return type(x)(mapped(change, part) for part in x) if type(x) in (list, tuple) else x


def check(function: Any, args: Sequence[Any], here: Sequence[Tensor]) -> None:
    """Refuse an operation on tensors of both devices. `here` are the tensors in main memory."""
    name = function.overloadpacket
    free = list(here)
    if name in INDEXING and isinstance(args[0], SecondDeviceTensor):
        indices = {id(index) for index in args[1] if index is not None}
        free = [x for x in here if id(x) not in indices]
    written = function._schema.is_mutable and not isinstance(args[0], SecondDeviceTensor)
    if written or any(x.dim() for x in free):
        shapes = [tuple(x.shape) for x in free]
        raise RuntimeError(f"{function} on tensors of both devices: those of shape {shapes} are in main memory")
