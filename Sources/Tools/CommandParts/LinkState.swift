import HoldfastCommandKit
package import HoldfastCore
package import HoldfastJSON

/// The state of a link as commands show it, with the name that the feature gives it.
package struct LinkState: Sendable {
  package var name: String
  /// The number of the current or next attempt, counted from 1; 0 if there is none.
  package var attempt: Int
  /// The maximum number of attempts; `nil` for no limit.
  package var maxAttempts: Int?
  package var retryAt: Instant?
  /// The way in which data arrives; `nil` for a feature that has only one way.
  package var mode: LinkStatus.Mode?
  package var reason: LinkStatus.Reason?
  /// The events that lead to the next step; `nil` for a feature that does not report them.
  package var outstanding: [String]?

  package init(
    name: String, attempt: Int, maxAttempts: Int? = nil, retryAt: Instant? = nil,
    mode: LinkStatus.Mode? = nil, reason: LinkStatus.Reason? = nil, outstanding: [String]? = nil
  ) {
    self.name = name
    self.attempt = attempt
    self.maxAttempts = maxAttempts
    self.retryAt = retryAt
    self.mode = mode
    self.reason = reason
    self.outstanding = outstanding
  }

  /// Returns a text such as `RECONNECTING 2 of 5 in 4s: the connection was reset`.
  ///
  /// Seconds are rounded up. The reason has at most 240 characters.
  package func text(at now: Instant) -> String {
    var text = name
    if let mode, mode != .none { text += " (\(mode.rawValue))" }
    if attempt > 0 { text += " \(attempt)" + (maxAttempts.map { " of \($0)" } ?? "") }
    if let retryAt { text += " in \(Int(retryAt.seconds(from: now).rounded(.up)))s" }
    text += reason.map { ": " + String($0.description.printable.prefix(240)) } ?? ""
    guard let outstanding else { return text }
    return text + " [" + outstanding.joined(separator: ", ") + "]"
  }

  /// Writes the members of a JSON event.
  package func write(to writer: inout JSONWriter, at now: Instant) {
    writer.entry("status", name)
    writer.entry("attempt", attempt)
    writer.entry("of", maxAttempts)
    writer.entry("retryIn", retryAt?.seconds(from: now))
    if let mode { writer.entry("mode", mode.rawValue) }
    writer.entry("reason", reason.map(LinkReason.name))
    if let detail = reason.flatMap(LinkReason.detail) { writer.entry("detail", detail) }
    if let outstanding { writer.entry("outstanding", outstanding) }
  }
}
