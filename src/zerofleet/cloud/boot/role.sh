#!/bin/bash
# Runs one container of this machine until it ends: role.sh NUMBER, or role.sh dash beside a trainer.
#
# SIGTERM is passed on and waited for, so that the role drains. A trainer that ends by itself has finished its run: then
# everything that is paid by the hour ends. Secrets are fetched into memory (RUNTIME_DIRECTORY) at each start, never
# written to a disk, an argument or a log.
set -uo pipefail
source "${ZEROFLEET_CONF:-/etc/zerofleet.conf}"
number=$1
secrets=$RUNTIME_DIRECTORY

metadata() {
  local url=${ZEROFLEET_METADATA_URL:-http://169.254.169.254}
  local token
  token=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$url/latest/api/token") &&
    curl -sf -H "X-aws-ec2-metadata-token: $token" "$url/latest/meta-data/$1"
}

# secret ID FILE: waits until the secret has a value; zerofleet cloud up adds keys after the stack is there.
secret() {
  until (umask 077 && aws secretsmanager get-secret-value --region "$REGION" --secret-id "$1" \
    --query SecretString --output text > "$secrets/$2"); do
    echo "secret $2 is not there yet" && sleep 5
  done
  chown 10001:10001 "$secrets/$2"
}

# redis_user KIND ID: this container logs in to Redis as the user of that kind, whose password is the secret.
redis_user() {
  [[ $2 ]] || return 0
  secret "$2" redis && options+=(-e "REDIS_USER=zf-$RUN-$1" -e REDIS_PASSWORD_FILE=/run/secrets/redis)
}

image=$IMAGE
options=()
instance=$(metadata instance-id) || exit 1
if [[ $number == dash ]]; then
  image=$DASH_IMAGE
  redis_user viewer "$VIEWER_SECRET"
  command=(dash --run "$RUN" --port 8080)
else
  redis_user "$ROLE" "$REDIS_SECRET"
  if [[ $CURVE_SECRET ]]; then
    secret "$CURVE_SECRET" curve && options+=(-e ZEROFLEET_CURVE_KEY_FILE=/run/secrets/curve)
  fi
  if [[ $NUM_GPUS != 0 ]]; then options+=(--gpus all); fi
  case $ROLE in
    worker) command=(worker --run "$RUN" --worker-id "$instance" --finish-games --drain-seconds 40) ;;
    inference)
      command=(inference --run "$RUN" --server-id "$instance-$number" --host "$(metadata local-ipv4)"
        --port $((7000 + number)) --device "cuda:$number")
      ;;
    trainer) command=(trainer "$GAME" --preset "$PRESET" --run "$RUN") ;;
    single) command=(train "$GAME" --preset "$PRESET" --run "$RUN" --no-dash) ;;
  esac
  read -ra more <<< "$ROLE_OPTIONS"
  command+=("${more[@]}")
fi
if [[ $image =~ ^[0-9]+\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com/ ]]; then
  aws ecr get-login-password --region "$REGION" | docker login --username AWS --password-stdin "${image%%/*}" || exit 1
fi

stopping=
name=zerofleet-$number
trap 'stopping=1; docker stop --time 100 "$name" > /dev/null &' TERM
docker run --rm --name "$name" --network host --user 10001:10001 --ulimit nofile=65536 \
  --entrypoint zerofleet --no-healthcheck \
  --log-driver awslogs --log-opt "awslogs-region=$REGION" --log-opt "awslogs-group=$LOG_GROUP" \
  --log-opt "awslogs-stream=$ROLE/$instance/$number" \
  -v "$secrets:/run/secrets:ro" -v /var/lib/zerofleet:/var/lib/zerofleet \
  -e "REDIS_URL=$REDIS_URL" -e "AWS_DEFAULT_REGION=$REGION" -e ZEROFLEET_RUNS=/var/lib/zerofleet/runs \
  -e ZEROFLEET_SPOOL=/var/lib/zerofleet/spool -e ZEROFLEET_CACHE=/var/lib/zerofleet/cache \
  "${options[@]}" "$image" "${command[@]}" &
running=$!
# A signal ends `wait` before the container has ended.
while true; do
  wait "$running"
  status=$?
  kill -0 "$running" 2> /dev/null || break
done

if [[ $status == 0 && ! $stopping && $number == 0 && ($ROLE == trainer || $ROLE == single) ]]; then
  echo "the run has reached its stop: ending all machines"
  for phase in groups rest; do
    aws lambda invoke --region "$REGION" --function-name "$SHUTDOWN_FUNCTION" --cli-binary-format raw-in-base64-out \
      --payload "{\"phase\": \"$phase\"}" /dev/null
  done
fi
exit "$status"
