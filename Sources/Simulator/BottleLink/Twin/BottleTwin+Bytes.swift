import LinkCore
import LinkWire

// A bottle's values, byte by byte as the characteristics of contracts 3.1 have them.
extension BottleTwin {
  var state: [UInt8] {
    var (level, weight) = (self.level, min(self.level, 32_767))
    var flags = isTimeSet ? 3 : 2
    if isStill { flags += 4 }
    if calibration.hasResult {
      flags += 16
      (level, weight) = (Int(raw) >> 16 & 0xFFFF, Int(raw) & 0xFFFF)
    }
    if isLocked { flags += 32 }
    return bytes(seconds, 4) + bytes(weight, 2) + bytes(level, 2) + bytes(total, 2)
      + bytes(battery, 1) + bytes(flags, 1) + bytes(waiting, 2)
  }

  var drinks: [UInt8] {
    let records = chunk
    var all = bytes(sending?.index ?? 0, 2) + bytes(sending?.total ?? 0, 2)
    all += bytes(records.count, 1) + [0]
    for record in records {
      all += bytes(record.id, 4) + bytes(record.time, 4) + bytes(record.amount, 2)
      all += bytes(record.level, 2) + [record.amount >= 100 ? 1 : 0]
      all += [(record.isSynced ? 1 : 0) + (record.beginsDay ? 2 : 0) + (record.isDeleted ? 4 : 0)]
    }
    return all
  }

  var activity: [UInt8] {
    bytes(min(wakes, 255), 1) + bytes(min(backpacks, 255), 1) + [0, isTimeSet ? 1 : 0]
      + bytes(0, 4) + bytes(checks, 2) + [0, 0]
  }

  var calibrating: [UInt8] {
    [calibration.step, calibration.step == 10 ? 1 : 0] + bytes(calibration.empty, 4)
      + bytes(calibration.full, 4) + [0, 0]
  }

  var configured: [UInt8] {
    bytes(configuration.scale.bitPattern, 4) + bytes(configuration.tare, 4)
      + bytes(configuration.capacity, 2) + bytes(configuration.goal, 2)
  }

  /// What is read from a characteristic; `nil` where nothing is.
  func value(of attribute: BottleAttribute) -> [UInt8]? {
    switch attribute {
    case .state: state
    case .configuration: configured
    case .syncControl: [0, 0, 0, 0, 0, sending == nil ? 0 : 1, 0, 0]
    case .drinks: drinks
    case .settings: [emptiesWhenShaken ? 1 : 0, 0, 0, 0]
    case .activity: activity
    case .calibration: calibrating
    case .battery: bytes(battery, 1)
    case .command: nil
    }
  }

  private func bytes(_ number: some BinaryInteger, _ count: Int) -> [UInt8] {
    LittleEndian.bytes(number, count)
  }

  // What a phone writes.

  /// Takes a write; `nil` if it cannot be read, which is refused before the firmware sees it.
  mutating func written(_ bytes: [UInt8], to attribute: BottleAttribute) -> Signs? {
    let read = LittleEndian(bytes)
    switch attribute {
    case .syncControl:
      guard bytes.count == 8, bytes[5] <= 2, [1, 2].contains(bytes[4]) else { return nil }
      return bytes[4] == 2
        ? use { $0.acknowledge() }
        : use { $0.beginSync(count: read.number(2, 2), size: read.number(6, 2)) }
    case .settings:
      guard bytes.count == 4 else { return nil }
      return use {
        $0.emptiesWhenShaken = bytes[0] % 2 == 1
        return .stores
      }
    case .configuration: return bytes.count == 12 ? configure(read) : nil
    case .command: return bytes.isEmpty ? nil : command(bytes, read)
    case .state, .drinks, .activity, .calibration, .battery: return nil
    }
  }

  /// Lets a write happen to a connected bottle, which then is active.
  private mutating func use(
    isActivity: Bool = true, _ body: (inout BottleTwin) -> Signs
  ) -> Signs {
    let before = expire()
    guard isConnected else { return before.union(.refuses) }
    let signs = body(&self)
    if isActivity {
      if timers.writesWake { activeAt = now }
      if timers.writesUnpack { stoodAt = now }
    }
    return before.union(signs)
  }

  private mutating func configure(_ read: LittleEndian) -> Signs? {
    guard let scale = read.factor(0) else { return nil }
    let new = Configuration(
      scale: scale, tare: read.signed(4), capacity: read.number(8, 2), goal: read.number(10, 2))
    let isValid = (100...800).contains(scale) && (1000...4000).contains(new.goal)
    return use(isActivity: isValid) {
      guard isValid else { return .refuses }
      $0.configuration = new
      return .stores
    }
  }

  private mutating func command(_ bytes: [UInt8], _ read: LittleEndian) -> Signs? {
    switch (bytes[0], bytes.count) {
    case (0x01, 4): return use { $0.tare() }
    case (0x02, 4): return use { _ in [] }
    case (0x03, 4):
      guard bytes[1] <= 1 else { return nil }
      return use { $0.measureScale(full: bytes[1] == 1) }
    case (0x04, 13): return calibrate(read)
    case (0x05, 4):
      return use {
        $0.total = 0
        return .tellsState
      }
    case (0x06, 4): return use { $0.clear() }
    case (0x10, 5):
      return use(isActivity: false) {
        $0.setClock(Int64(read.number(1, 4)))
        return .tellsState
      }
    case (0x12, 5): return use { $0.delete(UInt32(read.number(1, 4))) }
    case (0x20, 4): return use { $0.calibrate(3) }
    case (0x21, 4): return use { $0.calibrate(0) }
    case (0x30, 4): return use { _ in .tellsActivity }
    case _: return nil
    }
  }

  private mutating func calibrate(_ read: LittleEndian) -> Signs? {
    guard let scale = read.factor(9) else { return nil }
    let isValid = (100...800).contains(scale) && read.signed(5) > read.signed(1)
    return use {
      guard isValid else { return .refuses }
      $0.configuration.scale = scale
      return $0.calibrate(9).union(.stores)
    }
  }
}

/// Little-endian numbers in bytes.
struct LittleEndian: Sendable {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// A number of `count` bytes from a place on.
  func number(_ place: Int, _ count: Int) -> Int {
    bytes[place..<place + count].reversed().reduce(0) { $0 * 256 + Int($1) }
  }

  func signed(_ place: Int) -> Int32 { Int32(truncatingIfNeeded: number(place, 4)) }

  /// A finite number of 32 bits.
  func factor(_ place: Int) -> Float? {
    let factor = Float(bitPattern: UInt32(number(place, 4)))
    return factor.isFinite ? factor : nil
  }

  static func bytes(_ number: some BinaryInteger, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
