"""How many tokens fit into the pages that the request has? Does the token at
`position` fit?

A page has 4 positions, so 0, 4, 8 and so on are the first ones of a page:
`position % PAGE == 0`.

Return True at once if the position is not the first of a page. Only then
look whether a page is free.

Learned: A request holds pages for the tokens that it has, so it needs no free
memory except when a page is full.
"""

PAGE = 4


def append_token(free, table, request, position):
    """Give the request a page if it needs one; say if there was room."""
    pages = table.setdefault(request, [])
    if position % PAGE:
        return True
    if not free:
        return False
    pages.append(free.pop(0))
    return True


def finish(free, table, request):
    """Give the pages of a request back."""
    free.extend(table.pop(request))
