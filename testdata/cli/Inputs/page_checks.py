"""What scripts that look at pages in a browser share: checks that are counted, and told when they fail."""

failed = []


def check(what, found, expected):
    is_right = expected(found) if callable(expected) else found == expected
    if not is_right:
        failed.append(what)
        print(f"{what}: {found!r}" + ("" if callable(expected) else f", not {expected!r}"))


def failures():
    return len(failed)


def has(*parts):
    return lambda text: all(part in text for part in parts)


def end(page, name):
    check(f"{name}: nothing goes wrong in the page", page.check(), [])
    page.browser.events.clear()
