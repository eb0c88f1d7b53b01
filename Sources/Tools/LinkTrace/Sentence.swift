import HoldfastCore
import HoldfastLinkChecks

/// Functions that form the sentences of facts.
package enum Sentence {
  /// Returns the sentence of a part of a simulator's trace.
  static func of(_ part: TracePart) -> String {
    let subject: String? =
      switch part.who {
      case .user: "The user"
      case .app: "The app"
      case .screen: "The screen"
      case .phone: "The phone"
      case .disk: "The disk"
      case .server: "The server"
      case .network, .plan, .checker: nil
      }
    guard let subject, !part.what.hasPrefix("\(part.who.rawValue) ") else {
      return closed(capitalized(part.what))
    }
    return closed("\(subject) \(part.what)")
  }

  /// Returns a text with a full stop at its end.
  package static func closed(_ text: String) -> String { text.hasSuffix(".") ? text : text + "." }

  /// Returns the sentence of a planned event.
  static func of(_ event: ObservedEvent, isOfUser: Bool) -> String {
    let words = event.description
    return isOfUser ? "The user \(words)." : capitalized(words) + "."
  }

  /// Returns the name of a planned event in a few words.
  static func name(of event: ObservedEvent) -> String {
    // Names such as `mappingExpired` become words.
    let words = event.name.reduce(into: "") { words, character in
      words += character.isUppercase ? " \(character.lowercased())" : String(character)
    }
    let name = names[event.name] ?? words
    // A plan can do to a server what it usually does to a phone.
    return event.kind == .backend ? "server: \(name)" : name
  }

  /// The names of faults whose name in plans does not say what is wrong.
  private static let names = [
    "blackHole": "nothing passes", "halfOpen": "half-open", "unreachable": "no network",
    "captivePortal": "login page", "dialsFail": "no connection opens", "narrow": "slow network",
    "waver": "unstable network", "restStatus": "requests refused", "upgradeStatus": "refused",
    "storeFull": "disk full", "storeSlow": "slow disk", "slowStore": "slow server store",
    "close": "closed by the server", "kill": "process killed", "busy": "server busy",
    "removeMember": "not a member", "revokeTokens": "tokens void", "putBack": "log put back",
    "dieAfterNextPost": "server dies after a post", "rivals": "sockets of other devices",
    "dieAfterNextImage": "server dies after an image", "cutNextImage": "image cut off",
    "dieBeforeNextImagePost": "server dies before a message with an image",
    "unsent": "socket takes no more", "timeless": "clock reset", "flat": "battery flat",
    "away": "out of range", "crowded": "no free connection", "lossy": "values lost",
    "garbles": "values cut off", "bluetooth": "Bluetooth not on", "restarts": "bottle restarts",
    "wipes": "memory lost", "sleep": "phone asleep", "echoes": "old callbacks",
    "locks": "phone locked",
    "evicts": "app ended", "evict": "app ended", "overloads": "server overloaded",
    "rotates": "secret changed", "cellular": "expensive network",
  ]

  /// Returns a text with a capital first letter.
  static func capitalized(_ text: String) -> String {
    text.prefix(1).uppercased() + text.dropFirst()
  }

  /// Returns a count such as `1 message` or `3 messages`.
  static func count(_ number: Int, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
  }

  /// Returns a text in quotation marks, shortened.
  static func quoted(_ text: String) -> String {
    "“\(text.count > 60 ? text.prefix(60) + "…" : text)”"
  }

  /// Returns a duration such as `250 ms`, `12.3 s` or `5 min 3 s`.
  static func length(_ time: Duration) -> String {
    let milliseconds = time.nanoseconds / 1_000_000
    switch milliseconds {
    case ..<1: return "less than 1 ms"
    case ..<1_000: return "\(milliseconds) ms"
    case ..<60_000:
      let tenths = milliseconds / 100 % 10
      return tenths == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds / 1000).\(tenths) s"
    case ..<3_600_000:
      let seconds = milliseconds / 1000
      return "\(seconds / 60) min" + (seconds % 60 == 0 ? "" : " \(seconds % 60) s")
    case _:
      let minutes = milliseconds / 60_000
      return "\(minutes / 60) h" + (minutes % 60 == 0 ? "" : " \(minutes % 60) min")
    }
  }

  /// Returns the sentence of an entry that the app shows.
  static func shown(_ text: String, _ via: String) -> String {
    let way =
      switch via {
      case "live": "as it arrived"
      case "poll": "after a poll"
      case "history": "from the history"
      case _: "after it was fetched"
      }
    return "\(quoted(text)) is shown, \(way)."
  }

  /// Returns the sentence of a status.
  ///
  /// - Parameter rule: The explanation of the wait, or an empty text.
  static func of(_ status: LinkStatus, wait: Duration?, _ rule: String) -> String {
    let why = status.reason.map { ": \($0)" } ?? ""
    if status.mode == .polling {
      let next =
        wait.map { $0 > .zero ? "; connects in \(length($0))\(rule)" : "; connects now" } ?? ""
      return "Asks by requests in place of a connection\(next)\(why)."
    }
    switch status.phase {
    case .connected: return "Connected."
    case .disconnected: return "Not connected\(why)."
    case .held: return "Rests\(why)."
    case .failed: return "Has ended\(why)."
    case .standby: return "Waits in standby\(why)."
    case .connecting, .reconnecting:
      // A link that never was connected has this phase after its first failed attempt, too.
      let verb = status.phase == .connecting ? "Connects" : "Tries again"
      let most = status.maxAttempts.map { " of \($0)" } ?? ""
      let number = status.attempt > 0 ? ", attempt \(status.attempt)\(most)" : ""
      let time = wait.map { $0 > .zero ? ", in \(length($0))" : ", now" } ?? ", now"
      return verb + number + time + rule + why + "."
    }
  }

  /// Returns the phase of a status in a trace.
  static func phase(_ status: LinkStatus) -> TraceEvent.State.Phase {
    if status.mode == .polling { return .standby }
    return switch status.phase {
    case .disconnected: .idle
    case .held: .held
    case .connecting: .connecting
    case .connected: .connected
    case .reconnecting: .reconnecting
    case .standby: .standby
    case .failed: .failed
    }
  }
}
