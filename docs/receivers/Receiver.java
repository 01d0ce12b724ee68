// A receiver of webhooks for Java 17 or newer, without packages: java Receiver.java. SECRET is the signing_secret of the webhook.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
    static final byte[] KEY = Base64.getDecoder().decode(System.getenv("SECRET").replaceFirst("^whsec_", ""));
    static final long MAX_AGE_SECONDS = 300;
    /** Ids of deliveries that were processed; use a table with a unique key in production. */
    static final Set<String> SEEN = ConcurrentHashMap.newKeySet();

    static boolean isValid(String id, String at, String signatures, byte[] body) throws GeneralSecurityException {
        if (id == null || at == null || signatures == null || !at.matches("\\d{1,12}")) return false;
        if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(at)) > MAX_AGE_SECONDS) return false;
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
        mac.update((id + "." + at + ".").getBytes(StandardCharsets.UTF_8));
        byte[] wanted = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
        // Several signatures, with spaces between them, while a secret is being replaced.
        for (String each : signatures.split(" "))
            if (MessageDigest.isEqual(wanted, each.getBytes(StandardCharsets.UTF_8))) return true;
        return false;
    }

    static void receive(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readAllBytes();
            var headers = exchange.getRequestHeaders();
            String id = headers.getFirst("webhook-id");
            boolean valid = isValid(id, headers.getFirst("webhook-timestamp"), headers.getFirst("webhook-signature"), body);
            if (valid && SEEN.add(id)) System.out.println(new String(body, StandardCharsets.UTF_8));
            exchange.sendResponseHeaders(valid ? 204 : 401, -1);
        } catch (GeneralSecurityException error) {
            throw new IOException(error);
        }
    }

    public static void main(String[] args) throws IOException {
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8000"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/", Receiver::receive);
        server.start();
        System.out.println("listening on " + server.getAddress().getPort());
    }
}
