package holdfast;

/** A refusal of the host, with a reason that Holdfast tells apart. */
public final class HoldfastException extends Exception {
  private static final long serialVersionUID = 1;

  /** The reasons. Swift knows them by their names. */
  public enum Reason {
    /** The device is locked. A later call may succeed. */
    LOCKED,
    /** The secret cannot be read or written. */
    DENIED,
    /** There is no room. */
    FULL,
    /** The stored secret is damaged. */
    CORRUPT,
    /** The app may not schedule the task. */
    NOT_PERMITTED,
    /** Too many tasks are waiting. */
    TOO_MANY,
    /** The system schedules no tasks at present. */
    UNAVAILABLE
  }

  private final Reason reason;

  /**
   * Creates a refusal.
   *
   * @param text what happened, for developers; never a secret
   */
  public HoldfastException(Reason reason, String text) {
    super(text);
    this.reason = reason;
  }

  /** Returns the reason. */
  public Reason reason() {
    return reason;
  }

  /** Returns the reason's name, for Swift. */
  String reasonName() {
    return reason.name();
  }
}
