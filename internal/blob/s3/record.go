package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/consign-dev/consign/internal/blob"
)

// record is what one Sync made durable. As an S3 object its name is
//
//	uploads/<key>/<generation>-<sequence>-<held>.<kind>
//
// The generation increases from writer to writer, the sequence counts a writer's records. The record that sorts last is the
// valid one, even if a delayed request of an earlier writer arrives later. The last but one is kept, too: a caller that
// crashed before it saved what the last Sync reported goes back by one Sync.
type record struct {
	name       string
	generation int64
	sequence   int
	held       int64
	kind       string
	modified   time.Time

	// From the metadata, set by fill.
	upload   string // id of the multipart upload; empty: none
	partSize int64
	parts    int64 // whole parts of the object
	digest   string
}

const (
	kindPart    = "part"    // the body is the tail after the parts
	kindCutting = "cutting" // a restart is in progress: the bytes are still elsewhere, and there is no tail
	kindCut     = "cut"     // like kindPart, but an object at objects/<key> is not finished
)

// Names of a record's metadata.
const (
	metaUpload   = "Consign-Upload"
	metaPartSize = "Consign-Part-Size"
	metaParts    = "Consign-Parts"
	metaDigest   = "Consign-Digest"
)

func recordName(generation int64, sequence int, held int64, kind string) string {
	return fmt.Sprintf("%015d-%09d-%d.%s", generation, sequence, held, kind)
}

// parseRecord parses the name of an S3 object as a record below a prefix; ok is false when it is none.
func parseRecord(o minio.ObjectInfo) (prefix string, r record, ok bool) {
	slash := strings.LastIndex(o.Key, "/") + 1
	prefix, base := o.Key[:slash], o.Key[slash:]
	numbers, kind, _ := strings.Cut(base, ".")
	fields := strings.Split(numbers, "-")
	if len(fields) != 3 {
		return "", record{}, false
	}
	r = record{name: o.Key, kind: kind, modified: o.LastModified}
	var errs [3]error
	r.generation, errs[0] = strconv.ParseInt(fields[0], 10, 64)
	r.sequence, errs[1] = strconv.Atoi(fields[1])
	r.held, errs[2] = strconv.ParseInt(fields[2], 10, 64)
	if errors.Join(errs[:]...) != nil || base != recordName(r.generation, r.sequence, r.held, kind) {
		return "", record{}, false
	}
	return prefix, r, kind == kindPart || kind == kindCutting || kind == kindCut
}

// records returns the records below a prefix, the valid one last.
func (s *Store) records(ctx context.Context, prefix string) ([]record, error) {
	var list []record
	for o := range s.all(ctx, prefix) {
		if o.Err != nil {
			return nil, o.Err
		}
		if p, r, ok := parseRecord(o); ok && p == prefix {
			list = append(list, r)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	return list, nil
}

func newest(records []record) record { return records[len(records)-1] }

// fill sets the fields from a record's metadata.
func (s *Store) fill(ctx context.Context, r *record) error {
	o, err := s.core.StatObject(ctx, s.bucket, r.name, minio.StatObjectOptions{})
	if err != nil {
		return err
	}
	r.upload = meta(o, metaUpload)
	r.digest = meta(o, metaDigest)
	var errs [2]error
	r.partSize, errs[0] = strconv.ParseInt(meta(o, metaPartSize), 10, 64)
	r.parts, errs[1] = strconv.ParseInt(meta(o, metaParts), 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("record %s: metadata are malformed: %w", r.name, err)
	}
	tail := r.held - r.parts*r.partSize
	if r.partSize <= 0 || r.kind != kindCutting && (tail != o.Size || tail < 0 || tail > r.partSize) {
		return fmt.Errorf("record %s: %d bytes behind %d parts of %d do not fit its name", r.name, o.Size, r.parts, r.partSize)
	}
	return nil
}

// meta returns a value without regard to case, which services change.
func meta(o minio.ObjectInfo, name string) string {
	for k, v := range o.UserMetadata {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

func (r record) metadata() map[string]string {
	return map[string]string{
		metaUpload: r.upload, metaPartSize: strconv.FormatInt(r.partSize, 10), metaParts: strconv.FormatInt(r.parts, 10), metaDigest: r.digest,
	}
}

// forget removes records. It ignores failures: what remains is skipped, and removed with the object.
func (s *Store) forget(ctx context.Context, records []record) {
	for _, r := range records {
		_ = s.remove(ctx, r.name)
	}
}

// digest is a running hash over the ETags of an upload's parts. A record holds it, so that a part that was overwritten after
// the record was written is detected.
type digest [sha256.Size]byte

func (d digest) add(etag string) digest {
	return sha256.Sum256(append(d[:], etag...))
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

func parseDigest(s string) (d digest, err error) {
	if n, err := hex.Decode(d[:], []byte(s)); err != nil || n != len(d) || len(s) != hex.EncodedLen(len(d)) {
		return d, errors.New("digest of parts is malformed")
	}
	return d, nil
}

// etags returns the ETags of the parts of a record, and checks them against the record's digest.
func (s *Store) etags(ctx context.Context, key blob.Key, r record) ([]string, error) {
	var list []string
	var d digest
	for marker := 0; int64(len(list)) < r.parts; {
		page, err := s.core.ListObjectParts(ctx, s.bucket, s.objectName(key), r.upload, marker, min(1000, int(r.parts)))
		if err != nil {
			return nil, err
		}
		for _, p := range page.ObjectParts {
			if int64(len(list)) == r.parts {
				break
			}
			if want := len(list) + 1; p.PartNumber != want || p.Size != r.partSize {
				return nil, fmt.Errorf("%w: part %d of %d bytes found where part %d of %d was expected", errChanged, p.PartNumber, p.Size, want,
					r.partSize)
			}
			etag := strings.Trim(p.ETag, `"`)
			list = append(list, etag)
			d = d.add(etag)
		}
		if !page.IsTruncated {
			break
		}
		marker = page.NextPartNumberMarker
	}
	if int64(len(list)) < r.parts {
		return nil, fmt.Errorf("%w: %d of %d are left", errChanged, len(list), r.parts)
	}
	if d.String() != r.digest {
		return nil, errChanged
	}
	return list, nil
}

// errChanged means that a multipart upload does not have the parts of a record.
var errChanged = errors.New("parts changed after they were recorded")
