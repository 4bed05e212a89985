# syntax=docker/dockerfile:1
# docker build --build-arg VERSION=$(git describe --tags --always) -t sheetclaim .
# examples/compose/compose.yaml shows it beside n8n; docs/INSTALL.md says more.

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api ./api
COPY cmd ./cmd
COPY internal ./internal
ARG VERSION=dev TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /out/sheetclaim ./cmd/sheetclaim \
    && mkdir /out/data

# No shell, no package manager, no root: 65532 is the image's user nonroot.
FROM gcr.io/distroless/static-debian12:nonroot
COPY LICENSE /licenses/sheetclaim
COPY --from=build /out/sheetclaim /usr/local/bin/sheetclaim
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
# The ledger: the memory that keeps rows from being mailed twice.
VOLUME /data
ENV SHEETCLAIM_CONFIG=/etc/sheetclaim/sheetclaim.yaml
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["/usr/local/bin/sheetclaim", "health"]
ENTRYPOINT ["/usr/local/bin/sheetclaim"]
CMD ["serve"]
