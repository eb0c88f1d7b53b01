@testable import BottleFirmware
import LinkCore
import VirtualBottle

/// Random inputs for a bottle's firmware, with any profile.
struct FirmwareInputs: InputGenerator {
  var run: RandomRun<FirmwareMachine>

  init(seed: UInt64) {
    var source = RandomPolicies(chance: Chance(seed: seed))
    let profile = source.one([TimerProfile.plan028, .plan034, .plan035])
    let ring = RecordRing(ArrayStorage(capacity: source.one([3, 25, 70])))
    // The counter of milliseconds wraps in some runs.
    let start = Instant(nanoseconds: source.one([0, 4_294_900_000_000_000]))
    var bottle = Bottle(
      profile, ring: ring, at: UInt32(truncatingIfNeeded: start.nanoseconds / 1_000_000))
    bottle.countsDeleted = source.oneIn(3)
    run = RandomRun(FirmwareMachine(bottle), seed: seed, chance: source.chance)
    run.now = start
    run.machine = run.machine.called(at: start)
  }

  mutating func act() {
    passTime([
      .milliseconds(1), .milliseconds(999), .seconds(1), .seconds(30), .seconds(120),
      .seconds(180), .seconds(240), .seconds(300), .seconds(7_200), .seconds(90_000),
    ])
    let bottle = machine.bottle
    switch number(0...11) {
    case 0...2: world()
    case 3, 4:
      if bottle.power != .awake {
        say(bottle.isLocked && oneIn(2) ? .battery(90) : oneIn(3) ? .tapped : .moved)
      } else {
        pour()
      }
    case 5: pour()
    case 6, 7: say(bottle.isConnected && oneIn(4) ? .disconnected : .connected)
    case _: bottle.isConnected || oneIn(8) ? write() : world()
    }
  }

  private mutating func say(_ input: BottleInput) {
    // A radio connects only to what advertises.
    if input == .connected, !machine.bottle.isAdvertising { return }
    give(FirmwareMachine.Input(input))
  }

  private mutating func world() {
    switch number(0...5) {
    case 0: say(.moved)
    case 1: say(.tapped)
    case 2, 3: say(.stands(oneIn(2)))
    case 4: say(.battery(UInt8(one([0, 19, 20, 21, 24, 25, 26, 100]))))
    case _: say(.shaken)
    }
  }

  private mutating func pour() {
    for _ in 0..<(oneIn(5) ? number(2...45) : 1) {
      let amounts: [Int16] = [
        -32_768, -600, -101, -100, -99, 0, 9, 10, 29, 30, 99, 100, 200, 32_767,
      ]
      say(.poured(one(amounts)))
    }
  }

  private mutating func write() {
    switch number(0...15) {
    case 0...3:
      let count = one([0, 1, 5, 20, 21, 100, 65_535])
      say(.sync(count: UInt16(count), chunkSize: UInt16(one([0, 1, 2, 7, 20, 21]))))
    case 4...9: say(.acknowledged)
    case 10: say(.settings(shakeToEmpty: oneIn(2)))
    case 11:
      var configuration = FirmwareConfiguration.usual
      configuration.scale = one([99, 100, 800, 801])
      configuration.dailyGoal = one([999, 1_000, 4_000, 4_001])
      say(.configuration(configuration))
    case 12, 13: say(.command(.delete(machine.bottle.ring.nextID &- UInt32(number(0...30)))))
    case _: say(.command(command()))
    }
  }

  private mutating func command() -> FirmwareCommand {
    switch number(0...9) {
    case 0: .tare
    case 1: .ping
    case 2: .resetDaily
    case 3: oneIn(5) ? .clearHistory : .ping
    case 4: .startCalibration
    case 5: .cancelCalibration
    case 6: .measure(full: oneIn(2))
    case 7:
      .calibrate(empty: 100_000, full: one([100_000, 400_000]), scale: one([99, 100, 412.5]))
    case 8: .setTime(one([0, 1_768_000_000, .max]))
    case _: .activitySummary
    }
  }
}

extension FirmwareMachine {
  /// The machine as if it had been called then.
  fileprivate func called(at now: Instant) -> FirmwareMachine {
    var machine = self
    _ = machine.tick(at: now)
    return machine
  }
}

// What a bottle's firmware promises of each step.
extension FirmwareInputs {
  static let properties: [MachineProperty<FirmwareInputs>] = [
    MachineProperty("records are marked as synchronised only by an acknowledgement") { _, step in
      step.newlySynced.isEmpty || step.input?.value == .acknowledged
    },
    MachineProperty("an acknowledgement marks only records that were sent before") { _, step in
      guard !step.newlySynced.isEmpty else { return true }
      return step.before.bottle.sync.isSending && !step.after.bottle.sync.isSending
    },
    MachineProperty("it tells when it begins and stops to advertise") { _, step in
      let (before, after) = (step.before.bottle.isAdvertising, step.after.bottle.isAdvertising)
      return step.effects.contains(.advertise) == (after && !before)
        && step.effects.contains(.stopAdvertising) == (before && !after)
    },
    MachineProperty("it tells when it ends a connection") { _, step in
      let isOver = step.before.bottle.isConnected && !step.after.bottle.isConnected
      return step.effects.contains(.disconnect)
        ? isOver : !isOver || step.input?.value == .disconnected
    },
    MachineProperty("without a phone it refuses what a phone writes") { _, step in
      guard let input = step.input?.value, input.isWritten, !step.after.bottle.isConnected else {
        return true
      }
      return step.effects.contains(.reject)
        && step.after.bottle.ring.flags == step.before.bottle.ring.flags
    },
    MachineProperty("what changes in the flash is persisted") { _, step in
      let (before, after) = (step.before.bottle, step.after.bottle)
      let isSame =
        before.ring.nextID == after.ring.nextID && before.ring.count == after.ring.count
        && before.configuration == after.configuration
        && before.shakeToEmpty == after.shakeToEmpty
        && before.ring.flags == after.ring.flags
      return isSame || step.effects.contains(.persist)
    },
  ]
}

extension MachineStep<FirmwareMachine> {
  /// The ids of the records that are marked by it.
  fileprivate var newlySynced: [UInt32] {
    let synced = Set(before.bottle.ring.all.filter(\.isSynced).map(\.id))
    let known = Set(before.bottle.ring.all.map(\.id))
    return after.bottle.ring.all.filter {
      $0.isSynced && known.contains($0.id) && !synced.contains($0.id)
    }.map(\.id)
  }
}

extension RecordRing {
  fileprivate var all: [DrinkRecord] { (0..<count).map { self[$0] } }
  fileprivate var flags: [UInt8] { all.map(\.flags) }
}

extension BottleInput {
  /// Whether only a phone can have given it.
  fileprivate var isWritten: Bool {
    switch self {
    case .sync, .acknowledged, .command, .settings, .configuration: true
    case .moved, .tapped, .stands, .poured, .battery, .connected, .disconnected, .shaken: false
    }
  }
}
