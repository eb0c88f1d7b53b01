import LinkCore
import LinkStorage
import LinkWire

// The bulk lane of each socket: answers, parts of answers and windows, as fast as it takes them.
extension SessionServer {
  /// Has something sent in its turn. A client that leaves too much waiting is closed.
  mutating func put(_ parcel: SessionLane.Parcel, on id: ConnectionID) {
    guard isOpen(id) else { return }
    guard (sockets[id]?.lane.count ?? 0) < policy.maxParcels else { return overflowed(id) }
    sockets[id]?.lane.append(parcel)
  }

  /// The socket took what it was given.
  mutating func drained(_ id: ConnectionID) {
    sockets[id]?.lane.awaitsDrain = false
    sockets[id]?.lane.inFlight = 0
    pump(id)
  }

  /// Sends what waits, up to the bytes that may be on their way.
  mutating func pump(_ id: ConnectionID) {
    while isOpen(id), sockets[id]?.lane.awaitsDrain == false, let peer = sockets[id]?.peer,
      let parcel = sockets[id]?.lane.next()
    {
      guard let (message, size) = message(of: parcel, to: peer, on: id) else { continue }
      effects.append(.send(id, message))
      sockets[id]?.lane.inFlight += size
      guard let sum = sockets[id]?.lane.inFlight, sum >= policy.laneBytes else { continue }
      sockets[id]?.lane.awaitsDrain = true
      effects.append(.noticeDrain(id))
    }
  }

  /// The next message of a parcel, and about how many bytes it has; what is left of the parcel goes
  /// back in front.
  private mutating func message(
    of parcel: SessionLane.Parcel, to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    switch parcel {
    case .replay(let turn):
      guard turns[turn]?.answer?.isTaken == false else { return nil }
      return answer(to: turn, as: parcel, peer, on: id)
    case .response(let turn): return answer(to: turn, as: parcel, peer, on: id)
    case .turnComplete(let conversation, let isAborted):
      return (.turnComplete(conversation: conversation, isAborted: isAborted), 150)
    case .part(let turn):
      sockets[id]?.parts[turn]?.isQueued = false
      guard let turn = turns[turn], turn.stage == .running else { return nil }
      return part(of: turn.id, SessionText.withoutLineEnd(turn.output), parcel, peer, on: id)
    case .window(let subscription): return window(subscription, to: peer, on: id)
    case .batch(let all): return batch(all, to: peer, on: id)
    case .news(let conversation): return news(conversation, to: peer, on: id)
    }
  }

  /// An answer as a response or a replay; one that is too long for the client comes in parts before
  /// that, if it takes them, and is cut in the middle.
  private mutating func answer(
    to id: SessionPromptID, as parcel: SessionLane.Parcel, _ peer: SessionSocket.Peer,
    on connection: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let turn = turns[id], let answer = turn.answer else { return nil }
    let text = SessionText.cut(answer.text, toFit: peer.maxBytes)
    let isWhole = text.utf8.count == answer.text.utf8.count
    var parts: Int?
    if !isWhole, peer.features.contains(.parts), case .success = answer.result,
      turn.prompt.idempotencyKey != nil
    {
      if let part = part(of: id, answer.text, parcel, peer, on: connection) { return part }
      parts = sockets[connection]?.parts[id]?.count
    }
    sockets[connection]?.parts[id] = nil
    let size = text.utf8.count + SessionText.envelope
    switch (parcel, answer.result) {
    case (.replay, .success) where parts == nil:
      let entry = SessionEntry(
        id: answer.message, role: .assistant, text: text, conversation: turn.prompt.conversation,
        timestamp: answer.at)
      return (.replay(id: answer.message, entry, number: answer.number), size)
    case (_, .success):
      return (response(turn, answer, .success(text: text), peer, parts: parts), size)
    case (_, .failure): return (response(turn, answer, .failure(error: text), peer), size)
    }
  }

  /// The number is one of the client whose prompt it was; others do not count by it.
  private func response(
    _ turn: SessionTurn, _ answer: StoredSessionAnswer, _ result: SessionResponse.Result,
    _ peer: SessionSocket.Peer, parts: Int? = nil
  ) -> SessionServerMessage {
    .response(
      SessionResponse(
        id: answer.message, number: turn.client == peer.client ? answer.number : nil,
        conversation: turn.prompt.conversation,
        idempotencyKey: turn.prompt.idempotencyKey, result: result, parts: parts))
  }

  /// The next part of a text that a socket was not sent; `nil` if it was sent all of it.
  private mutating func part(
    of id: SessionPromptID, _ text: String, _ parcel: SessionLane.Parcel,
    _ peer: SessionSocket.Peer, on connection: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let turn = turns[id], let key = turn.prompt.idempotencyKey else { return nil }
    var sent = sockets[connection]?.parts[id] ?? SessionSocket.Parts()
    let limit = min(max(64, (peer.maxBytes - SessionText.envelope) / 6), 32 << 10)
    let slice = SessionText.slice(text, from: sent.bytes, atMost: limit)
    guard !slice.isEmpty else { return nil }
    let index = sent.count
    sent.count += 1
    sent.bytes += slice.utf8.count
    let isLast = sent.bytes >= text.utf8.count
    switch parcel {
    case .part: sent.isQueued = !isLast
    case .replay, .response, .turnComplete, .window, .batch, .news: break
    }
    sockets[connection]?.parts[id] = sent
    if parcel != .part(id) || !isLast { sockets[connection]?.lane.putBack(parcel) }
    let message = SessionServerMessage.responsePart(
      conversation: turn.prompt.conversation, idempotencyKey: key, index: index,
      text: String(slice))
    return (message, slice.utf8.count + 200)
  }
}
