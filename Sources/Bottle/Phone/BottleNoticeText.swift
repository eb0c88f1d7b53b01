import HoldfastBottleData
import HoldfastCore

extension BottleStatus: CustomStringConvertible {
  /// The phase and the reason, such as `disconnected: the connection was reset`. A problem of the
  /// adapter takes precedence over the reason.
  public var description: String {
    let cause = adapter.problem ?? reason?.description
    return phase.rawValue + (cause.map { ": " + $0 } ?? "")
  }
}

extension AdapterState {
  /// A description of the adapter's problem; `nil` if there is none.
  fileprivate var problem: String? {
    switch self {
    case .on, .unknown: nil
    case .off: "Bluetooth is off"
    case .unauthorised: "Bluetooth is not allowed"
    case .unsupported: "there is no Bluetooth"
    case .resetting: "Bluetooth restarts"
    }
  }
}

extension BottleNotice: CustomStringConvertible {
  /// A description of the notice, in lower case and without a full stop.
  public var description: String {
    switch self {
    case .syncFailed(let failure): "the drinks were not received: \(failure.text)"
    case .nothingCame(let said):
      "the bottle reports \(said) \(said == 1 ? "record" : "records"), but sent none"
    case .reconnectedInBackground: "the system connected the bottle by itself"
    case .malformed(let detail): "a value of the bottle could not be read: \(detail)"
    case .unknownTime(let record):
      "the bottle's clock was not set when it made record \(record)"
    case .notStored(let detail): "a change could not be stored: \(detail)"
    }
  }
}
