package holdfast;

/**
 * The receiver of what the host reports.
 *
 * <p>Every method may be called from any thread, returns at once, and has no effect after Swift has
 * closed the host.
 */
public final class HoldfastEvents implements AutoCloseable {
  /** The events of the app and the device. Swift knows them by their names. */
  public enum Lifecycle {
    FOREGROUND,
    BACKGROUND,
    WILL_SLEEP,
    DID_WAKE,
    AGAIN,
    TERMINATE,
    UNLOCKED,
    LOCKED,
    LOW_POWER_ON,
    LOW_POWER_OFF
  }

  /** The causes of a wake. Swift knows them by their names. */
  public enum Cause {
    /** A scheduled task is due. The detail is its identifier. */
    TASK,
    /** A push without content was received. */
    PUSH,
    /** Health data changed. The detail lists the types, one a line. */
    HEALTH,
    /** Uploads ended. The detail names their session. */
    UPLOADS
  }

  /** A listener for the end of a wake. */
  @FunctionalInterface
  public interface WakeEnd {
    /**
     * Reports the end. It is called exactly once, on any thread.
     *
     * @param isDone false if work is left for a later wake
     */
    void ended(boolean isDone);
  }

  /** The bits of {@code traits}. */
  public static final int CELLULAR = 1;

  public static final int EXPENSIVE = 2;
  public static final int CONSTRAINED = 4;
  public static final int ON_DEMAND = 8;

  /** The number by which Swift finds its object. It is never used again. */
  private final long handle;

  private HoldfastEvents(long handle) {
    this.handle = handle;
  }

  /**
   * Reports that the device has a network.
   *
   * @param path a text that changes when traffic takes another route, such as the network's handle
   * @param traits the cost of the path
   */
  public void reachable(String path, int traits) {
    network(handle, "REACHABLE", path, traits);
  }

  /** Reports that the device has no network. */
  public void unreachable() {
    network(handle, "UNREACHABLE", null, 0);
  }

  /** Reports a network whose login page answers in place of servers. */
  public void captivePortal() {
    network(handle, "CAPTIVE_PORTAL", null, 0);
  }

  /** Reports an event that needs no time. */
  public void lifecycle(Lifecycle event) {
    lifecycle(event, null);
  }

  /**
   * Reports an event.
   *
   * @param giveBack is run exactly once, on any thread, when nobody needs the time to act on the event
   *     any more: at once if nobody listens; null if the time is not limited
   */
  public void lifecycle(Lifecycle event, Runnable giveBack) {
    if (!lifecycle(handle, event.name(), giveBack) && giveBack != null) giveBack.run();
  }

  /**
   * Reports a wake.
   *
   * @param detail depends on the cause; may be null for a push
   * @param budgetMillis the time that the system grants
   * @param end is told once when the time is not needed any more
   * @return a number for {@link #expire}
   */
  public long wake(Cause cause, String detail, long budgetMillis, WakeEnd end) {
    long wake = wake(handle, cause.name(), detail, budgetMillis, end);
    if (wake == 0) end.ended(false);
    return wake;
  }

  /** Reports that the system takes the time of a wake back. Its end is told before this returns. */
  public void expire(long wake) {
    expire(handle, wake);
  }

  /** Ends the reports. Wakes are given back, and later calls from Swift fail. */
  @Override
  public void close() {
    close(handle);
  }

  private static native boolean network(long handle, String kind, String path, int traits);

  private static native boolean lifecycle(long handle, String event, Runnable giveBack);

  private static native long wake(
      long handle, String cause, String detail, long budgetMillis, WakeEnd end);

  private static native void expire(long handle, long wake);

  private static native void close(long handle);
}
