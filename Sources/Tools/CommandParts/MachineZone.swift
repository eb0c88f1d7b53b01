package import Foundation
import Glibc
package import HoldfastCommandKit
import HoldfastFeaturePorts
package import HoldfastHealth

/// The time zone of this machine, as the environment variable `TZ` selects it.
enum MachineZone {
  /// Returns the rules of the zone that `TZ` names, or `nil` if it names none.
  ///
  /// Foundation knows the plain names only. POSIX also permits a colon before a name, and rules such
  /// as `CET-1CEST,M3.5.0,M10.5.0/3`, which the C library knows.
  static func rules(of variable: String?) -> ZoneRules? {
    guard let variable else { return ZoneRules(.current) }
    let text = String(variable.drop { $0 == ":" })
    guard !text.isEmpty else { return .utc }
    guard !isRule(text) else { return ofLibrary() }
    let name = text.hasPrefix(folder) ? String(text.dropFirst(folder.count)) : text
    if let zone = TimeZone(identifier: name) { return ZoneRules(zone) }
    let isFile = text.hasPrefix("/") && FileManager.default.isReadableFile(atPath: text)
    return isFile ? ofLibrary() : nil
  }

  private static let folder = "/usr/share/zoneinfo/"

  /// Whether a text is a rule of POSIX: a name, the offset west of UTC, and maybe the same of summer
  /// time.
  private static func isRule(_ text: String) -> Bool {
    let rule = /(<[A-Za-z0-9+-]{3,}>|[A-Za-z]{3,})[+-]?[0-9]{1,3}(:[0-9]{2}){0,2}([<A-Za-z].*)?/
    return text.wholeMatch(of: rule) != nil
  }

  /// Returns the rules by which the C library computes local time in this process.
  private static func ofLibrary() -> ZoneRules {
    tzset()
    return ZoneRules(name: nil) { second in
      var time = time_t(second)
      var local = unsafe tm()
      return unsafe localtime_r(&time, &local) == nil ? 0 : local.tm_gmtoff
    }
  }
}

extension Invocation {
  /// Returns the rules of the zone that a parameter names; by default, those of this machine. If
  /// they are not known, a diagnostic says so.
  package func zoneRules(_ parameter: Parameter<TimeZone?>) -> ZoneRules {
    if let zone = self[parameter] { return ZoneRules(zone) }
    let variable = environment("TZ")
    if let rules = MachineZone.rules(of: variable) { return rules }
    diagnostic(
      "TZ is \"\((variable ?? "").printable)\", which is no time zone known here, so days are those "
        + "of UTC; give --time-zone, such as Europe/Berlin")
    return .utc
  }
}
