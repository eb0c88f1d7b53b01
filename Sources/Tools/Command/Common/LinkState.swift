import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON

/// The state of a link as commands show it, with the name that the feature gives it.
struct LinkState: Sendable {
  var name: String
  /// The number of the current or next attempt, counted from 1; 0 if there is none.
  var attempt: Int
  /// The maximum number of attempts; `nil` for no limit.
  var maxAttempts: Int?
  var retryAt: Instant?
  /// The way in which data arrives; `nil` for a feature that has only one way.
  var mode: LinkStatus.Mode?
  var reason: LinkStatus.Reason?
  /// The events that lead to the next step; `nil` for a feature that does not report them.
  var outstanding: [String]?

  /// Returns a text such as `RECONNECTING 2 of 5 in 4s: the connection was reset`.
  ///
  /// Seconds are rounded up. The reason has at most 240 characters.
  func text(at now: Instant) -> String {
    var text = name
    if let mode, mode != .none { text += " (\(mode.rawValue))" }
    if attempt > 0 { text += " \(attempt)" + (maxAttempts.map { " of \($0)" } ?? "") }
    if let retryAt { text += " in \(Int(retryAt.seconds(from: now).rounded(.up)))s" }
    text += reason.map { ": " + String($0.description.printable.prefix(240)) } ?? ""
    guard let outstanding else { return text }
    return text + " [" + outstanding.joined(separator: ", ") + "]"
  }

  /// Writes the members of a JSON event.
  func write(to writer: inout JSONWriter, at now: Instant) {
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
