import HoldfastCore
import HoldfastMessageData
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

  @Test func `a new epoch keeps the last versions, without what was deleted`() throws {
    var log = StoredLog(epoch: "a")
    for number in 1...4 as ClosedRange<UInt64> { _ = log.append(Self.entry(number)) }
    let author = LogActor(user: Sample.message.user)
    let edit = LogEdit(
      id: Self.message(2).id, shop: Sample.shop, text: "new", at: Timestamp(nanoseconds: .max),
      by: author)
    _ = log.append(.edit(edit))
    _ = log.append(
      .delete(LogDeletion(id: Self.message(3).id, shop: Sample.shop, by: author)))
    log.begin(epoch: "b", keeping: 2)
    #expect(log.messages.map(\.id.low) == [2, 4])
    #expect(log.messages.map(\.position?.offset) == [1, 2])
    #expect(log.messages.map(\.changed) == [nil, nil])
    #expect(log.messages[0].text == "new")
    #expect(log.head == ShopPosition(epoch: "b", offset: 2))
    #expect(log.append(.post(Self.entry(3))) == .success(.refused(.deleted)))
    #expect(try log.append(Self.entry(4)).get().isNew == false)
  }

  @Test func `each event has the position of its own change`() {
    let deletion = ShopDeletion(
      id: Self.message(1).id, shop: Sample.shop, position: ShopPosition(epoch: "b", offset: 1),
      changed: ShopPosition(epoch: "b", offset: 3))
    var message = Self.message(1, at: 1)
    message.changed = ShopPosition(epoch: "b", offset: 2)
    let events: [ShopEvent] = [
      .posted(Self.message(1, at: 1)), .edited(message), .deleted(deletion),
    ]
    #expect(events.map(\.position?.offset) == [1, 2, 3])
    #expect([Self.message(1, at: 1), message].map(\.version?.offset) == [1, 2])
    #expect(LogOutcome.edited(message, isNew: true).event == events[1])
    #expect(LogOutcome.edited(message, isNew: false).event == nil)
    #expect(LogOutcome.refused(.unknown).event == nil)
  }
}
