# The Redis of a fleet: Debian's, without eviction, with a password from a file.
ARG BASE=debian:12.12-slim

FROM ${BASE}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends redis-server \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin fleet-redis \
    && install -d -o 10001 /data
COPY infra/images/start-redis /usr/local/bin/start-redis
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 6379
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["start-redis", "--check"]
ENTRYPOINT ["start-redis"]
