// Makes small pictures of files after the confirm, in a job, and reads them.

package content

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

const (
	thumbnailsQueue = "thumbnails" // one worker in each replica: pictures of strangers take no more than that
	pictureLimit    = 40 << 20     // bytes of a file that gets a thumbnail
	thumbnailsOfOne = 12           // pictures of a transfer, as its page shows them
)

// picturesShown are the types that get a thumbnail. The decoders are those of the standard library. A PDF gets none: no renderer in Go
// draws its pages whole, and the others are C libraries, which a hostile file would attack in the server's process.
var picturesShown = []string{"image/jpeg", "image/png", "image/gif"}

// thumbnailsJob makes the thumbnails of a transfer.
type thumbnailsJob struct {
	Reservation id.Reservation `json:"reservation"`
}

// Kind implements river.JobArgs.
func (thumbnailsJob) Kind() string { return "transfer_thumbnails" }

func (s *Service) registerThumbnails() {
	s.jobs.AddQueue(thumbnailsQueue, 1)
	jobs.Register(s.jobs, s.workThumbnails)
}

// ThumbnailsLater enqueues the job that makes thumbnails, if there are pictures among the first objects of a new transfer.
func (s *Service) ThumbnailsLater(ctx context.Context, tx *postgres.Store, r id.Reservation, first []transfer.Object) error {
	if !slices.ContainsFunc(first, isPicture) {
		return nil
	}
	return s.jobs.Enqueue(ctx, tx.Tx(), thumbnailsJob{Reservation: r}, jobs.On(thumbnailsQueue))
}

func isPicture(o transfer.Object) bool {
	return slices.Contains(picturesShown, o.MIMEType) && o.IntendedSize > 0 && o.IntendedSize <= pictureLimit
}

// workThumbnails makes the thumbnails that a transfer lacks. A file that is no picture after all gets none.
func (s *Service) workThumbnails(ctx context.Context, j thumbnailsJob) error {
	missing, err := s.store.WithoutThumbnail(ctx, j.Reservation, picturesShown, pictureLimit, thumbnailsOfOne)
	if err != nil {
		return err
	}
	for _, o := range missing {
		if err := s.makeThumbnail(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) makeThumbnail(ctx context.Context, o transfer.Object) error {
	file, err := s.openVerified(ctx, fileOf(o))
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, transfer.ErrDamaged) {
		return nil // ended meanwhile, or nothing that anybody gets
	}
	if err != nil {
		return err
	}
	defer file.Close()
	small, err := s.pictures.Thumbnail(ctx, file)
	var refusal *imaging.Refusal
	if errors.As(err, &refusal) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make thumbnail: %w", err)
	}
	return s.store.PutThumbnail(ctx, o.UID, s.thumbnails.Seal(small, o.UID.UUID[:]))
}

// Thumbnail returns the small picture of an object. The caller has opened the object, and so asked its gate.
// Errors: transfer.ErrNotFound.
func (s *Service) Thumbnail(ctx context.Context, o id.Object) ([]byte, error) {
	sealed, err := s.store.Thumbnail(ctx, o)
	if err != nil {
		return nil, err
	}
	small, err := s.thumbnails.Open(sealed, o.UUID[:])
	if err != nil { // of a secret key that is not configured any more
		return nil, transfer.ErrNotFound
	}
	return small, nil
}
