import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastJSON

// The reports about any type: its values by day, and a summary of what is stored.

extension SyncReport {
  /// Writes a summary of the user's samples. It is computed without reading them.
  func summary(_ writer: inout JSONWriter) {
    writer.array("types") { list in
      for type in stored {
        list.object {
          $0.entry("type", type.type)
          $0.entry("word", HealthType.word(of: type.type))
          $0.entry("style", HealthDays.style(of: type.type).rawValue)
          $0.entry("unit", HealthDays.unit(of: type.type))
          if let count = type.count { $0.entry("count", count) }
          $0.entry("first", local(type.first))
          $0.entry("newest", local(type.last))
        }
      }
    }
    writer.entry("newest", stored.map(\.last).max().map(local))
    writer.entry("lastSync", lastSync.map(local))
    writer.entry("unfinishedUploads", unfinished)
    writer.entry("now", local(now))
  }

  /// Returns a time in whole seconds, with the offset of the user's zone. Its date is that of the
  /// user's calendar.
  private func local(_ exact: Timestamp) -> String {
    let second: Int64 = 1_000_000_000
    let time = Timestamp(
      nanoseconds: Gregorian.floorDivide(exact.nanoseconds, by: second).0 * second)
    let east = zone.secondsEast(at: time)
    guard east % 60 == 0 else { return RFC3339.format(time) }
    return HealthTime.instant(time, minutesEast: east / 60).description
  }
}

extension JSONWriter {
  /// Writes the values of one type by day.
  mutating func daily(_ found: HealthDays) {
    entry("type", found.type)
    entry("style", found.style.rawValue)
    entry("unit", found.unit)
    array("daily") { list in
      for day in found.days {
        list.object {
          $0.entry("date", SyncDay(day.day).text)
          $0.figure("value", day.value)
          guard found.style == .reading else { return }
          $0.figure("min", day.least)
          $0.figure("max", day.greatest)
        }
      }
    }
  }
}
