import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastSession
package import HoldfastSessionData

extension SessionsFeature: ReplayedFeature {
  /// The facts about the user and the app that the journal of a session contains.
  public typealias Record = SessionRecord

  /// The kinds of violations that a journal can show. A journal does not contain the program's
  /// actions or the server's state.
  public static var checkedInJournals: [Finding.Kind] {
    [
      .duplicated, .unannounced, .unstored, .stuck, .storm, .falselyConnected, .late, .unbounded,
      .brokenInvariant,
    ]
  }

  public static func state(of model: SessionModel) -> State {
    var state = State()
    state.mayDrop = true
    state.hasUniqueTexts = false
    state.unanswered = model.unanswered
    return state
  }
}

/// The state of the user and the app, derived from the journal of a session.
public struct SessionRecord: RunRecord {
  /// The feature whose journals are read.
  public typealias Feature = SessionsFeature

  private var isOn = false
  private var isInFront = true
  /// Whether the last key was refused.
  private var isRefused = false
  /// The change that was last passed to the store.
  private var change: (id: SessionCommitID, ids: [String], shown: UInt64?, marked: [UInt64])?

  public init() {}

  public var isWanted: Bool { isOn && isInFront }

  public mutating func prepare(
    for input: SessionModel.Input, _ tape: inout RecordedState<SessionsFeature>
  ) {
    switch input {
    case .start: isOn = true
    case .stop, .stopUnread: isOn = false
    case .link(.device(.lifecycle(let lifecycle)), _): isInFront = lifecycle == .foreground
    case .link(.device(.reachability(.reachable)), _): tape.phoneState.isReachable = true
    case .link(.device(.reachability(.unreachable)), _),
      .link(.device(.reachability(.captivePortal)), _):
      tape.phoneState.isReachable = false
    case .credentials(.available), .credentials(.refreshFailed): isRefused = false
    case .credentials(.rejected), .credentials(.cleared): isRefused = true
    case .frame(let attempt, .connected(_), _, _): tape.phoneState.own.connected = attempt
    case .committed(let id, _):
      guard let change, change.id == id else { break }
      tape.phoneState.own.durable.formUnion(change.ids)
      if let shown = change.shown { tape.phoneState.own.confirmed = shown }
      tape.phoneState.own.marked.formUnion(change.marked)
    case .restored, .prompt, .retry, .discard, .cancel, .follow, .shown, .answersShown, .link,
      .opened, .frame, .probed, .malformed, .reading, .unsent, .commitFailed:
      break
    }
    tape.phoneState.isSignedIn = !isRefused
  }

  public mutating func note(
    _ effect: SessionModel.Effect, _ tape: inout RecordedState<SessionsFeature>
  ) {
    guard case .commit(let id, let change) = effect else { return }
    let ids = change.news.compactMap(\.entry?.id)
    tape.phoneState.own.answers.formUnion(ids)
    self.change = (id, ids, change.shown, change.marked)
  }

  public func look(_ model: SessionModel, _ state: inout SessionsFeature.State) {
    state.unanswered = model.unanswered
    state.isWritten = model.isIdle
  }
}

extension SessionNews {
  /// The message that the news shows, if any.
  package var entry: SessionEntry? {
    switch self {
    case .message(let entry, _): entry
    case .ended: nil
    }
  }
}
