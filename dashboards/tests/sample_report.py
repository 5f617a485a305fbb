"""What tests of the report share: a report of given records, and readers of its pages and plots."""

import re
from html.parser import HTMLParser

from assay_dashboards import plots
from assay_dashboards.__main__ import write_report
from assay_dashboards.load import load
from assay_dashboards.view import View
from sample_run import write_run


class Page(HTMLParser):
    """Tags, attributes and text of a page, and every problem with them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.text, self.problems = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for key, value in attrs:
            if key.startswith("on"):
                self.problems.append(f"{tag} has {key}")
            if key == "id":
                self.ids.append(value)
            if key == "href" and tag == "a":
                self.links.append(value)
            # No network: nothing may name another place.
            if key in ("src", "href", "srcset", "action") and re.match(r"\s*(\w+:|//)", value or ""):
                self.problems.append(f"{tag} {key}={value}")

    def handle_data(self, data):
        self.text.append(data)

    @property
    def said(self):
        return " ".join(self.text)


def report(folder, records, **more):
    out = write_report(view_of(folder, records, **more), folder / "report").parent
    return {file.name: file.read_text("utf-8") for file in out.iterdir()}


def view_of(folder, records, **more):
    return View(load(write_run(folder, records, **more)))


def ticks_of(monkeypatch, draw):
    """axis of each call -> (positions, labels)"""
    seen = []
    monkeypatch.setattr(plots, "_ticks", lambda axis, *ticks: seen.append((axis.axis_name, *ticks)))
    lines = []
    monkeypatch.setattr(plots.matplotlib.axes.Axes, "axvline", lambda self, x, **_: lines.append(x))
    draw()
    return {name: dict(zip(labels, positions, strict=True)) for name, positions, labels in seen}, lines
