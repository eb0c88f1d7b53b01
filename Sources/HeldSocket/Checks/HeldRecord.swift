import HoldfastCore
public import HoldfastHeldSocket
public import HoldfastLinkChecks

extension HeldFeature: ReplayedFeature {
  /// The facts about the user and the app that the journal of a held socket contains.
  public typealias Record = HeldRecord

  /// The kinds of violations that a journal can show. Journals omit the content of messages, so
  /// neither the order of messages nor the server's view is checked.
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

/// The state of the user and the app, derived from the journal of a held socket.
public struct HeldRecord: RunRecord {
  /// The feature whose journals are read.
  public typealias Feature = HeldFeature

  private var isOn = false
  private var isInFront = true
  /// Whether the last credentials were refused. A refusal never blocks a socket without
  /// credentials.
  private var isRefused = false

  public init() {}

  public var isWanted: Bool { isOn && isInFront }

  public mutating func prepare(
    for input: SocketModel.Input, _ tape: inout RecordedState<HeldFeature>
  ) {
    switch input {
    case .start: isOn = true
    case .stop: isOn = false
    case .link(.device(.lifecycle(let lifecycle))): isInFront = lifecycle == .foreground
    case .link(.device(.reachability(.reachable))): tape.phoneState.isReachable = true
    case .link(.device(.reachability(.unreachable))),
      .link(.device(.reachability(.captivePortal))):
      tape.phoneState.isReachable = false
    case .credentials(.available), .credentials(.refreshFailed): isRefused = false
    case .credentials(.rejected), .credentials(.cleared): isRefused = true
    case .link, .send, .standing, .makeStanding, .socket, .restored, .stored, .storeFailed: break
    }
    tape.phoneState.isSignedIn = !isRefused
  }

  public mutating func note(
    _ effect: SocketModel.Effect, _ tape: inout RecordedState<HeldFeature>
  ) {}

  public func look(_ model: SocketModel, _ state: inout HeldFeature.State) { state.look(model) }
}
