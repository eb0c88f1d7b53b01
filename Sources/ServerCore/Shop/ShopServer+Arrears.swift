import LinkCore
import LinkWire

// What a client missed, sent on its new socket before anything newer.
extension ShopServer {
  /// Opens a socket, or asks for what it wants first.
  ///
  /// Whoever wants what cannot be had in one piece is not kept waiting: it sees by the answer that
  /// nothing is sent first, and asks for pages.
  mutating func letIn(_ arrival: ShopRoom.Arrival, to shop: ShopID, head: Position) {
    guard let after = arrival.after, policy.dialect == .positions, after.epoch == head.epoch,
      after.offset < head.offset, head.offset - after.offset <= UInt64(policy.arrearsLimit),
      questions.count < policy.maxRequests
    else { return open(arrival.id, head: head) }
    rooms[shop]?.creditors.insert(arrival.id)
    let token = ask(.arrears(arrival.id, shop, after: after))
    effects.append(.page(token, shop, .after(after, limit: policy.arrearsLimit)))
  }

  /// Subscribes a socket at the present head and sends it all up to there: the page, and what was
  /// broadcast while the store read it.
  mutating func settle(
    _ page: Page, after: Position, to id: ConnectionID, in shop: ShopID
  ) {
    guard let room = rooms[shop], room.creditors.contains(id), let head = room.head else { return }
    // What the store has and has not answered for yet is sent to everybody when it does.
    var missed = page.messages.filter { $0.offset <= head.offset }
    let end = missed.last?.offset ?? after.offset
    missed += room.recent.filter { $0.offset > end }
    rooms[shop]?.settled(id)
    let frames = missed.map { Frame.message(spoken($0)) }
    guard page.recovered, missed.leads(from: after, to: head),
      frames.reduce(0, { $0 + $1.payload.count }) <= policy.maxArrearsBytes
    else { return open(id, head: head) }
    open(id, head: head, after: after)
    metrics.frames += UInt64(frames.count)
    for frame in frames { effects.append(.send(frame, to: [id])) }
  }
}

extension Message {
  fileprivate var offset: UInt64 { position?.offset ?? 0 }
}

extension [Message] {
  /// Whether they are all that lies between two positions, in order.
  fileprivate func leads(from start: Position, to end: Position) -> Bool {
    guard start.epoch == end.epoch else { return false }
    var offset = start.offset
    for message in self {
      offset += 1
      guard message.position == Position(epoch: end.epoch, offset: offset) else { return false }
    }
    return offset == end.offset
  }
}
