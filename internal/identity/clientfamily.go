package identity

import "strings"

// families are the words of a User-Agent header that name a browser. The first match wins: Edge and Opera also say Chrome,
// and Chrome also says Safari.
var families = []struct{ word, name string }{
	{"Firefox", "Firefox"}, {"Edg", "Edge"}, {"OPR", "Opera"}, {"Chrome", "Chrome"}, {"Safari", "Safari"},
}

// systems are the words that name a system. The first match wins: Android also says Linux, and an iPhone says Mac OS X.
var systems = []struct{ word, name string }{
	{"Windows", "Windows"}, {"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"},
}

// ClientFamily returns browser and system of a User-Agent header, without versions, for example "Firefox, Linux". Of another
// client it returns the name of the product, for example "curl".
func ClientFamily(userAgent string) string {
	var found []string
	for _, f := range families {
		if strings.Contains(userAgent, f.word) {
			found = append(found, f.name)
			break
		}
	}
	if len(found) == 0 {
		product, _, _ := strings.Cut(userAgent, "/")
		if product, _, _ = strings.Cut(product, " "); product != "" {
			found = append(found, product)
		}
	}
	for _, s := range systems {
		if strings.Contains(userAgent, s.word) {
			return strings.Join(append(found, s.name), ", ")
		}
	}
	return strings.Join(found, ", ")
}
