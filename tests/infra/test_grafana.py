"""infra/grafana: the dashboard is what its script says, and asks for metrics that exist.

test_monitoring.py runs its expressions on a real Prometheus.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from zerofleet.fleet.role_metrics import METRICS

PROJECT = Path(__file__).parents[2]
DASHBOARD = json.loads((PROJECT / "infra" / "grafana" / "zerofleet.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def test_the_dashboard_is_up_to_date():
    script = [sys.executable, PROJECT / "scripts" / "write-grafana", "--check"]
    checked = subprocess.run(script, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_every_metric_that_it_asks_for_is_declared():
    declared = {metric.prometheus_name for metric in METRICS.values()}
    text = json.dumps(PANELS)
    used = set(re.findall(r"zerofleet_[a-z_]+", text))
    assert used <= declared
    assert {"zerofleet_games_total", "zerofleet_gpu_busy", "zerofleet_rating_score"} <= used


def test_it_shows_what_a_fleet_is_watched_for():
    kinds = {panel["title"]: panel["type"] for panel in PANELS}
    wanted = ["Games/s", "GPU use", "Loss", "Rating", "Trainer", "Workers"]
    assert kinds.keys() >= set(wanted)
    assert kinds["Latency of inference servers"] == "heatmap"


def test_panels_do_not_overlap():
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
