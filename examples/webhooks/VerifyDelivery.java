import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Verifies webhook deliveries, and tells those that came before. */
public final class VerifyDelivery {
  private static final Duration AGE_MAX = Duration.ofMinutes(5);
  private static final Duration KEPT = Duration.ofHours(24);

  /** Answer 400, and do nothing. */
  public static final class NotGenuine extends Exception {
    NotGenuine(String message) {
      super(message);
    }
  }

  /** The id of a genuine delivery. headers: by their lower-case names; body: the bytes as they came. */
  public static String verify(Map<String, String> headers, byte[] body, String secret, Instant now)
      throws NotGenuine, GeneralSecurityException {
    String id = headers.getOrDefault("webhook-id", "");
    String seconds = headers.getOrDefault("webhook-timestamp", "");
    if (!seconds.matches("[0-9]{1,12}")) throw new NotGenuine("it says no time");
    Instant sent = Instant.ofEpochSecond(Long.parseLong(seconds));
    if (Duration.between(sent, now).abs().compareTo(AGE_MAX) > 0)
      throw new NotGenuine("it is too old, or a clock is wrong");
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(keyOf(secret), "HmacSHA256"));
    mac.update((id + "." + seconds + ".").getBytes(StandardCharsets.UTF_8));
    byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
    // While a secret is being changed there are two signatures.
    for (String given : headers.getOrDefault("webhook-signature", "").split(" "))
      if (MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), expected)) return id;
    throw new NotGenuine("the signature is not of this delivery and secret");
  }

  /** What stands behind whsec_ is base64; any other secret is the key as it is. */
  private static byte[] keyOf(String secret) {
    String encoded = secret.startsWith("whsec_") ? secret.substring("whsec_".length()) : "";
    if (!encoded.isEmpty() && encoded.length() % 4 == 0) {
      try {
        return Base64.getDecoder().decode(encoded);
      } catch (IllegalArgumentException notBase64) {
        // It is the key as it is.
      }
    }
    return secret.getBytes(StandardCharsets.UTF_8);
  }

  /** The ids of a day. Where several processes receive, a table with a unique index takes its place. */
  public static final class Seen {
    private final Map<String, Instant> at = new ConcurrentHashMap<>();

    public boolean has(String id) {
      return at.containsKey(id);
    }

    /** Once the work is done, so that a crash before leaves it to the next attempt. */
    public void add(String id, Instant now) {
      at.put(id, now);
      at.values().removeIf(then -> Duration.between(then, now).compareTo(KEPT) > 0);
    }
  }
}
