package handler

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type answerResponse struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Value  string `json:"value"`
	Format string `json:"format"`
}

func answersFrom(answers []transfer.Answer) []answerResponse {
	list := make([]answerResponse, len(answers))
	for i, a := range answers {
		list[i] = answerResponse(a)
	}
	return list
}

// tableFiles is how many names of files a row of the table has.
const tableFiles = 20

// tableHead begins the header of GET /mailbox/transfers. The questions of the mailbox follow, then otherAnswers.
var tableHead = []string{"createdAt", "uid", "state", "senderName", "senderEmail", "senderVerified", "subject", "message", "files", "bytes",
	"fileNames", "expiresAt"}

// tableOfTransfers handles GET /mailbox/transfers.
func (h *Handler) tableOfTransfers(w http.ResponseWriter, r *http.Request) error {
	questions, list, err := h.service.AnsweredTransfers(r.Context(), caller(r))
	if err != nil {
		return err
	}
	head := slices.Clone(tableHead)
	for _, q := range questions {
		head = append(head, q.Title)
	}
	row := func(t service.AnsweredTransfer) []string { return tableRow(questions, t) }
	return httpapi.Table(w, "transfers.csv", append(head, "otherAnswers"), list, row)
}

func tableRow(questions []transfer.Answer, t service.AnsweredTransfer) []string {
	names := make([]string, min(len(t.Objects), tableFiles))
	for i := range names {
		names[i] = t.Objects[i].Name
	}
	row := []string{
		t.CreatedAt.UTC().Format(time.RFC3339), t.UID.String(), string(t.State), t.Sender.Name, t.Sender.Email,
		strconv.FormatBool(t.Sender.Verified),
		t.Subject, t.Message, strconv.Itoa(int(t.ObjectCount)), strconv.FormatInt(t.TotalBytes, 10), strings.Join(names, "; "),
		t.ExpiresAt.UTC().Format(time.RFC3339),
	}
	for _, q := range questions {
		row = append(row, t.ByName[q.Name].Value)
		delete(t.ByName, q.Name)
	}
	var others []string
	for _, a := range t.ByName {
		others = append(others, a.Name+": "+a.Value)
	}
	slices.Sort(others)
	return append(row, strings.Join(others, "; "))
}
