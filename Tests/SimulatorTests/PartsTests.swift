import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastWorlds
import Testing

@testable import HoldfastLinkChecks
@testable import HoldfastMessageChecks
@testable import HoldfastMessageWorld
@testable import HoldfastWorldKernel

@Suite struct EventQueueTests {
  @Test func `returns events by time, and in the order of insertion for equal times`() {
    var queue = EventQueue<Int>()
    var generator = RandomSource(seed: 7)
    var expected: [(at: Int64, number: Int)] = []
    for number in 0..<500 {
      let at = Int64(generator.next() % 50)
      queue.add(number, at: Instant(nanoseconds: at))
      expected.append((at, number))
    }
    expected.sort { ($0.at, $0.number) < ($1.at, $1.number) }
    for (at, number) in expected {
      #expect(queue.next == Instant(nanoseconds: at))
      #expect(queue.pop() == number)
    }
    #expect(queue.next == nil)
    #expect(queue.pop() == nil)
  }
}

@Suite struct ShopLogTests {
  private func log(_ kind: ServerKind, _ count: Int) throws -> ShopLog {
    var log = ShopLog(kind)
    let shop = try #require(ShopID("shop"))
    for number in 1...count {
      // Every third message has an earlier time stamp than the message before it.
      let time = number % 3 == 0 ? number * 10 - 15 : number * 10
      let message = ShopMessage(
        id: UUID128(high: 0, low: UInt64(number)), shop: shop, user: "u", username: "U",
        text: "\(number)", createdAt: Timestamp(nanoseconds: Int64(time)))
      let key = UUID128(high: 1, low: UInt64(number))
      _ = log.append(.post(LogEntry(message: message, key: key)))
    }
    return log
  }

  private func texts(_ answer: ShopServer.StoreAnswer) -> [String] {
    guard case .page(let page, _) = answer else { return ["no page"] }
    return page.messages.map(\.text) + [page.hasNext ? "more" : "end"]
      + (page.recovered ? [] : ["not recovered"])
  }

  @Test func `sorts a plain server's pages by time, and others by position`() throws {
    let query = PageQuery.page(number: 1, limit: 4)
    #expect(try texts(log(.plain, 9).page(query)) == ["8", "9", "7", "5", "more"])
    #expect(try texts(log(.positions, 9).page(query)) == ["9", "8", "7", "6", "more"])
    let last = PageQuery.page(number: 3, limit: 4)
    #expect(try texts(log(.positions, 9).page(last)) == ["1", "end"])
  }

  @Test func `continues from a position until it is trimmed`() throws {
    var log = try log(.positions, 9)
    let after = PageQuery.after(ShopPosition(epoch: log.epoch, offset: 5), limit: 3)
    #expect(texts(log.page(after)) == ["6", "7", "8", "more"])
    let before = PageQuery.before(ShopPosition(epoch: log.epoch, offset: 3), limit: 3)
    #expect(texts(log.page(before)) == ["2", "1", "end"])
    log.trim(keeping: 4)
    #expect(texts(log.page(after)) == ["6", "7", "8", "more"])
    log.trim(keeping: 3)
    #expect(texts(log.page(after)) == ["7", "8", "9", "end", "not recovered"])
  }

  @Test func `a log that starts over keeps its newest messages under a new epoch`() throws {
    var log = try log(.positions, 9)
    let old = log.head
    log.beginAnew(keeping: 2)
    #expect(log.head == ShopPosition(epoch: "epoch-2", offset: 2))
    #expect(log.messages.map(\.text) == ["8", "9"])
    #expect(texts(log.page(.after(old, limit: 5))) == ["8", "9", "end", "not recovered"])
  }

  @Test func `a used idempotency key returns the same message`() throws {
    var log = try log(.positions, 3)
    let again = LogEntry(message: log.messages[0], key: UUID128(high: 1, low: 2))
    #expect(log.append(.post(again)) == .success(.posted(log.messages[1], isNew: false)))
  }

  @Test func `a log that is restored has the texts and the messages of its earlier state`() throws {
    var log = try log(.positions, 3)
    let (first, second) = (log.messages[0], log.messages[1])
    let ann = LogActor(user: "u")
    let edit = LogEdit(
      id: first.id, shop: first.shop, text: "one", at: Timestamp(nanoseconds: 90), by: ann)
    let before = log.messages
    _ = log.append(.edit(edit))
    _ = log.append(.delete(LogDeletion(id: second.id, shop: second.shop, by: ann)))
    #expect(log.head.offset == 5)
    #expect(log.messages.map(\.text) == ["one", "3"])
    log.putBack(by: 2)
    #expect(log.head.offset == 3 && log.messages == before)
    let after = PageQuery.changes(after: ShopPosition(epoch: log.epoch, offset: 5), limit: 5)
    #expect(texts(log.page(after)) == ["1", "2", "3", "end", "not recovered"])
  }
}

@Suite struct DiskTests {
  @Test func `keeps the order and reports new messages`() throws {
    let shop = try #require(ShopID("shop"))
    func message(_ number: Int) -> ShopMessage {
      ShopMessage(
        id: UUID128(high: 0, low: UInt64(number)), shop: shop, user: "u", username: nil,
        text: "\(number)", createdAt: Timestamp(nanoseconds: Int64(number)))
    }
    var disk = StoredTimeline()
    let first = disk.commit(TimelineChange(messages: [message(5), message(2)]))
    #expect(first.inserted == [message(2).id, message(5).id])
    var edited = message(5)
    edited.text = "five"
    edited.updatedAt = Timestamp(nanoseconds: 9)
    let second = disk.commit(TimelineChange(messages: [message(2), edited, message(3)]))
    #expect(second == TimelineCommit(inserted: [message(3).id], edited: [message(5).id]))
    #expect(disk.ordered.map(\.createdAt.nanoseconds) == [2, 3, 5])
    #expect(disk.load(limit: 2).messages.map(\.text) == ["3", "five"])
    #expect(disk.load(limit: 2).hasOlder)
    #expect(disk.older(than: message(5).key, limit: 1).map(\.text) == ["3"])
  }

  @Test func `an edit replaces the text and leaves the author`() throws {
    let shop = try #require(ShopID("shop"))
    let first = ShopMessage(
      id: UUID128(high: 0, low: 1), shop: shop, user: "ann", username: "Ann", text: "one",
      createdAt: Timestamp(nanoseconds: 1))
    var disk = StoredTimeline()
    _ = disk.commit(TimelineChange(messages: [first]))
    var edit = first
    (edit.user, edit.username, edit.text) = ("bob", nil, "two")
    edit.updatedAt = Timestamp(nanoseconds: 2)
    _ = disk.commit(TimelineChange(messages: [edit]))
    (edit.user, edit.username) = (first.user, first.username)
    #expect(disk.load(limit: 1).messages == [edit])
  }
}
