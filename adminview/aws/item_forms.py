"""The item formats of boto3: DynamoDB JSON of clients, Python values of resources."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from adminview.aws.attribute_codec import for_boto3, from_boto3
from adminview.model.row import Attributes


@dataclass(frozen=True, slots=True)
class Form:
    """Converts items of one format from and to our DynamoDB JSON."""

    read: Callable[[Mapping[str, Any]], Attributes]
    write: Callable[[Attributes], dict[str, Any]]


def _from_python(item: Mapping[str, Any]) -> Attributes:
    serialize = TypeSerializer().serialize
    return from_boto3({name: serialize(value) for name, value in item.items()})


def _to_python(attributes: Attributes) -> dict[str, Any]:
    deserialize: Callable[[Any], Any] = TypeDeserializer().deserialize
    return {name: deserialize(value) for name, value in for_boto3(attributes).items()}


CLIENT = Form(from_boto3, for_boto3)
RESOURCE = Form(_from_python, _to_python)
