package import HoldfastCommandKit
package import HoldfastCore
import HoldfastHealth
package import HoldfastHealthSamples
import HoldfastJSON

/// The command `holdfast health`: imports, generates, shows and syncs health samples.
package enum HealthCommands {
  package static var command: Command {
    Command(
      "health", "import, generate, show and sync health samples",
      details: [
        """
        Samples are stored in health.sqlite in the data directory, readable only by its owner. \
        Only sync sends them to a server, and values are shown only on request.
        """
      ],
      commands: [
        HealthImportCommand.command, HealthGenerateCommand.command, HealthShowCommand.command,
      ] + [SyncCommand.command] + SyncQueueCommands.all)
  }

  /// Returns a HealthKit identifier without its prefix.
  package static func short(_ type: String) -> String {
    HealthType.shortName(of: type).printable
  }

  /// Returns the stored HealthKit identifiers that match a name, which may also be the word by which
  /// assistants ask for a type.
  ///
  /// - Throws: A failure if there are none.
  package static func types(
    named name: String, among stored: [HealthTypeSummary]
  ) throws(CommandFailure) -> [String] {
    let found = stored.map(\.type).filter {
      $0 == name || short($0).lowercased() == name.lowercased()
        || HealthType.word(of: $0) == name.uppercased()
    }
    guard found.isEmpty else { return found }
    throw CommandFailure(
      .failed, "no samples of type \(name) are stored", remedy: "`health show` lists the types")
  }

  /// Returns the day of a time in UTC, in the format `2026-03-29`.
  package static func day(_ time: Timestamp) -> String { String(RFC3339.format(time).prefix(10)) }

  /// Returns a number of bytes as a text with a unit and up to three significant digits.
  package static func size(_ bytes: Double) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"]
    var (value, unit) = (bytes, 0)
    while value >= 999.5, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
    if unit == 0 || value >= 99.95 { return "\(Int(value.rounded())) \(units[unit])" }
    let scale = value >= 9.995 ? 10.0 : 100
    return "\((value * scale).rounded() / scale) \(units[unit])"
  }
}

extension Format<Int> {
  /// The format for a number of bytes with a decimal unit, such as `1GB`.
  static let bytes = Format(
    placeholder: "SIZE", expectation: "a size from 1MB to 1TB, such as 250MB",
    note: "SIZE is a number with the unit kB, MB, GB or TB, in powers of 1,000."
  ) { text in
    let units = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)]
    for (unit, factor) in units where text.hasSuffix(unit) {
      guard let number = Double(text.dropLast(unit.count)), 1e6...1e12 ~= number * factor else {
        return nil
      }
      return Int(number * factor)
    }
    return nil
  } write: {
    HealthCommands.size(Double($0))
  }
}

extension Format<Timestamp> {
  /// The format for the start of a day in UTC.
  static let day = Format(
    placeholder: "DAY", expectation: "a day from 1971-01-01 to 2200-01-01, such as 2026-03-29"
  ) { text in
    guard text.utf8.count == 10, let time = RFC3339.parse(text + "T00:00:00Z"),
      31_536_000_000_000_000...7_258_118_400_000_000_000 ~= time.nanoseconds
    else { return nil }
    return time
  } write: {
    HealthCommands.day($0)
  }
}
