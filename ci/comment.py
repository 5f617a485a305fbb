"""Makes a run's summary fit to be posted as a pull request comment: `comment.py SUMMARY` prints the comment.

The summary comes from a run of a stranger's code. It may hold anything, so that here it becomes inert Markdown: bounded
in size, no control characters, no HTML, no links or images, no mentions of people. Tables and emphasis stay.
"""

import re
import sys
from pathlib import Path

MARKER = "<!-- assay gate -->"  # by which the comment is found again and replaced
LIMIT = 60_000  # GitHub refuses more than 65,536 characters
ZERO_WIDTH_SPACE = "\u200b"


def inert(text):
    text = re.sub(r"[^\n\t\x20-\x7e\u00a0-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\ud7ff]", "", text)
    # Broken where they begin, not escaped: in a code span an entity is shown as it is written. A scheme has no word
    # boundary before it, because GitHub needs none.
    begins = r"(?i)<(?=[a-z/!?])|&(?=[a-z#])|[@\[\]]|#(?=\d)|gh-(?=\d)|(?:https?|ftp|mailto|www)(?=[:.])"
    return re.sub(begins, rf"\g<0>{ZERO_WIDTH_SPACE}", text)


def comment(summary, limit=LIMIT):
    body = inert(summary)
    if len(body) > limit:
        body = body[: body.rfind("\n", 0, limit) + 1 or limit] + "\n... cut: the whole run is in its artifact\n"
    return f"{MARKER}\n{body}"


def main(path):
    print(comment(Path(path).read_bytes()[: 4 * LIMIT].decode("utf-8", errors="replace")))


if __name__ == "__main__":
    main(sys.argv[1])
