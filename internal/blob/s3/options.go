package s3

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Options select the bucket and the credentials.
type Options struct {
	Bucket    string
	Prefix    string   // prefix of all names in the bucket: empty, or ending in a slash
	Endpoint  *url.URL // scheme and host of the service
	Region    string   // empty: asked from the service
	AccessKey string   // empty: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else the role of the machine or container
	SecretKey string

	SpoolDir string           // directory for parts until they are sent; empty: the system's temporary directory
	Now      func() time.Time // nil: time.Now
}

// Parse parses a storage URL: s3://KEY:SECRET@bucket/prefix?endpoint=URL&region=NAME. Only the bucket is required; the
// default endpoint is Amazon's. Errors never contain the URL, which holds a secret.
func Parse(storageURL string) (Options, error) {
	u, err := url.Parse(storageURL)
	if err != nil {
		return Options{}, errors.New("is not a URL; special characters in the secret must be written as %XX")
	}
	if u.Scheme != "s3" || u.Hostname() == "" || u.Port() != "" || u.Opaque != "" {
		return Options{}, errors.New("must begin with s3:// and the name of a bucket")
	}
	o := Options{Bucket: u.Hostname()}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		o.Prefix = prefix + "/"
	}
	if u.User != nil {
		o.AccessKey = u.User.Username()
		o.SecretKey, _ = u.User.Password()
		if o.AccessKey == "" || o.SecretKey == "" {
			return Options{}, errors.New("names a key without its secret: write s3://KEY:SECRET@bucket, or neither")
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Options{}, errors.New("has a query that cannot be read")
	}
	endpoint := "https://s3.amazonaws.com"
	for name, values := range query {
		switch {
		case len(values) != 1:
			return Options{}, fmt.Errorf("gives %s more than once", name)
		case name == "endpoint":
			endpoint = values[0]
		case name == "region":
			o.Region = values[0]
		default:
			return Options{}, fmt.Errorf("has a parameter %q: endpoint and region are known", name)
		}
	}
	o.Endpoint, err = url.Parse(endpoint)
	if err != nil || o.Endpoint.Scheme != "http" && o.Endpoint.Scheme != "https" || o.Endpoint.Host == "" || o.Endpoint.User != nil ||
		strings.Trim(o.Endpoint.Path, "/") != "" {
		return Options{}, errors.New("has an endpoint that is not a URL like https://s3.example.com or http://127.0.0.1:9000")
	}
	return o, nil
}

func (o Options) secure() bool { return o.Endpoint.Scheme == "https" }

// credentials returns those of the URL, or a provider for those of the environment, which may rotate.
func (o Options) credentials() *credentials.Credentials {
	if o.AccessKey != "" {
		return credentials.NewStaticV4(o.AccessKey, o.SecretKey, "")
	}
	return credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.IAM{}})
}
