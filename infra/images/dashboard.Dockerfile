# The dashboard: shows runs in a browser. Context: the root of the project, with the wheel of `make wheel`.
ARG BASE=debian:12.12-slim

FROM ${BASE} AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY constraints.txt dist/*.whl /wheel/
RUN python3 -m venv /opt/zerofleet \
    && /opt/zerofleet/bin/pip install --no-cache-dir -c /wheel/constraints.txt "$(echo /wheel/*.whl)[fleet,web]"

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
    ZEROFLEET_RUNS=/var/lib/zerofleet/runs
USER 10001
WORKDIR /var/lib/zerofleet
# The trainer's runs, and games that people save.
VOLUME /var/lib/zerofleet
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=1m --retries=3 \
    CMD ["python3", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8080, timeout=4); c.request('GET', '/'); raise SystemExit(c.getresponse().status >= 500)"]
STOPSIGNAL SIGINT
# It demands a token, since it listens on the network: ZEROFLEET_DASH_TOKEN_FILE, else a drawn one that it prints.
ENTRYPOINT ["zerofleet", "dash", "--host", "0.0.0.0", "--port", "8080"]
