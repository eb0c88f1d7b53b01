import LinkCore
import LinkServerCore
import LinkWire

// What waits for a socket, in its order.
extension SessionHouse {
  mutating func put(_ parcel: Parcel, on id: ConnectionID) {
    guard isOpen(id), let socket = sockets[id], socket.peer != nil else { return }
    if socket.lane.reduce(0, { $0 + $1.weight }) >= numbers.parcels { return overflow(id) }
    // The news of a conversation wait once.
    if case .news = parcel, socket.lane.contains(parcel) { return }
    sockets[id]?.lane.append(parcel)
  }

  private mutating func putFirst(_ parcel: Parcel, on id: ConnectionID) {
    sockets[id]?.lane.insert(parcel, at: 0)
  }

  mutating func pump(_ id: ConnectionID) {
    while isOpen(id), let socket = sockets[id], !socket.awaitsDrain, let peer = socket.peer,
      let parcel = socket.lane.first
    {
      sockets[id]?.lane.removeFirst()
      guard let (message, size) = unpack(parcel, for: peer, on: id) else { continue }
      say(id, message)
      let sum = (sockets[id]?.inFlight ?? 0) + size
      sockets[id]?.inFlight = sum
      if sum >= numbers.laneBytes {
        sockets[id]?.awaitsDrain = true
        out.append(.noticeDrain(id))
      }
    }
  }

  /// A message, and how many bytes it counts for.
  private mutating func unpack(
    _ parcel: Parcel, for peer: Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    switch parcel {
    case .turnEnd(let conversation, let isAborted):
      return (.turnComplete(conversation: conversation, isAborted: isAborted), 150)
    case .replay(let job):
      guard jobs[job]?.answer?.isTaken == false else { return nil }
      return answer(job, parcel, peer, id)
    case .response(let job): return answer(job, parcel, peer, id)
    case .part(let job):
      sockets[id]?.parts[job]?.isQueued = false
      guard let run = jobs[job], run.stage == .runs else { return nil }
      var text = run.output.utf8[...]
      if text.last == 10 { text.removeLast(text.dropLast().last == 13 ? 2 : 1) }
      return part(job, text, parcel, peer, id)
    case .window(let one):
      guard let (window, size) = window(one, peer, id, peer.longest) else { return nil }
      return (.history(window), size)
    case .batch(let all): return batch(all, peer, id)
    case .news(let conversation): return news(conversation, peer, id)
    }
  }

  mutating func sendPart(_ job: SessionPromptID, to id: ConnectionID) {
    guard let socket = sockets[id], socket.peer?.takesParts == true,
      jobs[job]?.prompt.idempotencyKey != nil, socket.parts[job]?.isQueued != true
    else { return }
    sockets[id]?.parts[job, default: Parts()].isQueued = true
    put(.part(job), on: id)
    pump(id)
  }

  private mutating func answer(
    _ id: SessionPromptID, _ parcel: Parcel, _ peer: Peer, _ socket: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let job = jobs[id], let answer = job.answer else { return nil }
    var isSuccess = false
    if case .success = answer.result { isSuccess = true }
    let isLong = !SessionCut.fits(answer.words, in: peer.longest)
    var count: Int?
    if isLong, isSuccess, peer.takesParts, job.prompt.idempotencyKey != nil {
      if let part = part(id, answer.words.utf8[...], parcel, peer, socket) { return part }
      count = sockets[socket]?.parts[id]?.count
    }
    sockets[socket]?.parts[id] = nil
    let shown = SessionCut.cut(answer.words, to: peer.longest) ?? answer.words
    let size = shown.utf8.count + 700
    if isSuccess, count == nil, case .replay = parcel {
      let entry = SessionEntry(
        id: answer.message, role: .assistant, text: shown,
        conversation: job.prompt.conversation, timestamp: answer.at)
      return (.replay(id: answer.message, entry, number: answer.number), size)
    }
    let response = SessionResponse(
      id: answer.message, number: job.client == peer.client ? answer.number : nil,
      conversation: job.prompt.conversation,
      idempotencyKey: job.prompt.idempotencyKey,
      result: isSuccess ? .success(text: shown) : .failure(error: shown), parts: count)
    return (.response(response), size)
  }

  /// The next part of a text for a socket; it has a sixth of a message, 32 KiB at most.
  private mutating func part(
    _ id: SessionPromptID, _ text: Substring.UTF8View, _ parcel: Parcel, _ peer: Peer,
    _ socket: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let job = jobs[id], let key = job.prompt.idempotencyKey else { return nil }
    let sent = sockets[socket]?.parts[id] ?? Parts()
    let length = min(32_768, max(64, (peer.longest - 700) / 6))
    // One byte more, which tells whether a character ends before it.
    var piece = Array(text.dropFirst(sent.bytes).prefix(length + 1))
    let isLast = piece.count <= length
    if !isLast {
      while piece.count > 1, piece[piece.count - 1] >> 6 == 2 { piece.removeLast() }
      piece.removeLast()
    }
    guard !piece.isEmpty else { return nil }
    var isQueued = sent.isQueued
    if parcel == .part(id) { isQueued = !isLast }
    sockets[socket]?.parts[id] = Parts(
      count: sent.count + 1, bytes: sent.bytes + piece.count, isQueued: isQueued)
    if !isLast || parcel != .part(id) { putFirst(parcel, on: socket) }
    let message = SessionServerMessage.responsePart(
      conversation: job.prompt.conversation, idempotencyKey: key, index: sent.count,
      text: String(decoding: piece, as: UTF8.self))
    return (message, piece.count + 200)
  }

  // Windows.

