# A worker or rater: plays games on CPUs, without torch. Context: the root of the project, with the wheel of `make wheel`.
ARG BASE=debian:12.12-slim

FROM ${BASE} AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY constraints.txt dist/*.whl /wheel/
RUN python3 -m venv /opt/zerofleet \
    && /opt/zerofleet/bin/pip install --no-cache-dir -c /wheel/constraints.txt "$(echo /wheel/*.whl)[cloud,worker]"

FROM ${BASE}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libgomp1 python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --home-dir /var/lib/zerofleet --shell /usr/sbin/nologin zerofleet
COPY --from=build /opt/zerofleet /opt/zerofleet
ENV PATH=/opt/zerofleet/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ZEROFLEET_CACHE=/var/lib/zerofleet/cache \
    ZEROFLEET_SPOOL=/var/lib/zerofleet/spool
USER 10001
WORKDIR /var/lib/zerofleet
# Games that the trainer has not confirmed.
VOLUME /var/lib/zerofleet
EXPOSE 9470
HEALTHCHECK --interval=15s --timeout=5s --start-period=2m --retries=3 \
    CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:9470/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
# For a rater: --entrypoint zerofleet, then rater --health-port 9470 --run NAME.
ENTRYPOINT ["zerofleet", "worker", "--processes", "1", "--health-host", "0.0.0.0", "--health-port", "9470"]
CMD ["--help"]
