import LinkCore
import LinkServerCore
import LinkWire
import Session
import Testing

@testable import LinkSimulator

/// The second accounts of sessions: each of them can find a fault.
@Suite struct SessionTwinTests {
  @Test func `bytes that are not those of a message are found`() {
    let ping = SessionClientMessage.ping
    #expect(SessionWire.stray(ping.bytes, of: ping) == nil)
    #expect(SessionWire.stray(Array(#"{"type": "ping"}"#.utf8), of: ping) != nil)
    let pong = SessionServerMessage.pong
    #expect(SessionWire.stray(pong.bytes, of: pong) == nil)
    #expect(SessionWire.stray(ping.bytes, of: pong) != nil)
  }

  @Test func `a message that is read as another one is found`() {
    typealias Outcome = SessionWire.Outcome<SessionClientMessage>
    let bytes = SessionClientMessage.messageAck("a").bytes
    #expect(SessionWire.strayOfServer(reading: bytes) == nil)
    let must = Outcome.message(.messageAck("a"))
    #expect(must.stray(from: must, bytes) == nil)
    #expect(Outcome.message(.messageAck("b")).stray(from: must, bytes) != nil)
    #expect(Outcome.missing("message_id").stray(from: must, bytes) != nil)
    #expect(Outcome.missing("type").stray(from: .missing("message_id"), bytes) != nil)
  }

  @Test func `the longest message of a server is read, and a longer one is not`() throws {
    let start = #"{"type":"pong","odd":""#
    let count = 4_194_304 - start.utf8.count - 2
    let bytes = Array((start + String(repeating: "a", count: count) + "\"}").utf8)
    #expect(SessionWire.strayOfClient(reading: bytes) == nil)
    #expect(try SessionReading.server(bytes) == .pong)
    #expect(SessionWire.strayOfClient(reading: bytes + [0x20]) == nil)
    #expect(throws: SessionMembers.Fault(field: nil)) {
      try SessionReading.server(bytes + [0x20])
    }
  }

  @Test func `versions are negotiated as documents say`() {
    #expect(SessionWire.spoken("0.3.9") == nil)
    #expect(SessionWire.spoken("odd") == SessionVersion(0, 4, 0))
    #expect(SessionWire.spoken("7.0.0") == SessionVersion(0, 5, 0))
  }
}
