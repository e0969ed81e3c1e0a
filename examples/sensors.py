"""Readings of sensors, by device, kind of sensor and time.

The time is a number and keeps all the digits that the device sends.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, number, view

readings = Source("Readings", partition_key="readingId")

by_sensor = Index(
    "DeviceSensorTime",
    partition=["deviceId", "sensorType"],
    sort=number("timestamp"),
    include=["data"],
)

readings_of_sensor = AccessPattern(
    "readings-of-sensor",
    index=by_sensor,
    partition=["{device_id}", "{sensor_type}"],
    about="Every reading of one kind of sensor of a device, oldest first",
)
latest_readings_of_sensor = AccessPattern(
    "latest-readings-of-sensor",
    index=by_sensor,
    partition=["{device_id}", "{sensor_type}"],
    descending=True,
    about="Every reading of one kind of sensor of a device, newest first",
)
readings_between = AccessPattern(
    "readings-between",
    index=by_sensor,
    partition=["{device_id}", "{sensor_type}"],
    sort_between=("{start}", "{end}"),
    about="What a sensor read between two times",
)
readings_since = AccessPattern(
    "readings-since",
    index=by_sensor,
    partition=["{device_id}", "{sensor_type}"],
    sort_from="{since}",
    about="What a sensor read from some time on",
)
readings_after = AccessPattern(
    "readings-after",
    index=by_sensor,
    partition=["{device_id}", "{sensor_type}"],
    sort_after="{time}",
    about="What a sensor read after some time",
)
readings_until = AccessPattern(
    "readings-until",
    index=by_sensor,
    partition=["{device_id}", "{sensor_type}"],
    sort_until="{time}",
    about="What a sensor read until some time",
)
readings_before = AccessPattern(
    "readings-before",
    index=by_sensor,
    partition=["{device_id}", "{sensor_type}"],
    sort_before="{time}",
    about="What a sensor read before some time",
)


@view(readings)
def reading(item: Item) -> Iterator[Row]:
    """Place a reading in its sensor's series."""
    yield Row(
        key("READING", item["readingId"]),
        "DETAILS",
        data=item.pick("deviceId", "sensorType", "timestamp", "value", "unit"),
        indexes=[by_sensor(item["deviceId"], item["sensorType"], item["timestamp"])],
    )
