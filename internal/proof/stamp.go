package proof

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/digitorus/pkcs7"
	"github.com/digitorus/timestamp"
)

// ErrStamp means that a time stamp is damaged, of something else, or of a service that is not trusted.
var ErrStamp = errors.New("the time stamp is wrong")

// parsing guards package pkcs7, which writes a global variable.
var parsing sync.Mutex

// StampRequest returns a request for a time stamp (RFC 3161) of a checkpoint's text, with the certificates of the service.
func StampRequest(text string) ([]byte, error) {
	request, err := timestamp.CreateRequest(strings.NewReader(text), &timestamp.RequestOptions{Hash: crypto.SHA256, Certificates: true})
	if err != nil {
		return nil, fmt.Errorf("make request for a time stamp: %w", err)
	}
	return request, nil
}

// CheckStamp verifies the answer of a time stamp service to StampRequest and returns its time. Without roots it checks the signature only
// with the certificate in the answer itself, which proves nothing to others.
// Errors: ErrStamp.
func CheckStamp(response []byte, text string, roots *x509.CertPool) (at time.Time, err error) {
	defer func() { // the parser is not ours, and the file may be hostile
		if recover() != nil {
			at, err = time.Time{}, ErrStamp
		}
	}()
	parsing.Lock()
	defer parsing.Unlock()
	stamp, err := timestamp.ParseResponse(response)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", ErrStamp, err)
	}
	sum := sha256.Sum256([]byte(text))
	if stamp.HashAlgorithm != crypto.SHA256 || !bytes.Equal(stamp.HashedMessage, sum[:]) {
		return time.Time{}, fmt.Errorf("%w: it is of another text", ErrStamp)
	}
	if len(stamp.Certificates) == 0 {
		return time.Time{}, fmt.Errorf("%w: it has no certificate", ErrStamp)
	}
	if roots == nil {
		return stamp.Time, nil
	}
	token, err := pkcs7.Parse(stamp.RawToken)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", ErrStamp, err)
	}
	between := x509.NewCertPool()
	for _, c := range token.Certificates {
		between.AddCert(c)
	}
	err = token.VerifyWithOpts(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: stamp.Time, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", ErrStamp, err)
	}
	return stamp.Time, nil
}
