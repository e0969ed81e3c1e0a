"""A device with two sensors, whose readings are a microsecond apart."""

from decimal import Decimal
from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items

START = Decimal(1767225600)
TICK = Decimal("0.000001")


def reading(reading_id: str, device: str, sensor: str, at: Decimal, value: str) -> dict[str, Any]:
    key = {"readingId": reading_id, "deviceId": device, "sensorType": sensor}
    return key | {"timestamp": at, "value": Decimal(value), "unit": "C"}


ITEMS: Items = {
    "Readings": [
        reading("a", "boiler-1", "temperature", START + TICK, "61.5"),
        reading("b", "boiler-1", "temperature", START, "61.25"),
        reading("c", "boiler-1", "temperature", START + 10, "63"),
        reading("d", "boiler-1", "temperature", START + 9, "62"),
        reading("e", "boiler-1", "pressure", START + 5, "2.5"),
        reading("f", "boiler-2", "temperature", START + 5, "40"),
    ]
}


def expected(reading_id: str, at: Decimal) -> ExpectedRow:
    return ExpectedRow(f"READING#{reading_id}", "DETAILS", {"timestamp": at})


FIRST, SECOND = expected("b", START), expected("a", START + TICK)
NINTH, TENTH = expected("d", START + 9), expected("c", START + 10)
SENSOR = {"device_id": "boiler-1", "sensor_type": "temperature"}

QUERIES = [
    ExampleQuery("readings-of-sensor", SENSOR, [FIRST, SECOND, NINTH, TENTH]),
    ExampleQuery("readings-of-sensor", SENSOR | {"sensor_type": "flow"}, []),
    ExampleQuery("latest-readings-of-sensor", SENSOR, [TENTH, NINTH, SECOND, FIRST]),
    ExampleQuery(
        "readings-between",
        SENSOR | {"start": START + TICK, "end": START + 9},
        [SECOND, NINTH],
    ),
    ExampleQuery("readings-since", SENSOR | {"since": START + 2 * TICK}, [NINTH, TENTH]),
    ExampleQuery("readings-after", SENSOR | {"time": START + TICK}, [NINTH, TENTH]),
    ExampleQuery("readings-until", SENSOR | {"time": START + TICK}, [FIRST, SECOND]),
    ExampleQuery("readings-before", SENSOR | {"time": START + TICK}, [FIRST]),
]
