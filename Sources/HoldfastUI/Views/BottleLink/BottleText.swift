import Foundation
import Holdfast
import HoldfastBottleData
import HoldfastBottleLink

/// The status of a bottle's link, in words.
struct BottleText: Sendable, Hashable {
  /// An action that the user can take.
  enum Action: Sendable, Hashable {
    /// Connect again.
    case retry
    /// Change the permission in the settings of the device.
    case settings
  }

  /// The name of a symbol.
  let symbol: String
  let title: Phrase
  /// The remedy; `nil` if none is needed.
  let remedy: Phrase?
  let action: Action?
  /// Whether something is in progress.
  let isBusy: Bool
  /// Whether the bottle may be waiting for the time of the next attempt.
  let isWaiting: Bool

  init(_ status: BottleStatus) {
    isWaiting = status.phase == .disconnected && [.on, .unknown].contains(status.adapter)
    isBusy = [.scanning, .connecting, .discovering].contains(status.phase)
    switch status.adapter {
    case .off:
      (symbol, action) = ("exclamationmark.triangle", nil)
      (title, remedy) = (Phrase("bottle.off"), Phrase("bottle.off.remedy"))
    case .unauthorised:
      (symbol, action) = ("exclamationmark.triangle", .settings)
      (title, remedy) = (Phrase("bottle.unauthorised"), Phrase("bottle.unauthorised.remedy"))
    case .unsupported:
      (symbol, action) = ("exclamationmark.triangle", nil)
      (title, remedy) = (Phrase("bottle.unsupported"), nil)
    case .resetting:
      (symbol, action) = ("clock", nil)
      (title, remedy) = (Phrase("bottle.resetting"), nil)
    case .on, .unknown:
      (symbol, title, remedy, action) = Self.linked(status)
    }
  }

  private static func linked(
    _ status: BottleStatus
  ) -> (symbol: String, Phrase, remedy: Phrase?, Action?) {
    switch status.phase {
    case .connected: ("checkmark.circle", Phrase("bottle.connected"), nil, nil)
    case .scanning: ("magnifyingglass", Phrase("bottle.scanning"), Phrase("bottle.wake"), nil)
    case .connecting, .discovering: ("magnifyingglass", Phrase("bottle.connecting"), nil, nil)
    case .disconnected: waiting(status)
    }
  }

  private static func waiting(
    _ status: BottleStatus
  ) -> (symbol: String, Phrase, remedy: Phrase?, Action?) {
    if status.outstanding.contains(.queuedConnect) {
      return ("moon", Phrase("bottle.standby"), nil, nil)
    }
    if status.outstanding.contains(.queuedScan) {
      return ("moon", Phrase("bottle.unknown"), Phrase("bottle.wake"), nil)
    }
    if status.outstanding.contains(.timer) {
      return ("clock", Phrase("bottle.reconnecting"), Phrase("bottle.wake"), .retry)
    }
    return ("xmark.circle", Phrase("bottle.disconnected"), nil, .retry)
  }
}

/// The amounts of a bottle and of its drinks.
struct BottleAmounts: Sendable, Hashable {
  /// The amount drunk since the beginning of the day, in milliliters.
  let today: Int
  /// The amount in the bottle, in milliliters; `nil` if it is not known.
  let level: Int?
  /// The charge of the battery, in percent; `nil` if it is not known.
  let battery: Int?
  let isBatteryLow: Bool
  /// The number of drinks that are shown.
  private static let limit = 5

  /// - Parameter day: The beginning of the day.
  init(_ drinks: [DrinkRow], _ state: BottleState?, since day: Date) {
    let counted = drinks.filter { !$0.drink.isDeleted }
    let stored = counted.filter { $0.date >= day }.reduce(0) { $0 + max(0, $1.millilitres) }
    // The bottle counts drinks that it has not sent yet. Its total is of its last report's day.
    today = max(stored, state.flatMap { Self.total(of: $0, since: day) } ?? 0)
    level = state.flatMap { $0.flags.contains(.isCalibrated) ? Int($0.level) : nil }
    battery = state.map { Int($0.battery) }
    isBatteryLow = state?.flags.contains(.batteryIsLow) ?? false
  }

  /// Returns the newest drinks and refills that were not deleted, newest first.
  static func last(of drinks: [DrinkRow]) -> [DrinkRow] {
    drinks.reversed().lazy.filter { !$0.drink.isDeleted }.prefix(limit).map { $0 }
  }

  private static func total(of state: BottleState, since day: Date) -> Int? {
    let time = Date(timeIntervalSince1970: TimeInterval(state.time))
    guard state.flags.contains(.timeIsValid), time >= day else { return nil }
    return Int(state.dailyTotal)
  }
}

extension Phrase {
  /// Creates the text of a drink or a refill.
  init(_ drink: DrinkRow) {
    let amount = drink.millilitres
    self = amount < 0 ? Phrase("bottle.refill", -amount) : Phrase("bottle.drink", amount)
  }

  /// Creates the text of a refresh's result.
  init(_ result: BottleRefreshResult) {
    switch result {
    case .synced(let count): self.init("bottle.result.synced", count)
    case .alreadySynced, .nothingCame: self.init("bottle.result.current")
    case .bottleAsleep: self.init("bottle.result.asleep")
    case .bluetoothOff: self.init("bottle.off")
    case .bluetoothUnavailable: self.init("bottle.result.unavailable")
    case .connectionFailed: self.init("bottle.result.notConnected")
    case .syncFailed: self.init("bottle.result.failed")
    }
  }
}
