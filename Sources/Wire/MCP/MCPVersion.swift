/// A revision of the Model Context Protocol, named by its date.
package enum MCPVersion: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
  case november2024 = "2024-11-05"
  case march2025 = "2025-03-26"
  case june2025 = "2025-06-18"
  case november2025 = "2025-11-25"
  /// Without a handshake and without sessions: each request says all that is needed.
  case july2026 = "2026-07-28"

  /// Whether `initialize` agrees on it and a session follows.
  package var hasSessions: Bool { self < .july2026 }

  /// Whether its clients read `structuredContent`; others read the text alone.
  package var takesStructured: Bool { self >= .june2025 }

  /// The newest that `initialize` can agree on; offered to whoever asks for one that is not known.
  package static let newestWithSessions = MCPVersion.november2025

  /// What `initialize` agrees on when a client offers `text`.
  package static func agreed(on text: String) -> MCPVersion {
    MCPVersion(rawValue: text).flatMap { $0.hasSessions ? $0 : nil } ?? newestWithSessions
  }

  /// Older first.
  package static func < (left: MCPVersion, right: MCPVersion) -> Bool {
    left.rawValue < right.rawValue
  }
}
