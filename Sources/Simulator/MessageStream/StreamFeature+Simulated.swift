public import HoldfastCore
public import HoldfastStorage
public import HoldfastWire
public import HoldfastMessageStream

/// MessageStream in the simulator: one phone in one shop, a server with one of two contracts, and
/// other users.
public enum StreamFeature: SimulatedFeature {
  /// The facts that a MessageStream journal contains.
  public typealias Record = StreamRecord
  /// The client of one shop.
  public typealias Model = StreamModel
  /// The kinds of planned events, in addition to those of the kernel.
  public typealias EventKind = StreamEventKind
  /// The numbers that a plan fixes for a run.
  public typealias Numbers = StreamNumbers
  /// The server's contract.
  public typealias Server = ServerKind
  /// The deliberate defects of MessageStream.
  public typealias Defect = StreamDefect
  /// The checkers of the guarantees that are specific to MessageStream.
  public typealias Checkers = StreamCheckers
  /// The events that the world counts.
  public typealias Counter = StreamCounter
  /// The facts that are specific to this world.
  public typealias Fact = StreamFact
  /// The feature's part of a phone's state, which the checkers use.
  public typealias State = StreamState

  public static var name: String { "message-stream" }
  public static var summary: String { "play many lives of a phone in a shop" }
  public static var details: [String] {
    [
      """
      Each seed draws at least an hour of trouble for a phone, its network and a server: the \
      real client and the real server's rules in virtual time. Checkers verify each promise: no \
      message lost, duplicated or out of order, always something outstanding, no storm, no \
      false "connected". Then calm begins, and everything must become complete in a stated time.
      """
    ]
  }
  public static var policy: LinkPolicy { .messageStream }

  public static var kinds: [Finding.Kind] {
    [
      .lost, .duplicated, .reordered, .stuck, .storm, .needless, .falselyConnected, .early, .late,
      .outdated, .orphaned, .leaked, .outlived, .unbounded, .brokenInvariant, .endless, .unhealed,
    ]
  }
  public static func play(
    _ plan: Plan, _ setup: RunSetup<StreamFeature>, watch: RunWatch<StreamFeature>?
  ) -> Outcome {
    play(plan, setup, as: StreamModel.self, watch: watch)
  }

