// Command ogenjob sends a file to the mailbox demo with the client that ogen makes, and prints the uid of the transfer.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/ogen-go/ogen/ogenerrors"

	"generators/ogen/identityv3"
	"generators/ogen/transferv2"
)

const content = "sent by a client of ogen"

func main() {
	if err := send(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// tokens gives the reservation's token, and no other.
type tokens struct{ reservation string }

func (t *tokens) ReservationToken(context.Context, transferv2.OperationName) (transferv2.ReservationToken, error) {
	if t.reservation == "" {
		return transferv2.ReservationToken{}, ogenerrors.ErrSkipClientSecurity
	}
	return transferv2.ReservationToken{Token: t.reservation}, nil
}

func (*tokens) AccessToken(context.Context, transferv2.OperationName) (transferv2.AccessToken, error) {
	return transferv2.AccessToken{}, ogenerrors.ErrSkipClientSecurity
}

func (*tokens) ApiToken(context.Context, transferv2.OperationName) (transferv2.ApiToken, error) {
	return transferv2.ApiToken{}, ogenerrors.ErrSkipClientSecurity
}

func (*tokens) DownloadToken(context.Context, transferv2.OperationName) (transferv2.DownloadToken, error) {
	return transferv2.DownloadToken{}, ogenerrors.ErrSkipClientSecurity
}

func (*tokens) OneTimeKey(context.Context, transferv2.OperationName) (transferv2.OneTimeKey, error) {
	return transferv2.OneTimeKey{}, ogenerrors.ErrSkipClientSecurity
}

func (*tokens) UidToken(context.Context, transferv2.OperationName) (transferv2.UidToken, error) {
	return transferv2.UidToken{}, ogenerrors.ErrSkipClientSecurity
}

func send(ctx context.Context, server string) error {
	var _ identityv3.GetEnvironmentRes // the other document compiles, too
	var t tokens
	c, err := transferv2.NewClient(server+"/transfer/v2", &t)
	if err != nil {
		return err
	}
	made, err := c.ReserveMailbox(ctx, transferv2.NewOptIntroduction(transferv2.Introduction{AnonSender: transferv2.NewOptString("Otto"),
		AnonEmail: transferv2.NewOptString("otto@example.com")}), transferv2.ReserveMailboxParams{Key: "demo"})
	if err != nil {
		return err
	}
	reservation, ok := made.(*transferv2.ReservationHeaders)
	if !ok {
		return fmt.Errorf("reserve: %+v", made)
	}
	t.reservation = strings.TrimPrefix(reservation.Authorization, "Bearer ")
	uid := uuid.UUID(reservation.Response.UID)
	added, err := c.AttachObjects(ctx, transferv2.NewObjectRequestAttachRequest(transferv2.ObjectRequest{ClientId: "1", Name: "ogen.txt",
		IntendedSize: int64(len(content))}), transferv2.AttachObjectsParams{UID: uid})
	if err != nil {
		return err
	}
	if _, ok := added.(*transferv2.AttachObjectsCreated); !ok {
		return fmt.Errorf("attach: %+v", added)
	}
	put, err := c.PutContent(ctx, transferv2.PutContentReq{Data: strings.NewReader(content)},
		transferv2.PutContentParams{UID: uid, ClientId: "1"})
	if err != nil {
		return err
	}
	if _, ok := put.(*transferv2.ObjectAnswerHeaders); !ok {
		return fmt.Errorf("upload: %+v", put)
	}
	sent, err := c.ConfirmReservation(ctx, transferv2.ConfirmReservationParams{UID: uid})
	if err != nil {
		return err
	}
	transfer, ok := sent.(*transferv2.TransferHeaders)
	if !ok {
		return fmt.Errorf("confirm: %+v", sent)
	}
	fmt.Println(uuid.UUID(transfer.Response.UID))
	return nil
}
