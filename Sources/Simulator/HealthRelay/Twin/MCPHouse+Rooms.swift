import LinkCore
import LinkServerCore
import LinkWire

// Sessions, streams, and clients that go.
extension MCPHouse {
  func room(_ name: String?) -> Room? { rooms.first { $0.name == name } }
  func talk(_ name: String?) -> Room? { talks.first { $0.name == name } }

  /// Changes a session, if it is still known.
  mutating func use(_ name: String?, _ change: (inout Room) -> Void = { _ in }) {
    for place in rooms.indices where rooms[place].name == name {
      rooms[place].usedAt = now
      change(&rooms[place])
    }
  }

  /// Changes a conversation, if it is still known.
  mutating func useTalk(_ name: String?, _ change: (inout Room) -> Void = { _ in }) {
    for place in talks.indices where talks[place].name == name {
      talks[place].usedAt = now
      change(&talks[place])
    }
  }

  /// Finds a place for another session; whoever is neither signed in nor waits for anything, and
  /// was not heard of for the longest time, makes room.
  mutating func enter(
    _ name: String, _ version: MCPVersion, _ client: AssistantName?
  ) -> Bool {
    let waits = Set(jobs.compactMap(\.shape.envelope?.room) + streams.map(\.room))
    guard Self.makeRoom(in: &rooms, numbers.rooms, { waits.contains($0) }) else { return false }
    rooms.append(
      Room(
        name: name, version: version, client: client, usedAt: now,
        lookAt: now.advanced(by: numbers.idle)))
    return true
  }

  /// The same for a conversation, which never waits.
  mutating func enterTalk(_ name: String) -> Bool {
    guard Self.makeRoom(in: &talks, numbers.rooms, { _ in false }) else { return false }
    talks.append(Room(name: name, usedAt: now, lookAt: now.advanced(by: numbers.idle)))
    return true
  }

  private static func makeRoom(
    in all: inout [Room], _ bound: Int, _ isBusy: (String) -> Bool
  ) -> Bool {
    guard all.count >= bound else { return true }
    var oldest: Room?
    for room in all where room.bearer == nil && !isBusy(room.name) {
      guard let other = oldest else {
        oldest = room
        continue
      }
      if (room.usedAt, room.name) < (other.usedAt, other.name) { oldest = room }
    }
    guard let oldest else { return false }
    all.removeAll { $0.name == oldest.name }
    return true
  }

  // The stream on which nothing is asked.

  mutating func openStream(_ id: RequestID, _ call: MCPCall) {
    guard MCPWords.media(call.fields.accept).events else {
      return deny(id, 406, -32_600, "Accept text/event-stream")
    }
    guard let name = named(id, call, nil) else { return }
    if isLeaving { return out.append(.answer(id, MCPReply(503, retryAfter: numbers.busy))) }
    for older in streams where older.room == name { close(older.request) }
    streams.append(Stream(request: id, room: name, beatAt: now.advanced(by: numbers.comment)))
    use(name)
    out += [.begin(id), .write(id, Array(": wait\r\n\r\n".utf8))]
  }

  mutating func close(_ id: RequestID) {
    for stream in streams where stream.request == id { use(stream.room) }
    streams.removeAll { $0.request == id }
    out.append(.end(id))
  }

  /// The client says that its session is over.
  mutating func deleteRoom(_ id: RequestID, _ call: MCPCall) {
    guard let name = named(id, call, nil) else { return }
    for stream in streams where stream.room == name { close(stream.request) }
    let waiting = jobs.filter { $0.shape.envelope?.room == name }.map(\.request)
    for request in waiting.sorted() { takeBack(request) }
    rooms.removeAll { $0.name == name }
    out.append(.answer(id, MCPReply(200)))
  }

  // Whoever leaves.

  /// The connection of a request has ended: it is told nothing any more.
  mutating func leave(_ id: RequestID) {
    pages[id] = nil
    let members = batches.first { $0.request == id }?.members
    batches.removeAll { $0.request == id }
    for request in members ?? [id] {
      if let job = drop(request) {
        count(job.tool, "cancelled")
        out.append(.abandon(job.ask))
      }
      for stream in streams where stream.request == request { use(stream.room) }
      streams.removeAll { $0.request == request }
    }
  }

  /// Forgets a call that waits.
  mutating func drop(_ id: RequestID) -> Job? {
    guard let place = jobs.firstIndex(where: { $0.request == id }) else { return nil }
    let job = jobs.remove(at: place)
    use(job.shape.envelope?.room ?? "")
    return job
  }
}
