import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Says of every golden delivery what the receiver of the guide makes of it: Main <folder> <seconds>. */
public final class Main {
  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    Instant now = Instant.ofEpochSecond(Long.parseLong(args[1]));
    VerifyDelivery.Seen seen = new VerifyDelivery.Seen();
    for (Path path : requests(folder)) {
      byte[] bytes = Files.readAllBytes(path);
      int end = 0;
      while (bytes[end] != '\n' || bytes[end + 1] != '\n') end++;
      Map<String, String> headers = headersIn(new String(bytes, 0, end, StandardCharsets.UTF_8));
      byte[] body = Arrays.copyOfRange(bytes, end + 2, bytes.length);
      List<String> secrets = Files.readAllLines(Path.of(path.toString().replace(".http", ".secrets")));
      for (int i = 0; i < secrets.size(); i++) {
        String told = told(headers, body, secrets.get(i), now, seen);
        System.out.println(folder.relativize(path) + " " + i + " " + told);
      }
    }
    seen.add("yesterday", now.minus(Duration.ofHours(24)).minusSeconds(1));
    seen.add("today", now);
    System.out.println("after a day: " + word(seen, "yesterday"));
  }

  private static List<Path> requests(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(path -> path.toString().endsWith(".http")).sorted().toList();
    }
  }

  private static Map<String, String> headersIn(String head) {
    Map<String, String> headers = new HashMap<>();
    head.lines().skip(1).map(line -> line.split(": ", 2)).forEach(pair -> headers.put(pair[0].toLowerCase(), pair[1]));
    return headers;
  }

  private static String told(
      Map<String, String> headers, byte[] body, String secret, Instant now, VerifyDelivery.Seen seen) throws Exception {
    try {
      String id = VerifyDelivery.verify(headers, body, secret, now);
      String word = word(seen, id);
      seen.add(id, now);
      return word + " " + id;
    } catch (VerifyDelivery.NotGenuine refused) {
      return "refused";
    }
  }

  private static String word(VerifyDelivery.Seen seen, String id) {
    return seen.has(id) ? "repeat" : "new";
  }
}
