#!/usr/bin/env python3
"""Reads a result's interval logs with an HdrHistogram that has nothing to do with Understudy (PyPI: hdrhistogram) and
holds its percentiles against those in result.json.

    pip install hdrhistogram
    python3 results/examples/read_logs.py understudy-runs/20261129T144235Z-scale-up

Exit code 1 if any differs, 2 if something can't be read.
"""

import json
import pathlib
import re
import sys

try:
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader
except ImportError:
    sys.exit("this needs the package hdrhistogram: pip install hdrhistogram")

HIGHEST_US = 3_600_000_000


def new():
    return HdrHistogram(1, HIGHEST_US, 3)


def log_of(folder, run):
    """The name that `run` gives a log: of the strategy only letters, digits and underscores are left."""
    strategy = "-".join(re.findall(r"\w+", run["strategy"]))
    twin = "-aa" if run["replica"] else ""
    return folder / f"latency-{strategy}-{run['trial']}{twin}.hlog"


def measured(log):
    """The sum of all intervals after the warm-up, and how many there are."""
    total, intervals = new(), 0
    reader = HistogramLogReader(str(log), new())
    while (histogram := reader.get_next_interval_histogram()) is not None:
        if histogram.get_tag() not in ("preload", "warm-up"):
            total.add(histogram)
            intervals += 1
    return total, intervals


def at(total, share):
    """The smallest value that this share of all values doesn't exceed, in milliseconds: HdrHistogram goes to the next
    whole rank, this package to the nearest, so it is asked for a whole one."""
    count = total.get_total_count()
    # Of thousandths, because a product of floats may be a hair above a whole number.
    rank = -(-count * round(share * 1_000) // 1_000)
    return total.get_value_at_percentile(100 * rank / count) / 1_000 if count else 0


def main(folder):
    folder = pathlib.Path(folder)
    differing = 0
    for run in json.loads((folder / "result.json").read_text())["runs"]:
        log = log_of(folder, run)
        total, intervals = measured(log)
        told = run["metrics"]["service_latency_ms"]
        read = {
            "count": total.get_total_count(),
            **{name: at(total, share) for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))},
        }
        differ = [name for name in read if abs(read[name] - told[name]) > 1e-9]
        differing += bool(differ)
        verdict = "differ in " + ", ".join(differ) if differ else "equal"
        print(f"{log.name}: {intervals} intervals, {read}: {verdict}")
    return 1 if differing else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        sys.exit(main(sys.argv[1]))
    except (OSError, KeyError, ValueError) as error:
        print(f"{sys.argv[1]}: {error!r}", file=sys.stderr)
        sys.exit(2)
