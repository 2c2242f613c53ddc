# The image holds one static binary and no shell. It runs without root and writes only to /data. `make test-container` checks
# each instruction of this file. `make pin` pins the base image by digest.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /consign ./cmd/consign \
 && mkdir /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/local/go/lib/time/zoneinfo.zip /usr/local/go/lib/time/zoneinfo.zip
COPY --from=build /consign /consign
COPY --from=build --chown=10001:10001 /data /data
# Uploaded pictures are buffered in TMPDIR, parts of files for a bucket in /data/spool.
ENV CONSIGN_DATA_DIR=/data TMPDIR=/data ZONEINFO=/usr/local/go/lib/time/zoneinfo.zip
USER 10001:10001
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["/consign", "healthcheck"]
ENTRYPOINT ["/consign"]
CMD ["serve"]
