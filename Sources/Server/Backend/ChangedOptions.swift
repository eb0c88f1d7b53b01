// What a running backend takes from a changed configuration.
extension Backend {
  /// Changes the format and the level of the log's later lines.
  public nonisolated func changeLog(to format: LogFormat, _ level: LogLevel) {
    log.change(to: format, level)
  }

  /// Changes the period over which clients should spread their reconnects when the backend drains.
  public func changeDrainWindow(to window: Duration) {
    changedDrainWindow = window
  }

  /// Logs that the options were read again.
  ///
  /// - Parameters:
  ///   - changed: The names of the changed options that are in effect now.
  ///   - waiting: The names of the changed options that need a restart.
  public nonisolated func noteOptions(changed: [String], needingRestart waiting: [String]) {
    let detail = changed.isEmpty ? "no option has changed" : changed.joined(separator: ", ")
    if !changed.isEmpty || waiting.isEmpty { log.note(.reload, detail) }
    if !waiting.isEmpty { log.note(.restartNeeded, waiting.joined(separator: ", ")) }
  }

  /// Logs that the options cannot be read again, so that none has changed.
  ///
  /// - Parameter detail: The cause. It must not contain a secret.
  public nonisolated func noteInvalidOptions(_ detail: String) {
    log.note(.reloadFailed, detail)
  }
}
