public import HoldfastCore
public import HoldfastLinkChecks
import HoldfastMessageData
public import HoldfastMessageStream

/// MessageStream: one phone in one shop, a server with one of two contracts, and other users.
public enum StreamFeature: ObservedFeature {
  /// The facts that a MessageStream journal contains.
  public typealias Record = StreamRecord
  /// The client of one shop.
  public typealias Model = StreamModel
  /// The checkers of the guarantees that are specific to MessageStream.
  public typealias Checkers = StreamCheckers
  /// The facts that are specific to this world.
  public typealias Fact = StreamFact
  /// The feature's part of a phone's state, which the checkers use.
  public typealias State = StreamState

  public static var name: String { "message-stream" }
  public static var policy: LinkPolicy { .messageStream }

  public static func step(
    _ phone: HostID, _ input: Input?, isLate: Bool, _ effects: [Effect],
    _ checkers: inout CheckerSet<StreamFeature>
  ) {
    checkers.stepped(phone, input, isLate: isLate, effects)
  }

  public static func observe(
    _ seen: Seen, of phone: Int?, _ checkers: inout CheckerSet<StreamFeature>
  ) {
    checkers.handle(seen, of: phone)
  }

  public static func isHealed(_ phoneState: PhoneState<StreamFeature>) -> Bool {
    phoneState.own.isWhole && phoneState.own.disk.outbox.isEmpty
  }

  public static func remains(_ phoneState: PhoneState<StreamFeature>) -> String {
    ", \(phoneState.own.disk.outbox.count) to send"
  }

  public static func checkBounds(
    _ phoneState: PhoneState<StreamFeature>, _ found: (String, Int, Int) -> Void
  ) {
    let (memoryUse, settings) = (phoneState.own.memoryUse, phoneState.own.settings)
    func check(_ what: String, _ count: Int, _ bound: Int) {
      if count > bound { found(what, count, bound) }
    }
    check("shown", memoryUse.shown, settings.memory)
    check("unsent", memoryUse.unsent, settings.outboxLimit)
    check("unstored", memoryUse.unstored, settings.mostUnstored)
    check("ahead", memoryUse.ahead, StreamSettings.offsetsAhead)
  }

  public static func expose(_ effect: Effect, _ report: (String, String) -> Void) {
    func expose(_ entry: OutboxEntry) {
      report(entry.text, "the outbox")
      if case .failed(let reason) = entry.state { report(reason, "the outbox") }
    }
    switch effect {
    case .update(.status(let status)):
      if let text = status.reason?.text { report(text, "a status") }
    case .update(.notice(let notice)):
      if let text = notice.text { report(text, "a notice") }
    case .update(.outbox(let entry)): expose(entry)
    case .post(let entry, _), .upload(let entry, _): expose(entry)
    case .commit(_, let change):
      for entry in change.outboxPut { expose(entry) }
      for message in change.messages { report(message.text, "a message") }
    case .open, .close, .ping, .refreshCredentials, .fetch, .load, .readOlder, .update: return
    }
  }
}

extension StreamSettings {
  /// The maximum number of messages that wait to be stored.
  ///
  /// The store processes one batch while another waits. A page that begins below the bound is
  /// accepted as a whole.
  var mostUnstored: Int { 2 * (Self.unstored + max(catchUpPage, historyPage)) }
}

extension StreamNotice {
  /// The notice's human-readable text.
  fileprivate var text: String? {
    switch self {
    case .fetchFailed(let failure), .sendFailed(let failure), .security(let failure): failure.text
    case .unknownType(let type): type
    case .malformed(let error): "\(error)"
    case .store(let failure): "\(failure)"
    case .rejected, .oversized, .storeRecovered, .draining, .newEpoch, .signIn, .forbidden: nil
    }
  }
}
