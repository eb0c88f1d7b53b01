import HoldfastCore
import HoldfastVirtualBottle

@testable import HoldfastFirmware

/// Random inputs for a bottle's firmware. The bottle has a random profile.
struct FirmwareInputs: InputGenerator {
  var run: RandomRun<FirmwareMachine>

  init(seed: UInt64) {
    var source = RandomPolicies(generator: RandomSource(seed: seed))
    let profile = source.one([TimerProfile.plan028, .plan034, .plan035])
    let ring = RecordRing(ArrayStorage(capacity: source.one([3, 25, 70])))
    // In some runs the millisecond counter wraps around.
    let start = Instant(nanoseconds: source.one([0, 4_294_900_000_000_000]))
    var bottle = Bottle(
      profile, ring: ring, at: UInt32(truncatingIfNeeded: start.nanoseconds / 1_000_000))
    bottle.countsDeleted = source.oneIn(3)
    var machine = FirmwareMachine(bottle)
    _ = machine.tick(at: start)
    run = RandomRun(machine, seed: seed, generator: source.generator)
    run.now = start
  }

  mutating func act() {
    passTime([
      .milliseconds(999), .seconds(30), .seconds(120), .seconds(180), .seconds(240), .seconds(300),
      .seconds(7_200), .seconds(90_000),
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
    // A radio only connects to a bottle that is advertising.
    if input == .connected, !machine.bottle.isAdvertising { return }
    give(FirmwareMachine.Input(input))
  }

  private mutating func world() {
    switch number(0...5) {
    case 0: say(.moved)
    case 1: say(.tapped)
    case 2, 3: say(.stands(oneIn(2)))
    case 4: say(.battery(UInt8(one([0, 19, 20, 25, 100]))))
    case _: say(.shaken)
    }
  }

  private mutating func pour() {
    let amounts: [Int16] = [-600, -100, 9, 29, 30, 100, 200, 32_767]
    for _ in 0..<(oneIn(5) ? number(2...45) : 1) { say(.poured(one(amounts))) }
  }

  private mutating func write() {
    switch number(0...15) {
    case 0...3: say(.sync(count: one([0, 1, 21, 100, 65_535]), chunkSize: one([0, 1, 7, 21])))
    case 4...9: say(.acknowledged)
    case 10: say(.settings(shakeToEmpty: oneIn(2)))
    case 11:
      var configuration = FirmwareConfiguration.usual
      configuration.scale = one([99, 100, 800, 801])
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
    case 7: .calibrate(empty: 100_000, full: one([100_000, 400_000]), scale: one([99, 412.5]))
    case 8: .setTime(one([0, 1_768_000_000, .max]))
    case _: .activitySummary
    }
  }
}

// MARK: The promises of a bottle's firmware
extension FirmwareInputs {
  static let properties: [MachineProperty<FirmwareInputs>] = [
    MachineProperty("it reports when advertising begins and ends") { _, step in
      let (before, after) = (step.before.bottle.isAdvertising, step.after.bottle.isAdvertising)
      return step.effects.contains(.advertise) == (after && !before)
        && step.effects.contains(.stopAdvertising) == (before && !after)
    },
    MachineProperty("each change in the flash is persisted") { _, step in
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

extension RecordRing {
  fileprivate var flags: [UInt8] { (0..<count).map { self[$0].flags } }
}
