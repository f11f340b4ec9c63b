"""Rules and documentation name the metrics that roles report, and every rule is tested."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from zerofleet.fleet.role_metrics import METRICS, PREFIX

PROJECT = Path(__file__).parents[2]
PROMETHEUS = PROJECT / "infra" / "prometheus"


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_rules_ask_only_for_declared_metrics() -> None:
    declared = {metric.prometheus_name for metric in METRICS.values()}
    asked = {
        name for rule in rules() for name in re.findall(rf"(?<![\w:]){PREFIX}\w+", rule["expr"])
    }
    assert len(asked) > 10
    assert asked <= declared


def test_every_alert_is_tried_both_firing_and_quiet() -> None:
    tests = yaml.safe_load((PROMETHEUS / "rules_test.yml").read_text())["tests"]
    cases = [case for test in tests for case in test["alert_rule_test"]]
    alerts = {rule["alert"] for rule in rules() if "alert" in rule}
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == alerts
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == alerts


def test_the_page_of_metrics_is_up_to_date() -> None:
    script = [sys.executable, PROJECT / "scripts" / "write-metrics", "--check"]
    checked = subprocess.run(script, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
