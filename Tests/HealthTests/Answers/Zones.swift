import Foundation
import Holdfast
import LinkCore
import LinkHealth

/// Zones with habits of their own, and their rules.
enum Zones {
  /// Half-hour and 45-minute offsets, changes at midnight, changes by half an hour, both
  /// hemispheres, a winter that is called standard time, days that were left out.
  static let names = [
    "UTC", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "Australia/Lord_Howe",
    "Asia/Kathmandu", "America/St_Johns", "Africa/Casablanca", "Europe/Dublin", "Asia/Beirut",
    "America/Santiago", "America/Havana", "Pacific/Apia", "Pacific/Chatham", "Asia/Tehran",
    "America/Sao_Paulo", "Africa/Cairo", "Asia/Gaza", "Antarctica/Troll", "Pacific/Kiritimati",
  ]

  static let rules: [String: ZoneRules] = Dictionary(
    uniqueKeysWithValues: names.map { ($0, ZoneRules(zone($0))) })

  static func zone(_ name: String) -> TimeZone {
    // A literal of the table above.
    TimeZone(identifier: name) ?? { preconditionFailure("no zone \(name)") }()
  }

  static func rules(_ name: String) -> ZoneRules {
    rules[name] ?? ZoneRules(zone(name))
  }

  static let berlin = rules("Europe/Berlin")
  static let newYork = rules("America/New_York")
}

/// The moment of `yyyy-mm-ddThh:mm:ssZ`, or with another offset.
func at(_ text: String) -> Timestamp {
  // A literal of RFC 3339.
  RFC3339.parse(text) ?? { preconditionFailure("no time: \(text)") }()
}

/// A time as a question writes it.
func time(_ text: String) -> HealthTime {
  // A literal of ISO 8601.
  HealthTime(text) ?? { preconditionFailure("no time: \(text)") }()
}
