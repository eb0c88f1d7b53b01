import Holdfast
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON

extension BottleUpdate: ShownUpdate {
  /// The paragraph that describes the JSON events in help texts.
  static let details =
    JSONEvents.details + """
      status (status disconnected|scanning|connecting|discovering|connected, attempt, of, retryIn \
      in seconds, reason, outstanding: scan, connect, queued-connect, queued-scan, discovery, \
      connection, timer, adapter), drink (id, amountML, negative for a refill, time, null if the \
      bottle's clock was not set, via live|sync), bottle (levelML, battery in percent, unsynced), \
      notice (kind, detail).
      """

  var state: LinkState? {
    if case .status(let status) = self { LinkState(status) } else { nil }
  }

  var isNotice: Bool {
    if case .notice = self { true } else { false }
  }

  func lines(_ style: Style) -> [String] {
    switch self {
    case .status, .refreshed, .performed: []
    case .drink(let drink): [BottleText.line(of: drink)]
    case .bottle(let state):
      ["-- bottle: \(state.level) ml, battery \(state.battery)%, \(state.unsynced) unsynced"]
    case .calibration(let calibration): ["-- calibration: \(calibration.step)"]
    case .notice(let notice): [NoticeText.line(notice.kind, notice.description)]
    }
  }

  func write(to events: JSONEvents) {
    switch self {
    case .status, .refreshed, .performed: return
    case .drink(let drink):
      events.write("drink") {
        $0.entry("id", Int(drink.record.id))
        $0.entry("amountML", Int(drink.record.amount))
        $0.entry("time", drink.record.timestamp.map(RFC3339.format))
        $0.entry("via", drink.via.rawValue)
      }
    case .bottle(let state):
      events.write("bottle") {
        $0.entry("levelML", Int(state.level))
        $0.entry("battery", Int(state.battery))
        $0.entry("unsynced", Int(state.unsynced))
      }
    case .calibration(let calibration):
      events.write("calibration") { $0.entry("step", "\(calibration.step)") }
    case .notice(let notice): events.note(notice.kind, notice.description)
    }
  }
}

extension LinkState {
  /// Creates the state of a bottle's link.
  init(_ status: BottleStatus) {
    self.init(
      name: status.phase.rawValue, attempt: 0, maxAttempts: nil, retryAt: status.retryAt,
      mode: nil, reason: Self.reason(of: status))
    outstanding = status.outstanding.map(\.rawValue)
  }

  /// Returns the reason for the status. A problem of the adapter takes precedence.
  private static func reason(of status: BottleStatus) -> LinkStatus.Reason? {
    switch status.adapter {
    case .on: status.phase == .connected ? nil : status.reason
    case .off: .failure(.local(detail: "Bluetooth is off"))
    case .unauthorised: .failure(.local(detail: "Bluetooth is not allowed"))
    case .unsupported: .failure(.local(detail: "there is no Bluetooth"))
    case .resetting: .failure(.local(detail: "Bluetooth restarts"))
    case .unknown: nil
    }
  }
}

/// The descriptions of a bottle's drinks and results.
enum BottleText {
  static func line(of drink: BottleDrink) -> String {
    let time = drink.record.timestamp.map(RFC3339.format) ?? "at an unknown time"
    let what = drink.record.amount < 0 ? "refill" : "drink"
    let amount = abs(Int(drink.record.amount))
    return "\(time)  \(what) \(amount) ml, \(drink.record.level) ml left (\(drink.via.rawValue))"
  }

  /// Returns the stable name of a result, for scripts.
  static func name(_ result: BottleRequestResult) -> String {
    switch result {
    case .done: "done"
    case .invalid: "invalid"
    case .refused: "refused"
    case .unconfirmed: "unconfirmed"
    case .notSent(.synced(let count)): "synced \(count)"
    case .notSent(.alreadySynced): "already-synced"
    case .notSent(.bottleAsleep): "bottle-asleep"
    case .notSent(.bluetoothOff): "bluetooth-off"
    case .notSent(.bluetoothUnavailable): "bluetooth-unavailable"
    case .notSent(.connectionFailed): "connection-failed"
    case .notSent(.syncFailed): "sync-failed"
    case .notSent(.nothingCame(let said)): "nothing-came \(said)"
    }
  }

  /// Returns the failure with which a command ends; `nil` if it succeeds.
  static func failure(_ result: BottleRequestResult) -> CommandFailure? {
    switch result {
    case .done, .notSent(.synced), .notSent(.alreadySynced): nil
    case .invalid(let problem): CommandFailure(.usage, problem)
    case .refused: CommandFailure(.failed, "the bottle refused it")
    case .unconfirmed:
      CommandFailure(.failed, "the request was sent, but not confirmed", remedy: "try again")
    case .notSent(.bottleAsleep):
      CommandFailure(
        .unreachable, "the bottle was not found",
        remedy: "move it so that it wakes, and end other programs that are connected to it")
    case .notSent(.bluetoothOff):
      CommandFailure(.unreachable, "Bluetooth is off", remedy: "switch it on")
    case .notSent(.bluetoothUnavailable):
      CommandFailure(.failed, "Bluetooth cannot be used", remedy: "allow it for this program")
    case .notSent(.connectionFailed):
      CommandFailure(.unreachable, "the bottle was found, but did not connect", remedy: "try again")
    case .notSent(.syncFailed):
      CommandFailure(.failed, "the drinks were not received", remedy: "try again")
    case .notSent(.nothingCame(let said)):
      CommandFailure(
        .failed, "the bottle reports \(said) waiting records, but sent no new one",
        remedy: "try again nearer to it; a bottle that counts deleted records says so until "
          + "`bottle clear`")
    }
  }
}

extension BottleNotice {
  /// The stable name of the notice, for scripts.
  fileprivate var kind: String {
    switch self {
    case .syncFailed: "sync-failed"
    case .nothingCame: "nothing-came"
    case .reconnectedInBackground: "reconnected-in-background"
    case .malformed: "malformed"
    case .unknownTime: "unknown-time"
    case .notStored: "not-stored"
    }
  }
}
