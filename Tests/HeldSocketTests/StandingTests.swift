import HoldfastCore
import Testing

@testable import HoldfastHeldSocket

/// Tests of the messages that are sent on every connection.
struct StandingTests {
  @Test func `a standing message is sent once on each connection, after the resume message`() {
    var harness = SocketHarness(SocketSettings.confirmed)
    #expect(harness.stand("b", "second key, set first") == [])
    #expect(harness.stand("a", "first key, set second") == [])
    harness.give(.start)
    harness.give(.opened(harness.attempt, subprotocol: nil))
    let one = AttemptID(1)
    #expect(
      harness.say("welcome", SocketReading.confirming()) == [
        .resume(one, after: nil), .standing(one, .text("second key, set first")),
        .standing(one, .text("first key, set second")), .update(.status(.connected)),
        .update(.message(.text("welcome"))),
      ])
    harness.log = []
    harness.reconnect()
    #expect(harness.stood == [])
    harness.say("welcome", SocketReading.confirming())
    #expect(harness.stood == ["second key, set first", "first key, set second"])
  }

  @Test func `a changed standing message is sent at once, and replaces the earlier one`() {
    var harness = SocketHarness.connected()
    #expect(harness.stand("a", "1") == [.standing(AttemptID(1), .text("1"))])
    #expect(harness.stand("b", "2") == [.standing(AttemptID(1), .text("2"))])
    #expect(harness.stand("a", "3") == [.standing(AttemptID(1), .text("3"))])
    harness.log = []
    harness.reconnect()
    #expect(harness.stood == ["3", "2"])
  }

  @Test func `a removed standing message is not sent any more`() {
    var harness = SocketHarness.connected()
    harness.stand("a", "1")
    #expect(harness.stand("a", nil) == [])
    #expect(harness.stand("unknown", nil) == [])
    harness.log = []
    harness.reconnect()
    #expect(harness.stood == [])
  }

  @Test func `standing messages are sent before messages of the outbox`() {
    var harness = SocketHarness(SocketSettings.sending(.memory))
    harness.send("queued")
    harness.stand("a", "standing")
    harness.give(.start)
    harness.give(.opened(harness.attempt, subprotocol: nil))
    let sent = harness.log.compactMap { effect -> String? in
      switch effect {
      case .standing(_, let message): message.text
      case .send(_, let entry): entry.message.text
      case _: nil
      }
    }
    #expect(sent == ["standing", "queued"])
  }

  @Test func `a standing message that is made gets the last position on each connection`() {
    var harness = SocketHarness.connected()
    harness.stand("a", "fixed")
    #expect(
      harness.give(.makeStanding("a")) == [
        .makeStanding(AttemptID(1), key: "a", after: nil)
      ])
    harness.say("41", SocketReading.at("41"))
    harness.log = []
    harness.reconnect()
    #expect(harness.stood == [])
    #expect(
      harness.log.contains(.makeStanding(AttemptID(2), key: "a", after: Secret("41"))))
    harness.stand("a", "fixed again")
    harness.log = []
    harness.reconnect()
    #expect(harness.stood == ["fixed again"])
  }

  @Test func `64 standing messages are kept, and the next is refused`() {
    var harness = SocketHarness.connected()
    for number in 0..<64 { harness.stand("\(number)", "x") }
    #expect(harness.stand("64", "x") == [.update(.notice(.standingRefused(key: "64")))])
    #expect(harness.stand("63", "y") == [.standing(AttemptID(1), .text("y"))])
    harness.stand("0", nil)
    #expect(harness.stand("64", "x") == [.standing(AttemptID(1), .text("x"))])
  }

  @Test(arguments: [32_767, 32_768])
  func `the keys and messages have at most 32 KiB`(bytes: Int) {
    var harness = SocketHarness.connected()
    harness.stand("a", "kept")
    let text = String(repeating: "x", count: bytes)
    let isRefused = bytes == 32_768
    let effect: SocketModel.Effect =
      isRefused
      ? .update(.notice(.standingRefused(key: "a"))) : .standing(AttemptID(1), .text(text))
    #expect(harness.stand("a", text) == [effect])
    harness.log = []
    harness.reconnect()
    #expect(harness.stood == [isRefused ? "kept" : text])
  }
}
