import BottleFirmware
import LinkCore
import LinkWire
import VirtualBottle

// What a bottle does when something happens, in the order in which its host hears of it.
extension BottleTwin {
  typealias Output = VirtualBottle.Output

  mutating func tick(at time: Instant) -> [Output] {
    advance(to: time)
    wasAdvertising = isAdvertising
    let signs = expire()
    return outputs(signs)
  }

  mutating func handle(_ input: VirtualBottle.Input, at time: Instant) -> [Output] {
    advance(to: time)
    wasAdvertising = isAdvertising
    switch input {
    case .world(let input):
      // Not in one expression: the outputs show the bottle after the step.
      let signs = expire().union(happens(input))
      return outputs(signs)
    case .connected(let longest):
      let signs = connect(longest)
      return outputs(signs) + (signs.contains(.refuses) ? [.disconnects] : [])
    case .negotiated(let longest):
      self.longest = max(longest, 20)
      return []
    case .disconnected:
      let signs = disconnect()
      return outputs(signs)
    case .written(let attribute, let bytes):
      guard let signs = written(bytes, to: attribute) else {
        return [.answers(attribute, isTaken: false)]
      }
      return [.answers(attribute, isTaken: !signs.contains(.refuses))] + outputs(signs)
    case .restarted:
      let ends: [Output] = isConnected ? [.disconnects] : []
      let quiet: [Output] = isAdvertising ? [.advertises(false)] : []
      restart(at: time)
      let signs = expire().union(wake(byTap: true))
      return ends + quiet + outputs(signs)
    case .erased:
      let isHeard = isConnected
      let wasSeen = isAdvertising
      erase(at: time)
      let signs = expire().union(wake(byTap: true))
      return (isHeard ? [.disconnects] : []) + (wasSeen ? [.advertises(false)] : [])
        + outputs(signs)
    }
  }

  private mutating func happens(_ input: BottleInput) -> Signs {
    switch input {
    case .moved: wake(byTap: false)
    case .tapped: wake(byTap: true)
    case .stands(let stands): stand(stands)
    case .poured(let amount): pour(Int(amount))
    case .shaken: shake()
    case .battery(let percent): measure(Int(percent))
    case .connected, .disconnected, .sync, .acknowledged, .command, .settings, .configuration: []
    }
  }

  /// What the host hears; nothing of what the same step took back.
  private func outputs(_ signs: Signs) -> [Output] {
    var signs = signs
    if power == .awake { signs.subtract([.sleeps, .sleepsDeeply]) }
    if isAdvertising, wasAdvertising { signs.subtract([.advertises, .stopsAdvertising]) }
    let all: [(Signs, Output)] = [
      (.stores, .stores), (.advertises, .advertises(true)),
      (.stopsAdvertising, .advertises(false)), (.tellsState, .notifies(.state, state)),
      (.tellsCalibration, .notifies(.calibration, calibrating)),
      (.tellsActivity, .notifies(.activity, activity)),
      (.tellsChunk, .notifies(.drinks, Array(drinks.prefix(longest)))),
      (.disconnects, .disconnects), (.sleeps, .sleeps(deeply: false)),
      (.sleepsDeeply, .sleeps(deeply: true)),
    ]
    return all.filter { signs.contains($0.0) }.map(\.1)
  }
}

/// A bottle with the real firmware, and its twin, which is told the same.
struct WatchedBottle: Sendable {
  private(set) var virtual: VirtualBottle
  private var twin: BottleTwin
  /// The first difference between the two; what follows it means nothing.
  private var stray: String?
  private var isTold = false
  private let seam: BottleSeam

  init(_ numbers: BottleFeature.Numbers, _ seam: BottleSeam) {
    self.seam = seam
    virtual = VirtualBottle(seam.timers(numbers.timers), capacity: numbers.capacity, at: .zero)
    virtual.countsDeleted = numbers.lies == 1
    twin = BottleTwin(
      plan: numbers.profile, capacity: numbers.capacity, countsDeleted: numbers.lies == 1,
      level: 600, at: .zero)
  }

  mutating func tick(at now: Instant) -> [VirtualBottle.Output] {
    let outputs = virtual.tick(at: now)
    let expected = twin.tick(at: now)
    compare(outputs, expected, "a timer")
    return outputs
  }

  mutating func handle(
    _ input: VirtualBottle.Input, at now: Instant
  ) -> [VirtualBottle.Output] {
    let outputs = virtual.handle(seam.toBottle(input), at: now)
    let expected = twin.handle(input, at: now)
    compare(outputs, expected, "\(input)")
    return outputs
  }

  /// Returns the difference once.
  mutating func newStray() -> String? {
    guard !isTold, let stray else { return nil }
    isTold = true
    return stray
  }

  private mutating func compare(
    _ outputs: [VirtualBottle.Output], _ expected: [VirtualBottle.Output],
    _ input: @autoclosure () -> String
  ) {
    guard stray == nil else { return }
    if outputs != expected {
      stray = "after \(input()) the bottle does \(outputs) instead of \(expected)"
    } else if virtual.deadline != twin.deadline {
      stray =
        "after \(input()) the bottle is due at \(words(virtual.deadline)) instead of "
        + words(twin.deadline)
    } else if let attribute = BottleAttribute.allCases.first(where: {
      virtual.value(of: $0) != twin.value(of: $0)
    }) {
      stray =
        "after \(input()) \(attribute) is \(virtual.value(of: attribute) ?? []) instead of "
        + "\(twin.value(of: attribute) ?? [])"
    } else if outputs.contains(.stores) {
      compareRecords(after: input)
    }
  }

  private mutating func compareRecords(after input: () -> String) {
    let real = virtual.records
    let expected = twin.records.map(BottleRecord.init)
    guard real != expected else { return }
    stray =
      "after \(input()) the bottle keeps \(real.count) records, among them "
      + "\(real.first { !expected.contains($0) }.map { "\($0)" } ?? "none that is wrong")"
  }

  private func words(_ due: Instant?) -> String { due.map { "\($0)" } ?? "no time" }
}

extension BottleRecord {
  fileprivate init(_ record: BottleTwin.Record) {
    var flags = Flags()
    if record.isSynced { flags.insert(.isSynced) }
    if record.beginsDay { flags.insert(.beginsDay) }
    if record.isDeleted { flags.insert(.isDeleted) }
    self.init(
      id: record.id, time: record.time, amount: Int16(record.amount), level: UInt16(record.level),
      kind: record.amount >= 100 ? 1 : 0, flags: flags)
  }
}
