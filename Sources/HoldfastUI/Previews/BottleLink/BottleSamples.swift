import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore

extension DrinkRow {
  /// Creates a drink, or a refill if the amount is negative.
  static func sample(
    _ number: Int, _ amount: Int16, minute: Int, isDeleted: Bool = false
  ) -> DrinkRow {
    let time = Timestamp.sample(minute: minute)
    let record = BottleRecord(
      id: UInt32(number), time: UInt32(time.nanoseconds / 1_000_000_000), amount: amount, level: 400
    )
    return DrinkRow(
      BottleDrink(
        number: UInt64(number), record: record, via: .sync, storedAt: time, isDeleted: isDeleted))
  }
}

extension BottleState {
  /// Creates a state of a calibrated bottle whose clock is set.
  static func sample(
    total: UInt16 = 0, battery: UInt8 = 80, minute: Int = 0, flags: Flags = []
  ) -> BottleState {
    BottleState(
      time: UInt32(Timestamp.sample(minute: minute).nanoseconds / 1_000_000_000), weight: 700,
      level: 450, dailyTotal: total, battery: battery,
      flags: flags.union([.timeIsValid, .isCalibrated]), unsynced: 0)
  }
}

extension BottleStatus {
  /// Creates a status.
  static func sample(
    _ phase: Phase, _ outstanding: [Outstanding] = [], adapter: AdapterState = .on
  ) -> BottleStatus {
    var status = BottleStatus()
    (status.phase, status.outstanding, status.adapter) = (phase, outstanding, adapter)
    return status
  }
}
