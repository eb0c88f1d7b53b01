import HoldfastTestKit
import Testing

@testable import HoldfastCore
@testable import HoldfastHeldSocket

/// Tests that the invariant checks of a held socket and of its parts detect broken states.
@Suite struct SocketInvariantTests {
  /// A connected model with one message in flight.
  private static var sending: SocketModel {
    var harness = SocketHarness.connected(.sending(.memory))
    harness.send("one")
    return harness.model
  }

  private static let plants: [PlantedFault<SocketModel>] = [
    (
      "held socket: messages are handed over only while connected",
      { $0.link = HeldLink(policy: .socket, seed: 1) }
    ),
    ("held socket: the app's own ping is asked only while connected", { $0.asked = 1 }),
    (
      "held socket: a stop waits only for messages",
      {
        $0.queue = ProvenQueue()
        $0.stopsAt = .zero
      }
    ),
    ("held socket: what was handed over was counted", { $0.sent = 0 }),
    (
      "held socket: the app is shown the present state",
      { $0.shown.status = LinkStatus(phase: .failed) }
    ),
    ("link: it is idle exactly while it is not wanted", { $0.link.gate.intent = .none }),
    ("proven queue: an empty queue has no bytes", { $0.queue.bytes = -1 }),
    (
      "standing messages: they stay within their bounds",
      { $0.standing.bytes = StandingMessages.byteLimit + 1 }
    ),
    ("standing messages: the bytes are those of its keys and messages", { $0.standing.bytes = 1 }),
    (
      "standing messages: each key has one message",
      {
        $0.standing.entries = Array(
          repeating: .init(key: "", content: .message(.text(""))), count: 2)
      }
    ),
  ]

  @Test func `detects a broken held socket`() {
    #expect(unnoticed(Self.plants, in: Self.sending) == [])
  }
}
