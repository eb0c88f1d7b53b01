package holdfast;

/**
 * What an app provides to Holdfast.
 *
 * <p>Every method may be called from any thread, also from several at once and from inside a call of
 * {@link HoldfastEvents}. A method must return quickly: it must not wait for another thread of the
 * app. Any exception becomes a failure in Swift; {@link HoldfastException} gives its reason.
 */
public interface HoldfastHost {
  /**
   * Begins the reports. The host reports the state of the network, and whether the device is locked
   * and saves power, before it returns; and each change afterwards.
   *
   * @param events the receiver of the reports
   */
  void started(HoldfastEvents events);

  /**
   * Returns a secret.
   *
   * @return null if none is stored
   */
  String readSecret(String name) throws HoldfastException;

  /**
   * Stores a secret, so that it is durable when the method returns.
   *
   * @param secret null to remove it
   * @param whileUnlocked whether it may be read only while the device is unlocked
   */
  void writeSecret(String name, String secret, boolean whileUnlocked) throws HoldfastException;

  /**
   * Shows the one notification of the app's background service, or replaces it.
   *
   * @return false if no user can see it
   */
  boolean showNotification(String title, String body);

  /** Removes the notification, if it is shown. */
  void removeNotification();

  /**
   * Schedules a task in place of the one with this identifier. When it is due, the host reports
   * {@link HoldfastEvents#wake}.
   *
   * @param afterMillis the time to the earliest start
   * @param isLong whether the task takes minutes and may wait until the device is charging
   */
  void scheduleTask(String identifier, long afterMillis, boolean isLong, boolean needsNetwork)
      throws HoldfastException;

  /** Cancels a task, if there is one. */
  void cancelTask(String identifier);
}
