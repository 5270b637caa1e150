// Says of every golden delivery what the receiver of the guide makes of it: receiver <folder> <seconds>.
package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"receiver/webhooks"
)

func main() {
	folder := os.Args[1]
	seconds, err := strconv.ParseInt(os.Args[2], 10, 64)
	must(err)
	now := time.Unix(seconds, 0)
	var seen webhooks.SeenDeliveries
	// In the order of their names.
	paths, err := filepath.Glob(filepath.Join(folder, "*valid", "*.http"))
	must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(err)
		head, body, _ := bytes.Cut(text, []byte("\n\n"))
		headers := http.Header{}
		for _, line := range strings.Split(string(head), "\n")[1:] {
			name, value, _ := strings.Cut(line, ": ")
			headers.Add(name, value)
		}
		secrets, err := os.ReadFile(strings.TrimSuffix(path, ".http") + ".secrets")
		must(err)
		name, err := filepath.Rel(folder, path)
		must(err)
		for i, secret := range strings.Split(strings.TrimSpace(string(secrets)), "\n") {
			fmt.Println(name, i, told(headers, body, secret, now, &seen))
		}
	}
	seen.Add("yesterday", now.Add(-24*time.Hour-time.Second))
	seen.Add("today", now)
	fmt.Println("after a day:", word(&seen, "yesterday"))
}

func told(headers http.Header, body []byte, secret string, now time.Time, seen *webhooks.SeenDeliveries) string {
	id, err := webhooks.VerifyDelivery(headers, body, secret, now)
	if err != nil {
		return "refused"
	}
	answer := word(seen, id) + " " + id
	seen.Add(id, now)
	return answer
}

func word(seen *webhooks.SeenDeliveries, id string) string {
	if seen.Has(id) {
		return "repeat"
	}
	return "new"
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
