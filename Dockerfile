# The one image, of controller and HAProxy pods: `haptic`, and HAProxy 3.0, 3.2 and 3.4 to serve with and to check with.
#
#   make image
#   IMAGE=registry.example.com/haptic release/image --platform linux/amd64,linux/arm64 --push
ARG DEBIAN=trixie-slim
ARG RUST=1.95-trixie

FROM rust:${RUST} AS build
WORKDIR /source
COPY . .
# Kernels of arm64 have pages of 4, 16 or 64 KB: an allocator that is built for the largest runs on all of them.
RUN if [ "$(uname -m)" = aarch64 ]; then export JEMALLOC_SYS_WITH_LG_PAGE=16; fi && \
    cargo build --locked --release -p haptic --bin haptic
# What it is made of, and the licences of that.
RUN cargo run --locked --release -p haptic-release -- /notices

# Debian's packages, each with all its libraries in a folder of its own. Versions float: build again for a newer HAProxy.
FROM debian:${DEBIAN} AS haproxy
COPY integration-tests/parts/mirror /parts/mirror
COPY integration-tests/parts/debian /parts/debian
RUN for version in 3.0 3.2 3.4; do \
      mkdir -p "/opt/haproxy-$version" && \
      PART_DIR="/opt/haproxy-$version" PART_HOME="/opt/haproxy-$version" /parts/debian haproxy "$version" || exit 1; \
    done
# What `ca-file @system-ca` stands for, where HAProxy's libraries look for it. Without the folder HAProxy refuses a configuration that names it.
RUN apt-get update -q && cd /tmp && apt-get download -q ca-certificates && \
    dpkg-deb -x ca-certificates_*.deb /tmp/debian && mkdir /authorities && \
    cat /tmp/debian/usr/share/ca-certificates/mozilla/*.crt >/authorities/ca-certificates.crt

FROM debian:${DEBIAN}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="haptic" \
      org.opencontainers.image.description="HAProxy Template Ingress Controller" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=haproxy /opt /opt
COPY --from=haproxy /authorities /usr/lib/ssl/certs
COPY --from=build /notices/ /usr/share/doc/haptic/
COPY --from=build /source/LICENSE /usr/share/doc/haptic/LICENSE
COPY --from=build /source/target/release/haptic /usr/local/bin/haptic
# What the controller checks with; agents are told theirs.
ENV HAPTIC_HAPROXY_3_0=/opt/haproxy-3.0/haproxy \
    HAPTIC_HAPROXY_3_2=/opt/haproxy-3.2/haproxy \
    HAPTIC_HAPROXY_3_4=/opt/haproxy-3.4/haproxy
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/haptic"]
