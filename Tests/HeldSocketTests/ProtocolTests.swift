import Foundation
import HoldfastCore
import Testing

@testable import HoldfastHeldSocket

/// Tests of the results of the app's pure functions, which reach the model as data.
struct ProtocolTests {
  @Test func `stores positions, greets with the newest one, and resumes once connected`() {
    var harness = SocketHarness(SocketSettings.confirmed)
    harness.give(.start)
    harness.give(.opened(harness.attempt, subprotocol: nil))
    harness.say("41", SocketReading.confirming(at: "41"))
    harness.say("42", SocketReading.at("42"))
    harness.say("no position")
    harness.log = []
    harness.reconnect()
    let two = AttemptID(2)
    #expect(harness.log.last == .greet(two, subprotocol: nil, after: Secret("42")))
    #expect(
      harness.say("welcome", SocketReading.confirming()) == [
        .resume(two, after: Secret("42")), .update(.status(.connected)),
        .update(.message(.text("welcome"))),
      ])
  }

  @Test func `begins at the position of an earlier run`() {
    var harness = SocketHarness(SocketSettings.resuming("7"))
    harness.give(.start)
    #expect(
      harness.give(.opened(harness.attempt, subprotocol: nil)).prefix(2) == [
        .greet(AttemptID(1), subprotocol: nil, after: Secret("7")),
        .resume(AttemptID(1), after: Secret("7")),
      ])
  }

  @Test func `the answer to the app's own ping proves life, and WebSocket's pings do not`() {
    var harness = SocketHarness.connected(SocketSettings.withPing)
    #expect(harness.pass(.seconds(25)) == [.ask(AttemptID(1))])
    harness.pass(.seconds(9))
    harness.give(.ping(harness.attempt))
    harness.give(.pong(harness.attempt, 1))
    #expect(harness.pass(.seconds(1)).contains(.close(AttemptID(1), .silent)))
  }

  @Test func `an answer to the app's own ping keeps the connection`() {
    var harness = SocketHarness.connected(SocketSettings.withPing)
    for _ in 0..<10 {
      #expect(harness.pass(.seconds(25)) == [.ask(AttemptID(1))])
      harness.pass(.milliseconds(100))
      #expect(
        harness.say("pong", SocketReading.answering) == [.update(.message(.text("pong")))])
      harness.now = harness.now.advanced(by: .milliseconds(-100))
    }
  }

  @Test func `a message keeps the connection although no pong arrived`() {
    var harness = SocketHarness.connected()
    harness.pass(.milliseconds(34_999))
    harness.say("news")
    #expect(!harness.pass(.milliseconds(1)).contains(.close(AttemptID(1), .silent)))
  }

  @Test func `a policy with a preparation delays no socket`() {
    var harness = SocketHarness(SocketSettings(policy: .messageStream))
    harness.give(.start)
    let effects = harness.give(.credentials(.available(expiresIn: nil)))
    #expect(effects.contains(.open(AttemptID(1))))
  }

  @Test func `messages that prove no life do not keep a dead server's connection`() {
    var harness = SocketHarness.connected()
    harness.pass(.seconds(25))
    for _ in 0..<9 {
      harness.pass(.seconds(1))
      harness.say("noise", SocketReading.noise)
    }
    #expect(harness.pass(.seconds(1)).contains(.close(AttemptID(1), .silent)))
  }

  @Test func `silence is no loss while the app does not read`() {
    var harness = SocketHarness.connected()
    harness.give(.reading(harness.attempt, isPaused: true))
    harness.pass(.seconds(3600))
    #expect(harness.model.isConnected)
    #expect(harness.opens == [])
    harness.give(.reading(harness.attempt, isPaused: false))
    harness.pass(.seconds(9))
    #expect(harness.model.isConnected)
    #expect(harness.pass(.seconds(35)).contains(.close(AttemptID(1), .silent)))
  }

  @Test func `reports the quality of a connection separately from its status`() {
    var harness = SocketHarness.connected()
    harness.pass(.seconds(25))
    harness.pass(.seconds(3))
    #expect(harness.give(.pong(harness.attempt, 1)) == [.update(.quality(.poor))])
  }

  @Test func `a journal holds no content and no position`() throws {
    let inputs: [SocketModel.Input] = [
      .start, .opened(AttemptID(1), subprotocol: nil),
      .message(AttemptID(1), .text("password"), SocketReading.at("secret-place")),
      .send(1, .text("password")), .standing("key", .text("password")), .standing("key", nil),
      .restored([OutboxMessage(id: 3, message: .text("password"))]),
    ]
    var live = SocketModel(.plain, seed: 1)
    var replayed = live
    for input in inputs {
      let effects = live.handle(input, at: .zero)
      let written = try JSONEncoder().encode(Step(input: input, effects: effects))
      let text = String(decoding: written, as: UTF8.self)
      #expect(!text.contains("password"))
      #expect(!text.contains("secret-place"))
      let read = try JSONDecoder().decode(Step.self, from: written)
      #expect(replayed.handle(read.input, at: .zero) == read.effects)
    }
  }

  private struct Step: Codable {
    var input: SocketModel.Input
    var effects: [SocketModel.Effect]
  }

  @Test func `by default a message proves life and answers nothing`() {
    let reading = SocketReading()
    #expect(reading.provesLife)
    #expect(!reading.confirms && !reading.answersPing)
    #expect(reading.position == nil && reading.refusal == nil)
  }

  @Test func `an input made of a link event returns that event, and no other input does`() {
    let event = LinkEvent.ping(AttemptID(1))
    #expect(SocketModel.Input(event, at: Timestamp(nanoseconds: 0)).event == event)
    #expect(SocketModel.Input.start.event == nil)
  }
}
