// A Kubernetes API server for tests with JUnit 5, in one file without dependencies: copy it into a project.

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Starts a server when a test first needs it, and resets it before each test. All classes with
 * {@code @ExtendWith(TriplaneExtension.class)} share the server; tests have a parameter {@link Server}. The program is
 * that of {@code $TRIPLANE_BINARY}, or triplane in the PATH; {@code $TRIPLANE_ARGS} are flags of "triplane test".
 */
public class TriplaneExtension implements BeforeEachCallback, ParameterResolver {
  private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(TriplaneExtension.class);

  @Override
  public void beforeEach(ExtensionContext context) throws Exception {
    serverOf(context).reset();
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == Server.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return serverOf(context);
  }

  private static Server serverOf(ExtensionContext context) {
    // The root store is closed after all tests, and closes the server.
    return context.getRoot().getStore(NAMESPACE).getOrComputeIfAbsent(Server.class, key -> {
      String args = System.getenv().getOrDefault("TRIPLANE_ARGS", "").trim();
      return Server.start(args.isEmpty() ? new String[0] : args.split("\\s+"));
    }, Server.class);
  }

  /** A running server. */
  public static final class Server implements ExtensionContext.Store.CloseableResource, AutoCloseable {
    /** The server's address, the administrator's bearer token, and the server's CA in PEM. */
    public final String url, token, ca;
    /** The administrator's kubeconfig, as text and as a file. */
    public final String kubeconfig, kubeconfigFile;

    private final Process process;
    private final HttpClient client;

    private Server(Process process, String ready) throws GeneralSecurityException, IOException {
      this.process = process;
      url = field(ready, "url");
      token = field(ready, "token");
      ca = field(ready, "ca");
      kubeconfig = field(ready, "kubeconfig");
      kubeconfigFile = field(ready, "kubeconfigFile");
      client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(trust(ca)).build();
    }

    /** Starts a server with flags of "triplane test" and returns it when it is ready. */
    public static Server start(String... args) {
      List<String> command = new ArrayList<>(List.of(
          System.getenv().getOrDefault("TRIPLANE_BINARY", "triplane"), "test"));
      command.addAll(List.of(args));
      Process process = null;
      try {
        File log = File.createTempFile("triplane", ".log");
        try {
          process = new ProcessBuilder(command).redirectError(log).start();
          String line = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))
              .readLine();
          if (line == null) {
            throw new IllegalStateException(
                command + " ended with " + process.waitFor() + "\n" + Files.readString(log.toPath()));
          }
          return new Server(process, line);
        } finally {
          Files.deleteIfExists(log.toPath());
        }
      } catch (IOException | GeneralSecurityException | InterruptedException e) {
        if (process != null) {
          process.destroyForcibly();
        }
        throw new IllegalStateException(command + ": " + e.getMessage(), e);
      }
    }

    /** Restores the objects of the start. */
    public void reset() {
      reset("start");
    }

    /** Restores the objects of a checkpoint. */
    public void reset(String checkpoint) {
      check(request("POST", "/testing/checkpoints/" + encode(checkpoint) + "/reset", null));
    }

    /** Saves all objects, and returns the id of the checkpoint. */
    public String checkpoint() {
      return field(check(request("POST", "/testing/checkpoints", null)).body(), "id");
    }

    /** Sends a request with a body of JSON, or none, as the administrator. */
    public HttpResponse<String> request(String method, String path, String body) {
      HttpRequest.BodyPublisher publisher = body == null ? HttpRequest.BodyPublishers.noBody()
          : HttpRequest.BodyPublishers.ofString(body);
      HttpRequest request = HttpRequest.newBuilder(URI.create(url + path)).method(method, publisher)
          .header("Authorization", "Bearer " + token).header("Content-Type", "application/json")
          .header("Accept", "application/json").build();
      try {
        return client.send(request, HttpResponse.BodyHandlers.ofString());
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(method + " " + path + ": " + e.getMessage(), e);
      }
    }

    /** Stops the server and waits for its end. */
    @Override
    public void close() {
      try {
        process.getOutputStream().close(); // its standard input: the server ends with it
        if (!process.waitFor(30, TimeUnit.SECONDS)) {
          process.destroyForcibly();
        }
      } catch (IOException | InterruptedException e) {
        process.destroyForcibly();
      }
    }

    private static HttpResponse<String> check(HttpResponse<String> response) {
      if (response.statusCode() >= 300) {
        throw new IllegalStateException(response.uri() + ": " + response.statusCode() + " " + response.body());
      }
      return response;
    }

    private static String encode(String text) {
      return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Returns a string of a flat object of JSON, as "triplane test" writes it. */
    private static String field(String json, String name) {
      Matcher found = Pattern.compile("\"" + name + "\":\"((?:[^\"\\\\]++|\\\\.)*+)\"").matcher(json);
      if (!found.find()) {
        throw new IllegalStateException("no " + name + " in " + json);
      }
      StringBuilder text = new StringBuilder();
      String raw = found.group(1);
      for (int i = 0; i < raw.length(); i++) {
        char c = raw.charAt(i);
        if (c != '\\') {
          text.append(c);
          continue;
        }
        switch (c = raw.charAt(++i)) {
          case 'n' -> text.append('\n');
          case 't' -> text.append('\t');
          case 'r' -> text.append('\r');
          case 'u' -> {
            text.append((char) Integer.parseInt(raw.substring(i + 1, i + 5), 16));
            i += 4;
          }
          default -> text.append(c);
        }
      }
      return text.toString();
    }

    private static SSLContext trust(String pem) throws GeneralSecurityException, IOException {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509")
          .generateCertificate(new ByteArrayInputStream(pem.getBytes(StandardCharsets.UTF_8))));
      TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, managers.getTrustManagers(), null);
      return context;
    }
  }
}
