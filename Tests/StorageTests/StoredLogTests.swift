import HoldfastCore
import HoldfastStorage
import HoldfastWire
import Testing

/// Tests of a shop's log as a value.
@Suite struct StoredLogTests {
  private static func message(_ number: UInt64, at offset: UInt64? = nil) -> ShopMessage {
    var message = Sample.message
    message.id = UUID128(high: 0, low: number)
    message.position = offset.map { ShopPosition(epoch: "b", offset: $0) }
    return message
  }

  private static func entry(_ number: UInt64) -> LogEntry {
    LogEntry(message: message(number), key: UUID128(high: 1, low: number))
  }

  @Test func `a new epoch knows the keys of the messages it keeps, and no others`() throws {
    var log = StoredLog(epoch: "a")
    for number in 1...3 as ClosedRange<UInt64> { _ = log.append(Self.entry(number)) }
    log.begin(epoch: "b", keeping: 2)
    var answers: [Appended] = []
    for number in 1...3 as ClosedRange<UInt64> {
      answers.append(try log.append(Self.entry(number)).get())
    }
    #expect(
      answers == [
        Appended(message: Self.message(1, at: 3), isNew: true),
        Appended(message: Self.message(2, at: 1), isNew: false),
        Appended(message: Self.message(3, at: 2), isNew: false),
      ])
  }
}
