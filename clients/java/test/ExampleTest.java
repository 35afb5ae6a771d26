// Tests that share a server, which is reset before each test.

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(TriplaneExtension.class)
class ExampleTest {
  private static final String MAPS = "/api/v1/namespaces/default/configmaps";
  private static final String SETTINGS = "{\"metadata\": {\"name\": \"settings\"}, \"data\": {\"color\": \"blue\"}}";

  @RepeatedTest(2) // the second one begins without the object of the first
  void anObjectIsCreated(TriplaneExtension.Server server) {
    assertEquals(404, server.request("GET", MAPS + "/settings", null).statusCode());
    assertEquals(201, server.request("POST", MAPS, SETTINGS).statusCode());
    assertTrue(server.request("GET", MAPS + "/settings", null).body().contains("blue"));
  }

  @Test
  void aCheckpointHasTheObjectsOfItsTime(TriplaneExtension.Server server) {
    server.request("POST", MAPS, SETTINGS);
    String id = server.checkpoint();
    assertEquals(200, server.request("DELETE", MAPS + "/settings", null).statusCode());
    server.reset(id);
    assertEquals(200, server.request("GET", MAPS + "/settings", null).statusCode());
  }

  @Test
  void startAndResetAreFast() {
    long begun = System.nanoTime();
    try (TriplaneExtension.Server server = TriplaneExtension.Server.start()) {
      long started = (System.nanoTime() - begun) / 1_000_000;
      double[] times = new double[100];
      for (int i = 0; i < times.length; i++) {
        server.request("POST", MAPS, SETTINGS);
        long before = System.nanoTime();
        server.reset();
        times[i] = (System.nanoTime() - before) / 1e6;
      }
      Arrays.sort(times);
      double reset = times[times.length / 2];
      System.out.printf("measured: start %d ms, reset %.1f ms%n", started, reset);
      assertTrue(started < 10_000 && reset < 500);
    }
  }

  @Test
  void aProgramThatDoesNotStartIsAnError() {
    assertTrue(assertThrows(IllegalStateException.class, () -> TriplaneExtension.Server.start("--no-such-flag"))
        .getMessage().contains("no-such-flag"));
  }
}
