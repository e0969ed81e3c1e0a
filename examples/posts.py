"""Posts of a social network, of which only the public ones are indexed.

The public posts of all authors are one list, spread over four shards.
"""

from collections.abc import Iterator

from adminview import AccessPattern, Index, Item, Row, Source, key, view

posts = Source("Posts", partition_key="author", sort_key="postId")

public = Index("GSI1", partition="GSI1_PK", sort="GSI1_SK", include=["data"], shards=4)

posts_of_author = AccessPattern(
    "posts-of-author",
    partition="AUTHOR#{author}",
    about="Every post of one author, public or not",
)
public_posts = AccessPattern(
    "public-posts",
    index=public,
    partition="PublicPosts",
    descending=True,
    about="What everybody may read, newest first",
)


@view(posts)
def post(item: Item) -> Iterator[Row]:
    """List a post under its author; index it if it is public."""
    yield Row(
        key("AUTHOR", item["author"]),
        key("POST", item["postId"]),
        data=item.pick("title", "public", "postedAt"),
        indexes=[public("PublicPosts", item["postedAt"])] if item.get("public") else [],
    )
