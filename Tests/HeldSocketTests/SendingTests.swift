import LinkCore
import Testing

@testable import HeldSocket

struct SendingTests {
  @Test func `sends once and in order, with one ping after the messages in flight`() {
    var bench = SocketBench.connected()
    let one = AttemptID(1)
    let ping = UInt64(1) << 32 + 1
    #expect(
      bench.give(.send(.text("a"))) == [
        .send(one, .text("a")), .ping(one, ping), .update(.sent(1)),
      ])
    #expect(bench.give(.send(.text("b"))) == [.send(one, .text("b")), .update(.sent(2))])
    #expect(bench.give(.pong(one, ping)) == [.ping(one, ping + 1)])
    #expect(bench.give(.pong(one, ping + 1)) == [])
    #expect(bench.model.queue.entries == [])
  }

  @Test func `a message without a connection is refused`() {
    var bench = SocketBench()
    bench.give(.start)
    #expect(bench.give(.send(.text("a"))) == [.update(.notice(.notConnected))])
    bench.give(.opened(bench.attempt, subprotocol: nil))
    #expect(bench.handed == [])
  }

  @Test func `a message can wait for a connection, and is sent at most once`() {
    var bench = SocketBench(SocketSettings.sending(.waiting))
    bench.give(.start)
    #expect(bench.give(.send(.text("a"))) == [])
    bench.give(.opened(bench.attempt, subprotocol: nil))
    #expect(bench.handed == ["a"])
    bench.give(.send(.text("b")))
    let effects = bench.give(.lost(bench.attempt, .reset))
    #expect(effects.contains(.update(.notice(.unproven(count: 2, isRepeated: false)))))
    bench.give(.send(.text("c")))
    bench.pass(.seconds(2))
    bench.give(.opened(bench.attempt, subprotocol: nil))
    #expect(bench.handed == ["a", "b", "c"])
  }

  @Test(arguments: [SocketSettings.Outbox.waiting, .memory])
  func `a stop waits 2 s for a connection, and reports what was not sent`(
    outbox: SocketSettings.Outbox
  ) {
    var bench = SocketBench(SocketSettings.sending(outbox))
    bench.give(.start)
    bench.give(.send(.text("a")))
    #expect(bench.give(.stop) == [])
    #expect(bench.pass(.milliseconds(1999)) == [])
    #expect(bench.pass(.milliseconds(1)).contains(.update(.notice(.unsent(count: 1)))))
    #expect(bench.model.isStopped)
  }

  @Test func `a retry request does not cancel a stop`() {
    var bench = SocketBench.connected()
    bench.give(.send(.text("a")))
    bench.give(.stop)
    bench.give(.link(.device(.again)))
    bench.pass(.seconds(2))
    #expect(bench.model.isStopped)
    bench.give(.link(.device(.again)))
    #expect(bench.model.isStopped)
    #expect(bench.opens == [])
  }

  @Test func `a message sent on a lost connection has an unknown fate and is not sent again`() {
    var bench = SocketBench.connected()
    bench.give(.send(.text("a")))
    let effects = bench.give(.lost(bench.attempt, .reset))
    #expect(effects.contains(.update(.notice(.unproven(count: 1, isRepeated: false)))))
    bench.pass(.seconds(2))
    bench.give(.opened(bench.attempt, subprotocol: nil))
    #expect(bench.handed == ["a"])
  }

  @Test func `accepted messages that were not sent go out on the next connection`() {
    var bench = SocketBench.connected()
    let all = (0..<70).map(String.init)
    for text in all { bench.give(.send(.text(text))) }
    #expect(bench.handed == Array(all[..<64]))
    bench.reconnect()
    #expect(bench.handed == all)
  }

  @Test(arguments: [SocketSettings.Outbox.memory, .durable])
  func `an outbox keeps unproven messages and sends them again`(outbox: SocketSettings.Outbox) {
    var bench = SocketBench(SocketSettings.sending(outbox))
    let isDurable = outbox == .durable
    bench.give(.start)
    #expect(
      bench.give(.send(.text("a")))
        == (isDurable ? [.store(ProvenQueue.Entry(id: 1, message: .text("a")))] : []))
    if isDurable { bench.give(.stored(1)) }
    bench.give(.opened(bench.attempt, subprotocol: nil))
    #expect(bench.handed == ["a"])
    bench.give(.lost(bench.attempt, .reset))
    #expect(bench.log.contains(.update(.notice(.unproven(count: 1, isRepeated: true)))))
    bench.pass(.seconds(2))
    bench.give(.opened(bench.attempt, subprotocol: nil))
    #expect(bench.handed == ["a", "a"])
    bench.log = []
    #expect(
      bench.give(.pong(bench.attempt, UInt64(1) << 32 + 2)) == (isDurable ? [.remove([1])] : []))
    bench.reconnect()
    #expect(bench.handed == [])
  }

  @Test func `a durable message waits for the store`() {
    var bench = SocketBench.connected(SocketSettings.sending(.durable))
    bench.give(.send(.text("a")))
    bench.give(.send(.text("b")))
    #expect(bench.handed == [])
    bench.give(.stored(2))
    #expect(bench.handed == [])
    bench.give(.stored(1))
    #expect(bench.handed == ["a", "b"])
    bench.give(.send(.text("c")))
    #expect(
      bench.give(.storeFailed(3, detail: "the disk is full")) == [
        .update(.notice(.notStored(detail: "the disk is full")))
      ])
    #expect(bench.model.queue.entries.map(\.message) == [.text("a"), .text("b")])
  }

  @Test func `sends the messages of an earlier run first`() {
    var bench = SocketBench(SocketSettings.sending(.durable))
    bench.give(
      .restored([
        ProvenQueue.Entry(id: 4, message: .text("old")),
        ProvenQueue.Entry(id: 6, message: .text("older")),
      ]))
    bench.give(.start)
    #expect(
      bench.give(.send(.text("new"))) == [.store(ProvenQueue.Entry(id: 7, message: .text("new")))])
    bench.give(.stored(7))
    bench.give(.opened(bench.attempt, subprotocol: nil))
    #expect(bench.handed == ["old", "older", "new"])
  }

  @Test func `a missing pong delays further messages for 10 s`() {
    var bench = SocketBench.connected()
    for number in 0..<65 { bench.give(.send(.text("\(number)"))) }
    #expect(bench.handed.count == 64)
    bench.give(.message(bench.attempt, .text("alive"), SocketMarks()))
    bench.pass(.milliseconds(9_999))
    #expect(bench.handed.count == 64)
    bench.log = []
    bench.pass(.milliseconds(1))
    #expect(bench.log.first == .update(.notice(.unproven(count: 1, isRepeated: false))))
    bench.pass(.seconds(10))
    #expect(bench.handed.count == 1)
    #expect(bench.model.isConnected)
  }

  @Test(arguments: [262_143, 262_144, 262_145])
  func `limits the bytes in flight`(bytes: Int) {
    var bench = SocketBench.connected()
    bench.give(.send(SocketMessage(binary: Array(repeating: 1, count: bytes - 1))))
    bench.give(.send(.text("x")))
    #expect(bench.model.queue.handed == (bytes <= 262_144 ? 2 : 1))
  }

  @Test(arguments: [999_999, 1_000_000, 1_000_001])
  func `a message has at most 1,000,000 bytes`(bytes: Int) {
    var bench = SocketBench.connected()
    let effects = bench.give(.send(SocketMessage(binary: Array(repeating: 1, count: bytes))))
    if bytes > 1_000_000 {
      #expect(effects == [.update(.notice(.refused(.tooLong(bytes: bytes))))])
    } else {
      #expect(effects.last == .update(.sent(1)))
    }
  }

  @Test func `1,000 messages may wait, and the next is refused`() {
    var bench = SocketBench(SocketSettings.sending(.memory))
    for number in 0..<1_000 { #expect(bench.give(.send(.text("\(number)"))) == []) }
    #expect(bench.give(.send(.text("x"))) == [.update(.notice(.refused(.full)))])
    #expect(bench.model.queue.entries.count == 1_000)
  }

  @Test func `16 MiB may wait, and a message that would exceed them is refused`() {
    var bench = SocketBench(SocketSettings.sending(.memory))
    let long = SocketMessage(binary: Array(repeating: 1, count: 1_000_000))
    for _ in 0..<16 { bench.give(.send(long)) }
    let rest = ProvenQueue.byteLimit - 16_000_000
    #expect(bench.give(.send(SocketMessage(binary: Array(repeating: 1, count: rest)))) == [])
    #expect(bench.give(.send(.text("x"))) == [.update(.notice(.refused(.full)))])
    #expect(bench.model.queue.bytes == ProvenQueue.byteLimit)
  }

  @Test func `a second stop does not delay the end`() {
    var bench = SocketBench.connected()
    bench.give(.send(.text("last")))
    bench.give(.stop)
    bench.pass(.seconds(1))
    #expect(bench.give(.stop) == [])
    #expect(bench.pass(.milliseconds(999)) == [])
    #expect(bench.pass(.milliseconds(1)).first == .close(AttemptID(1), code: 1000))
  }

  @Test func `closes and replaces a socket that accepts no more messages`() {
    var bench = SocketBench.connected()
    bench.give(.unsent(bench.attempt))
    #expect(bench.log.first == .close(AttemptID(1), code: 1002))
    bench.pass(.seconds(2))
    #expect(bench.opens == [AttemptID(2)])
  }

  @Test func `the end waits for proof, but at most 2 s`() {
    var bench = SocketBench.connected()
    bench.give(.send(.text("last")))
    #expect(bench.give(.stop) == [])
    #expect(bench.give(.send(.text("too late"))) == [.update(.notice(.notConnected))])
    var proven = bench
    #expect(
      proven.give(.pong(AttemptID(1), UInt64(1) << 32 + 1)).first
        == .close(AttemptID(1), code: 1000))
    #expect(bench.pass(.milliseconds(1_999)) == [])
    #expect(bench.pass(.milliseconds(1)).first == .close(AttemptID(1), code: 1000))
  }
}
