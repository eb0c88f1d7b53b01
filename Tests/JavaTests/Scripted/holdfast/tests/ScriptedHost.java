package holdfast.tests;

import holdfast.HoldfastEvents;
import holdfast.HoldfastException;
import holdfast.HoldfastHost;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import javax.management.ObjectName;

/** A host that tests control by commands. Its clock is virtual, and its secrets are in memory. */
public final class ScriptedHost implements HoldfastHost {
  private static final class Task {
    long due;
    boolean isLong;
    boolean needsNetwork;
  }

  /** The secrets outlive a host, as those of a device do. */
  private static final Map<String, String> secrets = new TreeMap<>();

  private final Map<String, Task> tasks = new TreeMap<>();
  private final Map<Long, String> wakes = new TreeMap<>();
  private final List<String> log = new ArrayList<>();
  private final AtomicInteger given = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();
  /** Texts that only Swift refers to. */
  private final List<WeakReference<String>> fresh = new ArrayList<>();

  private HoldfastEvents events;
  private String failure = "";
  private long now;

  // What Swift calls.

  @Override
  public synchronized void started(HoldfastEvents events) {
    this.events = events;
    events.reachable("wifi", 0);
    events.lifecycle(HoldfastEvents.Lifecycle.UNLOCKED);
    events.lifecycle(HoldfastEvents.Lifecycle.LOW_POWER_OFF);
    events.lifecycle(HoldfastEvents.Lifecycle.FOREGROUND);
  }

  @Override
  public String readSecret(String name) throws HoldfastException {
    fail("");
    synchronized (secrets) {
      return secrets.get(name);
    }
  }

  @Override
  public void writeSecret(String name, String secret, boolean whileUnlocked)
      throws HoldfastException {
    fail(" while writing " + secret);
    synchronized (secrets) {
      if (secret == null) secrets.remove(name);
      else secrets.put(name, secret);
    }
    note("write " + name + " " + (whileUnlocked ? "while unlocked" : "after first unlock"));
  }

  @Override
  public boolean showNotification(String title, String body) {
    failUnchecked();
    note("show " + title + " | " + body);
    return !title.isEmpty();
  }

  @Override
  public void removeNotification() {
    failUnchecked();
    note("remove");
  }

  @Override
  public synchronized void scheduleTask(
      String identifier, long afterMillis, boolean isLong, boolean needsNetwork)
      throws HoldfastException {
    fail("");
    Task task = new Task();
    task.due = now + afterMillis;
    task.isLong = isLong;
    task.needsNetwork = needsNetwork;
    tasks.put(identifier, task);
    note("schedule " + identifier + " " + afterMillis + " " + isLong + " " + needsNetwork);
  }

  @Override
  public synchronized void cancelTask(String identifier) {
    failUnchecked();
    tasks.remove(identifier);
  }

  // What tests call.

  /** Runs a command. */
  public String act(String verb, String argument) throws Exception {
    switch (verb) {
      case "network" -> network(argument);
      case "lifecycle" -> events.lifecycle(HoldfastEvents.Lifecycle.valueOf(argument));
      case "grant" ->
          events.lifecycle(HoldfastEvents.Lifecycle.valueOf(argument), given::incrementAndGet);
      case "throwing-grant" ->
          events.lifecycle(HoldfastEvents.Lifecycle.valueOf(argument), () -> throwing("grant"));
      case "wake" -> wake(HoldfastEvents.Cause.valueOf(argument), "one\ntwo");
      case "throwing-wake" ->
          events.wake(HoldfastEvents.Cause.PUSH, null, 1000, isDone -> throwing("wake"));
      case "advance" -> advance(Long.parseLong(argument));
      case "expire" -> expire();
      case "fail" -> failure = argument;
      case "close" -> events.close();
      case "log" -> {
        return takeLog();
      }
      case "given" -> {
        return "" + given.get();
      }
      case "ended" -> {
        return "" + ended.get();
      }
      case "storm" -> storm(Integer.parseInt(argument));
      case "constants" -> {
        return constants();
      }
      case "fresh" -> {
        String text = new String("fresh");
        fresh.add(new WeakReference<>(text));
        return text;
      }
      case "alive" -> {
        System.gc();
        return "" + fresh.stream().filter(reference -> reference.get() != null).count();
      }
      case "globals" -> {
        return globals();
      }
      case "threads" -> {
        return threads();
      }
      default -> throw new IllegalArgumentException(verb);
    }
    return "";
  }

