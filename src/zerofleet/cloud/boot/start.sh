#!/bin/bash
# Prepares a machine and starts its role. Runs once, as root.
set -euo pipefail
source /etc/zerofleet.conf
command -v docker > /dev/null || dnf install -y -q docker
systemctl enable --now docker
install -d -m 0700 -o 10001 -g 10001 /var/lib/zerofleet
cat > /etc/systemd/system/zerofleet@.service <<'END'
[Unit]
Description=zerofleet, role %i of this machine
Wants=network-online.target docker.service
After=network-online.target docker.service
StartLimitIntervalSec=0

[Service]
ExecStart=/opt/zerofleet/role.sh %i
RuntimeDirectory=zerofleet-%i
RuntimeDirectoryMode=0711
# A role that ends by itself has finished its run; one that fails is restarted.
Restart=on-failure
RestartSec=10
# role.sh passes SIGTERM on to the container and waits for it.
KillMode=mixed
TimeoutStopSec=110
END
cat > /etc/systemd/system/zerofleet-interruption.service <<'END'
[Unit]
Description=drains this machine's role when the provider takes the machine back

[Service]
ExecStart=/usr/bin/python3 /opt/zerofleet/interruption.py systemctl stop zerofleet@0
Restart=on-failure
END
systemctl daemon-reload
for ((number = 0; number < NUM_ROLES; number++)); do systemctl start --no-block "zerofleet@$number"; done
if [[ $DASH_IMAGE ]]; then systemctl start --no-block zerofleet@dash; fi
if [[ $INTERRUPTIBLE ]]; then systemctl start --no-block zerofleet-interruption; fi
