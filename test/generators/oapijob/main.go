// Command oapijob sends a file to the mailbox demo with the client that oapi-codegen makes, and prints the uid of the transfer.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"generators/oapi/identityv3"
	"generators/oapi/transferv2"
)

const content = "sent by a client of oapi-codegen"

func main() {
	if err := send(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func send(ctx context.Context, server string) error {
	identity, err := identityv3.NewClientWithResponses(server + "/id/v3")
	if err != nil {
		return err
	}
	environment, err := identity.GetEnvironmentWithResponse(ctx, nil)
	if err != nil || environment.JSON200 == nil {
		return fmt.Errorf("environment: %v %s", err, environment.Body)
	}
	c, err := transferv2.NewClientWithResponses(server + "/transfer/v2")
	if err != nil {
		return err
	}
	name, address := "Olga", "olga@example.com"
	made, err := c.ReserveMailboxWithResponse(ctx, "demo", nil, transferv2.Introduction{AnonSender: &name, AnonEmail: &address})
	if err != nil || made.JSON201 == nil {
		return fmt.Errorf("reserve: %v %s", err, made.Body)
	}
	uid, token := made.JSON201.Uid, made.HTTPResponse.Header.Get("Authorization")
	signed := func(_ context.Context, r *http.Request) error { r.Header.Set("Authorization", token); return nil }
	var file transferv2.AttachRequest
	announced := transferv2.ObjectRequest{ClientId: "1", Name: "oapi.txt", IntendedSize: int64(len(content))}
	if err := file.FromObjectRequest(announced); err != nil {
		return err
	}
	added, err := c.AttachObjectsWithResponse(ctx, uid, nil, file, signed)
	if err != nil || added.JSON201 == nil {
		return fmt.Errorf("attach: %v %s", err, added.Body)
	}
	put, err := c.PutContentWithBodyWithResponse(ctx, uid, "1", nil, "application/octet-stream", strings.NewReader(content), signed)
	if err != nil || put.JSON200 == nil {
		return fmt.Errorf("upload: %v %s", err, put.Body)
	}
	sent, err := c.ConfirmReservationWithResponse(ctx, uid, signed)
	if err != nil || sent.JSON200 == nil {
		return fmt.Errorf("confirm: %v %s", err, sent.Body)
	}
	fmt.Println(sent.JSON200.Uid)
	return nil
}
