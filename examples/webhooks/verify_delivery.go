// Package webhooks verifies webhook deliveries, and tells those that came before.
package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const ageMax = 5 * time.Minute
const kept = 24 * time.Hour

// ErrNotGenuine says: answer 400, and do nothing.
var ErrNotGenuine = errors.New("the delivery is not genuine, or too old")

// VerifyDelivery returns the id of a genuine delivery. The body is the bytes as they came.
func VerifyDelivery(headers http.Header, body []byte, secret string, now time.Time) (string, error) {
	id, seconds := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	sent, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || now.Sub(time.Unix(sent, 0)).Abs() > ageMax {
		return "", ErrNotGenuine
	}
	mac := hmac.New(sha256.New, keyOf(secret))
	mac.Write([]byte(id + "." + seconds + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// While a secret is being changed there are two signatures.
	for _, given := range strings.Split(headers.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(given), expected) {
			return id, nil
		}
	}
	return "", ErrNotGenuine
}

// What stands behind whsec_ is base64; any other secret is the key as it is.
func keyOf(secret string) []byte {
	if encoded, found := strings.CutPrefix(secret, "whsec_"); found && encoded != "" {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			return key
		}
	}
	return []byte(secret)
}

// SeenDeliveries has the ids of a day. Where several processes receive, a table with a unique index takes its place.
type SeenDeliveries struct {
	mutex sync.Mutex
	at    map[string]time.Time
}

// Has tells a delivery that came before.
func (seen *SeenDeliveries) Has(id string) bool {
	seen.mutex.Lock()
	defer seen.mutex.Unlock()
	_, found := seen.at[id]
	return found
}

// Add is called once the work is done, so that a crash before leaves it to the next attempt.
func (seen *SeenDeliveries) Add(id string, now time.Time) {
	seen.mutex.Lock()
	defer seen.mutex.Unlock()
	if seen.at == nil {
		seen.at = map[string]time.Time{}
	}
	seen.at[id] = now
	for old, at := range seen.at {
		if now.Sub(at) > kept {
			delete(seen.at, old)
		}
	}
}
