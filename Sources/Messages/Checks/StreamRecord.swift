import HoldfastCore
public import HoldfastLinkChecks
import HoldfastMessageData
public import HoldfastMessageStream

extension StreamFeature: ReplayedFeature {
  public static var checkedInJournals: [Finding.Kind] {
    [.duplicated, .reordered, .stuck, .storm, .early, .late, .unbounded, .brokenInvariant]
  }

  public static func state(of model: StreamModel) -> StreamState {
    var state = StreamState(settings: model.settings, server: .plain, memoryUse: model.memoryUse)
    state.isWhole = model.isWhole
    return state
  }
}

/// The facts about the server and the store that a MessageStream journal contains.
public struct StreamRecord: RunRecord {
  /// The feature whose journals are read.
  public typealias Feature = StreamFeature

  /// The changes that the store has not yet answered.
  private var changes: [CommitID: TimelineChange] = [:]
  private var known: Set<MessageID> = []
  private var isOpen = false
  private var isInFront = true
  private var isLive = true

  public init() {}

  public var isWanted: Bool { isOpen && isInFront && isLive }

  public func look(_ model: StreamModel, _ state: inout StreamState) {
    state.isWhole = model.isWhole
    state.memoryUse = model.memoryUse
  }

  public mutating func prepare(
    for input: StreamModel.Input, _ tape: inout RecordedState<StreamFeature>
  ) {
    switch input {
    case .open: isOpen = true
    case .close: isOpen = false
    case .realtime(let isOn): isLive = isOn
    case .link(.device(.lifecycle(let state)), at: _): isInFront = state == .foreground
    case .link(.device(.reachability(.reachable)), at: _): tape.phoneState.isReachable = true
    case .link(.device(.reachability(.unreachable)), at: _),
      .link(.device(.reachability(.captivePortal)), at: _):
      tape.phoneState.isReachable = false
    case .frame(_, .message(let message)): accept([message], &tape)
    case .fetched(_, let page): accept(page.messages, &tape)
    case .posted(_, let message): accept([message], &tape)
    case .loaded(let snapshot):
      restore(
        TimelineChange(
          messages: snapshot.messages, cursor: snapshot.cursor, gaps: snapshot.gaps,
          outboxPut: snapshot.outbox),
        &tape)
    case .older(let messages): restore(TimelineChange(messages: messages), &tape)
    case .olderFailed: tape.answer()
    case .loadFailed:
      tape.answer()
      tape.phoneState.storeFails = true
    case .committed(let id, let commit): store(id, commit, &tape)
    case .commitFailed(let id, _):
      tape.answer()
      tape.phoneState.storeFails = true
      changes[id] = nil
    case .refresh, .reader, .user, .loadOlder, .send, .edit, .delete, .retry, .discard, .link,
      .credentials, .opened, .frame, .fetchFailed, .edited, .deleted, .uploaded,
      .uploadRefused, .postFailed:
      return
    }
  }

  public mutating func note(
    _ effect: StreamModel.Effect, _ tape: inout RecordedState<StreamFeature>
  ) {
    if case .commit(let id, let change) = effect { changes[id] = change }
  }

  /// Records messages that the server sent and must therefore have accepted.
  private mutating func accept(
    _ messages: [ShopMessage], _ tape: inout RecordedState<StreamFeature>
  ) {
    for message in messages where known.insert(message.id).inserted {
      if message.position != nil { tape.phoneState.own.server = .positions }
      tape.see(.fact(.accepted(message, isNew: true)))
    }
  }

  /// Records data that was already stored.
  private mutating func restore(
    _ change: TimelineChange, _ tape: inout RecordedState<StreamFeature>
  ) {
    tape.answer()
    tape.phoneState.storeFails = false
    accept(change.messages, &tape)
    _ = tape.phoneState.own.disk.commit(change)
  }

  private mutating func store(
    _ id: CommitID, _ commit: TimelineCommit, _ tape: inout RecordedState<StreamFeature>
  ) {
    tape.answer()
    tape.phoneState.storeFails = false
    guard var change = changes.removeValue(forKey: id) else { return }
    _ = tape.phoneState.own.disk.commit(change)
    // The ledger identifies the user's messages by text. In a real run, two messages may have the
    // same text.
    change.outboxPut = []
    tape.see(.fact(.stored(change, commit)))
  }
}

/// The messages that a plain server stamped so far back that the client does not look for them.
///
/// Their stamps are earlier than the newest stamp by more than the overlap, for example because the
/// server's clock was set back. If the server sorts its pages by stamp, the client is not
/// guaranteed to find these messages. It is also not guaranteed to recognize its own messages if
/// the answer to a post was lost.
struct Stamps: Sendable {
  private var newest: Timestamp?
  private var beyond: Set<MessageID> = []

  mutating func note(_ message: ShopMessage, _ facts: PhoneState<StreamFeature>) {
    guard facts.own.server == .plain else { return }
    let newest = max(newest ?? message.createdAt, message.createdAt)
    self.newest = newest
    let earliest = newest.advanced(by: .zero - facts.own.settings.overlap)
    if message.createdAt < earliest { beyond.insert(message.id) }
  }

  func isBeyond(_ id: MessageID) -> Bool { beyond.contains(id) }
}
