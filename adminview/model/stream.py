"""What a source's stream must be, and how to make it so: for synthesis and the command alike."""

from typing import Final

VIEW_TYPE: Final = "NEW_AND_OLD_IMAGES"  # a change is the difference of both images


def turn_on(table: str) -> str:
    """Say how a table gets its stream."""
    return (
        f"Turn the stream on with: aws dynamodb update-table --table-name {table} "
        f"--stream-specification StreamEnabled=true,StreamViewType={VIEW_TYPE} "
        "--query TableDescription.LatestStreamArn"
    )


def replace(table: str) -> str:
    """Say how a table gets another stream."""
    return (
        "A stream's view type cannot change: turn the stream off (aws dynamodb update-table "
        f"--table-name {table} --stream-specification StreamEnabled=false), then on. "
        f"{turn_on(table)}"
    )
