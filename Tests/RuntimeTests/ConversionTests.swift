import Foundation
import HoldfastCore
import HoldfastSocket
import Testing

/// Tests of the conversions to and from Foundation's types.
@Suite struct ConversionTests {
  @Test func `a UUID is the same in both types`() throws {
    let text = "00112233-4455-6677-8899-aabbccddeeff"
    let id = try #require(UUID128(text))
    let uuid = try #require(UUID(uuidString: text))
    #expect(UUID(id) == uuid)
    #expect(UUID128(uuid) == id)
  }

  @Test(arguments: [
    (Int64(0), 0.0), (1_767_225_600_123_456_000, 1_767_225_600.123456), (-1_000, -0.000001),
    (-1_500_000_000, -1.5), (9_214_646_399_999_999_999, 1e15), (-9_214_560_000_000_000_000, -1e15),
  ])
  func `a date becomes a timestamp within its limits`(nanoseconds: Int64, seconds: Double) {
    let timestamp = Timestamp(Date(timeIntervalSince1970: seconds))
    #expect(timestamp == Timestamp(nanoseconds: nanoseconds))
  }

  @Test func `a date that is no number becomes a timestamp`() {
    let timestamp = Timestamp(Date(timeIntervalSince1970: .nan))
    #expect(timestamp == Timestamp(Date.distantPast))
  }

  @Test func `a timestamp in microseconds is the same after a conversion to a date and back`() {
    var generator = RandomSource(seed: 12)
    for _ in 0..<1_000 {
      let microseconds = Int64(generator.next() % 4_000_000_000_000_000)
      let timestamp = Timestamp(nanoseconds: microseconds * 1_000)
      #expect(Timestamp(Date(timestamp)) == timestamp)
    }
  }

  @Test func `the content of a message is also data`() {
    #expect(SocketMessage(Data([1, 2])) == SocketMessage(binary: [1, 2]))
    #expect(SocketMessage.text("é").data == Data("é".utf8))
  }

  @Test func `Foundation shows the description of each error`() {
    let errors: [any Error & CustomStringConvertible] = [
      LinkFailure.refused, StoreFailure.full(detail: "the disk is full"),
      PolicyError(problems: ["retry.windows must hold at least one window"]),
      JournalError(path: "a.journal", .taken),
    ]
    for error in errors { #expect(error.localizedDescription == error.description) }
  }
}
