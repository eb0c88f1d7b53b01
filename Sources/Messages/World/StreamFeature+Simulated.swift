import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
public import HoldfastWorldKernel

// MessageStream in the simulator: one phone in one shop, a server with one of two contracts, and
// other users.
extension StreamFeature: SimulatedFeature {
  /// The checkers of what only the world knows.
  public typealias WorldCheckers = StreamWorldCheckers
  /// The kinds of planned events, in addition to those of the kernel.
  public typealias EventKind = StreamEventKind
  /// The numbers that a plan fixes for a run.
  public typealias Numbers = StreamNumbers
  /// The server's contract.
  public typealias Server = ServerKind
  /// The deliberate defects of MessageStream.
  public typealias Defect = StreamDefect
  /// The events that the world counts.
  public typealias Counter = StreamCounter

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

}

extension ServerKind: ServerChoice {
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

extension Finding.Kind {
  /// A message was shown or stored with an older text than the server's, or although it was deleted.
  public static let outdated = Finding.Kind(rawValue: "outdated")
  /// An image is stored without a message that refers to it, or a message was accepted without its
  /// image.
  public static let orphaned = Finding.Kind(rawValue: "orphaned")
  /// The server kept a socket for longer than the lifetime of the token that admitted it.
  public static let outlived = Finding.Kind(rawValue: "outlived")
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
