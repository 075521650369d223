"""Hand out the pages of a KV cache.

`free` has the numbers of the free pages, and `table` has the pages of each
request, in order. `append_token` is called for every token of a request,
before the token is stored at the given position, which counts from 0. If
the position is the first one of a page, the request needs another page.
Return True if there was room. `finish` gives all pages of a request back.
"""

PAGE = 4


def append_token(free, table, request, position):
    """Give the request a page if it needs one; say if there was room."""
    pages = table.setdefault(request, [])
    if not free:  # your code here
        return False
    pages.append(free.pop(0))
    return True


def finish(free, table, request):
    """Give the pages of a request back."""
    free.extend(table.pop(request))


# Judged below: leave this part as it is.

free, table = list(range(6)), {}
for position in range(9):
    message = f"token {position} of request a found no room"
    assert append_token(free, table, "a", position), message
found = len(table["a"])
assert found == 3, f"9 tokens took {found} pages, expected 3"
for position in range(4):
    assert append_token(free, table, "b", position), "request b had no room"
assert len(table["b"]) == 1, f"4 tokens took {len(table['b'])} pages"
held = table["a"] + table["b"] + free
message = f"each page must be somewhere once: {sorted(held)}"
assert sorted(held) == list(range(6)), message
for position in range(8):
    assert append_token(free, table, "c", position), "request c had no room"
message = "all pages are taken, and token 4 of b needs another one"
assert not append_token(free, table, "b", 4), message
message = "token 9 of a fits into its last page, although none is free"
assert append_token(free, table, "a", 9), message
finish(free, table, "c")
assert "c" not in table and len(free) == 2, "the pages of c did not return"
assert append_token(free, table, "b", 4), "a page is free again"
assert len(table["b"]) == 2, "request b needs two pages for 5 tokens"
print("pages come when they are needed, and go back at the end")
