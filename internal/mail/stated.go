package mail

import netmail "net/mail"

// stated lists the mails that anybody can cause to an address that nobody has proved, with the keys of their data. Names, and what else
// somebody could have written, are left out: a free account could otherwise mail its name, or that of its mailbox, to anybody.
// Message.Proved sends all.
var stated = map[string][]string{
	VerifyEmail:        {"address", "expiresAt"},
	UploadConfirmation: {"mailbox", "at", "fileCount", "totalBytes"},
	UploadUnfinished:   {"mailbox", "fileCount", "totalBytes", "expiresAt", "link"},
	TransferInfected:   {"mailbox", "at"},
	SenderCode:         {"mailbox", "expiresAt"},
	RequestLink:        {"owner", "due", "refuses"},
}

// named are the keys of data that name somebody: in such mails by an address.
var named = map[string]bool{"mailbox": true, "owner": true, "address": true}

// withoutNames returns the message as Queue stores it.
func (msg Message) withoutNames() Message {
	keys, listed := stated[msg.Template]
	if !listed || msg.Proved {
		return msg
	}
	data := map[string]any{}
	for _, key := range keys {
		v, ok := msg.Data[key]
		if text, isText := v.(string); ok && !(named[key] && isText && !isAddress(text)) {
			data[key] = v
		}
	}
	msg.Data, msg.ToName, msg.ReplyToName = data, "", ""
	return msg
}

func isAddress(text string) bool {
	a, err := netmail.ParseAddress(text)
	return err == nil && a.Name == "" && a.Address == text
}
