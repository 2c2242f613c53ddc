package s3_test

import (
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/blob/s3"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ url, bucket, prefix, endpoint, region, key, secret string }{
		{"s3://files", "files", "", "https://s3.amazonaws.com", "", "", ""},
		{"s3://files/?region=eu-central-1", "files", "", "https://s3.amazonaws.com", "eu-central-1", "", ""},
		{"s3://files/some/where/?endpoint=http://127.0.0.1:9000&region=x", "files", "some/where/", "http://127.0.0.1:9000", "x", "", ""},
		{"s3://ID:a%2Fb+c%3D%40@my.files?endpoint=https%3A%2F%2Fs3.example.com", "my.files", "", "https://s3.example.com", "", "ID", "a/b+c=@"},
	} {
		o, err := s3.Parse(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		if o.Bucket != test.bucket || o.Prefix != test.prefix || o.Endpoint.String() != test.endpoint || o.Region != test.region ||
			o.AccessKey != test.key || o.SecretKey != test.secret {
			t.Errorf("%s: %+v", test.url, o)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "s3:files", "s3:///files", "file:///files", "s3://files:9000", "s3://ID@files", "s3://:hidden@files", "s3://ID:@files",
		"s3://ID:hidden%zz@files", "s3://ID:hid/den@files", "s3://ID:hidden@files?acl=public", "s3://ID:hidden@files?region=a&region=b",
		"s3://ID:hidden@files?endpoint=127.0.0.1:9000", "s3://ID:hidden@files?endpoint=ftp://x", "s3://ID:hidden@files?endpoint=http://x/path",
		"s3://ID:hidden@files?endpoint=http://hidden@x", "s3://ID:hidden@files?region=a;b", "s3://ID:hidden@files?endpoint=http://%zzhidden",
	} {
		if o, err := s3.Parse(bad); err == nil {
			t.Errorf("%s is taken as %+v", bad, o)
		} else if strings.Contains(err.Error(), "hid") {
			t.Errorf("%s: the secret is told: %v", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("s3://ID:secret@bucket/prefix?endpoint=http://127.0.0.1:9000&region=us-east-1")
	f.Fuzz(func(t *testing.T, raw string) {
		o, err := s3.Parse(raw)
		if err == nil && (o.Bucket == "" || o.Endpoint == nil || o.Endpoint.Host == "" || (o.AccessKey == "") != (o.SecretKey == "")) {
			t.Errorf("%q is taken as %+v", raw, o)
		}
	})
}
