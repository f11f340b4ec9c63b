"""Runs a benchmark of a solver: the scripts beside this file.

zerofleet bench solve gomoku --help
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def main():
    known = sorted(path.stem for path in FOLDER.glob("*.py") if path.name != "run.py")
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        sys.exit(f"zerofleet bench solve WHAT [OPTION...]; WHAT is one of {', '.join(known)}")
    script = FOLDER / f"{sys.argv[1]}.py"
    sys.exit(subprocess.run([sys.executable, str(script), *sys.argv[2:]]).returncode)


if __name__ == "__main__":
    main()
