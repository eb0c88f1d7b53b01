package holdfast.tests;

import holdfast.HoldfastEvents;
import holdfast.HoldfastHost;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/** A program that loads a library with Swift code, as an app does. */
public final class Program implements HoldfastHost {
  private final BlockingQueue<String> shown = new ArrayBlockingQueue<>(8);
  private HoldfastEvents events;

  static native void start(HoldfastHost host);

  public static void main(String[] arguments) throws Exception {
    System.load(arguments[0]);
    Program program = new Program();
    start(program);
    program.print();
    program.events.lifecycle(
        HoldfastEvents.Lifecycle.BACKGROUND, () -> program.shown.add("given"));
    program.print();
    program.print();
    program.events.close();
    // The threads that Swift attached do not keep the program alive.
  }

  private void print() throws InterruptedException {
    System.out.println(shown.poll(60, TimeUnit.SECONDS));
  }

  @Override
  public void started(HoldfastEvents events) {
    this.events = events;
    events.lifecycle(HoldfastEvents.Lifecycle.FOREGROUND);
  }

  @Override
  public String readSecret(String name) {
    return null;
  }

  @Override
  public void writeSecret(String name, String secret, boolean whileUnlocked) {}

  @Override
  public boolean showNotification(String title, String body) {
    return shown.add(title);
  }

  @Override
  public void removeNotification() {}

  @Override
  public void scheduleTask(
      String identifier, long afterMillis, boolean isLong, boolean needsNetwork) {}

  @Override
  public void cancelTask(String identifier) {}
}
