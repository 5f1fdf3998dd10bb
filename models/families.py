"""Which class a model of a family and number format is: one line each, imported only when one is met."""

from __future__ import annotations

from importlib import import_module

from models.device import DeviceModel
from models.errors import UnknownName

FAMILIES = {
    ("bonsai", "int8"): "models.bonsai_device:BonsaiInt8",
    ("bonsai", "float32"): "models.bonsai_device:BonsaiFloat",
    ("ldkl", "int8"): "models.ldkl_device:LdklInt8",
    ("ldkl", "float32"): "models.ldkl_device:LdklFloat",
    ("linear", "int8"): "models.linear_device:LinearInt8",
    ("linear", "float32"): "models.linear_device:LinearFloat",
    ("mlp", "int8"): "models.mlp_device:MlpInt8",
    ("mlp", "float32"): "models.mlp_device:MlpFloat",
    ("protonn", "int8"): "models.protonn_device:ProtoNNInt8",
    ("protonn", "float32"): "models.protonn_device:ProtoNNFloat",
    ("prototypes", "int8"): "models.prototypes_device:PrototypesInt8",
    ("trees", "int8"): "models.trees_device:Trees",
    ("trees", "int16"): "models.trees_device:Trees",
}


def device_class(family: str, numbers: str) -> type[DeviceModel]:
    """The class; UnknownName where the firmware has no such kernel."""
    place = FAMILIES.get((family, numbers))
    if place is None:
        known = [f"{name} {kind}" for name, kind in FAMILIES]
        raise UnknownName("kernel", f"{family} {numbers}", known)
    module, name = place.split(":")
    found: type[DeviceModel] = getattr(import_module(module), name)
    return found
