"""Three authors, one of whom keeps a post private."""

from typing import Any

from examples.query import ExampleQuery, ExpectedRow, Items


def post(author: str, post_id: str, day: int, *, public: bool) -> dict[str, Any]:
    """Write a post of one month."""
    more = {"title": f"Note {post_id}", "public": public, "postedAt": f"2025-06-{day:02}"}
    return {"author": author, "postId": post_id} | more


ITEMS: Items = {
    "Posts": [
        post("kim", "1", 3, public=True),
        post("kim", "2", 9, public=False),
        post("lou", "3", 7, public=True),
        post("lou", "4", 5, public=True),
        post("max", "5", 1, public=True),
    ]
}

FIRST = ExpectedRow("AUTHOR#kim", "POST#1", {"title": "Note 1", "public": True})
PRIVATE = ExpectedRow("AUTHOR#kim", "POST#2", {"title": "Note 2", "public": False})
THIRD = ExpectedRow("AUTHOR#lou", "POST#3", {"title": "Note 3", "public": True})
FOURTH = ExpectedRow("AUTHOR#lou", "POST#4", {"title": "Note 4", "public": True})
FIFTH = ExpectedRow("AUTHOR#max", "POST#5", {"title": "Note 5", "public": True})

QUERIES = [
    ExampleQuery("posts-of-author", {"author": "kim"}, [FIRST, PRIVATE]),
    ExampleQuery("public-posts", {}, [THIRD, FOURTH, FIRST, FIFTH]),
    ExampleQuery("public-posts", {}, [THIRD, FOURTH, FIRST, FIFTH], pages_of=1),
    ExampleQuery("public-posts", {}, [THIRD, FOURTH, FIRST], limit=3),
]
