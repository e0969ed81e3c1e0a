"""The API reference, rendered from the OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from adminview.local.pages.html import Html, element, joined, link, page, table

LIMITS: Final = {
    "format": "format {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "from {}",
    "maximum": "up to {}",
    "default": "default {}",
}


def reference(document: Mapping[str, Any]) -> str:
    """Return the page for an OpenAPI document."""
    info = document["info"]
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    contents = [
        element("li", link(f"#{operation['operationId']}", f"{method} {path}"))
        for method, path, operation in operations
    ]
    schemas = document["components"]["schemas"]
    return page(
        f"{info['title']} API",
        element("p", link("/", "Access patterns"), ", model ", element("code", info["version"])),
        element("p", info["description"]),
        element("ul", *contents),
        *(_operation(method, path, operation) for method, path, operation in operations),
        element("h1", "Schemas"),
        *(_schema(name, schema) for name, schema in schemas.items()),
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Html:
    parts = [
        element("h2", element("code", f"{method} {path}")),
        element("p", operation["summary"], " (", element("code", operation["operationId"]), ")"),
    ]
    if "description" in operation:
        parts.append(element("p", operation["description"]))
    if operation["parameters"]:
        rows = map(_parameter, operation["parameters"])
        parts.append(table(("parameter", "in", "type", "description"), rows))
    responses = (_response(*response) for response in operation["responses"].items())
    parts.append(table(("status", "body", "description"), responses))
    return element("section", *parts, id=operation["operationId"])


def _parameter(parameter: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        _name(parameter["name"], required=parameter["required"]),
        parameter["in"],
        _type(parameter["schema"]),
        parameter.get("description", ""),
    )


def _response(status: str, response: Mapping[str, Any]) -> tuple[str, ...]:
    bodies = [_type(body["schema"]) for body in response["content"].values()]
    headers = [
        f"{name}: {header['description']}" for name, header in response.get("headers", {}).items()
    ]
    return status, joined(bodies, ", "), "; ".join([response["description"], *headers])


def _schema(name: str, schema: Mapping[str, Any]) -> Html:
    parts = [element("h2", element("code", name))]
    if "description" in schema:
        parts.append(element("p", schema["description"]))
    members = schema.get("properties", {})
    if members:
        rows = (
            (
                _name(member, required=member in schema["required"]),
                _type(value),
                value.get("description", ""),
            )
            for member, value in members.items()
        )
        parts.append(table(("member", "type", "description"), rows))
    else:
        parts.append(element("p", _type(schema)))
    return element("section", *parts, id=_anchor(name))


def _name(name: str, *, required: bool) -> Html:
    return joined([element("code", name), "" if required else " (optional)"])


def _type(schema: Mapping[str, Any]) -> Html:
    """Describe a schema in a few words, with a link for each reference."""
    limits = [text.format(schema[name]) for name, text in LIMITS.items() if name in schema]
    return joined([joined(_kinds(schema), " or "), *(f", {limit}" for limit in limits)])


def _kinds(schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield link(f"#{_anchor(name)}", name)
    elif "anyOf" in schema:
        yield from map(_type, schema["anyOf"])
    elif "const" in schema or "enum" in schema:
        yield from (element("code", value) for value in schema.get("enum", [schema.get("const")]))
    elif schema["type"] == "array":
        yield joined(["list of ", _type(schema["items"])])
    elif isinstance(schema.get("additionalProperties"), Mapping):
        yield joined(["object of ", _type(schema["additionalProperties"])])
    else:
        yield from [schema["type"]] if isinstance(schema["type"], str) else schema["type"]


def _anchor(schema: str) -> str:
    return f"schema-{schema}"