  /// Runs a plan with a custom client.
  public static func play<Client: StreamClient>(
    _ plan: Plan, _ setup: RunSetup<StreamFeature> = RunSetup(), as client: Client.Type,
    watch: RunWatch<StreamFeature>? = nil
  ) -> Outcome {
    // The type is named here so that the compiler specializes the world for the default client.
    if Client.self == StreamModel.self {
      var world = StreamWorld<StreamModel>(plan, setup, watch: watch)
      return world.play()
    } else {
      var world = StreamWorld<Client>(plan, setup, watch: watch)
      return world.play()
    }
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

/// The contract of a world's server.
public enum ServerKind: String, ServerChoice {
  /// The contract of this package: positions, heads and idempotency keys.
  case positions
  /// The minimum that `docs/requirements/001.md` requires: times, page numbers, and the newest
  /// messages first.
  case plain

  public static var usual: ServerKind { .positions }
}

/// The messages that the world counts.
public enum StreamCounter: String, RunCounter {
  /// The messages that the server accepted.
  case accepted
  /// The messages that the client showed, counted in each run of its process.
  case shown

  public var label: String { "messages \(rawValue)" }
}

/// A fact that is specific to this world.
public enum StreamFact: Sendable, Equatable {
  /// A change became durable on the phone.
  case stored(TimelineChange, TimelineCommit)
  /// A post became durable on the server. `isNew` is false if its key was already known.
  case accepted(ShopMessage, isNew: Bool)
  /// A message was edited or deleted on the server.
  case changed(ShopEvent)
  /// The log started over under another epoch, or was restored to an earlier state. `head` is its
  /// newest position, and `retained` its content, by position.
  case beganAnew(head: ShopPosition, retained: [ShopMessage])
  /// The server answered that it does not know what happened after a position.
  case forgot
  /// A socket opened, and the server reported a head, which may be false.
  case stated(AttemptID, head: ShopPosition?)
  /// The images that the server has now, ordered by id.
  case images([StoredImage])
  /// An upgrade arrived with a token that expires at the given time.
  case admitted(AttemptID, until: Instant)
}

/// The feature's part of a phone's state. The checkers use it in addition to the link's state.
public struct StreamState: Sendable {
  /// The settings that the client should use.
  public var settings: StreamSettings
  /// The server's contract.
  public var server: ServerKind
  /// The order of a plain server's pages.
  public var pages = PageOrder.stamp
  /// Whether the server stamps some messages late.
  public var stampsLate = false
  /// The position of the oldest event that the server keeps; `nil` if it has removed none.
  public var oldest: ShopPosition?
  public var isWhole = false
  public var memoryUse: MemoryUse
  /// The durable data of the phone.
  public var disk = StoredTimeline()

  public init(settings: StreamSettings, server: ServerKind, memoryUse: MemoryUse) {
    self.settings = settings
    self.server = server
    self.memoryUse = memoryUse
  }
}

extension Finding.Kind {
  /// A message that the server accepted was never shown on the phone, and no gap takes its place.
  public static let lost = Finding.Kind(rawValue: "lost")
  /// A message was shown more than once, or a message of the user was accepted more than once.
  public static let duplicated = Finding.Kind(rawValue: "duplicated")
  /// A message was shown out of order, or sent in a different order from that in which it was
  /// written.
  public static let reordered = Finding.Kind(rawValue: "reordered")
  /// A message was shown or acknowledged before it was durable, or a cursor is ahead of the stored
  /// data.
  public static let early = Finding.Kind(rawValue: "early")
  /// A message was shown or stored with an older text than the server's, or although it was deleted.
  public static let outdated = Finding.Kind(rawValue: "outdated")
  /// An image is stored without a message that refers to it, or a message was accepted without its
  /// image.
  public static let orphaned = Finding.Kind(rawValue: "orphaned")
  /// The server kept a socket for longer than the lifetime of the token that admitted it.
  public static let outlived = Finding.Kind(rawValue: "outlived")
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

// Contributions of inputs and effects to a run's digest, in addition to their roles. They include
// enough of each value to distinguish runs.
extension StreamFeature {
  public static func mix(_ fact: Fact, into digest: inout Digest) {
    switch fact {
    case .stored(let change, let commit):
      digest.mix(1, UInt64(change.outboxPut.count), change.cursor?.position?.offset ?? 0)
      for id in commit.inserted + commit.edited { digest.mix(id) }
    case .accepted(let message, let isNew):
      digest.mix(2, isNew ? 1 : 2)
      digest.mix(message.id)
    case .beganAnew(_, let retained): digest.mix(3, UInt64(retained.count))
    case .changed(let event): digest.mix(16, event.position?.offset ?? 0)
    case .forgot: digest.mix(17)
    case .images(let images):
      digest.mix(18, UInt64(images.count))
      for image in images { digest.mix(image.id) }
    case .stated(let attempt, let head): digest.mix(15, attempt.number, head?.offset ?? 0)
    case .admitted(let attempt, _): digest.mix(14, attempt.number)
    }
  }

  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .open(let wall), .link(.device(.lifecycle), at: let wall),
      .link(.device(.woke), at: let wall):
      digest.mix(wall)
    case .realtime(let isOn): digest.mix(isOn)
    case .reader(let isBehind): digest.mix(isBehind)
    case .send(_, let text, _, _, _), .user(let text): digest.mix(text)
    case .edit(_, let message, let text, _, _):
      digest.mix(message)
      digest.mix(text)
    case .delete(_, let message, _): digest.mix(message)
    case .retry(let id), .discard(let id), .postFailed(let id, _, _), .edited(let id, _),
      .deleted(let id, _), .uploaded(let id, _, _), .uploadRefused(let id, _, _):
      digest.mix(id)
    case .opened(_, let head, let after, _): digest.mix(4, head?.offset ?? 0, after?.offset ?? 0)
    case .frame(_, .message(let message)), .posted(_, let message): digest.mix(message.id)
    case .link(.pong(_, let id), at: _): digest.mix(id)
    case .link(.oversized(_, let bytes), at: _): digest.mix(bytes)
    case .fetched(let id, let page):
      digest.mix(5, id.number, UInt64(page.messages.count))
      if let last = page.messages.last { digest.mix(last.id) }
    case .fetchFailed(let id, _): digest.mix(6, id.number)
    case .loaded(let snapshot): digest.mix(7, UInt64(snapshot.messages.count))
    case .committed(let id, let commit): digest.mix(8, id.number, UInt64(commit.inserted.count))
    case .commitFailed(let id, _): digest.mix(9, id.number)
    case .older(let messages): digest.mix(10, UInt64(messages.count))
    case .loadOlder: digest.mix(11)
    case .loadFailed: digest.mix(12)
    case .olderFailed: digest.mix(13)
    case .close, .refresh, .link, .credentials, .frame: return
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .open(_, let after): digest.mix(after?.offset ?? 0)
    case .close(_, let reason): digest.mix(UInt64(reason.closeCode))
    case .ping(_, let id): digest.mix(id)
    case .refreshCredentials: return
    case .fetch(let id, _): digest.mix(1, id.number)
    case .post(let entry, _), .upload(let entry, _): digest.mix(entry.id)
    case .load(let limit): digest.mix(2, UInt64(limit))
    case .commit(let id, let change): digest.mix(3, id.number, UInt64(change.messages.count))
    case .readOlder(_, let limit): digest.mix(4, UInt64(limit))
    case .update(.messages(let messages, _)):
      for message in messages { digest.mix(message.id) }
    case .update(.status(let status)): digest.mix(5, UInt64(status.attempt))
    case .update: digest.mix(6)
    }
  }
}