  private void network(String state) {
    switch (state) {
      case "none" -> events.unreachable();
      case "login" -> events.captivePortal();
      default ->
          events.reachable(state, HoldfastEvents.CELLULAR | HoldfastEvents.EXPENSIVE);
    }
  }

  private void wake(HoldfastEvents.Cause cause, String detail) {
    String name = detail == null ? cause.name() : cause.name() + " " + detail;
    // Swift may end the wake before its number is known.
    long number =
        events.wake(
            cause,
            detail,
            30_000,
            isDone -> {
              ended.incrementAndGet();
              note("ended " + name + " " + isDone);
            });
    synchronized (this) {
      wakes.put(number, name);
    }
  }

  private void advance(long millis) {
    List<String> due = new ArrayList<>();
    synchronized (this) {
      now += millis;
      tasks.forEach(
          (name, task) -> {
            if (task.due <= now) due.add(name);
          });
      due.forEach(tasks::remove);
    }
    for (String name : due) wake(HoldfastEvents.Cause.TASK, name);
  }

  private void expire() {
    List<Long> running;
    synchronized (this) {
      running = new ArrayList<>(wakes.keySet());
    }
    for (long wake : running) events.expire(wake);
  }

  /** Makes eight threads report at once, and returns when all have ended. */
  private void storm(int rounds) throws InterruptedException {
    CountDownLatch start = new CountDownLatch(1);
    List<Thread> threads = new ArrayList<>();
    for (int number = 0; number < 8; number++) {
      String name = "path " + number;
      Thread thread =
          new Thread(
              () -> {
                try {
                  start.await();
                } catch (InterruptedException interruption) {
                  return;
                }
                for (int round = 0; round < rounds; round++) {
                  events.reachable(name, round % 2);
                  events.lifecycle(HoldfastEvents.Lifecycle.BACKGROUND, given::incrementAndGet);
                  wake(HoldfastEvents.Cause.PUSH, null);
                }
              });
      threads.add(thread);
      thread.start();
    }
    start.countDown();
    for (Thread thread : threads) thread.join();
  }

  /** Reports every constant of the enumerations, and returns how many. */
  private String constants() {
    for (HoldfastEvents.Lifecycle event : HoldfastEvents.Lifecycle.values()) {
      events.lifecycle(event, given::incrementAndGet);
    }
    for (HoldfastEvents.Cause cause : HoldfastEvents.Cause.values()) wake(cause, "detail");
    return HoldfastEvents.Lifecycle.values().length + " " + HoldfastEvents.Cause.values().length;
  }

  // What the machine knows.

  private static String globals() throws Exception {
    System.gc();
    String dump =
        (String)
            ManagementFactory.getPlatformMBeanServer()
                .invoke(
                    new ObjectName("com.sun.management:type=DiagnosticCommand"),
                    "threadPrint",
                    new Object[] {new String[0]},
                    new String[] {String[].class.getName()});
    String mark = "JNI global refs: ";
    int start = dump.indexOf(mark) + mark.length();
    return dump.substring(start, dump.indexOf(',', start));
  }

  /** Returns the number of threads that Swift has attached. */
  private static String threads() {
    return ""
        + Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().equals("Holdfast"))
            .count();
  }

  private synchronized void note(String text) {
    log.add(text);
  }

  private synchronized String takeLog() {
    String text = String.join("\n", log);
    log.clear();
    return text;
  }

  private void fail(String text) throws HoldfastException {
    for (HoldfastException.Reason reason : HoldfastException.Reason.values()) {
      if (failure.equals(reason.name())) throw new HoldfastException(reason, "scripted" + text);
    }
    if (!failure.isEmpty()) throwing(failure + text);
  }

  private void failUnchecked() {
    if (!failure.isEmpty()) throwing(failure);
  }

  private static void throwing(String text) {
    if (text.startsWith("silent")) throw new Silent();
    if (text.startsWith("deep")) throwing(text);
    throw new IllegalStateException(text);
  }

  /** An exception that fails when it is asked for its text. */
  private static final class Silent extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String toString() {
      throw new IllegalStateException("no text");
    }
  }
}
