import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import HoldfastTestKit
import Testing

@testable import HoldfastSocketEngine

/// Tests of how often a socket makes notes, with a clock that the test controls.
@Suite struct NotePaceTests {
  /// A stream whose dial has known phases, and that accepts all bytes.
  private final class Stream: SocketStream {
    let handshake: ClientHandshake
    let url = "http://host/"
    var dialPhase = LinkFailure.Phase.tls
    var pendingBytes: Int { 0 }
    var phases: ConnectionNote.Opening?

    init(_ phases: ConnectionNote.Opening?) throws(LinkFailure) {
      self.phases = phases
      handshake = try ClientHandshake(
        SocketRequest.to("ws://host/"), authority: "host", target: "/", offersDeflate: false)
    }

    func becomeReady() -> LinkFailure? { nil }
    func write(_ bytes: ArraySlice<UInt8>) -> StreamWriting { .bytes(bytes.count) }
    func read(_ take: (RawSpan) -> Void) -> StreamReading { .wouldBlock }
  }

  private let clock = TestClock()
  private let notes = Mailbox<ConnectionNote>()

  private func newTaker() -> NoteTaker? { NoteTaker({ [notes] in notes.put($0) }, clock) }

  private func pass(_ time: Duration) { clock.advance(by: time) }

  private func traffic() -> [[UInt64]] {
    notes.takeAll().compactMap { note in
      guard case .traffic(let received, let sent) = note else { return nil }
      return [received, sent]
    }
  }

  @Test func `nobody who listens means no notes`() {
    #expect(NoteTaker(nil, clock) == nil)
  }

  @Test func `bytes are noted at most every 10 s, and at the end`() throws {
    var taker = try #require(newTaker())
    let stream = try Stream(.init(resolve: .zero, connect: .zero, tls: .zero))
    taker.endDial(stream)
    taker.send(100)
    pass(.seconds(20))
    #expect(notes.count == 0, "the bytes of an upgrade are not noted alone")
    taker.open()
    #expect(notes.takeAll().count == 1)
    taker.receive(1)
    #expect(traffic() == [[1, 100]])
    pass(.seconds(10) - .nanoseconds(1))
    for _ in 0..<1_000 { taker.receive(10) }
    #expect(notes.count == 0)
    pass(.nanoseconds(1))
    taker.receive(9)
    #expect(traffic() == [[10_010, 100]])
    pass(.seconds(60))
    #expect(notes.count == 0, "a silent connection makes no notes")
    taker.end()
    #expect(notes.count == 0, "nothing is new")
    taker.end()
    #expect(notes.count == 0)
  }

  @Test func `the end of a connection notes the rest once`() throws {
    var taker = try #require(newTaker())
    taker.endDial(try Stream(.init(resolve: .zero)))
    taker.open()
    taker.receive(5)
    taker.send(6)
    taker.end()
    taker.end()
    #expect(traffic() == [[5, 6]])
  }

  @Test func `the upgrade is measured from the end of the dial`() throws {
    var taker = try #require(newTaker())
    pass(.milliseconds(60))
    let phases = ConnectionNote.Opening(
      resolve: .milliseconds(10), connect: .milliseconds(20), tls: .milliseconds(30))
    taker.endDial(try Stream(phases))
    pass(.milliseconds(7))
    taker.open()
    var expected = phases
    expected.upgrade = .milliseconds(7)
    #expect(notes.takeAll() == [.opening(expected)])
    #expect(expected.total == .milliseconds(67))
  }

  @Test func `the phase in progress took the rest of the time`() throws {
    let taker = try #require(newTaker())
    pass(.milliseconds(100))
    let stream = try Stream(.init(resolve: .milliseconds(10), connect: .milliseconds(20)))
    taker.fail(stream)
    stream.dialPhase = .connect
    stream.phases = .init(resolve: .milliseconds(200))
    taker.fail(stream)
    #expect(
      notes.takeAll() == [
        .opening(
          .init(
            resolve: .milliseconds(10), connect: .milliseconds(20), tls: .milliseconds(70),
            failed: .tls)),
        .opening(.init(resolve: .milliseconds(200), connect: .zero, failed: .connect)),
      ])
  }

  @Test func `a refused upgrade is the phase that failed`() throws {
    var taker = try #require(newTaker())
    let stream = try Stream(.init(resolve: .zero, connect: .zero))
    taker.endDial(stream)
    pass(.seconds(2))
    taker.fail(stream)
    #expect(
      notes.takeAll() == [
        .opening(
          .init(resolve: .zero, connect: .zero, upgrade: .seconds(2), failed: .upgrade))
      ])
  }

  @Test func `a stream that does not know its phases is noted only by its bytes`() throws {
    var taker = try #require(newTaker())
    let stream = try Stream(nil)
    taker.fail(stream)
    taker.endDial(stream)
    taker.open()
    #expect(notes.count == 0)
    taker.receive(3)
    taker.end()
    #expect(traffic() == [[3, 0]])
  }
}
