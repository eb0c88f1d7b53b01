import CommandKit
import LinkCore
import LinkJSON
import LinkWire

/// The state of a link as commands show it, with the feature's own name for it.
struct LinkState: Sendable {
  var name: String
  /// The number of the running or waiting attempt, counted from 1; 0 if there is none.
  var attempt: Int
  /// The number of attempts in total; `nil` for no limit.
  var of: Int?
  var retryAt: Instant?
  /// The way that data arrives; `nil` for a feature with only one way.
  var mode: LinkStatus.Mode?
  var reason: LinkStatus.Reason?
  /// The events that lead to the next step; `nil` for a feature that does not report them.
  var outstanding: [String]?

  /// Returns text such as `RECONNECTING 2 of 5 in 4s: closed-1012`; seconds are rounded up.
  func text(at now: Instant) -> String {
    var text = name
    if let mode, mode != .none { text += " (\(mode.rawValue))" }
    if attempt > 0 { text += " \(attempt)" + (of.map { " of \($0)" } ?? "") }
    if let retryAt { text += " in \(Int(retryAt.seconds(from: now).rounded(.up)))s" }
    text += reason.map { ": \(LinkReason.text($0))" } ?? ""
    guard let outstanding else { return text }
    return text + " [" + outstanding.joined(separator: ", ") + "]"
  }

  /// Writes the members of a JSON event.
  func write(to writer: inout JSONWriter, at now: Instant) {
    writer.entry("status", name)
    writer.entry("attempt", attempt)
    writer.entry("of", of)
    writer.entry("retryIn", retryAt?.seconds(from: now))
    if let mode { writer.entry("mode", mode.rawValue) }
    writer.entry("reason", reason.map(LinkReason.name))
    if let detail = reason.flatMap(LinkReason.detail) { writer.entry("detail", detail) }
    if let outstanding { writer.entry("outstanding", outstanding) }
  }
}
