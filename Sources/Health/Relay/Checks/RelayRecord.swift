import HoldfastCore
public import HoldfastHealthRelay
public import HoldfastLinkChecks

extension RelayFeature: ReplayedFeature {
  public static var checkedInJournals: [Finding.Kind] {
    [.unanswered, .doubled, .misleading, .stuck, .storm, .late, .unbounded, .brokenInvariant]
  }

  public static func state(of model: RelayModel) -> RelayState {
    var state = RelayState()
    state.hasNotification = model.settings.hasNotification
    state.look(model)
    return state
  }
}

/// The state of the user and the app, derived from the journal of a relay.
public struct RelayRecord: RunRecord {
  /// The feature whose journals are read.
  public typealias Feature = RelayFeature

  private var isOn = false
  /// Whether the relay has ended. The journal does not show whether it had to end.
  private var isOver = false
  private var reading: Set<WorkID> = []
  private var held: Set<WorkID> = []

  public init() {}

  public var isWanted: Bool { isOn && !isOver }

  public func look(_ model: RelayModel, _ state: inout RelayState) {
    state.held = held.count
    state.look(model)
  }

  public mutating func prepare(
    for input: RelayModel.Input, _ tape: inout RecordedState<RelayFeature>
  ) {
    tape.phoneState.isSignedIn = true
    switch input {
    case .start, .link(.device(.again)): (isOn, isOver) = (true, false)
    case .stop: isOn = false
    case .link(.device(.reachability(.reachable))): tape.phoneState.isReachable = true
    case .link(.device(.reachability(.unreachable))),
      .link(.device(.reachability(.captivePortal))):
      tape.phoneState.isReachable = false
    case .prepared(let work, _):
      reading.remove(work)
      held.insert(work)
    case .resume, .link, .opened, .message, .unsent, .closed:
      return
    }
  }

  public mutating func note(
    _ effect: RelayModel.Effect, _ tape: inout RecordedState<RelayFeature>
  ) {
    switch effect {
    case .read(let work, _, _, _): reading.insert(work)
    case .fail(let work, _, _, _): held.insert(work)
    case .discard(let work):
      held.remove(work)
      // A canceled read is not answered.
      if reading.remove(work) != nil { tape.answer() }
    case .update(.status(let status)):
      switch status.state {
      case .idle, .error: isOver = true
      case .starting, .running, .reconnecting, .stopping: return
      }
    // The relay did not start.
    case .update(.problem(.inBackground, _)): isOver = true
    case .open, .close, .ping, .send, .refuse, .notify, .unnotify, .update: return
    }
  }
}