  mutating func subscribe(
    _ id: ConnectionID, _ all: [SessionSubscription], isBatch: Bool
  ) {
    let mine = all.filter { mayFollow(id, $0) }
    guard let first = mine.first else { return }
    put(isBatch ? .batch(mine) : .window(first), on: id)
    pump(id)
  }

  private mutating func mayFollow(_ id: ConnectionID, _ one: SessionSubscription) -> Bool {
    guard let socket = sockets[id], let peer = socket.peer else { return false }
    let name = one.conversation
    switch one.cursor {
    case .offset:
      if !peer.speaksOffsets {
        let words = "This version subscribes with last_seq."
        refuse(id, "unsupported_subscribe_field", words, name)
        return false
      }
    case .sequence(let last):
      if peer.speaksOffsets, last > 0 {
        refuse(id, "invalid_subscribe", "This version subscribes with from_offset.", name)
        return false
      }
    }
    if socket.follows[name] == nil, socket.follows.count >= numbers.subscriptions {
      let words = "Unsubscribe from another conversation first."
      refuse(id, "too_many_subscriptions", words, name)
      return false
    }
    sockets[id]?.follows[name] = Follow()
    if talks[name] == nil { talks[name] = Talk() }
    return true
  }

  private mutating func batch(
    _ all: [SessionSubscription], _ peer: Peer, _ id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    var windows: [SessionHistory] = []
    var sum = 0
    for (place, one) in all.enumerated() {
      if sum > 0, sum + 1_400 >= peer.longest {
        putFirst(.batch(Array(all[place...])), on: id)
        break
      }
      guard let (window, size) = window(one, peer, id, peer.longest - sum) else { continue }
      windows.append(window)
      sum += size
    }
    return windows.isEmpty ? nil : (.historyBatch(windows), sum)
  }

  /// A window from a cursor on.
  private mutating func window(
    _ one: SessionSubscription, _ peer: Peer, _ id: ConnectionID, _ budget: Int
  ) -> (SessionHistory, Int)? {
    let name = one.conversation
    guard sockets[id]?.follows[name] != nil else { return nil }
    let talk = talks[name] ?? Talk()
    var from: UInt64
    var isOther = false
    switch one.cursor {
    case .sequence(let last): from = last + 1
    case .offset(let offset, let signature):
      from = offset + 1
      if let signature, signature != "", signature != talk.signature { (from, isOther) = (1, true) }
    }
    var gap: SessionHistory.Gap?
    if from > talk.end {
      gap = .init(requested: from - 1, oldest: talk.first, reason: .clientAhead)
    } else if from < talk.first, !isOther {
      gap = .init(requested: from - 1, oldest: talk.first, reason: .pruned)
    }
    var shown: (entries: [SessionEntry], size: Int) = ([], 700)
    var next = talk.end
    var isWhole = true
    if let gap, gap.reason == .clientAhead || !peer.speaksOffsets {
      if gap.reason == .pruned { (next, isWhole) = (talk.first, false) }
    } else {
      let begin = max(from, talk.first)
      shown = some(of: talk, from: begin, budget, numbers.window)
      next = begin + UInt64(shown.entries.count)
      isWhole = next >= talk.end
    }
    sockets[id]?.follows[name] = Follow(next: next, isLive: isWhole)
    return (form(name, shown.entries, next, peer, isOther, isWhole, gap), shown.size)
  }

  private func form(
    _ name: String, _ entries: [SessionEntry], _ next: UInt64, _ peer: Peer, _ isOther: Bool,
    _ isWhole: Bool, _ gap: SessionHistory.Gap?
  ) -> SessionHistory {
    var entries = entries
    var place = SessionHistory.Place.sequence(
      first: entries.first?.place,
      last: entries.last?.place ?? (gap?.reason == .pruned ? next - 1 : nil), next: next)
    if peer.speaksOffsets {
      for index in entries.indices { entries[index].place = entries[index].place.map { $0 - 1 } }
      place = .offset(
        next: next - 1, signature: talks[name]?.signature ?? "", isReplaced: isOther)
    }
    return SessionHistory(
      conversation: name, entries: entries, place: place, isComplete: isWhole, gap: gap)
  }

  /// The entries that fit; the first one is cut if it must be.
  private func some(
    of talk: Talk, from: UInt64, _ budget: Int, _ most: Int
  ) -> ([SessionEntry], Int) {
    var entries: [SessionEntry] = []
    var size = 700
    for entry in talk.entries where entry.place ?? 0 >= from && entries.count < most {
      var entry = entry
      var length = SessionCut.length(entry.text) + 700
      if size + length > budget {
        guard entries.isEmpty else { break }
        entry.text = SessionCut.cut(entry.text, to: budget - 700) ?? entry.text
        length = SessionCut.length(entry.text) + 700
      }
      entries.append(entry)
      size += length
    }
    return (entries, size)
  }

  private mutating func news(
    _ name: String, _ peer: Peer, _ id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let follows = sockets[id]?.follows[name], follows.isLive, let talk = talks[name],
      follows.next < talk.end
    else { return nil }
    let (entries, size) = some(of: talk, from: follows.next, peer.longest, 1)
    guard let place = entries.first?.place else { return nil }
    sockets[id]?.follows[name]?.next = place + 1
    if place + 1 < talk.end { putFirst(.news(name), on: id) }
    return (.history(form(name, entries, place + 1, peer, false, true, nil)), size)
  }
}

extension SessionHouse.Parcel {
  /// A batch counts as its subscriptions.
  fileprivate var weight: Int { if case .batch(let all) = self { all.count } else { 1 } }
}

extension KeptSessionAnswer {
  /// Its text, whatever it says.
  var words: String {
    switch result {
    case .success(let text), .failure(let text): text
    }
  }
}
