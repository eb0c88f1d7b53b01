import HealthSync
import LinkCore
import LinkHealth
import LinkWire

/// What phones and servers say to each other, in all forms that it can have: numbers, batches,
/// bodies of other makes, stores, queues.
struct SyncWireWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  var kept = KeptSync()
  private var stock = SyncStock()

  init(_ chance: Chance) { self.chance = chance }

  /// Tries all forms so often; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      for _ in 0..<6 { tryNumber() }
      for _ in 0..<3 { tryPage() }
      if happens(20) { tryManySamples() }
      if happens(20) { tryBound() }
      for _ in 0..<10 { tryBody() }
      if let difference = stock.difference(from: kept, of: "a") { expect(false, difference) }
      tryQueue()
      tryCourse()
      tryHashes()
      tryTickets()
      tryPlaces()
      tryRecords()
      tryReplies()
    }
    return stray
  }

  mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds { stray = stray ?? what() }
  }

  // Numbers.

  private mutating func tryNumber() {
    var digits = "\(number(1...9))"
    for _ in 0..<number(0...13) { digits += "\(number(0...9))" }
    if digits.count > 1 { digits = digits.dropLast() + "\(number(1...9))" }
    let place = number(-9...24)
    let sign = happens(3) ? "-" : ""
    let value = Double("\(sign)0.\(digits)e\(place)") ?? 0
    let must = sign + SyncScribe.written(digits, place)
    let found = String(decoding: SyncNumber.text(value), as: UTF8.self)
    expect(found == must, "the number \(must) is written as \(found)")
    let odd: [(Double, String)] = [
      (0, "0"), (-0.0, "0"), (.infinity, "Infinity"), (-.infinity, "-Infinity"), (.nan, "NaN"),
      (.leastNonzeroMagnitude, "5e-324"), (1e21, "1e+21"), (123e18, "123000000000000000000"),
      (18_014_398_509_481_988, "18014398509481988"), (1e-7, "1e-7"),
    ]
    for (value, must) in odd {
      let found = String(decoding: SyncNumber.text(value), as: UTF8.self)
      expect(found == must, "the number \(must) is written as \(found)")
    }
  }

  // Batches of phones.

  static let kinds =
    SyncSamples.types + ["HKQuantityTypeIdentifierBodyMass", "HKCategoryTypeIdentifierMood"]

  private mutating func time() -> Timestamp {
    Timestamp(nanoseconds: Int64(number(0...4_000_000_000)) * 1_000_000_000 + Int64(number(0...2)))
  }

  private mutating func sample(_ type: String, source: String? = nil) -> SourceSample {
    let start = time()
    let ends = [Duration.zero, .milliseconds(1_500), .seconds(3_600), .seconds(-9)]
    let end = start.advanced(by: ends[number(0...3)])
    let figures = [0, 1.5, -2, 1e300, 1e-9, .infinity, -.infinity, .nan, 70, 21.125]
    let units = [nil, "count", "kJ", "kcal", "kg", "lb", "m", "count/min", "odd"]
    let sources = ["Watch", "a\"b\\", "é\n\t\u{1}\u{8}\u{C}\r", "x|y", ""]
    var value = HealthSampleValue.quantity(figures[number(0...9)])
    var unit = units[number(0...8)]
    if type == HealthSample.workoutType {
      let spans: [Duration?] = [nil, .milliseconds(1_500), .seconds(60), .zero]
      unit = nil
      value = .workout(
        WorkoutValue(
          activity: "HKWorkoutActivityType\(number(0...3))", duration: spans[number(0...3)],
          distance: happens(3) ? nil : figures[number(0...4)],
          energy: happens(3) ? nil : figures[number(0...9)]))
    } else if type.hasPrefix("HKCategory") {
      let names = [
        "InBed", "Asleep", "AsleepUnspecified", "Awake", "AsleepCore", "AsleepDeep", "AsleepREM",
        "Other", "",
      ]
      unit = happens(2) ? nil : unit
      value = .category((happens(2) ? SyncSamples.stagePrefix : "") + names[number(0...8)])
    }
    return SourceSample(
      uuid: UUID128(high: chance.next(), low: chance.next()),
      sample: HealthSample(
        type: type, value: value, unit: unit, start: start, end: end,
        source: source ?? sources[number(0...4)],
        zone: happens(3) ? "Europe/\"Berlin" : nil))
  }

  private mutating func gone(_ count: Int) -> [UUID128] {
    (0..<count).map { _ in UUID128(high: chance.next(), low: chance.next()) }
  }

  private mutating func tryPage() {
    let type = Self.kinds[number(0...Self.kinds.count - 1)]
    let isMixed = happens(3)
    let added = (0..<number(0...5)).map { _ in
      sample(isMixed ? Self.kinds[number(0...Self.kinds.count - 1)] : type)
    }
    pack(type, SourcePage(added: added, deleted: gone(number(0...3)), anchor: HealthAnchor([])))
  }

  /// As many samples and deletions as a page has, and some beside that.
  private mutating func tryManySamples() {
    let counts = [0, 1, 999, 1_000, 1_001, 2_000, 2_001]
    let plain = sample("HKQuantityTypeIdentifierStepCount")
    let added = (0..<counts[number(0...6)]).map { index in
      var one = plain
      one.uuid.low = UInt64(index)
      return one
    }
    let page = SourcePage(
      added: added, deleted: gone(counts[number(0...6)]), anchor: HealthAnchor([]))
    pack("HKQuantityTypeIdentifierStepCount", page)
  }

  /// A batch that is as large as it may be, and one that is larger by a byte.
  private mutating func tryBound() {
    let type = "HKQuantityTypeIdentifierStepCount"
    var added = (0..<number(1...4)).map { _ in sample(type, source: "") }
    let deleted = gone(number(0...2))
    func page() -> SourcePage {
      SourcePage(added: added, deleted: deleted, anchor: HealthAnchor([]))
    }
    let sheets = SyncScribe.sheets(
      type, page(), made: Timestamp(nanoseconds: 0), device: "d")
    let size = 1_048_576 + number(-1...1) * number(0...1)
    added[0].sample.source = String(of: "s", count: size - sheets[0].bytes.count)
    pack(type, page(), made: Timestamp(nanoseconds: 0), device: "d")
  }

  private mutating func pack(
    _ type: String, _ page: SourcePage, made: Timestamp? = nil, device: String = "a\"1"
  ) {
    let made = made ?? time()
    let packed = SyncPacking(deviceID: device).batches(of: type, page, made: made)
    let sheets = SyncScribe.sheets(type, page, made: made, device: device)
    if let difference = SyncScribe.difference(packed, sheets) { expect(false, difference) }
    // What is large differs in nothing but its size.
    for (batch, sheet) in zip(packed, sheets) where batch.bytes.count < 9_000 {
      read(batch.bytes)
      let (halves, parts) = (SyncPacking.halves(of: batch.bytes), sheet.parts)
      expect((halves == nil) == (parts == nil), "a batch is divided, or is not")
      if let halves, let parts, let difference = SyncScribe.difference(halves, parts) {
        expect(false, "of two halves, " + difference)
      }
    }
    expect(
      SyncPacking.halves(of: Array("{}".utf8)) == nil, "what is no batch is divided")
  }

  /// Reads a body, and compares what is read with what must be.
  @discardableResult
  private mutating func read(_ body: [UInt8]) -> (SyncDelivery, SyncParcel)? {
    let reading = try? SyncReading.read(body)
    let delivery = reading.map { SyncDelivery(of: $0, user: "a", hash: SyncHash.folded) }
    let parcel = SyncParcel(body)
    if let difference = SyncParcel.difference(parcel, reading, delivery) {
      expect(false, String(decoding: body.prefix(900), as: UTF8.self) + ": " + difference)
    }
    guard let delivery, let parcel else { return nil }
    return (delivery, parcel)
  }

  // Bodies of other makes.

  private mutating func tryBody() {
    let body = Array(SyncOddBody(&chance).text.utf8)
    guard let (delivery, parcel) = read(body) else { return }
    let (tally, must) = (kept.apply(delivery), stock.apply(parcel, of: "a"))
    expect(tally == must, "a batch is counted as \(tally), not \(must)")
  }

  // Queues.

  private mutating func tryQueue() {
    var (queue, ledger) = (KeptSyncQueue(), SyncLedger())
    for _ in 0..<24 {
      let step = step()
      queue.apply(step)
      ledger.apply(step)
      if let difference = ledger.difference(from: queue) { expect(false, difference) }
    }
    let copy = KeptSyncQueue(
      asked: queue.asked, types: queue.types, batches: queue.batches, stamp: queue.stamp)
    expect(copy == queue, "a queue from its parts is another one")
  }

  private mutating func step() -> SyncQueueStep {
    let (file, type) = ("f\(number(0...4))", "t\(number(0...2))")
    switch number(0...9) {
    case 0: return .ask([type])
    case 1: return .anchor(type: type, nil)
    case 2: return .anchor(type: type, HealthAnchor([UInt8(number(0...9))]))
    case 3: return .accept(file: file, at: time())
    case 4: return .remove(file: file)
    case 5: return .park(file: file, reason: happens(2) ? "no" : nil)
    case 6: return .stamp(happens(2) ? time() : Timestamp(nanoseconds: -1))
    case _:
      return .add(
        QueuedBatch(
          file: file, type: type, place: UInt64(number(0...2)), records: number(0...9),
          deletions: number(0...9), bytes: number(1...99), parked: happens(3) ? "so" : nil))
    }
  }
}
