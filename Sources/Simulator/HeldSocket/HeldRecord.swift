public import HeldSocket
import LinkCore

extension HeldFeature: ReplayedFeature {
  /// The facts about user and shell that the journal of a held socket holds.
  public typealias Record = HeldRecord

  /// Messages have no content there, so their order and the server's view are not checked.
  public static var checkedInJournals: [Finding.Kind] {
    [
      .lost, .duplicated, .unannounced, .stuck, .storm, .falselyConnected, .late, .unbounded,
      .brokenInvariant,
    ]
  }

  public static func state(of model: SocketModel) -> State {
    var state = State()
    state.settings = model.settings
    state.look(model)
    return state
  }
}

/// What the journal of a held socket tells about its user and its shell.
public struct HeldRecord: RunRecord {
  /// The feature whose journals it reads.
  public typealias Feature = HeldFeature

  private var isOn = false
  private var isInFront = true
  /// The last credentials were refused; a socket without any is never held back by that.
  private var isRefused = false

  public init() {}

  public var isWanted: Bool { isOn && isInFront }

  public mutating func prepare(
    for input: SocketModel.Input, _ tape: inout RecordTape<HeldFeature>
  ) {
    switch input {
    case .start: isOn = true
    case .stop: isOn = false
    case .link(.device(.lifecycle(let place))): isInFront = place == .foreground
    case .link(.device(.reachability(.reachable))): tape.standing.isReachable = true
    case .link(.device(.reachability(.unreachable))),
      .link(.device(.reachability(.captivePortal))):
      tape.standing.isReachable = false
    case .credentials(.available), .credentials(.refreshFailed): isRefused = false
    case .credentials(.rejected), .credentials(.cleared): isRefused = true
    case .link, .send, .socket, .restored, .stored, .storeFailed: break
    }
    tape.standing.isSignedIn = !isRefused
  }

  public mutating func note(
    _ effect: SocketModel.Effect, _ tape: inout RecordTape<HeldFeature>
  ) {}

  public func look(_ model: SocketModel, _ state: inout HeldFeature.State) { state.look(model) }
}
