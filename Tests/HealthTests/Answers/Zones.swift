import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth

/// Time zones with unusual rules.
enum Zones {
  /// The names of zones with a variety of rules.
  ///
  /// The zones are in both hemispheres. They have half-hour and 45-minute offsets, changes at
  /// midnight and by half an hour, and skipped days. In some of them winter time is not standard
  /// time.
  static let names = [
    "UTC", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "Australia/Lord_Howe",
    "Asia/Kathmandu", "America/St_Johns", "Africa/Casablanca", "Europe/Dublin", "Asia/Beirut",
    "America/Santiago", "America/Havana", "Pacific/Apia", "Pacific/Chatham", "Asia/Tehran",
    "America/Sao_Paulo", "Africa/Cairo", "Asia/Gaza", "Antarctica/Troll", "Pacific/Kiritimati",
  ]

  static let rules: [String: ZoneRules] = Dictionary(
    uniqueKeysWithValues: names.map { ($0, ZoneRules(zone($0))) })

  static func zone(_ name: String) -> TimeZone {
    // The name is a literal in the table above.
    TimeZone(identifier: name) ?? { preconditionFailure("no zone \(name)") }()
  }

  static func rules(_ name: String) -> ZoneRules {
    rules[name] ?? ZoneRules(zone(name))
  }

  static let berlin = rules("Europe/Berlin")
  static let newYork = rules("America/New_York")
}

/// Returns the instant of a text such as `2026-01-05T12:00:00Z`, which may have another offset.
func at(_ text: String) -> Timestamp {
  // The text is an RFC 3339 literal.
  RFC3339.parse(text) ?? { preconditionFailure("no time: \(text)") }()
}

/// Returns the time of a question.
func time(_ text: String) -> HealthTime {
  // The text is an ISO 8601 literal.
  HealthTime(text) ?? { preconditionFailure("no time: \(text)") }()
}
