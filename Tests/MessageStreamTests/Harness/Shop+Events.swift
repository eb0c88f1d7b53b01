import HoldfastCore
import HoldfastMessageData

@testable import HoldfastMessageStream

// Edits and deletions. The log contains the last form of each message that was not deleted.
extension Shop {
  /// Edits a message. Returns nil if it does not exist.
  mutating func edit(_ id: MessageID, _ text: String, at time: Timestamp) -> ShopMessage? {
    guard let index = log.firstIndex(where: { $0.id == id }) else { return nil }
    offset += 1
    (log[index].text, log[index].isEdited, log[index].updatedAt) = (text, true, time)
    log[index].changed = head
    if let place = ordered.firstIndex(where: { $0.id == id }) { ordered[place] = log[index] }
    return log[index]
  }

  /// Deletes a message. Returns nil if it does not exist.
  mutating func delete(_ id: MessageID) -> ShopDeletion? {
    guard let index = log.firstIndex(where: { $0.id == id }) else { return nil }
    let position = log[index].position ?? ShopPosition(epoch: "", offset: 0)
    offset += 1
    log.remove(at: index)
    ordered.removeAll { $0.id == id }
    let deletion = ShopDeletion(
      id: id, shop: self.id, position: position,
      changed: ShopPosition(epoch: epoch, offset: offset))
    tombstones.append(deletion)
    return deletion
  }

  /// Begins another epoch with the same messages, as `serve --new-epoch` does.
  mutating func beginEpoch() {
    epoch += "+"
    offset = 0
    tombstones = []
    for index in log.indices {
      offset += 1
      log[index].position = head
      if log[index].changed != nil { log[index].changed = head }
    }
    ordered = log.sorted { $0.key < $1.key }
  }

  /// Restores the log to an earlier state in the same epoch, without its newest messages.
  mutating func putBack(by count: Int) {
    let lost = Set(log.suffix(count).map(\.id))
    log.removeLast(count)
    ordered.removeAll { lost.contains($0.id) }
    offset -= UInt64(count)
  }

  /// Returns the newest event of each message that has one after a position, in order.
  private func events(after position: ShopPosition) -> [ShopEvent] {
    let messages = log.map { $0.changed == nil ? ShopEvent.posted($0) : .edited($0) }
    return (messages + tombstones.map { .deleted($0) })
      .filter { $0.offset > position.offset }
      .sorted { $0.offset < $1.offset }
  }

  func changes(after position: ShopPosition, _ limit: Int) -> Page {
    guard position.epoch == epoch, position.offset <= offset else { return unrecovered(limit) }
    let rest = events(after: position)
    let sent = rest.prefix(limit)
    return Page(
      messages: sent.compactMap(\.message), hasNext: rest.count > sent.count, head: head,
      deleted: sent.compactMap(\.deletion),
      through: rest.count > sent.count ? sent.last?.position : head)
  }

  func newest(knowing position: ShopPosition, _ limit: Int) -> Page {
    var page = page(of: log.reversed(), 1, limit)
    guard position.epoch == epoch else {
      page.recovered = false
      return page
    }
    let rest = events(after: position).filter {
      $0.posted.offset <= position.offset || $0.deletion != nil
    }
    let sent = rest.prefix(mostChanges)
    page.changes = sent.compactMap(\.message)
    page.deleted = sent.compactMap(\.deletion)
    page.changesThrough = rest.count > sent.count ? sent.last?.position : head
    return page
  }

  /// Returns the frames to send first on a new socket that receives events; nil if the backlog
  /// cannot contain all missed events.
  func missedEvents(after position: ShopPosition) -> [StreamModel.Frame]? {
    guard let backlog, position.epoch == epoch, position.offset < offset else { return nil }
    let missed = events(after: position)
    guard missed.count <= backlog else { return nil }
    return missed.map { event in
      switch event {
      case .posted(let message): .message(message)
      case .edited(let message): .edited(message)
      case .deleted(let deletion): .deleted(deletion)
      }
    }
  }
}

extension ShopEvent {
  fileprivate var offset: UInt64 { position?.offset ?? 0 }

  /// The position of the post.
  fileprivate var posted: ShopPosition {
    switch self {
    case .posted(let message), .edited(let message):
      message.position ?? ShopPosition(epoch: "", offset: 0)
    case .deleted(let deletion): deletion.position
    }
  }

  fileprivate var message: ShopMessage? {
    switch self {
    case .posted(let message), .edited(let message): message
    case .deleted: nil
    }
  }

  fileprivate var deletion: ShopDeletion? {
    if case .deleted(let deletion) = self { deletion } else { nil }
  }
}

extension StreamHarness {
  /// Whether edits and deletions are sent as events.
  var hasEvents: Bool { shop.hasEvents && settings.wantsEvents }

  /// Returns a phone and a server that exchange edits and deletions, connected and idle.
  static func withEvents(
    messages count: Int = 3, seed: UInt64 = 1, change: (inout StreamSettings) -> Void = { _ in }
  ) -> StreamHarness {
    var harness = StreamHarness(.ours, seed: seed) {
      $0.wantsEvents = true
      change(&$0)
    }
    harness.shop.hasEvents = true
    harness.accumulate(count, apart: .seconds(10))
    harness.launch()
    harness.drive { $0.status.state == .connected }
    harness.pass(.seconds(20))
    return harness
  }

  /// Returns the id of a message by its text.
  func id(of text: String) -> MessageID? { shop.log.first { $0.text == text }?.id }

  /// Edits a message on the server.
  mutating func edit(_ text: String, to new: String, silently: Bool = false) {
    guard let id = id(of: text), let message = shop.edit(id, new, at: wall) else { return }
    if !silently, hasEvents { sendDown { .frame($0, .edited(message)) } }
  }

  /// Deletes a message on the server.
  mutating func delete(_ text: String, silently: Bool = false) {
    guard let id = id(of: text), let deletion = shop.delete(id) else { return }
    if !silently, hasEvents { sendDown { .frame($0, .deleted(deletion)) } }
  }

  /// Waits until the phone is connected and has stored all events.
  mutating func driveToTheHead() {
    let isDone = drive {
      $0.model.isWhole && $0.model.link.status.phase == .connected
        && $0.disk.cursor.position == $0.shop.head
    }
    if !isDone { ledger.blame("the head was not reached") }
  }

  /// Checks that the screen and the disk have what the server has.
  mutating func compareEvents() {
    let server = Dictionary(uniqueKeysWithValues: shop.log.map { ($0.id, $0.text) })
    for message in ledger.shown where server[message.id] != message.text {
      ledger.blame("the screen has \(message.text), not \(server[message.id] ?? "nothing")")
    }
    for message in disk.messages.values where server[message.id] != message.text {
      ledger.blame("the disk has \(message.text), not \(server[message.id] ?? "nothing")")
    }
    guard let oldest = ledger.shown.first?.key, model.gaps.isEmpty else { return }
    let wanted = shop.ordered.filter { $0.key >= oldest }.map(\.text)
    if texts != wanted { ledger.blame("the screen has \(texts), not \(wanted)") }
  }
}
