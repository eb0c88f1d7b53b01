import HoldfastCore
import Testing

@testable import HoldfastHeldSocket

struct SendingTests {
  @Test func `sends once and in order, with one ping after the messages in flight`() {
    var harness = SocketHarness.connected()
    let one = AttemptID(1)
    let ping = UInt64(1) << 32 + 1
    #expect(
      harness.send("a") == [
        .send(one, 1, "a"), .ping(one, ping), .update(.sent(1)),
      ])
    #expect(harness.send("b") == [.send(one, 2, "b"), .update(.sent(2))])
    #expect(harness.give(.pong(one, ping)) == [.ping(one, ping + 1)])
    #expect(harness.give(.pong(one, ping + 1)) == [])
    #expect(harness.model.queue.entries == [])
  }

  @Test func `a message without a connection is refused`() {
    var harness = SocketHarness()
    harness.give(.start)
    #expect(harness.send("a") == [.update(.notice(.notConnected(id: 1)))])
    harness.give(.opened(harness.attempt, subprotocol: nil))
    #expect(harness.handed == [])
  }

  @Test func `a message can wait for a connection, and is sent at most once`() {
    var harness = SocketHarness(SocketSettings.sending(.waiting))
    harness.give(.start)
    #expect(harness.send("a") == [])
    harness.give(.opened(harness.attempt, subprotocol: nil))
    #expect(harness.handed == ["a"])
    harness.send("b")
    let effects = harness.give(.lost(harness.attempt, .reset))
    #expect(effects.contains(.update(.notice(.unproven(count: 2, isRepeated: false)))))
    harness.send("c")
    harness.pass(.seconds(2))
    harness.give(.opened(harness.attempt, subprotocol: nil))
    #expect(harness.handed == ["a", "b", "c"])
  }

  @Test(arguments: [SocketSettings.Outbox.waiting, .memory])
  func `a stop waits 2 s for a connection, and reports what was not sent`(
    outbox: SocketSettings.Outbox
  ) {
    var harness = SocketHarness(SocketSettings.sending(outbox))
    harness.give(.start)
    harness.send("a")
    #expect(harness.give(.stop) == [])
    #expect(harness.pass(.milliseconds(1999)) == [])
    #expect(harness.pass(.milliseconds(1)).contains(.update(.notice(.unsent(count: 1)))))
    #expect(harness.model.isStopped)
  }

  @Test func `a retry request does not cancel a stop`() {
    var harness = SocketHarness.connected()
    harness.send("a")
    harness.give(.stop)
    harness.give(.link(.device(.again)))
    harness.pass(.seconds(2))
    #expect(harness.model.isStopped)
    harness.give(.link(.device(.again)))
    #expect(harness.model.isStopped)
    #expect(harness.opens == [])
  }

  @Test func `a message sent on a lost connection has an unknown fate and is not sent again`() {
    var harness = SocketHarness.connected()
    harness.send("a")
    let effects = harness.give(.lost(harness.attempt, .reset))
    #expect(effects.contains(.update(.notice(.unproven(count: 1, isRepeated: false)))))
    harness.pass(.seconds(2))
    harness.give(.opened(harness.attempt, subprotocol: nil))
    #expect(harness.handed == ["a"])
  }

  @Test func `accepted messages that were not sent go out on the next connection`() {
    var harness = SocketHarness.connected()
    let all = (0..<70).map(String.init)
    for text in all { harness.send(text) }
    #expect(harness.handed == Array(all[..<64]))
    harness.reconnect()
    #expect(harness.handed == all)
  }

  @Test(arguments: [SocketSettings.Outbox.memory, .durable])
  func `an outbox keeps unproven messages and sends them again`(outbox: SocketSettings.Outbox) {
    var harness = SocketHarness(SocketSettings.sending(outbox))
    let isDurable = outbox == .durable
    harness.give(.start)
    #expect(
      harness.send("a")
        == (isDurable ? [.store(OutboxMessage(id: 1, message: .text("a")))] : []))
    if isDurable { harness.give(.stored(1)) }
    harness.give(.opened(harness.attempt, subprotocol: nil))
    #expect(harness.handed == ["a"])
    harness.give(.lost(harness.attempt, .reset))
    #expect(harness.log.contains(.update(.notice(.unproven(count: 1, isRepeated: true)))))
    harness.pass(.seconds(2))
    harness.give(.opened(harness.attempt, subprotocol: nil))
    #expect(harness.handed == ["a", "a"])
    harness.log = []
    let removal: [SocketModel.Effect] = isDurable ? [.remove([1])] : []
    #expect(
      harness.give(.pong(harness.attempt, UInt64(1) << 32 + 2))
        == removal + [.update(.proven(through: 1))])
    harness.reconnect()
    #expect(harness.handed == [])
  }

  @Test func `a durable message waits for the store`() {
    var harness = SocketHarness.connected(SocketSettings.sending(.durable))
    harness.send("a")
    harness.send("b")
    #expect(harness.handed == [])
    #expect(harness.give(.stored(2)) == [.update(.stored(2))])
    #expect(harness.handed == [])
    harness.give(.stored(1))
    #expect(harness.handed == ["a", "b"])
    #expect(harness.give(.stored(1)) == [])
    harness.send("c")
    #expect(
      harness.give(.storeFailed(3, detail: "the disk is full")) == [
        .update(.notice(.notStored(id: 3, detail: "the disk is full")))
      ])
    #expect(harness.model.queue.entries.map(\.message) == [.text("a"), .text("b")])
  }

  @Test func `sends the messages of an earlier run first`() {
    var harness = SocketHarness(SocketSettings.sending(.durable))
    harness.give(
      .restored([
        OutboxMessage(id: 4, message: .text("old")),
        OutboxMessage(id: 6, message: .text("older")),
      ]))
    harness.give(.start)
    #expect(
      harness.give(.send(7, .text("new")))
        == [.store(OutboxMessage(id: 7, message: .text("new")))])
    harness.give(.stored(7))
    harness.give(.opened(harness.attempt, subprotocol: nil))
    #expect(harness.handed == ["old", "older", "new"])
    #expect(
      harness.give(.pong(harness.attempt, UInt64(1) << 32 + 1))
        == [.remove([4, 6, 7]), .update(.proven(through: 7))])
    // A number that was used before is ignored.
    #expect(harness.give(.send(7, .text("again"))) == [])
  }

  @Test func `an acknowledgement proves its own message, and no pong is asked for`() {
    var settings = SocketSettings.sending(.durable)
    settings.hasAcknowledgements = true
    var harness = SocketHarness.connected(settings)
    for (id, text) in zip(UInt64(1)..., ["a", "b", "c", "d"]) {
      harness.send(text)
      if text != "d" { harness.give(.stored(id)) }
    }
    #expect(harness.handed == ["a", "b", "c"])
    harness.log = []
    let one = harness.attempt
    #expect(harness.give(.socket(one, .acknowledged(2))) == [.remove([2])])
    // Neither a repeated acknowledgement nor one of a message that was not sent has an effect.
    for id: UInt64 in [2, 4, 9] { #expect(harness.give(.socket(one, .acknowledged(id))) == []) }
    #expect(
      harness.give(.socket(one, .acknowledged(1))) == [.remove([1]), .update(.proven(through: 2))])
    harness.reconnect()
    #expect(harness.handed == ["c"])
    harness.give(.stored(4))
    #expect(harness.give(.socket(one, .acknowledged(3))) == [])
    harness.log = []
    let two = harness.attempt
    #expect(harness.give(.socket(two, .acknowledged(4))) == [.remove([4])])
    #expect(
      harness.give(.socket(two, .acknowledged(3))) == [.remove([3]), .update(.proven(through: 4))])
  }

  @Test func `a missing pong delays further messages for 10 s`() {
    var harness = SocketHarness.connected()
    for number in 0..<65 { harness.send("\(number)") }
    #expect(harness.handed.count == 64)
    harness.give(.message(harness.attempt, .text("alive"), SocketReading()))
    harness.pass(.milliseconds(9_999))
    #expect(harness.handed.count == 64)
    harness.log = []
    harness.pass(.milliseconds(1))
    #expect(harness.log.first == .update(.notice(.unproven(count: 1, isRepeated: false))))
    harness.pass(.seconds(10))
    #expect(harness.handed.count == 1)
    #expect(harness.model.isConnected)
  }

  @Test(arguments: [262_143, 262_144, 262_145])
  func `limits the bytes in flight`(bytes: Int) {
    var harness = SocketHarness.connected()
    harness.send(SocketMessage(binary: Array(repeating: 1, count: bytes - 1)))
    harness.send("x")
    #expect(harness.model.queue.handed == (bytes <= 262_144 ? 2 : 1))
  }

  @Test(arguments: [999_999, 1_000_000, 1_000_001])
  func `a message has at most 1,000,000 bytes`(bytes: Int) {
    var harness = SocketHarness.connected()
    let effects = harness.send(SocketMessage(binary: Array(repeating: 1, count: bytes)))
    if bytes > 1_000_000 {
      #expect(effects == [.update(.notice(.refused(id: 1, .tooLong(bytes: bytes))))])
    } else {
      #expect(effects.last == .update(.sent(1)))
    }
  }

  @Test func `1,000 messages may wait, and the next is refused`() {
    var harness = SocketHarness(SocketSettings.sending(.memory))
    for number in 0..<1_000 { #expect(harness.send("\(number)") == []) }
    #expect(harness.send("x") == [.update(.notice(.refused(id: 1_001, .full)))])
    #expect(harness.model.queue.entries.count == 1_000)
  }

  @Test func `16 MiB may wait, and a message that would exceed them is refused`() {
    var harness = SocketHarness(SocketSettings.sending(.memory))
    let long = SocketMessage(binary: Array(repeating: 1, count: 1_000_000))
    for _ in 0..<16 { harness.send(long) }
    let rest = ProvenQueue.byteLimit - 16_000_000
    #expect(harness.send(SocketMessage(binary: Array(repeating: 1, count: rest))) == [])
    #expect(harness.send("x") == [.update(.notice(.refused(id: 18, .full)))])
    #expect(harness.model.queue.bytes == ProvenQueue.byteLimit)
  }

  @Test func `a second stop does not delay the end`() {
    var harness = SocketHarness.connected()
    harness.send("last")
    harness.give(.stop)
    harness.pass(.seconds(1))
    #expect(harness.give(.stop) == [])
    #expect(harness.pass(.milliseconds(999)) == [])
    #expect(harness.pass(.milliseconds(1)).first == .close(AttemptID(1), .leaving))
  }

  @Test func `closes and replaces a socket that accepts no more messages`() {
    var harness = SocketHarness.connected()
    harness.give(.unsent(harness.attempt))
    #expect(harness.log.first == .close(AttemptID(1), .rejected))
    harness.pass(.seconds(2))
    #expect(harness.opens == [AttemptID(2)])
  }

  @Test func `the end waits for proof, but at most 2 s`() {
    var harness = SocketHarness.connected()
    harness.send("last")
    #expect(harness.give(.stop) == [])
    #expect(harness.send("too late") == [.update(.notice(.notConnected(id: 2)))])
    var proven = harness
    #expect(
      proven.give(.pong(AttemptID(1), UInt64(1) << 32 + 1)).first
        == .close(AttemptID(1), .leaving))
    #expect(harness.pass(.milliseconds(1_999)) == [])
    #expect(harness.pass(.milliseconds(1)).first == .close(AttemptID(1), .leaving))
  }
}
