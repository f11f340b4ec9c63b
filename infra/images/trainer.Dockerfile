# The trainer of a run. Context: the root of the project, with the wheel of `make wheel`.
#
# torch comes from PyPI, whose wheels bring CUDA: with the NVIDIA container toolkit and --gpus all the same image trains
# on GPUs. --build-arg TORCH_INDEX=URL takes another build of torch from a package index, such as the smaller one for CPUs.
ARG BASE=debian:12.12-slim

FROM ${BASE} AS build
ARG TORCH_INDEX=
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY constraints.txt dist/*.whl /wheel/
RUN python3 -m venv /opt/zerofleet \
    && /opt/zerofleet/bin/pip install --no-cache-dir -c /wheel/constraints.txt \
    ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} "$(echo /wheel/*.whl)[cloud,train]"

FROM ${BASE}
# g++ is for torch.compile on a GPU, and for custom games in C++.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates g++ libgomp1 python3 python3-dev \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --home-dir /var/lib/zerofleet --shell /usr/sbin/nologin zerofleet
COPY --from=build /opt/zerofleet /opt/zerofleet
ENV PATH=/opt/zerofleet/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    ZEROFLEET_CACHE=/var/lib/zerofleet/cache \
    ZEROFLEET_RUNS=/var/lib/zerofleet/runs
USER 10001
WORKDIR /var/lib/zerofleet
# Runs; with --s3 they are in S3 too.
VOLUME /var/lib/zerofleet
EXPOSE 9470
HEALTHCHECK --interval=15s --timeout=5s --start-period=5m --retries=3 \
    CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:9470/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["zerofleet", "trainer", "--health-host", "0.0.0.0", "--health-port", "9470"]
CMD ["--help"]
