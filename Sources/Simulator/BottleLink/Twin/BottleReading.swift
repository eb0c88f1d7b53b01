import BottleLink
import LinkWire

/// What a phone must read in the values of a bottle.
enum BottleReading {
  /// Returns what a phone misread: its news do not have the bytes that they were read from.
  static func stray(
    _ news: BottleModel.News?, _ bytes: [UInt8], of attribute: BottleAttribute
  ) -> String? {
    let expected = expectation(bytes, of: attribute)
    let found = news.map(told) ?? .nothing
    return found == expected
      ? nil : "a phone reads \(found) from \(bytes) of \(attribute), not \(expected)"
  }

  /// What a value is read as.
  enum Told: Equatable {
    case nothing
    /// The bytes with all that is known of them.
    case read([UInt8])
    case isBroken
  }

  private static func expectation(_ bytes: [UInt8], of attribute: BottleAttribute) -> Told {
    switch attribute {
    case .state: bytes.count == 14 ? .read(bytes) : .isBroken
    case .drinks:
      bytes.count >= 6 && bytes.count == 6 + 14 * Int(bytes[4]) && bytes[4] <= 20
        ? .read(bytes) : .isBroken
    case .calibration: bytes.count == 12 ? .read(bytes) : .isBroken
    case .battery: bytes.count == 1 ? .read(bytes) : .isBroken
    case .activity, .configuration, .syncControl, .command, .settings: .nothing
    }
  }

  private static func told(_ news: BottleModel.News) -> Told {
    switch news {
    case .state(let state): .read(bytes(of: state))
    case .chunk(let chunk): .read(bytes(of: chunk))
    case .calibration(let calibration): .read(bytes(of: calibration))
    case .battery(let percent): .read([percent])
    case .brokenChunk, .malformed: .isBroken
    }
  }

  static func bytes(of state: BottleState) -> [UInt8] {
    LittleEndian.bytes(state.time, 4) + LittleEndian.bytes(state.weight, 2)
      + LittleEndian.bytes(state.level, 2) + LittleEndian.bytes(state.dailyTotal, 2)
      + [state.battery, state.flags.rawValue] + LittleEndian.bytes(state.unsynced, 2)
  }

  private static func bytes(of chunk: BottleChunk) -> [UInt8] {
    var all = LittleEndian.bytes(chunk.index, 2) + LittleEndian.bytes(chunk.total, 2)
    all += [UInt8(truncatingIfNeeded: chunk.records.count), 0]
    for record in chunk.records {
      all += LittleEndian.bytes(record.id, 4) + LittleEndian.bytes(record.time, 4)
      all += LittleEndian.bytes(record.amount, 2) + LittleEndian.bytes(record.level, 2)
      all += [record.kind, record.flags.rawValue]
    }
    return all
  }

  private static func bytes(of calibration: BottleCalibration) -> [UInt8] {
    [calibration.step.rawValue, calibration.hasFailed ? 1 : 0]
      + LittleEndian.bytes(calibration.empty, 4) + LittleEndian.bytes(calibration.full, 4) + [0, 0]
  }
}
